"""`%rerun` in real shells and kernels."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from nbckpt.errors import UsageError
from nbckpt.jupyter.rerunning import rerun_in
from nbckpt.steps import current_session
from nbckpt.steps.execution.step_state import StepState
from nbckpt.steps.rerun.rerun import Rerun, as_record
from tests.jupyter.test_cells import restart, run
from tests.kernels import Kernel, KernelDiedError

START = "%%checkpoint start\nk = 2\nnoted = []"
LOAD = "%%checkpoint load\ndata = [3, 1, 2]"
SCALE = "%%checkpoint scale\nscaled = [k * x for x in data]"
SORT = "%%checkpoint sort\nordered = sorted(data)"
TOTAL = "%%checkpoint total\ntotal = sum(scaled) + len(ordered)"
ALL = (START, LOAD, SCALE, SORT, TOTAL)


def run_all(shell: Any, *cells: str) -> None:
    for cell in cells:
        run(shell, cell).raise_error()


def rerun(shell: Any, ref: str | None = None, **options: Any) -> Rerun:
    session = current_session.session()
    return rerun_in(shell, session.state(StepState).runner()._cells, session, ref, **options)


def states(done: Rerun) -> dict[str, str]:
    return {cell.name: cell.state for cell in done.cells}


def heads() -> dict[str, str]:
    return current_session.session().timeline.branches


# -- what runs, what is restored ------------------------------------------------------------------


@pytest.mark.slow
def test_only_what_a_fork_can_have_reached_runs(shell: Any) -> None:
    run_all(shell, *ALL)
    current_session.session().fork("start", values={"k": 5})

    done = rerun(shell)

    assert states(done) == {"load": "restored", "scale": "run", "sort": "restored", "total": "run"}
    assert shell.user_ns["scaled"] == [15, 5, 10]
    assert shell.user_ns["total"] == 33
    assert (done.branch, done.is_new) == ("main-2", False)
    assert [c.why for c in done.cells if c.name == "scale"] == ["input 'k' has another value"]


def test_the_fork_stays_in_the_line_of_its_rerun(shell: Any) -> None:
    run_all(shell, *ALL)
    current_session.session().fork("start", values={"k": 5})

    rerun(shell)

    names = [c.name for c in current_session.session().history()]
    assert names == ["total", "sort", "scale", "load", "start", "start"]
    assert set(heads()) == {"main", "main-2"}


def test_a_rerun_without_a_change_restores_all_and_makes_no_branch(shell: Any) -> None:
    run_all(shell, *ALL)
    before, head = heads(), current_session.session().position.id

    done = rerun(shell, "start")

    assert set(states(done).values()) == {"restored"}
    assert (heads(), current_session.session().position.id) == (before, head)
    assert shell.user_ns["total"] == 15


def test_a_second_rerun_restores_what_the_first_one_ran(shell: Any) -> None:
    run_all(shell, *ALL)
    current_session.session().fork("start", "five", values={"k": 5})
    rerun(shell)
    before = heads()

    done = rerun(shell, "start")

    assert set(states(done).values()) == {"restored"}
    assert heads() == before
    assert shell.user_ns["total"] == 33


def test_a_rerun_from_an_earlier_checkpoint_leaves_the_old_line(shell: Any) -> None:
    run_all(shell, *ALL)
    head = heads()["main"]

    done = rerun(shell, "load", everything=True)

    assert set(states(done).values()) == {"run"}
    assert (done.branch, done.is_new) == ("main-2", True)
    assert heads()["main"] == head
    assert heads()["main-2"] != head


def test_what_was_not_kept_yet_is_kept_before_the_rerun_goes_elsewhere(shell: Any) -> None:
    run_all(shell, *ALL, "extra = 1")

    rerun(shell, "load")
    current_session.session().rewind("-")

    assert shell.user_ns["extra"] == 1


def test_a_value_that_a_restored_cell_bound_anew_is_kept_without_the_old_one(shell: Any) -> None:
    one = "%%checkpoint one\nz = [1]\nheld = {'z': z}"
    two = "%%checkpoint two\nheld = {'z': [2]}"
    run_all(shell, START, one, two, "%%checkpoint three\nn = k")
    current_session.session().fork("start", values={"k": 5})

    done = rerun(shell)
    restart(shell)
    current_session.session().rewind("two")

    assert states(done) == {"one": "restored", "two": "restored", "three": "run"}
    assert (shell.user_ns["held"], shell.user_ns["z"]) == ({"z": [2]}, [1])
    kept = current_session.session().timeline.manifest(current_session.session().position.id)
    assert (kept["held"].group, kept["z"].group) == (("held",), ("z",))


def test_all_runs_everything_and_so_does_fresh(shell: Any) -> None:
    run_all(
        shell,
        START,
        "%%checkpoint note\nnoted.append('ran')\nwith open('log', 'a') as log:\n    _ = log.write('x')\ndel log",
    )

    rerun(shell, "start", everything=True)
    rerun(shell, "start", fresh=True)

    assert Path("log").read_text() == "xxx"
    assert not current_session.session().state(StepState).reruns


def test_an_option_to_run_anew_spoke_of_that_run(shell: Any) -> None:
    run_all(shell, START, "%%checkpoint load --rerun\ndata = [1]")

    assert states(rerun(shell, "start")) == {"load": "restored"}


def test_what_a_cell_keeps_is_chosen_as_it_was(shell: Any) -> None:
    run_all(shell, START, "%%checkpoint pair --vars a\na = k; b = k")
    current_session.session().fork("start", values={"k": 3})

    rerun(shell)

    pair = current_session.session().get("pair")
    assert set(pair.changed) - set(pair.removed) == {"a"}
    assert pair.cell.source.startswith("%%checkpoint pair --vars a")


def test_cells_between_run_with_the_change_and_only_then(shell: Any) -> None:
    between = "doubled = 2 * k"
    run_all(shell, START, between, "%%checkpoint use\nused = doubled + 1")
    assert states(rerun(shell, "start")) == {between: "restored", "use": "restored"}
    current_session.session().fork("start", values={"k": 10})

    done = rerun(shell)

    assert states(done) == {between: "run", "use": "run"}
    assert shell.user_ns["used"] == 21


def test_a_cell_between_that_changes_in_place_is_found_before_its_checkpoint(shell: Any) -> None:
    run_all(shell, START, "rows = []", "%%checkpoint fill\nrows.append(k)")
    current_session.session().fork("start", values={"k": 7})

    rerun(shell)

    assert shell.user_ns["rows"] == [7]


def test_a_value_typed_after_going_back_is_not_overwritten(shell: Any) -> None:
    run_all(shell, *ALL, "%rewind start", "k = 100")

    done = rerun(shell)

    assert states(done)["scale"] == "run"
    assert shell.user_ns["scaled"] == [300, 100, 200]


def test_a_cell_that_runs_again_keeps_its_own_tags_and_note(shell: Any) -> None:
    typed = "--tag best --note 'in thirds'"
    run_all(shell, START, f"%%checkpoint scale {typed}\nscaled = k / 3",
            f"%%checkpoint sort {typed}\nordered = [1]")  # fmt: skip
    session = current_session.session()
    session.tag("scale", "two")
    session.note("scale", "of two")
    session.fork("start", values={"k": 5})

    once, again = rerun(shell), rerun(shell, "start", everything=True)

    assert [states(done) for done in (once, again)] == [
        {"scale": "run", "sort": "restored"},
        {"scale": "run", "sort": "run"},
    ]
    made = [session.get(c.checkpoint_id or "") for done in (once, again) for c in done.cells]
    assert [(c.tags, c.note) for c in made] == [(("best",), "in thirds")] * 4
    assert session.get("two").note == "of two"


def test_what_nbckpt_kept_by_itself_stays_without_a_tag_of_people(shell: Any) -> None:
    run_all(shell, START, LOAD, "extra = k", "%rewind start", "%rewind -")
    assert current_session.session().get("before-rewind").tags == ("automatic",)
    current_session.session().fork("start", values={"k": 5})

    rerun(shell)

    assert current_session.session().get("before-rewind").tags == ()
    assert shell.user_ns["extra"] == 5


def test_checkpoints_by_hand_are_skipped_with_the_reason(shell: Any) -> None:
    run_all(shell, START, "%checkpoint here", LOAD)

    done = rerun(shell, "start")

    assert states(done) == {"here": "skipped", "load": "restored"}
    assert done.cells[0].why == "nothing to run: kept by hand"


def test_random_numbers_are_drawn_again_as_they_were(shell: Any) -> None:
    run_all(shell, "import random", "%%checkpoint seed\nrandom.seed(3); k = 1",
            "%%checkpoint draw\nx = k * random.random()")  # fmt: skip
    x = shell.user_ns["x"]

    rerun(shell, "seed", everything=True)

    assert shell.user_ns["x"] == x


def test_nothing_to_rerun_is_an_error_with_the_next_move(shell: Any) -> None:
    run_all(shell, START)

    with pytest.raises(UsageError, match=r"nothing was recorded after 'start'.*%rerun ~2"):
        rerun(shell)


# -- blocks and loops -----------------------------------------------------------------------------

BLOCKS = """
import nbckpt
with nbckpt.checkpoint('one'):
    one = k
    noted.append('one')
with nbckpt.checkpoint('two'):
    two = len(noted)
"""


def test_blocks_of_a_cell_that_was_not_kept_run_one_by_one(shell: Any) -> None:
    run_all(shell, START, BLOCKS)
    current_session.session().fork("start", values={"k": 9})

    done = rerun(shell)

    assert states(done) == {"one": "run", "two": "restored"}
    assert (shell.user_ns["one"], shell.user_ns["two"]) == (9, 1)


def test_a_block_in_a_kept_cell_does_not_run_twice(shell: Any) -> None:
    run_all(shell, START, "%nbckpt auto on")
    run(shell, BLOCKS, cell_id="both")
    current_session.session().fork("start", values={"k": 9})

    done = rerun(shell)

    assert states(done) == {"cell-both": "run"}
    assert "'two' in it restored" in done.cells[0].why
    assert shell.user_ns["noted"] == ["one"]


def test_a_block_in_a_cell_that_was_joined_runs_with_it(shell: Any) -> None:
    run_all(shell, START, BLOCKS, LOAD)
    current_session.session().fork("start", values={"k": 9})

    done = rerun(shell)

    assert list(states(done).values()) == ["run", "restored"]
    assert shell.user_ns["noted"] == ["one"]
    assert shell.user_ns["one"] == 9


@pytest.mark.slow
def test_a_loop_that_stopped_in_a_rerun_goes_on(shell: Any) -> None:
    loop = (
        "with nbckpt.checkpoint('loop') as step:\n    made = []\n"
        "    for i in step.track(range(6)):\n        note(i)\n        time.sleep(0.05)\n"
        "        if k == 5 and i == 3 and not pathlib.Path('mended').exists(): raise ValueError(i)\n"
        "        made.append(i * k)"
    )
    note = "import nbckpt, time, pathlib\ndef note(i):\n    with open('log', 'a') as log:\n        log.write(str(i))"
    run_all(shell, note, START, loop)
    current_session.session().fork("start", values={"k": 5})
    done = rerun(shell)
    assert states(done) == {"loop": "failed"}
    Path("mended").touch()

    done = rerun(shell)

    assert states(done) == {"loop": "run"}
    assert shell.user_ns["made"] == [0, 5, 10, 15, 20, 25]
    log = Path("log").read_text()
    assert log.startswith("012345" + "0123")
    assert log[10:].lstrip("12") == "345"  # quick items may run again


# -- in a new process -----------------------------------------------------------------------------

CLASS = (
    "%%checkpoint make\nfrom dataclasses import dataclass\n@dataclass\nclass Point:\n    x: int\n"
    "point = Point(k)\nmarks = {'a', 'b', 'c', 'd'}"
)


@pytest.mark.slow
def test_a_class_is_that_of_its_instances_after_a_restart_and_a_fork(shell: Any) -> None:
    run_all(shell, START, CLASS)
    restart(shell)
    run_all(shell, "%resume", "%fork start small k=3")
    # As other bytes, but the same: there was nothing to keep before the fork.
    assert current_session.session().timeline.named("before-fork") == []

    done = rerun(shell)

    assert states(done) == {"make": "run"}
    run_all(shell, "same = isinstance(point, Point), point.x")
    assert shell.user_ns["same"] == (True, 3)


def keep_another_class(shell: Any, **others: str) -> None:
    """Keep a `Point` that no recorded code made, and its instances under the names given."""
    source = "class Point:\n    def __init__(self, x):\n        self.x = x\n    tall = True\n"
    exec(source, shell.user_ns)
    for name, code in others.items():
        shell.user_ns[name] = eval(code, shell.user_ns)
    session = current_session.session()
    session.workspace.ran(None)
    session.checkpoint("replaced")


@pytest.mark.slow
def test_a_class_that_was_another_comes_back_with_its_instances(shell: Any) -> None:
    run_all(
        shell, START, CLASS.replace("Point(k)", "Point(7)"), "%%checkpoint held\nheld = [point]"
    )
    keep_another_class(shell, point="Point(7)", held="[point]")
    current_session.session().fork("start", values={"k": 3})

    done = rerun(shell)

    assert "Point" in done.cells[-1].why
    run_all(shell, "same = isinstance(point, Point), held[0] is point, Point.tall")
    assert shell.user_ns["same"] == (True, True, True)


@pytest.mark.slow
def test_a_class_that_was_another_stays_away_from_an_instance_made_anew(shell: Any) -> None:
    run_all(shell, START, CLASS)
    keep_another_class(shell, point="Point(k)")
    current_session.session().fork("start", values={"k": 3})

    done = rerun(shell)

    assert "not brought back: 'point' needs 'Point' as it is now" in done.cells[-1].why
    run_all(shell, "same = isinstance(point, Point), point.x")
    assert shell.user_ns["same"] == (True, 3)


# -- errors ---------------------------------------------------------------------------------------


def test_an_error_stops_and_keeps_the_branch(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run_all(shell, START, "%%checkpoint divide\nq = 1 / (k - 5)", LOAD)
    current_session.session().fork("start", values={"k": 5})

    done = rerun(shell)

    assert states(done) == {"divide": "failed", "load": "not reached"}
    assert done.error == "'divide' failed: ZeroDivisionError: division by zero"
    assert current_session.session().position.branch == "main-2"
    assert current_session.session().timeline.named("divide")[0].state == "failed"
    assert capsys.readouterr().out.count("ZeroDivisionError") >= 1
    assert done.text().splitlines()[-1] == done.error


def test_a_rerun_that_failed_goes_on_where_its_cause_was_mended(shell: Any) -> None:
    run_all(shell, START, LOAD, "%%checkpoint divide\nq = sum(data) / (k - 5)", SORT)
    current_session.session().fork("start", values={"k": 5})
    rerun(shell)
    run(shell, "k = 6")

    done = rerun(shell)

    assert states(done) == {"divide": "run", "sort": "restored"}
    assert shell.user_ns["q"] == 6


# -- how it shows ---------------------------------------------------------------------------------


def test_outputs_come_in_order_each_under_its_cell(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run_all(shell, START, "%%checkpoint a\nprint('from a', k)", "%%checkpoint b\nprint('from b')")
    current_session.session().fork("start", values={"k": 5})
    capsys.readouterr()

    rerun(shell)

    out = capsys.readouterr().out
    places = [out.index(t) for t in ("▸ a · runs", "from a 5", "▸ b · nothing", "from b")]
    assert places == sorted(places)


def test_a_quiet_rerun_shows_nothing_and_records_everything(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run_all(shell, START, "%%checkpoint a\nprint('from a', k)\ndisplay({'k': k})\nk + 1")
    current_session.session().fork("start", values={"k": 5})
    capsys.readouterr()

    rerun(shell, quiet=True)
    assert capsys.readouterr() == ("", "")
    rerun(shell, "start")

    out = capsys.readouterr().out
    assert "from a 5" in out
    assert "{'k': 5}" in out
    assert "6" in out


def test_the_outer_cell_keeps_its_numbers_and_its_last_result(shell: Any) -> None:
    run_all(shell, START, "%%checkpoint a\nk + 1", "6 * 7", "%fork start k=5")
    count = shell.execution_count

    run(shell, "%rerun")
    run(shell, "seen = _, list(Out.values()), In[-1]")

    assert shell.execution_count == count + 2
    assert shell.user_ns["seen"][0] == 42
    assert 42 in shell.user_ns["seen"][1]
    assert 6 not in shell.user_ns["seen"][1]


def test_what_a_rerun_did_is_a_table_and_json(shell: Any) -> None:
    run_all(shell, START, SCALE.replace("data", "[1]"))
    current_session.session().fork("start", values={"k": 5})

    done = rerun(shell)

    assert [line.split()[:3] for line in done.text().splitlines()[:2]] == [
        ["cell", "what", "happened"],
        ["●", "scale", "run"],
    ]
    record = as_record(done)
    assert record["branch"] == "main-2"
    assert record["error"] is None


def test_a_cell_that_is_kept_by_its_policy_runs_with_the_change(shell: Any) -> None:
    run_all(shell, "%nbckpt auto on", "k = 1", "a = k + 1", "b = 10", "c = a + b")
    session = current_session.session()
    first = session.history()[-1].id
    session.fork(first, values={"k": 4})

    done = rerun(shell)

    assert [cell.state for cell in done.cells] == ["run", "restored", "run"]
    assert shell.user_ns["c"] == 15


def test_going_back_and_editing_under_auto_runs_only_what_came_after(shell: Any) -> None:
    run(shell, "%nbckpt auto on")
    for cell_id, source in (("k", "k = 1"), ("a", "a = k + 1"), ("b", "b = a + 1")):
        run(shell, source, cell_id=cell_id)
    run_all(shell, "%rewind cell-k")
    run(shell, "a = k + 100", cell_id="a")

    done = rerun(shell)

    assert states(done) == {"cell-b": "run"}
    assert shell.user_ns["b"] == 102


# -- in a kernel ----------------------------------------------------------------------------------

KILLS = """
%%checkpoint middle
import os, signal, pathlib
if k == 5 and not pathlib.Path('died').exists():
    pathlib.Path('died').touch()
    os.kill(os.getpid(), signal.SIGKILL)
middle = k
"""


@pytest.mark.slow
def test_a_rerun_that_was_killed_goes_on_when_asked_again(tmp_path: Path) -> None:
    costly = "%%checkpoint costly\n_ = open('log', 'a').write('x')\nbig = k * 100"
    with Kernel(tmp_path) as kernel:
        for cell in ("%load_ext nbckpt", START, costly, KILLS.strip(), SORT.replace("data", "[k]")):
            assert kernel.run(cell).ok
        assert kernel.run("%fork start k=5").ok
        with pytest.raises(KernelDiedError):
            kernel.run("%rerun")
    with Kernel(tmp_path) as kernel:
        assert kernel.run("%load_ext nbckpt").ok

        ran = kernel.run("%rerun start")

        assert ran.ok, ran.error
        assert kernel.value("(big, middle, ordered)") == "(500, 5, [5])"
    assert (tmp_path / "log").read_text() == "xx"


@pytest.mark.slow
def test_in_a_kernel_cells_await_and_magics_and_figures_work(tmp_path: Path) -> None:
    cells = (
        "%load_ext nbckpt",
        "%matplotlib inline\nimport asyncio\nimport matplotlib.pyplot as plt",
        START,
        "%%checkpoint wait\nawait asyncio.sleep(0)\ntask = await asyncio.wait_for("
        "asyncio.sleep(0, 'slept'), 5)\nprint(task, k)",
        "%%checkpoint timed\n%%time\nt = k",
        "%%checkpoint figure\nplt.plot([k]);",
        "%%checkpoint shown\nhandle = display(k, display_id=True)\nhandle.update(k + 1)\nk + 2",
    )
    with Kernel(tmp_path) as kernel:
        for cell in cells:
            assert kernel.run(cell).ok
        assert kernel.run("%fork start k=5").ok

        ran = kernel.run("%rerun")

        assert ran.ok, ran.error
        assert "slept 5" in ran.stdout
        assert "Wall time" in ran.stdout
        assert "4 run" in ran.stdout
        assert any("image/png" in d["data"] for d in ran.displays)
        assert ran.result == "7"
        assert kernel.run("for again in [1]:\n    %rerun start\nafter = 1").ok
        assert kernel.value("after") == "1"


@pytest.mark.slow
def test_an_interrupt_stops_a_rerun_and_keeps_what_was_done(tmp_path: Path) -> None:
    slow = (
        "%%checkpoint slow\nimport time\nopen('began', 'w')\n"
        "if k == 5: [time.sleep(0.01) for _ in range(6000)]\nslow = k"
    )
    with Kernel(tmp_path) as kernel:
        for cell in ("%load_ext nbckpt", START, LOAD, slow, SORT):
            assert kernel.run(cell).ok
        assert kernel.run("%fork start k=5").ok
        (tmp_path / "began").unlink()
        request = kernel.send("%rerun")
        while not (tmp_path / "began").exists():
            time.sleep(0.05)
        time.sleep(0.2)
        os.kill(kernel.pid, signal.SIGINT)

        ran = kernel.collect(request)

        assert "'slow' was interrupted" in ran.stdout
        assert "not reached" in ran.stdout
        assert kernel.value("data") == "[3, 1, 2]"


def test_the_extension_is_taken_off_with_what_awaits(shell: Any) -> None:
    from nbckpt.jupyter.shell import unload

    assert shell.input_transformers_post
    restart(shell)
    unload(shell)

    assert not shell.input_transformers_post
