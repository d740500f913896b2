"""What people have without any system: nothing, or running the cells again."""

from __future__ import annotations

from typing import Any

from tests.bench.systems.base import System


class Bare(System):
    """No system at all: the times that all others are counted against."""

    name = "bare"
    restores = False

    def restore(self, cell: int) -> None:
        """Nothing: what a trap must find wrong."""


class Rerun(System):
    """Going back is to clear the namespace and to run the cells again."""

    name = "rerun"

    def start(self, shell: Any) -> None:
        super().start(shell)
        self.cells: list[str] = self.read_note("cells.json", [])

    def after_cell(self, cell: int, source: str) -> None:
        self.cells.append(source)

    def finish(self) -> None:
        self.write_note("cells.json", self.cells)

    def restore(self, cell: int) -> None:
        self.replace_variables({})
        for source in self.cells[: cell + 1]:
            self.shell.run_cell(source, silent=True)
