"""Figures that stay open in pyplot and that no variable holds: a move names them.

Nothing keeps such a figure. The inline backend closes it with its cell; in a terminal, or while
drawing is off, it stays, and a cell may draw on it by ``plt.plot`` alone.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from nbckpt.capture.observation.observer import Bystander, Ran
from nbckpt.digests import Json
from nbckpt.fingerprint.user_names import is_user_name
from nbckpt.fingerprint.values.homes import module_of_class

_FEW = 1_000


class OpenFigures(Bystander):
    """The facet of figures that pyplot alone holds.

    Parameters
    ----------
    namespace
        The live variables.

    Attributes
    ----------
    unset
        The figures that were other ones, or drawn otherwise, at the moment of the last move.
    """

    name = "open figures"

    def __init__(self, namespace: Mapping[str, object]) -> None:
        self._namespace = namespace
        self._drawn: dict[int, tuple[Json, str]] = {}
        self.unset: tuple[str, ...] = ()

    def cell_ends(self, tree: ast.Module) -> None:
        """Take note of the code that drew what is new of a figure."""
        figures = dict(_open_figures())
        self._drawn = {n: self._drawn[n] for n in figures if n in self._drawn}
        for number, figure in figures.items():
            content = _content(figure)
            if self._drawn.get(number, (None, ""))[0] != content:
                self._drawn[number] = content, ast.unparse(tree).partition("\n")[0]

    def open(self) -> object:
        """Nothing: steps are not compared."""
        return None

    def close(self, window: object, ran: Ran) -> Json:  # noqa: ARG002
        """Nothing."""
        return None

    def difference(self, observed: Json, ran: Ran) -> str | None:  # noqa: ARG002
        """Nothing: a cell that draws on such a figure is not known to depend on it."""
        return None

    def standing(self) -> Json:
        """Number of each such figure → what is on it, and the code that drew it last."""
        return {
            str(number): [_content(figure), self._drawn.get(number, (None, ""))[1]]
            for number, figure in _open_figures()
            if not self._is_held(figure)
        } or None

    def go_to(self, standing: Json) -> Sequence[str]:
        """Name the figures that are not open now as they were then."""
        wanted: Any = standing or {}
        now = {str(number): _content(figure) for number, figure in _open_figures()}
        self.unset = tuple(
            f"figure {number} of pyplot, which no variable holds: run the cell that draws it, "
            f"`{line}`"
            for number, (content, line) in wanted.items()
            if now.get(number) != content
        )
        return ()

    def _is_held(self, figure: object) -> bool:
        values = (v for n, v in list(self._namespace.items()) if is_user_name(n))
        return any(_is_of(value, figure) for value in values)


def _open_figures() -> Iterator[tuple[int, Any]]:
    """The figures that pyplot manages, by their numbers."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    for number, manager in list(getattr(getattr(helpers, "Gcf", None), "figs", {}).items()):
        yield number, manager.canvas.figure


def _content(figure: Any) -> Json:
    """The kinds of all that is drawn on a figure, and the limits of the data of its axes."""
    return [
        [str(axes.dataLim.bounds), *(type(child).__name__ for child in axes.get_children())]
        for axes in figure.axes
    ]


def _is_of(value: object, figure: object, levels: int = 3) -> bool:
    """True if a variable is a figure or something on it, or a container of such."""
    if not levels:
        return False
    kind = type(value)
    if module_of_class(kind).partition(".")[0] in ("matplotlib", "mpl_toolkits", "seaborn"):
        return value is figure or getattr(value, "figure", None) is figure
    if kind is list or kind is tuple:
        return any(_is_of(item, figure, levels - 1) for item in islice(value, _FEW))  # type: ignore[call-overload]
    if kind is dict:
        return any(_is_of(item, figure, levels - 1) for item in islice(value.values(), _FEW))  # type: ignore[attr-defined]
    if module_of_class(kind) == "numpy" and kind.__name__ == "ndarray" and value.dtype.hasobject:  # type: ignore[attr-defined]
        return any(_is_of(item, figure, levels - 1) for item in islice(value.flat, _FEW))  # type: ignore[attr-defined]
    return False
