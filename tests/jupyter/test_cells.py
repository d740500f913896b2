"""`%%checkpoint` and what happens around each cell, in a real shell."""

from __future__ import annotations

import time
import unicodedata
from pathlib import Path
from typing import Any

import pytest

import nbckpt
from nbckpt.fingerprint import random_generators
from nbckpt.steps import current_session
from nbckpt.steps.execution.step_state import StepState
from tests.kernels import Kernel
from tests.notebooks import restart


def run(shell: Any, source: str, cell_id: str | None = None) -> Any:
    return shell.run_cell(source, store_history=True, cell_id=cell_id)


def names_of_history() -> list[str]:
    return [c.name for c in current_session.session().history()]


@pytest.mark.slow
def test_a_cell_runs_once_and_is_restored_after_a_restart(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = "%%checkpoint train\nwith open('ran.txt', 'a') as f:\n    _ = f.write('x')\nmodel = {'w': [1, 2]}"
    run(shell, cell)
    restart(shell)
    capsys.readouterr()

    result = run(shell, cell)

    assert result.success
    assert shell.user_ns["model"] == {"w": [1, 2]}
    assert Path("ran.txt").read_text() == "x"
    assert "restored 'train'" in capsys.readouterr().out


def test_a_restored_cell_shows_its_outputs_again(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = (
        "%%checkpoint show\nimport sys\nprint('to stdout')\nprint('to stderr', file=sys.stderr)\n"
        "from IPython.display import display\ndisplay({'shown': 1})\n6 * 7"
    )
    run(shell, cell)
    restart(shell)
    capsys.readouterr()

    run(shell, cell)

    out, err = capsys.readouterr()
    shown = [line for line in out.splitlines() if line and "restored" not in line]
    assert (shown[0], shown[-1]) == ("to stdout", "Out[2]: 42")
    assert set(shown[1:-1]) == {"{'shown': 1}"}
    assert "to stderr" in err


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("x = 1", "x = 2", "input 'x' has another value"),
        ("def f():\n    return 1\nx = 1", "def f():\n    return 2\nx = 1", "function 'f' changed"),
    ],
)
def test_a_cell_runs_again_when_what_it_reads_has_changed(
    shell: Any, capsys: pytest.CaptureFixture[str], before: str, after: str, reason: str
) -> None:
    cell = (
        "%%checkpoint y\ny = (f() if 'f' in globals() else 0) + x\nf"
        if "def" in before
        else ("%%checkpoint y\ny = x + 1")
    )
    run(shell, before)
    run(shell, cell)
    restart(shell)
    run(shell, after)
    capsys.readouterr()

    run(shell, cell)

    assert reason in capsys.readouterr().out
    assert current_session.session().state(StepState).latest["y"].todo


def test_comments_and_spacing_do_not_make_a_cell_run_again(shell: Any) -> None:
    run(shell, "%%checkpoint a\nx = [1,2]")
    restart(shell)

    run(shell, "%%checkpoint a\n\n# a comment\nx = [1,\n     2]  # another")

    assert not current_session.session().state(StepState).latest["a"].todo


def test_a_cell_that_reads_a_file_depends_on_it_when_told(shell: Any) -> None:
    cell = "%%checkpoint a --deps data.txt\nwith open('data.txt') as f:\n    x = f.read()"
    write = "f = open('data.txt', 'w'); _ = f.write({!r}); f.close()"
    run(shell, write.format("one"))
    run(shell, cell)
    restart(shell)
    run(shell, write.format("two"))

    run(shell, cell)

    assert shell.user_ns["x"] == "two"


def test_a_failed_cell_is_recorded_and_runs_again(shell: Any) -> None:
    run(shell, "%%checkpoint a\nx = 1\n1 / 0")

    [failed] = current_session.session().timeline.named("a")

    assert failed.state == "failed"
    assert failed.error == "ZeroDivisionError: division by zero"
    assert names_of_history() == []


def test_top_level_await_works_in_a_checkpoint_cell(shell: Any) -> None:
    result = run(shell, "%%checkpoint a\nimport asyncio\nawait asyncio.sleep(0)\nx = 5\nx")

    assert result.success
    assert result.result == 5
    assert names_of_history() == ["a"]


@pytest.mark.slow
def test_a_magic_below_the_checkpoint_line_works(shell: Any) -> None:
    run(shell, "%%checkpoint a\n%%time\nx = 5")

    assert shell.user_ns["x"] == 5
    assert names_of_history() == ["a"]


def test_the_magic_can_be_called_by_its_name(shell: Any) -> None:
    shell.run_cell_magic("checkpoint", "a", "x = 5")

    assert shell.user_ns["x"] == 5
    assert names_of_history() == ["a"]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("a --vars nope", "no variable 'nope'"),
        ("a --frobnicate", "'--frobnicate' is no option here"),
        ("a b", "'a b' is too much"),
        ("a --deps gone.csv", "gone.csv"),
        ("~2", "'~2' is no name of a checkpoint"),
        ("a --note 'x", "No closing quotation"),
    ],
)
def test_a_bad_line_is_told_and_the_cell_does_not_run(
    shell: Any, capsys: pytest.CaptureFixture[str], line: str, sentence: str
) -> None:
    result = run(shell, f"%%checkpoint {line}\nx = 5")

    out, err = capsys.readouterr()
    assert not result.success
    assert sentence in out + err
    assert "Traceback" not in out + err
    assert "x" not in shell.user_ns


def test_a_name_used_by_two_cells_is_refused(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, "%%checkpoint a\nx = 1", cell_id="one")

    result = run(shell, "%%checkpoint a\ny = 1", cell_id="two")

    assert not result.success
    assert "'a' is the name of another cell" in capsys.readouterr().out
    assert "y" not in shell.user_ns


def test_only_the_variables_that_were_asked_for_are_kept(shell: Any) -> None:
    run(shell, "%%checkpoint a --vars x --tag good --note 'first try'\nx = 1\ny = 2")

    [checkpoint] = current_session.session().history()

    assert set(checkpoint.changed) - random_generators.NAMES == {"x"}
    assert checkpoint.omitted == ("y",)
    assert checkpoint.tags == ("good",)
    assert checkpoint.note == "first try"


def test_what_was_left_out_survives_a_rewind_and_back(shell: Any) -> None:
    run(shell, "%%checkpoint start\nx = 1")
    run(shell, "big = list(range(10))")
    run(shell, "%%checkpoint a --vars x\nx = 2")

    run(shell, "%rewind start")
    run(shell, "%rewind -")

    assert shell.user_ns["big"] == list(range(10))
    assert shell.user_ns["x"] == 2


def test_auto_keeps_every_cell_and_skips_what_is_known(shell: Any) -> None:
    run(shell, "%nbckpt auto on")
    run(shell, "x = 1", cell_id="one")
    run(shell, "y = [x]\nwith open('ran.txt', 'a') as f:\n    _ = f.write('x')", cell_id="two")
    restart(shell)

    run(shell, "%nbckpt auto skip")
    run(shell, "x = 1", cell_id="one")
    run(shell, "y = [x]\nwith open('ran.txt', 'a') as f:\n    _ = f.write('x')", cell_id="two")

    assert shell.user_ns["y"] == [1]
    assert Path("ran.txt").read_text() == "x"


def test_a_restored_cell_still_sets_up_the_process(shell: Any) -> None:
    import os

    cell = "%%checkpoint a\nimport os\nos.environ['NBCKPT_TEST_FLAG'] = 'set'\nx = 1"
    run(shell, cell)
    del os.environ["NBCKPT_TEST_FLAG"]
    restart(shell)

    run(shell, cell)

    assert not current_session.session().state(StepState).latest["a"].todo
    assert os.environ.pop("NBCKPT_TEST_FLAG") == "set"


def test_resume_brings_back_everything(shell: Any) -> None:
    run(shell, "import math\ndef f(v):\n    return math.sqrt(v) + k\nk = 1")
    run(shell, "%%checkpoint a\nx = f(4)")
    restart(shell)

    run(shell, "%resume")

    assert shell.user_ns["x"] == 3
    assert shell.user_ns["f"](9) == 4


def test_magics_tell_what_is_there(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(shell, "%%checkpoint a\nx = 1")
    capsys.readouterr()

    for line in ("log", "status", "show a", "why a", "check"):
        assert run(shell, f"%nbckpt {line}").success
        assert "a" in capsys.readouterr().out


@pytest.mark.parametrize(
    "line",
    ["%rewind nope", "%rewind", "%resume nope", "%nbckpt frob", "%nbckpt show nope",
     "%nbckpt why nope", "%nbckpt sql selct 1", "%nbckpt auto maybe", "%checkpoint"],
)  # fmt: skip
def test_a_magic_that_cannot_be_done_says_so_in_one_line(
    shell: Any, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    run(shell, "%%checkpoint a\nx = 1")
    capsys.readouterr()

    result = run(shell, line)

    text = "".join(capsys.readouterr())
    assert not result.success
    assert "Traceback" not in text
    assert len(text.strip().splitlines()) <= 2
    assert shell.user_ns["x"] == 1


def test_what_cannot_be_kept_is_named_and_costs_nothing_else(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, "import socket\na, b = socket.socketpair()")
    capsys.readouterr()

    run(shell, "%%checkpoint mixed\nx = {'inner': [a]}\ngood = [1, 2]")

    out = capsys.readouterr().out
    assert "x" in out
    assert "x['inner'][0]" in out
    assert "good" in current_session.session().timeline.manifest(
        current_session.session().position.id or ""
    )
    run(shell, "a.close(); b.close()")


def test_an_error_of_the_disk_does_not_cost_the_cell(
    shell: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import os
    import shutil

    run(shell, "%%checkpoint a\nx = 1")
    store = current_session.session().store.path
    shutil.rmtree(store / "packs")
    shutil.rmtree(store / "journal")
    os.chmod(store, 0o500)  # noqa: PTH101

    result = run(shell, "%%checkpoint b\ny = list(range(1000))")

    os.chmod(store, 0o700)  # noqa: PTH101
    assert result.success
    assert shell.user_ns["y"] == list(range(1000))


def test_a_block_that_keeps_little_does_not_cost_the_cell_around_it(shell: Any) -> None:
    cell = (
        "a = [1]; b = 2; out = []\n"
        "with nbckpt.checkpoint('read', vars=['out']) as step:\n"
        "    for d in step.track(range(3)):\n        out.append(d)\n"
        "c = 3"
    )
    run(shell, "%nbckpt auto skip")
    run(shell, "import nbckpt", cell_id="one")
    run(shell, cell, cell_id="two")
    restart(shell)
    run(shell, "%nbckpt auto skip")
    run(shell, "import nbckpt", cell_id="one")

    run(shell, cell, cell_id="two")

    assert not current_session.session().state(StepState).latest["cell-two"].todo
    assert {n: shell.user_ns[n] for n in ("a", "b", "c", "out", "d")} == {
        "a": [1], "b": 2, "c": 3, "out": [0, 1, 2], "d": 2,
    }  # fmt: skip


def test_rerun_runs_cells_and_loops_from_their_beginning(shell: Any) -> None:
    run(shell, "%%checkpoint a\nwith open('ran.txt', 'a') as f:\n    _ = f.write('x')")

    run(shell, "%nbckpt auto on --rerun")
    run(shell, "%%checkpoint a\nwith open('ran.txt', 'a') as f:\n    _ = f.write('x')")

    assert Path("ran.txt").read_text() == "xx"


@pytest.mark.slow
@pytest.mark.parametrize("magic", ["%%time", "%%capture shown"])
def test_a_cell_magic_above_the_checkpoint_line_works_as_well(shell: Any, magic: str) -> None:
    cell = f"{magic}\n%%checkpoint a\nwith open('ran.txt', 'a') as f:\n    _ = f.write('x')\ny = 5"
    run(shell, cell)
    restart(shell)

    result = run(shell, cell)

    assert result.success
    assert shell.user_ns["y"] == 5
    assert not current_session.session().state(StepState).latest["a"].todo
    assert Path("ran.txt").read_text() == "x"


def test_a_file_may_begin_with_a_checkpoint_line(shell: Any) -> None:
    run(shell, "%%writefile cell.txt\n%%checkpoint a\nx = 1")

    assert Path("cell.txt").read_text().splitlines() == ["%%checkpoint a", "x = 1"]
    assert names_of_history() == []


@pytest.mark.parametrize("name", ["ünï", "訓練", "u\u0308ni"])
def test_a_name_may_have_letters_of_any_script(shell: Any, name: str) -> None:
    result = run(shell, f"%%checkpoint {name}\nx = 1")

    assert result.success
    assert names_of_history() == [unicodedata.normalize("NFC", name)]


@pytest.mark.slow
def test_printing_many_short_texts_takes_time_in_proportion(shell: Any) -> None:
    def seconds(count: int) -> float:
        began = time.perf_counter()
        run(shell, f"%%checkpoint c{count} --rerun\nfor _ in range({count}):\n    print('x' * 100)")
        return time.perf_counter() - began

    seconds(1000)
    few, many = seconds(5_000), seconds(50_000)

    assert many < 30 * few
    assert len(current_session.session().history()) == 3


def test_a_dead_proxy_does_not_cost_the_checkpoints_after_it(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, "import weakref\nclass Q:\n    pass\nq = Q(); p = weakref.proxy(q); del q")
    capsys.readouterr()

    run(shell, "%%checkpoint a\nx = [1]")

    assert "NOT kept" not in capsys.readouterr().err
    assert names_of_history() == ["a"]


def test_a_variable_that_holds_a_step_is_kept_without_it(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, "import nbckpt")
    capsys.readouterr()

    run(
        shell,
        "%%checkpoint a\nwith nbckpt.checkpoint('inner') as step:\n    x = 1\n"
        "held = {'step': step, 'x': [x]}",
    )

    assert "NOT kept" not in capsys.readouterr().err
    assert nbckpt.get("a").values["held"] == {"step": None, "x": [1]}


def test_a_line_that_begins_anew_says_where_the_old_one_is(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, "%%checkpoint a\nx = 1")
    restart(shell)
    capsys.readouterr()

    run(shell, "%%checkpoint other\ny = 1")

    assert "%resume main.1" in capsys.readouterr().out
    run(shell, "%resume main.1")
    assert shell.user_ns["x"] == 1


def test_a_checkpoint_cannot_have_a_branchs_name(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, "%%checkpoint a\nx = 1")

    result = run(shell, "%%checkpoint main\ny = 1")

    assert not result.success
    assert "'main' is the name of a branch" in capsys.readouterr().out


def test_a_path_that_is_set_under_a_condition_is_set_again(shell: Any) -> None:
    import sys

    cell = "%%checkpoint a\nimport sys\nif 'beside' not in sys.path:\n    sys.path.append('beside')"
    run(shell, cell)
    sys.path.remove("beside")
    restart(shell)

    run(shell, cell)

    assert "beside" in sys.path


def test_the_result_of_a_restored_cell_is_not_that_of_another(shell: Any) -> None:
    run(shell, "%%checkpoint a\n1 + 3")
    restart(shell)
    run(shell, "'before'")

    run(shell, "%%checkpoint a\n1 + 3")

    assert shell.user_ns["_"] == 4
    assert run(shell, "_ * 2").result == 8


@pytest.mark.slow
def test_an_error_without_a_text_fails_its_cell_and_no_later_one(tmp_path: Path) -> None:
    mute = "class Mute(Exception):\n    def __str__(self):\n        raise RuntimeError('no text')"
    with Kernel(tmp_path) as kernel:
        kernel.run(f"%load_ext nbckpt\nimport nbckpt\n{mute}")
        kernel.run("%%checkpoint cell\nraise Mute")
        block = kernel.run("with nbckpt.checkpoint('block'):\n    raise Mute")
        later = kernel.run("%%checkpoint later\nx = 1")
        listed = kernel.run("%nbckpt log").stdout

    assert "Step.fail" not in block.error
    assert later.ok, later.error
    assert [name for name in ("cell", "block", "later") if name not in listed] == []
    assert listed.count("failed:") == 2


@pytest.mark.parametrize(
    "mark", ["# %%checkpoint train", "#%%checkpoint train", "\n# %%checkpoint train --note x"]
)
def test_a_comment_is_as_good_as_a_magic(
    shell: Any, capsys: pytest.CaptureFixture[str], mark: str
) -> None:
    cell = f"{mark}\nwith open('ran.txt', 'a') as f:\n    _ = f.write('x')\nmodel = [1, 2]"
    run(shell, cell)
    restart(shell)
    run(shell, cell)

    assert shell.user_ns["model"] == [1, 2]
    assert Path("ran.txt").read_text() == "x"
    assert "restored 'train'" in capsys.readouterr().out


@pytest.mark.parametrize(
    "mark",
    [
        "# %%checkpointed",
        "# %%checkpoint: saves the cell",
        "# %%checkpoint, of course",
        "x = 1\n# %%checkpoint train",
        "## %%checkpoint train",
        "%%time\n# %%checkpoint train",
        "%%capture\n# %%checkpoint is what comes below",
    ],
)
def test_another_comment_is_a_comment(shell: Any, mark: str) -> None:
    run(shell, f"{mark}\nmodel = [1, 2]")

    assert names_of_history() == []
    assert shell.user_ns["model"] == [1, 2]


@pytest.mark.parametrize(
    "mark", ["# %%checkpoint is what I use here", "# %%checkpoint it's", "# %%checkpoint a --dep b"]
)
def test_a_comment_that_is_no_magic_stops_nothing(
    shell: Any, capsys: pytest.CaptureFixture[str], mark: str
) -> None:
    run(shell, f"{mark}\nmodel = [1, 2]")

    assert shell.user_ns["model"] == [1, 2]
    assert names_of_history() == []
    told = capsys.readouterr().err
    assert told.count("the comment is no magic") == 1
    assert "\\n" not in told
    run(shell, "%nbckpt auto on")
    run(shell, f"{mark}\nmodel = [1, 2, 3]")
    assert len(names_of_history()) == 1


def test_a_comment_marks_a_cell_with_another_magic(shell: Any) -> None:
    run(shell, "# %%checkpoint train\n%%time\nmodel = [1, 2]")

    assert names_of_history() == ["train"]
    assert shell.user_ns["model"] == [1, 2]
