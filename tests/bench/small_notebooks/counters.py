"""Counters, and values whose address is given to another value when they are gone."""

from __future__ import annotations

from tests.bench.small_notebooks.notebook import Category

COUNTERS = Category("counters")
add = COUNTERS.unchanged

_START = {
    "int": ("0", "{n} += len(w)"),
    "float": ("0.5", "{n} += 1.5"),
    "complex": ("1j", "{n} *= 1.0001"),
    "str": ("''", "{n} = {n} + w"),
    "tuple": ("()", "{n} = (*{n}[-3:], w)"),
    "bytes": ("b''", "{n} = w.encode() + {n}[:5]"),
    "frozenset": ("frozenset()", "{n} = {n} | {{len({n})}}"),
    "decimal": ("__import__('decimal').Decimal(1)", "{n} += 1"),
    "fraction": ("__import__('fractions').Fraction(1, 3)", "{n} += 1"),
    "numpy-scalar": ("__import__('numpy').float64(0)", "{n} += 1"),
    "timestamp": ("__import__('pandas').Timestamp(0)", "{n} += __import__('pandas').Timedelta(1)"),
    "date": (
        "__import__('datetime').date(2020, 1, 1)",
        "{n} += __import__('datetime').timedelta(1)",
    ),
}
for _kind, (_start, _step) in _START.items():
    _loop = "for w in words:\n    " + _step.format(n="y")
    add(
        f"loop-{_kind}",
        f"words = ['abcdef'] * 300; y = {_start}\n---\n" + "\n---\n".join([_loop] * 3),
    )

_HOLDERS = {
    "attribute": ("class C: pass\nc = C(); c.n = 0.5", "c.n"),
    "item": ("c = {'n': 0.5}", "c['n']"),
    "list-item": ("c = [0.5]", "c[0]"),
    "slot": ("class C:\n    __slots__ = ('n',)\nc = C(); c.n = 0.5", "c.n"),
    "class-attribute": ("class C:\n    n = 0.5", "C.n"),
    "array-element": ("import numpy as np\nc = np.zeros(2)", "c[1]"),
    "frame-cell": ("import pandas as pd\nc = pd.DataFrame({'a': [0.5]})", "c.loc[0, 'a']"),
    "namespace": ("from types import SimpleNamespace\nc = SimpleNamespace(n=0.5)", "c.n"),
}
for _kind, (_start, _place) in _HOLDERS.items():
    _loop = f"for i in range(50):\n    {_place} += 1.25"
    add(f"holder-{_kind}", f"{_start}\n---\n{_loop}\n---\n{_loop}\n---\ny = float({_place})")
