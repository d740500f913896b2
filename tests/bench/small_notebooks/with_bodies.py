"""Bodies of `with` statements that may stop half-way, and what is conditional below them."""

from __future__ import annotations

from tests.bench.small_notebooks.notebook import Category, SmallNotebook

WITH_BODIES = Category("with bodies")

MANAGERS = {
    "own-swallowing": ("class M:\n    def __enter__(s): return s\n    def __exit__(s, *e): return True", "M()"),
    "own-by-kind": ("class M:\n    def __enter__(s): return s\n    def __exit__(s, kind, *e): return kind is not None", "M()"),
    "suppress": ("from contextlib import suppress", "suppress(ValueError)"),
    "suppress-alias": ("import contextlib\nquiet = contextlib.suppress", "quiet(Exception)"),
    "suppress-kept": ("import contextlib\nquiet = contextlib.suppress(Exception)", "quiet"),
    "generator-manager": ("from contextlib import contextmanager\n@contextmanager\ndef quiet():\n    try:\n        yield\n    except ValueError:\n        pass", "quiet()"),
    "exit-stack": ("from contextlib import ExitStack, suppress\ndef quiet():\n    s = ExitStack(); s.enter_context(suppress(ValueError)); return s", "quiet()"),
    "exit-stack-push": ("from contextlib import ExitStack\ndef quiet():\n    s = ExitStack(); s.push(lambda *e: True); return s", "quiet()"),
    "assert-raises": ("import unittest\ntc = unittest.TestCase()", "tc.assertRaises(ValueError)"),
    "pytest-raises": ("import pytest", "pytest.raises(ValueError)"),
    "nested-two": ("from contextlib import suppress, nullcontext", "nullcontext(), suppress(ValueError)"),
    "subclass-of-suppress": ("from contextlib import suppress\nclass S(suppress): pass", "S(ValueError)"),
    "inherited-exit": ("class B:\n    def __enter__(s): return s\n    def __exit__(s, *e): return 1\nclass M(B): pass", "M()"),
}  # fmt: skip

_BODIES = {
    "call-raises": ("def work(): raise ValueError\n", "    k = work()\n"),
    "raise": ("", "    raise ValueError\n    k = 5\n"),
    "index": ("xs = []\n", "    int('a'); k = xs[0]\n"),
    "loop": ("", "    for i in range(3):\n        int('x' * i or '1')\n    k = i\n"),
    "unpack": ("", "    k, other = int('x'), 1\n"),
    "walrus": ("", "    print(int('x'), k := 5)\n"),
    "augmented": ("", "    k += int('x')\n"),
    "delete": ("", "    int('x'); del k\n"),
    "import": ("", "    int('x'); import math as k\n"),
    "def": ("", "    int('x')\n    def k(): pass\n"),
}  # fmt: skip

for _name, (_setup, _manager) in MANAGERS.items():
    for _body_name in ("call-raises", "index"):
        _before, _body = _BODIES[_body_name]
        _cells = [
            (_setup, f"{_before}k = {value}", f"with {_manager}:\n{_body}y = k") for value in (1, 2)
        ]
        WITH_BODIES.add(SmallNotebook("with bodies", f"{_name}-{_body_name}", *_cells))
for _body_name, (_before, _body) in _BODIES.items():
    _cells = [
        (
            "from contextlib import suppress",
            f"{_before}k = {value}",
            f"with suppress(ValueError):\n{_body}y = k",
        )
        for value in (1, 2)
    ]
    WITH_BODIES.add(SmallNotebook("with bodies", f"body-{_body_name}", *_cells))

_ASYNC = {
    "async-with": ("class M:\n    async def __aenter__(s): return s\n    async def __aexit__(s, *e): return True", "async with M():\n    k = int('x')\ny = k"),
    "wait-for": ("import asyncio", "try:\n    k = await asyncio.wait_for(asyncio.sleep(9, 5), 0.01)\nexcept asyncio.TimeoutError:\n    pass\ny = k"),
    "timeout": ("import asyncio", "try:\n    async with asyncio.timeout(0.01):\n        await asyncio.sleep(9)\n        k = 5\nexcept TimeoutError:\n    pass\ny = k"),
    "move-on-after": ("import anyio", "with anyio.move_on_after(0.01):\n    await anyio.sleep(9)\n    k = 5\ny = k"),
    "task-group": ("import asyncio\nasync def bad(): raise ValueError", "try:\n    async with asyncio.TaskGroup() as tg:\n        t = tg.create_task(bad())\n        await asyncio.sleep(9)\n        k = 5\nexcept* ValueError:\n    pass\ny = k"),
}  # fmt: skip
for _name, (_setup, _use) in _ASYNC.items():
    WITH_BODIES.add(
        SmallNotebook("with bodies", _name, *[(_setup, f"k = {v}", _use) for v in (1, 2)])
    )

_CONDITIONAL = {
    "try-except": "try:\n    int('x'); k = 5\nexcept ValueError:\n    pass\ny = k",
    "try-else": "try:\n    int('x')\nexcept ValueError:\n    pass\nelse:\n    k = 5\ny = k",
    "try-finally-return": "def f():\n    global k\n    try:\n        int('x'); k = 5\n    finally:\n        return k\ny = f()",
    "except-name": "try:\n    pass\nexcept ValueError as k:\n    pass\ny = k",
    "for-empty": "for k in []:\n    pass\ny = k",
    "while-false": "while [] and (k := 5):\n    pass\ny = k",
    "match-none": "match 3:\n    case [k]:\n        pass\n    case _:\n        pass\ny = k",
    "match-partial": "match (1, 2):\n    case (k, 3):\n        pass\n    case _:\n        pass\ny = k",
    "comprehension-walrus": "[(k := v) for v in []]\ny = k",
    "short-circuit": "False and (k := 5)\ny = k",
    "ternary-walrus": "z = 1 if True else (k := 5)\ny = k",
    "global-in-function": "def f(go):\n    global k\n    if go: k = 5\nf(False)\ny = k",
    "early-return": "def f():\n    global k\n    return 1\n    k = 5\nf()\ny = k",
    "assert-swallowed": "try:\n    assert not k, 'x'\n    k = 5\nexcept AssertionError:\n    pass\ny = k",
    "loop-break": "for i in [1]:\n    break\n    k = 5\ny = k",
    "loop-else": "for i in [1]:\n    break\nelse:\n    k = 5\ny = k",
    "chained-comparison": "1 > 2 > (k := 5)\ny = k",
    "generator-unconsumed": "g = ((k := v) for v in [5])\ny = k\ndel g",
    "lambda-uncalled": "f = lambda: (k := 5)\ny = k",
    "class-body": "class C:\n    k = 5\ny = k",
    "import-failing": "try:\n    import small_absent as k\nexcept ImportError:\n    pass\ny = k",
    "star-import-absent": "try:\n    from small_absent import *\nexcept ImportError:\n    pass\ny = k",
    "next-default": "for _i, k in zip([], [5]):\n    pass\ny = k",
    "del-and-except": "try:\n    del absent_name\n    k = 5\nexcept NameError:\n    pass\ny = k",
}  # fmt: skip
for _name, _use in _CONDITIONAL.items():
    WITH_BODIES.add(
        SmallNotebook("with bodies", f"conditional-{_name}", *[(f"k = {v}", _use) for v in (1, 2)])
    )
