"""Cells inside a cell: run by the shell like any other, without a trace in the outer one's numbers.

The outer cell keeps its execution count, its `In` and `Out`, and `_`. Outputs go where the outer
cell's go, or, where nobody is to see them, nowhere.
"""

from __future__ import annotations

import io
import signal
import sys
import threading
import tokenize
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from nbckpt.runtime.interrupts import allowed, held
from nbckpt.runtime.user_code_errors import user_code_errors

_UNDERSCORES = ("_", "__", "___")
_NOTHING = object()
_NO_CODE = frozenset(
    {
        *(tokenize.ENDMARKER, tokenize.NEWLINE, tokenize.NL, tokenize.COMMENT),
        *(tokenize.INDENT, tokenize.DEDENT),
    }
)


def awaits(shell: InteractiveShell, source: str) -> bool:
    """True if a cell needs a loop that runs."""
    return bool(shell.should_run_async(source, transformed_cell=_transformed(shell, source)[0]))


def run(
    shell: InteractiveShell, source: str, cell_id: str | None
) -> tuple[BaseException | None, object]:
    """Run a cell inside the one that runs; the error that it ended with, and its result."""
    with held(), _inside(shell, source), allowed():
        result = shell.run_cell(source, store_history=False, cell_id=cell_id)
    return _error(result), result.result


async def run_async(
    shell: InteractiveShell, source: str, cell_id: str | None
) -> BaseException | None:
    """`run`, in the loop that runs already; a cell that awaits nothing is run at once."""
    transformed, problem = _transformed(shell, source)
    is_async = shell.should_run_async(source, transformed_cell=transformed)
    result = None
    with _inside(shell, source), ExitStack() as stack:
        if not is_async:
            stack.enter_context(_interruptible())
        try:
            result = await shell.run_cell_async(
                source,
                store_history=False,
                transformed_cell=transformed,
                preprocessing_exc_tuple=problem,
                cell_id=cell_id,
            )
        finally:
            # As the kernel does after each of its own cells.
            shell.events.trigger("post_execute")
            shell.events.trigger("post_run_cell", result)
    return _error(result)


def _transformed(shell: InteractiveShell, source: str) -> tuple[str, Any]:
    try:
        return shell.transform_cell(source), None
    except user_code_errors():  # of a transformer: the shell shows it as the cell's
        return source, sys.exc_info()


def _error(result: Any) -> BaseException | None:
    error = result.error_before_exec or result.error_in_exec
    return error if isinstance(error, BaseException) else None


def _ends_in_semicolon(source: str) -> bool:
    """True of code whose result is not to be shown, as IPython has it (`DisplayHook.quiet`)."""
    last = ""
    with suppress(tokenize.TokenError):
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type not in _NO_CODE:
                last = token.string
    return last == ";"


@contextmanager
def _inside(shell: InteractiveShell, source: str) -> Iterator[None]:
    """Keep the shell's knowledge of the outer cell while another one runs."""
    hook: Any = shell.displayhook
    outer, number = hook.exec_result, hook.prompt_count
    names = [f"_{number}"]
    kept = {name: shell.user_ns[name] for name in names if name in shell.user_ns}
    with _instead(hook, "quiet", lambda: _ends_in_semicolon(source)):
        try:
            yield
        finally:
            hook.exec_result = outer
            shell.user_ns.get("_oh", {}).pop(number, None)
            for name in names:
                shell.user_ns.pop(name, None)
            shell.user_ns.update(kept)


@contextmanager
def underscores_kept(shell: InteractiveShell) -> Iterator[None]:
    """`_`, `__` and `___` are afterwards what they were before, but for what code bound to them."""
    hook: Any = shell.displayhook
    shown = {name: getattr(hook, name) for name in _UNDERSCORES}
    before = {name: shell.user_ns.get(name, _NOTHING) for name in _UNDERSCORES}
    # The shell takes a name for the user's own, and sets it no more, once its value is not this.
    hidden = {name: shell.user_ns_hidden.get(name, _NOTHING) for name in _UNDERSCORES}
    try:
        yield
    finally:
        for name, value in shown.items():
            now, result = shell.user_ns.get(name, _NOTHING), getattr(hook, name)
            setattr(hook, name, value)
            _put(shell.user_ns_hidden, name, hidden[name])
            if now is _NOTHING or (now is not result and now is not before[name]):
                continue  # code has deleted or bound it
            _put(shell.user_ns, name, before[name])


def _put(table: dict[str, Any], name: str, value: object) -> None:
    if value is _NOTHING:
        table.pop(name, None)
    else:
        table[name] = value


def put_result(shell: InteractiveShell, name: str, value: object) -> None:
    """Have one of IPython's names of results, ``_`` or ``_3``, be that of `value`."""
    before = shell.user_ns.get(name, _NOTHING)
    for table in (shell.user_ns, shell.user_ns_hidden):
        if before is not _NOTHING and table.get(name) is before:
            table[name] = value
    if name in _UNDERSCORES:
        setattr(shell.displayhook, name, value)
    else:
        shell.user_ns["_oh"][int(name[1:])] = value


@contextmanager
def _interruptible() -> Iterator[None]:
    """An interrupt is a KeyboardInterrupt here.

    A kernel cancels a cell that awaits; a cell that does not would never notice.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def muted(shell: InteractiveShell) -> Iterator[None]:
    """Nothing is shown; what records outputs records them all the same."""
    publisher, hook = shell.display_pub, shell.displayhook
    with ExitStack() as stack:
        for name in ("stdout", "stderr"):
            silent = _Silent(getattr(sys, name))
            stack.callback(setattr, silent, "is_silent", False)
            stack.enter_context(_instead(sys, name, silent))
        for owner, name in (
            (publisher, "publish"),
            (publisher, "clear_output"),
            (hook, "write_output_prompt"),
            (hook, "write_format_data"),
            (shell, "_showtraceback"),
        ):
            stack.enter_context(_instead(owner, name, _nothing))
        yield


class _Silent:
    """A text stream that shows nothing while it is silent: code may have taken hold of it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.is_silent = True

    def write(self, text: str) -> int:
        return len(text) if self.is_silent else int(self._stream.write(text) or len(text))

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _nothing(*_: object, **__: object) -> None:
    return None


@contextmanager
def _instead(owner: Any, name: str, value: object) -> Iterator[None]:
    """An attribute of an object is another one for a while."""
    had = name in vars(owner)
    before = getattr(owner, name)
    try:
        setattr(owner, name, value)
        yield
    finally:
        if getattr(owner, name) is value:  # nobody put another one over it meanwhile
            if had:
                setattr(owner, name, before)
            else:
                delattr(owner, name)
