"""The graph of checkpoints, against something obviously right."""

from __future__ import annotations

import time
from collections.abc import Sequence
from random import Random

import hypothesis
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from nbckpt.errors import CheckpointNotFoundError, UsageError
from nbckpt.model import Cell, Checkpoint, Key, Record, State, Variable
from nbckpt.timeline.checkpoint_records import checkpoint_record
from nbckpt.timeline.following import following, next_names
from nbckpt.timeline.last_change import STRIDE
from nbckpt.timeline.references import resolve
from nbckpt.timeline.timeline import Timeline


def record(
    checkpoint_id: str,
    parent: str | None = None,
    name: str = "",
    *,
    at: float = 0.0,
    state: State = "done",
    key: Key | None = None,
    changed: Sequence[str] = (),
    removed: Sequence[str] = (),
) -> Record:
    variables = {n: Variable(n, "b" * 64, f"{checkpoint_id}-{n}", "int", 1) for n in changed}
    checkpoint = Checkpoint(
        checkpoint_id, parent, name or checkpoint_id, "main", "s", "nb", at, 1.0, Cell(""),
        state=state, key=key, changed=variables, removed=tuple(removed),
    )  # fmt: skip
    return checkpoint_record(checkpoint)


def head(branch: str, checkpoint_id: str) -> Record:
    return {"kind": "head", "branch": branch, "checkpoint": checkpoint_id}


def timeline_of(*records: Record) -> Timeline:
    timeline = Timeline()
    for one in records:
        timeline.apply(one)
    return timeline


def line(*names: str, branch: str = "main") -> list[Record]:
    """Checkpoints one after the other, ids made of their place and name."""
    records: list[Record] = []
    parent = None
    for at, name in enumerate(names):
        checkpoint_id = f"{at:04d}{name}"
        records += [record(checkpoint_id, parent, name, at=float(at)), head(branch, checkpoint_id)]
        parent = checkpoint_id
    return records


def test_ancestry_goes_back_to_the_first() -> None:
    timeline = timeline_of(*line("a", "b", "c"))

    assert [c.name for c in timeline.ancestry("0002c")] == ["c", "b", "a"]
    assert timeline.branches == {"main": "0002c"}
    assert timeline.head("main") == timeline.checkpoints["0002c"]
    assert timeline.head("none") is None


def test_the_manifest_is_folded_along_the_ancestry() -> None:
    timeline = timeline_of(
        record("a", changed=["x", "y"]),
        record("b", "a", changed=["y", "z"], removed=["x"]),
        record("c", "b", changed=["x"]),
    )

    values = {n: v.value for n, v in timeline.manifest("c").items()}

    assert values == {"x": "c-x", "y": "b-y", "z": "b-z"}
    assert set(timeline.manifest("b")) == {"y", "z"}
    assert set(timeline.manifest("a")) == {"x", "y"}


def test_a_manifest_stays_what_it_was_while_others_are_asked_for() -> None:
    records = [
        record(str(n), parent=str(n - 1) if n else None, changed=[f"x{n}", "y"]) for n in range(20)
    ]
    timeline = timeline_of(*records)
    first = timeline.manifest("3")

    for n in (4, 5, 2, 19, 3, 0, 10):
        assert timeline.manifest(str(n)) == timeline_of(*records).manifest(str(n))

    assert first.keys() == {"x0", "x1", "x2", "x3", "y"}
    assert first["y"].blob == timeline.checkpoints["3"].changed["y"].blob


def test_a_rewound_branch_keeps_its_tip_under_another_name() -> None:
    timeline = timeline_of(*line("a", "b", "c"), head("main", "0000a"))

    assert timeline.branches == {"main": "0000a", "main.1": "0002c"}


def test_a_rewind_that_is_undone_leaves_no_other_branch() -> None:
    timeline = timeline_of(*line("a", "b", "c"), head("main", "0000a"), head("main", "0002c"))

    assert timeline.branches == {"main": "0002c"}


def test_a_tip_that_another_branch_contains_needs_no_name() -> None:
    timeline = timeline_of(*line("a", "b"), head("kept", "0001b"), head("main", "0000a"))

    assert timeline.branches == {"main": "0000a", "kept": "0001b"}


def test_every_rewound_line_keeps_a_name_of_its_own() -> None:
    timeline = timeline_of(
        *line("a", "b"),
        head("main", "0000a"),
        record("c", "0000a"),
        head("main", "c"),
        head("main", "0000a"),
    )

    assert timeline.branches == {"main": "0000a", "main.1": "0001b", "main.2": "c"}


def test_two_sessions_on_one_branch_keep_two_lines() -> None:
    records = [record("root"), head("main", "root")]
    parents = {"a": "root", "b": "root"}
    for n in range(4):
        for session, parent in parents.items():
            records += [record(f"{session}{n}", parent), head("main", f"{session}{n}")]
            parents[session] = f"{session}{n}"

    timeline = timeline_of(*records)

    assert timeline.branches == {"main": "b3", "main.1": "a3"}


def test_a_kept_tip_can_be_gone_on_from() -> None:
    timeline = timeline_of(
        *line("a", "b"), head("main", "0000a"), record("c", "0001b"), head("main.1", "c")
    )

    assert timeline.branches == {"main": "0000a", "main.1": "c"}


def test_a_kept_tip_that_is_left_behind_keeps_a_name_again() -> None:
    timeline = timeline_of(
        *line("a", "b"), head("main", "0000a"), record("c", "0000a"), head("main.1", "c")
    )

    assert timeline.branches == {"main": "0000a", "main.1": "c", "main.1.1": "0001b"}


def test_a_tip_that_two_branches_left_keeps_one_name() -> None:
    timeline = timeline_of(
        *line("a", "b"),
        head("other", "0001b"),
        head("main", "0000a"),
        record("c", "0001b"),
        head("other", "c"),
        head("main", "c"),
        head("other", "0000a"),
        head("main", "0000a"),
    )

    assert timeline.branches == {"main": "0000a", "other": "0000a", "other.1": "c"}


def test_a_head_may_come_before_its_checkpoint() -> None:
    timeline = timeline_of(head("main", "b"), head("other", "never"), record("b", "a"))
    before = timeline.branches

    timeline.apply(record("a"))

    assert before == {"main": "b"}
    assert [c.id for c in timeline.ancestry("b")] == ["b", "a"]
    assert timeline.is_ancestor("a", "b")


def test_a_parent_may_come_after_its_children() -> None:
    timeline = timeline_of(record("c", "b", changed=["z"]), head("main", "c"))
    early = set(timeline.manifest("c")), timeline.is_ancestor("a", "c")

    for one in (record("b", "a", changed=["y"]), record("a", changed=["x"]), head("main", "a")):
        timeline.apply(one)

    assert early == ({"z"}, False)
    assert set(timeline.manifest("c")) == {"x", "y", "z"}
    assert timeline.branches == {"main": "a", "main.1": "c"}


def test_applying_again_changes_nothing() -> None:
    records = [*line("a", "b"), {"kind": "tag", "checkpoint": "0000a", "tag": "t"}]
    timeline = timeline_of(*records, *records)

    assert timeline.branches == {"main": "0001b"}
    assert len(timeline.named("a")) == 1
    assert timeline.checkpoints["0000a"].tags == ("t",)


def test_other_kinds_are_ignored() -> None:
    timeline = timeline_of({"kind": "event", "at": 1.0}, {"at": 2.0})

    assert timeline.revision == 0
    assert len(timeline.checkpoints) == 0


def test_a_tag_is_seen_even_after_its_checkpoint_was() -> None:
    timeline = timeline_of(record("a"))
    before = timeline.checkpoints["a"].tags

    timeline.apply({"kind": "tag", "checkpoint": "a", "tag": "best"})

    assert before == ()
    assert timeline.checkpoints["a"].tags == ("best",)


def test_find_gives_finished_checkpoints_of_one_key_on_any_branch_newest_first() -> None:
    key, other = Key("1" * 64, inputs={"x": "2" * 64}), Key("3" * 64)
    timeline = timeline_of(
        record("a", None, "step", at=1.0, key=key),
        record("b", "a", "step", at=4.0, key=key),
        record("c", None, "step", at=3.0, key=key),
        record("d", None, "step", at=5.0, key=key, state="failed"),
        record("e", None, "step", at=6.0, key=other),
        record("f", None, "step", at=7.0, key=key, state="partial"),
        record("g", None, "step", at=2.0, key=key, state="partial"),
        record("h", None, "else", at=8.0, key=key),
        record("i", None, "step", at=9.0),
    )

    partial = timeline.partial("step", key.digest)

    assert [c.id for c in timeline.find("step", key.digest)] == ["b", "c", "a"]
    assert partial is not None
    assert partial.id == "f"
    assert timeline.partial("step", other.digest) is None
    assert [c.id for c in timeline.named("step")] == list("ifedbcga")


def test_next_names_are_the_recorded_steps_that_follow() -> None:
    timeline = timeline_of(
        record("r"),
        record("c", "r", "train", at=3.0),
        record("a", "r", "embed", at=1.0),
        record("b", "r", "train", at=2.0),
        record("d", "r", "broken", at=0.0, state="failed"),
    )

    assert next_names(timeline, "r") == ("embed", "train")
    assert next_names(timeline, "a") == ()


@pytest.fixture
def branched() -> Timeline:
    """main: load, embed, embed, (train failed); other: load, embed, evaluate."""
    return timeline_of(
        record("01aa0001", None, "load", at=1.0),
        record("01aa0002", "01aa0001", "embed", at=2.0),
        record("01bb0003", "01aa0002", "embed", at=3.0),
        head("main", "01bb0003"),
        record("01bb0004", "01bb0003", "train", at=4.0, state="failed"),
        record("01cc0005", "01aa0002", "evaluate", at=5.0),
        head("other", "01cc0005"),
    )


@pytest.mark.parametrize(
    ("ref", "found"),
    [
        ("load", "01aa0001"),
        ("embed", "01bb0003"),
        ("embed@1", "01aa0002"),
        ("embed@2", "01bb0003"),
        ("01aa0002", "01aa0002"),
        ("01bb0004", "01bb0004"),
        ("01cc", "01cc0005"),
        ("main", "01bb0003"),
        ("other", "01cc0005"),
        ("~0", "01bb0003"),
        ("~", "01aa0002"),
        ("~2", "01aa0001"),
        ("-", "01cc0005"),
    ],
)
def test_a_reference_means_one_checkpoint(branched: Timeline, ref: str, found: str) -> None:
    assert resolve(branched, ref, branch="main", before="01cc0005").id == found


def test_a_name_is_looked_for_where_the_session_is_first(branched: Timeline) -> None:
    assert resolve(branched, "embed", branch="main", here="01aa0002").id == "01aa0002"
    assert resolve(branched, "embed@2", branch="main", here="01aa0002").id == "01bb0003"
    assert resolve(branched, "evaluate", branch="main", here="01cc0005").id == "01cc0005"
    assert resolve(branched, "~1", branch="other", here="01bb0003").id == "01aa0002"


def test_back_from_a_failed_checkpoint_counts_finished_ones(branched: Timeline) -> None:
    assert resolve(branched, "~1", branch="main", here="01bb0004").id == "01bb0003"


def test_a_name_that_is_also_an_id_or_a_branch_is_a_name() -> None:
    timeline = timeline_of(
        record("0001", None, "first"), record("0002", "0001", "main"), head("main", "0002"),
        record("0003", "0002", "0001"), head("main", "0003"),
    )  # fmt: skip

    assert resolve(timeline, "main", branch="main").id == "0002"
    assert resolve(timeline, "0001", branch="main").id == "0003"


@pytest.mark.parametrize(
    ("ref", "told"),
    [
        ("evaluate", "no checkpoint 'evaluate' on branch 'main': 'evaluate' is on branch 'other'"),
        ("evaluate@1", "'evaluate' is on branch 'other': use its id 01cc0005"),
        ("train", "'train' failed: use its id 01bb0004"),
        ("embd", "no checkpoint 'embd' on branch 'main'; did you mean 'embed'?; `nbckpt log`"),
        ("embed@3", "no checkpoint 'embed@3': branch 'main' has 'embed' 2 times; `nbckpt log`"),
        ("01c", "no checkpoint '01c' on branch 'main'"),
        ("zzzzzz", "no checkpoint 'zzzzzz' on branch 'main'; `nbckpt log` lists them"),
        ("~3", "'~3' goes back before the first checkpoint: there are 3 on branch 'main'"),
        ("-", "before the last rewind, and there was none"),
        ("", "no checkpoint '' on branch 'main'"),
    ],
)  # fmt: skip
def test_what_is_not_found_is_told_with_the_next_move(
    branched: Timeline, ref: str, told: str
) -> None:
    with pytest.raises(CheckpointNotFoundError) as caught:
        resolve(branched, ref, branch="main")

    assert told in str(caught.value)


def test_going_back_before_the_only_checkpoint_counts_one() -> None:
    timeline = timeline_of(record("0001", None, "only"), head("main", "0001"))

    with pytest.raises(CheckpointNotFoundError, match="there is 1 on branch 'main'"):
        resolve(timeline, "~1", branch="main")


def test_an_unfinished_loop_is_named_as_one() -> None:
    timeline = timeline_of(record("0001", None, "loop", state="partial"))

    with pytest.raises(CheckpointNotFoundError, match="'loop' did not finish: use its id 0001"):
        resolve(timeline, "loop", branch="main")


def test_the_beginning_of_several_ids_names_them(branched: Timeline) -> None:
    with pytest.raises(UsageError, match=r"'01bb' is .*: 01bb0003 \('embed'\), 01bb0004 \('train"):
        resolve(branched, "01bb", branch="main")


def folded(count: int) -> tuple[float, Timeline]:
    """Seconds for each of `count` records in a row, at the best of three times; the timeline."""
    records: list[Record] = []
    for n in range(count):
        parent = f"{n - 1:08d}" if n else None
        records += [record(f"{n:08d}", parent, f"step {n % 50}", at=float(n), changed=["x", "y"])]
        records += [head("main", f"{n:08d}")]
    took_s = []
    for _ in range(3):
        began = time.process_time()
        timeline = timeline_of(*records)
        took_s.append(time.process_time() - began)
    return min(took_s) / count, timeline


@pytest.mark.slow
def test_a_record_folds_as_fast_after_ten_thousand_others() -> None:
    of_few_s, _ = folded(1_000)
    of_many_s, timeline = folded(10_000)

    assert of_many_s < 4 * of_few_s  # 10 if each looked at all before it
    assert timeline.manifest("00009999")["x"].value == "00009999-x"


class Branches(RuleBasedStateMachine):
    """Checkpoints, forks and rewinds of two branches; the model is one list for each."""

    def __init__(self) -> None:
        super().__init__()
        self.timeline = Timeline()
        self.paths: dict[str, list[str]] = {}
        self.made: list[str] = []

    def _move(self, branch: str, path: list[str]) -> None:
        self.paths[branch] = path
        self.timeline.apply(head(branch, path[-1]))

    @rule(branch=st.sampled_from(["main", "other"]))
    def checkpoint(self, branch: str) -> None:
        path = self.paths.get(branch, [])
        new = f"c{len(self.made):04d}"
        self.made.append(new)
        self.timeline.apply(record(new, path[-1] if path else None, at=float(len(self.made))))
        self._move(branch, [*path, new])

    @rule(branch=st.sampled_from(["main", "other"]), data=st.data())
    def rewind(self, branch: str, data: st.DataObject) -> None:
        path = self.paths.get(branch, [])
        if path:
            self._move(branch, path[: data.draw(st.integers(1, len(path)))])

    @rule(
        branch=st.sampled_from(["main", "other"]),
        to=st.sampled_from(["main", "other"]),
        data=st.data(),
    )
    def switch_to_a_checkpoint(self, branch: str, to: str, data: st.DataObject) -> None:
        path = self.paths.get(branch, [])
        if path:
            self._move(to, path[: data.draw(st.integers(1, len(path)))])

    @invariant()
    def heads_are_where_they_were_put(self) -> None:
        branches = self.timeline.branches
        for name, path in self.paths.items():
            assert branches[name] == path[-1]
            assert [c.id for c in self.timeline.ancestry(path[-1])] == path[::-1]

    @invariant()
    def every_checkpoint_is_on_some_branch(self) -> None:
        heads = self.timeline.branches.values()
        reachable = {c.id for tip in heads for c in self.timeline.ancestry(tip)}
        assert reachable == set(self.made)

    @invariant()
    def no_kept_branch_is_superfluous(self) -> None:
        branches = self.timeline.branches
        for name, tip in branches.items():
            if name not in self.paths:
                others = [head for other, head in branches.items() if other != name]
                assert not any(self.timeline.is_ancestor(tip, other) for other in others)


TestBranches = Branches.TestCase


def test_loops_that_did_not_end_are_told_newest_first() -> None:
    timeline = Timeline()
    states = [("a", "partial"), ("b", "partial"), ("b", "done"), ("c", "partial"), ("c", "partial")]
    for n, (name, state) in enumerate(states):
        cell = {"source": ""}
        record = {"kind": "checkpoint", "id": f"id-{n}", "name": name, "state": state, "cell": cell}
        timeline.apply(
            {**record, "created_at": float(n), "duration_s": 0.0, "session": "s", "notebook": ""}
        )

    assert [c.id for c in timeline.unfinished("main")] == ["id-4", "id-0"]


def test_a_branch_does_not_go_back_when_its_own_records_come_again() -> None:
    records = [{**r, "at": float(i)} for i, r in enumerate(line("a", "b", "c"))]
    timeline = timeline_of(*records)

    for again in records[:4]:  # as a session reads its own lines, late
        timeline.apply(again)

    assert timeline.branches == {"main": "0002c"}


@pytest.mark.parametrize("length", [STRIDE - 1, STRIDE, STRIDE + 1, 3 * STRIDE + 5])
def test_a_manifest_is_the_same_from_the_last_record_that_says_what_it_inherited(
    length: int,
) -> None:
    plain, timeline = Timeline(), Timeline()
    held: dict[str, str] = {}
    parent = None
    for i in range(length):
        checkpoint_id = f"{i:04d}"
        changed = [f"x{i % 7}", f"y{i % 50}"]
        removed = [f"y{(i + 3) % 50}"] if i > 50 else []
        made = record(checkpoint_id, parent, at=float(i), changed=changed, removed=removed)
        plain.apply(made)
        timeline.apply({**made, "inherited": timeline.inherited(parent)})
        held = {n: v for n, v in held.items() if n not in removed}
        held |= {name: f"{checkpoint_id}-{name}" for name in changed}
        parent = checkpoint_id

    assert parent is not None
    folded = {name: v.value for name, v in timeline.manifest(parent).items()}
    assert folded == held == {name: v.value for name, v in plain.manifest(parent).items()}


def test_a_log_shows_finished_checkpoints_and_the_newest_that_did_not_finish() -> None:
    timeline = timeline_of(
        *line("a", "b"),
        record("f1", "0001b", "b", at=5.0, state="failed"),
        record("f2", "0001b", "new", at=6.0, state="failed"),
        record("f3", "0001b", "again", at=7.0, state="failed"),
        record("d3", "0001b", "again", at=8.0),
        head("side", "d3"),
    )

    assert timeline.log("main") == ["f2", "f1", "0001b", "0000a"]
    assert timeline.log(None) == ["d3", "f2", "f1", "0001b", "0000a"]
    assert timeline.count_ancestry("d3") == 3


def test_the_log_of_a_branch_has_its_own_failures() -> None:
    failed = [
        {**record(f"{branch}-fails", "0000a", "fit", at=at, state="failed"), "branch": branch}
        for branch, at in (("main", 5.0), ("other", 6.0))
    ]
    timeline = timeline_of(*line("a"), head("other", "0000a"), *failed)

    assert timeline.log("main") == ["main-fails", "0000a"]
    assert timeline.log("other") == ["other-fails", "0000a"]
    assert timeline.log(None) == ["other-fails", "0000a"]


def test_many_overtaken_tips_are_told_quickly() -> None:
    timeline = timeline_of(*line(*(f"c{i}" for i in range(200))))
    began = time.perf_counter()
    for i in range(600):
        timeline.apply(head("main", f"{i % 150:04d}c{i % 150}"))
        timeline.apply(record(f"side{i}", f"{i % 150:04d}c{i % 150}", at=1000.0 + i))
        timeline.apply(head("main", f"side{i}"))

    assert len(timeline.branches) == 601
    assert time.perf_counter() - began < 3


# -- what follows ---------------------------------------------------------------------------------


def given(checkpoint_id: str, parent: str, name: str, at: float, made_by: str) -> Record:
    return {**record(checkpoint_id, parent, name, at=at), "made_by": made_by}


def names_after(timeline: Timeline, checkpoint_id: str, **members: str) -> str:
    found = following(timeline, checkpoint_id, **{"branch": "main", **members})
    return " ".join(c.name for c in found)


@pytest.fixture
def forked() -> Timeline:
    """main: load, use, more; side, from load: use, other."""
    return timeline_of(
        *line("load", "use", "more"),
        record("side1", "0000load", "use", at=10.0),
        record("side2", "side1", "other", at=11.0),
        head("side", "side2"),
    )


def test_what_follows_is_on_the_branch_that_the_session_is_on(forked: Timeline) -> None:
    assert names_after(forked, "0000load") == "use more"
    assert names_after(forked, "0000load", branch="side") == "use other"


def test_what_follows_after_a_rewind_is_where_the_session_came_from(forked: Timeline) -> None:
    forked.apply(head("main", "0000load"))

    assert names_after(forked, "0000load", origin="0001use") == "use"
    assert names_after(forked, "0000load", origin="side2") == "use other"
    assert names_after(forked, "0000load") == "use other"  # the newest
    assert names_after(forked, "0002more") == ""


def test_what_follows_given_values_is_what_followed_the_step_they_stand_for(
    forked: Timeline,
) -> None:
    forked.apply(given("f", "0000load", "load", 20.0, "fork"))
    forked.apply(head("main-2", "f"))
    forked.apply(given("u", "0000load", "use", 21.0, "update"))
    forked.apply(head("main-3", "u"))
    forked.apply(given("v", "0002more", "load", 22.0, "update"))
    forked.apply(given("w", "u", "use", 23.0, "fork"))

    assert names_after(forked, "f", branch="main-2", origin="0002more") == "use more"
    assert names_after(forked, "u", branch="main-3", origin="0002more") == "more"
    assert names_after(forked, "u", branch="main-3") == "other"
    assert names_after(forked, "w", branch="none", origin="0002more") == "more"
    assert names_after(forked, "v", branch="none", origin="0002more") == "use more"
    assert next_names(forked, "u") == ("other",)
    assert next_names(forked, "0000load") == ("use",)


def test_an_empty_fork_does_not_hide_the_steps_that_follow(forked: Timeline) -> None:
    forked.apply(given("f", "0002more", "more", 20.0, "fork"))
    forked.apply({**record("auto", "0001use", "before-rewind", at=30.0), "tags": ["automatic"]})

    assert names_after(forked, "0001use", branch="none") == "more more"
    assert names_after(forked, "0002more", branch="none") == ""
    assert next_names(forked, "0001use") == ("more",)


def test_steps_after_given_values_are_the_next_of_both(forked: Timeline) -> None:
    forked.apply(given("f", "0002more", "more", 20.0, "fork"))
    forked.apply(record("g", "f", "last", at=21.0))

    assert next_names(forked, "0002more") == ("last",)
    assert next_names(forked, "f") == ("last",)
    assert names_after(forked, "f") == "last"


# -- records in any order -------------------------------------------------------------------------


def test_a_dropped_branch_has_no_name_and_can_be_made_again() -> None:
    records = [
        *line("a", "b"),
        {**head("try", "0000a"), "at": 1.0},
        {"kind": "drop", "branch": "try", "at": 2.0},
    ]
    timeline = timeline_of(*records)
    dropped = timeline.branches, timeline.is_branch("try")

    timeline.apply({**head("try", "0001b"), "at": 3.0})

    assert dropped == ({"main": "0001b"}, False)
    assert timeline.branches == {"main": "0001b", "try": "0001b"}


def test_an_overtaken_tip_can_be_dropped() -> None:
    timeline = timeline_of(*line("a", "b"), head("main", "0000a"))

    timeline.apply({"kind": "drop", "branch": "main.1", "at": 2.0})

    assert timeline.branches == {"main": "0000a"}


def test_an_overtaken_tip_keeps_the_name_that_was_written_down() -> None:
    timeline = timeline_of(
        *line("a", "b"),
        {**head("main.7", "0001b"), "at": 1.0, "overtaken": True},
        {**head("main", "0000a"), "at": 2.0},
        record("c", "0000a"),
        {**head("main", "c"), "at": 3.0},
        {**head("main", "0000a"), "at": 4.0},
    )

    assert timeline.branches == {"main": "0000a", "main.7": "0001b", "main.8": "c"}


def test_what_was_pruned_is_gone_whichever_record_comes_first() -> None:
    kept = {**record("0002c", None, "c", at=2.0, changed=["z"]), "at": 9.0}
    kept["carried"] = list(record("x", changed=["x", "y"])["changed"])
    pruned = {"kind": "prune", "pruned": ["0000a", "0001b"]}
    records = [*line("a", "b", "c"), record("d", "0002c", changed=["x"]), head("main", "d")]

    for ordered in ([*records, pruned, kept], [kept, pruned, *records], [pruned, *records, kept]):
        timeline = timeline_of(*ordered)

        assert list(timeline.ancestry("d")) == [timeline.checkpoints[i] for i in ("d", "0002c")]
        assert timeline.names() == ["c", "d"] or timeline.names() == ["d", "c"]
        assert timeline.branches == {"main": "d"}
        values = {n: v.value for n, v in timeline.manifest("d").items()}
        assert values == {"x": "d-x", "y": "x-y", "z": "0002c-z"}
        with pytest.raises(CheckpointNotFoundError):
            resolve(timeline, "0001b", branch="main")


def test_a_manifest_does_not_stop_at_what_was_inherited_from_the_pruned() -> None:
    carrying = {
        **record("b", None, "b", changed=["y"]),
        "carried": record("x", changed=["x"])["changed"],
    }
    timeline = timeline_of(
        record("a", changed=["x"]),
        record("b", "a", changed=["y"]),
        {**record("c", "b", changed=["z"]), "inherited": {"a": ["x"], "b": ["y"]}},
    )
    before = set(timeline.manifest("c"))

    timeline.apply({"kind": "prune", "pruned": ["a"]})
    timeline.apply(carrying)

    assert {n: v.value for n, v in timeline.manifest("c").items()} == {
        "x": "x-x", "y": "b-y", "z": "c-z",
    }  # fmt: skip
    assert before == {"x", "y", "z"}


def test_of_two_rewritten_records_the_later_counts() -> None:
    first = {**record("c", "b"), "carried": [], "at": 1.0}
    second = {**record("c", None), "carried": [], "at": 2.0}

    for ordered in ([first, second], [second, first]):
        timeline = timeline_of(record("b"), record("c", "b"), *ordered)
        assert timeline.checkpoints["c"].parent is None


def test_folding_anew_keeps_what_no_reader_can_be_given_yet() -> None:
    records = [
        {**r, "at": float(i)} if r["kind"] == "head" else r
        for i, r in enumerate(line("a", "b", "c"))
    ]
    timeline = timeline_of(*records)
    timeline.apply({"kind": "refused", "checkpoint": "0002c", "reason": "full"})
    revision = timeline.revision

    timeline.clear(but={"0001b"})

    assert set(timeline.checkpoints) == {"0001b", "0002c"}
    assert timeline.checkpoints["0002c"].state == "failed"
    assert timeline.branches == {"main": "0001b"}
    assert timeline.revision > revision
    for one in records:
        timeline.apply(one)
    timeline.apply({"kind": "written", "checkpoint": "0002c"})
    assert timeline.branches == {"main": "0002c"}
    assert [c.name for c in timeline.ancestry("0002c")] == ["c", "b", "a"]


def test_the_last_of_two_notes_and_of_two_words_on_a_tag_counts() -> None:
    marks: list[Record] = [
        {"kind": "tag", "checkpoint": "a", "tag": "x", "at": 1.0},
        {"kind": "tag", "checkpoint": "a", "tag": "x", "at": 2.0, "delete": True},
        {"kind": "tag", "checkpoint": "a", "tag": "own", "at": 2.0, "delete": True},
        {"kind": "tag", "checkpoint": "a", "tag": "y", "at": 4.0},
        {"kind": "tag", "checkpoint": "a", "tag": "z", "at": 3.0},
        {"kind": "note", "checkpoint": "a", "note": "first", "at": 1.0},
        {"kind": "note", "checkpoint": "a", "note": "last", "at": 2.0},
    ]
    own = {**record("a"), "tags": ["kept", "own"], "note": "own"}

    for ordered in ([own, *marks], [*marks, own], [*marks[::-1], own]):
        checkpoint = timeline_of(*ordered).checkpoints["a"]
        assert (checkpoint.tags, checkpoint.note) == (("kept", "z", "y"), "last")


def test_a_notebook_is_on_the_branch_that_its_session_moved_last() -> None:
    def moved(branch: str, checkpoint_id: str, at: float, notebook: str) -> Record:
        return {**head(branch, checkpoint_id), "at": at, "notebook": notebook}

    timeline = timeline_of(*line("a", "b"))
    made = timeline.last_branch_of("nb")
    timeline.apply(moved("try", "0000a", 10.0, "nb"))
    switched = timeline.last_branch_of("nb")
    timeline.apply(moved("other", "0000a", 11.0, "else"))

    assert (made, switched, timeline.last_branch_of("nb")) == ("main", "try", "try")
    timeline.apply({"kind": "drop", "branch": "try", "at": 12.0})
    assert timeline.last_branch_of("nb") == "main"
    assert timeline.last_branch_of("none") is None


def test_a_tag_is_a_reference_to_the_newest_that_has_it(branched: Timeline) -> None:
    for at, checkpoint_id in enumerate(("01aa0001", "01aa0002")):
        branched.apply({"kind": "tag", "checkpoint": checkpoint_id, "tag": "best", "at": float(at)})
    branched.apply({"kind": "tag", "checkpoint": "01aa0001", "tag": "automatic", "at": 1.0})

    assert resolve(branched, "best", branch="main").id == "01aa0002"
    assert branched.tags() == ["best"]
    with pytest.raises(CheckpointNotFoundError, match="did you mean 'best'"):
        resolve(branched, "bst", branch="main")
    with pytest.raises(CheckpointNotFoundError):
        resolve(branched, "automatic", branch="main")


def test_a_new_record_is_later_than_all_that_came_whatever_the_clock_says() -> None:
    timeline = timeline_of({**head("main", "a"), "at": 100.0})

    assert timeline.later_than_all(50.0) > 100.0
    assert timeline.later_than_all(200.0) == 200.0


@st.composite
def histories(draw: st.DrawFn) -> list[Record]:
    """Records of a few sessions, oldest first; each stands on what was there before."""
    records: list[Record] = []
    ids: list[str] = []
    for n in range(draw(st.integers(2, 25))):
        at = float(n)
        kind = draw(st.sampled_from(["checkpoint", "checkpoint", "head", "drop", "tag", "note"]))
        branch = draw(st.sampled_from(["main", "try", "main.1"]))
        if kind == "checkpoint" or not ids:
            parent = draw(st.sampled_from([None, *ids]))
            ids.append(f"c{n:03d}")
            name = draw(st.sampled_from("ab"))
            records.append(record(ids[-1], parent, name, at=at, changed=[name]))
            records.append({**head(branch, ids[-1]), "at": at + 0.5})
            continue
        target = draw(st.sampled_from(ids))
        given = {
            "head": head(branch, target),
            "drop": {"kind": "drop", "branch": branch},
            "tag": {"kind": "tag", "checkpoint": target, "tag": "t", "delete": n % 2 == 0},
            "note": {"kind": "note", "checkpoint": target, "note": str(n)},
        }
        records.append({**given[kind], "at": at})
    if draw(st.booleans()):
        records.append({"kind": "prune", "pruned": draw(st.lists(st.sampled_from(ids)))})
    return records


@pytest.mark.slow
@hypothesis.given(histories(), st.randoms(use_true_random=False))
def test_the_graph_is_the_same_in_whatever_order_records_come(
    records: list[Record], random: Random
) -> None:
    shuffled = [*records, *random.sample(records, len(records) // 2)]
    random.shuffle(shuffled)

    one, other = timeline_of(*records), Timeline()
    for n, each in enumerate(shuffled):
        other.apply(each)
        if n % 3 == 0:
            assert set(other.branches.values()) <= set(other.checkpoints)

    assert other.branches == one.branches
    assert dict(other.checkpoints) == dict(one.checkpoints)
    for i in one.checkpoints:
        assert other.ancestry(i) == one.ancestry(i)
        assert other.manifest(i) == one.manifest(i)
        assert next_names(other, i) == next_names(one, i)
        assert following(other, i, branch="main") == following(one, i, branch="main")
    assert other.log(None) == one.log(None)


def test_a_thousand_checkpoints_are_listed_in_ten_milliseconds() -> None:
    timeline = timeline_of(*line(*(f"c{i}" for i in range(1000))))

    def listed_s() -> float:
        began = time.perf_counter()
        assert len([timeline.checkpoints[i] for i in timeline.log("main")]) == 1000
        return time.perf_counter() - began

    assert min(listed_s() for _ in range(5)) < 0.010
