"""The tutorials run, and give what they show."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from nbckpt.cli.demo import notebook_path
from tests.running import environment, write_notebook

NOTEBOOKS = sorted(notebook_path().parent.glob("*.ipynb"))

GUARD = '''
"""nbval passes a cell whose magic is unknown: that is only a line on stderr."""
import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    outputs = getattr(item, "test_outputs", None) or []
    told = "".join(o.get("text", "") for o in outputs if o.get("output_type") == "stream")
    if call.when == "call" and report.passed and ("UsageError:" in told or "nbckpt: " in told):
        report.outcome, report.longrepr = "failed", told
'''


def validated(notebook: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """What nbval says of a copy of `notebook` in `folder`."""
    folder.mkdir(exist_ok=True)
    (folder / "conftest.py").write_text(GUARD)
    quick = notebook.read_text("utf-8").replace("seconds_per_call = 0.2", "seconds_per_call = 0.01")
    (folder / notebook.name).write_text(quick, "utf-8")
    command = "-m pytest --nbval --nbval-current-env -p no:cacheprovider -q --rootdir ."
    return subprocess.run(
        [sys.executable, *command.split(), notebook.name],
        cwd=folder,
        env={**environment(), "NBCKPT_STORE": str(folder / "store")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_tutorial_gives_what_it_shows_also_from_its_store(notebook: Path, tmp_path: Path) -> None:
    first = validated(notebook, tmp_path / "copy")
    again = validated(notebook, tmp_path / "copy")

    assert first.returncode == 0, first.stdout
    assert again.returncode == 0, again.stdout


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_tutorial_is_whole_and_names_no_place_of_anybodys(notebook: Path) -> None:
    document = nbformat.read(notebook, as_version=4)
    text = notebook.read_text("utf-8")

    nbformat.validate(document)
    code = [cell for cell in document.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert all(re.fullmatch(r"[a-z][a-z-]{2,30}", cell.id) for cell in document.cells)
    assert not re.search(r"https?:|/home/|/root/|/tmp/|/Users/", text)


@pytest.mark.slow
def test_a_notebook_whose_magic_is_unknown_does_not_pass(tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "bad.ipynb", {"a": "%%checkpoint load\nx = 1"})

    done = validated(notebook, tmp_path / "copy")

    assert done.returncode == 1
    assert "UsageError" in done.stdout
