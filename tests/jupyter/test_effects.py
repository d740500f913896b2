"""A restored cell changes what the cell changed, and nothing else."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import nbckpt
from nbckpt.steps import current_session
from nbckpt.steps.execution.step_state import StepState
from tests.jupyter.test_cells import restart, run


def run_all(shell: Any, *cells: str) -> None:
    for cell in cells:
        run(shell, cell).raise_error()


def was_restored(name: str) -> bool:
    return not current_session.session().state(StepState).latest[name].todo


def test_variables_that_only_share_are_left_alone(shell: Any) -> None:
    prep = "%%checkpoint prep\nprep = data"
    run_all(shell, "data = [1, 2]", "cache = {'data': data}", prep)
    restart(shell)

    run_all(shell, "data = [1, 2]", "cache = 'mine'", prep)

    assert shell.user_ns["cache"] == "mine"
    assert shell.user_ns["prep"] is shell.user_ns["data"]


def test_what_was_never_made_here_does_not_appear(shell: Any) -> None:
    prep = "%%checkpoint prep\nprep = [data]"
    run_all(shell, "data = [1, 2]; other = [data]", prep)
    restart(shell)

    run_all(shell, "data = [1, 2]", prep)

    assert "other" not in shell.user_ns
    assert shell.user_ns["prep"][0] is shell.user_ns["data"]


def test_an_alias_of_a_live_variable_is_one_again(shell: Any) -> None:
    prep = "%%checkpoint prep\nprep = data"
    run_all(shell, "data = [1, 2]; holder = {'d': data}", prep)
    restart(shell)

    run_all(shell, "data = [1, 2]; holder = {'d': data}", prep)

    assert was_restored("prep")
    assert shell.user_ns["holder"]["d"] is shell.user_ns["data"] is shell.user_ns["prep"]


def test_a_change_in_place_is_seen_by_whoever_holds_the_object_now(shell: Any) -> None:
    fit = "%%checkpoint fit\nm.append(2)"
    run_all(shell, "m = [1]", fit)
    restart(shell)

    run_all(shell, "m = [1]", "held = {'m': m}", fit)

    assert shell.user_ns["m"] == [1, 2]
    assert shell.user_ns["held"]["m"] is shell.user_ns["m"]


def test_a_change_in_place_that_others_held_then_too_is_restored(shell: Any) -> None:
    fit = "%%checkpoint fit\nm.append(2)"
    run_all(shell, "m = [1]; held = {'m': m}", fit)
    restart(shell)

    run_all(shell, "m = [1]; held = {'m': m}", fit)

    assert was_restored("fit")
    assert shell.user_ns["m"] == [1, 2]
    assert shell.user_ns["held"]["m"] is shell.user_ns["m"]


def test_a_variable_bound_anew_is_restored_beside_the_old_object(shell: Any) -> None:
    clean = "%%checkpoint clean\nrows = [r for r in rows if r]"
    run_all(shell, "rows = [0, 1]; raw = rows", clean)
    restart(shell)

    run_all(shell, "rows = [0, 1]; raw = rows", clean)

    assert was_restored("clean")
    assert shell.user_ns["rows"] == [1]
    assert shell.user_ns["raw"] == [0, 1]


@pytest.mark.slow
def test_running_all_twice_keeps_instances_of_their_class(shell: Any) -> None:
    cells = (
        "%%checkpoint h\nclass A:\n    k = 1",
        "%%checkpoint i\na = A()",
        "%%checkpoint j\nok = isinstance(a, A)",
    )
    run_all(shell, *cells, "seen = isinstance(a, A)")

    run_all(shell, *cells, "seen = isinstance(a, A)")

    assert shell.user_ns["ok"]
    assert shell.user_ns["seen"]
    assert was_restored("j")


def test_inputs_that_share_an_object_are_other_inputs(shell: Any) -> None:
    cell = "%%checkpoint c\na.append(2); c = len(b)"
    run_all(shell, "a = [1]; b = a", cell)
    restart(shell)

    run_all(shell, "a = [1]; b = list(a)", cell)

    assert shell.user_ns["c"] == 1
    assert any(
        "share an object" in why
        for why in current_session.session().state(StepState).latest["c"].why
    )


def test_what_a_cell_deletes_is_deleted_when_it_is_restored(shell: Any) -> None:
    cell = "%%checkpoint prep\nprep = 1; tmp = 1; del tmp"
    run_all(shell, cell)
    restart(shell)

    run_all(shell, "tmp = 5", cell)

    assert was_restored("prep")
    assert "tmp" not in shell.user_ns


def test_unseeded_numbers_are_not_restored_once_there_is_a_seed(shell: Any) -> None:
    draw = "%%checkpoint draw\nx = random.random()"
    run_all(shell, "import random", draw)
    restart(shell)

    run_all(shell, "import random\nrandom.seed(0)", draw)

    assert shell.user_ns["x"] == 0.8444218515250481


def test_unseeded_numbers_are_restored_while_there_is_no_seed(shell: Any) -> None:
    cells = (
        "import random",
        "%%checkpoint draw\nx = random.random()",
        "%%checkpoint again\ny = random.random()",
    )
    run_all(shell, *cells)
    drawn = shell.user_ns["x"], shell.user_ns["y"]
    restart(shell)

    run_all(shell, *cells)

    assert (shell.user_ns["x"], shell.user_ns["y"]) == drawn


def test_a_seed_in_a_helper_counts(shell: Any) -> None:
    helper = "import random\ndef prepare(n):\n    set_all(n)\ndef set_all(n):\n    random.seed(n)"
    draw = "%%checkpoint draw\nx = random.random()"
    run_all(shell, helper, "prepare(1)", draw)
    restart(shell)

    run_all(shell, helper, "prepare(2)", draw)

    assert shell.user_ns["x"] == pytest.approx(0.9560342718892494)


@pytest.mark.slow
def test_a_function_that_seeds_and_was_not_called_yet_has_seeded_nothing(shell: Any) -> None:
    cells = (
        "import random",
        "1",  # another look at where the generator stands
        "def made(n):\n    random.seed(n)\n    return random.random()",
        "%%checkpoint first\nx = made(1)",
        "%%checkpoint second\ny = random.random()",
    )
    run_all(shell, "%nbckpt auto on", *cells)
    restart(shell)

    run_all(shell, "%nbckpt auto on", *cells)

    assert was_restored("first")
    assert was_restored("second")
    run_all(shell, "%%checkpoint first\nx = made(2)", cells[-1])
    assert not was_restored("second")
    assert shell.user_ns["y"] == drawn_after(2)


def drawn_after(seed: int) -> float:
    """The second number of a generator."""
    generator = random.Random(seed)
    generator.random()
    return generator.random()


@pytest.mark.slow
def test_a_cell_that_failed_and_is_repeated_has_the_inputs_of_its_repetition(shell: Any) -> None:
    cell = (
        "%%checkpoint c\nxs.append(1)\nimport os\n"
        "if os.path.exists('stop'):\n    raise RuntimeError('stop')"
    )
    Path("stop").touch()
    run_all(shell, "xs = []")
    run(shell, cell)
    Path("stop").unlink()
    run_all(shell, cell)
    restart(shell)

    run_all(shell, "xs = []", cell)

    assert shell.user_ns["xs"] == [1]


def test_a_cached_function_of_the_notebook_comes_back_as_it_was(shell: Any) -> None:
    define = "from functools import lru_cache\n@lru_cache\ndef v(n):\n    return {!r}"
    run_all(shell, define.format("old"), "%checkpoint a", define.format("new"), "%checkpoint b")

    run_all(shell, "%rewind a", "x = v(1)")

    assert shell.user_ns["x"] == "old"
    assert shell.user_ns["v"].cache_info().misses == 1


def test_a_branch_that_was_rewound_moves_up_with_restored_cells(shell: Any) -> None:
    cells = ("%%checkpoint one\nx = 1", "%%checkpoint two\ny = x + 1")
    run_all(shell, *cells, "%rewind one")
    restart(shell)

    run_all(shell, *cells)

    head = current_session.session().position.head
    assert head is not None
    assert head.name == "two"


def test_a_value_comes_with_its_class_whether_that_was_asked_for_or_not(shell: Any) -> None:
    define = "class Base:\n    pass\nclass K(Base):\n    def __init__(self):\n        self.n = 1"
    run_all(shell, define, "%%checkpoint make --vars k\nk = K(); other = 1")
    restart(shell)

    run_all(shell, "%resume")

    assert shell.user_ns["k"].n == 1
    assert isinstance(shell.user_ns["k"], shell.user_ns["Base"])
    assert "other" not in shell.user_ns


@pytest.mark.slow
def test_instances_that_a_function_made_are_of_the_live_class(shell: Any) -> None:
    cells = (
        "class A:\n    def __init__(self):\n        self.d = 0",
        "def mk():\n    return [A()]",
        "%%checkpoint c\nxs = mk()",
        "same = isinstance(xs[0], A)",
    )
    run_all(shell, *cells)
    run_all(shell, *cells)
    again = shell.user_ns["same"]
    restart(shell)

    run_all(shell, *cells)

    assert again
    assert shell.user_ns["same"]


def test_a_class_that_shares_is_the_live_one_too(shell: Any) -> None:
    cells = (
        "reg = []\nclass A:\n    reg = reg\n    def go(self):\n        pass\ndef mk():\n    return [A()]",
        "%%checkpoint c\nxs = mk()",
        "same = isinstance(xs[0], A)",
    )
    run_all(shell, *cells)
    restart(shell)

    run_all(shell, *cells)

    assert shell.user_ns["same"]


def test_a_class_changed_in_place_is_still_that_of_its_instances(shell: Any) -> None:
    cells = (
        "class A:\n    n = 0",
        "a = A()",
        "%%checkpoint c\nA.n = 5",
        "n = a.n, isinstance(a, A)",
    )
    run_all(shell, *cells)
    restart(shell)

    run_all(shell, *cells)

    assert shell.user_ns["n"] == (5, True)


def test_a_generator_that_holds_what_a_cell_changes_sees_the_change(shell: Any) -> None:
    cells = ("m = [1]\ng = (i for i in m)", "%%checkpoint fit\nm.append(2)", "seen = list(g)")
    run_all(shell, *cells)
    restart(shell)

    run_all(shell, *cells)

    assert shell.user_ns["seen"] == [1, 2]


@pytest.mark.slow
@pytest.mark.parametrize("now", ["reg = {'m': [1]}", "reg = 5", "reg = {'m': m, 'more': 1}"])
def test_what_shared_then_and_does_not_now_is_left_alone(shell: Any, now: str) -> None:
    fit = "%%checkpoint fit\nm.append(2)"
    run_all(shell, "m = [1]", "reg = {'m': m}", fit)
    restart(shell)

    run_all(shell, "m = [1]", now, fit)

    assert shell.user_ns["m"] == [1, 2]
    expected = {"reg = {'m': [1]}": {"m": [1]}, "reg = 5": 5}
    assert shell.user_ns["reg"] == expected.get(now, {"m": [1, 2], "more": 1})


def test_what_shared_then_and_is_not_there_now_does_not_appear(shell: Any) -> None:
    fit = "%%checkpoint fit\nm.append(2)"
    run_all(shell, "m = [1]", "reg = {'m': m}", fit)
    restart(shell)

    run_all(shell, "m = [1]", fit)

    assert shell.user_ns["m"] == [1, 2]
    assert "reg" not in shell.user_ns


@pytest.mark.parametrize(
    ("made", "held"),
    [
        ("def g(x, h=v): return x", "g.__defaults__[0]"),
        ("class g: h = v", "g.h"),
        ("import functools\ng = functools.partial(len, v)", "g.args[0]"),
        ("class A: pass\ng = A(); g.h = v", "g.h"),
    ],
)
def test_what_a_changed_definition_held_then_stays_another_now(
    shell: Any, made: str, held: str
) -> None:
    cells = ("%%checkpoint b\ng.calls = 5", "%%checkpoint c\ng.calls = g.calls + 1")
    run_all(shell, f"%%checkpoint a\nv = [0]\n{made}", *cells)

    run_all(shell, "%%checkpoint a\nv = [0]", *cells)

    assert eval(f"g.calls == 6 and {held} == [0] and {held} is not v", shell.user_ns)


def test_what_is_bound_to_itself_stays_what_instances_are_of(shell: Any) -> None:
    cell = "%%checkpoint b\nB = B\nclass A(B):\n    more = 1"
    run_all(shell, "class B:\n    pass", cell, "o = A()", cell)

    assert eval("type(o) is not A and type(o).__base__ is A.__base__ is B", shell.user_ns)


@pytest.mark.slow
@pytest.mark.parametrize("change", ["helped.CONFIG['k'] = 5", "helped.REG.append(1)"])
def test_a_cell_that_changes_a_module_runs(shell: Any, change: str) -> None:
    import sys

    Path("helped.py").write_text("CONFIG = {'k': 1}\nREG = []\ndef f():\n    return CONFIG, REG\n")
    path = f"import sys\nsys.path.insert(0, {str(Path.cwd())!r})"
    cell = f"%%checkpoint a\nimport helped\n{change}\nx = 1"
    run_all(shell, path, cell, "y = helped.f()")
    expected = repr(shell.user_ns["y"])
    del sys.modules["helped"]
    restart(shell)

    run_all(shell, path, cell, "y = helped.f()")

    assert repr(shell.user_ns["y"]) == expected
    del sys.modules["helped"]


def test_an_alias_is_not_made_of_one_of_two_that_share_no_longer(shell: Any) -> None:
    cell = "%%checkpoint named\nalias = holder['a']"
    run(shell, "a = [1]\nholder = {'a': a}")
    run(shell, cell)
    run(shell, "del alias\nholder = {'a': [1]}\na = [1]")

    run(shell, cell)

    names = shell.user_ns
    assert names["alias"] is names["holder"]["a"]
    assert names["alias"] is not names["a"]


@pytest.mark.slow
def test_an_alias_shares_after_a_restart_as_it_did(shell: Any, capsys: Any) -> None:
    cells = ["%%checkpoint c0\na = [0]", "%%checkpoint c1\nb = a", "%%checkpoint c2\na.append(2)"]
    for cell in cells:
        run(shell, cell)
    run(shell, "%reset -f")
    run(shell, "%reload_ext nbckpt")
    capsys.readouterr()

    for cell in cells:
        run(shell, cell)

    assert capsys.readouterr().out.count("restored") == 3
    assert shell.user_ns["b"] is shell.user_ns["a"]
    assert shell.user_ns["b"] == [0, 2]


def test_a_class_that_is_changed_through_an_instance_is_captured(shell: Any) -> None:
    run(shell, "%nbckpt auto on")
    run(shell, "class Item:\n    seen = []\n    count = 0\nitem = Item()")
    run(shell, "item.seen.append(1)\ntype(item).count = 5")
    made = nbckpt.history()[0]
    run(shell, "item.seen.append(2)\ntype(item).count = 6")

    nbckpt.rewind(made.id)

    item = shell.user_ns["item"]
    assert isinstance(item, shell.user_ns["Item"])
    assert (item.seen, item.count) == ([1], 5)


@pytest.mark.slow
def test_what_a_cell_got_from_a_function_that_it_defined_anew_is_the_same_object(
    shell: Any,
) -> None:
    cells = (
        "%%checkpoint one\nc = [1]\nf = lambda: c",
        "%%checkpoint two\nd = f()\nf = lambda: d",
    )
    run_all(shell, *cells)
    restart(shell)

    run_all(shell, *cells)

    assert was_restored("two")
    assert shell.user_ns["d"] is shell.user_ns["c"]


@pytest.mark.parametrize(
    "plain",
    [
        "d = f(); f = lambda: d",
        "import nbckpt\nd = f(); f = lambda: d\nwith nbckpt.checkpoint('block'):\n    n = 1",
        "import nbckpt\nwith nbckpt.checkpoint('block'):\n    n = 1\nd = f(); f = lambda: d",
    ],
)
def test_what_a_joined_cell_did_by_a_function_that_it_defined_anew_is_kept(
    shell: Any, capsys: Any, plain: str
) -> None:
    one = "%%checkpoint one\nc = [1]\ndef f():\n    c.append(2)\n    return c"
    run_all(shell, one, plain, "%%checkpoint two\nm = 2")
    restart(shell)

    current_session.session().resume()

    assert shell.user_ns["c"] == [1, 2]
    assert shell.user_ns["d"] is shell.user_ns["c"]
    assert "something other than a cell" not in "".join(capsys.readouterr())


@pytest.mark.slow
def test_a_cell_that_only_changes_who_shares_what_does_so_when_it_is_restored(shell: Any) -> None:
    cells = (
        "%%checkpoint one\na = [1]\nheld = {'h': [1]}",
        "%%checkpoint two\nheld['h'] = a",
    )
    run_all(shell, *cells)
    restart(shell)

    run_all(shell, *cells)

    assert shell.user_ns["held"]["h"] is shell.user_ns["a"]


def test_who_holds_a_function_holds_what_that_holds(shell: Any) -> None:
    cells = (
        "%%checkpoint first\no = [5]",
        "%%checkpoint second\nE = [o]\ndef f(o=o, p=E): pass",
        "%%checkpoint third\ndef g(held=f): return held.__defaults__[0]",
    )
    run_all(shell, *cells)

    run(shell, cells[1]).raise_error()
    run(shell, "o.append(6); held = g()").raise_error()

    assert shell.user_ns["held"] == shell.user_ns["E"][0] == [5, 6]


def test_a_name_bound_to_itself_is_tied_to_nothing(shell: Any) -> None:
    first, last = "%%checkpoint first\na = [1]", "%%checkpoint last\na = a"
    run_all(shell, first, "b = a", last)

    run_all(shell, first, "pass", last)

    assert shell.user_ns["a"] == shell.user_ns["b"] == [1]
    assert shell.user_ns["a"] is not shell.user_ns["b"]


RELATIVES = {
    "a function that a partial holds": (
        ["import functools\ndef f(x): return x\npt = functools.partial(f, 1)",
         "box = f\nk = pt()\ndef f(x): return x + 1"], None, "pt.func is box",
    ),
    "a class that has got a name": (
        ["o = type('Made', (), {'v': 1})()", "r = type(o)()"], (0, "B = type(o)"),
        "type(o) is type(r) is B",
    ),
    "a class that has got another name": (
        ["class B: pass\nr = B()", "pass", "class B: x = 1", "r.held = B"], (1, "A = B"),
        "type(r) is A",
    ),
    "a closure's other function": (
        ["def pair():\n    held = [1]\n    return (lambda: held), (lambda: held.append(2))\n"
         "dec, inc = pair()", "v = [dec]\ninc = 1", "def g(held=v): return held[0]()\ndec = 2"],
        (1, "v = [dec]"), "inc() or g()",
    ),
    "an attribute of a function that is not kept": (
        ["gen = (i for i in range(2))\ndef g(held=gen): pass",
         "g.calls = getattr(g, 'calls', 0) + 1"], None, "g.calls",
    ),
}  # fmt: skip
"""Cells, one that is edited before they run again, and what must be as in a plain run."""


@pytest.mark.slow
@pytest.mark.parametrize(("cells", "edit", "ask"), RELATIVES.values(), ids=RELATIVES)
def test_what_was_one_object_is_one_after_a_second_run(
    cells: list[str], edit: tuple[int, str] | None, ask: str, shell: Any
) -> None:
    from IPython.core.interactiveshell import InteractiveShell

    again = [edit[1] if edit and i == edit[0] else cell for i, cell in enumerate(cells)]
    plain = InteractiveShell()
    for cell in (*cells, *again):
        run(plain, cell).raise_error()
    run(shell, "%nbckpt auto skip").raise_error()

    run_all(shell, *cells)
    run_all(shell, *again)
    run(shell, f"asked = {ask}").raise_error()
    run(plain, f"asked = {ask}").raise_error()

    assert shell.user_ns["asked"] == plain.user_ns["asked"]


@pytest.mark.slow
def test_an_address_is_never_that_of_an_earlier_object(shell: Any) -> None:
    cells = (
        "%%checkpoint first\nimport ctypes\nrows = [1]\nat = id(rows)",
        "%%checkpoint second\nctypes.cast(at, ctypes.py_object).value.append(2)",
    )
    run_all(shell, *cells)

    run_all(shell, *cells)

    assert shell.user_ns["rows"] == [1, 2]
    restart(shell)
    run_all(shell, *cells)
    assert shell.user_ns["rows"] == [1, 2]


@pytest.mark.slow
def test_nobody_else_is_said_to_have_changed_what_holds_a_deleted_function(
    shell: Any, capsys: Any
) -> None:
    cells = ["%nbckpt auto skip", "def f(): return 1\nl = [f]", "del f", "l[0]()", "l.append(2)"]
    run_all(shell, *cells)
    restart(shell)

    run_all(shell, *cells)

    assert shell.user_ns["l"][1:] == [2]
    assert "something other than a cell" not in "".join(capsys.readouterr())
