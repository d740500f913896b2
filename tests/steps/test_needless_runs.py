"""Steps of notebooks in plain Python that ran again though nothing had changed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.notebooks import restart, run

EVALUATING = [
    "class Term:\n    def __init__(self, *parts): self.parts = parts\n"
    "    def __add__(self, other): return Term(self, other)",
    "x, y = Term(), Term()",
    "def first(term, x=x): return term",
    "first(x + 1, x)",
    "first(y + 1)",
    "def first(term, x=x): return [term, x][0]",
    "z = x + y",
    "def evaluated(text): return eval(text, {})",
    "value = evaluated('1')",
]


@pytest.mark.slow
def test_results_of_earlier_cells_are_no_inputs_of_one_that_evaluates_text(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = [f"%%checkpoint c{number}\n{source}" for number, source in enumerate(EVALUATING)]
    for cell in cells:
        run(shell, cell)
    restart(shell)
    capsys.readouterr()

    for cell in cells:
        run(shell, cell)

    said = capsys.readouterr().out
    assert [f"restored 'c{n}'" in said for n in range(len(cells))] == [True] * len(cells)


MADE_OF_A_CLASS = [
    "from collections import namedtuple\nPair = namedtuple('Pair', 'a, b')",
    "pairs = [Pair(1, 2), Pair(3, 4)]",
    "def turned(pair): return Pair(pair.b, pair.a)",
    "def many(n): return [turned(Pair(i, 0)) for i in range(n)]",
    "for pair in pairs: print(pair)",
    "one = pairs[1]\none, turned(one)",
    "{part: 1 for part in turned(one)}",
    "made = many(3)",
    "%time sum(pair.a for pair in made)",
]


@pytest.mark.slow
def test_a_class_is_looked_at_before_it_is_said_to_be_another(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = [f"%%checkpoint c{number}\n{source}" for number, source in enumerate(MADE_OF_A_CLASS)]
    for cell in cells:
        run(shell, cell)
    restart(shell)
    capsys.readouterr()

    for cell in cells:
        run(shell, cell)

    said = capsys.readouterr().out
    assert [f"restored 'c{n}'" in said for n in range(len(cells))] == [True] * len(cells)
