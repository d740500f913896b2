"""The key of a step that begins where it began before: it needs no look at the values.

A key holds digests of values, and to make these everything inside the values is walked. While an
unchanged notebook is restored in a new kernel that is not needed: as long as nothing but restores
has made the variables, each is what its blob says, and where all blobs are those with which a step
began, its key is the one that it had.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Container, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from nbckpt.digests import digest_of
from nbckpt.fingerprint.code import digest_of_tree, names_of_tree
from nbckpt.fingerprint.keys.inputs import ABSENT, MODULE, TEXT
from nbckpt.fingerprint.values.modules import loaded
from nbckpt.fingerprint.values.sources import names_beside, user_modules
from nbckpt.model import Checkpoint, Key, Variable

if TYPE_CHECKING:
    from nbckpt.capture.selection import Selection
    from nbckpt.session.session import Session

_IMPORTS = "+"
"""Begins the token of a step whose code can import: modules beside the notebook count, too."""


def start_of(session: Session, key: Key, *, can_import: bool) -> str:
    """A token of the variables with which a step begins; empty if these are not all that counts.

    A variable that a statement or a file makes again may be another each time.
    """
    found = (session.workspace.capturer.kept_as(name) for name in key.inputs)
    if any(variable is not None and _may_differ(variable) for variable in found):
        return ""
    return _token(session, can_import=can_import)


def begins_again(session: Session, checkpoint: Checkpoint) -> bool:
    """True if the variables are, to the last, those with which a step began."""
    return bool(_that_begin_here(session, [checkpoint]))


def _that_begin_here(session: Session, checkpoints: Iterable[Checkpoint]) -> list[Checkpoint]:
    """Those that could have begun here, nothing but restores having made all variables."""
    begun = [checkpoint for checkpoint in checkpoints if checkpoint.began_as]
    if not begun or not session.workspace.has_only_restored:
        return []
    starts = {
        can_import: _token(session, can_import=can_import)
        for can_import in {checkpoint.began_as.startswith(_IMPORTS) for checkpoint in begun}
    }
    return [checkpoint for checkpoint in begun if checkpoint.began_as in starts.values()]


def _token(session: Session, *, can_import: bool) -> str:
    """A digest of the variables as they are kept; empty if one may not be as it was kept.

    Names count, too, that are no kept variables or stand for modules beside the notebook: one that
    is new may be what the code finds now.
    """
    beside = names_beside() if can_import else ()
    # What shares is in one blob, and what a value refers to by name stands in its blob.
    variables = session.workspace.tracker.settled_digest()
    if beside is None or not variables:
        return ""
    hidden = _digest_of_names(frozenset(session.workspace.tracker.hidden_names()))
    # But the one for results, which IPython puts there.
    built_in = _digest_of_names(frozenset(vars(builtins).keys() - {"_"}))
    told = "\n".join([variables, "", hidden, built_in, "", *beside])
    return (_IMPORTS if can_import else "") + digest_of(told)


@lru_cache(maxsize=8)
def _digest_of_names(names: frozenset[str]) -> str:
    return digest_of("\n".join(sorted(names)))


def _may_differ(variable: Variable) -> bool:
    return bool(variable.recipe) or "memmap" in variable.type_name


def known_key(
    session: Session,
    name: str,
    tree: ast.Module,
    selection: Selection,
    lacking: Container[str] = (),
) -> Key | None:
    """The key of a step that has begun with these variables before; None if none has.

    Files, magics and modules beside the notebook are looked at as ever.

    Parameters
    ----------
    lacking
        Names that are absent because what they held could not be kept.
    """
    names = names_of_tree(tree, session.namespace)
    if names.magics or not session.workspace.has_only_restored:
        return None
    imported = {f"{MODULE}{m}" for name in names.imports for m in user_modules(name)}
    begun = session.timeline.begun(name, digest_of_tree(tree))
    for checkpoint in _that_begin_here(session, begun):
        key = checkpoint.key
        if key is None or key.files or key.options != selection.options():
            continue
        if not imported <= key.functions.keys():
            continue
        if _counts_the_same(session, key, lacking):
            return key
    return None


def _counts_the_same(session: Session, key: Key, lacking: Container[str]) -> bool:
    """True if all that a key holds beside variables that are kept is so now."""
    if any(name.startswith(TEXT) for name in key.functions):
        return False
    found = {n: loaded(n.removeprefix(MODULE)) for n in key.functions if n.startswith(MODULE)}
    if any(module.code != key.functions[name] for name, module in found.items()):
        return False
    values = {n: digest for module in found.values() for n, digest in module.values.items()}
    if any(key.inputs.get(n) != digest for n, digest in values.items()):
        return False
    others = key.inputs.keys() - {*values, *session.workspace.capturer.kept_names()}
    return all(
        key.inputs[n] == ABSENT and n not in session.namespace and n not in lacking for n in others
    )
