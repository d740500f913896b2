"""Long lists and dicts to which cells add one element, beside one cloudpickle of all.

cloudpickle would write all of the value at each cell. Where the machine is slow all of them are:
compare within a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.bench.figures import Figure
from tests.bench.floors import pickle_of
from tests.bench.limits.everyday import around, pickled
from tests.bench.shells import Notebook

CLASS = "class P:\n    def __init__(self, a, b): self.a, self.b = a, b"
ELEMENTS = {
    "objects of a class": ("P(i, float(i))", 1.0),
    "dicts": ("{'a': i, 'b': str(i)}", 1.0),
    "tuples": ("(i, float(i), str(i))", 1.0),
    "strings": ("str(i) * 3", 1.0),
    "ints": ("i * 1000", 1.0),
}
"""What is in it, an expression of `i`, and the most that an addition may cost of cloudpickle."""

USUAL, QUICK, LARGE = 200_000, 5_000, 1_000_000


@dataclass(frozen=True, slots=True)
class _Container:
    """How a cell makes one, how a cell adds to it, and what the row is called."""

    made: str
    added: str
    label: str


LIST = _Container("[{} for i in range({})]", "rows.append({})", "one appended to {:,} {}")
DICT = _Container(
    "{{i: {} for i in range({})}}", "rows[-1 - i] = {}", "one added to a dict of {:,} {}"
)


def elements_appended(folder: Path, quick: bool) -> list[Figure]:
    """Lists."""
    return _figures(folder, LIST, QUICK if quick else USUAL, 2 if quick else 4)


def entries_added(folder: Path, quick: bool) -> list[Figure]:
    """Dicts."""
    return _figures(folder, DICT, QUICK if quick else USUAL, 2 if quick else 4)


def elements_appended_large(folder: Path, quick: bool) -> list[Figure]:
    """Lists of 1,000,000."""
    return _figures(folder, LIST, 2 * QUICK if quick else LARGE, 2 if quick else 4)


def entries_added_large(folder: Path, quick: bool) -> list[Figure]:
    """Dicts of 1,000,000."""
    return _figures(folder, DICT, 2 * QUICK if quick else LARGE, 2 if quick else 4)


def _figures(folder: Path, container: _Container, count: int, runs: int) -> list[Figure]:
    notebook = Notebook(folder)
    notebook.run(CLASS)
    figures = []
    for name, (element, at_most) in ELEMENTS.items():
        notebook.run(f"rows = {container.made.format(element, count)}")
        change = eval(element, {**notebook.shell.user_ns, "i": count})
        floor = pickle_of(f"one of the {name}", change)
        escaped = container.added.format(element).replace("{", "{{").replace("}", "}}")
        took = around(notebook, f"i = {{n}}; {escaped}", runs)
        peer = pickled(notebook, "rows")
        label = container.label.format(count, name)
        ratio = median(took) / median(peer)
        figures += [
            Figure(label, "s", took, floor=floor),
            Figure(f"cloudpickle of all: {label}", "s", peer),
            Figure(f"{label} / cloudpickle of all", "x", [ratio], at_most),
        ]
    return figures
