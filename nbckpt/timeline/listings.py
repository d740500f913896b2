"""Lists of checkpoints by age: a log, unfinished loops, what a notebook made last. Pure."""

from __future__ import annotations

from collections.abc import Container

from nbckpt.timeline.checkpoint_index import Placed
from nbckpt.timeline.fold import Fold


def newest_first(fold: Fold) -> list[str]:
    """Ids of all finished checkpoints."""
    placed = fold.places.placed.values()
    return [p.id for p in sorted(placed, reverse=True) if p.state == "done"]


def log(fold: Fold, branch: str | None) -> list[str]:
    """Ids that a log shows; `Timeline.log` says which."""
    places = fold.places
    if branch is None:
        shown = {i: p for i, p in places.placed.items() if p.state == "done"}
    else:
        shown = {i: places.placed[i] for i in fold.lineage.line(fold.branches.head(branch))}
    undone = [p for p in places.undone.values() if branch in (None, p.branch)]
    newest = [
        max(p for p in places.by_name[name] if branch in (None, p.branch) or p.id in shown)
        for name in {p.name for p in undone}
    ]
    shown.update((p.id, p) for p in newest if p.state != "done")
    return [p.id for p in sorted(shown.values(), reverse=True)]


def unfinished(fold: Fold, branch: str) -> list[str]:
    """Ids of the loops of a branch whose last run did not end, newest first."""
    partial = [p for p in fold.places.undone.values() if p.state == "partial"]
    if not partial:
        return []
    line = set(fold.lineage.line(fold.branches.head(branch)))
    newest = [_newest_for(fold, name, branch, line) for name in {p.name for p in partial}]
    left = (p for p in newest if p is not None and p.state == "partial")
    return [p.id for p in sorted(left, reverse=True)]


def _newest_for(fold: Fold, name: str, branch: str, line: Container[str]) -> Placed | None:
    """The newest of a name on a branch or, if there is none, after what is on its line."""
    records, placed = fold.places.records, fold.places.by_name[name]
    own = [p for p in placed if p.branch == branch or p.id in line]
    parent = {p.id: records[p.id].get("parent") for p in placed}
    return max(own or [p for p in placed if parent[p.id] in line], default=None)


def last_branch_of(fold: Fold, notebook: str) -> str | None:
    """The branch that a notebook's session last moved; None if there is none any more."""
    branches = fold.branches.all()
    placed = fold.places.placed.values()
    own = (p for p in placed if p.notebook == notebook and p.state == "done")
    newest = max((p for p in own if p.branch in branches), default=None)
    made = (newest.created_at, newest.branch) if newest else None
    known = [last for last in (made, fold.branches.last_of(notebook)) if last]
    return max(known)[1] if known else None


def of_notebook(fold: Fold, notebook: str) -> set[str]:
    """Ids of what a notebook made, or stands beyond; all, where its name is not known.

    What nobody is known to have made counts as its own.
    """
    placed = fold.places.placed
    if not notebook:
        return set(placed)
    made = [i for i, p in placed.items() if p.notebook == notebook]
    walked: set[str] = set()
    for start in (*made, *fold.branches.stands_of(notebook)):
        for i in fold.lineage.line(start):
            if i in walked:
                break
            walked.add(i)
    return walked.union(i for i, p in placed.items() if not p.notebook)


def last_stand(fold: Fold, branch: str, notebook: str) -> str | None:
    """Id of where a notebook stood last on a branch, or of its newest there; None if none is."""
    stood = fold.branches.last_stand_of(notebook, branch)
    if stood is not None and stood.checkpoint in fold.checkpoints:
        return stood.checkpoint
    placed = fold.places.placed.values()
    own = (p for p in placed if p.notebook == notebook and p.branch == branch)
    newest = max((p for p in own if p.state == "done"), default=None)
    return None if newest is None else newest.id
