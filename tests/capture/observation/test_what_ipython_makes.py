"""What IPython makes for a cell is data like any other: an edit of it is seen below."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture.observation.kernels import run

MADE = {
    "what a command printed": ("h = !echo {}", "y = h.s"),
    "what a cell printed": ("%%capture h\nprint('{}')", "y = h.stdout"),
    "what is shown": ("from IPython.display import HTML\nh = HTML('{}')", "y = h.data"),
    "a structure": ("from IPython.utils.ipstruct import Struct\nh = Struct(a='{}')", "y = h.a"),
    "a lock": ("import threading\nh = threading.Lock()\nif '{}' == 'b': h.acquire()", "y = h.locked()"),
    "source under another name": (
        "from inspect import getsource as h\ndef f():\n    # {}\n    return 1", "y = h(f)",
    ),
    "a subclass": (
        "import json\nclass H(json.JSONEncoder):\n    made = '{}'",
        "import json\ny = json.JSONEncoder.__subclasses__()[-1].made",
    ),
}  # fmt: skip
"""A cell that is edited, and one that reads what it makes."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", MADE)
def test_an_edit_is_seen_below(tmp_path: Path, kind: str) -> None:
    made, use = MADE[kind]
    run(tmp_path, [made.format("a"), use], "y", mode="skip")

    answer = run(tmp_path, [made.format("b"), use], "y", mode="skip")

    assert answer.value == run(tmp_path / "plain", [made.format("b"), use], "y", mode="plain").value
    assert answer.restored == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", MADE)
def test_what_did_not_change_is_restored(tmp_path: Path, kind: str) -> None:
    cells = [MADE[kind][0].format("a"), MADE[kind][1]]
    first = run(tmp_path, cells, "y", mode="skip")

    answer = run(tmp_path, cells, "y", mode="skip")

    assert answer.value == first.value
    assert answer.restored == [0, 1], answer.said


BOUND = {
    "a loop's": ("for _ in range(3): pass", "y = _"),
    "a translation": ("from operator import neg as _", "y = _(5)"),
    "one part of two": ("x, _ = 1, [2]", "y = _ + [x]"),
}


@pytest.mark.parametrize("kind", BOUND)
def test_an_underscore_that_code_has_bound_is_there_again(tmp_path: Path, kind: str) -> None:
    cells = ["7 * 6", *BOUND[kind]]
    first = run(tmp_path, cells, "y", mode="skip")

    edited = run(tmp_path, [*cells[:2], f"z = 1\n{cells[2]}"], "y", mode="skip")

    assert edited.value == first.value
    assert edited.errors == []


def test_a_reentrant_lock_is_held_as_often_as_it_was(tmp_path: Path) -> None:
    cells = [
        "import threading\nl = threading.RLock()\nl.acquire(), l.acquire();",
        "l.release()\ny = 1",
    ]
    run(tmp_path, cells, "y", mode="skip")

    edited = run(tmp_path, [cells[0], "l.release()\nl.release()\ny = 2"], "y", mode="skip")

    assert edited.value == 2
    assert edited.restored == [0]
