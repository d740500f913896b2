"""Who descends from whom, against walking from parent to parent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nbckpt.timeline.ancestry import Lineage


def ancestors(parents: dict[str, str | None], node: str | None) -> list[str]:
    found: list[str] = []
    while node in parents:
        found.append(node)
        node = parents[node]
    return found


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[str, str | None]]:
    """Ids and their parents in any order; some parents are never there."""
    size = draw(st.integers(1, 30))
    pairs: list[tuple[str, str | None]] = [("0", None)]
    for i in range(1, size):
        near = draw(st.booleans())  # long lines as well as bushes
        pairs.append((str(i), str(i - 1 if near else draw(st.integers(0, i - 1)))))
    lost = draw(st.sets(st.integers(0, size - 1), max_size=2))
    kept = [pair for i, pair in enumerate(pairs) if i not in lost]
    return draw(st.permutations(kept)) if draw(st.booleans()) else kept


@given(trees(), st.booleans())
def test_descent_and_depth_are_those_of_the_walk(
    tree: list[tuple[str, str | None]], asks_meanwhile: bool
) -> None:
    lineage, parents = Lineage(), dict[str, str | None]()

    for node, parent in tree:
        late = lineage.add(node, parent)
        parents[node] = parent
        assert late == (node in [p for n, p in tree if n in parents])
        if asks_meanwhile:
            lineage.depth(node)

    for node in parents:
        assert list(lineage.line(node)) == ancestors(parents, node)
        assert lineage.depth(node) == len(ancestors(parents, node)) - 1
        for other in parents:
            assert lineage.is_ancestor(other, node) == (other in ancestors(parents, node))


def test_ids_that_are_not_known_descend_from_themselves_only() -> None:
    lineage = Lineage()
    lineage.add("a", None)

    assert lineage.is_ancestor("?", "?")
    assert not lineage.is_ancestor("a", "?")
    assert not lineage.is_ancestor("?", "a")


def test_a_question_about_a_long_line_takes_few_steps() -> None:
    lineage = Lineage()
    steps = 0

    class Counted(str):
        def __hash__(self) -> int:
            nonlocal steps
            steps += 1
            return super().__hash__()

    ids = [Counted(i) for i in range(10_000)]
    for i, node in enumerate(ids):
        lineage.add(node, ids[i - 1] if i else None)
    lineage.depth(ids[-1])
    steps = 0

    assert lineage.is_ancestor(ids[17], ids[-1])
    assert steps < 300


def test_a_ring_of_parents_is_broken_where_it_closes() -> None:
    for ring in (["a"], ["a", "b"], ["a", "b", "c"]):
        lineage = Lineage()
        for node, parent in zip(ring, [*ring[1:], ring[0]], strict=True):
            lineage.add(node, parent)

        lines = [list(lineage.line(node)) for node in ring]

        assert lines == [ring[n:] for n in range(len(ring))]
        assert lineage.depth(ring[0]) == len(ring) - 1


def test_late_parents_at_the_end_of_a_long_line_are_taken_in_quickly() -> None:
    lineage, n = Lineage(), 4000
    for i in range(n):
        lineage.add(f"below {i}", f"late {i}")
    for i in range(n):
        lineage.add(f"line {i}", f"line {i - 1}" if i else None)
    steps = 0

    class Counting(dict[str, str | None]):
        def __getitem__(self, key: str) -> str | None:
            nonlocal steps
            steps += 1
            return super().__getitem__(key)

    lineage._parents = Counting(lineage._parents)
    for i in range(n):
        lineage.add(f"late {i}", f"line {n - 1}")

    assert steps < 10 * n
