"""A small notebook, a second version of it, and the question that tells whether it is right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

CELL_BREAK = "\n---\n"
"""Stands between two cells in the text of a notebook."""


@dataclass(frozen=True)
class SmallNotebook:
    """Cells that are run, then run again: as they are, or with one of them edited.

    Attributes
    ----------
    cells
        The first version.
    edited
        The second version; the same cells if nothing is edited.
    probe
        An expression whose `repr` after the last cell must be that of a plain run.
    files
        Text by name: what lies in the working folder before the first run.
    outside
        Statements of another program, run between the two runs in the working folder.
    is_last_affected
        Whether what the last cell does can differ in the second version.
    """

    category: str
    name: str
    cells: tuple[str, ...]
    edited: tuple[str, ...]
    probe: str = "y"
    files: Mapping[str, str] = field(default_factory=dict)
    outside: str = ""
    is_last_affected: bool = True

    @property
    def key(self) -> str:
        """Category and name: what the command line and the tests call it."""
        return f"{self.category}/{self.name}"

    @property
    def is_unchanged(self) -> bool:
        """Whether nothing differs in the second run."""
        return self.cells == self.edited and not self.outside


def cells_of(text: str) -> tuple[str, ...]:
    """The cells of a text in which a line ``---`` stands between two."""
    return tuple(text.strip("\n").split(CELL_BREAK))


class Category:
    """The small notebooks of one category, as its module adds them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.notebooks: list[SmallNotebook] = []

    def unchanged(
        self, name: str, text: str, probe: str = "y", *, files: Mapping[str, str] | None = None
    ) -> None:
        """Add a notebook that is run a second time as it is."""
        self.add(SmallNotebook(self.name, name, *(cells_of(text),) * 2, probe, files or {}))

    def edit(
        self,
        name: str,
        text: str,
        old: str,
        new: str,
        probe: str = "y",
        *,
        files: Mapping[str, str] | None = None,
        is_last_affected: bool = True,
    ) -> None:
        """Add a notebook whose second version has `new` in place of `old`.

        Raises
        ------
        ValueError
            If `old` does not stand in the text exactly once.
        """
        if text.count(old) != 1:
            message = f"{self.name}/{name}: {old!r} stands {text.count(old)} times in it"
            raise ValueError(message)
        first, second = cells_of(text), cells_of(text.replace(old, new))
        self.add(
            SmallNotebook(
                self.name,
                name,
                first,
                second,
                probe,
                files or {},
                is_last_affected=is_last_affected,
            )
        )

    def outside(
        self,
        name: str,
        text: str,
        statements: str,
        probe: str = "y",
        *,
        files: Mapping[str, str] | None = None,
    ) -> None:
        """Add a notebook between whose runs another program runs `statements`."""
        cells = cells_of(text)
        self.add(SmallNotebook(self.name, name, cells, cells, probe, files or {}, statements))

    def setting(
        self, name: str, before: str, old: str, new: str, use: str, probe: str = "y"
    ) -> None:
        """Add a notebook of three cells, of which the middle one is edited."""
        first = tuple(filter(None, (before, old, use)))
        second = tuple(filter(None, (before, new, use)))
        self.add(SmallNotebook(self.name, name, first, second, probe))

    def add(self, notebook: SmallNotebook) -> None:
        """Add a notebook that is ready."""
        self.notebooks.append(notebook)


def by_key(categories: Iterable[Category]) -> dict[str, SmallNotebook]:
    """All notebooks of some categories.

    Raises
    ------
    ValueError
        If two have one key.
    """
    found: dict[str, SmallNotebook] = {}
    for notebook in (n for category in categories for n in category.notebooks):
        if notebook.key in found:
            message = f"two small notebooks are called {notebook.key}"
            raise ValueError(message)
        found[notebook.key] = notebook
    return found
