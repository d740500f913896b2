"""Objects that several names hold: sharing kept, begun later, ended, and through views."""

from __future__ import annotations

from tests.bench.traps.trap import SHARED, Trap

VIEW = "a = np.arange(6.); v = a[:2]"

TRAPS = [
    Trap(
        "shared-list",
        ["a = [1]; b = {'a': a}"],
        ["a.append(2)"],
        "b['a'] is a and a == [1, 3]",
        after=("a.append(3)",),
    ),
    Trap(
        "shared-later",
        ["a = [1]", "b = [a, 5]", "z = 0"],
        ["b[0].append(2)"],
        "a == [1] and b[0] is a",
    ),
    Trap("sharing-ended", ["a = [1]; b = a"], ["b = [1]", "a.append(2)"], "a is b and a == [1]"),
    Trap(
        "sharing-ended-before",
        ["a = [1]; b = a", "b = list(a)"],
        ["a.append(2)"],
        "a == [1] and b == [1, 5]",
        after=("b.append(5)",),
    ),
    Trap(
        "sharing-begun-after",
        ["a = [1]; b = {'n': 0}"],
        ["b['a'] = a", "b['a'].append(2)"],
        "a == [1] and b == {'n': 0}",
    ),
    Trap(
        "shared-then-one-deleted",
        ["a = [1]; b = [a]", "del a"],
        ["b[0].append(2)"],
        "b == [[1]] and 'a' not in globals()",
    ),
    Trap(
        "one-of-many",
        ["rows = [{'i': i} for i in range(20_000)]", "one = rows[777]"],
        ["one['i'] = -1"],
        "rows[777] is one and one['i'] == 777",
    ),
    Trap("cycle", ["a = [1]; a.append(a)"], ["a[0] = 2"], "a[0] == 1 and a[1] is a"),
    Trap(
        "cycle-of-objects",
        ["class Node:\n    pass\nn = Node(); m = Node(); n.next = m; m.next = n"],
        ["n.next = None"],
        "n.next is m and m.next is n",
    ),
    Trap("np-view-value", [SHARED, VIEW], ["v[0] = 99"], "a[0] == 0 and v[0] == 0"),
    Trap(
        "np-view-link",
        [SHARED, VIEW],
        ["v[0] = 99"],
        "a[1] == 55 and a[0] == 0",
        after=("v[1] = 55",),
    ),
    Trap(
        "np-transpose-link",
        [SHARED, "a = np.zeros((2, 3)); t = a.T"],
        ["t[2, 1] = 5"],
        "t[2, 1] == 0 and a[0, 1] == 7",
        after=("t[1, 0] = 7",),
    ),
    Trap(
        "np-large-view",
        [SHARED, "a = np.zeros(2_000_000)", "v = a[10:20]", "z = 0"],
        ["v[3] = 1"],
        "a[13] == 0 and a[10] == 4",
        after=("v[0] = 4",),
    ),
    Trap(
        "memoryview-value",
        ["b = bytearray(4); m = memoryview(b)"],
        ["m[0] = 1"],
        "b[0] == 0 and m[0] == 0",
    ),
    Trap(
        "dict-view",
        ["d = {'a': 1}; k = d.keys()"],
        ["d['b'] = 2"],
        "list(k) == ['a', 'c']",
        after=("d['c'] = 3",),
    ),
    Trap(
        "bound-method",
        ["xs = [1]; add = xs.append"],
        ["add(2)"],
        "xs == [1, 5]",
        after=("add(5)",),
    ),
    Trap(
        "partial",
        ["import functools\nxs = [1]; add = functools.partial(list.append, xs)"],
        ["add(2)"],
        "xs == [1, 5]",
        after=("add(5)",),
    ),
    Trap(
        "frame-in-a-list",
        [SHARED, "df = pd.DataFrame({'a': [1]}); parts = [df, df]"],
        ["df['b'] = 1"],
        "parts[0] is df and parts[1] is df and list(df.columns) == ['a']",
    ),
    Trap(
        "model-optimizer",
        [SHARED, "w = np.ones(3); model = {'w': w}; opt = {'params': [w], 't': 0}"],
        ["w *= 2; opt['t'] = 1"],
        "opt['params'][0] is w and model['w'] is w and w.sum() == 3 and opt['t'] == 0",
    ),
    Trap(
        "generator-of-two-names",
        [SHARED, "rng = np.random.default_rng(0); state = {'rng': rng}"],
        ["rng.random()"],
        "state['rng'] is rng and x == np.random.default_rng(0).random()",
        after=("x = state['rng'].random()",),
    ),
    Trap(
        "sentinel",
        ["MISSING = object()", "d = {'x': MISSING}"],
        ["d['x'] = 1"],
        "d['x'] is MISSING",
    ),
    Trap(
        "weak-reference",
        ["import weakref\nclass N:\n    pass\nn = N(); r = weakref.ref(n)"],
        ["del n"],
        "r() is n",
    ),
    Trap(
        "iterator-of-a-list",
        ["xs = [1, 2]; it = iter(xs); _ = next(it)"],
        ["xs.append(3)"],
        "list(it) == [2, 7]",
        after=("xs.append(7)",),
    ),
]
