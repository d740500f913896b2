"""Cells that set up what no checkpoint brings back: servers, connections, what leans on them.

After a resume their values are absent, or point to what died with the kernel: an address in
``os.environ``, a client that was made with it. Code that runs next need not name any of it, so the
cells are proposed to run again, before the rest.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
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
    recipes, known = _setups(session, target)
    own = _defined_in(cells)
    found = {place: _Cell.of(cells[place], own) for place in places if place >= min(made)}
    quick = _quick_cells(session, target)
    may = {
        place
        for place, cell in found.items()
        if not cell.acts and place not in edited and quick.get(cells[place].cell_id, True)
    }
    following = {
        place: cell
        for place, cell in found.items()
        if place not in made and cell.sets_up(refused, recipes, known)
    }
    proposed = may.intersection(following)
    told = {}
    for place, names in made.items():
        later = [m for name in names for m in makers[name][1:]]
        is_whole = all(any(cells[p].has_run(m.cell) for p in (place, *proposed)) for m in later)
        again = place in may and is_whole
        told[place] = Setup(tuple(names), found[place].acts, again=again)
    is_any = any(setup.again for setup in told.values())
    for place, cell in following.items():
        makes = tuple(sorted(cell.binds & recipes))
        told[place] = Setup(makes, cell.acts, again=is_any and place in proposed)
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


def _setups(session: Session, target: Checkpoint) -> tuple[set[str], set[str]]:
    """The variables that are made by their own statements, and those that are definitions."""
    manifest = session.timeline.manifest(target.id)
    recipes = {name for name, variable in manifest.items() if variable.recipe}
    known = {name for name, variable in manifest.items() if variable.type_name in _DEFINITIONS}
    return recipes, known


class _Cell(NamedTuple):
    """Names and effects of a cell, by its text."""

    tree: ast.Module
    binds: frozenset[str]
    reads: frozenset[str]
    acts: str

    @classmethod
    def of(cls, cell: Written, defined: Collection[str]) -> _Cell:
        """Those of a cell in a notebook that defines these functions and classes."""
        tree = parsed(cell.source)
        names = names_of_tree(tree)
        reads = frozenset(names.loads | names.reads)
        called = sorted(reads.intersection(defined))
        acts = effect_of(tree, {}) or (f"{called[0]}() of this notebook" if called else "")
        return cls(tree, frozenset(names.binds), reads, acts)

    def sets_up(self, refused: set[str], recipes: set[str], known: set[str]) -> bool:
        """True if it leans on what does not come back, and changes nothing that does.

        It binds recipes and definitions alone, or it sets the process's environment.
        """
        if self.binds & recipes:
            return self.binds <= recipes | known
        rest = [s for s in self.tree.body if not isinstance(s, ast.Import | ast.ImportFrom)]
        leans = bool(rest) and bool(self.reads & refused) and self.binds <= known
        return leans and all(map(_sets_environment, rest))


def _sets_environment(statement: ast.stmt) -> bool:
    """True for ``os.environ[…] = …`` and ``os.environ.update(…)``."""
    if isinstance(statement, ast.Assign):
        targets: list[ast.expr] = statement.targets
        return all(isinstance(t, ast.Subscript) and _is_environment(t.value) for t in targets)
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    function = statement.value.func
    return isinstance(function, ast.Attribute) and _is_environment(function.value)


def _is_environment(node: ast.expr) -> bool:
    return getattr(node, "attr", getattr(node, "id", "")) == "environ"
