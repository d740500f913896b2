"""The variables that code is about to need and that are lacking."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from nbckpt.capture.observation.graph_hooks import follows_graphs
from nbckpt.capture.observation.reachable_code import reached
from nbckpt.fingerprint import code as analysis
from nbckpt.fingerprint import keys
from nbckpt.fingerprint.user_names import RESULT
from nbckpt.steps.remake.makers import lacking

if TYPE_CHECKING:
    from nbckpt.session.session import Session


_WORD = re.compile(r"[^\W\d]\w*")


def needed(session: Session, tree: ast.Module) -> set[str]:
    """Variables that are lacking and would be read by code that is about to run."""
    workspace = session.workspace
    absent, is_any_torn = lacking(session), bool(workspace.torn_graphs)
    if not absent and not is_any_torn:
        return set()
    found = read_by(tree, session.namespace, absent)
    reads_any = found is None
    if found is None:
        wanted, found = set(absent), frozenset(workspace.tracker.user_names())
    else:
        wanted = set((found | _results_named(tree, absent)) & absent.keys())
    if is_any_torn:
        code_reached = reached(tree, session.namespace, everything=reads_any)
        if follows_graphs(code_reached, session.namespace):
            wanted |= workspace.torn_graphs.among(found)
    return wanted


def read_by(
    tree: ast.Module, namespace: Mapping[str, object], absent: Iterable[str]
) -> frozenset[str] | None:
    """The variables that code reads, by functions, too; None if it may be any.

    Parameters
    ----------
    absent
        Names that the namespace may lack, and that count all the same.
    """
    names = analysis.names_of_tree(tree, namespace)
    code = dataclasses.replace(
        names, loads=names.reads, binds=frozenset(), everything=False, reason=""
    )
    found = keys.touched(code, {**namespace, **dict.fromkeys(absent)})
    if found is None or not names.everything:
        return found
    return found | frozenset(_WORD.findall(ast.unparse(tree)))


def _results_named(tree: ast.Module, absent: Iterable[str]) -> set[str]:
    """The results that code gets at by ``Out[n]``; all if it is not a number that stands there."""
    nodes = analysis.nodes_of(tree)
    uses = sum(isinstance(n, ast.Name) and n.id in ("Out", "_oh") for n in nodes)
    entries = [
        n.slice.value
        for n in nodes
        if isinstance(n, ast.Subscript)
        and isinstance(n.value, ast.Name)
        and n.value.id in ("Out", "_oh")
        and isinstance(n.slice, ast.Constant)
    ]
    if uses > len(entries):
        return {n for n in absent if RESULT.fullmatch(n)}
    return {f"_{entry!s}" for entry in entries if isinstance(entry, int)}
