"""Test that no change can have reached recorded code that has no key: cells that were joined.

They were not kept by themselves, so no record names their inputs. But their text tells the
variables that they can touch, and the checkpoint before them the values that these had.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from nbckpt.capture.selection import Selection
from nbckpt.fingerprint import code, keys
from nbckpt.fingerprint.random_generators import NAMES
from nbckpt.fingerprint.values.homes import is_user_file
from nbckpt.model import Manifest
from nbckpt.runtime.interrupts import allowed
from nbckpt.runtime.source_trees import parse
from nbckpt.session.history.recorded_cells import Recorded, without_marker
from nbckpt.steps.rerun.asking_code import may_ask
from nbckpt.steps.restore.restorability import changes_outside

if TYPE_CHECKING:
    from nbckpt.session.session import Session


_TIMED = re.compile(r"\A\s*%%time\s*\n")


def is_unreached(
    session: Session, pieces: Iterable[Recorded], before: Manifest, live: Manifest
) -> bool:
    """True if all that some code can touch is as it was when that code ran.

    Parameters
    ----------
    before
        What was kept before the code ran.
    live
        What is there now.
    """
    if (tree := _joined(pieces)) is None:
        return False
    names = code.names_of_tree(tree)
    with allowed():
        touched = keys.touched(names, session.namespace)
    if touched is None or any(map(_is_users, names.imports)):
        return False
    if changes_outside(tree, session.namespace) or _reaches_files(session, tree):
        return False
    if may_ask(tree, session.namespace):
        return False
    looked_at = {*touched, *names.loads, *names.binds, *NAMES}
    return all(_is_same(live, before, name) for name in looked_at)


def _joined(pieces: Iterable[Recorded]) -> ast.Module | None:
    """The code of all of them; None where IPython is needed to read it."""
    tree = ast.Module([], [])
    for piece in pieces:
        try:
            source = _TIMED.sub("", without_marker(piece.cell.source))
            tree.body += parse(source).body
        except (SyntaxError, ValueError):
            return None
    return tree


def _is_users(module: str) -> bool:
    loaded = sys.modules.get(module.partition(".")[0])
    return loaded is None or is_user_file(getattr(loaded, "__file__", None))


def _reaches_files(session: Session, tree: ast.Module) -> bool:
    """True if the code needs modules of the user's, or scripts: nobody knows what these were."""
    key = session.workspace.key_of(tree, Selection())
    return bool(key.files) or any(name.startswith("module ") for name in key.functions)


def _is_same(live: Manifest, before: Manifest, name: str) -> bool:
    now, then = live.get(name), before.get(name)
    if now is None or then is None:
        return now is then
    return (now.value, now.group) == (then.value, then.group)
