"""Small worlds in which a verb is interrupted, and what has to hold of them afterwards."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from nbckpt.llm import scope
from nbckpt.model import AUTOMATIC
from nbckpt.runtime import interrupts
from nbckpt.session.session import Session
from nbckpt.steps.execution.step_state import StepState
from nbckpt.storage.store import Store


class Picture(NamedTuple):
    """What a session shows: its variables, where it stands, and which checkpoints there are."""

    values: dict[str, str]
    drawn: float
    branch: str
    position: str
    branches: dict[str, str]
    kept: int
    marks: tuple[str, ...]


def world(folder: Path) -> Session:
    """Three checkpoints, a branch, objects that are shared, and something that is not kept."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    session = Session(Store.open(folder), namespace, notebook="test")
    namespace["rows"] = [1]
    random.seed(1)
    session.checkpoint("one")
    namespace["rows"].append(2)
    namespace["same"] = namespace["rows"]
    random.random()
    session.checkpoint("two")
    namespace["text"] = "three"
    del namespace["same"]
    session.checkpoint("three")
    session.fork("one", "side")
    namespace["text"] = "side"
    session.checkpoint("aside")
    session.switch("main")
    namespace["rows"].append("unsaved")
    namespace["more"] = {"a": [1, 2]}
    return session


def picture(session: Session) -> Picture:
    """What it shows now."""
    session.refresh()
    timeline = session.timeline
    names = {n: _shown(session, i) for n, i in timeline.branches.items()}
    shown = [c for c in timeline.checkpoints.values() if AUTOMATIC not in c.tags]
    state = random.getstate()
    drawn = random.random()
    random.setstate(state)
    return Picture(
        {n: _told(session.namespace[n]) for n in sorted(session.workspace.tracker.user_names())},
        drawn,
        session.position.branch,
        _shown(session, session.position.id),
        names,
        len(shown),
        tuple(sorted(t for c in shown for t in (*c.tags, c.note) if t)),
    )


def _shown(session: Session, at: str | None) -> str:
    """The name of a checkpoint; of one that only keeps what was not, of the one before."""
    line = (session.timeline.checkpoints[i] for i in session.timeline.line(at))
    return next((c.name for c in line if AUTOMATIC not in c.tags), "")


def problems(session: Session) -> list[str]:
    """What an interrupt left behind that nothing may."""
    found = []
    gate = interrupts._gate
    if gate.depth or gate.waiting or gate.firm:
        found.append(f"the gate holds {gate.depth}, {gate.waiting} wait, {gate.firm} firmly")
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        found.append("SIGINT has another handler")
    if scope._places or scope.here().scope is not None:
        found.append("a step is still entered")
    session.wait()
    if session.store.holds._count:
        found.append(f"{session.store.holds._count} holds")
    if session.checkpoints.is_looking:
        found.append("a look is still going on")
    running = [
        step.request.name for step in session.state(StepState).latest.values() if step.is_running
    ]
    if running:
        found.append(f"steps still run: {running}")
    return found


def disagreements(session: Session) -> list[str]:
    """What the store, read by another session, says otherwise than this one; and what it lost."""
    session.wait()  # a branch that follows what was restored waits for no disk
    other = Session(
        Store.open(session.store.path), {}, notebook="other", branch=session.position.branch
    )
    try:
        return [*_of_timelines(session, other), *_of_values(session, other)]
    finally:
        other.store.close()


def _of_timelines(session: Session, other: Session) -> list[str]:
    found = []
    mine, theirs = session.timeline, other.timeline
    if mine.branches != theirs.branches:
        here, there = mine.branches.items(), theirs.branches.items()
        found.append(f"branches: {dict(here - there)} here, {dict(there - here)} in the store")
    if set(mine.checkpoints) != set(theirs.checkpoints):
        found.append(f"checkpoints: {len(mine.checkpoints)} here, {len(theirs.checkpoints)} there")
    if session.position.id is not None and session.position.id not in theirs.checkpoints:
        found.append("the position is not in the store")
    return found


def _of_values(session: Session, other: Session) -> list[str]:
    """The next checkpoint holds all that is there, whatever was half looked at before."""
    made = session.checkpoint("probe", sync=True)
    values = other.get(made.id)
    kept = {n: _told(v) for n, v in _values(other, values.id).items()}
    live = {n: _told(session.namespace[n]) for n in session.workspace.tracker.user_names()}
    return [] if kept == live else [f"kept {kept}, there is {live}"]


def _told(value: object) -> str:
    name = getattr(type(value), "__name__", "")
    if name in ("function", "module", "type", "Bad"):
        return f"{name} {getattr(value, '__qualname__', '')}"
    return repr(value)


def _values(session: Session, ref: str) -> dict[str, Any]:
    from nbckpt.capture.decode import Values

    manifest = session.timeline.manifest(ref)
    values = Values(session.store, manifest)
    return {n: values.build(n) for n in manifest if "." not in n}


Verb = Callable[[Session], Any]

VERBS: dict[str, Verb] = {
    "checkpoint": lambda s: s.checkpoint("four", tags=["best"], note="a note"),
    "sync": lambda s: s.checkpoint("four", sync=True),
    "rewind": lambda s: s.rewind("one"),
    "resume": lambda s: s.resume("side"),
    "fork": lambda s: s.fork("two", "new"),
    "fork with values": lambda s: s.fork("two", "new", {"k": 5}, {"j": "len(rows)"}),
    "switch": lambda s: s.switch("side"),
    "update": lambda s: s.update("one", {"rows": [7]}, expressions={"z": "rows + [8]"}),
    "tag": lambda s: s.tag("two", "best", "kept"),
    "note": lambda s: s.note("two", "a note"),
    "go to": lambda s: s.restore_position(s.get("one")),
}
