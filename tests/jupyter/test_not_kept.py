"""What could not be kept is absent after a restore, and definitions are one object a name."""

from __future__ import annotations

from typing import Any

import pytest

from nbckpt import current
from tests.jupyter.test_cells import restart, run


def run_all(shell: Any, *cells: str) -> None:
    for number, cell in enumerate(cells):
        run(shell, cell, cell_id=f"cell-{number}").raise_error()


def was_restored(name: str) -> bool:
    return not current.session().steps[name].todo


def test_a_name_bound_again_to_what_cannot_be_kept_is_not_restored_older(shell: Any) -> None:
    cells = (
        "import re",
        "%%checkpoint one\nfound = memoryview(bytearray(b'x'))",
        "%%checkpoint two\nfound = re.finditer('a', 'banana'); n = 1",
    )
    run_all(shell, *cells)
    restart(shell)

    run_all(shell, *cells)

    assert was_restored("one")
    assert not isinstance(shell.user_ns.get("found"), memoryview)
    assert not was_restored("two") or "found" not in shell.user_ns


def test_a_rewind_leaves_no_newer_value_under_such_a_name(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run_all(
        shell,
        "import re",
        "%%checkpoint one\nfound = re.finditer('a', 'banana')",
        "%%checkpoint two\nfound = [1]",
    )
    capsys.readouterr()

    run(shell, "%rewind one")

    assert "found" not in shell.user_ns
    assert "and gone: found: " in capsys.readouterr().out


def test_what_nobody_touched_since_stays_where_it_is(shell: Any) -> None:
    run_all(
        shell,
        "import re",
        "%%checkpoint one\nfound = re.finditer('a', 'banana')",
        "%%checkpoint two\nn = 1",
    )
    found = shell.user_ns["found"]

    run(shell, "%rewind one")

    assert shell.user_ns["found"] is found


def test_an_alias_made_between_two_equal_cells_is_no_alias_of_the_second(shell: Any) -> None:
    cells = ("%%checkpoint a\nx = [1]", "%%checkpoint b\ny = x", "%%checkpoint c\nx = [1]")
    run_all(shell, *cells)

    run_all(shell, *cells)

    assert shell.user_ns["x"] == shell.user_ns["y"] == [1]
    assert shell.user_ns["x"] is not shell.user_ns["y"]


def test_what_a_function_is_given_through_another_name_is_kept(shell: Any) -> None:
    run_all(shell, "def f(x):\n    return x", "g = f", "%%checkpoint calls\ng.calls = 2")
    restart(shell)

    run(shell, "%resume")

    assert shell.user_ns["f"].calls == 2
    assert shell.user_ns["g"] is shell.user_ns["f"]


def test_instances_are_of_the_class_that_another_text_defined_equally(shell: Any) -> None:
    define = "class A:\n    def v(self):\n        return 1\n"
    make = "%%checkpoint make\nrows = [A()]"
    run_all(shell, define, make)

    run_all(shell, f"{define}other = 1", make)

    assert isinstance(shell.user_ns["rows"][0], shell.user_ns["A"])


def test_a_default_is_an_instance_of_the_one_class(shell: Any) -> None:
    define = "class Expression:\n    def v(self):\n        return 1\n"
    function = "%%checkpoint f\ndef differ(y, x=x):\n    return isinstance(y, type(x))"
    run_all(shell, define, "x = Expression()", function)
    restart(shell)

    run_all(shell, f"{define}other = 1", "x = Expression()", function)

    assert was_restored("f")
    assert shell.user_ns["differ"](shell.user_ns["x"])
    assert shell.user_ns["differ"](shell.user_ns["Expression"]())


def test_a_cell_that_changes_and_then_binds_is_run_for_who_holds_the_object_now(
    shell: Any,
) -> None:
    cell = "%%checkpoint c\na[0] = 1; a = [5]"
    run_all(shell, "a = [0]", cell)
    restart(shell)

    run_all(shell, "a = [0]; b = a", cell)

    assert shell.user_ns["b"] == [1]
    assert shell.user_ns["a"] == [5]


def test_who_holds_a_class_by_another_name_is_not_brought_back_with_it(shell: Any) -> None:
    make = "%%checkpoint make\nclass A:\n    def v(self):\n        return 1\nn = k"
    for number, cell in enumerate(("k = 1", make, "B = A", "k = 2", make)):
        run(shell, cell, cell_id="make" if cell == make else f"cell-{number}").raise_error()
    restart(shell)

    run(shell, "k = 2").raise_error()
    run(shell, make, cell_id="make").raise_error()

    assert "B" not in shell.user_ns


def test_a_dataclass_can_be_inherited_after_a_restart(shell: Any) -> None:
    define = "from dataclasses import dataclass, field\n@dataclass\nclass A:\n"
    run_all(shell, f"%%checkpoint a\n{define}    rows: list = field(default_factory=list)")
    restart(shell)
    run(shell, "%resume")

    run_all(shell, "@dataclass\nclass B(A):\n    n: int = 1\nb = B()")

    assert shell.user_ns["b"].rows == []


def test_a_member_that_repeats_its_base_s_stays_when_the_base_changes(shell: Any) -> None:
    run_all(shell, "%%checkpoint a\nclass A:\n    n = 2\nclass B(A):\n    n = 2")
    restart(shell)
    run(shell, "%resume")

    run_all(shell, "A.n = 5")

    assert shell.user_ns["B"].n == 2


def test_a_rewind_back_says_what_could_not_be_kept(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run_all(shell, "import re", "%%checkpoint one\na = 1", "found = re.finditer('a', 'banana')")
    run(shell, "%rewind one")
    capsys.readouterr()

    run(shell, "%rewind -")

    assert "found: " in capsys.readouterr().out


def test_a_function_whose_first_name_is_deleted_stays_under_the_other(shell: Any) -> None:
    run_all(
        shell,
        "held = [0]\nfirst = lambda: held\nother = first",
        "%%checkpoint gone\ndel first",
    )
    restart(shell)

    run(shell, "%resume")

    assert shell.user_ns["other"]() is shell.user_ns["held"]
    assert "first" not in shell.user_ns


def test_an_older_name_that_is_bound_to_a_function_is_restored_as_that_function(
    shell: Any,
) -> None:
    cells = (
        "%%checkpoint a\nolder = [1]\ntimes = lambda x: x * 2",
        "%%checkpoint b\nolder = times",
    )
    run_all(shell, *cells)

    run_all(shell, *cells)

    assert was_restored("b")
    assert shell.user_ns["older"] is shell.user_ns["times"]
