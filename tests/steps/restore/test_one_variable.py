"""One variable brought back as it was, the rest of the notebook as it is."""

from __future__ import annotations

from typing import Any

import pytest

from nbckpt.errors import CheckpointNotFoundError, UsageError, VariableNotFoundError
from nbckpt.session.session import Session
from nbckpt.steps.restore.one_variable import restore_variable
from tests.notebooks import restart


@pytest.fixture
def line(session: Session) -> Session:
    session.namespace.update(x=[1], y="y", z=[0])
    session.checkpoint("one")
    session.namespace.update(x=[1, 2], y="yy")
    session.checkpoint("two")
    return session


def names(session: Session) -> list[str]:
    timeline = session.timeline
    return [timeline.checkpoints[i].name for i in timeline.newest_first()]


def test_it_is_as_it_was_and_all_else_as_it_is(line: Session) -> None:
    z = line.namespace["z"]

    done = restore_variable(line, "x", "one")

    assert line.namespace["x"] == [1]
    assert line.namespace["y"] == "yy"
    assert line.namespace["z"] is z
    assert done.names == ("x",)
    assert done.source.name == "one"


def test_it_is_kept_at_once_and_can_be_undone(line: Session) -> None:
    two = line.position.id
    done = restore_variable(line, "x", "one")

    assert done.checkpoint is not None
    assert line.position.id == done.checkpoint.id
    assert (done.checkpoint.parent, done.checkpoint.bound) == (two, ("x",))
    assert list(done.checkpoint.changed) == ["x"]
    assert names(line) == ["two", "two", "one"]
    line.rewind("-")
    assert line.namespace["x"] == [1, 2]
    assert line.position.id == two


def test_what_is_unsaved_is_kept_first(line: Session) -> None:
    line.namespace["x"] = "unsaved"

    restore_variable(line, "x", "one")

    assert names(line) == ["two", "before-restore", "two", "one"]
    line.rewind("-")
    assert line.namespace["x"] == "unsaved"


def test_what_shares_objects_with_it_shares_them_again(session: Session) -> None:
    inner = [1]
    session.namespace.update(x=[inner], y=[inner])
    session.checkpoint("one")
    session.namespace["x"] = 0
    session.checkpoint("two")

    restore_variable(session, "x", "one")

    x: Any = session.namespace["x"]
    y: Any = session.namespace["y"]
    assert x == [[1]]
    assert x[0] is y[0]


def test_what_shared_objects_with_what_is_another_now_is_a_copy(session: Session) -> None:
    inner = [1]
    session.namespace.update(x=[inner], y=[inner])
    session.checkpoint("one")
    inner.append(2)
    session.checkpoint("two")

    done = restore_variable(session, "x", "one")

    assert session.namespace["x"] == [[1]]
    assert session.namespace["y"] == [[1, 2]]
    assert done.names == ("x",)
    assert done.why_copy.startswith("'y' shared an object with it then")
    session.rewind("~1")
    session.rewind("-")
    assert session.namespace["x"] == [[1]]
    assert session.namespace["y"] == [[1, 2]]


def test_one_that_is_gone_by_now_is_made_again(line: Session) -> None:
    del line.namespace["x"]
    line.checkpoint("three")

    restore_variable(line, "x", "two")

    assert line.namespace["x"] == [1, 2]


def test_after_a_look_back_the_branch_goes_on_from_there(line: Session) -> None:
    line.rewind("one")

    restore_variable(line, "x", "two")

    assert line.namespace == {**line.namespace, "x": [1, 2], "y": "y"}
    assert {n: line.timeline.checkpoints[i].name for n, i in line.timeline.branches.items()} == {
        "main": "one",
        "main.1": "two",
    }


def test_in_a_new_process_it_is_there_and_no_line_begins(line: Session) -> None:
    line.wait()
    again = Session(line.store, {}, notebook="test")

    done = restore_variable(again, "x", "one")

    assert again.namespace["x"] == [1]
    assert done.checkpoint is None
    assert names(again) == ["two", "one"]


def test_what_is_not_there_says_what_is(line: Session) -> None:
    line.namespace["g"] = (i for i in range(3))
    line.checkpoint("three")
    for name, ref, error, told in (
        ("X", "one", VariableNotFoundError, "'one' holds no variable 'X'; there are 'x', 'y'"),
        ("g", "three", VariableNotFoundError, "'g' was not kept at 'three': g: generator"),
        ("x", "onee", CheckpointNotFoundError, "did you mean 'one'"),
    ):
        with pytest.raises(error, match=told):
            restore_variable(line, name, ref)
    assert names(line) == ["three", "two", "one"]


def run(shell: Any, source: str) -> None:
    result = shell.run_cell(source)
    result.raise_error()


def test_an_instance_is_of_the_class_that_is_there(shell: Any) -> None:
    run(shell, "%%checkpoint one\nclass Box:\n    def __init__(self, n): self.n = n\nbox = Box(1)")
    run(shell, "%%checkpoint two\nbox = Box(2)")

    run(shell, "%nbckpt restore box one")

    assert shell.user_ns["box"].n == 1
    assert type(shell.user_ns["box"]) is shell.user_ns["Box"]


def test_a_class_that_is_another_by_now_keeps_it_from_coming_alone(shell: Any) -> None:
    run(shell, "%%checkpoint one\nclass Box:\n    def __init__(self, n): self.n = n\nbox = Box(1)")
    run(shell, "%%checkpoint two\nclass Box:\n    size = 5\nbox = 2")

    result = shell.run_cell("%nbckpt restore box one")

    assert isinstance(result.error_in_exec, UsageError)
    assert "'box' cannot be brought back alone: 'Box'" in str(result.error_in_exec)
    assert shell.user_ns["box"] == 2
    assert shell.user_ns["Box"].size == 5


def test_a_method_that_is_another_by_now_keeps_it_from_coming_alone(shell: Any) -> None:
    box = "class Box:\n    def __init__(self, n): self.n = n\n    def area(self): return {}\n"
    run(shell, f"%%checkpoint one\n{box.format('self.n')}box = Box(1)")
    run(shell, f"%%checkpoint two\n{box.format('-self.n')}box = Box(2)")

    result = shell.run_cell("%nbckpt restore box one")

    assert isinstance(result.error_in_exec, UsageError)
    assert shell.user_ns["box"].area() == -2


def test_a_cell_that_restores_one_is_no_result_to_bring_back(shell: Any) -> None:
    run(shell, "import nbckpt")
    run(shell, "%%checkpoint one\nk = 1")
    run(shell, "%%checkpoint two\nk = 2\nm = 3")
    run(shell, "two = nbckpt.get('two').id")
    again = "%%checkpoint back\nnbckpt.restore('k', ref)\ntwice = k * 2"
    run(shell, "ref = 'one'")
    run(shell, again)
    assert shell.user_ns["twice"] == 2
    run(shell, "ref = two")

    run(shell, again)

    assert (shell.user_ns["k"], shell.user_ns["twice"]) == (2, 4)


def test_a_cell_below_is_restored_where_its_input_is_back(shell: Any) -> None:
    ran: list[int] = []
    shell.user_ns["ran"] = ran
    run(shell, "%%checkpoint one\nk = 1")
    run(shell, "%%checkpoint fit\nmodel = k * 10")
    run(shell, "%%checkpoint two\nk = 2")
    run(shell, "%nbckpt restore k one")

    run(shell, "%%checkpoint fit\nmodel = k * 10")

    assert shell.user_ns["model"] == 10


def test_a_name_is_text(line: Session) -> None:
    with pytest.raises(UsageError, match="name of a variable is given as text"):
        restore_variable(line, 3, "one")  # type: ignore[arg-type]


KINDS = {
    "dataclass": "from dataclasses import dataclass\n@dataclass\nclass P:\n    a: int",
    "frozen": "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass P:\n    a: int",
    "named tuple": "from typing import NamedTuple\nclass P(NamedTuple):\n    a: int",
    "collections": "from collections import namedtuple\nP = namedtuple('P', 'a')",
    "abstract": "from abc import ABC\nclass P(ABC):\n    def __init__(self, a): self.a = a",
    "cached": (
        "from functools import cached_property\nclass P:\n    def __init__(self, a): self.a = a\n"
        "    @cached_property\n    def b(self): return self.a"
    ),
    "pydantic": (
        "from pydantic import BaseModel\nclass P(BaseModel):\n    a: int\n"
        "    def __init__(self, a): super().__init__(a=a)"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_an_instance_comes_back_in_a_new_kernel(shell: Any, kind: str) -> None:
    run(shell, f"%%checkpoint one\n{KINDS[kind]}\np = P(1)")
    run(shell, "%%checkpoint two\np = P(2)")
    restart(shell)
    run(shell, "%resume")

    run(shell, "%nbckpt restore p one")

    assert shell.user_ns["p"].a == 1
    assert type(shell.user_ns["p"]) is shell.user_ns["P"]


@pytest.mark.parametrize(
    ("made", "edited", "name", "calls"),
    [
        ("def f(): return g\nheld = [f]", "def f(): return 'other'", "f", "f()"),
        ("hs = [lambda: g, held]", "held.append(1); hs = 0", "hs", "hs[0]()"),
        (
            "class Box:\n    def m(self): return g\nheld = Box()",
            "class Box:\n    def m(self): return 'other'",
            "Box",
            "Box().m()",
        ),
    ],
)
def test_a_copy_of_code_reads_the_notebooks_variables(
    shell: Any, made: str, edited: str, name: str, calls: str
) -> None:
    run(shell, f"%%checkpoint one\ng = 1\nheld = []\n{made}")
    run(shell, f"%%checkpoint two\n{edited}")

    run(shell, f"%nbckpt restore {name} one")
    run(shell, "g = 3")
    run(shell, "%checkpoint three")
    run(shell, "%rewind one")
    run(shell, "%rewind three")
    run(shell, f"called = {calls}")

    assert shell.user_ns["called"] == 3


def test_a_copy_is_of_the_class_that_is_there(shell: Any) -> None:
    run(shell, "%%checkpoint one\nclass P: pass\np = P(); p.held = [1]; other = {'p': p.held}")
    run(shell, "%%checkpoint two\np = 0; other = 5")

    run(shell, "%nbckpt restore p one")

    assert type(shell.user_ns["p"]) is shell.user_ns["P"]
    assert shell.user_ns["p"].held == [1]
