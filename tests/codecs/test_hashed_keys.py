"""Keys that hash by what they hold, and lead to the containers that hold them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.notebooks import refusals, resumed, run

NODE = """
class Node:
    def __init__(self, name): self.name, self.near, self.cost = name, set(), {}
    def __hash__(self): return hash(self.name)
    def __eq__(self, other): return self.name == other.name
a, b, c = map(Node, "abc")
a.near |= {b, c}; b.near |= {a}; a.cost[b] = 1; b.cost[a] = 2; a.cost[(b, 1)] = 3
"""
FROZEN = """
from dataclasses import dataclass, field
@dataclass(frozen=True)
class F:
    k: str = ""
    links: dict = field(default_factory=dict, compare=False)
a, b = F("a"), F("b"); a.links[a] = 1; a.links[b] = 2; b.links[a] = 3
"""
TREE = """
from collections import Counter, OrderedDict, defaultdict
class N:
    name, parent = "", None
    def __init__(self, name, parent=None): self.name, self.parent, self.kids = name, parent, {}
    def __hash__(self): return hash((self.name, self.parent))
    def __eq__(self, other): return (self.name, self.parent) == (other.name, other.parent)
a = N("a"); b = N("b", a); a.kids[b] = 1; c = N("c", b); b.kids[c] = 2; c.kids[a] = 3
a.order = OrderedDict([(a, 1), (b, 2), (c, 3)]); a.order.move_to_end(a)
a.count = Counter([a, b, a]); a.many = defaultdict(list, {b: [a]})
"""
SLOTS = """
class S:
    __slots__ = ("n", "own")
    def __init__(self, n): self.n = n; self.own = {self}
    def __hash__(self): return hash(self.n)
    def __eq__(self, other): return self.n == other.n
a = S(4)
"""
STATES = """
class K:
    def __init__(self, pos): self.pos, self.own = pos, {}
    def __hash__(self): return hash(tuple(self.pos))
    def __eq__(self, other): return self.pos == other.pos
    def __getstate__(self): return [self.own, self.pos]
    def __setstate__(self, state): self.own, self.pos = state
a, b = K([1]), K([2]); a.own[b] = 1; b.own[a] = a.own[a] = 2
"""

CLASS = """
class K:
    every, by = set(), {}
    def __init__(self, n): self.n = n; K.every.add(self); K.by[self] = n
    def __hash__(self): return hash(self.n)
    def __eq__(self, other): return self.n == other.n
a, b = K("a"), K("b")
"""

HELD = (
    """
from collections import namedtuple
from typing import NamedTuple
from dataclasses import dataclass
P = namedtuple("P", "node n")
class E(NamedTuple):
    node: object
    n: int
class Tup(tuple): pass
@dataclass(frozen=True)
class D:
    node: object
"""
    + NODE
    + """
at = a.cost; at[P(a, 1)] = 1; at[E(b, 2)] = 2; at[Tup((a, b))] = 3; at[D(b)] = 4
at[(P(a, 2), 3)] = 5; at[frozenset([a, b])] = 6; at[frozenset([P(a, 1)]), 1] = 7
b.near.add(P(a, 9)); t = Tup([b]); t.note = [t]; a.near.add(t)
"""
)
WEAK = (
    NODE
    + """
import weakref
a.weak, a.by = weakref.WeakSet([a, b]), weakref.WeakKeyDictionary({a: 1, b: a})
a.back = weakref.WeakValueDictionary({b: a}); b.weak = a.weak; Node.all = weakref.WeakSet([a, b, c])
"""
)
NAMED = """
def part(n): return n % 2
class Q:
    every, by = set(), {}
    def __init__(self, n): self.n = n; Q.every.add(self); Q.by[self] = n
    def __hash__(self): return hash((Q, part(self.n)))
    def __eq__(self, other): return isinstance(other, Q) and self.n == other.n
a, b, c = map(Q, range(3)); there = {a, b}; deep = {(a, 1): {b: 2}}
"""

CASES = {
    "keys that hold one": (
        HELD,
        "[at[P(a, 1)], at[E(b, 2)], at[Tup((a, b))], at[D(b)], at[P(a, 2), 3], at[frozenset([b, a])],"
        " at[frozenset([P(a, 1)]), 1], P(a, 9) in b.near, Tup([b]) in a.near, t in a.near,"
        " next(k for k in a.near if type(k) is Tup).note[0] == t]",
    ),
    "weak containers": (
        WEAK,
        "[a in a.weak, b in a.weak, b.weak is a.weak, a.by[a], a.by[b] is a, a.back[b] is a,"
        " c in Node.all, len(Node.all), len(a.weak), len(a.by)]",
    ),
    "a class that its own hash names": (
        NAMED,
        "[a in there, b in there, deep[a, 1][b], c in Q.every, Q.by[c], len(Q.every), len(there)]",
    ),
    "what a class holds": (CLASS, "[a in K.every, K.by[b], len(K.every), len(K.by)]"),
    "a graph": (
        NODE,
        "[b in a.near, a in b.near, len(a.near), a.cost[b], b.cost[a], a.cost[b, 1], [*b.near][0] is a]",
    ),
    "a class whose attributes have defaults": (
        FROZEN,
        "[a.links[a], a.links[b], b.links[a], [*a.links.values()]]",
    ),
    "keys that are equal while they are empty": (
        TREE,
        "[a.kids[b], b.kids[c], c.kids[a], [*a.order.values()], a.order[a], a.count[a], a.many[b] == [a]]",
    ),
    "slots": (SLOTS, "[a in a.own, len(a.own)]"),
    "a state of its own": (STATES, "[a.own[b], b.own[a], a.own[a]]"),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", CASES)
def test_keys_are_found_in_the_end(auto: Any, what: str) -> None:
    source, found = CASES[what]
    run(auto, source)
    before = eval(found, auto.user_ns)

    assert refusals() == {}
    back = resumed(auto)
    assert eval(found, back) == before
    kind = type(back["a"])
    assert hash(back["a"]) == kind.__hash__(back["a"]) != object.__hash__(back["a"])


@pytest.mark.slow
def test_links_that_come_later_come_back(auto: Any) -> None:
    run(auto, NODE.replace("a.near |=", "if 0: a.near |="))
    run(auto, "a.near.add(b); b.near.add(a)")

    assert refusals() == {}
    back = resumed(auto)
    assert back["a"] in back["b"].near


@pytest.mark.slow
def test_a_rewind_leaves_the_live_class_as_it_was(auto: Any, shell: Any) -> None:
    run(auto, "%%checkpoint one\n" + NODE)
    own = dict(vars(auto.user_ns["Node"]))
    run(auto, "a.near.clear(); a.cost.clear()")
    run(auto, "%rewind one")

    assert {n: vars(auto.user_ns["Node"])[n] for n in own} == own
    assert auto.user_ns["b"] in auto.user_ns["a"].near


FROZENSETS = """
import collections
class Slots:
    __slots__ = ("held",)
def holding(held): return lambda: held
a.own = frozenset([a, b]); b.own = a.own; fs = a.own; a.many = [a.own, collections.deque([a.own])]
b.by = {"k": a.own, a.own: 1, (a.own, 1): 2}; a.slots = Slots(); a.slots.held = a.own
a.get = holding(a.own); a.deep = frozenset([frozenset([a]), (b, frozenset([b]))]); Node.all = a.own
named = frozenset([c]); c.me = {c: named}
"""


@pytest.mark.slow
def test_frozensets_of_what_leads_to_them_come_back(auto: Any) -> None:
    run(auto, NODE + FROZENSETS)

    assert refusals() == {}
    back = resumed(auto)
    a, b, c, fs = (back[name] for name in ("a", "b", "c", "fs"))
    assert a in fs
    assert b in fs
    held = [a.own, b.own, a.many[0], a.many[1][0], b.by["k"], a.slots.held, a.get(), type(a).all]
    assert all(one is fs for one in held)
    assert [b.by[fs], b.by[frozenset([a, b])], b.by[fs, 1]] == [1, 1, 2]
    assert {*a.deep} == {frozenset([a]), (b, frozenset([b]))}
    assert c in back["named"]
    assert c.me[c] is back["named"]


@pytest.mark.slow
def test_a_frozenset_in_a_tuple_that_it_leads_to_is_refused_each_time(auto: Any) -> None:
    run(auto, NODE)
    run(auto, "a.frozen = (frozenset([a, b]),)")

    assert "a frozenset of it" in refusals()["a"]


@pytest.mark.slow
def test_a_frozenset_whose_elements_name_what_comes_back_does(auto: Any) -> None:
    run(
        auto,
        """
        import math
        def norm(n): return n % 100
        class P:
            def __init__(self, n): self.n = n
            def __hash__(self): return hash((P, norm(math.floor(self.n))))
            def __eq__(self, other): return isinstance(other, P) and self.n == other.n
        """,
    )
    run(auto, "f = frozenset([P(1), P(2)]); l = [frozenset([P(1)])]; d = {frozenset([P(1)]): 1}")

    assert refusals() == {}
    back = resumed(auto)
    P = back["P"]
    assert P(1) in back["f"]
    assert P(1) in back["l"][0]
    assert back["d"][frozenset([P(1)])] == 1
    assert {n for n in back if n in ("f", "l", "d", "P", "norm", "math")} == {
        *"fldP",
        "norm",
        "math",
    }


@pytest.mark.slow
def test_what_only_functions_hold_is_filled_too(auto: Any) -> None:
    run(
        auto,
        """
        class K:
            def __init__(self, n): self.n = n
            def __hash__(self): return hash((K, self.n))
            def __eq__(self, other): return isinstance(other, K) and self.n == other.n
        def counter():
            seen = {}
            def add(k): seen[k] = seen.get(k, 0) + 1; return seen[k]
            return add
        add = counter(); add(K(1)); add(K(1))
        def default(k, table={K(1): 5}): return table.get(k)
        a = K(2); a.get = {a: 1}.get; a.back = lambda k, own={a: 2}: own[k]
        """,
    )

    assert refusals() == {}
    back = resumed(auto)
    K = back["K"]
    assert back["add"](K(1)) == 3
    assert back["default"](K(1)) == 5
    assert (back["a"].get(K(2)), back["a"].back(K(2))) == (1, 2)


@pytest.mark.slow
def test_another_thread_sees_live_classes_hash_as_ever_while_values_are_loaded(auto: Any) -> None:
    run(auto, "%%checkpoint one\n" + NODE + "many = {Node(str(n)): n for n in range(2_000)}")
    run(auto, "many = 0")
    run(
        auto,
        """
        import threading
        live, missed, stop = {Node(str(n)): n for n in range(50)}, [], threading.Event()
        def look(live=live, missed=missed, stop=stop, Node=Node):
            while not stop.is_set():
                for n in range(50):
                    if Node(str(n)) not in live: missed.append(n)
        thread = threading.Thread(target=look); thread.start()
        """,
    )
    missed, stop, thread = (auto.user_ns[name] for name in ("missed", "stop", "thread"))
    for _ in range(3):
        run(auto, "%rewind one")
        run(auto, "many = 0")
    stop.set()
    thread.join()

    assert missed == []


@pytest.mark.slow
def test_a_reference_that_is_a_key_of_what_it_leads_to_is_refused(auto: Any) -> None:
    run(auto, NODE + "import weakref\na.refs = {weakref.ref(a): 1}")

    assert "ReferenceType" in refusals()["a"]


@pytest.mark.slow
def test_a_rewind_hashes_by_the_class_and_the_function_of_then(auto: Any) -> None:
    run(auto, "%%checkpoint one\n" + NAMED)
    run(auto, NAMED.replace("n % 2", "n % 3").replace("self.n = n", "self.n = n + 3"))
    run(auto, "%rewind one")

    names = auto.user_ns
    assert names["a"] in names["there"]
    assert names["Q"].by[names["c"]] == 2
    assert names["deep"][names["a"], 1] == {names["b"]: 2}


def test_a_hash_that_raises_in_the_end_costs_its_own_values(auto: Any) -> None:
    run(
        auto,
        NODE.replace("hash(self.name)", "hash(self.name) + 0 * limit[0]").replace(
            "a, b", "limit = [1]; a, b"
        ),
    )
    run(auto, "other = [1]")
    run(auto, "limit.clear()")
    back = resumed(auto)

    assert back["other"] == [1]
    assert "a" not in back


@pytest.mark.slow
def test_code_of_a_value_runs_few_times_however_many_names_it_asks_for(auto: Any) -> None:
    run(
        auto,
        """
        made, one, two, three = [], [1], [2], [3]
        class D:
            def __init__(self, n): made.append(n); self.n = [n, *one, *two, *three]
            def __reduce__(self): return D, (self.n[0],)
        """,
    )
    run(auto, "a = D(5)")

    assert refusals() == {}
    back = resumed(auto)
    assert back["a"].n == [5, 1, 2, 3]
    assert back["made"] == [5, 5]


@pytest.mark.slow
def test_what_needs_a_class_that_is_refused_says_so(auto: Any) -> None:
    run(
        auto,
        """
        class Sym:
            table = {}
            def __new__(cls, name): return cls.table.setdefault(name, object.__new__(cls))
            def __init__(self, name): self.name = name
            def __reduce__(self): return type(self), (self.name,)
        s = Sym("s"); held = [s]
        """,
    )

    assert "KeyError" not in str(refusals())
