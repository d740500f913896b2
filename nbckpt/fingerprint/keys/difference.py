"""Why a cell runs again: what differs between two keys, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nbckpt.digests import Digest
from nbckpt.fingerprint.keys.inputs import ABSENT, MODULE, TEXT
from nbckpt.model import Key


def difference(old: Key, new: Key) -> list[str]:
    """Differences that make `new` another key than `old`, one sentence each; empty if none."""
    code = [] if old.code == new.code else ["the cell's code changed"]
    values = _changes(old.inputs, new.inputs, "input", "has another value")
    functions = _definition_changes(old.functions, new.functions)
    files = _changes(old.files, new.files, "file", "changed")
    return [*code, *values, *functions, *files, *_option_changes(old.options, new.options)]


def _definition_changes(old: Mapping[str, Digest], new: Mapping[str, Digest]) -> list[str]:
    lines = _changes(old, new, "function", "changed")
    told = (line.replace(f"function '{MODULE}", "module '") for line in lines)
    return [line.replace(f"function '{TEXT}", "the text of '") for line in told]


def _changes(
    old: Mapping[str, Digest], new: Mapping[str, Digest], kind: str, changed: str
) -> Iterator[str]:
    for name in sorted({*old, *new}):
        if name not in old:
            yield f"{kind} {name!r} is new"
        elif name not in new:
            yield f"{kind} {name!r} is no longer read"
        elif ABSENT in (old[name], new[name]) and old[name] != new[name]:
            yield f"{kind} {name!r} {'exists now' if old[name] == ABSENT else 'is gone'}"
        elif old[name] != new[name]:
            yield f"{kind} {name!r} {changed}"


def _option_changes(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    for name in sorted({*old, *new}):
        before, after = old.get(name, ""), new.get(name, "")
        if before != after:
            yield f"option {name}: {before!r} -> {after!r}"
