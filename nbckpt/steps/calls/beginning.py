"""Where a call begins: which one it is, and its place among equals."""

from __future__ import annotations

from typing import Any

from nbckpt.errors import CaptureError, NbckptError, UsageError
from nbckpt.llm.occurrence import occurrence_of
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.steps.calls import occurrences
from nbckpt.steps.calls.arguments import Arguments, bound, digest_of_arguments
from nbckpt.steps.calls.attempts import Attempts, error_text
from nbckpt.steps.calls.decorated_function import DecoratedFunction
from nbckpt.steps.calls.kept_calls import CallId, index_of
from nbckpt.steps.calls.step_call import StepCall


def begin(
    known: DecoratedFunction, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> StepCall | None:
    """A call with its place among equals; None if it is one of a plain function.

    So it is without an open session, and where it cannot be told from other calls.

    Raises
    ------
    UsageError
        If it cannot be told, and must not be repeated.
    """
    session = current_session.opened()
    if session is None or session.ended:
        return None
    try:
        return _begun(session, known, args, kwargs)
    except NbckptError:
        raise
    except user_code_errors() as error:  # a hook's error never breaks the user's cell
        if known.plan.once:
            raise
        told = f"step {known.plan.name!r} runs without being kept, by a defect in nbckpt"
        known.tell_once(session, "defect", f"{told}: {error_text(error)}")
        return None


def _begun(
    session: Session, known: DecoratedFunction, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> StepCall | None:
    plan = known.plan
    try:
        values = bound(plan, args, kwargs)
    except TypeError:
        return None  # the function itself says what is wrong
    try:
        arguments = Arguments(values, digest_of_arguments(plan, values))
    except CaptureError as problem:
        if plan.once:
            raise UsageError(str(problem)) from problem
        known.tell_once(session, "arguments", str(problem))
        return None
    code = known.reached.code()
    among, within = occurrences.here(session), occurrences.items()
    key = CallId(plan.name, code.digest, arguments.digest, 0)
    equals = index_of(session).equals(key, within)
    occurrence = occurrence_of(key.key, within, among, equals)
    call = key._replace(n=occurrence.number)
    step = occurrences.running_name(session)
    place = occurrences.Place(among, within, occurrence)
    return StepCall(known, session, call, code, arguments, place, step, Attempts(plan))
