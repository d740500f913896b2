"""`with nbckpt.checkpoint(…)` in scripts that are killed and in notebooks whose cells raise."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import nbckpt
from nbckpt.errors import UsageError
from nbckpt.steps import current_session
from nbckpt.steps.execution.step_state import StepState
from nbckpt.storage.store import Store
from tests.notebooks import restart
from tests.running import environment, noted

NOTE = """
import nbckpt, os, signal, sys, time
def note(text):
    with open("log", "a") as file:
        file.write(f"{text}\\n")
def die_at(item, text):
    if item == text and sys.argv[1:] == ["die"]:
        os.kill(os.getpid(), signal.SIGKILL)
"""

OPEN = """
import dataclasses
session = nbckpt.open(".nbckpt", namespace=globals())
session.settings = dataclasses.replace(session.settings, track_share=1e9)  # after each item
"""


def play(folder: Path, body: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script in `folder`, whose store is beside it."""
    script = folder / "script.py"
    script.write_text(f"{NOTE}{OPEN}{body}")
    return subprocess.run(
        [sys.executable, "-W", "error", str(script), *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )


def run(shell: Any, source: str) -> Any:
    return shell.run_cell(source, store_history=True, cell_id=None)


# -- a script


LOOP = """
docs = ["a", "b", "c", "d", "e"]
vectors = []
with nbckpt.checkpoint("embed", vars=["vectors"]) as step:
    if step.todo:
        for doc in step.track(docs):
            time.sleep(0.05)
            die_at(doc, "d")
            note(doc)
            vectors.append(doc * 2)
print(vectors)
"""


@pytest.mark.slow
def test_a_script_killed_in_its_loop_goes_on_at_the_first_item_not_finished(tmp_path: Path) -> None:
    died = play(tmp_path, LOOP, "die")
    before = noted(tmp_path)

    again = play(tmp_path, LOOP)

    assert died.returncode == -9, died.stderr
    assert before == ["a", "b", "c"]
    assert again.stdout == "['aa', 'bb', 'cc', 'dd', 'ee']\n", again.stderr
    assert noted(tmp_path) == ["a", "b", "c", "d", "e"]


@pytest.mark.slow
def test_a_script_that_ended_well_skips_its_block_the_next_time(tmp_path: Path) -> None:
    play(tmp_path, LOOP)

    again = play(tmp_path, LOOP)

    assert again.stdout == "['aa', 'bb', 'cc', 'dd', 'ee']\n", again.stderr
    assert len(noted(tmp_path)) == 5


@pytest.mark.slow
def test_of_quick_items_only_the_last_few_run_again(tmp_path: Path) -> None:
    body = LOOP.replace("time.sleep(0.05)", "time.sleep(0.0002)")
    body = body.replace('["a", "b", "c", "d", "e"]', "[str(n) for n in range(2000)]")
    script = tmp_path / "script.py"
    script.write_text(
        f"{NOTE}nbckpt.open('.nbckpt')\n{body.replace(chr(34) + 'd' + chr(34), repr('1999'))}"
    )

    died = subprocess.run(
        [sys.executable, str(script), "die"], cwd=tmp_path, env=environment(), capture_output=True
    )
    store = Store.open(tmp_path / ".nbckpt", create=False)
    kept = [r["progress"][1] for r in store.refresh() if r.get("state") == "partial"]
    store.close()
    again = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env=environment(), capture_output=True
    )

    assert died.returncode == -9, died.stderr
    assert again.returncode == 0, again.stderr
    assert 1 < len(kept) < 1000
    assert noted(tmp_path) == [str(n) for n in range(1999)] + [
        str(n) for n in range(kept[-1], 2000)
    ]


TWO_LOOPS = """
done = []
with nbckpt.checkpoint("both") as step:
    if step.todo:
        for item in step.track([1, 2, 3]):
            time.sleep(0.05)
            note(f"one {item}")
            done.append(item)
        for item in step.track("xyz"):
            time.sleep(0.05)
            die_at(item, "y")
            note(f"two {item}")
            done.append(item)
print(done)
"""


@pytest.mark.slow
def test_of_two_loops_the_finished_one_is_skipped_and_the_other_goes_on(tmp_path: Path) -> None:
    died = play(tmp_path, TWO_LOOPS, "die")

    again = play(tmp_path, TWO_LOOPS)

    assert died.returncode == -9, died.stderr
    assert again.stdout == "[1, 2, 3, 'x', 'y', 'z']\n", again.stderr
    assert noted(tmp_path) == ["one 1", "one 2", "one 3", "two x", "two y", "two z"]


GENERATED = """
def pages():
    for number in range(1, 5):
        note(f"made {number}")
        yield number
seen = []
with nbckpt.checkpoint("crawl") as step:
    if step.todo:
        for page in step.track(pages(), total=4):
            time.sleep(0.05)
            die_at(page, 3)
            note(f"did {page}")
            seen.append(page)
print(seen)
"""


@pytest.mark.slow
def test_a_loop_over_a_generator_takes_its_finished_items_and_does_not_use_them(
    tmp_path: Path,
) -> None:
    died = play(tmp_path, GENERATED, "die")

    again = play(tmp_path, GENERATED)

    assert died.returncode == -9, died.stderr
    assert again.stdout == "[1, 2, 3, 4]\n", again.stderr
    assert [line for line in noted(tmp_path) if line.startswith("did")] == [
        "did 1",
        "did 2",
        "did 3",
        "did 4",
    ]


NESTED = """
log = []
with nbckpt.checkpoint("outer") as outer:
    if outer.todo:
        with nbckpt.checkpoint("inner", vars=["first"]) as inner:
            if inner.todo:
                note("inner")
                first = 1
        note("between")
        die_at(1, 1)
        second = first + 1
print(first, second)
"""


@pytest.mark.slow
def test_of_nested_blocks_the_inner_one_that_ended_is_not_run_again(tmp_path: Path) -> None:
    died = play(tmp_path, NESTED.replace("die_at(1, 1)", 'die_at("n", "n")'), "die")

    again = play(tmp_path, NESTED.replace("die_at(1, 1)", 'die_at("n", "n")'))
    third = play(tmp_path, NESTED.replace("die_at(1, 1)", 'die_at("n", "n")'))

    assert died.returncode == -9, died.stderr
    assert (again.stdout, third.stdout) == ("1 2\n", "1 2\n"), again.stderr + third.stderr
    assert noted(tmp_path) == ["inner", "between", "between"]


@pytest.mark.slow
def test_a_block_that_is_not_guarded_runs_each_time_and_a_warning_says_so(tmp_path: Path) -> None:
    body = "with nbckpt.checkpoint('a') as step:\n    note('ran')\n    x = 1\n"
    script = tmp_path / "script.py"
    script.write_text(f"{NOTE}nbckpt.open('.nbckpt')\n{body}")

    for _ in range(2):
        done = subprocess.run(
            [sys.executable, str(script)], cwd=tmp_path, env=environment(), capture_output=True
        )
        assert done.returncode == 0, done.stderr
        assert b"begin it with `if step.todo:`" in done.stderr

    assert noted(tmp_path) == ["ran", "ran"]


@pytest.mark.slow
def test_a_block_inside_a_function_is_refused_before_it_runs(tmp_path: Path) -> None:
    body = (
        "def f():\n    with nbckpt.checkpoint('deep') as step:\n"
        "        if step.todo:\n            note('ran')\nf()\n"
    )

    done = play(tmp_path, body)

    assert done.returncode == 1
    assert "checkpoint 'deep' is inside a function: use it at the top level" in done.stderr
    assert noted(tmp_path) == []


@pytest.mark.slow
def test_a_block_without_a_session_says_how_to_open_one(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import nbckpt\nwith nbckpt.checkpoint('a') as step:\n    pass\n")

    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
    )

    assert done.returncode == 1
    assert "no store is open: run `%load_ext nbckpt`" in done.stderr


@pytest.mark.slow
def test_an_exception_in_a_script_leaves_a_failed_checkpoint_and_is_not_swallowed(
    tmp_path: Path,
) -> None:
    body = "with nbckpt.checkpoint('bad') as step:\n    if step.todo:\n        x = 1 / 0\n"

    done = play(tmp_path, body)

    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    store = Store.open(tmp_path / ".nbckpt", create=False)
    records = [r for r in store.refresh() if r["kind"] == "checkpoint"]
    store.close()
    assert [(r["name"], r["state"]) for r in records] == [("bad", "failed")]


def test_vars_as_one_string_are_refused() -> None:
    with pytest.raises(UsageError, match=r"vars is a list of names: vars=\['vectors'\]"):
        nbckpt.checkpoint("embed", vars="vectors")


# -- a notebook


CELL = """
import nbckpt
with nbckpt.checkpoint("embed", vars=["made"]) as step:
    with open("log", "a") as file:
        _ = file.write("body\\n")
    made = [1, 2]
"""


@pytest.mark.slow
def test_in_a_notebook_the_body_is_skipped_without_a_guard(shell: Any) -> None:
    assert run(shell, CELL).success
    restart(shell)

    again = run(shell, CELL)

    assert again.success
    assert shell.user_ns["made"] == [1, 2]
    assert Path("log").read_text() == "body\n"


@pytest.mark.slow
def test_in_a_notebook_a_block_needs_no_name_for_its_step(shell: Any) -> None:
    cell = CELL.replace(" as step", "")
    assert run(shell, cell).success
    restart(shell)

    assert run(shell, cell).success

    assert Path("log").read_text() == "body\n"


@pytest.mark.slow
def test_a_changed_body_runs_again(shell: Any) -> None:
    assert run(shell, CELL).success
    restart(shell)

    assert run(shell, CELL.replace("[1, 2]", "[1, 3]")).success

    assert shell.user_ns["made"] == [1, 3]
    assert Path("log").read_text() == "body\nbody\n"


FAILING = """
import time
with nbckpt.checkpoint("loop") as step:
    for item in step.track(["a", "b", "c"]):
        time.sleep(0.05)
        tried.append(item)
        if item == "b" and not fixed:
            raise ValueError("b is not ready")
        total += item
"""


@pytest.mark.slow
def test_a_loop_that_raised_begins_anew_when_something_else_that_it_reads_was_changed(
    shell: Any,
) -> None:
    run(shell, "import nbckpt\ntried = []\nfixed = False")
    cell = FAILING.replace("    for item", "    total = ''\n    for item")
    failed = run(shell, cell)
    run(shell, "fixed = True; tried.clear()")

    again = run(shell, cell)

    assert isinstance(failed.error_in_exec, ValueError)
    assert again.success
    assert shell.user_ns["total"] == "abc"
    assert shell.user_ns["tried"] == ["a", "b", "c"]
    assert current_session.session().state(StepState).latest["loop"].why == (
        "the last run of 'loop' did not end well",
    )


@pytest.mark.slow
def test_the_same_cell_run_again_after_an_error_goes_on_at_the_failed_item(shell: Any) -> None:
    session = current_session.session()
    session.settings = replace(session.settings, track_share=1e9)
    run(shell, "import nbckpt, os\ntotal = ''\ntried = []\nfixed = False")
    cell = FAILING.replace("not fixed", "not os.path.exists('ready')").replace(
        "tried.append(item)", "with open('log', 'a') as file:\n            print(item, file=file)"
    )
    failed = run(shell, cell)
    Path("ready").touch()

    again = run(shell, cell)

    assert isinstance(failed.error_in_exec, ValueError)
    assert again.success
    assert shell.user_ns["total"] == "abc"
    assert Path("log").read_text().split() == ["a", "b", "b", "c"]


def test_a_function_of_the_notebook_may_not_hold_a_block(shell: Any) -> None:
    run(
        shell,
        "import nbckpt\ndef f():\n    with nbckpt.checkpoint('x'):\n        g.append(1)\ng = []",
    )

    result = run(shell, "f()")

    assert isinstance(result.error_in_exec, UsageError)
    assert "inside a function" in str(result.error_in_exec)
    assert shell.user_ns["g"] == []
    assert current_session.session().history() == []


@pytest.mark.slow
def test_a_block_runs_again_for_what_it_could_not_keep(shell: Any) -> None:
    cells = (
        "class No:\n    def __reduce__(self): raise TypeError('no')",
        "with nbckpt.checkpoint('block') as step:\n    no = No(); no.x = 3",
        "y = no.x",
    )
    run(shell, "import nbckpt")
    for cell in cells:
        run(shell, cell).raise_error()
    restart(shell)
    run(shell, "import nbckpt")

    for cell in cells:
        run(shell, cell).raise_error()

    assert shell.user_ns["y"] == 3


@pytest.mark.slow
@pytest.mark.parametrize("loop", ["step.track(docs)", "docs"])
def test_a_block_that_keeps_some_variables_is_skipped_beside_others_that_it_reads(
    tmp_path: Path, loop: str
) -> None:
    body = LOOP.replace("step.track(docs)", loop)
    for _ in range(2):
        done = play(tmp_path, body)
        assert done.stdout == "['aa', 'bb', 'cc', 'dd', 'ee']\n", done.stderr

    assert len(noted(tmp_path)) == 5
    edited = body.replace('"e"]', '"f"]')
    assert play(tmp_path, edited).stdout == "['aa', 'bb', 'cc', 'dd', 'ff']\n"


@pytest.mark.parametrize(
    ("made", "body", "change", "shown"),
    [
        ("cache = [1]", "out = cache", "out.append(5)", "[1, 5]"),
        ("cache = {'a': [1]}", "out = [cache['a']]", "out[0].append(5)", "{'a': [1, 5]}"),
        ("cache = [[1]]", "out = {'k': cache[0]}", "out['k'].append(5)", "[[1, 5]]"),
        (
            "class Held:\n    w = 1\nclass Holder: pass\ncache = Held()",
            "out = Holder(); out.m = cache",
            "out.m.w = 2",
            "2",
        ),
    ],
)
@pytest.mark.parametrize("chosen", ["vars=['out']", "exclude=['cache']"])
def test_what_a_block_keeps_stays_one_object_with_what_it_does_not(
    tmp_path: Path, made: str, body: str, change: str, shown: str, chosen: str
) -> None:
    block = f"with nbckpt.checkpoint('x', {chosen}) as step:\n    if step.todo:\n        {body}"
    look = "print(getattr(cache, 'w', cache))"
    script = "\n".join([made, block, change, look])
    for _ in range(2):
        done = play(tmp_path, script)
        assert done.stdout == f"{shown}\n", done.stderr
