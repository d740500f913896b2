"""Kishu, attached to a plain shell in its own test mode.

That mode leaves out the writing of the notebook and the reload of the browser, which cost it at
least 0.2 s for a checkpoint in a real JupyterLab: the figures flatter it.
"""

from __future__ import annotations

import os
from typing import Any

from tests.bench.systems.base import System


class Kishu(System):
    """As it is installed."""

    name = "kishu"
    packages = ("kishu",)
    config = "[IDGRAPH]\n[OPTIMIZER]\n"

    def start(self, shell: Any) -> None:
        super().start(shell)
        notebook = self.folder / "notebook.ipynb"
        os.environ["KISHU_PATH_ROOT"] = str(self.folder)
        os.environ["TEST_NOTEBOOK_PATH"] = str(notebook)
        os.environ["ENV_KISHU_TEST_MODE"] = "1"
        import nbformat

        if not notebook.exists():
            nbformat.write(nbformat.v4.new_notebook(), notebook)
        (self.folder / ".kishu").mkdir(exist_ok=True)
        sections = "[CLI]\n[COMMIT_GRAPH]\n[JUPYTERINT]\n[PLANNER]\n[PROFILER]\n"
        (self.folder / ".kishu" / "config.ini").write_text(sections + self.config)
        # Silent, as its own command line does it, so that it does not follow this cell.
        shell.run_cell("from kishu import init_kishu; init_kishu()", silent=True).raise_error()
        self.kishu = shell.user_ns["_kishu"]
        self.commits: dict[str, str] = self.read_note("commits.json", {})

    def mark(self, cell: int) -> None:
        self.commits[str(cell)] = self.kishu._kishu_graph.head()

    def finish(self) -> None:
        self.write_note("commits.json", self.commits)

    def restore(self, cell: int) -> None:
        self.kishu.checkout(self.commits[str(cell)], skip_notebook=True)

    def stored_bytes(self) -> int:
        return sum(f.stat().st_size for f in self.folder.glob("*.kishudb*"))

    def variables(self) -> dict[str, Any]:
        its_own = {"init_kishu", "kishu"}
        return {k: v for k, v in super().variables().items() if k not in its_own}


class KishuExperimental(Kishu):
    """With the two speed-ups that it documents: hashed arrays, no profiling of sizes."""

    name = "kishu-exp"
    config = "[IDGRAPH]\nexperimental_tracker = True\n[OPTIMIZER]\nalways_migrate = True\n"
