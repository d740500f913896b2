"""What one's own notebook gets of a store that somebody else made: nothing that is not plain."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nbckpt
from nbckpt.capture.decode import own_values
from nbckpt.capture.restore import load as load_values
from nbckpt.errors import FormatError, UncertainError, UntrustedError
from nbckpt.jupyter.shell import load, unload
from nbckpt.model import UNTRUSTED, Variable
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


def test_a_resume_brings_back_what_is_plain_and_names_the_rest_in_one_line(
    shell: Any, moves: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    run(
        shell, "def f(): return 5\nclass C: pass\nmade = C()\nplain = {'a': [1]}\nboth = plain['a']"
    )
    run(shell, "%checkpoint all")
    moves()
    capsys.readouterr()

    run(shell, "%resume")

    told = [line for line in capsys.readouterr().out.splitlines() if "not restored" in line]
    assert len(told) == 1
    assert "because this store is not trusted: " in told[0]
    assert "f (function)" in told[0]
    assert "made (C)" in told[0]
    assert told[0].endswith("then `%nbckpt trust`")
    assert shell.user_ns["plain"]["a"] is shell.user_ns["both"]
    assert not {"f", "C", "made"} & shell.user_ns.keys()


def test_trust_brings_the_rest(shell: Any, moves: Callable[[], None]) -> None:
    run(shell, "def f(): return 5\nplain = 1")
    run(shell, "%checkpoint all")
    moves()
    run(shell, "%resume")

    run(shell, "%nbckpt trust")
    run(shell, "%resume")

    assert shell.user_ns["f"]() == 5


def test_what_came_back_before_it_was_trusted_counts_as_ones_own_afterwards(
    shell: Any, moves: Callable[[], None]
) -> None:
    run(shell, "plain = [1]\nother = 2")
    run(shell, "%checkpoint all")
    moves()
    run(shell, "%resume")

    run(shell, "%nbckpt trust")
    run(shell, "%%checkpoint after\nmine = 3")
    run(shell, "%%checkpoint later\nplain.append(2)")

    session = current_session.session()
    session.wait()
    made = {c.name: c for c in session.timeline.checkpoints.values()}
    assert set(made["after"].changed) == {"mine"}
    assert set(made["later"].changed) == {"plain"}
    assert all(v.trusted for v in session.timeline.manifest(made["later"].id).values())
    assert not session.store.untrusted()


def test_a_rewind_takes_away_what_it_cannot_bring_back(
    shell: Any, moves: Callable[[], None]
) -> None:
    run(shell, "def f(): return 5\nplain = 1")
    run(shell, "%checkpoint all")
    moves()
    run(shell, "def f(): return 'mine'\nplain = 2\nmore = 3")

    run(shell, "%rewind all")
    there = dict(shell.user_ns)
    run(shell, "%rewind -")

    assert there["plain"] == 1
    assert not {"f", "more"} & there.keys()
    assert shell.user_ns["f"]() == "mine"


def test_random_generators_stay_as_they_are(shell: Any, moves: Callable[[], None]) -> None:
    run(shell, "import random\nrandom.seed(5)\nx = 1")
    run(shell, "%checkpoint all")
    moves()
    random.seed(77)
    before = random.getstate()

    run(shell, "%resume")

    assert shell.user_ns["x"] == 1
    assert random.getstate() == before


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
    assert "what is kept was made by somebody else" in told
    assert noted(tmp_path) == ["1", "1"]  # the second time it is one's own, and restored


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
        assert "are not replayed, as they may be somebody else's" in "\n".join(told)


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

    with pytest.raises(UntrustedError, match=r"found.*nbckpt trust"):
        nbckpt.update("made", {"found": [2]})

    assert noted(tmp_path) == before


def test_recorded_cells_are_not_run_again(
    shell: Any, moves: Callable[[], None], tmp_path: Path
) -> None:
    run(shell, SETUP)
    run(shell, "%%checkpoint a\nx = 1")
    run(shell, "%%checkpoint b\nnote('b ran')\ny = x")
    moves()

    with pytest.raises(UntrustedError, match="'b' may be somebody else's code"):
        nbckpt.rerun("a")

    assert noted(tmp_path) == ["b ran"]


def test_ones_own_work_on_top_of_it_is_ones_own(shell: Any, moves: Callable[[], None]) -> None:
    run(shell, "def theirs(): return 1\nplain = [1]")
    run(shell, "%checkpoint all")
    moves()
    run(shell, "%resume")
    run(shell, "%%checkpoint own\ndef mine(): return 2\nmore = [plain, 2]")
    run(shell, "%rewind all")

    run(shell, "%rewind -")

    assert shell.user_ns["mine"]() == 2
    assert shell.user_ns["more"][0] is shell.user_ns["plain"]
    assert "theirs" not in shell.user_ns


# -- what records may claim -----------------------------------------------------------------------


def test_bytes_of_somebody_elses_give_no_value_to_other_names() -> None:
    strange = Variable("x", "d", "d", "int", 1, group=("x", "mate", "own"), trusted=False)
    manifest = {"x": strange, "mate": strange._replace(name="mate")}
    manifest["own"] = Variable("own", "another", "another", "int", 1)
    found = {"x": 1, "mate": 2, "own": 3, "__builtins__": 4}

    assert own_values(found, strange, manifest) == {"x": 1, "mate": 2}
    with pytest.raises(FormatError, match="'x'"):
        own_values({"own": 3}, strange, manifest)


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

    assert loaded.values["own"] == [1, 2]
    assert "alias" not in loaded.values
    assert [refusal.variable for refusal in loaded.failed] == ["alias"]
