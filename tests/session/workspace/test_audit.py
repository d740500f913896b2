"""Whatever rule is wrong, an audit finds what it missed: all of it, or one variable a cell."""

from __future__ import annotations

import ast
import json
import pickle
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbckpt.capture.change_tracking.identity import Identity
from nbckpt.config.settings import Settings
from nbckpt.errors import StaleCaptureError
from nbckpt.fingerprint.keys import Reach
from nbckpt.fingerprint.values import remembering
from nbckpt.reports import health
from nbckpt.runtime.dirty_pages import memory, tracker
from nbckpt.runtime.dirty_pages.tracker import Tracker, tracker_of_process
from nbckpt.session.checkpoint_view import Look
from nbckpt.session.session import Session
from nbckpt.session.workspace.audit_sampling import BUDGET_S
from nbckpt.steps.current_session import session as current
from tests.kernels import Kernel

Cell = Callable[[str], Any]

ALL_KINDS = """
import math, functools, collections, random
import numpy as np, pandas as pd
n, x, text, raw, flag, nothing, z = 1, 2.5, "t", b"r", True, None, 3 + 1j
row, pair, bag, table = [1, [2]], (1, "a"), {"a", "b", "c"}, {"k": [1], "l": {"m": 2}}
alias = row
def add(a, b=[1]): return a + len(b)
def outer():
    held = [0]
    def inner(): held.append(1); return held
    return inner
closure = outer()
class Kind:
    shared = []
    def __init__(self): self.rows = row
kind, bound = Kind(), Kind().__init__
partial = functools.partial(add, 1)
array = np.arange(6.0).reshape(2, 3); view = array[0]
frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}); column = frame["a"]
generator = np.random.default_rng(3)
unkept = (i for i in range(3))
"""


@pytest.fixture
def cell(session: Session) -> Cell:
    """Runs the text of a cell, says to the session what ran, and makes a checkpoint."""

    def run(source: str) -> Any:
        tree = ast.parse(source)
        exec(compile(tree, "<cell>", "exec"), session.namespace)
        session.workspace.ran(tree)
        session.workspace.running = ast.parse("")  # the cell that asks for the checkpoint
        return session.checkpoint("cell")

    return run


@pytest.fixture
def thorough(session: Session) -> Session:
    """A session that looks at everything after each look."""
    session.settings = Settings(verify="on")
    return session


@pytest.fixture
def tracked() -> Iterator[None]:
    """Pages are tracked anew: earlier tests' watches, which may rest at this address, are gone.

    So they are after the test, which gives tracking up.
    """
    _track_anew(tracker_of_process())
    made = tracker_of_process()
    yield
    _track_anew(made)


def _track_anew(before: Tracker | None) -> None:
    """As in the child of a fork; memory that `before` still protects no other tracker can have."""
    if before is not None:
        before.close()
    tracker._process.tracker, tracker._process.is_probed = None, False
    memory._begin_anew()


def kept(session: Session, name: str) -> Any:
    """A variable as the newest checkpoint has it."""
    return Look(session, session.get("~0")).values[name]


def nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break the rule that says what cannot change."""
    monkeypatch.setattr("nbckpt.capture.change_tracking.change_tracker.is_fixed", lambda _: True)
    monkeypatch.setattr(
        "nbckpt.capture.change_tracking.change_tracker.ChangeTracker.let_go", lambda *_: None
    )


def names_are_never_bound_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break the rule that says what object a name is bound to, as an address used again does."""
    monkeypatch.setattr("nbckpt.capture.change_tracking.change_tracker.identity_of", Identity)
    monkeypatch.setattr("nbckpt.capture.change_tracking.identity.Identity.is_of", lambda *_: True)


def code_touches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break the rule that says what code can change."""
    monkeypatch.setattr("nbckpt.fingerprint.keys.reach_of", lambda *_: Reach(frozenset()))


WRONG = {
    "fixed": (nothing_changes, "d = {'rows': [1]}", "d['rows'].append(2)", "d['rows'][1]"),
    "bound": (names_are_never_bound_again, "n = 1000.5", "n += 1", "n"),
    "touched": (code_touches_nothing, "d = {'rows': [1]}", "d['rows'].append(2)", "d['rows'][1]"),
}
SAID = {"fixed": "nothing inside", "bound": "the same object", "touched": "no code that ran"}


@pytest.mark.changes_unseen
@pytest.mark.parametrize("rule", WRONG)
def test_a_wrong_rule_is_found_named_and_repaired_at_once(
    thorough: Session, cell: Cell, monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    breaks, setup, change, path = WRONG[rule]
    if rule == "bound":
        breaks(monkeypatch)
    cell(setup)
    breaks(monkeypatch)

    cell(change)
    found = thorough.workspace.audit.found
    name = path.partition("[")[0]

    assert [(one.name, one.path) for one in found] == [(name, path)]
    assert SAID[rule] in found[0].rule
    assert kept(thorough, name) == thorough.namespace[name]
    assert f"{name!r} was changed" in thorough.writes.news[0]
    assert "nbckpt did not see it" in thorough.writes.news[0]
    assert "kept now" in thorough.writes.news[0]


@pytest.mark.changes_unseen
@pytest.mark.parametrize("rule", WRONG)
def test_a_sample_finds_it_within_some_cells(
    session: Session, cell: Cell, monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    breaks, setup, change, path = WRONG[rule]
    name = path.partition("[")[0]
    if rule == "bound":
        breaks(monkeypatch)
    cell(f"{setup}; others = [1]; text = 'a'")
    breaks(monkeypatch)
    cell(change)
    n = 0
    while not session.workspace.audit.found and (n := n + 1) < 200:
        cell("text")

    assert {one.name for one in session.workspace.audit.found} == {name}
    assert kept(session, name) == session.namespace[name]
    assert sum(f"{name!r} was changed" in line for line in session.writes.news) == 1
    told = health.health_of(session, session.settings)
    assert told["stale"]["count"] == 1
    assert told["stale"]["last"]["event"] == "stale"
    assert "1 variable found wrong in the last day" in health.text_of(told)


@pytest.mark.changes_unseen
def test_where_the_setting_says_so_it_is_an_error_and_as_if_nobody_had_looked(
    session: Session, cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.settings = Settings(verify="raise")
    made = cell("d = {'rows': [1]}")
    nothing_changes(monkeypatch)

    with pytest.raises(StaleCaptureError, match=r"'d' was changed at d\['rows'\]\[1\]"):
        cell("d['rows'].append(2)")

    assert session.position.id == made.id
    monkeypatch.undo()
    assert cell("pass").changed.keys() == {"d"}


@pytest.mark.changes_unseen
@pytest.mark.skipif(tracker_of_process() is None, reason="no page is tracked here")
@pytest.mark.usefixtures("tracked")
def test_memory_that_counts_as_unwritten_is_read(
    thorough: Session, cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell("import numpy as np\nbig = np.zeros(1_000_000)")
    cell("big[1] = 1")
    monkeypatch.setattr("nbckpt.runtime.dirty_pages.watches.Watches._tell", lambda *_: None)

    cell("big[5] = 7")

    [found] = thorough.workspace.audit.found
    assert found.path == "big[5]"
    assert found.rule.startswith("its memory counted as not written to")
    assert kept(thorough, "big")[5] == 7
    assert tracker_of_process() is None


@pytest.mark.changes_unseen
@pytest.mark.skipif(tracker_of_process() is None, reason="no page is tracked here")
@pytest.mark.usefixtures("tracked")
def test_a_sample_reads_a_piece_of_a_large_array(
    session: Session, cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell("import numpy as np\nbig = np.zeros(1_000_000)")
    cell("big[1] = 1")
    monkeypatch.setattr("nbckpt.runtime.dirty_pages.watches.Watches._tell", lambda *_: None)
    cell("big += 7")
    n = 0
    while not session.workspace.audit.found and (n := n + 1) < 200:
        cell("pass")

    assert {one.name for one in session.workspace.audit.found} == {"big"}
    assert kept(session, "big").sum() == 7_000_001


@pytest.mark.changes_unseen
def test_objects_that_no_look_found_to_be_shared_are_named(
    thorough: Session, cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell("a, b = [1], [2]")
    code_touches_nothing(monkeypatch)

    cell("b.append(a)")

    assert {one.name for one in thorough.workspace.audit.found} == {"a", "b"}
    assert thorough.workspace.capturer.manifest()["a"].group == ("a", "b")


@pytest.mark.changes_unseen
def test_a_random_generator_that_seemed_to_stand_still_is_found(
    thorough: Session, cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell("import random; random.seed(1)")
    monkeypatch.setattr("nbckpt.fingerprint.random_generators.is_same", lambda *_: True)

    cell("x = random.random()")

    assert [one.name for one in thorough.workspace.audit.found] == ["random.state"]
    assert kept(thorough, "x") == thorough.namespace["x"]
    drawn = random.random()
    monkeypatch.undo()
    thorough.rewind("~0")
    assert random.random() == drawn


@pytest.mark.slow
def test_nothing_is_found_where_the_rules_are_right(thorough: Session, cell: Cell) -> None:
    cell(ALL_KINDS)
    for change in (
        "row.append(3); n += 1", "closure(); add(1)", "kind.rows.append(5)", "view[0] = 9",
        "frame.loc[0, 'a'] = 7", "Kind.shared.append(1)", "del alias", "next(unkept)",
        "generator.random(); np.random.rand(); random.random()", "row = row + [1]",
        "def add(a): return a", "x = x",
    ):  # fmt: skip
        cell(change)

    assert thorough.workspace.audit.found == []
    assert thorough.workspace.audit.search.looked_at > 200


@pytest.mark.slow
def test_samples_look_at_every_kind_of_value_and_leave_the_users_numbers(
    session: Session, cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: set[str] = set()
    before = session.workspace.audit.search.sampler.drawn

    def noted(touched: Any) -> Any:
        found = before(touched)
        drawn.update(found or ())
        return found

    monkeypatch.setattr(session.workspace.audit.search.sampler, "drawn", noted)
    monkeypatch.setattr("nbckpt.session.workspace.audit_sampling.BUDGET_S", 1.0)
    cell(ALL_KINDS)
    state = random.getstate(), np.random.get_state(legacy=False)["state"]["pos"]
    for _ in range(400):
        cell("pass")

    assert drawn == set(session.workspace.capturer.manifest()) - {
        "random.state",
        "numpy.random.state",
    } - {n for n in session.workspace.capturer.manifest() if n.endswith(".state")}
    assert (random.getstate(), np.random.get_state(legacy=False)["state"]["pos"]) == state
    assert session.workspace.audit.found == []


def test_a_module_that_was_taken_out_is_not_imported_to_be_looked_at(
    thorough: Session, cell: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken_out.py").write_text("imports = []")
    monkeypatch.syspath_prepend(str(tmp_path))
    cell("import sys, taken_out")

    cell("del sys.modules['taken_out']")
    cell("pass")

    assert "taken_out" not in sys.modules
    assert thorough.workspace.audit.found == []


def test_a_value_that_takes_long_is_not_sampled(session: Session, cell: Cell) -> None:
    cell("large = list(range(100_000))")
    for _ in range(20):
        cell("pass")

    assert session.workspace.audit.search.looked_at == 0


@pytest.mark.slow
def test_a_value_that_took_long_once_is_sampled_again_some_time(
    session: Session, cell: Cell
) -> None:
    cell("only = [1]")
    sampler = session.workspace.audit.search.sampler
    for _ in range(2):
        sampler.took(("only",), 0.01)
    for _ in range(100):
        cell("pass")

    assert session.workspace.audit.search.looked_at > 0


def test_a_value_that_takes_long_each_time_is_sampled_seldom(session: Session, cell: Cell) -> None:
    cell("only = [1]")
    sampler, took_s = session.workspace.audit.search.sampler, 0.0
    for _ in range(1000):
        if sampler.drawn(None) is not None:
            sampler.took(("only",), 0.01)
            took_s += 0.01

    assert took_s < 1000 * BUDGET_S * 1.2


class Unsteady:
    """A value whose bytes are others each time, and which is always the same."""

    pickles = 0

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        Unsteady.pickles += 1
        text = "".join(["a text ", "that is made anew"])
        return unsteady, (text, text if Unsteady.pickles % 2 else "".join([text[:5], text[5:]]))


def unsteady(_text: str, _again: str) -> Unsteady:
    """An `Unsteady`."""
    return Unsteady()


class Restless:
    """A value that is another one at each look."""

    looks = 0

    def __reduce__(self) -> tuple[object, tuple[int]]:
        Restless.looks += 1
        return restless, (Restless.looks,)


def restless(_number: int) -> Restless:
    """A `Restless`."""
    return Restless()


class Failing:
    """A value that can be taken apart once."""

    looks = 0

    def __reduce__(self) -> tuple[type, tuple[()]]:
        Failing.looks += 1
        if Failing.looks > 1:
            raise RuntimeError
        return Failing, ()


def test_other_bytes_that_mean_the_same_are_not_told(thorough: Session, cell: Cell) -> None:
    thorough.namespace.update(unsteady=Unsteady(), restless=Restless(), seen={"a", "b"})
    for _ in range(5):
        cell("pass")

    assert thorough.workspace.audit.found == []


@pytest.mark.changes_unseen
def test_what_can_no_longer_be_kept_is_told_and_breaks_nothing(
    thorough: Session, cell: Cell
) -> None:
    thorough.namespace["failing"] = Failing()

    cell("n = 1")

    assert [one.name for one in thorough.workspace.audit.found] == ["failing"]
    assert kept(thorough, "n") == 1


def test_a_defect_of_the_audit_breaks_no_checkpoint(
    thorough: Session, cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NBCKPT_VERIFY_LOG", raising=False)
    monkeypatch.setattr("nbckpt.capture.recapture.Recapture.groups", lambda *_: 1 / 0)

    cell("n = 1")

    assert kept(thorough, "n") == 1
    assert "a defect in nbckpt" in thorough.writes.news[0]


@pytest.mark.slow
@pytest.mark.changes_unseen
def test_in_a_shell_it_is_shown_and_the_cell_stands(
    shell: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.run_cell("%nbckpt config verify on", store_history=True)
    shell.run_cell("%reload_ext nbckpt", store_history=True)
    shell.run_cell("%nbckpt auto on", store_history=True)
    shell.run_cell("d = {'rows': [1]}", store_history=True)
    nothing_changes(monkeypatch)
    capsys.readouterr()

    ran = shell.run_cell("d['rows'].append(2); 5", store_history=True)
    told = capsys.readouterr().err
    current().wait()
    shell.run_cell("%nbckpt status --json", store_history=True)
    status = json.loads(capsys.readouterr().out)
    shell.run_cell("%nbckpt status", store_history=True)

    assert ran.success
    assert ran.result == 5
    assert "nbckpt: 'd' was changed at d['rows'][1], and nbckpt did not see it" in told
    assert status["stale"]["count"] == 1
    assert "unseen" in capsys.readouterr().out


@pytest.mark.changes_unseen
def test_a_cell_that_no_checkpoint_follows_is_sampled_too(
    shell: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.run_cell("%%checkpoint\nd = {'rows': [1]}", store_history=True)
    monkeypatch.setattr("nbckpt.jupyter.idling.GLANCE_S", 0)  # nothing else looks
    code_touches_nothing(monkeypatch)
    shell.run_cell("d['rows'].append(2)", store_history=True)
    audit, n = current().workspace.audit, 0
    while not audit.found and (n := n + 1) < 100:
        shell.run_cell("pass", store_history=True)
    monkeypatch.undo()
    shell.run_cell("%%checkpoint late\npass", store_history=True)

    assert [one.name for one in audit.found] == ["d"]
    assert "the next checkpoint has it" in capsys.readouterr().err
    assert kept(current(), "d") == {"rows": [1, 2]}


@pytest.mark.slow
@pytest.mark.changes_unseen
def test_a_kernel_writes_what_it_found_to_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    monkeypatch.setenv("NBCKPT_VERIFY", "1")
    monkeypatch.setenv("NBCKPT_VERIFY_LOG", str(log))
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run("%nbckpt auto on")
        kernel.run("import nbckpt.capture.change_tracking.change_tracker\nd = [1]")
        right = log.exists()
        kernel.run(
            "nbckpt.capture.change_tracking.change_tracker.is_fixed = lambda _: True\n"
            "nbckpt.capture.change_tracking.change_tracker.ChangeTracker.let_go = lambda *_: None"
        )
        ran = kernel.run("d.append(2)")
    found = [json.loads(line) for line in log.read_text().splitlines()]

    assert ran.ok
    assert "'d' was changed" in ran.stderr
    assert not right
    assert [(one["name"], one["path"]) for one in found] == [("d", "d[1]")]


@pytest.mark.slow
def test_what_a_function_registered_for_events_changes_is_kept(shell: Any) -> None:
    shell.run_cell("%nbckpt config verify raise", store_history=True)
    shell.run_cell("%reload_ext nbckpt", store_history=True)
    shell.run_cell("%nbckpt auto on", store_history=True)
    register = "get_ipython().events.register('pre_run_cell', tick)"
    shell.run_cell(f"xs = []\ndef tick(info): xs.append(1)\n{register}", store_history=True)
    shell.run_cell("one = 1", store_history=True)

    assert current().workspace.audit.found == []
    assert kept(current(), "xs") == [1]
    shell.run_cell("get_ipython().events.unregister('pre_run_cell', tick)")


def test_wrong_bytes_of_a_large_list_are_found_and_kept_rightly(
    thorough: Session, cell: Cell
) -> None:
    cell("rows = [[n] for n in range(3000)]")
    remembered = remembering._memory[id(thorough.namespace["rows"])]
    right = remembered.segments[0].pickled()
    remembered.segments[0]._data = pickle.dumps([[n + 1] for n in range(512)], 5)
    assert len(right) > 512

    cell("rows.append([3000])")
    assert [one.name for one in thorough.workspace.audit.found] == ["rows"]
    cell("other = 1")
    thorough.namespace["rows"] = None
    thorough.rewind("cell")

    assert thorough.namespace["rows"] == [[n] for n in range(3001)]
    assert [one.name for one in thorough.workspace.audit.found] == ["rows"]
