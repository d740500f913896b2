"""Cells that set up what no checkpoint brings back: servers, connections, what leans on them.

After a resume their values are absent, or point to what died with the kernel: an address in
``os.environ``, a client that was made with it. Code that runs next need not name any of it, so the
cells are proposed to run again, before the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nbckpt.fingerprint.code import names_of_tree
from nbckpt.jupyter.notebook.documents import Written
from nbckpt.model import Checkpoint
from nbckpt.session.history.recorded_cells import parsed
from nbckpt.session.history.summaries import user_names
from nbckpt.steps.remake.makers import makers_before
from nbckpt.steps.remake.outside_effects import effect_of

if TYPE_CHECKING:
    from nbckpt.session.session import Session
    from nbckpt.session.workspace.unkept import Maker

QUICK_S = 5.0
"""A cell that took longer runs again only where somebody says so, or needs it."""

_DEFINITIONS = frozenset({"module", "type", "function", "builtin_function_or_method"})
"""Types of values that are the same when their cell runs again."""


class Setup(NamedTuple):
    """What a cell can set up again.

    Attributes
    ----------
    makes
        Variables that it makes, and that do not come back or were made with what does not.
    acts
        What it may do outside of the notebook meanwhile, as far as its code tells.
    again
        True if it does no more than to set up, quickly: it is proposed to run again.
    """

    makes: tuple[str, ...]
    acts: str
    again: bool


def setup_cells(
    session: Session, target: Checkpoint, cells: Sequence[Written], places: Sequence[int]
) -> dict[int, Setup]:
    """The cells that set up again what a return to a checkpoint does not bring back.

    Parameters
    ----------
    cells
        Those of the notebook, in their order.
    places
        Of those that would not run.

    Returns
    -------
    By place; none if all comes back.
    """
    refused = {refusal.variable for refusal in target.refused}
    makers, _ = makers_before(session, target, set(user_names(refused)))
    made = _made(makers, cells, places)
    if not made:
        return {}
    recipes, known = _setups(session, target)
    found = {place: _Cell.of(cells[place]) for place in places if place >= min(made)}
    following = {
        place: cell
        for place, cell in found.items()
        if place not in made and cell.sets_up(refused, recipes, refused | recipes | known)
    }
    told = {}
    for place, names in made.items():
        later = [m for name in names for m in makers[name][1:]]
        is_whole = all(any(cells[p].has_run(m.cell) for p in (place, *following)) for m in later)
        is_quick = makers[names[0]][0].checkpoint.duration_s < QUICK_S
        acts = found[place].acts
        told[place] = Setup(tuple(names), acts, again=not acts and is_quick and is_whole)
    is_any = any(setup.again for setup in told.values())
    for place, cell in following.items():
        makes = tuple(sorted(cell.binds & recipes))
        told[place] = Setup(makes, cell.acts, again=is_any and not cell.acts)
    return dict(sorted(told.items()))


def _made(
    makers: Mapping[str, tuple[Maker, ...]], cells: Sequence[Written], places: Sequence[int]
) -> dict[int, list[str]]:
    """The variables by the place of the cell that made them first."""
    made: dict[int, list[str]] = {}
    for name, own in sorted(makers.items()):
        place = next((p for p in places if cells[p].has_run(own[0].cell)), None)
        if place is not None:
            made.setdefault(place, []).append(name)
    return made


def _setups(session: Session, target: Checkpoint) -> tuple[set[str], set[str]]:
    """The variables that are made by their own statements, and those that are definitions."""
    manifest = session.timeline.manifest(target.id)
    recipes = {name for name, variable in manifest.items() if variable.recipe}
    known = {name for name, variable in manifest.items() if variable.type_name in _DEFINITIONS}
    return recipes, known


class _Cell(NamedTuple):
    binds: frozenset[str]
    reads: frozenset[str]
    acts: str

    @classmethod
    def of(cls, cell: Written) -> _Cell:
        tree = parsed(cell.source)
        names = names_of_tree(tree)
        reads = frozenset(names.loads | names.reads)
        return cls(frozenset(names.binds), reads, effect_of(tree, {}))

    def sets_up(self, refused: set[str], recipes: set[str], setups: set[str]) -> bool:
        """True if it binds nothing but setups, and leans on what does not come back."""
        leans = self.reads & refused or self.binds & recipes
        return bool(leans) and self.binds <= setups
