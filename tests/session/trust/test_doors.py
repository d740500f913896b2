"""What one's own notebook gets of a store that another user made: nothing that has to be built."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nbckpt
from nbckpt.capture.restore import load as load_values
from nbckpt.codecs.loading import Loading, decode
from nbckpt.errors import UncertainError, UntrustedError
from nbckpt.fingerprint.random_generators import NAMES
from nbckpt.jupyter.shell import load, unload
from nbckpt.model import UNTRUSTED
from nbckpt.session.reducers import annotated
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.testing import Provider
from nbckpt.timeline.approvals import Questions
from tests.running import noted

SETUP = """
import nbckpt, random
from pathlib import Path
def note(x):
    with open("log", "a") as file: print(x, file=file)
"""


@pytest.fixture
def moves(shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Has another user open the store, in a new namespace."""

    def hand_over() -> None:
        current_session.session().store.wait()
        unload(shell)
        monkeypatch.setenv("NBCKPT_HOME", str(tmp_path / "another user"))
        shell.reset(new_session=False)
        load(shell)

    return hand_over


def run(shell: Any, source: str) -> Any:
    return shell.run_cell(source, store_history=True, cell_id=None)


@pytest.mark.slow
@pytest.mark.parametrize(
    "verb",
    ["%resume", "%rewind all", "%fork all mine", "%fork all mine x=2", "%switch main",
     "%nbckpt update all x=2"],
)  # fmt: skip
def test_no_move_leads_to_what_another_user_made(
    shell: Any, moves: Callable[[], None], verb: str
) -> None:
    run(shell, "import random\nrandom.seed(5)\nx = 1\ny = [x]\nimport os\nos.environ['SET'] = 'a'")
    run(shell, "%checkpoint all")
    os.environ.pop("SET")
    moves()
    run(shell, "x = 'mine'\nmore = 3")
    random.seed(77)
    states, names = random.getstate(), set(shell.user_ns)

    refused = run(shell, verb).error_in_exec

    assert isinstance(refused, UntrustedError)
    assert str(refused) == (
        "'all' was made by another user, or came from elsewhere, so nothing of it is built:"
        " look at it (`nbckpt trust --show`), then `nbckpt trust`"
    )
    assert (shell.user_ns["x"], shell.user_ns["more"]) == ("mine", 3)
    assert {n for n in set(shell.user_ns) - names if not n.startswith("_")} == set()
    assert random.getstate() == states
    assert "SET" not in os.environ
    session = current_session.session()
    assert (session.position.branch, session.position.id) == ("main", None)
    assert set(session.timeline.branches) == {"main"}


@pytest.mark.slow
def test_trust_brings_all_of_it(shell: Any, moves: Callable[[], None]) -> None:
    run(shell, "def f(): return 5\nplain = {'a': [1]}\nboth = plain['a']")
    run(shell, "%checkpoint all")
    moves()
    run(shell, "%resume")

    run(shell, "%nbckpt trust")
    run(shell, "%resume")
    run(shell, "%%checkpoint after\nmine = 3")

    session = current_session.session()
    session.wait()
    made = {c.name: c for c in session.timeline.checkpoints.values()}
    assert shell.user_ns["f"]() == 5
    assert shell.user_ns["plain"]["a"] is shell.user_ns["both"]
    assert set(made["after"].changed) == {"mine"}
    assert made["after"].parent == made["all"].id
    assert all(v.trusted for v in session.timeline.manifest(made["after"].id).values())
    assert not session.store.trust.untrusted()


def test_values_are_named_and_not_built(shell: Any, moves: Callable[[], None]) -> None:
    run(shell, "text = 'theirs'")
    run(shell, "%checkpoint all")
    moves()

    look = nbckpt.get("all")

    with pytest.raises(UntrustedError) as refused:
        look.values["text"]
    assert str(refused.value) == (
        f"'text' at checkpoint {look.id[:8]!r} was made by another user, or came from elsewhere,"
        " so it is not built: look at it (`nbckpt trust --show`), then `nbckpt trust`"
    )
    assert "text" in look.values
    assert "nothing" not in look.values
    shown = look.variables["text"]
    assert (shown.type_name, shown.preview) == ("str", "'theirs'")


def test_a_difference_is_told_by_the_records(shell: Any, moves: Callable[[], None]) -> None:
    run(shell, "same = 'a'\nn = 1\nitems = [1, 2]")
    run(shell, "%checkpoint old")
    run(shell, "n = 2\nitems = [1, 2, 3]\nadded = 5")
    run(shell, "%checkpoint new")
    moves()

    found = nbckpt.diff("old", "new")

    told = {v.name: v for v in found.variables}
    assert {name: one.status for name, one in told.items()} == {
        "added": "added", "items": "changed", "n": "changed",
    }  # fmt: skip
    detail = told["items"].detail
    assert detail is not None
    assert [tuple(row) for row in detail.rows] == [
        ("shape", "2", "3"), ("preview", "[1, 2]", "[1, 2, 3]")
    ]  # fmt: skip
    assert detail.summary == (
        "another value; 'old' was made by another user, or came from elsewhere,"
        " so types, shapes and previews are all that is compared"
    )
    assert "[1, 2, 3]" in found.text()


def test_the_data_of_a_question_is_not_built(
    shell: Any, moves: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBCKPT_APPROVALS", "fail")  # so that nobody waits
    unload(shell)
    load(shell)
    run(shell, "import nbckpt\nnbckpt.approve('delete?', data=[1, 2])")
    moves()

    (asked,) = nbckpt.approvals()

    assert (asked.question, asked.preview) == ("delete?", "1\n2")
    with pytest.raises(UntrustedError, match=r"the data of 'delete\?' was made.*nbckpt trust"):
        asked.data


@pytest.mark.slow
def test_a_cell_runs_though_somebody_else_ran_it(
    shell: Any, moves: Callable[[], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = "%%checkpoint step\nx = 1\nnote(x)"
    run(shell, SETUP)
    run(shell, cell)
    moves()
    run(shell, SETUP)
    capsys.readouterr()

    run(shell, cell)
    run(shell, cell)

    told = capsys.readouterr().out
    assert "what is kept was made by another user, or came from elsewhere" in told
    assert noted(tmp_path) == ["1", "1"]  # the second time it is one's own, and restored


@pytest.mark.slow
def test_a_loop_begins_at_its_first_item_again(
    shell: Any, moves: Callable[[], None], tmp_path: Path
) -> None:
    loop = """with nbckpt.checkpoint("loop", vars=["done"]) as step:
    for item in step.track([1, 2, 3]):
        if item == stop: raise KeyboardInterrupt
        note(item)"""
    run(shell, SETUP + "done = []")
    run(shell, "stop = 3\n" + loop)
    assert noted(tmp_path) == ["1", "2"]
    moves()
    run(shell, SETUP + "done = []")

    run(shell, "stop = 3\n" + loop)

    assert noted(tmp_path) == ["1", "2", "1", "2"]


@pytest.mark.slow
def test_results_of_calls_and_of_maps_are_not_given(
    shell: Any, moves: Callable[[], None], tmp_path: Path
) -> None:
    calls = """@nbckpt.step
def one(x):
    note(f"one {x}")
    return x
def each(x):
    note(f"each {x}")
    return x
"""
    mapped = "with nbckpt.checkpoint('m', vars=['out']) as step:\n    out = step.map(each, [1, 2])"
    used = f"{mapped}\none(5)"
    run(shell, SETUP)
    run(shell, calls)
    run(shell, used)
    assert len(noted(tmp_path)) == 3
    moves()
    run(shell, SETUP)
    run(shell, calls)

    run(shell, used)

    assert sorted(noted(tmp_path)) == sorted(["each 1", "each 2", "one 5"] * 2)


@pytest.mark.slow
def test_what_must_not_be_repeated_stops_and_asks(
    shell: Any, moves: Callable[[], None], tmp_path: Path
) -> None:
    mail = "@nbckpt.step(once=True)\ndef mail(to):\n    note(to)\n    return 'sent'"
    run(shell, SETUP)
    run(shell, mail)
    run(shell, "mail('a')")
    moves()
    run(shell, SETUP)
    run(shell, mail)

    stopped = run(shell, "mail('a')").error_in_exec
    run(shell, "%nbckpt trust")
    answered = run(shell, "answer = mail('a')")

    assert isinstance(stopped, UncertainError)
    assert "nbckpt trust" in str(stopped)
    assert answered.success
    assert shell.user_ns["answer"] == "sent"
    assert noted(tmp_path) == ["a"]


@pytest.mark.slow
def test_an_answer_to_a_model_is_paid_again_and_that_is_told(
    shell: Any,
    moves: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ask = """%%checkpoint ask
import openai
with openai.OpenAI() as client:
    text = client.chat.completions.create(
        model="gpt-5-mini", messages=[{"role": "user", "content": "hello"}]
    ).choices[0].message.content
del client"""
    with Provider() as provider:
        for name, value in provider.environment().items():
            monkeypatch.setenv(name, value)
        run(shell, ask).raise_error()
        assert provider.answered == 1
        moves()

        run(shell, ask).raise_error()

        assert provider.answered == 2
        out = capsys.readouterr()
        told = [*current_session.session().writes.news, out.out, out.err]
        assert "are not replayed, as they may be another user's" in "\n".join(told)


@pytest.mark.slow
def test_an_annotation_of_somebody_elses_joins_nothing(
    shell: Any, moves: Callable[[], None], tmp_path: Path
) -> None:
    run(shell, SETUP + "from typing import Annotated")
    run(
        shell,
        "%%checkpoint made\nfound: Annotated[list, note('it ran') or (lambda a, b: a + b)] = [1]",
    )
    before = noted(tmp_path)
    moves()
    run(shell, SETUP + "from typing import Annotated")
    line = [nbckpt.get("made")._checkpoint]

    with pytest.raises(UntrustedError, match=r"found.*nbckpt trust"):
        annotated("found", shell.user_ns, line)

    assert noted(tmp_path) == before


def test_recorded_cells_are_not_run_again(
    shell: Any, moves: Callable[[], None], tmp_path: Path
) -> None:
    run(shell, SETUP)
    run(shell, "%%checkpoint a\nx = 1")
    run(shell, "%%checkpoint b\nnote('b ran')\ny = x")
    moves()

    with pytest.raises(UntrustedError, match="'a' was made by another user"):
        nbckpt.rerun("a")

    assert noted(tmp_path) == ["b ran"]


@pytest.mark.slow
def test_ones_own_work_beside_it_comes_back(shell: Any, moves: Callable[[], None]) -> None:
    run(shell, "def theirs(): return 1\nplain = [1]")
    run(shell, "%checkpoint all")
    moves()
    run(shell, "%%checkpoint own\ndef mine(): return 2\nplain = [1]\nmore = [plain, 2]")
    run(shell, "%%checkpoint later\nmore.append(3)")

    run(shell, "%rewind own")

    assert shell.user_ns["mine"]() == 2
    assert shell.user_ns["more"] == [[1], 2]
    assert shell.user_ns["more"][0] is shell.user_ns["plain"]
    assert "theirs" not in shell.user_ns


# -- what records may claim -----------------------------------------------------------------------


ASKED = {
    "kind": "approval", "id": "q1", "question": "really?", "request": "r", "occurrence": 0,
    "session": "s", "branch": "main", "notebook": "n", "state": "waiting", "at": 1.0,
}  # fmt: skip
ANSWER = {"kind": "approval", "id": "q1", "state": "approved", "at": 2.0, "session": "s"}


def test_nobody_else_answers_a_question_or_says_that_it_was_used() -> None:
    strange = {**ANSWER, UNTRUSTED: True}
    used = {"kind": "approval", "id": "q1", "used": True, "at": 3.0, UNTRUSTED: True}

    assert Questions([ASKED, strange]).all["q1"].state == "waiting"
    assert Questions([strange, ASKED]).all["q1"].state == "waiting"
    assert Questions([ASKED, strange, ANSWER]).all["q1"].state == "approved"
    assert not Questions([ASKED, ANSWER, used]).all["q1"].is_used


def test_a_question_of_somebody_elses_stands_for_none_of_ones_own() -> None:
    forged = {**ASKED, "question": "harmless?", UNTRUSTED: True}

    for records in ([forged, ASKED, ANSWER], [ASKED, forged, ANSWER], [ANSWER, forged, ASKED]):
        known = Questions(records).all["q1"]
        assert (known.question, known.trusted, known.state) == ("really?", True, "approved")
    assert not Questions([forged]).all["q1"].trusted


def test_a_record_that_names_ones_own_bytes_takes_nothing_from_them(session: Session) -> None:
    session.namespace["own"] = [1, 2]
    own = session.timeline.manifest(session.checkpoint("a").id)["own"]
    strange = own._replace(name="alias", group=("alias", "own"), trusted=False)
    manifest = {"alias": strange, "own": own}

    loaded = load_values(manifest, store=session.store, namespace={}, live={}, manifest=manifest)

    assert loaded.values == {"own": [1, 2]}
    assert [refusal.variable for refusal in loaded.untrusted] == ["alias"]
    assert not loaded.failed


def test_a_value_of_ones_own_that_needs_another_users_class_does_not_come_back(
    session: Session,
) -> None:
    exec("class Shape: pass\nshape, own = Shape(), [1]", session.namespace)
    session.namespace["__name__"] = "__main__"
    manifest = dict(session.timeline.manifest(session.checkpoint("a").id))
    assert manifest["shape"].needs == ("Shape",)
    manifest["Shape"] = manifest["Shape"]._replace(trusted=False)

    loaded = load_values(manifest, store=session.store, namespace={}, live={}, manifest=manifest)

    assert set(loaded.values) - NAMES == {"own"}
    assert [refusal.variable for refusal in loaded.untrusted] == ["Shape"]
    (failed,) = loaded.failed
    assert failed.variable == "shape"
    assert "'Shape' was made by another user" in failed.reason


def test_the_decoder_itself_builds_nothing_that_is_not_trusted(session: Session) -> None:
    session.namespace["own"] = [1, 2]
    own = session.timeline.manifest(session.checkpoint("a").id)["own"]

    with pytest.raises(UntrustedError, match="nbckpt trust"):
        decode(session.store.get_blob(own.blob), Loading({}, str), trusted=False)
