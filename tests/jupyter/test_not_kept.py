"""What could not be kept is absent after a restore, and definitions are one object a name."""

from __future__ import annotations

from typing import Any

import pytest

from nbckpt.steps import current_session
from nbckpt.steps.execution.step_state import StepState
from tests.jupyter.test_cells import restart, run

pytestmark = pytest.mark.sampled(7)


def run_all(shell: Any, *cells: str) -> None:
    for number, cell in enumerate(cells):
        run(shell, cell, cell_id=f"cell-{number}").raise_error()


def was_restored(name: str) -> bool:
    return not current_session.session().state(StepState).latest[name].todo


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


@pytest.mark.slow
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


def test_what_lies_on_a_bytearray_keeps_it_from_growing_after_a_restore(shell: Any) -> None:
    pytest.importorskip("numpy")
    cells = (
        "import numpy as np",
        "%%checkpoint made\nba = bytearray(b'abcd')\nseen = np.frombuffer(ba, dtype=np.uint8)",
    )
    run_all(shell, *cells)
    restart(shell)

    run_all(shell, *cells)

    assert was_restored("made")
    shell.user_ns["ba"][0] = 66
    assert shell.user_ns["seen"][0] == 66
    with pytest.raises(BufferError):
        shell.user_ns["ba"].append(1)


def test_a_bytearray_that_is_seen_by_now_is_grown_by_running(shell: Any) -> None:
    cells = (
        "%%checkpoint a\nba = bytearray(b'abcd')",
        "%%checkpoint b\nba += b'x'\nba = bytearray(b'abcd')\nseen = memoryview(ba)",
    )
    run_all(shell, *cells)

    assert isinstance(run(shell, cells[1], cell_id="cell-1").error_in_exec, BufferError)


@pytest.mark.slow
def test_data_classes_of_one_name_are_kept_apart(shell: Any) -> None:
    fields = "@dataclass\nclass A:\n    items: list = field(default_factory=list)"
    cells = (
        "from dataclasses import dataclass, field",
        f"%%checkpoint one\n{fields}",
        "%%checkpoint two\nr = A()\nB = A",
        f"%%checkpoint three\n{fields}",
    )
    run_all(shell, *cells)

    run_all(shell, *cells)

    assert type(shell.user_ns["r"]) is shell.user_ns["B"]
    assert shell.user_ns["B"] is not shell.user_ns["A"]


def test_a_class_that_others_hold_is_made_anew_by_its_cell(shell: Any) -> None:
    cells = ("%%checkpoint one\nclass A:\n    pass", "%%checkpoint two\nr = A()")
    run_all(shell, *cells)
    before = shell.user_ns["r"]

    run(shell, cells[0], cell_id="cell-0").raise_error()

    assert was_restored("one")
    assert not isinstance(before, shell.user_ns["A"])


@pytest.mark.slow
def test_a_name_for_the_class_of_an_instance_is_restored_as_that_class(shell: Any) -> None:
    cells = (
        "%%checkpoint a\no = type('Made', (), {'v': 5})()",
        "%%checkpoint b\nA = type(o)",
        "%%checkpoint c\nA = type(o)",
    )
    run_all(shell, *cells)
    restart(shell)

    run_all(shell, *cells)

    assert type(shell.user_ns["o"]) is shell.user_ns["A"]


def test_a_second_name_for_the_class_of_an_instance_stays_that_class(shell: Any) -> None:
    cells = (
        "%%checkpoint a\no = type('Made', (), {'v': 5})()",
        "%%checkpoint b\nA = type(o)",
        "%%checkpoint c\nB = type(o)",
    )
    run_all(shell, *cells)

    run(shell, cells[1], cell_id="cell-1").raise_error()

    assert was_restored("b")
    assert type(shell.user_ns["o"]) is shell.user_ns["A"] is shell.user_ns["B"]


def test_a_changed_class_stays_that_of_what_the_cell_names_anew(shell: Any) -> None:
    cells = (
        "%%checkpoint a\nclass B:\n    def v(self):\n        return 1\no = B()",
        "%%checkpoint b\nB.total = 0\nr = o",
    )
    run_all(shell, *cells)

    run_all(shell, *cells)

    assert shell.user_ns["r"] is shell.user_ns["o"]
    assert type(shell.user_ns["o"]) is shell.user_ns["B"]
    assert shell.user_ns["B"].total == 0


def test_a_class_changed_through_another_name_stays_where_that_names_another(shell: Any) -> None:
    add = "%%checkpoint add\nB.extra = 1\nB = 0"
    define = "class A:\n    items = []\n"
    run_all(shell, f"{define}B = A", add)
    assert shell.user_ns["A"].extra == 1

    run(shell, f"{define}B = A").raise_error()
    run(shell, define).raise_error()
    run(shell, add, cell_id="cell-1").raise_error()

    assert not hasattr(shell.user_ns["A"], "extra")


def test_a_function_bound_to_itself_stays_the_one_that_others_hold(shell: Any) -> None:
    define = "%%checkpoint a\ndef f(x):\n    return x + 5"
    again = "%%checkpoint b\nf = f"
    run_all(shell, define, again)

    run_all(shell, f"{define}\np = (f, f)", again)

    assert shell.user_ns["p"][0] is shell.user_ns["f"]


def test_a_default_is_what_the_name_in_it_holds(shell: Any) -> None:
    use = "%%checkpoint use\ndef f(x, held=d):\n    return x"
    run_all(shell, "odd = lambda: 7\n", "d = odd", use, "odd = 0")

    run(shell, use, cell_id="cell-2").raise_error()

    assert shell.user_ns["f"].__defaults__[0] is shell.user_ns["d"]


@pytest.mark.slow
def test_what_is_made_again_is_as_the_last_of_its_cells_left_it(shell: Any) -> None:
    cells = (
        "import re",
        "%%checkpoint made\nodd = re.finditer('a', 'banana')\na = [5]",
        "%%checkpoint used\nw = next(odd).start()\na.append(1)",
    )
    run_all(shell, *cells)
    restart(shell)
    run(shell, "%resume")
    run(shell, "%%checkpoint made\na = [5]", cell_id="cell-1").raise_error()

    run(shell, f"{cells[2]}\nlast = 1", cell_id="cell-2").raise_error()

    assert shell.user_ns["a"] == [5, 1]


def test_what_cannot_be_kept_goes_on_holding_what_a_rewind_leaves(shell: Any) -> None:
    run_all(
        shell,
        "b = [0, 2]",
        "%%checkpoint one\ng = (i for i in iter(b))",
        "%%checkpoint two\na = b",
    )
    b = shell.user_ns["b"]

    run(shell, "%rewind one")

    assert "a" not in shell.user_ns
    assert shell.user_ns["b"] is b


@pytest.mark.slow
def test_a_closure_that_another_variable_holds_through_a_third_is_made_anew(shell: Any) -> None:
    cells = (
        "%%checkpoint a\ndef pair():\n    held = [5]\n    return lambda: held\ninc = pair()\nf = 0",
        "%%checkpoint b\nimport functools\ndef f(x, held=inc):\n    return x\n"
        "p = functools.partial(f, 3)",
    )
    run_all(shell, *cells)
    before = shell.user_ns["p"].func.__defaults__[0]

    run(shell, cells[0], cell_id="cell-0").raise_error()

    assert shell.user_ns["p"].func.__defaults__[0] is before
    assert shell.user_ns["inc"] is not before


def test_what_shared_what_cannot_be_kept_goes_where_one_of_them_goes(shell: Any) -> None:
    run_all(
        shell,
        "import re",
        "%%checkpoint one\nodd = re.finditer('a', 'banana')\nq = (odd, odd)",
        "%%checkpoint two\np = (odd, odd)\nodd = [1]",
    )

    run(shell, "%rewind one")
    run(shell, "%%checkpoint two\np = (odd, odd)").raise_error()

    assert shell.user_ns.get("q", (shell.user_ns["odd"],))[0] is shell.user_ns["p"][0]


def test_what_refers_to_a_definition_that_goes_is_made_again_with_it(shell: Any) -> None:
    made = "def g(x, held=odd):\n    return x\npt = functools.partial(g, 300)\nboth = [pt]"
    run_all(
        shell,
        "import functools, re",
        f"%%checkpoint one\nodd = re.finditer('a', 'banana')\n{made}",
        "%%checkpoint two\nk = 1",
        "%%checkpoint three\nk = 2",
    )

    run(shell, "%rewind two")
    run(shell, "v = [g]").raise_error()

    assert eval("pt.func is g and both[0] is pt", shell.user_ns)


def test_a_fork_with_values_says_what_could_not_be_kept(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run_all(
        shell,
        "%%checkpoint one\ngen = (i for i in range(2))",
        "%%checkpoint two\ngen = (i for i in range(5))",
    )
    capsys.readouterr()

    run(shell, "%fork one other m=5")

    assert "not kept there, and gone: gen: generator" in capsys.readouterr().out
    assert "gen" not in shell.user_ns


def test_what_could_not_be_kept_is_not_said_to_be_left_where_it_never_was(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run_all(shell, "%%checkpoint one\ngen = (i for i in range(2))")
    restart(shell)
    capsys.readouterr()

    run(shell, "%resume")

    assert "not kept there: gen: generator" in capsys.readouterr().out


def test_what_cannot_be_kept_is_made_again_with_what_its_cell_makes_anew(shell: Any) -> None:
    cells = ("%%checkpoint a\nb = [1, 7]\nodd = (i for i in iter(b))", "%%checkpoint b\nj = [b]")
    run_all(shell, *cells)
    before = shell.user_ns["odd"]

    run(shell, cells[0], cell_id="cell-0").raise_error()

    assert shell.user_ns["j"][0] is not shell.user_ns["b"]
    assert shell.user_ns.get("odd") is not before


def test_a_class_of_restored_instances_is_lent_with_them(shell: Any) -> None:
    cells = (
        "%%checkpoint a\nclass B:\n    pass\nr = B()",
        "%%checkpoint b\nk = int(isinstance(r, B))\ngen = (i for i in range(9))",
        "%%checkpoint c\nimport itertools\nm = sum(itertools.islice(gen, 5))",
    )
    run_all(shell, *cells)
    restart(shell)

    run_all(shell, *cells)

    assert shell.user_ns["k"] == 1
    assert type(shell.user_ns["r"]) is shell.user_ns["B"]


def test_a_restored_class_has_the_bytes_that_it_had(shell: Any) -> None:
    define = "%%checkpoint a\nclass Kind:\n    def __init__(self, v=0):\n        self.v = v"
    run(shell, define, cell_id="cell-0").raise_error()
    before = current_session.session().workspace.capturer.kept_as("Kind")
    restart(shell)
    run(shell, define, cell_id="cell-0").raise_error()
    assert was_restored("a")

    session = current_session.session()
    session.workspace.tracker.touched(["Kind"])
    session.workspace.capturer.capture()

    assert before is not None
    assert session.workspace.capturer.kept_as("Kind") == before


def test_who_holds_a_function_that_is_made_anew_is_not_of_its_cell(shell: Any) -> None:
    make, anew = "f = lambda x: x * 1", "f = lambda x: x * 1\nprint('anew')"
    run(shell, "%nbckpt auto skip").raise_error()
    run_all(shell, make, "odd = open('/dev/null')\npair = (odd, f)", anew)
    odd = shell.user_ns["odd"]
    restart(shell)
    odd.close()
    run(shell, "%nbckpt auto skip").raise_error()

    run(shell, anew, cell_id="cell-2").raise_error()

    assert "pair" not in shell.user_ns


def test_another_name_of_a_function_that_was_restored_anew_is_that_function(shell: Any) -> None:
    cells = (
        "%%checkpoint one\nf = [1]",
        "%%checkpoint two\nf = lambda: (yield 1)",
        "%%checkpoint three\ng = f",
    )
    run_all(shell, *cells)

    run_all(shell, *cells)

    assert shell.user_ns["g"] is shell.user_ns["f"]


ODD = {
    "an archive of arrays": "import numpy as np; np.savez('z.npz', a=np.arange(3))\nodd = np.load('z.npz')",
    "tells nothing": "class A:\n    def __getattribute__(self, n): raise AttributeError(n)\nodd = A()",
    "raises": "class A:\n    def __getattribute__(self, n): raise ValueError(n)\nodd = A()",
    "has a class that raises": "class A:\n    @property\n    def __class__(self): raise OSError\n"
    "odd = A()",
    "leaves": "class A:\n    def __reduce_ex__(self, n): raise SystemExit(3)\nodd = A()",
    "a mock": "from unittest import mock\nodd = mock.MagicMock(), mock.Mock()",
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it is not closed
@pytest.mark.parametrize("source", ODD.values(), ids=ODD)
def test_an_odd_value_stops_no_keeping(
    source: str, shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run_all(shell, f"%%checkpoint odd\n{source}", "%%checkpoint after\nn = 1", "n, odd is None")

    assert "defect" not in capsys.readouterr().out
    assert was_restored("after") is False
    restart(shell)
    run(shell, "%%checkpoint after\nn = 1", cell_id="cell-1").raise_error()
    assert was_restored("after")


@pytest.mark.slow
def test_what_a_failed_cell_made_is_changed_once(shell: Any) -> None:
    cells = [
        "%%checkpoint one\nn = 8\nb = [2]",
        "%%checkpoint two\nb = [n]; 1 / 0",
        "%%checkpoint three\nb.append(3)\nodd = (i for i in iter(b))",
        "%%checkpoint four\nw = next(odd)",
    ]
    for _ in range(2):
        for number, cell in enumerate(cells):
            run(shell, cell, cell_id=f"cell-{number}")

    assert shell.user_ns["b"] == [8, 3]
    assert shell.user_ns["w"] == 8


MAKING = ["%%checkpoint one\nc = [1, 2]\nodd = (i for i in c)", "%%checkpoint two\nd = zip(c)"]


def test_what_shares_with_what_cannot_be_kept_is_made_again_with_it(shell: Any) -> None:
    run_all(shell, *MAKING)
    restart(shell)
    run(shell, "%resume")

    run(shell, "c.append(3)\nw = [*odd], [*d]")

    assert shell.user_ns["w"] == ([1, 2, 3], [(1,), (2,), (3,)])


@pytest.mark.slow
def test_a_copy_that_is_made_again_with_what_cannot_be_kept_is_told(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run_all(shell, *MAKING)
    restart(shell)
    run(shell, "%resume")
    run(shell, "other = (i for i in c)")
    capsys.readouterr()

    run(shell, "w = next(odd)")

    assert "made again with a copy of what 'c' holds" in capsys.readouterr().out


CLASS = "class A:\n    items = []\n    def __init__(self, v=0):\n        self.v = v\n"
GIVEN_ON = {
    "bound to itself": ("o = o", "A.extra = 3", "hasattr(o, 'extra')"),
    "changed by its class": (
        "r = A(9)\nclass A: pass\nr.items.append(1)", "n = 1", "o.items"
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", GIVEN_ON)
def test_an_instance_of_a_class_that_was_made_anew_stays_one_of_the_old(
    shell: Any, how: str
) -> None:
    using, changing, asked = GIVEN_ON[how]
    cells = [f"%%checkpoint one\n{CLASS}o = A(7)", f"%%checkpoint two\n{using}",
             f"%%checkpoint three\n{changing}"]  # fmt: skip
    run_all(shell, *cells)
    run(shell, "%rewind one")

    run_all(shell, f"%%checkpoint one\n{CLASS}", *cells[1:])

    assert not eval(asked, shell.user_ns)
    assert type(shell.user_ns["o"]) is not shell.user_ns["A"]
