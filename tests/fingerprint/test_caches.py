"""What functions under `functools.lru_cache` remember: read from outside, and what of it counts."""

from __future__ import annotations

import contextlib
import functools
from pathlib import Path
from typing import Any

import pytest

from nbckpt.fingerprint.values import ValueDigester, caches
from tests.capture.observation.kernels import run

HEAD = "from functools import cache, lru_cache\n"


def called(function: Any, calls: list[tuple[tuple[Any, ...], dict[str, Any]]]) -> Any:
    """`function`, after some calls of it."""
    for arguments, keywords in calls:
        function(*arguments, **keywords)
    return function


CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    ((1,), {}),
    ((1.0,), {}),
    (("s",), {}),
    ((True,), {}),
    (((1, 2),), {}),
    ((1, 2), {"k": 3}),
    ((), {"k": 3, "j": int}),
    ((int, str), {}),
    ((None,), {"j": 3, "k": (1,)}),
    ((frozenset({1}),), {}),
    ((1,), {}),
]


@pytest.mark.parametrize("maxsize", [None, 128, 12, 3, 1, 0])
@pytest.mark.parametrize("is_typed", [False, True])
def test_calls_are_read_in_the_order_in_which_they_were_last_made(
    maxsize: int | None, is_typed: bool
) -> None:
    ran = []

    def f(*arguments: Any, **keywords: Any) -> list[Any]:
        ran.append(1)
        return [arguments, keywords]

    function = called(functools.lru_cache(maxsize, is_typed)(f), CALLS)
    answers = caches.answers_of(function)

    assert answers is not None
    assert len(answers) == function.cache_info().currsize
    assert all(list(a[:2]) == a.value for a in answers)
    n_ran = len(ran)
    if answers:
        assert function(*answers[0].arguments, **answers[0].keywords) is answers[0].value
        assert len(ran) == n_ran
        again = caches.answers_of(function)
        assert again is not None
        is_moved = maxsize is not None
        assert again == ([*answers[1:], answers[0]] if is_moved else answers)
        cache = caches.cache_of(function)
        assert cache is not None
        keys = [caches.key_of(a, cache.mark, is_typed=is_typed) for a in again]
        assert list(map(repr, keys)) == list(map(repr, cache.keys))


@pytest.mark.parametrize("value", [len, int, lambda: None, functools.partial(int), None])
def test_nothing_is_told_of_what_has_no_cache(value: object) -> None:
    assert caches.answers_of(value) is None


def test_nothing_is_told_of_a_cache_with_another_shape() -> None:
    plain = functools.lru_cache(lambda: None)
    other = functools.lru_cache(lambda: None)
    del other.__wrapped__

    assert caches.answers_of(plain) == []
    assert caches.answers_of(other) is None


SOURCES = {
    "def f(n): return n if n < 2 else f(n - 1) + f(n - 2)": True,
    "def f(n): return tuple(sorted(range(n), key=lambda k: -k))": True,
    "def f(n): return n + other": False,
    "def f(n): return print(n)": False,
    "def f(n): return f.cache_info().currsize": False,
    "def f(n): f.k = 1": False,
    "def f(n): return f.k": True,  # it has no attributes, so this fails and is not kept
    "def f(n):\n    global other\n    other = 2": False,
    "def f(n):\n    import os\n    return os.getpid()": False,
    "def f(n, seen=[]): seen.append(n); return len(seen)": False,
    "def f(n): return [n]": False,
    "def f(n): return ([n],)": False,
    "def f(n): return n.__class__.__name__": False,
}


@pytest.mark.parametrize(("source", "is_pure"), SOURCES.items(), ids=SOURCES)
def test_only_what_shows_nowhere_is_left_out_of_the_digest(source: str, is_pure: bool) -> None:
    namespace: dict[str, Any] = {"other": 1, "__name__": "__main__"}
    exec(source, namespace)
    f = namespace["f"] = functools.cache(namespace["f"])
    before = ValueDigester(namespace).digest(f)
    with contextlib.suppress(AttributeError), contextlib.redirect_stdout(None):
        f(3)

    assert (ValueDigester(namespace).digest(f) == before) is is_pure or not f.cache_info().currsize
    told = ValueDigester(namespace, counts_caches=True).digest(f) != before
    assert told is bool(f.cache_info().currsize)


def test_what_only_makes_faster_is_kept_in_little_time(tmp_path: Path) -> None:
    fib = HEAD + "@cache\ndef fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)"
    cells = [fib, "for i in range(0, 5000, 100):\n    fib(i)", "x = 1"]
    ask = "[fib.cache_info().currsize, fib(4900) % 1000]"

    first = run(tmp_path, cells, ask, mode="skip")
    second = run(tmp_path, cells, ask, mode="skip")

    assert second.value == first.value
    assert second.restored == [0, 1, 2]


@pytest.mark.slow
def test_arguments_that_became_equal_are_told_and_nothing_is_torn(tmp_path: Path) -> None:
    cells = [
        HEAD + "class K:\n    def __init__(self, k):\n        self.k = k\n    def __hash__(self):\n"
        "        return self.k\n    def __eq__(self, other):\n        return self.k == other.k",
        "@lru_cache(maxsize=4)\ndef f(x):\n    return [x.k]",
        "a, b = K(1), K(2)\nf(a), f(b), f(K(3))\nb.k = 1",
        "y = f(K(3)), f(a)",
    ]
    ask = "[y, f(K(3)) is y[0]]"

    first = run(tmp_path, cells, ask, mode="skip")
    again = run(tmp_path, cells, ask, mode="skip")

    assert not [*first.errors, *again.errors]
    assert first.value == again.value == [[[3], [1]], True]
