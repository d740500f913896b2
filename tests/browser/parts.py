"""The parts of a timeline, wherever it is drawn."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator


class Parts:
    """What is found within `root`."""

    @property
    def root(self) -> Locator:
        """The timeline."""
        raise NotImplementedError

    def part(self, name: str) -> Locator:
        """A part of it."""
        return self.root.locator(f".nbckpt-Timeline-{name}")

    def verb(self, name: str) -> Locator:
        """What does something with the selected checkpoint: a button, or a line of its menu."""
        wanted = self.root.locator(f"button.nbckpt-Timeline-{name}")
        if not wanted.count():
            self.root.locator("button.nbckpt-Timeline-more").click()
        return wanted

    def row(self, name: str) -> Locator:
        """The newest checkpoint of a name."""
        return self.root.locator(f'.nbckpt-Timeline-row[data-name="{name}"]').first

    @property
    def here(self) -> Locator:
        """The row where the session stands."""
        return self.root.locator(".nbckpt-Timeline-row.nbckpt-is-position")

    def names(self) -> list[str]:
        """Those of all rows that are drawn, newest first."""
        rows: Any = self.part("row").evaluate_all(
            "rows => rows.sort((a, b) => a.getBoundingClientRect().top - "
            "b.getBoundingClientRect().top).map(row => row.dataset.name)"
        )
        return list(rows)
