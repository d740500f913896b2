"""All ways to move in the history, in any order, against a dict of dicts.

The model holds the namespace of each checkpoint as a copy, each branch as an id, and runs the same
cells on a namespace of its own. After each move the two must agree: values, and who shares what;
heads and parents; and every checkpoint on some branch.
"""

from __future__ import annotations

import ast
import copy
import json
import operator
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from nbckpt.errors import BranchExistsError, CheckpointNotFoundError, UsageError
from nbckpt.fingerprint import random_generators
from nbckpt.model import Cell
from nbckpt.session.checkpoint_view import Look
from nbckpt.session.session import Session
from nbckpt.steps.execution.step_request import Request
from nbckpt.steps.step import Step
from nbckpt.storage.check import check
from nbckpt.storage.pruning import prune
from nbckpt.storage.store import Store
from nbckpt.timeline.prune_retention import Retention
from nbckpt.timeline.references import resolve
from tests.running import environment

Namespace = dict[str, object]

CELLS = [
    ((), "a = {n}"),
    (("a",), "a = a + {n}"),
    ((), "xs = [1, {n}]"),
    (("xs",), "xs.append({n})"),
    (("xs",), "ys = xs"),
    (("xs",), "ys = list(xs)"),
    (("ys",), "ys.append({n})"),
    (("xs", "ys"), "zs = [xs, ys]"),
    ((), "m = np.arange({n} + 2)"),
    (("m",), "m[0] = {n}"),
    (("m",), "w = m"),
    (("m",), "w = m * {n}"),
    (("xs",), "del xs"),
    (("a",), "del a"),
]  # fmt: skip
EXPRESSIONS = [
    {"a": "{n} + 1"},
    {"xs": "xs + [{n}]", "b": "len(xs)"},
    {"ys": "xs"},
    {"b": "xs.append({n}) or 5", "c": "b + nowhere"},
    {"m": "m * 2"},
]
NAMES = ["one", "two", "three"]


def told(namespace: Namespace) -> dict[str, object]:
    """What there is to tell of a namespace: the values, and which names are the same object."""
    known = {n: v for n, v in namespace.items() if not n.startswith("__") and n != "np"}
    plain = {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in known.items()}
    same = [[n, m] for n in known for m in known if n < m and _is_same(known[n], known[m])]
    inside = [
        [n, i, m]
        for n, v in known.items()
        if isinstance(v, list)
        for i, item in enumerate(v)
        for m in known
        if _is_same(item, known[m])
    ]
    return {
        "values": {n: plain[n] for n in sorted(plain)},
        "same": sorted(same),
        "in": sorted(inside),
    }


def _is_same(one: object, other: object) -> bool:
    return one is other and isinstance(one, list | np.ndarray)


def copied(namespace: Namespace) -> Namespace:
    """The same in other objects, which share what these share."""
    return copy.deepcopy({n: v for n, v in namespace.items() if n != "np" and n[:2] != "__"})


class History(RuleBasedStateMachine):
    """A session, and what it should be."""

    from_elsewhere = False  # whether other processes are asked, too

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.live: Namespace = {}
        self.states: dict[str, Namespace] = {}
        self.parents: dict[str, str | None] = {}
        self.heads: dict[str, str] = {}
        self.stands: dict[str, str] = {}  # branch → what the notebook went back on it to look at
        self.tags: dict[str, list[str]] = {}
        self.notes: dict[str, str] = {}
        self.loose: set[str] = set()  # kept by a tag, or because a session stands there
        self.branch = "main"
        self.position: str | None = None
        self.before: tuple[str | None, str] = (None, "")
        self.begin()

    def begin(self) -> None:
        self.session = Session(
            Store.open(self.folder / ".nbckpt"), {"np": np}, notebook="nb", hidden={"np"}
        )
        self.session.reducers["xs"] = operator.add

    def teardown(self) -> None:
        try:
            self.session.wait()
            report = check(self.session.store.path)
            assert report.ok, report
        finally:
            self.session.store.close()
            shutil.rmtree(self.folder)

    # -- the model

    def moves_to(self, checkpoint: str) -> None:
        """The namespace becomes that of a checkpoint."""
        self.before = (self.position, self.branch)
        self.live, self.position = copied(self.states[checkpoint]), checkpoint

    def looks(self, checkpoint: str) -> None:
        """The namespace becomes that of a checkpoint; no branch moves, but the session to its own."""
        self.moves_to(checkpoint)
        branch = self.session.position.branch
        tip = self.session.timeline.branches[branch]
        assert branch == self.branch or self.descends(tip, checkpoint)
        self.branch = branch
        if tip == checkpoint:  # a branch that was dropped is there again
            self.heads.setdefault(branch, tip)
        self.stands[branch] = checkpoint

    def adds(self, checkpoint: str, *, branch: str | None = None) -> None:
        """What is live is kept, and a branch moves there."""
        self.states[checkpoint], self.parents[checkpoint] = copied(self.live), self.position
        self.heads[branch or self.branch] = self.position = checkpoint
        self.stands.pop(branch or self.branch, None)

    def keeps_unsaved(self, new: Iterable[str]) -> list[str]:
        """Of the checkpoints that a move has made, all but what was unsaved before it."""
        made = sorted(new, key=lambda i: self.session.timeline.checkpoints[i].created_at)
        held = told(self.states[self.position]) if self.position else told({})
        if told(self.live) == held:
            return made
        assert made, "what was there was not kept"
        kept = made.pop(0)
        head = self.heads.get(self.branch)
        self.adds(kept)
        if head is not None and not self.descends(kept, head):
            self.heads[self.branch] = head
        return made

    def descends(self, newer: str | None, older: str) -> bool:
        while newer is not None:
            if newer == older:
                return True
            newer = self.parents[newer]
        return False

    def nothing_else(self, made: list[str]) -> None:
        """Nothing was made but what the model knows of."""
        checkpoints = [self.session.timeline.checkpoints[i] for i in made]
        assert not made, [(c.name, dict(c.changed), c.removed) for c in checkpoints]

    def doing(self, verb: Callable[[], object]) -> tuple[object, set[str]]:
        """What a verb of the session gave, and the checkpoints that it made."""
        known = set(self.states)
        answer = verb()
        made = {c.id for c in self.session.timeline.checkpoints.values() if c.state == "done"}
        return answer, made - known

    def any_id(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.states, key=self._age)))

    def _age(self, checkpoint: str) -> float:
        return self.session.timeline.checkpoints[checkpoint].created_at

    def any_branch(self, data: st.DataObject) -> str:
        branches = self.session.timeline.branches
        name = data.draw(st.sampled_from(sorted(branches)))
        self.heads.setdefault(name, branches[name])  # one that was overtaken: a move makes it real
        return name

    # -- cells

    def cell(self, data: st.DataObject) -> str:
        possible = [text for needs, text in CELLS if set(needs) <= self.live.keys()]
        return data.draw(st.sampled_from(possible)).format(n=data.draw(st.integers(0, 3)))

    def execute(self, source: str) -> None:
        exec(source, self.session.namespace)
        exec(source, self.live_globals())
        self.live = {n: v for n, v in self._globals.items() if n != "np" and n[:2] != "__"}

    def live_globals(self) -> Namespace:
        self._globals: Namespace = {"np": np, **self.live}
        return self._globals

    @rule(data=st.data())
    def a_cell_runs(self, data: st.DataObject) -> None:
        source = self.cell(data)
        self.execute(source)
        self.session.workspace.ran(ast.parse(source))

    @rule(data=st.data(), name=st.sampled_from(NAMES))
    def a_step_runs_or_is_restored(self, data: st.DataObject, name: str) -> None:
        source = self.cell(data)
        tree = ast.parse(source)
        step = Step.begin(self.session, Request(name), Cell(source), tree)
        if step.todo:
            self.execute(source)
            self.adds(step.finish().id)
            return
        assert step.restored is not None
        exec(source, self.live_globals())
        self.live = {n: v for n, v in self._globals.items() if n != "np" and n[:2] != "__"}
        restored = step.restored.id
        if restored not in self.states:
            self.adds(restored)  # it was kept again, on the line on which the session stands
            return
        is_ahead = self.position is not None and self.descends(self.position, restored)
        if is_ahead and told(self.live) == told(self.states[self.position]):
            return  # nothing came back that was not there
        self.position = restored
        if self.descends(self.position, self.heads[self.branch]):
            self.heads[self.branch] = self.position

    @rule(name=st.sampled_from(NAMES))
    def checkpoint(self, name: str) -> None:
        self.adds(self.session.checkpoint(name).id)

    # -- moves

    @precondition(lambda self: self.states)
    @rule(data=st.data())
    def rewind(self, data: st.DataObject) -> None:
        target = self.any_id(data)
        _, new = self.doing(lambda: self.session.rewind(target))
        self.nothing_else(self.keeps_unsaved(new))
        self.looks(target)

    @rule()
    def go_back(self) -> None:
        target, branch = self.before
        if target is None:
            with pytest.raises(CheckpointNotFoundError, match="before the last"):
                self.session.rewind("-")
            return
        _, new = self.doing(lambda: self.session.rewind("-"))
        self.nothing_else(self.keeps_unsaved(new))
        assert self.session.position.branch == branch
        self.looks(target)

    @precondition(lambda self: self.states)
    @rule(data=st.data(), name=st.sampled_from([None, "try", "other"]))
    def fork(self, data: st.DataObject, name: str | None) -> None:
        target = self.any_id(data)
        if name in self.session.timeline.branches:
            with pytest.raises(BranchExistsError, match=f"branch '{name}' exists"):
                self.session.fork(target, name)
            return
        _, new = self.doing(lambda: self.session.fork(target, name))
        self.nothing_else(self.keeps_unsaved(new))
        self.moves_to(target)
        assert name in (None, self.session.position.branch)
        assert self.session.position.branch not in self.heads
        self.branch = self.session.position.branch
        self.heads[self.branch] = target

    @precondition(lambda self: self.states)
    @rule(data=st.data(), n=st.integers(0, 3), chosen=st.sampled_from(EXPRESSIONS))
    def fork_with_values(self, data: st.DataObject, n: int, chosen: dict[str, str]) -> None:
        target = self.any_id(data)
        expressions = {name: text.format(n=n) for name, text in chosen.items()}
        expected = {"np": np, **copied(self.states[target])}
        try:
            for name, text in expressions.items():
                expected[name] = eval(text, expected)
        except NameError:
            self.refused(lambda: self.session.fork(target, expressions=expressions))
            return
        _, new = self.doing(lambda: self.session.fork(target, expressions=expressions))
        *others, made = self.keeps_unsaved(new)
        self.nothing_else(others)
        self.moves_to(target)
        self.live = {n: v for n, v in expected.items() if n != "np" and n[:2] != "__"}
        assert self.session.position.branch not in self.heads
        self.branch = self.session.position.branch
        self.adds(made)
        assert self.session.timeline.checkpoints[made].made_by == "fork"

    def refused(self, verb: Callable[[], object]) -> None:
        """What cannot be done changes nothing; what was unsaved may have been kept."""
        before, branch = self.before, self.branch

        def attempt() -> None:
            with pytest.raises(UsageError, match="nothing was changed"):
                verb()

        _, new = self.doing(attempt)
        self.nothing_else(self.keeps_unsaved(new))
        self.before, self.branch = before, branch

    @precondition(lambda self: self.states)
    @rule(data=st.data())
    def switch(self, data: st.DataObject) -> None:
        branch = self.any_branch(data)
        _, new = self.doing(lambda: self.session.switch(branch))
        self.nothing_else(self.keeps_unsaved(new))
        self.moves_to(self.heads[branch])
        self.branch = branch
        self.stands.pop(branch, None)

    @precondition(lambda self: self.states)
    @rule(data=st.data())
    def resume(self, data: st.DataObject) -> None:
        branch = self.any_branch(data)
        head = self.heads[branch]
        _, new = self.doing(lambda: self.session.resume(branch))
        self.stands.pop(branch, None)
        self.resumed(branch, head, new)

    def resumed(self, branch: str, head: str, new: set[str]) -> None:
        if self.position is not None or new:
            self.nothing_else(self.keeps_unsaved(new))
        others = {n: v for n, v in copied(self.live).items() if n not in self.states[head]}
        self.moves_to(head)
        self.live |= others
        self.branch = branch
        if branch not in self.stands:
            self.heads[branch] = head

    @precondition(lambda self: self.states)
    @rule(data=st.data(), n=st.integers(0, 3), step=st.booleans())
    def update(self, data: st.DataObject, n: int, step: bool) -> None:
        target = self.any_id(data)
        name = data.draw(st.sampled_from(self.session.timeline.names("done"))) if step else None
        made, new = self.doing(
            lambda: self.session.update(target, {"xs": [n], "a": n}, as_step=name)
        )
        *others, last = self.keeps_unsaved(new)
        self.nothing_else(others)
        goes_on = self.heads.get(self.branch) == target
        self.moves_to(target)
        held = self.live.get("xs")
        self.live["xs"] = [*held, n] if isinstance(held, list) else [n]
        self.live["a"] = n
        assert goes_on or self.session.position.branch not in self.heads
        assert not goes_on or self.session.position.branch == self.branch
        self.branch = self.session.position.branch
        self.adds(last)
        assert made.name == (name or self.session.timeline.checkpoints[target].name)

    @precondition(lambda self: self.states)
    @rule(data=st.data(), tag=st.sampled_from(["best", "old"]))
    def tag(self, data: st.DataObject, tag: str) -> None:
        target = self.any_id(data)
        tags = self.tags.setdefault(target, [])
        delete = tag in tags
        self.session.tag(target, tag, delete=delete)
        self.tags[target] = [t for t in tags if t != tag] + [tag] * (not delete)

    @precondition(lambda self: self.states)
    @rule(data=st.data(), text=st.sampled_from(["", "a note", "another"]))
    def note(self, data: st.DataObject, text: str) -> None:
        target = self.any_id(data)
        self.session.note(target, text)
        self.notes[target] = text

    # -- what goes, and what must not

    @precondition(lambda self: self.states)
    @rule(keep=st.integers(1, 3), is_elsewhere=st.booleans())
    def prune(self, keep: int, is_elsewhere: bool) -> None:
        must_stay = {*self.session.timeline.branches.values(), *self.heads.values()}
        must_stay |= {i for i, tags in self.tags.items() if tags}
        gone = self.pruned(Retention(keep_last=keep), is_elsewhere=is_elsewhere)
        assert not gone & must_stay

    @precondition(lambda self: self.states)
    @rule(data=st.data(), is_elsewhere=st.booleans())
    def drop(self, data: st.DataObject, is_elsewhere: bool) -> None:
        branch = self.any_branch(data)
        if branch == self.branch:
            return
        del self.heads[branch]
        must_stay = {*self.heads.values()} | {i for i, tags in self.tags.items() if tags}
        gone = self.pruned(Retention(drop=(branch,)), is_elsewhere=is_elsewhere)
        assert not gone & must_stay
        tagged = {i for i, tags in self.tags.items() if tags}
        left = self.states.keys() - self.reachable()  # on no branch any more
        firm = {*tagged, *self.loose, self.position}
        assert all(any(self.descends(newer, i) for newer in firm) for i in left)
        self.loose |= left

    def pruned(self, retention: Retention, *, is_elsewhere: bool) -> set[str]:
        """The checkpoints that went, here or in another session."""
        if is_elsewhere:
            self.session.wait()
            other = Store.open(self.session.store.path)
            answer = prune(other, retention)
            other.close()
        else:
            answer = prune(self.session.store, retention)
        assert not answer.left
        self.session.refresh()
        gone = {checkpoint for checkpoint, _ in answer.checkpoints}

        def nearest(checkpoint: str | None) -> str | None:
            while checkpoint in gone:
                checkpoint = self.parents[checkpoint]
            return checkpoint

        self.position = nearest(self.position)
        self.before = (nearest(self.before[0]), self.before[1])
        self.loose -= gone
        kept = self.parents.keys() - gone
        self.parents = {i: nearest(self.parents[i]) for i in kept}
        for table in (self.states, self.tags, self.notes):
            for checkpoint in gone & table.keys():
                del table[checkpoint]
        return gone

    def reachable(self) -> set[str]:
        """What is on a branch."""
        timeline = self.session.timeline
        return {i for tip in timeline.branches.values() for i in timeline.line(tip)}

    @precondition(lambda self: self.states)
    @rule(data=st.data())
    def look(self, data: st.DataObject) -> None:
        target = self.any_id(data)
        values = Look(self.session, self.session.get(target)).values
        assert told(dict(values))["values"] == told(self.states[target])["values"]

    # -- new processes

    @precondition(lambda self: self.branch in self.heads)
    @rule()
    def restart(self) -> None:
        self.session.wait()
        before = self.session.timeline.branches
        self.session.store.close()
        self.begin()
        assert self.session.timeline.branches == before
        assert self.session.position.branch == self.branch
        self.live, self.position, self.before = {}, None, (None, "")
        _, new = self.doing(self.session.resume)
        stood = self.stands.get(self.branch, self.heads[self.branch])
        self.resumed(self.branch, stood, new)

    @precondition(lambda self: self.from_elsewhere and self.branch in self.heads)
    @rule()
    def another_process_sees_the_same(self) -> None:
        self.session.wait()
        code = (
            "import sys, json, numpy as np\n"
            "from pathlib import Path\n"
            "from nbckpt.session.session import Session\n"
            "from nbckpt.storage.store import Store\n"
            "from tests.session.test_history_model import told\n"
            "space = {'np': np}\n"
            "session = Session(Store.open(Path(sys.argv[1])), space, notebook='nb', hidden={'np'})\n"
            "session.resume()\n"
            "branches = session.timeline.branches\n"
            "print(json.dumps([told(space), branches, session.position.branch]))\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(self.folder / ".nbckpt")],
            capture_output=True, text=True, check=True, env=environment(),
        )  # fmt: skip
        head = copied(self.states[self.heads[self.branch]])
        expected = [told(head), self.session.timeline.branches, self.branch]
        assert json.loads(done.stdout.splitlines()[-1]) == json.loads(json.dumps(expected))

    # -- what always holds

    @invariant()
    def the_namespace_is_the_same(self) -> None:
        assert told(self.session.namespace) == told(self.live)

    @invariant()
    def the_session_stands_where_it_should(self) -> None:
        assert self.session.position.id == self.position
        assert self.session.position.branch == self.branch
        if self.before[0] is not None:
            assert (
                self.session.position.before,
                self.session.position.before_branch,
            ) == self.before

    @invariant()
    def the_graph_is_the_same(self) -> None:
        timeline = self.session.timeline
        branches = timeline.branches
        assert {name: branches.get(name) for name in self.heads} == self.heads
        assert {c.id: c.parent for c in timeline.checkpoints.values()} == self.parents
        for name in branches.keys() - self.heads.keys():  # of overtaken lines
            others = [tip for other, tip in branches.items() if other != name]
            assert not any(timeline.is_ancestor(branches[name], tip) for tip in others)

    @invariant()
    def every_checkpoint_is_reachable(self) -> None:
        timeline = self.session.timeline
        reachable = self.reachable()
        assert reachable <= self.states.keys()
        assert self.states.keys() - reachable <= self.loose
        for checkpoint in self.states:
            assert resolve(timeline, checkpoint, branch=self.branch).id == checkpoint

    @invariant()
    def tags_and_notes_are_the_same(self) -> None:
        checkpoints = self.session.timeline.checkpoints
        for checkpoint, tags in self.tags.items():
            assert [t for t in checkpoints[checkpoint].tags if t != "automatic"] == tags
        for checkpoint, text in self.notes.items():
            assert checkpoints[checkpoint].note == text

    @invariant()
    def each_checkpoint_holds_what_was_there(self) -> None:
        for checkpoint, state in self.states.items():
            assert (
                self.session.timeline.manifest(checkpoint).keys() - state.keys()
                <= random_generators.NAMES
            )


class HistoryFromElsewhere(History):
    """The same, with other processes that look."""

    from_elsewhere = True


QUICK = settings(
    max_examples=25, stateful_step_count=25, deadline=None, report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip


@pytest.mark.slow
def test_a_history_is_what_a_dict_of_dicts_says() -> None:
    run_state_machine_as_test(History, settings=QUICK)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_long_histories_are_what_a_dict_of_dicts_says() -> None:
    run_state_machine_as_test(
        History, settings=settings(QUICK, max_examples=200, stateful_step_count=60)
    )


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_other_processes_see_what_a_dict_of_dicts_says() -> None:
    run_state_machine_as_test(
        HistoryFromElsewhere, settings=settings(QUICK, max_examples=10, stateful_step_count=30)
    )
