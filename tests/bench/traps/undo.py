"""Plain undo: each kind of value, changed where it stands, bound anew or deleted."""

from __future__ import annotations

from tests.bench.traps.trap import SHARED, Trap

FRAME = "df = pd.DataFrame({'a': np.arange(5.), 'b': 1})"

TRAPS = [
    Trap(
        "df-column",
        [SHARED, FRAME],
        ["df['a'] = df['a'] * 10"],
        "df['a'].tolist() == [0, 1, 2, 3, 4]",
    ),
    Trap("df-cell", [SHARED, FRAME], ["df.iloc[0, 0] = 777"], "df.iloc[0, 0] == 0"),
    Trap(
        "df-drop",
        [SHARED, FRAME],
        ["df.drop(columns=['b'], inplace=True)"],
        "list(df.columns) == ['a', 'b']",
    ),
    Trap(
        "df-index-name-and-attrs",
        [SHARED, "df = pd.DataFrame({'a': [1]})"],
        ["df.index.name = 'k'; df.attrs['unit'] = 'm'"],
        "df.index.name is None and df.attrs == {}",
    ),
    Trap(
        "df-of-lists",
        [SHARED, "df = pd.DataFrame({'a': [[1], [2]]})"],
        ["df.at[0, 'a'].append(9)"],
        "df.at[0, 'a'] == [1]",
    ),
    Trap(
        "df-in-a-loop",
        [SHARED, "frames = {k: pd.DataFrame({'x': [1, 2]}) for k in 'ab'}"],
        ["for frame in frames.values():\n    frame['z'] = 0"],
        "all(list(f.columns) == ['x'] for f in frames.values()) and 'frame' not in globals()",
    ),
    Trap("np-element", [SHARED, "a = np.zeros(1000)"], ["a[500] = 1"], "a.sum() == 0"),
    Trap(
        "np-large-element",
        [SHARED, "a = np.zeros(2_000_000)"],
        ["a[1_999_999] = 1"],
        "a.sum() == 0",
    ),
    Trap(
        "np-shuffled-by-a-library",
        [SHARED, "a = np.arange(100)"],
        ["np.random.default_rng(1).shuffle(a)"],
        "a.tolist() == list(range(100))",
    ),
    Trap(
        "np-record-field",
        [SHARED, "r = np.zeros(3, dtype=[('x', 'f8'), ('y', 'i4')])"],
        ["r['x'][0] = 5"],
        "r['x'].sum() == 0",
    ),
    Trap("dict-order", ["d = {'a': 1, 'b': 2}"], ["d['a'] = d.pop('a')"], "list(d) == ['a', 'b']"),
    Trap("list-slice", ["xs = [1, 2, 3]"], ["xs[1:] = [9]; xs.reverse()"], "xs == [1, 2, 3]"),
    Trap("set-update", ["s = {1, 2}"], ["s |= {3}; s.discard(1)"], "s == {1, 2}"),
    Trap(
        "deque",
        ["from collections import deque\nd = deque([1, 2, 3], maxlen=3)"],
        ["d.appendleft(0)"],
        "list(d) == [1, 2, 3] and d.maxlen == 3",
    ),
    Trap(
        "counter",
        ["from collections import Counter\nc = Counter('aab')"],
        ["c.update('b'); del c['a']"],
        "c == Counter('aab') and type(c) is Counter",
    ),
    Trap(
        "defaultdict-read",
        ["from collections import defaultdict\nd = defaultdict(lambda: [])"],
        ["d['x']"],
        "dict(d) == {'y': [1]}",
        after=("d['y'].append(1)",),
    ),
    Trap(
        "ordereddict-moved",
        ["from collections import OrderedDict\no = OrderedDict(a=1, b=2)"],
        ["o.move_to_end('a')"],
        "list(o) == ['a', 'b']",
    ),
    Trap("bytearray", ["b = bytearray(b'abc')"], ["b[0] = 0; b.extend(b'd')"], "b == b'abc'"),
    Trap(
        "array-module",
        ["from array import array\narr = array('d', [1, 2])"],
        ["arr[0] = 9; arr.append(3)"],
        "arr.tolist() == [1, 2]",
    ),
    Trap("heap", ["import heapq\nheap = [1, 3, 2]"], ["heapq.heappop(heap)"], "heap == [1, 3, 2]"),
    Trap(
        "bytes-io",
        ["import io\nbuffer = io.BytesIO(b'abc'); _ = buffer.seek(1)"],
        ["buffer.read(); buffer.write(b'z')"],
        "buffer.read() == b'bc' and buffer.getvalue() == b'abc'",
    ),
    Trap(
        "nested-attributes",
        ["from types import SimpleNamespace as N\no = N(x=N(y=[1]))"],
        ["o.x.y.append(2); o.x.z = 3"],
        "o.x.y == [1] and not hasattr(o.x, 'z')",
    ),
    Trap(
        "slots",
        ["class P:\n    __slots__ = ('x',)\np = P(); p.x = [1]"],
        ["p.x += [2]"],
        "p.x == [1] and isinstance(p, P)",
    ),
    Trap(
        "dataclass",
        [
            "from dataclasses import dataclass, field\n@dataclass\nclass Config:\n"
            "    name: str = 'n'\n    layers: list = field(default_factory=list)",
            "cfg = Config(layers=[1, 2])",
        ],
        ["cfg.layers.append(3); cfg.name = 'm'"],
        "cfg == Config('n', [1, 2])",
    ),
    Trap(
        "deeply-nested",
        ["d = {'a': [{'b': ({1},)}]}"],
        ["d['a'][0]['b'][0].add(2)"],
        "d == {'a': [{'b': ({1},)}]}",
    ),
    Trap(
        "namedtuple",
        ["from collections import namedtuple\nP = namedtuple('P', 'x y')\np = P([1], 2)"],
        ["p.x.append(2)"],
        "p == P([1], 2) and isinstance(p, P)",
    ),
    Trap("deleted", ["x = 1"], ["del x; later = 2"], "x == 1 and 'later' not in globals()"),
    Trap(
        "deleted-and-bound-again",
        ["a = [1]; b = a"],
        ["del a; a = [1]", "b.append(2)"],
        "a is b and a == [1]",
    ),
    Trap("own-underscore", ["_hidden = [1]"], ["_hidden.append(2)"], "_hidden == [1]"),
    Trap(
        "star-import",
        ["from math import *"],
        ["pi = 3"],
        "abs(pi - 3.14159) < 1e-4 and sqrt(4) == 2",
    ),
    Trap("module-back", [SHARED], ["del np"], "np.zeros(2).sum() == 0"),
    Trap(
        "module-of-ones-own",
        ["import types\nmod = types.ModuleType('mod'); mod.x = [1]"],
        ["mod.x.append(2); mod.y = 1"],
        "mod.x == [1] and not hasattr(mod, 'y')",
    ),
]
