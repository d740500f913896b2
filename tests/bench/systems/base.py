"""What a system that keeps the state of a notebook must offer: one subclass for each."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any, ClassVar

IPYTHON_NAMES = frozenset({"In", "Out", "exit", "quit", "get_ipython", "open"})


_IPYTHONS_OWN = re.compile(r"__.*|_+|_i*|_i?\d+|_[iod]h|_exit_code")


def is_user_name(name: str) -> bool:
    """Whether a user made the name, and wants it compared: a private one need not be kept."""
    return not name.startswith("_") and name not in IPYTHON_NAMES


def is_ipythons(name: str) -> bool:
    """Whether IPython made the name."""
    return name in IPYTHON_NAMES or _IPYTHONS_OWN.fullmatch(name) is not None


class System:
    """A system under test, bound to one folder.

    A cell's number is its index in the workload; the state of a cell is that right after it ran.
    """

    name: ClassVar[str]
    packages: ClassVar[tuple[str, ...]] = ()
    modules: ClassVar[tuple[str, ...]] = ()
    """What may be imported before a fork: modules that start no thread and note no process."""
    restores: ClassVar[bool] = True
    complaints: ClassVar[tuple[str, ...]] = ("Error in callback",)
    """What stands in the output of a cell when the system failed beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @classmethod
    def missing(cls) -> str | None:
        """What is needed and not there; None if it can run."""
        absent = [p for p in cls.packages if importlib.util.find_spec(p) is None]
        return f"not installed: {', '.join(absent)}" if absent else None

    # -- while the notebook runs ----------------------------------------------------------------

    def start(self, shell: Any) -> None:
        """Attach to a live shell."""
        self.shell = shell

    def run_cell(self, source: str) -> BaseException | None:
        """Timed: run one cell; what it raised, if anything."""
        result = self.shell.run_cell(source, store_history=True)
        error: BaseException | None = result.error_before_exec or result.error_in_exec
        return error

    def after_cell(self, cell: int, source: str) -> None:
        """Timed: what the system does after a cell, unless it follows IPython itself."""

    def mark(self, cell: int) -> None:
        """Not timed: note what is needed to find the state of this cell again."""

    def finish(self) -> None:
        """Timed apart, after the last cell: wait for what is written in the background."""

    # -- going back -----------------------------------------------------------------------------

    def restore(self, cell: int) -> None:
        """Bring the shell to the state of a cell, which may have run in another process."""
        raise NotImplementedError

    # -- what there is --------------------------------------------------------------------------

    def stored_bytes(self) -> int:
        """On disk."""
        return sum(f.stat().st_size for f in self.folder.rglob("*") if f.is_file())

    def everything(self) -> dict[str, Any]:
        """All names that a cell can see, in a plain dict."""
        return dict(dict.items(self.shell.user_ns))

    def variables(self) -> dict[str, Any]:
        """The user's only."""
        return {k: v for k, v in self.everything().items() if is_user_name(k)}

    def replace_variables(self, new: dict[str, Any]) -> None:
        """Leave the user with these."""
        for name in self.variables().keys() - new.keys():
            del self.shell.user_ns[name]
        self.shell.user_ns.update(new)

    def write_note(self, name: str, value: Any) -> None:
        """Keep some JSON for the fresh process."""
        (self.folder / name).write_text(json.dumps(value))

    def read_note(self, name: str, default: Any) -> Any:
        """What `write_note` kept."""
        path = self.folder / name
        return json.loads(path.read_text()) if path.exists() else default
