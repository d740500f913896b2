"""Random notebooks with nbckpt are what they are without it; and the oracle sees what is not."""

from __future__ import annotations

import atexit
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell

from tests.random_programs.batches import Dice
from tests.random_programs.fingerprint import differences, fingerprint
from tests.random_programs.generator import program_from
from tests.random_programs.programs import Action, Program, Source, as_data, from_data
from tests.random_programs.runner import World
from tests.random_programs.shrinking import smallest

pytestmark = pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # the programs'


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Two kernels in this process."""
    folder = tmp_path_factory.mktemp("random")
    main, hook, path = sys.modules["__main__"], sys.displayhook, list(sys.path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPYTHONDIR", str(folder / "ipython"))
        patch.setenv("NBCKPT_STORE", os.environ.get("NBCKPT_STORE", ""))
        patch.chdir(folder)
        world = World(folder)
        yield world
        for kernel in (world.kept, world.plain):
            kernel.shell.atexit_operations()
            atexit.unregister(kernel.shell.atexit_operations)
    InteractiveShell.clear_instance()
    sys.modules["__main__"], sys.displayhook, sys.path[:] = main, hook, path


class Drawn:
    """Choices that Hypothesis makes, and makes smaller."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def below(self, end: int) -> int:
        """A number from 0 to `end`, which is left out."""
        return self._data.draw(st.integers(0, end - 1))


@pytest.mark.slow
@pytest.mark.timeout(900)  # a failing program is made smaller
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_a_random_notebook_is_what_plain_python_says(world: World, data: st.DataObject) -> None:
    program = program_from(Drawn(data))

    failure = world.failure_of(program)

    note(f"{program}\n{failure}")
    assert failure is None


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_many_random_notebooks_are_what_plain_python_says(world: World) -> None:
    for seed in range(2000):
        program = program_from(Dice(seed))
        failure = world.failure_of(program)
        assert failure is None, f"seed {seed}\n{program}\n{failure}"


def notebook(*cells: str, mode: str = "skip", actions: tuple[Any, ...] = ("all",)) -> Program:
    made = tuple(Action(a) if isinstance(a, str) else Action(*a) for a in actions)
    return Program(mode, tuple(Source((cell,)) for cell in cells), made)  # type: ignore[arg-type]


def test_a_seed_makes_one_program() -> None:
    assert program_from(Dice(7)) == program_from(Dice(7))
    assert program_from(Dice(7)) != program_from(Dice(8))


def test_a_program_is_told_as_json() -> None:
    program = program_from(Dice(3))

    assert from_data(json.loads(json.dumps(as_data(program)))) == program


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": True}),
        ({"a": 1.0}, {"a": 1}),
        ({"a": [1]}, {}),
        ({"a": iter([1, 2])}, {"a": iter([2])}),
        ({"a": {1: 2, 3: 4}}, {"a": {3: 4, 1: 2}}),
    ],
)
def test_other_values_have_another_fingerprint(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert differences(fingerprint(one), fingerprint(other))
    assert not differences(fingerprint(one), fingerprint(one))


def test_a_lost_alias_is_another_fingerprint() -> None:
    rows = [1]

    assert differences(fingerprint({"a": rows, "b": [1]}), fingerprint({"a": rows, "b": rows}))


def test_a_lost_view_is_another_fingerprint() -> None:
    np = pytest.importorskip("numpy")
    whole = np.arange(4)

    one = {"a": whole, "b": whole[1:]}
    other = {"a": whole, "b": whole[1:].copy()}

    assert list(differences(fingerprint(other), fingerprint(one))) == ["(memory)"]


def test_two_classes_of_one_name_are_another_fingerprint() -> None:
    texts = "class A: pass\na = A()\n", "class A: pass\n"
    one: dict[str, Any] = {"__name__": "__main__"}
    exec(texts[0], one)
    other = dict(one)
    exec(texts[1], other)

    found = differences(fingerprint(other), fingerprint(one))

    assert any("same definition" in told for told in found.values())


@pytest.mark.slow
def test_what_is_lost_without_a_word_is_a_failure(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = notebook("a = [1]", actions=("all", "kill", "resume"))
    assert world.failure_of(program) is None
    from nbckpt.session.moves import namespace_restore

    take = namespace_restore.take

    def forgetful(session: Any, *rest: Any) -> None:
        take(session, *rest)
        session.namespace.pop("a", None)

    monkeypatch.setattr(namespace_restore, "take", forgetful)

    failure = world.failure_of(program)

    assert failure is not None
    assert failure.kind == "lost"


def test_a_failing_program_is_made_small(world: World) -> None:
    def fails(program: Program) -> Any:
        has = any("wrong" in s for cell in program.cells for s in cell.statements)
        return world_failure if has else None

    from tests.random_programs.runner import Failure

    world_failure = Failure("value", "", "")
    program = Program(
        "on",
        (Source(("a = 1", "b = 2")), Source(("c = 3", "wrong = 1"))),
        (Action("all"), Action("kill"), Action("run", 1)),
    )

    small, _ = smallest(program, world_failure, fails)

    assert small.cells == (Source(("wrong = 1",)),)
    assert small.actions == ()
