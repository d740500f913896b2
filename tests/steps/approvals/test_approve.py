"""What `nbckpt.approve` asks, keeps, finds again, and gives back; in scripts."""

from __future__ import annotations

import asyncio
import datetime as dt
import getpass
import pickle
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import nbckpt
from nbckpt.errors import NotFoundError, RefusedError, UnansweredError, UsageError
from nbckpt.llm import scope
from nbckpt.steps import current_session
from nbckpt.steps.approvals.previews import WIDTH, shown
from nbckpt.steps.execution.step_state import StepState
from nbckpt.storage.check import check
from tests.notebooks import restart, run
from tests.steps.approvals.conftest import Notebook


class Unknown:
    def __reduce__(self) -> Any:
        raise TypeError("not this one")


FILES = ["a.csv", "b.csv"]


def test_an_approval_is_true_and_says_who_answered_what_and_when(notebook: Notebook) -> None:
    began = dt.datetime.now(dt.UTC)
    notebook.will_say("approve", "they are copies")

    approval = notebook.asks("delete 2 files?", FILES)

    assert approval
    assert approval.state == "approved"
    assert (approval.text, approval.answered_by) == ("they are copies", getpass.getuser())
    assert approval.through == "command"
    assert began <= approval.asked_at < approval.at <= dt.datetime.now(dt.UTC)
    assert approval.data == FILES
    assert approval.data is not FILES
    assert approval.preview == "a.csv\nb.csv"


def test_a_secret_in_what_is_asked_has_stars(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "zq8f-Lk2vN0xTe5uWb7c"
    monkeypatch.setenv("SERVICE_TOKEN", secret)
    notebook.will_say("approve")

    approval = notebook.asks(f"send with {secret}?", {"header": f"Bearer {secret}", "to": "me"})

    assert approval.question == "send with ***?"
    assert approval.preview == "header: Bearer ***\nto: me"
    assert approval.data == {"header": f"Bearer {secret}", "to": "me"}


def test_a_refusal_is_false_or_raises_if_asked_to(notebook: Notebook) -> None:
    notebook.will_say("refuse", "too many")

    assert not notebook.asks("delete 2 files?", FILES)
    with pytest.raises(
        RefusedError, match=r"'delete 2 files\?' was refused .*: too many; .*withdraw"
    ):
        notebook.asks("delete 2 files?", FILES, or_raise=True)


def test_what_was_answered_is_not_asked_again_when_its_step_runs_again(notebook: Notebook) -> None:
    notebook.will_say("approve")
    first = notebook.asks("delete?", FILES)
    notebook.restart()

    second = notebook.asks("delete?", FILES, timeout_s=0)

    assert second.id == first.id


def test_each_item_of_a_loop_asks_for_itself(notebook: Notebook) -> None:
    def asks(item: str, **more: Any) -> Any:
        with scope.entered("clean") as step:
            return scope.inside(step.of_item(item), nbckpt.approve, "send the mail?", **more)

    notebook.will_say("approve")
    first = asks("ann")

    with pytest.raises(UnansweredError):
        asks("bob", timeout_s=0)
    notebook.restart()

    assert asks("ann", timeout_s=0).id == first.id


def test_other_data_is_another_question(notebook: Notebook) -> None:
    notebook.will_say("approve", at_once=False)
    notebook.asks("delete?", FILES)

    with pytest.raises(UnansweredError):
        notebook.asks("delete?", [*FILES, "c.csv"], timeout_s=0)
    with pytest.raises(UnansweredError):
        notebook.asks("delete them?", FILES, timeout_s=0)
    with pytest.raises(UnansweredError):
        notebook.asks("delete?", FILES, step="tidy", timeout_s=0)


def test_the_same_question_twice_in_one_step_has_two_answers(notebook: Notebook) -> None:
    def both() -> list[bool]:
        with scope.entered("clean"):
            return [bool(nbckpt.approve("again?")), bool(nbckpt.approve("again?"))]

    def say() -> None:
        notebook.will_say("approve", at_once=True)
        notebook.will_say("refuse", at_once=True)

    person = threading.Thread(target=say)
    person.start()
    assert both() == [True, False]
    person.join()
    notebook.restart()

    assert both() == [True, False]
    assert len(nbckpt.approvals()) == 2


def test_a_question_that_timed_out_is_the_same_when_it_is_asked_again(notebook: Notebook) -> None:
    with scope.entered("clean"):
        with pytest.raises(UnansweredError, match=r"'delete\?' was not answered within 0.05 s"):
            nbckpt.approve("delete?", FILES, timeout_s=0.05)
        with pytest.raises(UnansweredError):
            nbckpt.approve("delete?", FILES, timeout_s=0)

    assert len(nbckpt.approvals(waiting=True)) == 1


def test_an_answer_that_came_while_nobody_ran_counts(notebook: Notebook) -> None:
    with pytest.raises(UnansweredError, match=r"nbckpt answer \w{8} approve\|refuse --store"):
        notebook.asks("delete?", FILES, timeout_s=0)
    notebook.close()
    notebook.will_say("approve", "go on", at_once=True)
    notebook.open()

    assert notebook.asks("delete?", FILES, timeout_s=0).text == "go on"


def test_what_is_withdrawn_is_asked_anew(notebook: Notebook) -> None:
    notebook.will_say("refuse")
    first = notebook.asks("delete?")
    nbckpt.answer(first, "withdraw")
    notebook.will_say("approve")

    second = notebook.asks("delete?")

    assert second
    assert second.id != first.id
    assert [a.state for a in nbckpt.approvals()] == ["approved", "withdrawn"]


def test_who_waits_hears_that_the_question_was_withdrawn(notebook: Notebook) -> None:
    notebook.will_say("withdraw")

    with pytest.raises(UnansweredError, match=r"was withdrawn by .*: run this again to ask anew"):
        notebook.asks("delete?")


def test_outside_of_steps_an_answer_serves_once(notebook: Notebook) -> None:
    with pytest.raises(UnansweredError):
        nbckpt.approve("delete?", FILES, timeout_s=0)
    notebook.close()
    notebook.will_say("approve", at_once=True)
    notebook.open()

    assert nbckpt.approve("delete?", FILES, timeout_s=0)
    notebook.restart()
    with pytest.raises(UnansweredError):
        nbckpt.approve("delete?", FILES, timeout_s=0)


def test_what_is_paid_anew_is_asked_anew(notebook: Notebook) -> None:
    notebook.will_say("approve")
    first = notebook.asks("delete?")
    notebook.session.state(StepState).pays_again = True
    with pytest.raises(UnansweredError):
        notebook.asks("delete?", timeout_s=0)

    # What waits is no old answer: the same question is not asked twice.
    with pytest.raises(UnansweredError):
        notebook.asks("delete?", timeout_s=0)

    assert [a.state for a in nbckpt.approvals()] == ["waiting", "approved"]
    assert nbckpt.approvals()[1] == first


def test_where_nobody_is_waited_for_the_question_is_kept_and_fails(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBCKPT_APPROVALS", "fail")
    nbckpt.open(tmp_path / "s", {})
    try:
        with pytest.raises(UnansweredError, match="nobody is waited for"):
            nbckpt.approve("delete?")

        (waiting,) = nbckpt.approvals(waiting=True)
        nbckpt.answer(waiting.id, verdict=True)
        assert nbckpt.approve("delete?")
    finally:
        session = nbckpt.open(tmp_path / "s", {})
        session.store.close()


def test_replays_only_mode_asks_nobody(notebook: Notebook) -> None:
    with nbckpt.recording("only"), pytest.raises(UnansweredError):
        notebook.asks("delete?")


def test_several_are_asked_at_once_by_async_code(notebook: Notebook) -> None:
    async def all_three() -> list[bool]:
        with scope.entered("clean"):
            asked = [nbckpt.approve_async("delete?", name) for name in ("a", "b", "c")]
            ticks = asyncio.create_task(tick())
            answers = await asyncio.gather(*asked)
            ticks.cancel()
            return [bool(answer) for answer in answers]

    ticked = 0

    async def tick() -> None:
        nonlocal ticked
        while True:
            ticked += 1
            await asyncio.sleep(0.01)

    def say() -> None:
        while len(waiting := nbckpt.approvals(waiting=True)) < 3:
            time.sleep(0.01)
        for approval in waiting:
            nbckpt.answer(approval.id, "refuse" if approval.data == "b" else "approve")

    person = threading.Thread(target=say)
    person.start()

    assert asyncio.run(all_three()) == [True, False, True]
    person.join()
    assert ticked > 1


def test_threads_ask_and_are_answered_each_for_itself(notebook: Notebook) -> None:
    found: dict[str, bool] = {}

    def ask(name: str) -> None:
        found[name] = bool(nbckpt.approve("delete?", name))

    with scope.entered("clean"):
        threads = [threading.Thread(target=ask, args=(name,)) for name in "ab"]
        for thread in threads:
            thread.start()
        while len(waiting := nbckpt.approvals(waiting=True)) < 2:
            time.sleep(0.01)
        for approval in waiting:
            nbckpt.answer(approval.id, verdict=approval.data == "a")
        for thread in threads:
            thread.join()

    assert found == {"a": True, "b": False}


def test_an_approval_is_a_value_that_is_kept(notebook: Notebook) -> None:
    notebook.will_say("approve", "fine")
    approval = notebook.asks("delete?", FILES)

    again = pickle.loads(pickle.dumps(approval))

    assert again == approval
    assert bool(again)
    assert again.data == FILES
    assert repr(again) == f"<'delete?' approved by {getpass.getuser()}: fine>"


def test_data_that_cannot_be_kept_is_asked_about_all_the_same(notebook: Notebook) -> None:
    notebook.will_say("approve")
    with pytest.warns(RuntimeWarning, match=r"the data of the question 'delete\?' is NOT kept"):
        approval = notebook.asks("delete?", sqlite3.connect(":memory:"))

    assert approval.data is None
    assert approval.preview == "sqlite3.Connection"


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: nbckpt.approve(""), "say what is to be approved"),
        (lambda: nbckpt.approve(40), "40 is no text: a question"),  # type: ignore[arg-type]
        (lambda: nbckpt.approve("x", Unknown()), "its data, of type Unknown, cannot"),
        (lambda: nbckpt.approve("x", timeout_s=-1), "timeout_s is -1: give seconds, 0 or more"),
        (lambda: nbckpt.approve("x", timeout_s="5"), "timeout_s is '5': give seconds, 0 or more"),  # type: ignore[arg-type]
        (lambda: nbckpt.approve("x", timeout_s=float("nan")), "timeout_s is nan"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_sentence(
    notebook: Notebook, ask: Any, told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        ask()

    assert nbckpt.approvals() == []


def test_answers_to_nothing_and_to_what_was_answered_are_refused(notebook: Notebook) -> None:
    with pytest.raises(NotFoundError, match="no question 'abc'; none waits"):
        nbckpt.answer("abc", "approve")
    notebook.will_say("approve")
    asked = notebook.asks("delete?")

    with pytest.raises(UsageError, match="'maybe' is no answer: approve, refuse or withdraw"):
        nbckpt.answer(asked, "maybe")
    with pytest.raises(UsageError, match=r"\['approve'\] is no text: an answer"):
        nbckpt.answer(asked, ["approve"])  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"'delete\?' .* was approved by .* just now"):
        nbckpt.answer(asked.id[:5], "refuse")
    with pytest.raises(UsageError, match="12 is no text: the id of a question"):
        nbckpt.answer(12, "approve")  # type: ignore[arg-type]


def test_without_a_store_nothing_can_be_asked() -> None:
    with pytest.raises(UsageError, match="no store is open"):
        nbckpt.approve("delete?")


def test_a_question_outlives_a_prune(notebook: Notebook) -> None:
    with pytest.raises(UnansweredError):
        notebook.asks("delete?", FILES, timeout_s=0)
    notebook.restart()
    for i in range(3):
        notebook.session.checkpoint(f"n{i}")
    nbckpt.prune(keep_last=1)
    notebook.restart()

    (waiting,) = nbckpt.approvals(waiting=True)

    assert waiting.data == FILES
    assert check(notebook.session.store.path).ok


CAUGHT = """
import nbckpt
try: {}nbckpt.approve{}('delete?', [1], timeout_s=0); said = 'deleted'
except nbckpt.UnansweredError: said = 'later'
"""
MAPPED = """
import nbckpt
def f(i):
    with open("ran", "a") as file: file.write(str(i))
    try: return bool(nbckpt.approve('send?', i, timeout_s=0))
    except nbckpt.UnansweredError: return None
with nbckpt.checkpoint('mapped') as step:
    said = step.map(f, [1, 2])
"""
KEPT = """
import nbckpt
@nbckpt.step
def f(i):
    try: return bool(nbckpt.approve('send?', i, timeout_s=0))
    except nbckpt.UnansweredError: return 'later'
said = f(1)
"""


def run_again(shell: Any, cell: str) -> Any:
    """The value that a cell makes in a new session."""
    run(shell, cell)
    current_session.session().wait()
    restart(shell)
    run(shell, cell)
    return shell.user_ns["said"]


@pytest.mark.slow
@pytest.mark.parametrize(("wait", "more"), [("", ""), ("await ", "_async")])
def test_a_step_that_goes_on_without_an_answer_runs_again(
    shell: Any, capsys: pytest.CaptureFixture[str], wait: str, more: str
) -> None:
    cell = "%%checkpoint a" + CAUGHT.format(wait, more)
    assert run_again(shell, cell) == "later"
    assert "a question of it was not answered" in capsys.readouterr().out

    (waiting,) = nbckpt.approvals(waiting=True)
    nbckpt.answer(waiting.id, "approve")
    assert run_again(shell, cell) == "deleted"
    assert "restored 'a'" in capsys.readouterr().out


@pytest.mark.slow
def test_so_does_a_block_around_and_the_cell_around_that(shell: Any) -> None:
    body = CAUGHT.format("", "").replace("\n", "\n    ")
    cell = f"%%checkpoint a\nimport nbckpt\nwith nbckpt.checkpoint('b'):\n    {body}"
    assert run_again(shell, cell) == "later"

    nbckpt.answer(nbckpt.approvals(waiting=True)[0].id, "approve")
    assert run_again(shell, cell) == "deleted"


@pytest.mark.slow
def test_so_does_an_item_of_a_map_and_no_other(shell: Any) -> None:
    run(shell, MAPPED)
    by_item = sorted(nbckpt.approvals(waiting=True), key=lambda one: str(one.data))
    nbckpt.answer(by_item[0].id, "approve")
    run(shell, MAPPED)
    nbckpt.answer(by_item[1].id, "refuse")

    assert run_again(shell, MAPPED) == [True, False]
    assert Path("ran").read_text() == "12" + "12" + "2"


@pytest.mark.slow
def test_so_does_a_function_that_is_a_step(shell: Any) -> None:
    assert run_again(shell, KEPT) == "later"

    nbckpt.answer(nbckpt.approvals(waiting=True)[0].id, "approve")
    assert run_again(shell, KEPT) is True


POLLED = """
import threading
import nbckpt
answered = False
def answer():
    while not (waiting := nbckpt.approvals(waiting=True)): pass
    nbckpt.answer(waiting[0].id, "approve")
def send(i):
    for turn in range(100):
        try: said = bool(nbckpt.approve('send?', i, timeout_s=0.1 * turn)); break
        except nbckpt.UnansweredError: turn or threading.Thread(target=answer).start()
    with open("sent", "a") as file: file.write(str(i))
    return said
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "way",
    [
        "%%checkpoint a\nsaid = send(1)",
        "with nbckpt.checkpoint('b') as step:\n    said = step.map(send, [1])",
        "send = nbckpt.step(once=True)(send)\nsaid = send(1)",
        "@nbckpt.step\ndef outer(i): return send(i)\nsaid = outer(1)",
    ],
    ids=["step", "map", "once", "function"],
)
def test_what_asks_until_it_is_answered_is_done(shell: Any, way: str) -> None:
    run(shell, POLLED)
    run(shell, way)
    current_session.session().wait()
    restart(shell)
    run(shell, POLLED)
    run(shell, way)

    assert shell.user_ns["said"] in (True, [True])
    assert Path("sent").read_text() == "1"


@pytest.mark.slow
def test_a_function_that_calls_one_without_an_answer_runs_again(shell: Any) -> None:
    cell = KEPT.replace("said = f(1)", "@nbckpt.step\ndef g(i): return f(i)\nsaid = g(1)")
    assert run_again(shell, cell) == "later"

    nbckpt.answer(nbckpt.approvals(waiting=True)[0].id, "approve")
    assert run_again(shell, cell) is True


class Loud:
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_of_a_table_the_first_rows_are_shown(kind: str) -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = {"who": [f"user {i}" for i in range(40)], "pays": [i + 0.5 for i in range(40)]}
    table = {
        "pandas": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns),
        "arrow": pa.table(columns),
    }[kind]

    lines = shown(table).splitlines()

    assert lines[0] == "40 rows, 2 columns"
    assert lines[1].split() == ["who", "pays"]
    assert lines[3].split()[-3:] == ["user", "1", "1.5"]
    assert lines[-1] == "… and 25 more"


def test_a_table_with_nothing_or_with_anything_in_it_is_shown() -> None:
    pd = pytest.importorskip("pandas")
    odd = pd.DataFrame({"a": [Loud(), [1] * 10_000, None], ("b", 1): ["x" * 5000, "two\nlines", 1]})

    assert shown(pd.DataFrame()) == "0 rows, 0 columns"
    assert shown(pd.Series([1.5], name="s")).splitlines()[2].split() == ["0", "1.5"]
    held = pd.DataFrame({"a": pd.Series([np.arange(9), pd.Period("2026-01"), pd.NA], dtype=object)})
    assert [line.split(maxsplit=1)[1][:7] for line in shown(held).splitlines()[2:]] == [
        "int64 [", "2026-01", "<NA>",
    ]  # fmt: skip
    assert shown(pytest.importorskip("polars").Series("s", [1.5])).splitlines()[1:] == ["s", "1.5"]
    lines = shown(odd).splitlines()
    assert lines[0] == "3 rows, 2 columns"
    assert len(lines) == 5
    assert max(map(len, lines)) <= WIDTH
