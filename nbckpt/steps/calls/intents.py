"""Steps that must not be repeated: an intent before, a question where it has no result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from nbckpt.digests import Digest, digest_of
from nbckpt.errors import TRUST_IT, UncertainError, UsageError
from nbckpt.fingerprint.user_names import DECORATED
from nbckpt.model import Record
from nbckpt.runtime import clock
from nbckpt.runtime.interrupts import result_of
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.steps.calls.arguments import Arguments
from nbckpt.steps.calls.code import Code
from nbckpt.steps.calls.kept_calls import (
    KIND,
    Asked,
    CallId,
    Index,
    index_of,
    is_open,
)
from nbckpt.steps.calls.results import encoded
from nbckpt.storage.blobs import size_of_parts

_NOTHING: Any = object()
_NAMED = 8
"""Characters that name one of several open calls."""
ALL = "all"
"""Stands for the names of all open calls."""
CallPlace: TypeAlias = tuple[str, Digest, int]


def certain(session: Session, call: CallId, code: Code, arguments: Arguments) -> Record | None:
    """The record that holds the result of a call; None if it may run.

    Raises
    ------
    UncertainError
        If it may have run and no result is known, or if other code has done it.
    """
    session.refresh()  # another kernel may have done it
    index = index_of(session)
    record = index.latest(call)
    if index.is_strange(call):
        message = (
            f"step {call.name!r} with ({arguments.text}) was begun or done, says a record that may"
            f" be another user's; {TRUST_IT}, or {_moves(call.name, '')}"
        )
        index.asked[call.place] = Asked(call, arguments.text)
        raise UncertainError(message)
    if record is None or record["state"] == "retry":
        return None
    if not is_open(record) and record["code"] == call.code:
        return record
    index.asked[call.place] = Asked(call, arguments.text)
    raise UncertainError(_question(index, record, call, code, arguments))


def not_back(name: str, problem: str) -> UncertainError:
    """The error for a call whose result cannot be read, and that must not run again."""
    return UncertainError(f"{problem}; {_moves(name, '')}")


def _question(index: Index, record: Record, call: CallId, code: Code, arguments: Arguments) -> str:
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record["created_at"]))
    what = f"step {call.name!r} with ({arguments.text})"
    if record["state"] == "intent":
        told = f"{what} began at {at}, and it is not known whether it did its work"
    elif record["state"] == "failed":
        error = record.get("error", "an error")
        told = f"{what} raised {error} at {at}, and it is not known whether it did its work"
    elif "blob" not in record:
        told = f"{what} was done at {at}, and its result could not be kept"
    else:
        told = f"{what} was done at {at} by other code ({index.why_anew(call, code)})"
    several = len(_open_calls(index, call.name)) > 1
    return f"{told}; {_moves(call.name, name_of(*call.place) if several else '')}"


def _moves(name: str, one: str) -> str:
    which = f", call={one!r}" if one else ""
    return (
        f"look, then nbckpt.resolve({name!r}{which}, result=…) if it did,"
        f" or nbckpt.resolve({name!r}{which}, retry=True) to run it again"
    )


def name_of(name: str, arguments: str, n: int) -> str:
    """Short name that tells one open call of a step from the others, for people to type."""
    return digest_of(name, "\0", arguments, "\0", str(n))[:_NAMED]


def resolve(
    step: Callable[..., object] | str,
    *,
    result: object = _NOTHING,
    retry: bool = False,
    call: str | Iterable[str] | None = None,
) -> None:
    """Answer for a step with ``once=True`` that stopped, as nobody knew whether it was done.

    Parameters
    ----------
    step
        The step, or its name.
    result
        What it returned, or would have: the next run gets this.
    retry
        The next run runs it.
    call
        Which call, where several of the step are open; the error names it. A list of several, or
        ``"all"``: each has this answer.

    Raises
    ------
    UsageError
        If no session is open, no call of the step is, or more than one and `call` does not say
        which; or if neither or both of `result` and `retry` are given.
    CaptureError
        If `result` cannot be kept.
    StoreError
        If the disk refuses.

    Examples
    --------
    ``nbckpt.resolve(send_mail, result="sent")``
    """
    session = current_session.session()
    name = _name_of_step(step)
    if retry == (result is not _NOTHING):
        message = f"resolve({name!r}, …): give either result=… or retry=True"
        raise UsageError(message)
    session.refresh()
    index = index_of(session)
    chosen = _chosen(index, name, call)
    records = [_answer(session, which, code) for which, code in chosen.items()]
    with session.store.writing():
        if not retry:
            parts = encoded(result, session.namespace)
            kept = {"blob": session.store.put_blob(parts), "size_bytes": size_of_parts(parts)}
            records = [{**record, "state": "done", **kept} for record in records]
        written = session.writes.append(records)
    result_of(written)
    for which, record in zip(chosen, records, strict=True):
        index.note(record)
        index.asked.pop(which, None)


def _answer(session: Session, which: CallPlace, code: Digest) -> Record:
    """The record that a call may run again."""
    name, arguments, occurrence = which
    return {
        "kind": KIND,
        "name": name,
        "state": "retry",
        "code": code,
        "arguments": arguments,
        "occurrence": occurrence,
        "session": session.id,
        "branch": session.position.branch,
        "once": True,
        "resolved": True,
        "created_at": clock.now(),
    }


def _name_of_step(step: Callable[..., object] | str) -> str:
    if isinstance(step, str):
        return step
    made = getattr(step, DECORATED, None)
    if made is None:
        message = f"{getattr(step, '__qualname__', step)!r} is no step; give it, or its name"
        raise UsageError(message)
    return str(made[1][1]["name"])


def _open_calls(index: Index, name: str) -> dict[CallPlace, tuple[Digest, str]]:
    """Place of each open call → the code that its result is for, and its arguments as text."""
    found = {
        (r["name"], r["arguments"], r["occurrence"]): (str(r["code"]), str(r.get("given", "")))
        for r in index.unresolved(name)
    }
    asked = list(index.asked.items())
    return found | {p: (one.id.code, one.text) for p, one in asked if one.id.name == name}


def _chosen(index: Index, name: str, call: str | Iterable[str] | None) -> dict[CallPlace, Digest]:
    """Place of each call that is meant → the code that its result is for."""
    calls = _open_calls(index, name)
    named = {name_of(*place): place for place in calls}
    meant = [call] if isinstance(call, str) else None if call is None else list(call)
    if meant is None and len(named) > 1:
        listed = "; ".join(f"call={k!r} ({calls[p][1] or '…'})" for k, p in named.items())
        message = (
            f"{len(named)} calls of step {name!r} stand open, so name one, several in a list,"
            f" or call='all': {listed}"
        )
        raise UsageError(message)
    if meant is None or meant == [ALL]:
        meant = list(named)
    unknown = [one for one in meant if one not in named]
    if unknown or not meant:
        which = f"call {unknown[0]!r} of step {name!r}" if unknown else f"step {name!r}"
        message = f"{which} has nothing to resolve: no call of it stands open"
        raise UsageError(message)
    return {named[one]: calls[named[one]][0] for one in meant}
