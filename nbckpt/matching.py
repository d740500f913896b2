"""Whether an earlier checkpoint stands for a step, and if not, why."""

from __future__ import annotations

import ast

from nbckpt import keys
from nbckpt.model import Key
from nbckpt.session import Interrupted, Session


def key_before(interrupted: Interrupted, key: Key) -> Key:
    """The key of a step that raised, if nothing but its own doing differs now."""
    was = interrupted.key
    same = (was.code, was.functions, was.files, was.options) == (
        key.code, key.functions, key.files, key.options
    )  # fmt: skip
    own = all(
        key.inputs.get(n) in (was.inputs.get(n), interrupted.inputs.get(n))
        for n in {*was.inputs, *key.inputs}
    )
    return was if same and own else key


def deleted_names(tree: ast.Module) -> set[str]:
    """Names that the code deletes at its top level."""
    deletions = (node for node in ast.walk(tree) if isinstance(node, ast.Delete))
    return {t.id for node in deletions for t in node.targets if isinstance(t, ast.Name)}


def why_not_restored(session: Session, name: str, key: Key) -> list[str]:
    """What differs from the newest checkpoint of this name; why it cannot stand for this run."""
    named = [c for c in session.timeline.named(name) if c.key is not None]
    if not named:
        return [f"no checkpoint {name!r} was made before"]
    newest = named[0]
    if newest.state != "done":
        return [f"the last run of {name!r} did not end well"]
    assert newest.key is not None
    return [*keys.difference(newest.key, key), *_sharing_changes(newest.key, key)]


def _sharing_changes(old: Key, new: Key) -> list[str]:
    ended = [f"{group} do not share an object any more" for group in old.shares]
    begun = [f"{group} share an object now" for group in new.shares]
    return [*ended, *begun] if old.shares != new.shares else []
