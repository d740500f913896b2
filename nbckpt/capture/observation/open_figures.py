"""Figures that stay open in pyplot and that no variable holds: a move names them.

Nothing keeps such a figure. The inline backend closes it with its cell; in a terminal, or while
drawing is off, it stays, and a cell may draw on it by ``plt.plot`` alone.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from nbckpt.capture.observation.observer import Bystander, Ran
from nbckpt.digests import Json
from nbckpt.fingerprint.user_names import is_user_name
from nbckpt.fingerprint.values.homes import module_of_class
from nbckpt.fingerprint.values.plain import ATOMS, levels_of
from nbckpt.runtime.addresses import by_id

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
        figures = dict(_open_figures())
        held = self._held() if figures else {}
        return {
            str(number): [_content(figure), self._drawn.get(number, (None, ""))[1]]
            for number, figure in figures.items()
            if id(figure) not in held
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

    def _held(self) -> dict[int, object]:
        """The figures of variables, by their ids."""
        values = [v for n, v in list(self._namespace.items()) if is_user_name(n)]
        return by_id(figure for value in values for figure in _on_figures(value))


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


def _on_figures(value: Any, levels: int = 3) -> Iterator[object]:
    """A variable that is a figure, the figure that it is on, or those of the elements it holds."""
    kind = type(value)
    if not levels or kind in ATOMS:
        return
    home = module_of_class(kind).partition(".")[0]
    if home in ("matplotlib", "mpl_toolkits", "seaborn"):
        yield from (value, getattr(value, "figure", None))
        return
    items: Iterable[object] = ()
    if kind is list or kind is tuple:
        items = value
    elif kind is dict:
        items = value.values()
    elif home == "numpy" and kind.__name__ == "ndarray" and value.dtype.hasobject:
        items = value.flat
    some = [*islice(items, _FEW)]
    if some and levels_of([some]) is None:  # else it is plain data
        for item in some:
            yield from _on_figures(item, levels - 1)
