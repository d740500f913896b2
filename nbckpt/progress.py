"""A progress bar for what takes longer than a second."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

PATIENCE_S = 1.0
"""Nothing is shown for what is done sooner."""


class Bar:
    """Counts bytes; shows itself once the work has gone on for `PATIENCE_S`.

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
        elif time.perf_counter() - self._began >= PATIENCE_S:
            from tqdm.auto import tqdm

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


@contextmanager
def loop_bar(what: str, total: int, done: int) -> Iterator[Callable[[], object]]:
    """A bar over the items of a loop; what it gives is called after each item."""
    from tqdm.auto import tqdm

    known = total if total >= 0 else None
    with tqdm(desc=what, total=known, initial=min(done, max(total, 0)), delay=PATIENCE_S) as bar:
        yield bar.update
