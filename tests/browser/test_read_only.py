"""A notebook in a folder that it may not write to: its cells run, and say why nothing is kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.applications import Application
from tests.browser.notebooks import Notebook

# Modes do not hold who has this right, as in a container; of Linux's rights none is left then.
POWERLESS = """\
import ctypes, os
if os.geteuid() == 0:
    version_3, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None).capset(version_3, nothing) == 0
assert not os.access('.', os.W_OK, effective_ids=True)
"""
CELLS = (
    POWERLESS,
    "%%checkpoint train\nmodel = 6 * 7\nprint('trained', model)",
    "%timeline",
    "print('model', model)",
)


@pytest.fixture
def locked(application: Application, context: BrowserContext) -> Iterator[Notebook]:
    """A notebook in a folder of mode 0555, its cells not run yet."""
    folder: Path = application.root / f"locked-{application.name}"
    folder.mkdir()
    notebook = Notebook(application, context.new_page(), f"{folder.name}/work")
    folder.chmod(0o555)
    notebook.fill(*CELLS)
    yield notebook
    folder.chmod(0o755)
    notebook.page.close()
    assert notebook.own_errors == []


def test_a_marked_cell_runs_and_says_why_nothing_is_kept(locked: Notebook) -> None:
    locked.run(0)
    locked.sidebar.open()
    locked.sidebar.remedy("enable").click()
    refusal = locked.sidebar.plight.locator(".nbckpt-Timeline-error")
    expect(refusal).to_contain_text("cannot be written: permission denied")
    expect(refusal).to_contain_text("NBCKPT_STORE")

    for index in range(1, len(CELLS)):
        locked.run(index)

    cells = locked.page.locator(".jp-Cell")
    expect(cells.nth(1)).to_contain_text("trained 42")
    expect(cells.nth(1)).to_contain_text("this cell runs, and nothing of it is kept")
    expect(cells.nth(2)).to_contain_text("nbckpt is not loaded: ")
    expect(cells.nth(3)).to_contain_text("model 42")
