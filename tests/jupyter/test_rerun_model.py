"""Random notebooks: a rerun makes the namespace that running the cells in plain Python makes."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from nbckpt.jupyter.rerunning import rerun_in
from nbckpt.jupyter.shell import load, unload
from nbckpt.steps import current_session
from nbckpt.steps.execution.step_state import StepState

SETUP = """
import numpy as np
class Box:
    def __init__(self, v):
        self.v = v
def grow(x, n):
    x.append(n)
    return len(x)
k = 1
"""
LISTS, ARRAYS = "abcde", "uvw"


class Notebook:
    """Cells over few variables, written so that no statement of theirs raises."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.kinds: dict[str, str] = {}
        self.bodies: dict[str, str] = {}
        self.cells: list[tuple[str, str]] = [("marked", SETUP + "a = [1]")]
        self.kinds["a"] = "list"
        for _ in range(self.random.randint(3, 7)):
            count = self.random.randint(1, 3)
            source = "\n".join(self._statement() for _ in range(count))
            kind = self.random.choice(("marked", "marked", "marked", "plain", "block"))
            self.cells.append((kind, source))
        self.cells.append(("marked", f"last = {self._an('list')}[:1]"))

    def _an(self, kind: str) -> str:
        names = [n for n, k in self.kinds.items() if k == kind]
        return self.random.choice(names) if names else "a"

    def _statement(self) -> str:
        r, x, y, n = self.random, self._an("list"), self._an("list"), self.random.randint(0, 9)
        new = r.choice(LISTS)
        makes = {
            f"{new} = [{n}, k]": "list",
            f"{new} = {y}": "list",
            f"{new} = list({y})": "list",
            f"{new} = [{y}]": "list",
            f"{new} = [{y}, {x}]": "list",
            f"{new} = {y} if k > 3 else [{n}]": "list",
            f"{new} = {x}[:1] + [len({y})]": "list",
            f"box = Box({y})": "box",
            f"held = {{'h': {y}, 'n': {n}}}": "dict",
            f"pair = ({x}, {y})": "pair",
            f"f = lambda: {y}": "function",
            f"def g():\n    {x}.append(len({x}))\n    return {y}": "function",
            f"m = {x}.append": "method",
            f"{r.choice(ARRAYS)} = np.arange(4) * (k + {n})": "array",
        }
        does = [
            f"{x}.append({n})",
            f"{x}.append(k)",
            f"{x}[:] = [{n}]",
            f"{x} += [{n}]",
            f"grow({x}, {n})",
            f"if k > 3: {x}.append('big')",
            f"{x}, {y} = {y}, {x}",
            f"for i in range(2): {x}.append(i)",
            f"size = len({x}) + k",
            f"k = k + {n}",
        ]
        if "box" in self.kinds.values():
            does += [f"box.v.append({n})", f"box.v = {y}", f"{x}.append(len(box.v))"]
            makes[f"{new} = box.v"] = "list"
        if "dict" in self.kinds.values():
            does += [f"held['h'].append({n})", "held['k'] = k", f"held['h'] = {y}"]
            makes[f"{new} = held['h']"] = "list"
        if "pair" in self.kinds.values():
            does += [f"pair[0].append({n})"]
            makes[f"{new} = pair[1]"] = "list"
        if "function" in self.kinds.values():
            function = self._an("function")
            does += [f"{function}().append({n})"]
            makes[f"{new} = {function}()"] = "list"
        if "method" in self.kinds.values():
            does += [f"m({n})"]
        if "array" in self.kinds.values():
            u = self._an("array")
            does += [f"{u}[0] = {n}", f"{u} += k", f"{x}.append(int({u}[0]))"]
            makes[f"{r.choice(ARRAYS)} = {u}[:]"] = "array"
            makes[f"{r.choice(ARRAYS)} = {u} * 2"] = "array"
        lists = [name for name, kind in self.kinds.items() if kind == "list"]
        if len(lists) > 2 and r.random() < 0.05 and not self._is_needed(lists[-1]):
            del self.kinds[lists[-1]]
            return f"del {lists[-1]}"
        if r.random() < 0.5:
            statement = r.choice(list(makes))
            kind = makes[statement]
            name = statement.split(" = ")[0] if kind != "function" or "lambda" in statement else "g"
            self.kinds[name] = kind
            if kind == "function":
                self.bodies[name] = statement
            return statement
        return r.choice(does)

    def _is_needed(self, name: str) -> bool:
        """Functions that are there read it when they are called."""
        return any(re.search(rf"\b{name}\b", text) for text in self.bodies.values())


def without_what_takes_back(sources: list[str], name: str) -> list[str]:
    """The cells without those that do nothing but bind a variable anew that was given by hand."""
    left: list[str] = []
    for place, source in enumerate(sources):
        lines = source.splitlines()
        is_anew = any(re.match(rf"({name} =|{name}, |\w, {name} =|del {name})", n) for n in lines)
        derives = [re.match(rf"{name} = .*\b{name}\b", line) for line in lines]
        binds = [re.match(rf"{name} = [^(]*$", line) for line in lines]
        if all(binds) and not derives[0]:
            continue
        left.append(source)
        if is_anew and not all(d for d, n in zip(derives, lines, strict=True) if f"{name} =" in n):
            return [*left, *sources[place + 1 :]]
    return left


def typed(number: int, kind: str, source: str) -> str:
    """A cell as its user types it."""
    if kind == "marked":
        return f"%%checkpoint c{number}\n{source}"
    if kind == "plain":
        return source
    body = "\n".join("    " + line for line in source.splitlines())
    return f"import nbckpt\nwith nbckpt.checkpoint('b{number}'):\n{body}"


def in_python(cells: list[str]) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells:
        exec(cell, namespace)
    return namespace


def shape_of(namespace: dict[str, Any]) -> dict[str, object]:
    """What a namespace holds, with who shares what, as plain data."""
    seen: dict[int, int] = {}
    keep: list[object] = []

    def told(value: Any) -> object:
        if isinstance(value, int | str | float | np.integer):
            return value
        if isinstance(value, np.ndarray):
            base = value.base if value.base is not None else value
            return ("array", numbered(base), value.tolist())
        if id(value) in seen:
            return ("again", seen[id(value)])
        number = numbered(value)
        if isinstance(value, list | tuple):
            return (type(value).__name__, number, [told(v) for v in value])
        if isinstance(value, dict):
            return ("dict", number, [(k, told(v)) for k, v in value.items()])
        if type(value).__name__ == "Box":
            return ("box", number, told(value.v))
        if type(value).__name__ == "builtin_function_or_method":
            return ("method", told(value.__self__))
        if callable(value):
            return ("function", number, value.__code__.co_code.hex(), value.__code__.co_names)
        return ("other", type(value).__name__)

    def numbered(value: object) -> int:
        keep.append(value)
        return seen.setdefault(id(value), len(seen))

    names = [*LISTS, *ARRAYS, "box", "held", "pair", "f", "g", "m", "k", "size", "last"]
    return {name: told(namespace[name]) for name in names if name in namespace}


@pytest.fixture
def notebooks(shell: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Gives a shell with a new store and an empty namespace for each seed."""

    def begin(seed: int) -> Any:
        monkeypatch.setenv("NBCKPT_STORE", str(tmp_path / f"store-{seed}"))
        unload(shell)
        shell.reset(new_session=False)
        load(shell)
        return shell

    return begin


def check(shell: Any, seed: int) -> None:
    notebook = Notebook(seed)
    r = notebook.random
    sources = [source for _, source in notebook.cells]
    for number, (kind, source) in enumerate(notebook.cells):
        shell.run_cell(typed(number, kind, source), store_history=False).raise_error()
    marked = [i for i, (kind, _) in enumerate(notebook.cells) if kind == "marked"][:-1]
    at = r.choice(marked)
    value = r.choice(("k = 1", "k = 5", "k = 5", "a = [7, 7]", "", "grow(a, 3)"))
    session = current_session.session()
    way = r.choice(("fork", "rewind", "restart"))
    below = sources[at + 1 :]
    if way == "fork" and " = " in value:
        below = without_what_takes_back(below, value.split(" = ")[0])
    expected = in_python([*sources[: at + 1], value, *below])
    if way == "restart":
        unload(shell)
        shell.reset(new_session=False)
        load(shell)
        session = current_session.session()
    if way == "fork" and value and "=" in value:
        name, text = value.split(" = ")
        session.fork(f"c{at}", expressions={name: text})
    else:
        session.rewind(f"c{at}")
        if value:
            shell.run_cell(value, store_history=False).raise_error()

    cells = session.state(StepState).runner()._cells
    done = rerun_in(shell, cells, session, quiet=True)

    told = f"seed {seed}: after c{at} ({way} {value!r})\n{notebook_text(notebook)}\n{done.text()}"
    assert done.error is None, told
    expect(shell, expected, told)
    # What is there now is what the line of the rerun holds, in another kernel, too.
    session.checkpoint("end")
    unload(shell)
    shell.reset(new_session=False)
    load(shell)
    session = current_session.session()
    session.resume()
    expect(shell, expected, f"resumed, {told}")
    again = rerun_in(shell, session.state(StepState).runner()._cells, session, f"c{at}", quiet=True)
    assert again.error is None, f"again, {told}\n{again.text()}"
    expect(shell, expected, f"again, {told}\n{again.text()}")


def expect(shell: Any, expected: dict[str, Any], told: str) -> None:
    got, wanted = shape_of(shell.user_ns), shape_of(expected)
    assert got == wanted, f"{told}\n{differing(got, wanted)}"


def differing(got: dict[str, object], wanted: dict[str, object]) -> str:
    """The variables that are not as they should be."""
    names = sorted(n for n in {*got, *wanted} if got.get(n) != wanted.get(n))
    return "\n".join(f"{n}: {got.get(n)} instead of {wanted.get(n)}" for n in names)


def notebook_text(notebook: Notebook) -> str:
    return "\n".join(
        f"--- c{i} {kind}\n{source}" for i, (kind, source) in enumerate(notebook.cells)
    )


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 20, 10))
def test_a_rerun_makes_what_plain_python_makes(notebooks: Any, first: int) -> None:
    for seed in range(first, first + 10):
        check(notebooks(seed), seed)


@pytest.mark.long
@pytest.mark.parametrize("first", range(1000, 3000, 100))
def test_many_reruns_make_what_plain_python_makes(notebooks: Any, first: int) -> None:
    for seed in range(first, first + 100):
        check(notebooks(seed), seed)
