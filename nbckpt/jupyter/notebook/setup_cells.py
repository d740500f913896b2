"""Cells that set up what no checkpoint brings back: servers, connections, what leans on them.

After a resume their values are absent, or point to what died with the kernel: an address in
``os.environ``, a client that was made with it. Code that runs next need not name any of it, so the
cells are proposed to run again, before the rest.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nbckpt.jupyter.notebook.documents import Written
from nbckpt.jupyter.notebook.setup_code import SetupCode
from nbckpt.model import Checkpoint
from nbckpt.session.history.recorded_cells import parsed
from nbckpt.session.history.summaries import user_names
from nbckpt.steps.remake.makers import makers_before

if TYPE_CHECKING:
    from nbckpt.session.session import Session
    from nbckpt.session.workspace.unkept import Maker

QUICK_S = 5.0
"""A cell that took longer runs again only where somebody says so, or needs it."""

_DEFINITIONS = frozenset({"module", "type", "function", "builtin_function_or_method"})
"""Types of values that are the same when their cell runs again."""
_FIXED = frozenset({"int", "float", "complex", "bool", "str", "bytes", "NoneType"})


class Setup(NamedTuple):
    """Variables and effects of a cell that sets up again what cannot be kept.

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
    session: Session,
    target: Checkpoint,
    cells: Sequence[Written],
    places: Sequence[int],
    edited: Collection[int] = (),
) -> dict[int, Setup]:
    """The cells that set up again what a return to a checkpoint does not bring back.

    Parameters
    ----------
    cells
        Those of the notebook, in their order.
    places
        Of those that would not run.
    edited
        Of those that are not what ran: none of them is proposed.

    Returns
    -------
    By place; none if all comes back.
    """
    if not places:  # as for an offer, which is asked for after each checkpoint
        return {}
    refused = {refusal.variable for refusal in target.refused}
    makers, _ = makers_before(session, target, set(user_names(refused)))
    made = _made(makers, cells, places)
    if not made:
        return {}
    names = _Names.at(session, target)
    own = _defined_in(cells)
    found = {
        place: SetupCode.of(cells[place].source, own) for place in places if place >= min(made)
    }
    quick = _quick_cells(session, target)
    may = {
        place
        for place, code in found.items()
        if not code.acts
        and place not in edited
        and quick.get(cells[place].cell_id, True)
        and code.only_sets_up(refused, refused | names.recipes, names.known, names.others)
    }
    following = [
        place
        for place, code in found.items()
        if place not in made and code.leans_on(refused, names.recipes, names.known)
    ]
    wanted = may.intersection(following)
    again = set()
    for place, made_here in made.items():
        later = [m for name in made_here for m in makers[name][1:]]
        # Of what others have changed since, the engine runs these, too, when something needs it.
        is_whole = all(any(cells[p].has_run(m.cell) for p in (place, *wanted)) for m in later)
        again |= {place} if place in may and is_whole else set()
    there = {name for place in again for name in made[place]}
    while torn := {p for p in again if not found[p].reads & refused <= there | found[p].binds}:
        again -= torn
        there = {name for place in again for name in made[place]}
    told = {p: Setup(tuple(made[p]), found[p].acts, again=p in again) for p in made}
    for place in following:
        code = found[place]
        is_proposed = bool(again) and place in wanted and code.reads & refused <= there
        makes = tuple(sorted(code.binds & names.recipes))
        told[place] = Setup(makes, code.acts, again=is_proposed)
    return dict(sorted(told.items()))


def _quick_cells(session: Session, target: Checkpoint) -> dict[str, bool]:
    """Id of each cell with a checkpoint of its own → True if it took no time worth a question."""
    line = session.timeline.ancestry(target.id)[::-1]
    return {c.cell.cell_id: c.duration_s < QUICK_S for c in line if c.cell.cell_id}


def _defined_in(cells: Sequence[Written]) -> set[str]:
    """The functions and classes of the notebook, of whose effects nothing is known."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    nodes = (node for cell in cells for node in parsed(cell.source).body)
    return {node.name for node in nodes if isinstance(node, kinds)}


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


class _Names(NamedTuple):
    """The variables of a checkpoint, by their kinds.

    Attributes
    ----------
    recipes
        Those that are made by their own statements.
    known
        Definitions: the same when their cell runs again.
    others
        Those that can be changed in place.
    """

    recipes: set[str]
    known: set[str]
    others: set[str]

    @classmethod
    def at(cls, session: Session, target: Checkpoint) -> _Names:
        """Those of a checkpoint."""
        kept = session.timeline.manifest(target.id)
        recipes = {name for name, variable in kept.items() if variable.recipe}
        known = {name for name, variable in kept.items() if variable.type_name in _DEFINITIONS}
        fixed = {name for name, variable in kept.items() if variable.type_name in _FIXED}
        return cls(recipes, known, set(kept) - recipes - known - fixed)
