"""Large lists and dicts that are remembered by segments tell what they would tell without."""

from __future__ import annotations

import copy
import pickle
import random
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from nbckpt.codecs.encode import encode
from nbckpt.codecs.loading import Loading, decode
from nbckpt.codecs.pickler import Scope
from nbckpt.fingerprint.values import ValueDigester, remembering, segments
from nbckpt.fingerprint.values.remembering import REMEMBERS
from nbckpt.fingerprint.values.segment_contents import Segment
from nbckpt.runtime import addresses
from nbckpt.runtime.context import called_with

ATOMS = (
    1,
    True,
    1.0,
    0.0,
    -0.0,
    float("nan"),
    "s",
    "long " * 500,
    b"s",
    None,
    ...,
    1j,
    10**40,
    "\ud800",
)


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    remembering._memory.clear()
    yield
    remembering._memory.clear()


def bytes_of(value: Any) -> bytes:
    return b"".join(map(bytes, encode({"v": value}, Scope({})).parts))


def back(data: bytes) -> Any:
    return decode([memoryview(data)], Loading({}, str), trusted=True)["v"]


def digest_of(value: Any) -> str:
    return ValueDigester({}).digest(value)


def made_anew(value: Any) -> tuple[str, bytes]:
    """What a process that has seen nothing says of an equal value."""
    copy = pickle.loads(pickle.dumps(value))
    return tuple(called_with(REMEMBERS, False, f, copy) for f in (digest_of, bytes_of))


class Changes:
    """Changes a list or dict at random, at any depth."""

    def __init__(self, seed: int) -> None:
        self.numbers = random.Random(seed)

    def value(self, depth: int = 0) -> Any:
        kind = self.numbers.randrange(8) if depth < 3 else 0
        inside = [self.value(depth + 1) for _ in range(self.numbers.randrange(4) * (kind > 4))]
        if kind == 5:
            return inside
        if kind == 6:
            return tuple(inside)
        if kind == 7:
            return {f"k{n}": part for n, part in enumerate(inside)}
        return self.numbers.choice(ATOMS)

    def root(self) -> Any:
        n = self.numbers.choice([1023, 1024, 1025, 1536, 2100])
        values = [self.value() for _ in range(n)]
        return values if self.numbers.random() < 0.6 else dict(enumerate(values))

    def change(self, root: Any) -> None:
        holder = root
        while True:
            inside = list(holder.values()) if isinstance(holder, dict) else holder
            deeper = [one for one in inside if isinstance(one, list | dict)]
            if not deeper or self.numbers.random() < 0.4:
                break
            holder = self.numbers.choice(deeper)
        place = self.numbers.randrange(len(holder)) if holder else 0
        action = self.numbers.randrange(6)
        if isinstance(holder, dict):
            keys = list(holder)
            if action == 0 and holder:
                del holder[keys[place]]
            elif action == 1 and holder:  # the same value under another key
                holder[f"other {len(keys)}"] = holder.pop(keys[place])
            elif action == 2 and holder:  # moved to the end
                holder[keys[place]] = holder.pop(keys[place])
            else:
                holder[keys[place] if holder and action > 3 else f"new {place}"] = self.value()
        elif action == 0 and holder:
            del holder[place]
        elif action == 1:
            holder.insert(place, self.value())
        elif action == 2:
            holder.append(self.value())
        elif action == 3:
            holder.reverse()
        elif holder:
            holder[place] = self.value()


@pytest.mark.parametrize("seed", range(16))
def test_after_any_changes_the_answers_are_those_of_a_process_that_knows_nothing(seed: int) -> None:
    changes = Changes(seed)
    root = changes.root()
    for _ in range(8):
        known = digest_of(root), bytes_of(root)
        # Of texts and identities pickle writes more than values: digests are compared.
        digest, data = made_anew(root)
        assert known[0] == digest
        assert repr(back(known[1])) == repr(back(data)) == repr(root)
        assert called_with(REMEMBERS, False, bytes_of, root) == known[1]
        changes.change(root)


SOURCE = """
class P:
    def __init__(self, **given): self.__dict__.update(given)
class Q(P):
    common = []
    def f(self): return self
class Slots:
    __slots__ = ("a",)
class OwnState(P):
    def __getstate__(self): return {"a": 1}
"""


@pytest.fixture
def namespace() -> dict[str, Any]:
    found: dict[str, Any] = {"__name__": "__main__"}
    exec(SOURCE, found)
    return found


class Instances:
    """Lists and dicts of instances of the notebook's, and what is kept and said of them."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self.scope = Scope(namespace, {id(v): n for n, v in namespace.items() if type(v) is type})

    def encoded(self, value: Any) -> bytes:
        return b"".join(map(bytes, encode({"v": value}, self.scope).parts))

    def told(self, value: Any) -> tuple[str, str, bytes]:
        data = self.encoded(value)
        loading = Loading(dict(self.namespace), self.namespace.__getitem__)
        restored = decode([memoryview(data)], loading, trusted=True)["v"]
        return ValueDigester(self.namespace).digest(value), self.text_of(restored), data

    def text_of(self, value: Any) -> str:
        if isinstance(value, list | tuple):
            return f"{type(value).__name__}[{', '.join(map(self.text_of, value))}]"
        if isinstance(value, dict):
            return f"{[*value]}: {self.text_of([*value.values()])}"
        name = type(value).__name__
        return f"{name} {self.text_of(vars(value))}" if name in ("P", "Q") else repr(value)


@pytest.mark.parametrize("seed", range(9))
def test_instances_are_what_a_process_that_knows_nothing_says(
    seed: int, namespace: dict[str, Any]
) -> None:
    changes, of = Changes(seed), Instances(namespace)
    numbers, kind = changes.numbers, namespace["PQ"[seed % 2]]

    def instance() -> Any:
        return kind(**{f"a{n}": changes.value(2) for n in range(numbers.randrange(3))})

    values = [instance() for _ in range(numbers.choice([1024, 1500, 1536]))]
    root: Any = values if seed % 3 else dict(enumerate(values))
    one_at_random = values.__getitem__
    for _ in range(6):
        known = of.told(root)
        anew = called_with(REMEMBERS, False, of.told, copy.deepcopy(root))
        assert known[:2] == anew[:2]
        assert known[1] == of.text_of(root)
        assert called_with(REMEMBERS, False, of.encoded, root) == known[2]
        one = one_at_random(numbers.randrange(1024))
        match numbers.randrange(9):
            case 0:
                one.__dict__ = {"b": changes.value(1)}
            case 1:
                one.__class__ = namespace["PQ"[numbers.randrange(2)]]
            case 2:
                one.a0 = changes.value(1)
            case 3:
                vars(one).clear()
            case 4:
                one.__dict__["no name"] = changes.value(2)
            case 5 if isinstance(root, list):
                root.append(instance())
            case 6 if isinstance(root, list):
                root[7] = root[numbers.randrange(1024)]
            case 7:
                one.of_another = one_at_random(numbers.randrange(1024))
            case _:
                kind.added = numbers.random()


def test_instances_are_written_by_segments_as_long_as_they_are_alike(
    namespace: dict[str, Any],
) -> None:
    of, kind = Instances(namespace), namespace["Q"]
    root = [kind(n=n, text=str(n), tags=[n]) for n in range(3000)]
    assert b"segmented_list_of_instances" in of.encoded(root)
    before = remembered(root).segments
    root[700].tags.append(1)
    after = remembered(root).segments
    assert [one is other for one, other in zip(before, after, strict=True)] == [
        True, False, True, True, True, True,
    ]  # fmt: skip

    others: list[Any] = [
        namespace["P"](), namespace["Slots"](), 5, root[0], kind(i=kind()), kind(t=root[8].tags),
    ]  # fmt: skip
    for other in others:
        assert b"segmented" not in of.encoded([*root, other])
    assert b"segmented" not in of.encoded([namespace["OwnState"]() for _ in range(2000)])
    kind.__getstate__ = lambda self: {}
    assert b"segmented" not in of.encoded(root)


def test_an_attribute_dict_that_is_a_variable_too_ties_the_two(namespace: dict[str, Any]) -> None:
    kind = namespace["P"]
    root = [kind(n=n) for n in range(2000)]
    scope = Instances(namespace).scope
    of_list, of_dict = (encode({"v": v}, scope).shares for v in (root, vars(root[5])))

    assert {*of_list} & {*of_dict} == {id(vars(root[5]))}
    assert {id(root), *map(id, root)} <= {*of_list}


def remembered(root: Any) -> segments.Segments:
    assert segments.segments_of(root, is_variable=True) is not None
    return remembering._memory[id(root)]


def test_what_did_not_change_is_not_encoded_again() -> None:
    root = [{"role": "user", "n": [n, str(n)]} for n in range(3000)]
    before = remembered(root).segments
    root.append({"role": "user", "n": []})
    root[700]["n"].append("more")

    after = remembered(root).segments

    assert [one is other for one, other in zip(before, after, strict=True)] == [
        True, False, True, True, True, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        lambda root: root[1].append(root[0]),
        lambda root: root[1].append(root),
        lambda root: root.append(root[1500]),
        lambda root: root[-1].append(lambda: 0),
        lambda root: root[-1].append({1, 2}),
        lambda root: root.append(type("Text", (str,), {})("x")),
    ],
    ids=["another's list", "itself", "an element twice", "a function", "a set", "a subclass"],
)
def test_what_is_no_tree_of_plain_data_any_more_takes_the_usual_way(change: Any) -> None:
    root: list[Any] = [[n] for n in range(3000)]
    before = bytes_of(root)
    change(root)

    assert segments.segments_of(root, is_variable=True) is None
    assert b"segmented_list" in before
    if type(root[-1]) is not list or type(root[-1][-1]) is int:
        assert b"segmented_list" not in bytes_of(root)


def test_the_boundary_between_containers_counts() -> None:
    rows = [[1, 2], [3], *([n] for n in range(2000))]
    digest_of(rows)
    rows[1].insert(0, rows[0].pop())

    assert digest_of(rows) == made_anew(rows)[0] != digest_of([[1, 2], [3], *rows[2:]])


def test_a_list_and_a_dict_at_one_address_are_told_apart() -> None:
    keys = list(range(2000))
    of_list = remembered(keys)
    mapping = dict.fromkeys(keys)
    remembering._memory[id(mapping)] = (
        of_list  # as if the list had gone, and the dict taken its place
    )

    assert digest_of(mapping) == made_anew(mapping)[0]


def test_a_long_text_is_a_part_of_its_own() -> None:
    root = ["x" * 400_000, *map(str, range(2000))]

    assert len(encode({"v": root}, Scope({})).parts) == 2
    root[0] = "short"
    assert len(encode({"v": root}, Scope({})).parts) == 1


def test_what_has_gone_is_not_held() -> None:
    root: list[Any] = [{"n": n} for n in range(2000)]
    counts = [sys.getrefcount(root[5])]
    remembered(root)
    for live in ([root], []):
        remembering.forget_all_but(live)
        counts.append(sys.getrefcount(root[5]))

    assert counts[1] > counts[0] == counts[2]


def test_no_more_is_remembered_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembering, "MOST_ROOTS", 2)
    roots = [[*range(n, n + 2000)] for n in range(3)]
    for root in roots:
        remembered(root)
    assert [id(root) in remembering._memory for root in roots] == [False, True, True]

    monkeypatch.setattr(segments, "MOST_BYTES", 1000)
    found = remembered(roots[2])
    assert len(found.pickled()) == 4
    assert all(segment._data is None for segment in found.segments)

    monkeypatch.setattr(remembering, "MOST_OBJECTS", 1999)
    segments.segments_of([*range(2000)], is_variable=True)
    assert not remembering._memory


def test_two_threads_at_one_list_find_the_same() -> None:
    root = [{"n": [n]} for n in range(4000)]
    found: list[str] = []

    def look() -> None:
        found.extend(digest_of(root) for _ in range(20))

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {made_anew(root)[0]}
    assert len(found) == 80


def test_addresses_are_compared_as_objects_are(monkeypatch: pytest.MonkeyPatch) -> None:
    objects = tuple(object() for _ in range(50))
    others = (*objects[:49], object())
    assert addresses._memcmp is not None

    def answers() -> list[bool]:
        return [
            addresses.are_at(objects, others, 0),
            addresses.are_at(objects[:49], others, 0),
            addresses.are_at(objects[3:9], others, 3),
            addresses.are_at(objects[3:9], others, 4),
            addresses.are_at(objects, objects, 1),
            addresses.are_at((), objects, 50),
        ]

    quick = answers()
    monkeypatch.setattr(addresses, "_memcmp", None)
    assert quick == answers() == [False, True, True, False, False, True]


def test_an_object_is_found_among_packed_addresses() -> None:
    objects = tuple(object() for _ in range(50))
    packed = addresses.packed_ids_of(objects).tobytes()

    assert all(addresses.is_among(packed, one) for one in objects)
    assert not addresses.is_among(packed, object())
    assert not addresses.is_among(packed[4:-4], object())
    assert not addresses.is_among(packed[4:], objects[1])  # it stands there, but between two others


def test_what_is_appended_may_be_there_already() -> None:
    root: list[Any] = [[n] for n in range(3000)]
    assert segments.segments_of(root, is_variable=True) is not None
    root.append([[1]])
    found = segments.segments_of(root, is_variable=True)
    assert found is not None
    root.append(root[700])

    assert segments.segments_of(root, is_variable=True) is None
    root.pop()
    root[-1][0] = root[3]
    assert segments.segments_of(root, is_variable=True) is None
    root[-1][0] = [4]
    found = segments.segments_of(root, is_variable=True)
    assert found is not None
    assert found.is_whole


@pytest.mark.parametrize("is_held", [True, False], ids=["one of them", "another one"])
def test_a_class_with_containers_of_its_own_is_told_by_what_they_hold(
    namespace: dict[str, Any], is_held: bool
) -> None:
    kind = namespace["P"]
    root = [kind(n=n, many=[n]) for n in range(2000)]
    kind.known = {"a": [root[5] if is_held else copy.deepcopy(root[5])], "b": [1]}

    answers = (ValueDigester(namespace).digest(root), ValueDigester(namespace).digest([*root]))

    kind.known["a"][0] = copy.deepcopy(root[5]) if is_held else root[5]
    assert answers[0] == answers[1] != ValueDigester(namespace).digest(root)


def test_what_is_said_is_said_of_what_was_found() -> None:
    root = [{"state": "idle", "n": [n, (n,)]} for n in range(2000)]
    known = digest_of(root), bytes_of(root)
    remembering._memory.clear()
    found = segments.segments_of(root, is_variable=True)
    assert found is not None

    idle, root[3]["state"] = root[3]["state"], "busy"  # as a thread does
    digest, data = found.digest(), found.pickled()
    root[3]["state"] = idle

    assert (digest_of(root), bytes_of(root)) == known
    assert digest == segments.segments_of(copy.deepcopy(root), is_variable=False).digest()  # type: ignore[union-attr]
    assert data is not None
    assert [one for piece in data for one in pickle.loads(piece)] == root


def test_a_class_that_holds_an_instance_is_told_from_one_that_holds_its_copy(
    namespace: dict[str, Any],
) -> None:
    kind = namespace["P"]
    root = [kind(n=n) for n in range(2000)]
    kind.best = root[5]
    held = ValueDigester(namespace).digest(root)
    kind.best = copy.copy(root[5])

    assert ValueDigester(namespace).digest(root) != held


def test_an_instance_goes_when_it_leaves_its_list(namespace: dict[str, Any]) -> None:
    root = [namespace["P"](n=n) for n in range(2000)]
    remembered(root)
    seen = weakref.ref(root[7])

    root[7] = root.pop()

    assert seen() is None


@pytest.mark.parametrize("kind", [list, dict])
def test_texts_that_many_elements_share_come_back_as_shared(kind: type) -> None:
    texts = [f"text {n}" * 5 for n in range(1000)]
    values = [{"role": "user", "text": texts[n * 7919 % 1000]} for n in range(20_000)]
    root = values if kind is list else dict(enumerate(values))
    restored = back(bytes_of(root))
    restored = restored if kind is list else [*restored.values()]

    assert len({id(one["text"]) for one in restored}) == 1000
    assert bytes_of(root) == called_with(REMEMBERS, False, bytes_of, root)
    roles = [{"role": ("user", "assistant")[n % 2], "text": f"text {n}" * 5} for n in range(20_000)]
    assert b"segmented_list" in bytes_of(roles)


def test_a_tuple_that_is_a_variable_is_written_as_a_pickle_does() -> None:
    pair = (1, 2)
    root = [pair] * 1500
    scope = Scope({}, tuples=frozenset({id(pair)}))

    assert encode({"v": root}, scope).shares >= {id(pair)}
    assert b"segmented" not in bytes(encode({"v": root}, scope).parts[0])


def test_no_more_is_pickled_than_a_variable_may_have() -> None:
    root = [[n, "x" * 100] for n in range(50_000)]
    found = segments.segments_of(root, is_variable=True)
    assert found is not None

    assert found.pickled(100_000) is None
    assert not any(segment._data for segment in found.segments)


@pytest.mark.parametrize(
    "spoil", [lambda root: root.append(root[1]), lambda root: root[-1].append({1})]
)
def test_what_is_almost_by_segments_is_not_looked_at_from_the_beginning_each_time(
    spoil: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    root: list[Any] = [[n] for n in range(20_000)]
    spoil(root)
    bytes_of(root)
    made = []
    monkeypatch.setattr(segments, "Segment", lambda *given: made.append(1) or Segment(*given))

    assert segments.segments_of(root, is_variable=False) is None
    assert len(made) <= 1
