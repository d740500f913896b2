"""The steps that changed one variable, newest first, each with what the value was then."""

from __future__ import annotations

import ast
import datetime as dt
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, overload

from nbckpt.config.validate import require_text
from nbckpt.errors import NOT_YOURS, TRUST_IT, NbckptError, VariableNotFoundError
from nbckpt.fingerprint.code.names_of_cell import names_of_tree
from nbckpt.fingerprint.keys.difference import difference
from nbckpt.fingerprint.user_names import Own
from nbckpt.model import Checkpoint, Variable
from nbckpt.reports.diff import families
from nbckpt.reports.diff.details import Limits
from nbckpt.reports.diff.facts import Facts, facts_of
from nbckpt.reports.diff.value_texts import cut
from nbckpt.reports.variable_history.points import Change, Point, Points
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.session.checkpoint_view import Values
from nbckpt.session.history.recorded_cells import parsed
from nbckpt.session.history.summaries import user_names
from nbckpt.text.units import bytes_text
from nbckpt.timeline.references import hint

if TYPE_CHECKING:
    from nbckpt.session.session import Session

MOST_POINTS = 200
"""Steps that are looked into where nobody asked for more."""
MOST_REASONS = 3
MOST_LINES = 2
LINE = 100
IN_BUFFERS = ("numpy.", "pandas.", "polars.", "pyarrow.", "torch.", "scipy.")
"""Values of these are mapped where they lie, not loaded."""
DRAWN = "matplotlib."
"""To build a value of this opens a figure, which the next cell would show."""


class VariableHistory(Own, Sequence[Point]):
    """The points of one variable, newest first.

    Attributes
    ----------
    name
        Of the variable.
    older
        Number of steps before these that changed it, too, and were not looked into.
    measure
        What `numbers` are: ``value``, ``mean``, ``rows``, ``length`` or ``bytes``.
    numbers
        One for each point, oldest first; None where there was no value.
    """

    def __init__(self, name: str, points: Sequence[Point], older: int = 0) -> None:
        self._points = Points(name, tuple(points), older)
        self.name, self.older = name, older
        self.measure, self.numbers = self._points.measure, self._points.numbers

    @overload
    def __getitem__(self, at: int) -> Point: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Point]: ...
    def __getitem__(self, at: int | slice) -> Point | Sequence[Point]:
        return self._points.shown[at]

    def __len__(self) -> int:
        return len(self._points.shown)

    def text(self, width: int | None = None) -> str:
        """The points as a table; `width` is the room in characters, None: no limit."""
        from nbckpt.reports.variable_history.as_text import text_of

        return text_of(self._points, width)

    def as_record(self) -> dict[str, object]:
        """The same for programs."""
        return {
            "variable": self.name,
            "measure": self.measure,
            "numbers": self.numbers,
            "older": self.older,
            "points": [point.as_record() for point in self],
        }

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from nbckpt.reports.variable_history.as_html import html_of

        return html_of(self._points)


def history_of(
    session: Session,
    name: str,
    *,
    start: str | None = None,
    most: int | None = MOST_POINTS,
    limits: Limits = Limits(),  # noqa: B008  # immutable
) -> VariableHistory:
    """The points of a variable on the line of a checkpoint.

    Parameters
    ----------
    start
        Id of the newest checkpoint to look at; by default the newest of the line that the session
        is on.
    most
        Points that are given; None: all.

    Raises
    ------
    UsageError
        If `name` is no text.
    VariableNotFoundError
        If no checkpoint of the line has kept it, or could not.
    """
    require_text(name, "the name of a variable")
    line = _line(session, start)
    found = [(c, change) for c in line if (change := _change(session, c, name)) is not None]
    if not found:
        names = (n for c in line for n in (*c.changed, *(r.variable for r in c.refused)))
        known = user_names(set(names))
        message = f"no step of this line has changed a variable {name!r}; {hint(name, known)}"
        raise VariableNotFoundError(message)
    shown = found if most is None else found[:most]
    reader = _Reader(session, name, limits)
    points = [reader.point(c, change, before) for c, change, before in _with_before(shown, found)]
    return VariableHistory(name, points, len(found) - len(shown))


def _line(session: Session, start: str | None) -> list[Checkpoint]:
    timeline, position = session.timeline, session.position
    head = position.head
    newest = start or position.ahead or (head.id if head else position.id)
    if start is None and position.id and newest and not timeline.is_ancestor(position.id, newest):
        newest = position.id
    return timeline.ancestry(newest) if newest else []


def _change(session: Session, checkpoint: Checkpoint, name: str) -> Change | None:
    """What became of a variable at a checkpoint; None if nothing did."""
    if name in checkpoint.changed:
        parent = checkpoint.parent
        known = parent is not None and name in session.timeline.manifest(parent)
        return "changed" if known else "new"
    if any(refusal.variable == name for refusal in checkpoint.refused):
        return "not kept" if _is_news(session, checkpoint, name) else None
    return "gone" if name in checkpoint.removed else None


def _is_news(session: Session, checkpoint: Checkpoint, name: str) -> bool:
    """True if the checkpoint before has not refused the same already."""
    if name in checkpoint.bound or checkpoint.parent is None:
        return True
    before = session.timeline.checkpoints[checkpoint.parent]
    return all(refusal.variable != name for refusal in before.refused)


def _with_before(
    shown: Sequence[tuple[Checkpoint, Change]], found: Sequence[tuple[Checkpoint, Change]]
) -> Iterator[tuple[Checkpoint, Change, Checkpoint | None]]:
    """Each with the one before it that has a value."""
    for i, (checkpoint, change) in enumerate(shown):
        kept = (c for c, what in found[i + 1 :] if what in ("new", "changed"))
        yield checkpoint, change, next(kept, None)


class _Reader:
    """Loads values, as long as there is time, and says what they are."""

    def __init__(self, session: Session, name: str, limits: Limits) -> None:
        self._session = session
        self._name = name
        self._limits = limits
        self._until = time.monotonic() + limits.total_s
        self._held: tuple[str, object] | None = None  # the value that the next point compares with

    def point(self, checkpoint: Checkpoint, change: Change, before: Checkpoint | None) -> Point:
        """All that is told of one checkpoint."""
        variable = checkpoint.changed.get(self._name)
        found, told = Facts(), ""
        if variable is not None:
            found, told = self._looked_into(checkpoint, variable, before)
        return Point(
            checkpoint.id,
            checkpoint.name,
            checkpoint.branch,
            checkpoint.created_at,
            variable,
            change,
            (*self._reasons(checkpoint), *self._refusals(checkpoint, change)),
            self._code(checkpoint),
            told,
            found,
        )

    def _looked_into(
        self, checkpoint: Checkpoint, variable: Variable, before: Checkpoint | None
    ) -> tuple[Facts, str]:
        if why := self._not_loaded(checkpoint, variable):
            return Facts(), why
        try:
            value = self._value(checkpoint)
            found = facts_of(value)
            old = before.changed[self._name] if before else None
            if before is None or old is None or self._not_loaded(before, old):
                return found, ""
            earlier = self._value(before)
            self._held = before.id, earlier
            return found, families.detail(earlier, value, self._limits).summary
        except user_code_errors() as error:  # of the value's own code
            said = str(error) if isinstance(error, NbckptError) else type(error).__name__
            return Facts(), cut(f"cannot be read: {said}", 3 * self._limits.characters)

    def _value(self, checkpoint: Checkpoint) -> object:
        if self._held is not None and self._held[0] == checkpoint.id:
            return self._held[1]
        manifest = self._session.timeline.manifest(checkpoint.id)
        return Values(self._session.store, manifest, checkpoint.id[:8])[self._name]

    def _not_loaded(self, checkpoint: Checkpoint, variable: Variable) -> str:
        """Why a value is not built; empty if it is."""
        if not variable.trusted:
            return f"it {NOT_YOURS}, so nothing of it is built: {TRUST_IT}"
        if variable.type_name.startswith(DRAWN):
            return "a figure is not drawn again to look at it"
        manifest = self._session.timeline.manifest(checkpoint.id)
        mates = (name for name in (self._name, *variable.group) if name in manifest)
        if any(manifest[mate].recipe for mate in mates):
            return "its statement makes it again, and is not run to look at it"
        if time.monotonic() > self._until:
            return f"not looked into: {self._limits.total_s:g} s went into the newer ones"
        is_mapped = variable.type_name.startswith(IN_BUFFERS)
        if not is_mapped and variable.size_bytes > self._limits.loaded_bytes:
            return f"not looked into: {bytes_text(variable.size_bytes)} would have to be loaded"
        return ""

    def _reasons(self, checkpoint: Checkpoint) -> Iterator[str]:
        """What changed it there."""
        if checkpoint.made_by:
            yield "given by hand"
            return
        yield self._by_whom(checkpoint)
        earlier = self._earlier_run(checkpoint)
        if earlier is not None and earlier.key is not None and checkpoint.key is not None:
            lines = difference(earlier.key, checkpoint.key)
            yield from (f"since {_moment(earlier)}: {line}" for line in lines[:MOST_REASONS])

    def _by_whom(self, checkpoint: Checkpoint) -> str:
        name = self._name
        if not statements_of(checkpoint.cell.source, name):
            before = [c for c in checkpoint.joined if statements_of(c.source, name)]
            if before:
                return "a cell before it, kept with it"
            if name not in checkpoint.bound or not checkpoint.cell.source.strip():
                return "something else than its cell changed it"
            return "its cell changed it without naming it"
        if name in checkpoint.removed:
            return "its cell deleted it"
        return "its cell changed it in place" if name in checkpoint.in_place else "its cell made it"

    def _code(self, checkpoint: Checkpoint) -> tuple[str, ...]:
        """The lines that name it, of the last cell that does."""
        sources = (checkpoint.cell.source, *(c.source for c in reversed(checkpoint.joined)))
        found = (statements_of(source, self._name) for source in sources)
        return next((lines for lines in found if lines), ())

    def _earlier_run(self, checkpoint: Checkpoint) -> Checkpoint | None:
        """The run of the same step before this one, on any branch."""
        named = self._session.timeline.named(checkpoint.name) if checkpoint.name else []
        older = (c for c in named if c.created_at < checkpoint.created_at and c.state == "done")
        return next((c for c in older if not c.made_by), None)

    def _refusals(self, checkpoint: Checkpoint, change: Change) -> Iterator[str]:
        if change == "not kept":
            yield from (
                f"{refusal.type_name} {refusal.reason}"
                for refusal in checkpoint.refused
                if refusal.variable == self._name
            )


def _moment(checkpoint: Checkpoint) -> str:
    return dt.datetime.fromtimestamp(checkpoint.created_at).astimezone().strftime("%H:%M:%S")


@lru_cache(maxsize=1000)
def statements_of(source: str, name: str) -> tuple[str, ...]:
    r"""The first lines of the last statements of a cell that bind a name, or else that load it.

    Examples
    --------
    >>> statements_of("x = 1\ny = x\nx.append(y)", "x"), statements_of("f(x)", "x")
    (('x = 1',), ('f(x)',))
    """
    lines = source.split("\n")
    binding: list[str] = []
    loading: list[str] = []
    for statement in parsed(source).body:
        names = names_of_tree(ast.Module([statement], []))
        if name in names.binds or name in names.loads:
            line = cut(lines[statement.lineno - 1].strip(), LINE)
            (binding if name in names.binds else loading).append(line)
    return tuple((binding or loading)[-MOST_LINES:])
