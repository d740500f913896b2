"""Functions, closures and classes of the notebook: their globals, their state, their edits."""

from __future__ import annotations

from tests.bench.traps.trap import Trap

CLASS = "class K:\n    n = 0\n    items = []\n    def v(self):\n        return 1"
COUNTER = (
    "def mk():\n    n = 0\n    def inc():\n        nonlocal n\n        n += 1\n"
    "        return n\n    return inc"
)

TRAPS = [
    Trap("class-identity", ["class K:\n    pass", "k = K()"], ["del k"], "isinstance(k, K)"),
    Trap(
        "class-defined-again",
        [CLASS, "k = K()"],
        ["class K:\n    def v(self):\n        return 2", "k = K()"],
        "type(k) is K and k.v() == 1 and K().v() == 1",
    ),
    Trap(
        "class-patched",
        [CLASS, "k = K()"],
        ["K.v = lambda self: 2; K.w = 3"],
        "k.v() == 1 and not hasattr(K, 'w')",
    ),
    Trap(
        "class-counter",
        ["class C:\n    n = 0\n    def hit(self):\n        type(self).n += 1", "c = C()"],
        ["c.hit()"],
        "C.n == 0 and c.n == 0",
    ),
    Trap(
        "class-list-through-an-instance",
        [CLASS, "k = K()"],
        ["k.items.append(1)"],
        "K.items == [] and k.items is K.items",
    ),
    Trap(
        "enum",
        ["from enum import Enum\nclass Color(Enum):\n    RED = 1", "c = Color.RED"],
        ["del c"],
        "c is Color.RED",
    ),
    Trap(
        "function-globals",
        ["xx = 1", "def f():\n    return xx"],
        ["del f"],
        "f() == 100",
        after=("xx = 100",),
    ),
    Trap(
        "function-calls",
        ["def g():\n    return 7", "def f():\n    return g()"],
        ["del f"],
        "f() == 7",
    ),
    Trap(
        "function-edited",
        ["def f():\n    return 1", "table = {'f': f}"],
        ["def f():\n    return 2", "table['f'] = f"],
        "f() == 1 and table['f'] is f",
    ),
    Trap(
        "function-default",
        ["def f(x, seen=[]):\n    seen.append(x)\n    return seen\n_ = f(1)"],
        ["f(2)"],
        "f(3) == [1, 3]",
    ),
    Trap(
        "function-attribute",
        ["def f():\n    f.calls += 1\nf.calls = 0"],
        ["f()"],
        "f.calls == 0",
    ),
    Trap(
        "function-writes-a-global",
        ["n = 0\ndef bump():\n    global n\n    n += 1"],
        ["bump()"],
        "n == 0",
    ),
    Trap(
        "function-in-a-dict",
        [
            "log = []\ndef g():\n    log.append(1)\ndef f():\n    g()",
            "table = {'x': [f]}",
        ],
        ["table['x'][0]()"],
        "log == []",
    ),
    Trap(
        "function-by-argument",
        ["def tidy(x):\n    x.sort()", "data = {'xs': [3, 1]}"],
        ["tidy(data['xs'])"],
        "data == {'xs': [3, 1]}",
    ),
    Trap("closure", [COUNTER, "c = mk(); _ = c()"], ["c()"], "c() == 2"),
    Trap(
        "closures-of-one-cell",
        [
            "def pair():\n    n = 0\n    def inc():\n        nonlocal n\n        n += 1\n"
            "    def get():\n        return n\n    return inc, get",
            "inc, get = pair(); inc()",
        ],
        ["inc()"],
        "get() == 2",
        after=("inc()",),
    ),
    Trap(
        "closure-over-a-variable",
        ["def mk(xs):\n    return lambda: xs", "xs = [1]; get = mk(xs)"],
        ["xs.append(2)"],
        "get() is xs and xs == [1]",
    ),
    Trap(
        "memo-of-a-decorator",
        [
            "def memo(f):\n    kept = {}\n    def call(x):\n        if x not in kept:\n"
            "            kept[x] = f(x)\n        return kept[x]\n    call.kept = kept\n"
            "    return call",
            "@memo\ndef square(x):\n    return x * x\n_ = square(2)",
        ],
        ["square(3)"],
        "square.kept == {2: 4} and square(4) == 16 and square.kept == {2: 4, 4: 16}",
    ),
    Trap(
        "side-effect",
        ["def helper():\n    return 1\n_ = open('ran.txt', 'a').write('x')"],
        ["del helper"],
        "helper() == 1 and open('ran.txt').read() == 'x'",
    ),
]
