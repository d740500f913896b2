"""What a fork gave by hand outlives the rerun of the cells below it, and *Run All*."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.notebooks import Notebook
from tests.browser.test_rerun_page import Rerun

pytestmark = pytest.mark.parametrize("application", ["lab"], indirect=True)

SPLIT, TREES, SEED, TRAIN = 1, 2, 3, 4
CELLS = (
    "%%checkpoint split\nrows = [1, 2]",
    "n_trees = 30",
    "%%checkpoint seed\nn_jobs = len('ab')\nseed = 1",
    "%%checkpoint train\nmodel = rows * n_trees * n_jobs\nprint(len(model))",
)
BELOW = """() => {
  const panel = window.jupyterapp.shell.currentWidget;
  panel.content.activeCellIndex = 1;
  return window.jupyterapp.commands.execute('notebook:run-all-below');
}"""


@pytest.fixture
def forked(notebook: Notebook, variables_only: None) -> Rerun:
    """On a branch of `split` with 3 trees and 1 job."""
    notebook.load(*CELLS)
    forked = Rerun(notebook)
    forked.expect(TRAIN, "checkpointed")
    notebook.sidebar.open()
    notebook.execute("%fork split try-3 n_trees=3 n_jobs=1")
    forks_own = re.compile("split, forked, you are here, head of try-3")  # not where it left
    expect(notebook.sidebar.here).to_have_attribute("aria-label", forks_own)
    return forked


def test_a_rerun_leaves_out_what_would_only_take_it_back_and_asks_about_the_rest(
    notebook: Notebook, forked: Rerun, pictures: Callable[[str], Path]
) -> None:
    notebook.sidebar.here.click()
    notebook.sidebar.verb("rerun").click()
    forked.dialog.wait_for()

    planned = forked.planned()
    assert planned[0] == ["left out", "n_trees = 30", "n_trees was given by hand"]
    assert planned[1][0] in ("runs", "restored")
    assert planned[1][1:] == ["seed", "it overwrites n_jobs, given by hand"]
    ticks = forked.dialog.get_by_label("Run it all the same")
    assert [tick.is_checked() for tick in ticks.all()] == [False, True]
    notebook.page.screenshot(path=pictures("rerun-given"))
    ticks.nth(1).uncheck()
    assert [line[0] for line in forked.planned()] == ["left out", "left out", "runs"]
    forked.accept()

    expect(forked.told).to_contain_text("rerun from split: 1 run")
    assert forked.outputs(TRAIN).splitlines()[-1] == "6"
    assert notebook.printed("n_trees, n_jobs") == "3 1"
    expect(notebook.sidebar.here).to_have_attribute("data-name", "train")
    expect(notebook.sidebar.part("branchName")).to_have_text("try-3")


def test_who_ticks_it_has_it_run(notebook: Notebook, forked: Rerun) -> None:
    notebook.sidebar.here.click()
    notebook.sidebar.verb("rerun").click()
    forked.dialog.wait_for()
    forked.dialog.get_by_label("Run it all the same").first.check()
    forked.accept()

    expect(forked.told).to_contain_text("rerun from split")
    assert notebook.printed("n_trees, n_jobs") == "30 2"


def test_all_cells_below_in_one_go_leave_it(notebook: Notebook, forked: Rerun) -> None:
    notebook.page.evaluate(BELOW)

    expect(notebook.sidebar.here).to_have_attribute("data-name", "train")
    output = notebook.page.locator(".jp-Cell").nth(TREES).locator(".jp-OutputArea-output")
    expect(output).to_contain_text("left out, as n_trees was given by hand at 'split'")
    assert notebook.printed("n_trees, len(model)") == "3 12"
    expect(notebook.sidebar.part("branchName")).to_have_text("try-3")
