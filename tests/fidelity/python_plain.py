"""Plain data of Python: atoms, containers, and how they hang together."""

from __future__ import annotations

from tests.fidelity.cases import Case

TITLE = "Python: plain data"

_ATOMS = (
    Case("`None`, `True`, `...`, `NotImplemented`", "x = [None, True, False, ..., NotImplemented]"),
    Case("`int`", "x = [0, -1, 2**31, -2**63, 2**64, 10**5000]"),
    Case(
        "`float`",
        "import struct\n"
        "x = [0.0, -0.0, 1e-320, float('inf'), float('-inf'), float('nan'),\n"
        "     struct.unpack('<d', b'\\x23\\x01\\0\\0\\0\\0\\xf8\\x7f')[0]]",
        note="NaN with its payload",
    ),
    Case("`complex`", "x = [1 - 0j, complex(float('nan'), -0.0), complex(0.0, float('-inf'))]"),
    Case("`str`", "x = ['', 'naïve', '\\ud800 alone', 'a\\0b', '😀' * 9, 'é' * 100_000]"),
    Case("`bytes`", "x = [b'', bytes(range(256)), bytes(range(256)) * 2000]"),
    Case("`bytearray`", "x = [bytearray(), bytearray(b'abc'), bytearray(range(256)) * 2000]"),
    Case("a subclass of `bytearray`", "class B(bytearray): pass\nx = B(b'abc')\nx.note = 'mine'"),
    Case("`range`, `slice`", "x = [range(0, 10**30, 7), slice(1, None, -2), range(0)]"),
    Case(
        "subclasses of `int`, `float`, `str`, `bytes`",
        """
class I(int): pass
class F(float): pass
class S(str): __slots__ = ("lang",)
class B(bytes): pass
x = [I(5), F("-0.0"), S("hello"), B(b"raw")]
x[0].unit, x[2].lang, x[3].encoding = "mm", "en", ["utf-8"]
""",
    ),
    Case("`memoryview` of bytes", "x = memoryview(b'some bytes')"),
    Case("`memoryview` of a bytearray", "x = memoryview(bytearray(b'0123456789' * 5000))"),
    Case(
        "`memoryview`, part of a shared buffer",
        "buffer = bytearray(range(200))\nx = memoryview(buffer)[10:100:3]",
        check="""
same(x.tobytes(), y.tobytes())
same((x.strides, x.shape, x.format, x.readonly), (y.strides, y.shape, y.format, y.readonly))
assert x.obj is new["buffer"]
x[0] = 255
assert new["buffer"][10] == 255
x[0] = y[0]
""",
    ),
    Case(
        "`memoryview`, cast, read only",
        "x = memoryview(bytearray(96)).cast('d', (3, 4)).toreadonly()",
    ),
    Case(
        "`memoryview` of an `array`",
        "import array\na = array.array('i', range(5000))\nx = memoryview(a)[::-1]",
        check="same(x.tolist(), y.tolist())\nassert x.obj is new['a']\nsame(x.format, 'i')",
    ),
    Case(
        "`memoryview` of a NumPy array",
        "import numpy as np\na = np.arange(12000.).reshape(30, 400)\nx = memoryview(a)",
        check="""
same((x.tobytes(), x.shape, x.format), (y.tobytes(), y.shape, y.format))
x[0, 0] = -1.0
assert new["a"][0, 0] == -1.0
x[0, 0] = 0.0
""",
        needs="numpy",
    ),
    Case(
        "`memoryview`, released",
        "x = memoryview(b'gone')\nx.release()",
        check="""
try:
    len(x)
except ValueError as error:
    assert "released" in str(error)
else:
    raise AssertionError("it is not released")
""",
    ),
)

_CONTAINERS = (
    Case("`list`, `tuple`, `dict`", "x = [[1, (2.0, [])], {'b': 1, 'a': (), 3: None, (1, 2): {}}]"),
    Case("order of a `dict`", "x = {}\nfor k in 'zebra': x[k] = len(x)\ndel x['z']\nx['z'] = 1"),
    Case("`set`, `frozenset`", "x = [{'a', 'b', 'c', 'dd'}, frozenset({1, 2.5, 'x', (1, 2)}), set()]"),
    Case(
        "`set` of objects",
        """
class P:
    def __init__(self, n): self.n = n
    def __eq__(self, other): return self.n == other.n
    def __hash__(self): return hash(("P", self.n))
x = {P(n) for n in range(20)}
""",
        check="assert x == y and all(p in x for p in [new['P'](n) for n in range(20)])",
    ),
    Case("`collections.Counter`", "from collections import Counter\nx = Counter('mississippi')"),
    Case(
        "`collections.OrderedDict`",
        "from collections import OrderedDict\nx = OrderedDict(b=1, a=2, c=3)\nx.move_to_end('b')\n"
        "x.note = 'ordered'",
    ),
    Case(
        "`collections.defaultdict`",
        "from collections import defaultdict\nx = defaultdict(lambda: [0])\nx['a'].append(1)",
        check="same(x, y)\nassert x['new'] == [0]\nx.pop('new')",
    ),
    Case(
        "`defaultdict`, nested",
        "from collections import defaultdict\n"
        "def tree(): return defaultdict(tree)\nx = tree()\nx['a']['b']['c'] = 1",
    ),
    Case(
        "`collections.ChainMap`",
        "from collections import ChainMap\nbase = {'a': 1}\nx = ChainMap({'b': 2}, base)",
        check="same(x, y)\nassert x.maps[1] is new['base']",
    ),
    Case(
        "`collections.deque`",
        "from collections import deque\nx = deque(range(10), maxlen=4)\nx.append([x])",
    ),
    Case(
        "`UserDict`, `UserList`, `UserString`",
        "from collections import UserDict, UserList, UserString\n"
        "class U(UserDict): pass\nx = [U(a=1), UserList([1]), UserString('s')]",
    ),
    Case("`types.SimpleNamespace`", "from types import SimpleNamespace as N\nx = N(b=1, a=N(c=[]))"),
    Case(
        "`types.MappingProxyType`",
        "import types\nunder = {'a': [1]}\nx = types.MappingProxyType(under)",
        check="same(x, y)\nnew['under']['b'] = 2\nassert x['b'] == 2\ndel new['under']['b']",
    ),
    Case("`array.array`", "import array\nx = [array.array(c, [1, 2, 3]) for c in 'bBhHiIlLqQfd']"),
    Case(
        "`array.array`, large", "import array\nx = array.array('d', [float(n) for n in range(9000)])"
    ),
    Case(
        "subclasses of `list`, `dict`, `set`, `tuple`",
        """
class L(list):
    __slots__ = ("n",)
class D(dict):
    def __missing__(self, key): return key
class S(set): pass
class T(tuple): pass
x = [L([1]), D(a=1), S({1, 2}), T((3,))]
x[0].n, x[1].note, x[2].self, x[3].more = 1, "d", x, [4]
""",
        check="same(x, y)\nassert x[1]['nothing'] == 'nothing'",
    ),
    Case("`dict` views", "under = {'a': 1}\nx = [under.keys(), under.values(), under.items()]",
         check="same([list(v) for v in x], [list(v) for v in y])\nassert len({type(v) for v in x}) == 3"
               "\nnew['under']['b'] = 2\nassert 'b' in x[0]\ndel new['under']['b']"),
    Case("`queue.PriorityQueue`",
         "import queue\nx = queue.PriorityQueue(5)\nx.put((2, 'b'))\nx.put((1, 'a'))",
         check="same(x.queue, y.queue)\nsame(x.maxsize, 5)\nx.put((0, 'c'))\nassert x.get() == (0, 'c')",
         part_of="`queue.Queue`, `PriorityQueue`"),
    Case("`queue.Queue`",
         "import queue\nx = queue.Queue()\nx.put([1])\nx.get()\nx.put(2)",
         check="same(list(x.queue), list(y.queue))\nsame(x.unfinished_tasks, y.unfinished_tasks)",
         part_of="`queue.Queue`, `PriorityQueue`"),
)  # fmt: skip

_LEVELS = "import sys\nlevels = 10_000 if sys.version_info < (3, 12) else 1_000\n"
_DEPTH = "from Python 3.12 on its pickler goes a few thousand levels deep"

_STRUCTURE = (
    Case(
        "references shared inside a value",
        "r = [1]\nx = {'a': r, 'b': r, 'c': [r, [1]]}",
        check="same(x, y)\nassert x['a'] is x['b'] is x['c'][0] is new['r'] is not x['c'][1]",
    ),
    Case("a `list` that holds itself", "x = [1]\nx.append(x)\nx.append((x, {'x': x}))"),
    Case("a `dict` that holds itself", "x = {}\nx['x'] = x\nx['t'] = (x,)"),
    Case(
        "an object that holds itself",
        "class N:\n    def __init__(self): self.me, self.l = self, [self]\nx = N()",
    ),
    Case(
        "a graph of objects",
        """
class Node:
    def __init__(self, name): self.name, self.links = name, {}
nodes = [Node(n) for n in range(50)]
for i, node in enumerate(nodes):
    for step in (1, 7, 20): node.links[step] = nodes[(i + step) % 50]
x = nodes[3]
""",
        check="same(x, y)\nassert x is new['nodes'][3]",
    ),
    Case(
        "lists in each other, 10,000 deep", _LEVELS + "x = []\nfor _ in range(levels): x = [x]",
        check="""
for z in (x, y):
    depth = 0
    while z: z, depth = z[0], depth + 1
    assert depth == new['levels']
""",
        note=_DEPTH,
    ),
    Case(
        "a chain of 10,000 objects",
        _LEVELS
        + """
class Link:
    def __init__(self, before): self.before = before
x = None
for _ in range(levels): x = Link(x)
""",
        check="""
for z in (x, y):
    depth = 0
    while z: z, depth = z.before, depth + 1
    assert depth == new['levels']
""",
        note=_DEPTH,
    ),
    Case("sets of `str` in a second process", "x = [{str(n) for n in range(1000)}, {'a': {'b', 'c'}}]"),
    Case("1,000,000 numbers in a list", "x = list(range(1_000_000))", check="assert x == y"),
    Case("a long text", "x = 'line\\n' * 1_000_000"),
)  # fmt: skip

CASES = (*_ATOMS, *_CONTAINERS, *_STRUCTURE)
