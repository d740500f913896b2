"""A value that no code changed has the digest in a key that it had: it is not walked again."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from nbckpt.fingerprint.values import ValueDigester
from nbckpt.steps import current_session
from tests.notebooks import run

SETUP = """
class P:
    shared = []
    def __init__(self, n): self.n = n
many = [{"id": n, "text": "some words " * 5} for n in range(3000)]
objects = [P(n) for n in range(3000)]
inner = many[17]
holder = (row for row in [many])
def change(): many[5]["id"] = -1
def change_later(): objects[5].n = -1
"""
READ = "n = len(many), len(objects)"


@pytest.fixture
def walked(auto: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the long lists that were walked."""
    found: list[int] = []
    examine = ValueDigester.examine

    def noted(self: ValueDigester, value: Any) -> Any:
        if type(value) is list and len(value) > 1000:
            found.append(len(value))
        return examine(self, value)

    monkeypatch.setattr(ValueDigester, "examine", noted)
    run(auto, SETUP)
    run(auto, READ)
    found.clear()
    return found


@pytest.mark.slow
def test_what_is_only_read_is_walked_once(auto: Any, walked: list[int]) -> None:
    for _ in range(3):
        run(auto, READ)

    assert walked == []


CHANGES = [
    "many.append(3)",
    "inner['id'] = 'other'",
    "change()",
    "change_later()",
    "alias = many; alias[0]['text'] = 'x'",
    "next(holder)[3]['id'] = 'y'",
    "P.shared.append(1)",
    "P.extra = 1",
    "class P:\n    def __init__(self, n): self.n = n + 1",
    "globals()['many'][8]['id'] = 'z'",
    "exec('many[9][\"id\"] = 0')",
    "many = list(many)",
    "many = [*many, 1]",
    "del many[7]",
    "objects[2].n = 'n'",
    "objects[2].__dict__['n'] = 'd'",
    "vars(objects[2])['new'] = 1",
    "objects[1], objects[2] = objects[2], objects[1]",
    "import operator; operator.setitem(many[1], 'id', 5)",
    "for one in objects[:3]: one.n += 1",
    "f = lambda: many.pop(); f()",
    "%checkpoint before\nmany.clear()\n%rewind before",
]


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_has_another_digest(auto: Any, walked: list[int], change: str) -> None:
    run(auto, READ)
    assert walked == []

    run(auto, change)
    run(auto, READ)

    assert_keys_are_true(auto)


@pytest.mark.slow
def test_what_a_thread_changed_has_another_digest(auto: Any, walked: list[int]) -> None:
    run(auto, "import threading; go, done = threading.Event(), threading.Event()")
    run(
        auto,
        """
        def work():
            go.wait(60)
            many[11]['id'] = 'from a thread'
            done.set()
        thread = threading.Thread(target=work, daemon=True); thread.start()
        """,
    )
    run(auto, READ)
    auto.user_ns["go"].set()
    assert isinstance(auto.user_ns["done"], threading.Event)
    auto.user_ns["done"].wait(60)

    run(auto, READ)

    assert_keys_are_true(auto)


def assert_keys_are_true(shell: Any) -> None:
    """The key of the cell that ran last has the digests of what is there: it only read."""
    session = current_session.session()
    checkpoint = session.timeline.checkpoints[session.position.id]
    assert checkpoint.cell.source == READ
    assert checkpoint.key is not None
    digester = ValueDigester(shell.user_ns, 5_000_000)
    for name in ("many", "objects"):
        if name in checkpoint.key.inputs:
            assert checkpoint.key.inputs[name] == digester.digest(shell.user_ns[name]), name
