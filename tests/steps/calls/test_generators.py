"""Generators: items are captured as they come, and yielded again once all of them did."""

from __future__ import annotations

import asyncio

import pytest

from tests.steps.calls.conftest import Notebook

ITEMS = """
@nbckpt.step
def items(n):
    for i in range(n):
        ran(f"item {i}")
        yield [i]
    return "end"

def with_end(generator):
    items = []
    while True:
        try:
            items.append(next(generator))
        except StopIteration as end:
            return items, end.value
"""


def test_what_was_yielded_and_returned_comes_again(notebook: Notebook) -> None:
    notebook.cell(ITEMS)
    assert notebook.value("with_end(items(3))") == ([[0], [1], [2]], "end")
    assert len(notebook.ran) == 3
    notebook.restart()

    notebook.cell(ITEMS)

    assert notebook.value("with_end(items(3))") == ([[0], [1], [2]], "end")
    assert notebook.ran == []


def test_items_come_one_by_one_and_as_they_were(notebook: Notebook) -> None:
    notebook.cell(ITEMS)
    came = notebook.value("items(2)")
    first = next(came)
    assert notebook.ran == ["item 0"]
    first.append("changed")
    list(came)
    notebook.restart()

    notebook.cell(ITEMS)

    assert notebook.value("list(items(2))") == [[0], [1]]


def test_one_that_was_left_early_runs_again(notebook: Notebook) -> None:
    notebook.cell(ITEMS)
    came = notebook.value("items(3)")
    next(came)
    came.close()
    assert notebook.ran == ["item 0"]

    assert notebook.value("list(items(3))") == [[0], [1], [2]]
    assert len(notebook.ran) == 3


def test_one_that_raised_runs_again(notebook: Notebook) -> None:
    notebook.cell("@nbckpt.step\ndef bad():\n    yield 1\n    ran('bad')\n    raise OSError('cut')")

    for _ in range(2):
        with pytest.raises(OSError, match="cut"):
            notebook.value("list(bad())")

    assert notebook.ran == ["bad", "bad"]


def test_values_that_are_sent_reach_it_and_it_is_not_kept(notebook: Notebook) -> None:
    notebook.cell(
        "@nbckpt.step\ndef echo():\n    got = yield 'first'\n    while got:\n"
        "        got = yield f'got {got}'"
    )
    echo = notebook.value("echo()")

    assert (next(echo), echo.send("a"), echo.send("b")) == ("first", "got a", "got b")
    with pytest.warns(RuntimeWarning, match="its caller sends it values"):
        assert list(echo) == []


def test_asynchronous_ones_too(notebook: Notebook) -> None:
    source = (
        "@nbckpt.step\nasync def items(n):\n    for i in range(n):\n        ran('item')\n"
        "        await asyncio.sleep(0)\n        yield [i]\n"
        "async def all_():\n    return [item async for item in items(3)]\n"
        "async def some():\n    came = items(3)\n    first = await anext(came)\n"
        "    await came.aclose()\n    return first"
    )
    notebook.cell(source)
    assert asyncio.run(notebook.value("some()")) == [0]
    assert asyncio.run(notebook.value("all_()")) == [[0], [1], [2]]
    assert len(notebook.ran) == 4
    notebook.restart()

    notebook.cell(source)

    assert asyncio.run(notebook.value("all_()")) == [[0], [1], [2]]
    assert notebook.ran == []


def test_an_item_that_cannot_be_kept_is_named(notebook: Notebook) -> None:
    notebook.cell("@nbckpt.step\ndef items():\n    yield 1\n    yield (i for i in 'ab')")

    with pytest.warns(RuntimeWarning, match=r"'items' is NOT kept: item 1: result, a generator"):
        assert len(notebook.value("list(items())")) == 2


def test_an_array_that_comes_again_can_be_changed(notebook: Notebook) -> None:
    source = (
        "import numpy as np\n@nbckpt.step\ndef arrays():\n    yield np.zeros(10_000)\n"
        "(out,) = arrays()\nout[0] = 5"
    )
    notebook.cell(source)
    notebook.restart()

    notebook.cell(source)

    assert notebook.namespace["out"][0] == 5
