"""Comparison of two sides: finds differing variables by digest, and loads these alone."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from nbckpt.errors import NOT_YOURS, NbckptError
from nbckpt.fingerprint import random_generators
from nbckpt.model import Variable
from nbckpt.reports.diff import families
from nbckpt.reports.diff.details import Detail, Limits, Row, Status, VariableDifference
from nbckpt.reports.diff.difference import Difference
from nbckpt.reports.diff.facts import facts_of
from nbckpt.reports.diff.shown import shown_otherwise
from nbckpt.reports.diff.sides import LIVE, Side, sides_of
from nbckpt.reports.diff.texts import line_diff
from nbckpt.reports.diff.value_texts import cut
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.text.units import bytes_text

if TYPE_CHECKING:
    from nbckpt.session.session import Session

_IN_BUFFERS = ("numpy.", "pandas.", "polars.", "pyarrow.", "torch.", "scipy.")
"""Values of these are mapped where they lie, not loaded."""
_SHOWING = frozenset({"head", "series", "histogram"})
"""Facts that are more than a number: others stand in a summary."""
NOT_BUILT = f"{NOT_YOURS}, so types, shapes and previews are all that is compared"


def compare(
    session: Session,
    a: str,
    b: str | None = None,
    *,
    limits: Limits = Limits(),  # noqa: B008  # immutable
) -> Difference:
    """Differences of `b` from `a`: variables, code and outputs.

    Parameters
    ----------
    a, b
        References. Without `b`: the live state, or, where nothing has changed since, the
        checkpoint that the session stands on.

    Raises
    ------
    CheckpointNotFoundError
        If a reference does not mean a checkpoint.
    StoreError
        If the live state cannot be written, and `b` is not given.
    """
    one, other = sides_of(session, a, b)
    variables = tuple(_of_variables(one, other, limits))
    code, more_code = line_diff(one.source, other.source, limits) if other.id else ((), 0)
    outputs, more_outputs = line_diff(one.outputs, other.outputs, limits) if other.id else ((), 0)
    return Difference(
        a=one,
        b=other,
        variables=variables,
        same=_count_same(one, other) + sum(v.status == "same" for v in variables),
        code=code,
        outputs=outputs,
        more=(more_code, more_outputs),
        remarks=tuple(_remarks(one, other)),
    )


def _count_same(one: Side, other: Side) -> int:
    old, new = one.variables, other.variables
    return sum(name in new and _is_same(old[name], new[name]) for name in old)


def _is_same(one: Variable, other: Variable) -> bool:
    return one.value == other.value and one.recipe == other.recipe


def _of_variables(one: Side, other: Side, limits: Limits) -> list[VariableDifference]:
    old, new = one.variables, other.variables
    found = _Lookup(one, other, limits)
    names = {*old, *new} - {n for n in old if n in new and _is_same(old[n], new[n])}
    # Those of one blob one after the other: it is loaded once, and let go of before the next.
    details = {name: found.detail(name) for name in sorted(names, key=found.blobs)}
    return [
        VariableDifference(
            name,
            _status(name, other, details[name]),
            old.get(name),
            new.get(name),
            details[name],
            found.facts.get(name),
        )
        for name in sorted(names)
    ]


def _status(name: str, other: Side, detail: Detail | None) -> Status:
    if detail is not None:
        return "same" if detail.is_same else "changed"
    return "added" if name in other.variables else "removed"


class _Lookup:
    """Loads what differs, one blob of each side at a time, and says how it differs.

    Attributes
    ----------
    facts
        What both values of a variable are in numbers, as records, of those that were looked into.
    """

    def __init__(self, one: Side, other: Side, limits: Limits) -> None:
        self._sides = one, other
        self._limits = limits
        self._until = time.monotonic() + limits.total_s
        self._loaded: tuple[str, str] | None = None
        self.facts: dict[str, tuple[Mapping[str, object], Mapping[str, object]]] = {}

    def blobs(self, name: str) -> tuple[str, str]:
        """Digests of where the two values lie; nothing for one that is not there."""
        found = (side.variables.get(name) for side in self._sides)
        one, other = (variable.blob if variable else "" for variable in found)
        return one, other

    def detail(self, name: str) -> Detail | None:
        """Differences of one variable; None if one side lacks it without a known reason."""
        if self._loaded != self.blobs(name):
            self._loaded = self.blobs(name)
            for side in self._sides:
                side.forget()
        one, other = (side.variables.get(name) for side in self._sides)
        if one is None or other is None:
            side = self._sides[0 if one is None else 1]
            reason = side.reasons.get(name)
            return Detail("unreadable", f"not kept at {side.name!r}: {reason}") if reason else None
        if not (one.trusted and other.trusted):
            return self._recorded(one, other)
        try:
            why = self._not_loaded(name) or self._too_much(one) or self._too_much(other)
            return Detail("unreadable", why) if why else self._compared(name)
        except user_code_errors() as error:  # of the value's own code
            said = str(error) if isinstance(error, NbckptError) else _told_error(error)
            return Detail("unreadable", cut(said, 3 * self._limits.characters))

    def _recorded(self, one: Variable, other: Variable) -> Detail:
        """Differences that the records of two variables show, where one may not be built."""
        pairs = {
            "type": (one.type_name, other.type_name),
            "shape": (one.shape or "", other.shape or ""),
            "preview": (one.preview, other.preview),
        }
        rows = (
            Row(what, *(cut(text, self._limits.characters) for text in texts))
            for what, texts in pairs.items()
            if texts[0] != texts[1]
        )
        strange = self._sides[0 if not one.trusted else 1]
        return Detail("unreadable", f"another value; {strange.name!r} {NOT_BUILT}", tuple(rows))

    def _not_loaded(self, name: str) -> str:
        """Why a value is not built again; empty if it is."""
        for side in self._sides:
            manifest = side.variables
            for mate in (name, *manifest[name].group):
                if mate in manifest and manifest[mate].recipe:
                    whose = "its statement makes" if mate == name else f"that of {mate!r} makes"
                    return f"{whose} it again, and is not run for a comparison"
        if time.monotonic() > self._until:
            return f"not looked into: {self._limits.total_s:g} s went into the others"
        return ""

    def _too_much(self, variable: Variable) -> str:
        is_mapped = variable.type_name.startswith(_IN_BUFFERS)
        if is_mapped or variable.size_bytes <= self._limits.loaded_bytes:
            return ""
        return f"not looked into: {bytes_text(variable.size_bytes)} would have to be loaded"

    def _compared(self, name: str) -> Detail:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about versions, empty slices and the like
            one, other = (side.value(name) for side in self._sides)
            found = families.detail(one, other, self._limits)
            if found.is_same:
                found = shown_otherwise(found.kind, one, other) or found
        if self._limits.facts and not found.is_same and time.monotonic() < self._until:
            before, after = facts_of(one).as_record(), facts_of(other).as_record()
            if _SHOWING & (before.keys() | after.keys()):
                self.facts[name] = before, after
        return found._replace(rows=tuple(_of_variable(name, row) for row in found.rows))


def _of_variable(name: str, row: Row) -> Row:
    """A row whose path begins with the variable's name, if it is a path."""
    return row._replace(path=name + row.path) if row.path[:1] in ("[", ".", "{") else row


def _told_error(error: BaseException) -> str:
    try:
        return f"it cannot be read: {type(error).__name__}: {error}"
    except user_code_errors():  # an error of the user's that cannot even be told
        return f"it cannot be read: {type(error).__name__}"


def _remarks(one: Side, other: Side) -> Iterator[str]:
    if not other.id:
        yield f"{LIVE!r} is what is live and not kept yet"
    states = [
        [v for n, v in s.manifest.items() if n in random_generators.NAMES] for s in (one, other)
    ]
    if {v.value for v in states[0]} != {v.value for v in states[1]}:
        yield "the random generators stand elsewhere"
    for side, their in ((one, other), (other, one)):
        for name, reason in sorted(side.reasons.items()):
            if name not in their.variables:
                yield f"{name} is not kept at {side.name!r}: {reason}"
