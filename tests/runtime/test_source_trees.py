"""Threads that parse at one time each get their own tree."""

from __future__ import annotations

import ast
import gc
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nbckpt.runtime.source_trees import parse

SOURCE = Path(ast.__file__).read_text(encoding="utf-8")


@pytest.fixture
def switching() -> Iterator[None]:
    """Let another thread on at each of the collector's many runs."""

    def give_way(*_: object) -> None:
        time.sleep(0)

    threshold = gc.get_threshold()
    gc.set_threshold(50)
    gc.callbacks.append(give_way)
    yield
    gc.callbacks.remove(give_way)
    gc.set_threshold(*threshold)


@pytest.mark.usefixtures("switching")
def test_threads_parse_at_one_time() -> None:
    with ThreadPoolExecutor(4) as pool:
        trees = list(pool.map(parse, [SOURCE] * 12))

    assert {len(tree.body) for tree in trees} == {len(ast.parse(SOURCE).body)}


def test_what_cannot_be_read_is_a_syntax_error() -> None:
    with pytest.raises(SyntaxError):
        parse("def")
    with pytest.raises(SyntaxError):
        parse("a = 1", mode="eval")
