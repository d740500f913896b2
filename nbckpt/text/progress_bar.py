"""Progress bars for what takes longer than a second."""

from __future__ import annotations

import io
import math
import secrets
import sys
import time
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

from nbckpt.runtime import clock
from nbckpt.runtime.interrupts import whole
from nbckpt.text.escape import on_a_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import ProgressColumn

PATIENCE_S = 1.0
"""Nothing is shown for what is done sooner."""

DRAW_EVERY_S = 0.1
"""A bar that is shown is drawn again no sooner."""

_ERASE = "\r\x1b[2K"
_MOST_COLUMNS = 100
_CODE = '<pre style="line-height:normal">{code}</pre>'


class Bar:
    """Counts bytes; shows itself in a terminal once the work has gone on for `PATIENCE_S`.

    Not in a notebook: there it would stand among the outputs of a cell, and be saved with them.
    Nothing is imported before: most work is done by then.
    """

    def __init__(self, what: str, total_bytes: int) -> None:
        self._what = what
        self._total = total_bytes
        self._done = 0
        self._began = 0.0
        self._line: _Line | None = None
        self._drawing: _Drawing | None = None

    def __enter__(self) -> Bar:
        self._began = clock.now()
        return self

    def advance(self, size_bytes: int) -> None:
        """Count `size_bytes` as done."""
        self._done += size_bytes
        if self._drawing is None and clock.now() - self._began >= PATIENCE_S:
            stream = sys.stderr
            if _is_terminal(stream) and _shell_of_a_page() is None:
                from rich.progress import DownloadColumn, TransferSpeedColumn

                columns = DownloadColumn(), TransferSpeedColumn()
                what = f"nbckpt: {self._what}"
                self._line = _Line(stream)
                self._drawing = _Drawing(
                    self._line, what, self._total, self._done, self._began, columns
                )
        if self._drawing is not None:
            self._drawing.draw(self._done)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._line is not None:
            self._line.erase()


class LoopBar:
    """A bar over the items of a loop; it shows itself once the loop has gone on for `PATIENCE_S`.

    In a notebook it is an output of the cell: a page that is opened after its kernel has died shows
    how far the loop was. An interrupt waits until it is drawn: what draws it may swallow one.

    Attributes
    ----------
    done
        How many items are done, those of earlier runs among them.
    """

    def __init__(self, what: str, total: int) -> None:
        self.done = 0
        self._what = what
        self._total = total
        self._failed = 0
        self._before = 0
        self._began = clock.now()
        self._drawing: _Drawing | None = None

    def begin(self, done: int) -> None:
        """Count items as done by earlier runs."""
        self.done = self._before = done

    def advance(self, *, has_failed: bool = False) -> None:
        """Count one more item as done, or as failed."""
        self._failed += has_failed
        self.done += not has_failed
        if self._drawing is not None or clock.now() - self._began >= PATIENCE_S:
            self._show()

    @whole
    def close(self) -> None:
        """Leave the bar as it is."""
        if self._drawing is not None:
            self._draw(is_last=True)
            self._drawing.screen.end()
            self._drawing = None

    @whole
    def _show(self) -> None:
        if self._drawing is None:
            from rich.progress import MofNCompleteColumn, TimeElapsedColumn, TimeRemainingColumn

            columns = MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()
            total = self._total if self._total >= 0 else None
            self._drawing = _Drawing(
                _screen(), self._what, total, self._before, self._began, columns
            )
        self._draw()

    def _draw(self, *, is_last: bool = False) -> None:
        assert self._drawing is not None
        numbers = {"failed": self._failed, "restored": self._before}
        beside = ", ".join(f"{n} {what}" for what, n in numbers.items() if n)
        self._drawing.draw(self.done + self._failed, beside, is_last=is_last)


class _Drawing:
    """A bar of rich's, drawn now and then where `screen` puts it.

    Rich's own live display is not used: it has a thread, hides the cursor of a terminal, which a
    kill leaves hidden, and takes the place of `sys.stdout`.

    Parameters
    ----------
    began
        When the work began, by `clock.now`.
    columns
        What stands behind the bar.
    """

    def __init__(
        self,
        screen: _Line | _Output,
        what: str,
        total: float | None,
        done: int,
        began: float,
        columns: tuple[ProgressColumn, ...],
    ) -> None:
        from rich.progress import BarColumn, Progress, TextColumn

        self.screen = screen
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            *columns,
            TextColumn("{task.fields[beside]}", markup=False),
            auto_refresh=False,
            console=screen.console,
            get_time=clock.now,
            speed_estimate_period=math.inf,  # of the last items, however long each takes
        )
        self._task = self._progress.add_task(
            on_a_line(what), total=total, completed=done, beside=""
        )
        self._progress.tasks[0].start_time = began
        self._drawn_at = 0.0

    def draw(self, done: int, beside: str = "", *, is_last: bool = False) -> None:
        """Have the bar stand at `done`; it is not drawn more often than can be seen."""
        now = time.monotonic()
        if is_last or now - self._drawn_at >= DRAW_EVERY_S:
            self._drawn_at = now
            self._progress.update(self._task, completed=done, beside=beside)
            self.screen.put(self._progress.make_tasks_table(self._progress.tasks))


class _Line:
    """The last line of a terminal; of a stream that is none, a line at the end."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        is_terminal = _is_terminal(stream)
        self._text = ""
        self.console = _console(getattr(stream, "encoding", None), is_terminal)
        self._is_terminal = is_terminal and not self.console.is_dumb_terminal

    def put(self, table: Any) -> None:
        """Show the bar in place of that which is there."""
        with self.console.capture() as captured:
            self.console.print(table, end="")
        self._text = captured.get().strip("\n")
        if self._is_terminal:
            self._write(_ERASE + self._text)

    def end(self) -> None:
        """Leave the bar, and go on below it."""
        self._write("\n" if self._is_terminal else self._text.rstrip() + "\n")

    def erase(self) -> None:
        """Take the bar away."""
        if self._is_terminal:
            self._write(_ERASE)

    def _write(self, text: str) -> None:
        with suppress(Exception):  # nobody reads any more, or it is the notebook's own
            try:
                self._stream.write(text)
            except UnicodeEncodeError as error:
                known = text.encode(error.encoding, "replace").decode(error.encoding)
                self._stream.write(known)
            self._stream.flush()


class _Output:
    """An output of the cell that runs, in a notebook."""

    def __init__(self, shell: Any) -> None:
        self.console = _console(None, is_terminal=False, is_recorded=True, width=_MOST_COLUMNS)
        self._shell = shell
        self._display_id = f"nbckpt-bar-{secrets.token_hex(8)}"
        self._is_shown = False

    def put(self, table: Any) -> None:
        """Show the bar in place of that which is there."""
        self._shell.display_pub.publish(
            self._as_html_and_text(table),
            {},
            transient={"display_id": self._display_id},
            update=self._is_shown,
        )
        self._is_shown = True

    def end(self) -> None:
        """Nothing: it stays."""

    def _as_html_and_text(self, table: Any) -> dict[str, str]:
        self.console.print(table)  # what is captured would not be recorded
        self.console.file = _Sink(None)
        html = self.console.export_html(code_format=_CODE, inline_styles=True, clear=False)
        return {"text/html": html, "text/plain": self.console.export_text().strip()}


class _Sink(io.StringIO):
    """Where rich writes, which draws for a stream of this encoding."""

    def __init__(self, encoding: str | None) -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """That of the stream."""
        return self._encoding or "utf-8"


def _console(
    encoding: str | None, is_terminal: bool, *, is_recorded: bool = False, width: int | None = None
) -> Console:
    from rich.console import Console

    return Console(
        file=_Sink(encoding),
        force_terminal=is_terminal,
        force_jupyter=False,
        highlight=False,
        record=is_recorded,
        width=width,
    )


def _screen() -> _Line | _Output:
    shell = _shell_of_a_page()
    return _Line(sys.stderr) if shell is None else _Output(shell)


def _shell_of_a_page() -> Any:
    """The shell of a kernel, whose outputs a page displays; None elsewhere."""
    ipython = sys.modules.get("IPython") if "ipykernel" in sys.modules else None
    shell = None if ipython is None else ipython.get_ipython()
    return None if getattr(shell, "kernel", None) is None else shell


def _is_terminal(stream: TextIO) -> bool:
    try:
        return bool(stream.isatty())
    except Exception:  # there is none, it is closed, or it is the notebook's own
        return False
