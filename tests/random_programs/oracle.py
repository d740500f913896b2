"""A plain shell: what the cells that led to a moment do, run one after another."""

from __future__ import annotations

import functools
import io
import random
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from types import CodeType, ModuleType
from typing import Any, NamedTuple

import numpy as np
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

_PROMPT = re.compile(r"^Out\[\d+\]:", re.MULTILINE)
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_INPUT = re.compile(r"<ipython-input-[^>]*>")
_WARNED = re.compile(r"^nbckpt: .*\n?", re.MULTILINE)


class Ran(NamedTuple):
    """What a cell did that can be seen.

    Attributes
    ----------
    printed
        Its outputs and its result, without what nbckpt says.
    error
        Type and text of what it raised.
    said
        All of its text, and what nbckpt says of it.
    """

    printed: str
    error: str
    said: str


def make_shell(*, is_first: bool) -> Any:
    """A shell without a history; the first of a process is the one that `get_ipython` gives."""
    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "nocolor"
    shell = (
        InteractiveShell.instance(config=config) if is_first else InteractiveShell(config=config)
    )
    # To format a traceback takes longer than ten cells.
    shell.showtraceback = lambda *_, **__: None
    shell._format_exception_for_storage = lambda *_, **__: {}
    return shell


class _Publisher:
    """Has what nbckpt says stand beside a cell's outputs, not among them."""

    def __init__(self, shell: Any) -> None:
        self.said: list[str] = []
        self._publish = shell.display_pub.publish
        shell.display_pub.publish = self

    def __call__(self, data: Any, metadata: Any = None, **more: Any) -> None:
        if "nbckpt" in (metadata or {}):
            self.said.append(f"{data['text/plain']}\n")
        else:
            self._publish(data, metadata, **more)


@dataclass
class Kernel:
    """A shell with variables of its own, and random generators of its own."""

    shell: Any
    _random: Any = None

    def __post_init__(self) -> None:
        self._notices = _Publisher(self.shell)

    def begin(self) -> None:
        """An empty namespace, as in a new process."""
        shell = self.shell
        shell.user_module = ModuleType("__main__")
        shell.user_ns = vars(shell.user_module)
        shell.user_ns_hidden.clear()
        shell.init_user_ns()
        shell.execution_count = 1
        random.seed(0)
        np.random.seed(0)  # the generator that notebooks seed
        self._random = random.getstate(), np.random.get_state()

    @property
    def namespace(self) -> dict[str, Any]:
        """Its variables."""
        found: dict[str, Any] = self.shell.user_ns
        return found

    @contextmanager
    def current(self) -> Iterator[None]:
        """Have this be the process's kernel."""
        main = sys.modules["__main__"]
        sys.modules["__main__"] = self.shell.user_module
        random.setstate(self._random[0])
        np.random.set_state(self._random[1])
        try:
            yield
        finally:
            self._random = random.getstate(), np.random.get_state()
            sys.modules["__main__"] = main

    def run(self, text: str, cell_id: str | None = None) -> Ran:
        """Run a cell, as a user does."""
        out = io.StringIO()
        with self.current(), redirect_stdout(out), redirect_stderr(out):
            done = self.shell.run_cell(text, store_history=True, cell_id=cell_id)
        error = done.error_before_exec or done.error_in_exec
        text = out.getvalue()
        printed = _ADDRESS.sub("0x…", _WARNED.sub("", _PROMPT.sub("Out:", text)))
        said = text + "".join(self._notices.said)
        self._notices.said.clear()
        told = "" if error is None else f"{type(error).__name__}: {error}"
        return Ran(printed, _INPUT.sub("<input>", told), said)

    def replay(self, history: tuple[str, ...]) -> None:
        """Run plain cells one after another, without their outputs."""
        with self.current(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            for text in history:
                with suppress(Exception):
                    exec(_compiled(text), self.shell.user_ns)


@functools.lru_cache(maxsize=10_000)
def _compiled(text: str) -> CodeType:
    return compile(text, "<cell>", "exec", dont_inherit=True)


@dataclass
class Oracle:
    """The variables that a list of cells makes, in a namespace that was empty before.

    Attributes
    ----------
    history
        The cells that were run.
    """

    kernel: Kernel
    history: tuple[str, ...] = field(default=())

    def begin(self, history: tuple[str, ...] = ()) -> None:
        """Run `history` from the beginning."""
        self.kernel.begin()
        self.history = history
        self.kernel.replay(history)

    def run(self, text: str) -> Ran:
        """Run one more cell."""
        self.history = (*self.history, text)
        return self.kernel.run(text)

    @property
    def namespace(self) -> dict[str, Any]:
        """The variables."""
        return self.kernel.namespace


def told_lost(names: Iterable[str], said: str) -> set[str]:
    """Of `names`, those of which a text says why they were not kept or restored."""
    return {n for n in names if re.search(rf"(?<![\w.']){re.escape(n)}: \w|'{re.escape(n)}'", said)}


def words_of(*texts: str) -> set[str]:
    """The names in texts."""
    return {word for text in texts for word in re.findall(r"\w+", text)}
