"""Running notebooks unattended: real kernels, really killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nbckpt.errors import NotebookError, StoreError, UsageError
from nbckpt.jupyter.runner.run import Run, run
from nbckpt.timeline.cell_outcomes import Outcome
from tests.running import DIE_ONCE, NOTE, environment, noted, texts_of, write_notebook

LOOP = """
results = []
with nbckpt.checkpoint("read", vars=["results"]) as step:
    for item in step.track(data):
        if item == 6:
            die_once()
        note(f"read {item}")
        time.sleep(0.02)
        results.append(item * item)
"""

CELLS = {
    "open": "%load_ext nbckpt\nimport nbckpt, time",
    "tools": NOTE + DIE_ONCE,
    "load": 'note("load")\ndata = list(range(12))\nprint("loaded", len(data))',
    "loop": LOOP,
    "total": 'note("total")\ntotal = sum(results)\ntotal',
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    monkeypatch.delenv("NBCKPT_STORE", raising=False)


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    return write_notebook(tmp_path / "work.ipynb", CELLS)


def cell(done: Run, cell_id: str) -> Outcome:
    return next(c for c in done.cells if c.cell_id == cell_id)


@pytest.mark.slow
def test_after_its_kernel_was_killed_a_run_goes_on_where_it_was(
    notebook: Path, tmp_path: Path
) -> None:
    first = run(notebook)
    partial = texts_of(first.out)
    second = run(notebook)

    assert first.ending == "died"
    assert "was killed" in first.problem
    assert "cell 4 of 5 ('loop')" in first.problem
    assert partial["load"] == "loaded 12\n"
    assert partial["total"] == ""
    assert [c.ending for c in first.cells] == ["done", "done", "done", "died", "waiting"]
    assert (second.ending, second.problem) == ("done", "")
    assert cell(second, "load").way == "restored"
    assert (cell(second, "loop").way, cell(second, "loop").total) == ("continued", 12)
    assert 1 <= cell(second, "loop").done <= 6  # of quick items some run again, on a busy machine
    assert noted(tmp_path).count("load") == 1
    assert noted(tmp_path).count("total") == 1
    assert {*noted(tmp_path)} == {"load", "total", *(f"read {i}" for i in range(12))}
    assert noted(tmp_path).count("read 0") == 1

    undisturbed = run(notebook, out=tmp_path / "other.ipynb", store=tmp_path / "other")
    assert texts_of(undisturbed.out) == texts_of(second.out)
    assert texts_of(second.out)["total"] == str(sum(i * i for i in range(12)))


@pytest.mark.slow
def test_a_run_that_is_done_is_restored_as_a_whole(notebook: Path, tmp_path: Path) -> None:
    (tmp_path / "died").touch()

    first = run(notebook)
    before = noted(tmp_path)
    second = run(notebook)

    assert [c.way for c in first.cells] == ["ran"] * 5
    assert [c.way for c in second.cells[1:]] == ["restored"] * 4
    assert second.saved_s > 0.2
    assert noted(tmp_path) == before
    assert texts_of(first.out) == texts_of(second.out)


@pytest.mark.slow
def test_a_runner_that_is_killed_leaves_a_notebook_and_a_place_to_go_on(
    notebook: Path, tmp_path: Path
) -> None:
    (tmp_path / "died").touch()
    source = notebook.read_text().replace("time.sleep(0.02)", "time.sleep(0.25)")
    notebook.write_text(source)
    process = start_command(notebook)
    wait_until(lambda: "read 3" in noted(tmp_path))

    process.kill()
    process.communicate()
    partial = texts_of(tmp_path / "work.out.ipynb")
    second = run(notebook)

    assert partial["load"] == "loaded 12\n"
    assert cell(second, "load").way == "restored"
    assert cell(second, "loop").done >= 3
    assert noted(tmp_path).count("read 2") == 1
    assert texts_of(second.out)["total"] == str(sum(i * i for i in range(12)))


@pytest.mark.slow
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_soon_and_goes_on_there(
    notebook: Path, tmp_path: Path, by: signal.Signals
) -> None:
    (tmp_path / "died").touch()
    notebook.write_text(notebook.read_text().replace("time.sleep(0.02)", "time.sleep(0.25)"))
    process = start_command(notebook)
    wait_until(lambda: "read 3" in noted(tmp_path))

    process.send_signal(by)
    told, complaint = process.communicate(timeout=10)

    assert process.returncode == 130
    assert "interrupted" in told
    assert "interrupted in cell 4 of 5 ('loop')" in complaint
    assert "Traceback" not in complaint
    assert "KeyboardInterrupt" in texts_of(tmp_path / "work.out.ipynb")["loop"]
    assert noted(tmp_path)[-1] != "read 11"


@pytest.mark.slow
def test_a_cells_own_error_is_named_and_written_with_its_traceback(tmp_path: Path) -> None:
    cells = {"fine": "a = 1\nprint(a)", "bad": "b = a / 0", "after": "print('never')"}
    notebook = write_notebook(tmp_path / "bad.ipynb", cells)

    done = run(notebook)

    assert done.ending == "failed"
    assert [c.saved_s for c in done.cells] == [0.0] * 3
    assert done.problem == "cell 2 of 3 ('bad') failed: ZeroDivisionError: division by zero"
    assert [c.ending for c in done.cells] == ["done", "failed", "waiting"]
    assert texts_of(done.out) == {
        "fine": "1\n",
        "bad": "ZeroDivisionError: division by zero",
        "after": "",
    }


@pytest.mark.slow
def test_after_the_mending_of_a_cell_those_before_it_are_restored(tmp_path: Path) -> None:
    cells = {"tools": NOTE, "fine": "note('fine')\na = 1", "bad": "b = a / 0"}
    notebook = write_notebook(tmp_path / "bad.ipynb", cells)
    run(notebook)
    write_notebook(notebook, {**cells, "bad": "b = a / 2\nb"})

    done = run(notebook)

    assert [c.way for c in done.cells] == ["restored", "restored", "ran"]
    assert noted(tmp_path) == ["fine"]
    assert texts_of(done.out)["bad"] == "0.5"


@pytest.mark.slow
def test_another_parameter_runs_only_what_depends_on_it(tmp_path: Path) -> None:
    cells = {
        "tools": NOTE,
        "defaults": "n = 2\nunused = 0",
        "load": "note('load')\ndata = [1, 2, 3]",
        "scale": "note('scale')\nscaled = [n * x for x in data]\nscaled",
        "count": "note('count')\nlen(data)",
    }
    notebook = write_notebook(tmp_path / "p.ipynb", cells, {"defaults": ["parameters"]})
    run(notebook)

    done = run(notebook, values={"n": 5})

    assert noted(tmp_path) == ["load", "scale", "count", "scale"]
    assert texts_of(done.out)["scale"] == "[5, 10, 15]"
    assert cell(done, "load").way == "restored"
    assert cell(done, "count").way == "restored"
    assert done.unknown == ()


@pytest.mark.slow
def test_fresh_runs_every_cell_again(tmp_path: Path) -> None:
    cells = {"tools": NOTE, "load": "note('load')\ndata = 1"}
    notebook = write_notebook(tmp_path / "f.ipynb", cells)
    run(notebook)

    done = run(notebook, fresh=True)

    assert [c.way for c in done.cells] == ["ran", "ran"]
    assert noted(tmp_path) == ["load", "load"]


@pytest.mark.slow
def test_what_is_run_is_not_written_to_unless_it_is_named(tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "a.ipynb", {"a": "print(1)"})
    before = notebook.read_bytes()

    elsewhere = run(notebook)
    kept = notebook.read_bytes()
    in_place = run(notebook, out=notebook)

    assert kept == before
    assert elsewhere.out == tmp_path / "a.out.ipynb"
    assert elsewhere.store == tmp_path / ".nbckpt"
    assert texts_of(in_place.out) == {"a": "1\n"}


@pytest.mark.slow
def test_the_environment_names_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = write_notebook(tmp_path / "a.ipynb", {"a": "b = 1"})
    monkeypatch.setenv("NBCKPT_STORE", str(tmp_path / "elsewhere"))

    done = run(notebook)

    assert done.store == tmp_path / "elsewhere"
    assert (tmp_path / "elsewhere" / "format.json").exists()
    assert not (tmp_path / ".nbckpt").exists()


def test_a_kernel_that_is_not_there_is_named(tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "a.ipynb", {"a": "1"}, kernel="no-such-kernel")

    with pytest.raises(NotebookError, match="no-such-kernel"):
        run(notebook)


@pytest.mark.slow
def test_a_cell_that_ends_its_kernel_is_told_with_its_exit_status(tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "a.ipynb", {"a": "import os\nos._exit(7)"})

    done = run(notebook)

    assert done.ending == "died"
    assert "exit status 7" in done.problem


@pytest.mark.parametrize("text", [None, "no notebook", '{"nbformat": 9}'])
def test_what_is_no_notebook_is_refused_before_anything_is_made(
    tmp_path: Path, text: str | None
) -> None:
    notebook = tmp_path / "a.ipynb"
    if text is not None:
        notebook.write_text(text)

    with pytest.raises(UsageError, match=r"a\.ipynb"):
        run(notebook)

    assert not (tmp_path / ".nbckpt").exists()


def test_an_out_that_cannot_be_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "a.ipynb", {"a": "open('ran', 'w')"})

    with pytest.raises(UsageError, match="no folder"):
        run(notebook, out=tmp_path / "nowhere" / "out.ipynb")
    with pytest.raises(UsageError, match="is a folder"):
        run(notebook, out=tmp_path)

    assert not (tmp_path / "ran").exists()


def test_a_folder_that_is_no_store_is_refused(tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "a.ipynb", {"a": "1"})

    with pytest.raises(StoreError, match="is no store"):
        run(notebook, store=tmp_path)


def start_command(notebook: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "nbckpt", "run", str(notebook)],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until(happened: Callable[[], bool], timeout_s: float = 30) -> None:
    deadline = time.monotonic() + timeout_s
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)
