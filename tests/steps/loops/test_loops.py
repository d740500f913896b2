"""`step.track`: each item is done once, whatever order the items come in after a death."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from nbckpt.errors import UsageError
from nbckpt.jupyter.shell import load, unload
from nbckpt.model import Cell, Checkpoint
from nbckpt.steps import current_session
from nbckpt.steps.loops.finished_items import Finished, digest_of_item
from nbckpt.storage.check import check
from nbckpt.storage.store import Store
from tests.running import noted
from tests.steps.test_blocks import play

LOOP = """
import glob
words = {{f"w{{i}}" for i in range(20)}}
done = []
with nbckpt.checkpoint("loop", vars=["done"]) as step:
    if step.todo:
        for item in step.track({items}):
            time.sleep(0.03)
            if len(done) == 10: die_at("", "")
            note(item)
            done.append(item)
print(sorted(done))
"""


def run(shell: Any, source: str) -> Any:
    return shell.run_cell(source, store_history=True, cell_id=None)


# -- which items are finished


@pytest.mark.slow
def test_each_item_of_a_set_is_done_once_though_its_order_is_another(tmp_path: Path) -> None:
    died = play(tmp_path, LOOP.format(items="words"), "die")
    assert died.returncode == -9, died.stderr

    again = play(tmp_path, LOOP.format(items="words"))

    words = sorted(f"w{i}" for i in range(20))
    assert again.stdout == f"{words}\n", again.stderr
    assert sorted(noted(tmp_path)) == words


@pytest.mark.slow
def test_a_new_file_that_sorts_before_the_finished_ones_is_done_and_none_of_them_again(
    tmp_path: Path,
) -> None:
    for n in range(12):
        (tmp_path / f"b{n:02}.txt").touch()
    body = LOOP.format(items="sorted(glob.glob('*.txt'))")
    died = play(tmp_path, body, "die")
    assert died.returncode == -9, died.stderr
    (tmp_path / "a.txt").touch()

    again = play(tmp_path, body)

    files = ["a.txt", *(f"b{n:02}.txt" for n in range(12))]
    assert again.stdout == f"{files}\n", again.stderr
    assert sorted(noted(tmp_path)) == files


@pytest.mark.slow
def test_a_loop_whose_finished_files_are_gone_does_all_that_are_left(tmp_path: Path) -> None:
    for n in range(15):
        (tmp_path / f"b{n:02}.txt").touch()
    body = LOOP.format(items="sorted(glob.glob('*.txt'))").replace(
        "done.append(item)", "done.append(item)\n            os.remove(item)"
    )
    died = play(tmp_path, body, "die")
    assert died.returncode == -9, died.stderr

    again = play(tmp_path, body)

    files = [f"b{n:02}.txt" for n in range(15)]
    assert again.stdout == f"{files}\n", again.stderr
    assert noted(tmp_path) == files


@pytest.mark.slow
def test_equal_items_are_done_as_often_as_they_come(tmp_path: Path) -> None:
    items = "['x', 'y'] * 8"
    died = play(tmp_path, LOOP.format(items=items), "die")
    assert died.returncode == -9, died.stderr

    again = play(tmp_path, LOOP.format(items=items))

    assert again.stdout == f"{['x'] * 8 + ['y'] * 8}\n", again.stderr
    assert noted(tmp_path) == ["x", "y"] * 8


@pytest.mark.slow
def test_a_list_of_entirely_other_items_is_done_from_its_beginning(tmp_path: Path) -> None:
    items = "sorted(glob.glob('*.txt'))"
    for n in range(12):
        (tmp_path / f"a{n:02}.txt").touch()
    died = play(tmp_path, LOOP.format(items=items), "die")
    assert died.returncode == -9, died.stderr
    for n in range(12):
        (tmp_path / f"a{n:02}.txt").rename(tmp_path / f"b{n:02}.txt")

    again = play(tmp_path, LOOP.format(items=items))

    assert again.stdout == f"{[f'b{n:02}.txt' for n in range(12)]}\n", again.stderr


@pytest.mark.slow
def test_a_loop_over_generators_goes_on_at_the_first_that_is_not_finished(tmp_path: Path) -> None:
    body = LOOP.format(items="[iter([n]) for n in range(15)]").replace(
        "note(item)", "item = next(item); note(item)"
    )
    body = body.replace("[iter([n])", "[(lambda n: (yield n))(n)")
    died = play(tmp_path, body, "die")
    assert died.returncode == -9, died.stderr

    again = play(tmp_path, body)

    assert again.stdout == f"{list(range(15))}\n", again.stderr
    assert noted(tmp_path) == [str(n) for n in range(15)]


def test_what_cannot_be_told_apart_counts_by_its_place_as_long_as_there_are_as_many(
    store: Store,
) -> None:
    finished = Finished()
    with socket.socket() as one, socket.socket() as other:
        first, second = digest_of_item(one, {}, 0), digest_of_item(other, {}, 1)
    finished.add(first)
    blobs = finished.kept(store)
    partial = Checkpoint("i", None, "n", "main", "s", "", 0.0, 0.0, Cell(""), finished=blobs)

    as_many = Finished.of(partial, store, keeps_places=True)
    others = Finished.of(partial, store, keeps_places=False)

    assert as_many.takes(first)
    assert not as_many.takes(second)
    assert not others.takes(first)


def test_what_is_kept_of_finished_items_stays_small_and_comes_back_whole(store: Store) -> None:
    finished, written = Finished(), 0
    digests = [digest_of_item(n, {}, n) for n in range(1000)]
    for digest in digests:
        finished.add(digest)
        blobs = finished.kept(store)
        written = max(written, len(blobs))

    partial = Checkpoint("i", None, "n", "main", "s", "", 0.0, 0.0, Cell(""), finished=blobs)
    back = Finished.of(partial, store, keeps_places=True)

    assert written <= 11
    assert [back.takes(d) for d in digests] == [True] * 1000
    assert not any(back.takes(d) for d in digests)


# -- items that the loop changes

CHANGED = """
import numpy as np
class Doc:
    def __init__(self, n):
        self.n, self.length = n, None
rows = [{{"n": n}} for n in range(8)]
docs = [Doc(n) for n in range(8)]
points = np.arange(16.0).reshape(8, 2)
with nbckpt.checkpoint("loop") as step:
    if step.todo:
        for item in step.track({items}):
            time.sleep(0.03)
            if {place} == 4: die_at("", "")
            note({place})
            {change}
print([row.get("length") for row in rows], [doc.length for doc in docs], points.sum())
"""

UNTOUCHED = [None] * 8
DONE = list(range(8))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("items", "place", "change", "printed"),
    [
        ("rows", "item['n']", "item['length'] = item['n']", f"{DONE} {UNTOUCHED} 120.0"),
        (
            "(r for r in rows)",
            "item['n']",
            "item['length'] = item['n']",
            f"{DONE} {UNTOUCHED} 120.0",
        ),
        (
            "enumerate(rows)",
            "item[0]",
            "item[1]['length'] = item[0]",
            f"{DONE} {UNTOUCHED} 120.0",
        ),
        ("docs", "item.n", "item.length = item.n", f"{UNTOUCHED} {DONE} 120.0"),
        ("points", "int(item[0] // 2)", "item *= 0", f"{UNTOUCHED} {UNTOUCHED} 0.0"),
    ],
)
def test_what_the_loop_does_to_its_items_after_a_death_is_not_lost(
    tmp_path: Path, items: str, place: str, change: str, printed: str
) -> None:
    body = CHANGED.format(items=items, place=place, change=change)
    died = play(tmp_path, body, "die")
    assert died.returncode == -9, died.stderr

    again = play(tmp_path, body)

    assert again.stdout == f"{printed}\n", again.stderr
    assert noted(tmp_path) == [str(n) for n in range(8)]


# -- several loops


EPOCHS = """
done = []
with nbckpt.checkpoint("loop") as step:
    if step.todo:
        {outer}
            for item in step.track("abc"):
                time.sleep(0.03)
                if len(done) == 7: die_at("", "")
                note(f"{{epoch}}{{item}}")
                done.append(f"{{epoch}}{{item}}")
            {after}
print(done)
"""

THREE_EPOCHS = [f"{epoch}{item}" for epoch in range(3) for item in "abc"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("outer", "after"),
    [
        ("for epoch in range(3):", "pass"),
        ("epoch = 0\n        while epoch < 3:", "epoch += 1"),
    ],
)
def test_a_loop_that_begins_several_times_goes_on_in_the_right_one(
    tmp_path: Path, outer: str, after: str
) -> None:
    body = EPOCHS.format(outer=outer, after=after)
    died = play(tmp_path, body, "die")
    assert died.returncode == -9, died.stderr

    again = play(tmp_path, body)

    assert again.stdout == f"{THREE_EPOCHS}\n", again.stderr
    assert noted(tmp_path) == THREE_EPOCHS


@pytest.mark.slow
def test_a_loop_inside_a_tracked_one_loses_no_item_of_either(tmp_path: Path) -> None:
    body = EPOCHS.format(outer="for epoch in step.track(range(3)):", after="pass")
    died = play(tmp_path, body, "die")
    assert died.returncode == -9, died.stderr

    again = play(tmp_path, body)

    assert again.stdout == f"{THREE_EPOCHS}\n", again.stderr
    assert noted(tmp_path) == [*THREE_EPOCHS[:7], *THREE_EPOCHS[6:]]


# -- how a loop may be written


@pytest.mark.parametrize(
    ("loop", "told"),
    [
        ("for i, x in enumerate(step.track(xs)): pass", "step.track(enumerate(xs))"),
        ("for x, y in zip(step.track(xs, total=3), ys): pass", "step.track(zip(xs, ys))"),
        ("for x, y in zip(ys, step.track(xs)): pass", "step.track(zip(ys, xs))"),
        ("out = [x for x in step.track(xs)]", "for item in step.track(xs):"),
        ("out = list(step.track(xs))", "step.track(list(xs))"),
        ("it = step.track(xs)", "for item in step.track(xs):"),
    ],
)
def test_a_loop_that_could_not_go_on_is_refused_before_it_runs(
    shell: Any, loop: str, told: str
) -> None:
    run(shell, "import nbckpt\nxs = [1, 2, 3]; ys = [4, 5, 6]")

    result = run(shell, f"with nbckpt.checkpoint('a') as step:\n    began = True\n    {loop}")

    assert isinstance(result.error_in_exec, UsageError)
    assert told in str(result.error_in_exec)
    assert "began" not in shell.user_ns


@pytest.mark.parametrize(
    ("loop", "told"),
    [
        (
            "for x in step.track(3): pass",
            "'a': int is not iterable: give track the items, in a list",
        ),
        ("for x in step.track(xs, key=3): pass", "'a': key is 3; it is a function"),
        ("step.map(str, xs, key='id')", "'a': key is 'id'; it is a function"),
    ],
)
def test_items_and_keys_that_are_none_are_told_in_a_sentence(
    shell: Any, loop: str, told: str
) -> None:
    run(shell, "import nbckpt\nxs = [1, 2, 3]")

    result = run(shell, f"with nbckpt.checkpoint('a') as step:\n    {loop}")

    assert isinstance(result.error_in_exec, UsageError)
    assert told in str(result.error_in_exec)


def test_a_loop_over_pairs_is_told_apart_from_one_beside_another(shell: Any) -> None:
    run(shell, "import nbckpt\nxs = [1, 2, 3]; seen = []")

    result = run(
        shell,
        "with nbckpt.checkpoint('a') as step:\n"
        "    for i, x in step.track(enumerate(xs)):\n        seen.append((i, x))",
    )

    assert result.success
    assert shell.user_ns["seen"] == [(0, 1), (1, 2), (2, 3)]


def test_a_loop_inside_a_function_is_refused(shell: Any) -> None:
    run(shell, "import nbckpt\nseen = []")

    result = run(
        shell,
        "with nbckpt.checkpoint('a') as step:\n    def work():\n"
        "        for x in step.track([1]):\n            seen.append(x)\n    work()",
    )

    assert isinstance(result.error_in_exec, UsageError)
    assert "`track` is inside a function" in str(result.error_in_exec)
    assert shell.user_ns["seen"] == []


@pytest.mark.slow
def test_a_loop_in_a_cell_with_await_is_at_the_top_level(shell: Any) -> None:
    run(shell, "import nbckpt, asyncio\nseen = []")

    result = run(
        shell,
        "with nbckpt.checkpoint('a') as step:\n    for x in step.track([1, 2]):\n"
        "        await asyncio.sleep(0)\n        seen.append(x)",
    )

    assert result.success
    assert shell.user_ns["seen"] == [1, 2]


@pytest.mark.slow
def test_a_checked_store_knows_what_its_unfinished_loops_need(shell: Any) -> None:
    run(shell, "import nbckpt\nseen = []")
    run(
        shell,
        "with nbckpt.checkpoint('a') as step:\n    for x in step.track([1, 2]):\n"
        "        seen.append(x)\n        1 / (2 - x)",
    )

    unload(shell)
    load(shell)
    session = current_session.session()
    [partial] = [c for c in session.timeline.named("a") if c.state == "partial"]
    report = check(session.store.path)

    assert partial.finished
    assert report.ok, report.problems
