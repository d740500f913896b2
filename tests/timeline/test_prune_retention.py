"""What is kept, and that what is kept is what it was."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbckpt.errors import UsageError
from nbckpt.model import Cell, Checkpoint, Key, Variable
from nbckpt.storage.counted_records import counting
from nbckpt.storage.journal import Entry
from nbckpt.storage.rewriting import compacted, corrections, folded, require_same, rewritten
from nbckpt.timeline.checkpoint_records import checkpoint_record
from nbckpt.timeline.prune_retention import DAY_S, Retention, kept
from nbckpt.timeline.timeline import Timeline

NOW = 1_000.0 * DAY_S
MB = 1_000_000
NAMES = ("a", "b", "c", "d")


def variable(name: str, blob: str) -> Variable:
    return Variable(name, blob, blob, "int", 1, group=(name,))


def checkpoint(
    n: int, parent: str | None, branch: str = "main", *, at: float | None = None, **members: Any
) -> Checkpoint:
    created_at = NOW - (1000 - n) * DAY_S if at is None else at
    return Checkpoint(
        f"id{n:03}", parent, f"n{n}", branch, "s", "nb", created_at, 0.1, Cell(""), **members
    )


def head(branch: str, made: Checkpoint) -> dict[str, Any]:
    at = made.created_at
    return {"kind": "head", "branch": branch, "checkpoint": made.id, "at": at}


def line(count: int) -> Timeline:
    """A branch of `count` checkpoints, one a day, the last one yesterday."""
    timeline = Timeline()
    last = None
    for n in range(1000 - count, 1000):
        made = checkpoint(n, last)
        last = made.id
        for record in (checkpoint_record(made), head("main", made)):
            timeline.apply(record)
    return timeline


def ids(*numbers: int) -> set[str]:
    return {f"id{n:03}" for n in numbers}


def test_without_options_all_that_a_branch_reaches_is_kept() -> None:
    assert len(kept(line(20), Retention(), NOW)) == 20


def test_the_newest_of_each_branch_are_kept() -> None:
    timeline = line(20)
    other = checkpoint(500, "id985", "other")
    for record in (checkpoint_record(other), head("other", other)):
        timeline.apply(record)

    found = kept(timeline, Retention(keep_last=3), NOW)

    assert found == ids(997, 998, 999, 500, 985, 984)


def test_the_young_ones_are_kept_and_with_keep_last_what_either_keeps() -> None:
    timeline = line(20)

    assert kept(timeline, Retention(keep_days=4), NOW) == ids(996, 997, 998, 999)
    assert kept(timeline, Retention(keep_days=0), NOW) == ids(999)
    assert len(kept(timeline, Retention(keep_days=4, keep_last=7), NOW)) == 7


def test_a_tag_protects_unless_it_shall_not_or_is_nobodys() -> None:
    timeline = line(5)
    for tag, n in (("best", 995), ("automatic", 996)):
        timeline.apply({"kind": "tag", "checkpoint": f"id{n}", "tag": tag, "at": NOW})

    assert kept(timeline, Retention(keep_last=1), NOW) == ids(995, 999)
    assert kept(timeline, Retention(keep_last=1, keep_tagged=False), NOW) == ids(999)


def test_where_sessions_stand_is_kept() -> None:
    found = kept(line(9), Retention(keep_last=1), NOW, standing=("id993", "gone"))

    assert found == ids(993, 999)


def test_the_oldest_go_until_it_fits_and_heads_stay_even_if_it_never_does() -> None:
    timeline = line(9)
    timeline.apply({"kind": "tag", "checkpoint": "id992", "tag": "best", "at": NOW})

    def size_of(ids: set[str]) -> int:
        return MB * len(ids)

    assert kept(timeline, Retention(max_size=4 * MB), NOW, size_of) == ids(992, 997, 998, 999)
    assert kept(timeline, Retention(max_size=1), NOW, size_of) == ids(992, 999)
    assert len(kept(timeline, Retention(max_size=9 * MB), NOW, size_of)) == 9


def test_for_a_size_out_of_reach_only_what_frees_room_goes() -> None:
    def size_of(ids: set[str]) -> int:
        return 1000 * len(ids) + MB * (("id993" in ids) + ("id999" in ids))

    left = kept(line(9), Retention(max_size=1), NOW, size_of)

    assert left == ids(994, 995, 996, 997, 998, 999)


def test_a_branch_to_drop_must_be_there() -> None:
    with pytest.raises(UsageError, match="there is no branch 'x' to drop; there are main"):
        kept(line(2), Retention(drop=("x",)), NOW)


def test_of_what_did_not_end_only_what_somebody_needs_is_kept() -> None:
    timeline = line(3)
    key = Key("k" * 64)

    def undone(n: int, name: str, state: str, **members: Any) -> dict[str, Any]:
        made = checkpoint(n, "id999", at=NOW + n, state=state, key=key, **members)
        return {**checkpoint_record(made), "name": name}

    done = checkpoint(900, "id999", at=NOW + 500, key=key)
    for record in (
        undone(1, "loop", "partial", progress=(1, 3, 9)),
        undone(2, "loop", "partial", progress=(1, 4, 9)),
        undone(3, "loop", "partial", progress=(2, 1, 9)),
        undone(4, "ended", "partial", progress=(1, 3, 9)),
        undone(5, "broke", "failed"),
        undone(6, "broke", "failed"),
        {**checkpoint_record(done), "name": "ended"},
        head("main", done),
    ):
        timeline.apply(record)

    found = kept(timeline, Retention(), NOW)
    short = kept(timeline, Retention(keep_last=1), NOW)

    assert found == ids(997, 998, 999, 900, 2, 3, 6)
    assert short == ids(900)


# -- what is left after a prune is what was there before


@st.composite
def histories(draw: st.DrawFn) -> list[Entry]:
    """Entries of two journals: checkpoints on branches, moves, tags."""
    timeline, entries = Timeline(), []
    made: list[Checkpoint] = []
    for n in range(draw(st.integers(1, 25))):
        parent = draw(st.sampled_from([None, *(c.id for c in made[-6:])])) if made else None
        branch = draw(st.sampled_from(["main", "main", "try", "x"]))
        base = timeline.manifest(parent) if parent else {}
        changed = {v: variable(v, f"{v}{n}") for v in draw(st.sets(st.sampled_from(NAMES)))}
        removed = draw(st.sets(st.sampled_from(sorted(base.keys() - changed.keys()) or ["-"])))
        state = draw(st.sampled_from(["done"] * 6 + ["partial", "failed"]))
        inherited = {}
        if parent and draw(st.booleans()):
            owners = {name: timeline.fold.owners.of(parent)[name] for name in base}
            inherited = {o: tuple(n for n in owners if owners[n] == o) for o in owners.values()}
        new = checkpoint(
            n, parent, branch, state=state, changed=changed,
            removed=tuple(removed - {"-"}), inherited=inherited,
        )  # fmt: skip
        records: list[dict[str, Any]] = [dict(checkpoint_record(new))]
        if state == "done":
            records.append(head(branch, new))
            made.append(new)
        if draw(st.integers(0, 5)) == 0:
            tag = {"kind": "tag", "checkpoint": new.id, "tag": "t", "at": new.created_at}
            records.append(tag)
        if made and draw(st.integers(0, 5)) == 0:  # a rewind
            back = draw(st.sampled_from(made))
            records.append({**head(branch, back), "at": new.created_at + 0.5})
        journal = draw(st.sampled_from(["dead", "live"]))
        for serial, record in enumerate(records):
            timeline.apply(record)
            entries.append(Entry(new.created_at, journal, n * 10 + serial, record))
    return entries


@st.composite
def retentions(draw: st.DrawFn) -> Retention:
    return Retention(
        keep_last=draw(st.none() | st.integers(1, 4)),
        keep_days=draw(st.none() | st.sampled_from([980.0, 990.0])),
        keep_tagged=draw(st.booleans()),
    )


def pruned(entries: Sequence[Entry], retention: Retention, standing: set[str]) -> list[Entry]:
    """What readers have after a prune: the new journal, and the one that is live."""
    records = [entry.record for entry in entries]
    before = folded(records)
    left = kept(before, retention, NOW, standing=standing)
    counted = counting(records)
    new = rewritten(before, counted, left, NOW)
    known = {r["id"] for r in records if r["kind"] == "checkpoint"}
    gone = sorted(known - left)
    prune = {"kind": "prune", "replaces": ["dead"], "pruned": gone, "condemned": []}
    here = [entry for entry in entries if any(entry.record is r for r in counted)]
    own = [prune, *compacted(here, {"dead"}, left, new, ())]
    live = [entry for entry in entries if entry.journal == "live"]
    after = folded([*own, *(entry.record for entry in live)])
    own += corrections(before, after, left, retention.drop, NOW + 1)
    merged = [*(Entry(math.inf, "new", n, r) for n, r in enumerate(own)), *live]
    require_same(before, folded([e.record for e in merged]), left, retention.drop)
    return merged


@pytest.mark.slow
@given(histories(), retentions(), st.data())
def test_the_fold_after_a_prune_is_the_fold_before_without_what_went(
    entries: list[Entry], retention: Retention, data: st.DataObject
) -> None:
    before = folded([entry.record for entry in entries])
    standing = data.draw(st.sets(st.sampled_from(sorted(before.checkpoints)), max_size=2))
    left = kept(before, retention, NOW, standing=standing)

    after = folded([entry.record for entry in pruned(entries, retention, standing)])

    assert set(after.checkpoints) == left
    assert after.branches == before.branches
    for i in left:
        old, new = before.checkpoints[i], after.checkpoints[i]
        assert after.manifest(i) == before.manifest(i)
        assert (new.tags, new.name, new.changed, new.state) == (
            old.tags, old.name, old.changed, old.state,
        )  # fmt: skip
        ancestors = [j for j in before.line(i) if j in left]
        assert list(after.line(i)) == ancestors


@pytest.mark.slow
@settings(max_examples=30)
@given(histories(), retentions(), retentions())
def test_so_it_is_after_a_second_prune(
    entries: list[Entry], first: Retention, second: Retention
) -> None:
    once = pruned(entries, first, set())
    between = folded([entry.record for entry in once])
    again = [
        Entry(0.0, "dead" if e.journal == "new" else e.journal, e.serial, e.record) for e in once
    ]

    twice = folded([entry.record for entry in pruned(again, second, set())])

    assert twice.branches == between.branches
    for i in twice.checkpoints:
        assert twice.manifest(i) == between.manifest(i)


@pytest.mark.slow
@given(histories(), retentions(), st.integers(0, 30))
def test_heads_are_always_kept_and_a_size_only_takes_more(
    entries: list[Entry], retention: Retention, most: int
) -> None:
    timeline = folded([entry.record for entry in entries])
    whole = kept(timeline, retention, NOW)
    sized = Retention(
        retention.keep_last, retention.keep_days, retention.keep_tagged, max_size=MB * most
    )

    fitting = kept(timeline, sized, NOW, lambda ids: MB * len(ids))

    assert set(timeline.branches.values()) <= fitting <= whole
    assert (
        len(fitting) <= most
        or {
            i
            for i in fitting
            if timeline.checkpoints[i].state == "done"
            and i not in timeline.branches.values()
            and not set(timeline.checkpoints[i].tags)
        }
        == set()
    )
