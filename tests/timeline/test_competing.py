"""Of two records that say something of one checkpoint, one's own counts, in whatever order they come."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from nbckpt.model import UNTRUSTED, Record
from nbckpt.storage.counted_records import counting
from nbckpt.timeline.timeline import Timeline

IDS = ("a", "b", "c")


def record(i: str, said: str, *, rewritten: bool, at: float, is_own: bool) -> Record:
    found: dict[str, object] = {
        "kind": "checkpoint", "id": i, "session": "s", "created_at": 1.0, "duration_s": 0.1,
        "cell": {"source": said},
    }  # fmt: skip
    found |= {"carried": [], "at": at} if rewritten else {}
    return found if is_own else {**found, UNTRUSTED: True}


checkpoints = st.builds(
    record,
    st.sampled_from(IDS),
    st.text("xyz", min_size=1),
    rewritten=st.booleans(),
    at=st.floats(1, 9),
    is_own=st.booleans(),
)
prunes = st.builds(
    lambda ids, is_own: {"kind": "prune", "pruned": ids, **({} if is_own else {UNTRUSTED: True})},
    st.lists(st.sampled_from(IDS), unique=True),
    st.booleans(),
)


@given(st.lists(checkpoints | prunes, max_size=8), st.randoms(use_true_random=False))
def test_no_record_that_is_not_trusted_changes_what_a_trusted_one_says(
    records: list[Record], rng: random.Random
) -> None:
    own = [r for r in records if UNTRUSTED not in r]
    shuffled = rng.sample(records, len(records))
    alone, together = Timeline(), Timeline()
    alone.apply_all(own)
    together.apply_all(shuffled)

    for i, checkpoint in alone.checkpoints.items():
        told = {r["cell"]["source"] for r in own if r.get("id") == i}
        assert checkpoint.trusted
        assert together.checkpoints[i].trusted
        assert together.checkpoints[i].cell.source in told
    assert {i for i, c in together.checkpoints.items() if c.trusted} == set(alone.checkpoints)
    counted = {r["id"] for r in counting(shuffled) if "id" in r}
    assert counted == set(together.checkpoints)
