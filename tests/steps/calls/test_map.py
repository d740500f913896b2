"""`step.map`: each item's result is kept, found again by the item, and never another item's."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from nbckpt.errors import BudgetError, FormatError, StoreError, UsageError
from nbckpt.fingerprint.user_names import is_nbckpts_own
from nbckpt.steps.calls.item_results import Keeping
from nbckpt.steps.execution.step_state import StepState
from nbckpt.storage.store import Store
from tests.steps.calls.conftest import Notebook

SQUARE = """
def square(x):
    ran(f"square {x}")
    return [x * x]
"""

MAPPED = """
with nbckpt.checkpoint("squares", rerun=True) as step:
    if step.todo:
        out = step.map({what})
"""

AWAITED = """
with nbckpt.checkpoint("squares", rerun=True) as step:
    if step.todo:
        out = asyncio.run(step.map({what}))
"""


def mapped(notebook: Notebook, what: str, source: str = SQUARE, block: str = MAPPED) -> Any:
    notebook.cell(source + block.format(what=what))
    return notebook.namespace["out"]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 4])
def test_results_stand_in_the_order_of_the_items_and_are_kept(
    notebook: Notebook, workers: int
) -> None:
    what = f"square, range(20), workers={workers}"
    first = mapped(notebook, what)
    assert first == [[n * n] for n in range(20)]
    assert sorted(notebook.ran) == sorted(f"square {n}" for n in range(20))

    notebook.restart()

    assert mapped(notebook, what) == first
    assert notebook.ran == []


@pytest.mark.slow
def test_results_in_one_blob_that_is_lost_do_not_take_others_along(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_each = SQUARE.replace("return", "time.sleep(0.02); return")
    first = mapped(notebook, "square, range(3)", one_each)
    ran = notebook.ran
    notebook.restart()
    get_blob, records = Store.get_blob, notebook.store.records("items")
    lost = records[0]

    def get(store: Store, digest: str, **more: Any) -> Any:
        if digest == lost["blob"]:
            raise FormatError("it is damaged")
        return get_blob(store, digest, **more)

    monkeypatch.setattr(Store, "get_blob", get)
    with pytest.warns(RuntimeWarning, match="it is damaged"):
        again = mapped(notebook, "square, range(3)", one_each)

    assert again == first
    assert len(records) > 1
    assert notebook.ran == ran[: lost["count"]]


def test_a_budget_that_is_spent_leaves_those_in_work_to_their_end(notebook: Notebook) -> None:
    source = """
async def ask(n):
    if n == 2: raise nbckpt.BudgetError("it is spent")
    await asyncio.sleep(0.05)
    ran(n)
"""
    with pytest.raises(BudgetError, match="it is spent"):
        mapped(notebook, "ask, range(9), workers=4", source, AWAITED)

    assert sorted(notebook.ran) == ["0", "1"]


@pytest.mark.slow
def test_new_items_between_the_others_are_the_only_ones_that_run(notebook: Notebook) -> None:
    mapped(notebook, "square, [1, 2, 3]")
    notebook.restart()
    assert notebook.ran

    out = mapped(notebook, "square, [9, 1, 8, 2, 3]")

    assert out == [[81], [1], [64], [4], [9]]
    assert notebook.ran == ["square 9", "square 8"]


@pytest.mark.slow
def test_equal_items_have_a_result_each(notebook: Notebook) -> None:
    source = "def draw(x):\n    ran(x)\n    return time.perf_counter_ns()\n"
    what = "draw, ['a', 'b', 'a', 'a'], workers=3"
    first = mapped(notebook, what, source)
    assert len(set(first)) == 4
    assert len(notebook.ran) == 4
    notebook.restart()

    assert mapped(notebook, what, source) == first
    more = mapped(notebook, "draw, ['a', 'a', 'a', 'a', 'b']", source)

    assert [more[0], more[1], more[2], more[4]] == [first[0], first[2], first[3], first[1]]
    assert notebook.ran == ["a"]


@pytest.mark.slow
def test_maps_of_several_functions_over_the_same_items_are_told_apart(notebook: Notebook) -> None:
    source = SQUARE + "def twice(x):\n    ran(f'twice {x}')\n    return 2 * x\n"
    block = (
        MAPPED + "        two = step.map(twice, [1, 2])\n        three = step.map(square, [1])\n"
    )
    mapped(notebook, "square, [1, 2]", source, block)
    assert len(notebook.ran) == 5
    notebook.restart()

    mapped(notebook, "square, [1, 2]", source, block)

    assert notebook.value("(out, two, three)") == ([[1], [4]], [2, 4], [[1]])
    assert notebook.ran == []


@pytest.mark.slow
def test_a_key_says_what_an_item_is_known_by(notebook: Notebook) -> None:
    source = "docs = [{'id': n, 'seen': %d} for n in range(3)]\n"
    source += "def read(doc):\n    ran(doc['id'])\n    return doc['seen']\n"
    what = "read, docs, key=lambda doc: doc['id']"
    mapped(notebook, what, source % 1)
    notebook.restart()
    assert notebook.ran

    assert mapped(notebook, what, source % 2) == [1, 1, 1]
    assert notebook.ran == []


def test_a_key_that_cannot_be_told_from_others_is_refused(notebook: Notebook) -> None:
    with pytest.raises(UsageError, match=r"the key of 1 is a lock, which cannot be told"):
        mapped(notebook, "square, [1], key=lambda n: threading.Lock()")


def test_items_that_cannot_be_told_apart_run_each_time_and_that_is_said(
    notebook: Notebook,
) -> None:
    source = "def use(lock):\n    ran('use')\n    return 1\n"
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match=r"cannot be told from other items: give .*`key=`"):
            mapped(notebook, "use, [threading.Lock()]", source)

    assert notebook.ran == ["use", "use"]


@pytest.mark.slow
def test_another_function_runs_for_all_items_and_that_is_said(notebook: Notebook) -> None:
    mapped(notebook, "square, [1, 2]")
    notebook.restart()
    assert notebook.ran

    changed = SQUARE.replace("x * x", "x * x * x")
    with pytest.warns(RuntimeWarning, match=r"'squares' runs 'square' for all items: .*'square'"):
        out = mapped(notebook, "square, [1, 2]", changed)

    assert out == [[1], [8]]
    assert notebook.ran == ["square 1", "square 2"]


def test_a_disk_that_refuses_each_result_is_told_once(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = iter(range(100, 200))

    def refuse(*_: object) -> None:
        message = f"the disk is full: a write of {next(sizes)} bytes was refused"
        raise StoreError(message)

    monkeypatch.setattr(Keeping, "add", refuse)

    with pytest.warns(RuntimeWarning, match="results of 'square' are NOT kept") as told:
        assert mapped(notebook, "square, range(5)") == [[n * n] for n in range(5)]

    assert len(told) == 1


# -- what a replay would not do


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("def change(x):\n    x.append(1)\n    return x\n", "it changes the item"),
        (
            "seen = []\ndef change(x):\n    seen.append(1)\n    return x\n",
            r"it changes what it reads \(input 'seen'",
        ),
        ("def change(x):\n    return threading.current_thread()\n", "TextIOWrapper: "),
    ],
)
def test_what_a_replay_would_not_do_is_not_kept_and_that_is_said(
    notebook: Notebook, source: str, why: str
) -> None:
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match=f"results of 'change' are NOT kept: .*{why}"):
            mapped(notebook, "change, [[0], [1]]", f"{source}ran('cell')\n")


def test_a_result_is_a_copy_of_the_callers_own(notebook: Notebook) -> None:
    mapped(notebook, "square, [2]")[0].append("spoilt")

    assert mapped(notebook, "square, [2]") == [[4]]


# -- errors

PICKY = """
import os
def picky(x):
    ran(f"picky {x}")
    if x in bad:
        raise ValueError(f"no {x}")
    return x
"""


@pytest.mark.slow
def test_the_first_error_is_raised_and_what_was_done_is_kept(notebook: Notebook) -> None:
    with pytest.raises(ValueError, match="no 3") as raised:
        mapped(notebook, "picky, range(8)", f"bad = [3]{PICKY}")
    [note] = raised.value.__notes__
    assert note == ("nbckpt: item 4 of 8, 3; the results of 3 items are there for the next run")
    assert len(notebook.ran) == 4
    notebook.restart()

    # `bad` is an input of the function: with other values it would be another one.
    with pytest.raises(ValueError, match="no 3"):
        mapped(notebook, "picky, range(8)", f"bad = [3]{PICKY}")
    assert notebook.ran == ["picky 3"]


SLOWLY = """
def slowly(x):
    ran(x)
    if x == 0:
        time.sleep(0.05)
        raise ValueError("first")
    time.sleep(0.2)
    return x
"""


@pytest.mark.slow
def test_items_in_work_are_ended_and_kept_when_one_fails(notebook: Notebook) -> None:
    with pytest.raises(ValueError, match="first"):
        mapped(notebook, "slowly, range(9), workers=3", SLOWLY)
    assert sorted(notebook.ran) == ["0", "1", "2"]
    notebook.restart()

    with pytest.raises(ValueError, match="first"):
        mapped(notebook, "slowly, range(3), workers=3", SLOWLY)

    assert notebook.ran == ["0"]


FLAKY = """
import os
def flaky(x):
    from pathlib import Path
    ran(f"flaky {x}")
    if x in (2, 5) and not Path(LOG + ".well").exists():
        raise OSError(f"no {x}")
    return x * 10
"""


@pytest.mark.slow
@pytest.mark.parametrize(("block", "kind"), [(MAPPED, "def"), (AWAITED, "async def")])
def test_collected_failures_stand_beside_the_results_and_alone_run_again(
    notebook: Notebook, block: str, kind: str
) -> None:
    source, what = FLAKY.replace("def", kind), "flaky, range(7), workers=2, errors='collect'"
    block = block.replace(", rerun=True", "")

    results, failures = mapped(notebook, what, source, block)

    assert results == [0, 10, None, 30, 40, None, 60]
    assert [(f.index, f.item, f.type, f.error) for f in failures] == [
        (2, 2, "OSError", "OSError: no 2"),
        (5, 5, "OSError", "OSError: no 5"),
    ]
    assert failures[0].traceback.startswith('Traceback (most recent call last):\n  File "<test')
    assert len(notebook.ran) == 7
    notebook.restart()
    (notebook.folder / "log.well").touch()

    again = mapped(notebook, what, source, block)

    assert again == ([n * 10 for n in range(7)], [])
    assert notebook.session.state(StepState).latest["squares"].why == (
        "2 items of its `map` failed",
    )
    notebook.restart()
    mapped(notebook, what, source, block)
    assert not notebook.session.state(StepState).latest["squares"].todo
    assert sorted(notebook.ran) == ["flaky 2", "flaky 5"]  # to read it empties it: it was written


def test_what_ends_a_program_in_a_thread_reaches_who_maps(notebook: Notebook) -> None:
    with pytest.raises(SystemExit):
        mapped(
            notebook,
            "leave, range(9), workers=2, errors='collect'",
            "def leave(x):\n    raise SystemExit\n",
        )


# -- async

ASK = """
at_once, most = 0, 0
async def ask(x):
    ran(x)
    await asyncio.sleep(0.01)
    return x * 2
"""


def test_an_async_function_is_awaited_so_many_at_once(notebook: Notebook) -> None:
    source = """
at_work, most = [], []
async def ask(x):
    ran(x)
    globals()["at_work"].append(x)
    globals()["most"].append(len(at_work))
    await asyncio.sleep(0.01 * (x % 3))
    globals()["at_work"].remove(x)
    return x * 2
"""
    with pytest.warns(RuntimeWarning, match="it changes what it reads"):
        out = mapped(notebook, "ask, range(12), workers=4", source, AWAITED)

    assert out == [2 * n for n in range(12)]
    assert max(notebook.namespace["most"]) == 4


@pytest.mark.slow
def test_results_of_an_async_function_are_kept(notebook: Notebook) -> None:
    first = mapped(notebook, "ask, range(6), workers=3", ASK, AWAITED)
    assert len(notebook.ran) == 6
    notebook.restart()

    assert mapped(notebook, "ask, range(6), workers=3", ASK, AWAITED) == first
    assert notebook.ran == []


def test_items_can_come_from_an_async_generator(notebook: Notebook) -> None:
    source = ASK + "async def numbers():\n    for n in range(3):\n        yield n\n"

    assert mapped(notebook, "ask, numbers()", source, AWAITED) == [0, 2, 4]

    with pytest.raises(UsageError, match="give map an `async` function, too"):
        mapped(notebook, "square, numbers()", SQUARE + source)


@pytest.mark.slow
def test_a_cancelled_map_keeps_what_was_done(notebook: Notebook) -> None:
    source = ASK.replace("asyncio.sleep(0.01)", "asyncio.sleep(0 if x < 3 else 60)")
    block = AWAITED.replace("asyncio.run(step.map({what}))", "asyncio.run(soon(step.map({what})))")
    soon = (
        "async def soon(work):\n    async with asyncio.timeout(0.3):\n        return await work\n"
    )
    with pytest.raises(TimeoutError):
        mapped(notebook, "ask, range(9), workers=2", source + soon, block)
    assert set(notebook.ran) == {"0", "1", "2", "3", "4"}
    notebook.restart()

    with pytest.raises(TimeoutError):
        mapped(notebook, "ask, range(5), workers=2", source + soon, block)

    assert sorted(notebook.ran) == ["3", "4"]


def test_a_function_that_gives_something_to_await_is_refused(notebook: Notebook) -> None:
    with pytest.raises(UsageError, match="give map the `async def` itself"):
        mapped(notebook, "lambda x: ask(x), [1]", ASK)


def test_a_block_that_is_tried_again_maps_the_items_that_are_left(notebook: Notebook) -> None:
    block = """
with nbckpt.checkpoint("squares") as step:
    if step.todo:
        for attempt in nbckpt.recover(max_retries=1):
            with attempt:
                ran("attempt")
                out = step.map({what})
                if len(out) == 7 and not Path(LOG + ".well").exists():
                    Path(LOG + ".well").touch()
                    raise OSError
"""
    source = f"from pathlib import Path\n{SQUARE}"

    assert mapped(notebook, "square, [1, 1, 2, 3, 4, 5, 6]", source, block)[:3] == [[1], [1], [4]]

    assert notebook.ran == [
        "attempt",
        *(f"square {n}" for n in (1, 1, 2, 3, 4, 5, 6)),
        "attempt",
    ]


# -- steps inside


@pytest.mark.slow
def test_equal_calls_of_steps_in_items_are_each_items_own(notebook: Notebook) -> None:
    source = """
@nbckpt.step
def draw(topic):
    ran(topic)
    return time.perf_counter_ns()
def pair(x):
    time.sleep(0.01 * (3 - x))
    drawn = [draw("a"), draw("a")]
    if x not in good:
        raise ValueError
    return drawn
"""

    def drawn(good: str) -> Any:
        with_good = f"good = {good}{source}"
        results, _ = mapped(notebook, "pair, range(3), workers=3, errors='collect'", with_good)
        return results

    first = drawn("[0, 1, 2]")
    assert len({number for pair in first for number in pair}) == 6
    assert len(notebook.ran) == 6
    notebook.restart()

    # The function is another one, and what it calls is not: each item finds its own calls.
    with pytest.warns(RuntimeWarning, match="input 'good' has another"):
        assert drawn("[1, 2]")[1:] == first[1:]
    with pytest.warns(RuntimeWarning, match="input 'good' has another"):
        assert drawn("(0, 1, 2)") == first
    assert notebook.ran == []


# -- where it may stand


def test_it_is_for_a_step_that_runs(notebook: Notebook) -> None:
    mapped(notebook, "square, [1]")

    with pytest.raises(UsageError, match=r"'squares' has ended: use `map` inside"):
        notebook.value("step.map(square, [1])")
    with pytest.raises(UsageError, match=r"'squares' has ended: use `track` inside"):
        notebook.value("step.track([1])")


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("[1], square", "map takes a function first"),
        ("square, [1], workers=0", "workers is 0; it is a number, 1 or more"),
        ("square, [1], errors='drop'", "errors is 'drop'; it is 'raise' or 'collect'"),
        ("square, 3", "int is not iterable: give a list"),
    ],
)
def test_what_means_nothing_is_refused(notebook: Notebook, what: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        mapped(notebook, what)


def test_its_names_are_no_variables_of_the_user() -> None:
    import nbckpt

    assert is_nbckpts_own(nbckpt.map)
    assert is_nbckpts_own(nbckpt.track)


def test_nothing_of_a_map_is_left_running(notebook: Notebook) -> None:
    mapped(notebook, "square, range(9), workers=3")

    deadline = time.monotonic() + 5
    while any(t.name.startswith("map-") for t in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.long
def test_many_tiny_items_are_kept_and_found_again_quickly(notebook: Notebook) -> None:
    source, what = "def tiny(x):\n    return {'x': x}\n", "tiny, range(10_000), workers=8"
    took = []
    for _ in range(2):
        began = time.process_time()
        mapped(notebook, what, source)
        took.append(time.process_time() - began)
        notebook.restart()

    assert took[0] < 3.0  # 0.3 ms an item, of this process alone: the machine may be busy
    assert took[1] < 1.0
