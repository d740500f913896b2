"""A progress bar for what takes longer than a second."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from nbckpt.runtime import clock
from nbckpt.runtime.interrupts import whole

PATIENCE_S = 1.0
"""Nothing is shown for what is done sooner."""


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
        self._bar: Any = None

    def __enter__(self) -> Bar:
        self._began = time.perf_counter()
        return self

    def advance(self, size_bytes: int) -> None:
        """Count `size_bytes` as done."""
        self._done += size_bytes
        if self._bar is not None:
            self._bar.update(size_bytes)
        elif time.perf_counter() - self._began >= PATIENCE_S and _is_terminal():
            from tqdm import tqdm

            self._bar = tqdm(
                desc=f"nbckpt: {self._what}",
                total=self._total,
                initial=self._done,
                unit="B",
                unit_scale=True,
                leave=False,
            )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()


def _is_terminal() -> bool:
    try:
        return bool(sys.stderr.isatty()) and "ipykernel" not in sys.modules
    except (AttributeError, ValueError):  # none, or closed
        return False


class LoopBar:
    """A bar over the items of a loop; it shows itself once the loop has gone on for `PATIENCE_S`.

    An interrupt waits until it is drawn: libraries that draw it may swallow one.

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
        self._bar: Any = None

    def begin(self, done: int) -> None:
        """Count items as done by earlier runs."""
        self.done = self._before = done

    def advance(self, *, has_failed: bool = False) -> None:
        """Count one more item as done, or as failed."""
        self._failed += has_failed
        self.done += not has_failed
        if self._bar is None and clock.now() - self._began >= PATIENCE_S:
            self._show()
        elif self._bar is not None:
            self._count()

    @whole
    def close(self) -> None:
        """Leave the bar as it is."""
        if self._bar is not None:
            self._tell()
            self._bar.close()
            self._bar = None

    @whole
    def _count(self) -> None:
        self._tell()
        self._bar.update()

    @whole
    def _show(self) -> None:
        from tqdm.auto import tqdm

        known = self._total if self._total >= 0 else None
        before = min(self._before, max(self._total, 0)) if known is not None else self._before
        self._bar = tqdm(desc=self._what, total=known, initial=before)
        self._bar.start_t = self._began
        self._tell()
        self._bar.update(self.done + self._failed - before)

    def _tell(self) -> None:
        numbers = {"failed": self._failed, "restored": self._before}
        text = ", ".join(f"{n} {what}" for what, n in numbers.items() if n)
        self._bar.set_postfix_str(text, refresh=False)
