"""What comes back when the store was damaged, and blocks that are tried again after an error."""

from __future__ import annotations

import re
import subprocess
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from nbckpt.errors import FormatError
from nbckpt.jupyter.shell import load, unload
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.storage.store import Store
from tests.running import environment


def new_session(folder: Path) -> Session:
    """A session in a new process, as far as the store can tell."""
    return Session(Store.open(folder), {"__name__": "__main__"}, notebook="test")


def events_of(session: Session) -> list[str]:
    session.wait()
    session.refresh()
    return [r["event"] for r in session.store.records("event")]


def keep(session: Session, name: str, **values: object) -> None:
    """A checkpoint whose new bytes lie in a pack of its own."""
    session.namespace.update(values)
    session.workspace.ran(None)
    session.checkpoint(name, sync=True)
    session.store.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store of three processes, each with a checkpoint that adds a list of its own."""
    folder = tmp_path / ".nbckpt"
    for name in ("a", "b", "c"):
        session = new_session(folder)
        if session.position.head is not None:
            session.resume()
        keep(session, name, **{f"of_{name}": [f"{name}{i}" for i in range(2000)]})
    return folder


def packs(folder: Path) -> list[Path]:
    return sorted((folder / "packs").glob("*.pack"))


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for at in range(200, min(len(data), 600)):
        data[at] ^= 0xFF
    path.write_bytes(data)


def delete(path: Path) -> None:
    path.unlink()


DAMAGES: list[Callable[[Path], None]] = [flip, delete]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_head_is_refused_by_name_and_changes_nothing(
    folder: Path, damage: Callable[[Path], None]
) -> None:
    damage(packs(folder)[-1])
    session = new_session(folder)
    session.namespace["mine"] = 1

    with pytest.raises(FormatError) as refused:
        session.resume()

    assert "'c' cannot be resumed" in str(refused.value)
    assert "'of_c'" in str(refused.value)
    assert "'of_b'" not in str(refused.value)
    assert "'b'" in str(refused.value)
    assert "%resume --fallback" in str(refused.value)
    assert set(session.namespace) == {"__name__", "mine"}
    assert events_of(session)[-1] == "resume_failed"
    session.store.close()


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_fallback_takes_the_newest_whole_checkpoint_and_goes_on_there(
    folder: Path, damage: Callable[[Path], None]
) -> None:
    damage(packs(folder)[-1])
    session = new_session(folder)

    moved = session.resume(fallback=True)

    assert moved.checkpoint.name == "b"
    assert session.namespace["of_b"] == [f"b{i}" for i in range(2000)]
    assert "of_c" not in session.namespace
    assert events_of(session)[-2:] == ["resume_failed", "fell_back"]
    keep(session, "d", d=4)
    again = new_session(folder)
    assert again.resume().checkpoint.name == "d"
    assert again.namespace["of_a"] == [f"a{i}" for i in range(2000)]
    assert [c.name for c in again.history()] == ["d", "b", "a"]
    again.store.close()


def test_a_fallback_passes_over_all_that_is_damaged(folder: Path) -> None:
    flip(packs(folder)[-1])
    delete(packs(folder)[-2])
    session = new_session(folder)

    assert session.resume(fallback=True).checkpoint.name == "a"
    session.store.close()


def test_where_nothing_is_whole_the_rest_is_offered(folder: Path) -> None:
    for path in packs(folder):
        flip(path)
    session = new_session(folder)

    with pytest.raises(FormatError, match=r"no other checkpoint is whole: %rewind \w+"):
        session.resume(fallback=True)
    session.store.close()


def test_a_journal_that_lost_its_middle_is_told_and_an_older_line_is_found(folder: Path) -> None:
    journals = sorted((folder / "journal").glob("*.jsonl"))
    lines = journals[1].read_bytes().splitlines(keepends=True)
    journals[1].write_bytes(b"".join(line for line in lines if b'"kind":"checkpoint"' not in line))
    session = new_session(folder)

    with pytest.raises(FormatError, match="the record of a checkpoint that it builds on"):
        session.resume()

    assert session.resume(fallback=True).checkpoint.name == "a"
    session.store.close()


def test_a_whole_head_needs_no_fallback(folder: Path) -> None:
    session = new_session(folder)

    moved = session.resume(fallback=True)

    assert moved.checkpoint.name == "c"
    assert "fell_back" not in events_of(session)
    session.store.close()


# -- blocks that are tried again ----------------------------------------------------------------


def run(shell: Any, *lines: str) -> Any:
    return shell.run_cell("\n".join(lines), store_history=True)


def test_a_block_runs_again_on_the_values_that_it_began_with(shell: Any) -> None:
    run(
        shell,
        "import nbckpt, random",
        "rows = [1]; tried = open('tried.txt', 'a')",
        "random.seed(1)",
    )

    result = run(
        shell,
        "kept = 'before'",
        "with nbckpt.recover(max_retries=3) as attempt:",
        "    rows.append(2); made = random.random(); _ = tried.write('x'); tried.flush()",
        "    if attempt.number < 3:",
        "        extra = 1",
        "        raise ValueError('not yet')",
        "done = True",
    )

    space = shell.user_ns
    assert result.success
    assert (space["rows"], space["kept"], space["done"]) == ([1, 2], "before", True)
    assert "extra" not in space
    assert space["made"] == Random(1).random()
    assert Path("tried.txt").read_text() == "xxx"
    space["tried"].close()
    found = events_of(current_session.session())
    assert [e for e in found if e.startswith(("attempt", "recovered"))] == [
        "attempt_failed", "attempt_failed", "recovered",
    ]  # fmt: skip


@pytest.mark.slow
def test_after_the_last_attempt_the_error_says_what_was_tried_and_how_to_go_back(
    shell: Any,
) -> None:
    run(shell, "import nbckpt", "rows = [1]")

    result = run(
        shell,
        "with nbckpt.recover(max_retries=2) as attempt:",
        "    rows.append(attempt.number)",
        "    raise ValueError(f'number {attempt.number}')",
    )

    assert isinstance(result.error_in_exec, ValueError)
    assert str(result.error_in_exec) == "number 3"
    (note,) = result.error_in_exec.__notes__
    assert "tried it 3 times: 1. ValueError: number 1; 2. ValueError: number 2" in note
    assert shell.user_ns["rows"] == [1, 3]
    back = re.search(r"`(%rewind \w+)`", note)
    assert back is not None
    run(shell, back[1])
    assert shell.user_ns["rows"] == [1]


@pytest.mark.slow
@pytest.mark.parametrize("error", ["KeyboardInterrupt", "SystemExit", "TypeError"])
def test_what_was_not_asked_for_is_not_tried_again(shell: Any, error: str) -> None:
    run(shell, "import nbckpt", "times = 0")

    run(
        shell,
        "with nbckpt.recover(on=(ValueError, KeyboardInterrupt, SystemExit)):",
        f"    times += 1; raise {error}",
    )

    assert shell.user_ns["times"] == 1


def test_a_block_may_leave_the_loop_around_it(shell: Any) -> None:
    run(shell, "from nbckpt import recover", "seen = []; failed = set()")

    result = run(
        shell,
        "for item in range(6):",
        "    with recover(max_retries=1):",
        "        if item == 1:",
        "            continue",
        "        if item == 4:",
        "            break",
        "        for inner in range(3):",
        "            if inner == 1: break",
        "        seen.append((item, inner))",
        "        if item == 2 and not __import__('os').path.exists('flag'):",
        "            open('flag', 'w').close(); raise ValueError",
        "    seen.append('after')",
    )

    assert result.success
    assert shell.user_ns["seen"] == [(0, 1), "after", (2, 1), "after", (3, 1), "after"]


@pytest.mark.slow
def test_inside_a_checkpoint_cell_the_cell_is_kept_once_and_restored(shell: Any) -> None:
    cell = (
        "%%checkpoint fetch\nwith nbckpt.recover(max_retries=2) as attempt:\n"
        "    with open('ran.txt', 'a') as f:\n        _ = f.write('x')\n"
        "    got = [attempt.number]\n"
        "    if attempt.number == 1: raise OSError('busy')"
    )
    run(shell, "import nbckpt")

    assert run(shell, cell).success
    unload(shell)
    shell.reset(new_session=False)
    load(shell)
    run(shell, "import nbckpt")
    assert run(shell, cell).success

    assert shell.user_ns["got"] == [2]
    assert Path("ran.txt").read_text() == "xx"


def keep_each_item() -> None:
    """Have loops keep their progress however long that takes beside their items."""
    session = current_session.session()
    session.settings = replace(session.settings, track_share=1e9)


LOOP = (
    "    for item in step.track(range(6)):",
    "        with open('items.txt', 'a') as f: _ = f.write(str(item))",
    "        made.append(item)",
    "        if item == 3 and not flag.exists():",
    "            flag.touch(); raise ValueError('once')",
)


@pytest.mark.slow
@pytest.mark.parametrize("auto", ["off", "on"])
@pytest.mark.parametrize("place", ["around", "inside"])
def test_finished_items_of_a_tracked_loop_stay_finished(shell: Any, place: str, auto: str) -> None:
    block = ["with nbckpt.recover(max_retries=2):", "with nbckpt.checkpoint('loop') as step:"]
    if place == "inside":
        block.reverse()
    inner = [f"    {line}" for line in LOOP]
    keep_each_item()
    run(shell, "import nbckpt", "from pathlib import Path", "made = []; flag = Path('flag')")
    run(shell, f"%nbckpt auto {auto}")

    result = run(shell, block[0], f"    {block[1]}", *inner)

    assert result.success, result.error_in_exec
    assert shell.user_ns["made"] == [0, 1, 2, 3, 4, 5]
    assert Path("items.txt").read_text() == "0123345"


@pytest.mark.slow
def test_a_loop_before_the_block_is_not_taken_for_the_one_in_it(shell: Any) -> None:
    keep_each_item()
    run(shell, "import nbckpt", "a = []; b = []; from pathlib import Path")

    result = run(
        shell,
        "with nbckpt.checkpoint('two') as step:",
        "    for x in step.track('pqr'):",
        "        a.append(x)",
        "    with nbckpt.recover(max_retries=1):",
        "        for x in step.track('pqrs'):",
        "            b.append(x)",
        "            if x == 'r' and not Path('flag').exists():",
        "                Path('flag').touch(); raise ValueError",
    )

    assert result.success, result.error_in_exec
    assert "".join(shell.user_ns["a"]) == "pqr"
    assert "".join(shell.user_ns["b"]) == "pqrs"


SCRIPT = """
import nbckpt
from pathlib import Path
nbckpt.open('store', globals())
rows = [1]
for attempt in nbckpt.recover(max_retries=2):
    with attempt:
        rows.append(2)
        if attempt.number == 1:
            raise MemoryError('too much')
print(rows, attempt.number)
"""


@pytest.mark.slow
def test_a_script_writes_the_loop_itself(tmp_path: Path) -> None:
    done = python(tmp_path, SCRIPT)

    assert done.stdout == "[1, 2] 2\n"


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ("with nbckpt.recover():\n    x = 1", "write `for attempt in nbckpt.recover"),
        (
            "def f():\n    for a in nbckpt.recover():\n        with a: pass\nf()",
            "inside a function",
        ),
        ("nbckpt.recover(-1)", "max_retries is -1"),
    ],
)
def test_what_cannot_be_tried_again_is_refused_in_one_sentence(
    tmp_path: Path, block: str, told: str
) -> None:
    done = python(tmp_path, f"import nbckpt\nnbckpt.open('store', globals())\n{block}")

    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert "UsageError" in last
    assert told in last


def python(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    script = folder / "script.py"
    script.write_text(code)
    return subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, cwd=folder,
        env=environment(), check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "block",
    [
        "import nbckpt as other\nwith other.recover(1) as a:\n{body}",
        "from nbckpt import recover as again\nwith again(1) as a:\n{body}",
        "import nbckpt, contextlib\nwith contextlib.suppress(KeyError), nbckpt.recover(1) as a:\n{body}",
        "import nbckpt\nif True:\n    with nbckpt.recover(1) as a:\n    {body}",
        "import nbckpt\nwith nbckpt.recover(1) as a:\n    with nbckpt.recover(0):\n    {body}",
        "import nbckpt, asyncio\nwith nbckpt.recover(1) as a:\n    await asyncio.sleep(0)\n{body}",
    ],
)
def test_however_it_is_written_it_is_tried_again(shell: Any, block: str) -> None:
    run(shell, "made = []")

    result = run(shell, block.format(body="    made.append(a.number); 1 / (a.number - 1)"))

    assert result.success, result.error_in_exec
    assert shell.user_ns["made"] == [2]


@pytest.mark.slow
def test_an_error_points_at_the_users_own_line(shell: Any) -> None:
    run(shell, "import nbckpt")

    result = run(shell, "x = 1", "with nbckpt.recover(0):", "    y = 2", "    boom()")

    frames = traceback.extract_tb(result.error_in_exec.__traceback__)
    assert frames[-1].lineno == 4
    assert "recovery" not in frames[-1].filename


def test_a_block_is_tried_again_with_what_was_joined_before_it(shell: Any) -> None:
    run(shell, "%nbckpt auto cost")
    run(shell, "import nbckpt; rows = [1]")

    run(shell, "with nbckpt.recover(1) as a:", "    rows.append(2); 1 / (a.number - 1)")

    assert shell.user_ns["rows"] == [1, 2]
    first = current_session.session().history()[-1]
    assert first.cell.source == "import nbckpt; rows = [1]"
