"""Cells of a notebook, run in a real shell as a front end runs them: with ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbckpt.jupyter.notebook.documents import Written, code_cells
from nbckpt.jupyter.notebook.marks import Mark, Marks
from nbckpt.jupyter.shell import load, unload
from nbckpt.model import Cell
from nbckpt.session.session import Session


class Notebook:
    """Code cells by their ids, in their order; the marks beside them."""

    def __init__(self, shell: Any, sources: Mapping[str, str] | None = None) -> None:
        self.shell = shell
        self.sources = dict(sources or {})
        self.session: Session = shell._nbckpt_extension.session
        self._count = 0
        self._marks = Marks(self.session, lambda: (self._count, self.session.timeline.revision))
        shell._nbckpt_extension.cells.steps.names.identities = self._marks.identities

    def run(self, *cell_ids: str, **sources: str) -> None:
        """Run cells, by their ids; of those that are given, with another text from then on."""
        for cell_id in (*cell_ids, *sources):
            self.sources[cell_id] = sources.get(cell_id, self.sources.get(cell_id, ""))
            self._count += 1
            source = self.sources[cell_id]
            self.shell.run_cell(source, cell_id=cell_id, store_history=True)

    def run_all(self) -> None:
        """Run all cells, from top to bottom."""
        self.run(*self.sources)

    def tell(self, *cell_ids: str, page: str = "page", notebook: str = "a.ipynb") -> None:
        """Have a page tell its cells, by default all, in their order."""
        cells = cell_ids or tuple(self.sources)
        texts = [Cell(self.sources[cell_id]).source_crc for cell_id in cells]
        self._marks.arrange(cells, texts, page=page, notebook=notebook)

    def move(self, cell_id: str, to: str) -> None:
        """Cut a cell and paste it in the same place: it has another id."""
        self.sources = {to if i == cell_id else i: s for i, s in self.sources.items()}

    @property
    def document(self) -> list[Written]:
        """The cells as a page tells them."""
        cells = self.sources.items()
        return code_cells([{"cell_id": i, "source": s, "kind": "code"} for i, s in cells])

    def marks(self) -> dict[str, Mark]:
        """What stands beside each cell."""
        self.session.wait()
        self.session.refresh()
        return self._marks.now()

    def states(self) -> dict[str, str]:
        """The same in a word or two."""
        return {
            i: f"{m['state']}: {m['why'] or m['error']}" if m["why"] or m["error"] else m["state"]
            for i, m in self.marks().items()
        }


CELLS = {
    "setup": "k = 3",
    "load": "%%checkpoint load\ndf = [1, 2] * k",
    "embed": "%%checkpoint embed\nm = sum(df)",
    "train": "%%checkpoint train\nt = m + k",
}


def new_session(shell: Any, sources: Mapping[str, str] = CELLS) -> Notebook:
    """A notebook in a new kernel: another namespace, another session."""
    unload(shell)
    for name in [n for n in shell.user_ns if not n.startswith("_")]:
        if name not in shell.user_ns_hidden:
            del shell.user_ns[name]
    load(shell)
    return Notebook(shell, sources)


def notebook_that_ran(shell: Any) -> Notebook:
    notebook = Notebook(shell, CELLS)
    notebook.run_all()
    return notebook
