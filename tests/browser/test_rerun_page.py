"""*Rerun from here* in JupyterLab: the notebook's own cells, so that outputs land in the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.marked import Marked
from tests.browser.notebooks import Notebook

pytestmark = pytest.mark.parametrize("application", ["lab"], indirect=True)

LOAD, TOTAL, OTHER, MEAN = 1, 2, 3, 4
CELLS = (
    "%%checkpoint load\ndf = [1, 2, 3]",
    "%%checkpoint total\ntotal = sum(df)\nprint('total', total)",
    "%%checkpoint other\nother = 'as it was'\nprint(other)",
    "%%checkpoint mean\nmean = total / len(df)\nprint('mean', mean)",
)
DOUBLE = "%%checkpoint total\ntotal = 2 * sum(df)\nprint('total', total)"


def _is_told(line: str) -> bool:
    """True if nbckpt says it, not the cell."""
    return "restored" in line or line.startswith("nbckpt: ")


class Rerun(Marked):
    """A notebook of four cells that ran."""

    def ask(self, name: str) -> None:
        """Click *Rerun from here* at a checkpoint."""
        self._notebook.sidebar.row(name).click()
        self._notebook.sidebar.verb("rerun").click()
        self.dialog.wait_for()

    @property
    def dialog(self) -> Locator:
        """What is asked."""
        return self.page.locator(".jp-Dialog")

    def planned(self) -> list[list[str]]:
        """What the dialog says of each cell: what becomes of it, its name, and why."""
        lines = self.dialog.locator(".nbckpt-RerunBody-cell").all()
        parts = ("state", "code", "why")
        return [
            [line.locator(f".nbckpt-RerunBody-{part}").inner_text() for part in parts]
            for line in lines
        ]

    def accept(self) -> None:
        """Have it done."""
        self.dialog.get_by_role("button", name="Rerun", exact=True).click()

    @property
    def told(self) -> Locator:
        """What the panel says came of it."""
        return self._notebook.sidebar.part("notice")

    def last_lines(self) -> list[str]:
        """The last line that each cell shows."""
        return [
            [line for line in self.outputs(i).split("\n") if not _is_told(line)][-1]
            for i in (TOTAL, OTHER, MEAN)
        ]


@pytest.fixture
def rerun(notebook: Notebook) -> Rerun:
    notebook.load(*CELLS)
    rerun = Rerun(notebook)
    rerun.expect(MEAN, "checkpointed")
    notebook.sidebar.open()
    return rerun


def test_stale_cells_run_in_order_and_show_their_outputs_in_the_page(
    notebook: Notebook, rerun: Rerun, pictures: Callable[[str], Path]
) -> None:
    rerun.edit(TOTAL, DOUBLE)

    rerun.ask("load")

    assert [line[:2] for line in rerun.planned()] == [
        ["runs", "total"],
        ["restored", "other"],
        ["runs", "mean"],
    ]
    expect(rerun.dialog).to_contain_text("The variables go back to load")
    notebook.page.screenshot(path=pictures("rerun-dialog"))
    rerun.accept()
    expect(rerun.told).to_contain_text("rerun from load: 2 run, 1 restored")
    notebook.page.screenshot(path=pictures("rerun-done"))
    assert rerun.last_lines() == ["total 12", "as it was", "mean 4.0"]
    assert notebook.printed("(total, other, mean)") == "(12, 'as it was', 4.0)"


def test_a_rerun_that_is_cancelled_does_nothing(notebook: Notebook, rerun: Rerun) -> None:
    rerun.ask("load")
    rerun.dialog.get_by_role("button", name="Cancel").click()

    assert notebook.printed("mean") == "2.0"
    expect(rerun.told).to_have_text("")


def test_it_stops_at_the_first_error_and_what_is_below_stays(
    notebook: Notebook, rerun: Rerun
) -> None:
    rerun.edit(TOTAL, "%%checkpoint total\nraise ValueError('no rows')")

    rerun.ask("load")
    rerun.accept()

    expect(rerun.told).to_contain_text("total failed: ValueError: no rows")
    assert "ValueError: no rows" in rerun.outputs(TOTAL)
    assert rerun.outputs(MEAN) == "mean 2.0"
    expect(rerun.told).to_contain_text("2 cells were not reached")


def test_what_is_not_stale_stays_unless_all_is_asked_for(notebook: Notebook, rerun: Rerun) -> None:
    rerun.edit(LOAD, "%%checkpoint load\ndf = [7, 8, 9]")
    notebook.run(LOAD)
    loads = notebook.sidebar.root.locator('.nbckpt-Timeline-row[data-name="load"]')
    expect(loads).to_have_count(2)

    rerun.ask("load")

    expect(rerun.dialog).to_contain_text("2 cells run, 1 stays as it is")
    assert [line[0] for line in rerun.planned()] == ["runs", "stays", "runs"]
    rerun.dialog.get_by_label("Run all cells below").check()
    assert [line[0] for line in rerun.planned()] == ["runs", "runs", "runs"]
    rerun.dialog.get_by_label("Run all cells below").uncheck()
    rerun.accept()
    expect(rerun.told).to_contain_text("rerun from load: 2 run")
    assert rerun.last_lines() == ["total 24", "as it was", "mean 8.0"]


def test_below_the_last_cell_there_is_nothing_to_run(notebook: Notebook, rerun: Rerun) -> None:
    notebook.sidebar.row("mean").click()
    notebook.sidebar.verb("rerun").click()

    expect(rerun.told).to_contain_text("Below mean there is no cell to run.")


def test_a_cell_that_runs_is_waited_for_or_interrupted(notebook: Notebook, rerun: Rerun) -> None:
    rerun.edit(0, "import time; time.sleep(60)")
    notebook.run(0, waits=False)
    notebook.sidebar.part("busy").wait_for()

    rerun.ask("load")
    waits = rerun.dialog.get_by_text("the rerun waits for it")
    expect(waits).to_be_visible()
    rerun.dialog.get_by_role("button", name="Interrupt It").click()
    expect(waits).to_be_hidden()
    rerun.accept()

    expect(rerun.told).to_contain_text("rerun from load: 3 restored")
    assert rerun.last_lines() == ["total 6", "as it was", "mean 2.0"]
