"""What cannot be kept, and holds what is kept, brings that along when code touches it."""

from __future__ import annotations

import ast
import threading
from typing import Any

import numpy as np
import pytest

from nbckpt.config.settings import Settings
from nbckpt.fingerprint.reachability import reaches
from nbckpt.fingerprint.referents import names_reached
from nbckpt.session.checkpoint_view import Look
from nbckpt.session.session import Session

SETUP = """
import numpy as np
class Bad:
    def __reduce_ex__(self, protocol): raise TypeError("no")
shared, inner = [1], [2]
outer, array, other = {"k": [inner]}, np.zeros(5), [9]
bad = Bad(); bad.held = {"a": shared, "b": inner, "c": array[1:]}
def gen(rows):
    while True:
        rows.append(len(rows)); yield
rows = []
running = gen(rows); next(running)
"""


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        ("bad.held['a'].append(5)", {"shared"}),
        ("bad.held['b'].append(5)", {"inner", "outer"}),
        ("bad.held['c'][0] = 5", {"array"}),
        ("next(running)", {"rows"}),
        ("bad", set()),
    ],
)
def test_a_checkpoint_has_what_was_changed_through_what_it_cannot_keep(
    session: Session, change: str, changed: set[str]
) -> None:
    session.settings = Settings(verify="raise")
    session.workspace.running = ast.parse("")

    def run(source: str) -> None:
        tree = ast.parse(source)
        exec(compile(tree, "<cell>", "exec"), session.namespace)
        session.workspace.ran(tree)
        session.checkpoint("cell")

    run(SETUP)
    run(change)
    made = session.get("~0")

    assert set(made.changed) == changed
    for name in changed:
        live, kept = session.namespace[name], Look(session, made).values[name]
        assert np.array_equal(live, kept) if name == "array" else live == kept


def test_what_shares_nothing_is_left_alone() -> None:
    rows: list[object] = [1]
    space: dict[str, object] = {"near": [rows], "far": [[1]], "n": 1, "text": "t"}
    space["__builtins__"] = {}

    def reads() -> object:
        return space

    assert names_reached([[rows], reads], ["near", "far", "n", "text"], space) == {"near"}


def test_of_what_is_too_large_anything_may_be_shared() -> None:
    space: dict[str, object] = {"far": [1], "n": 1}

    assert names_reached([[[n] for n in range(30_000)]], ["far", "n"], space) == {"far"}


def test_a_thread_that_has_the_shell_in_its_context_holds_no_variable_for_that(
    shell: Any,
) -> None:
    """A server that ran in the process kept every loop from going on where it was."""
    shell.user_ns.update(rows=[1], held=[2])
    done = threading.Event()
    thread = threading.Thread(
        target=lambda of, rows: done.wait(), args=(shell, shell.user_ns["held"])
    )
    thread.start()
    try:
        names = shell.user_ns
        assert not reaches(thread, names["rows"], names)
        assert reaches(thread, names["held"], names)
    finally:
        done.set()
        thread.join()


def test_notebook_code_that_runs_in_a_thread_may_hold_anything(shell: Any) -> None:
    run = shell.run_cell
    run(
        "import threading\nrows, done = [1], threading.Event()\n"
        "def work():\n    held = rows\n    done.wait()\n    return held\n"
        "thread = threading.Thread(target=work); thread.start()"
    ).raise_error()
    names = shell.user_ns
    try:
        assert reaches(names["thread"], names["rows"], names)
    finally:
        names["done"].set()
        names["thread"].join()
    assert not reaches(names["thread"], names["rows"], names)


def test_a_namespace_of_exec_holds_what_is_in_it() -> None:
    rows, of_exec = [1], {}
    of_exec["rows"] = rows
    exec("def rows_of():\n    yield list(rows)", of_exec)

    assert reaches(of_exec["rows_of"](), rows, {})  # type: ignore[operator]
