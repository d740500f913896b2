"""The arguments of a call, bound to the parameters' names, as one digest and as text."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

from nbckpt.digests import Digest, digest_of
from nbckpt.errors import CaptureError
from nbckpt.fingerprint.code.bytecode import NOTHING
from nbckpt.fingerprint.keys.inputs import BUDGET, Inputs
from nbckpt.fingerprint.values import Examined
from nbckpt.fingerprint.values.kinds import step_for
from nbckpt.fingerprint.values.plain import ATOMS, encoded_atoms
from nbckpt.fingerprint.values.walking import Found, Walk
from nbckpt.steps.calls.code import key_of_inputs
from nbckpt.steps.calls.plans import Plan
from nbckpt.text.describe import preview_of
from nbckpt.text.secret_texts import is_named_secret, named_in, redacted

SHOWN = 200
"""Characters of arguments that a message shows."""


class Arguments(NamedTuple):
    """Arguments of one call.

    Attributes
    ----------
    values
        Parameter → value, defaults among them.
    digest
        Of the values, and of the user's code inside them.
    """

    values: dict[str, object]
    digest: Digest

    @property
    def text(self) -> str:
        """Preview of them, for people, with stars where a secret was."""
        text = ", ".join(f"{name}={_shown(name, value)}" for name, value in self.values.items())
        return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"

    @property
    def are_atoms(self) -> bool:
        """True if none of them can be changed."""
        return all(type(value) in ATOMS for value in self.values.values())


def _shown(name: str, value: object) -> str:
    if isinstance(value, str):  # whole: a key that is cut looks like none
        hidden = "***" if is_named_secret(name, value) else redacted(value)
        return preview_of(hidden)
    text = redacted(preview_of(value))
    for secret in named_in(value):
        text = text.replace(secret, "***")
    return text


def bound(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, object]:
    """Parameter → value: ``f(1, k=2)`` and ``f(x=1, k=2)`` are one call.

    Raises
    ------
    TypeError
        If the function cannot be called so.
    """
    given = plan.signature.bind(*args, **kwargs)
    given.apply_defaults()
    return {
        name: dict(sorted(value.items())) if _is_rest(plan, name) else value
        for name, value in given.arguments.items()
    }


def _is_rest(plan: Plan, name: str) -> bool:
    return plan.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD


def digest_of_arguments(plan: Plan, values: dict[str, object]) -> Digest:
    """Digest that tells these arguments from others, the same in every process.

    Raises
    ------
    CaptureError
        If one of them cannot be told from others; the message names it.
    """
    given = list(values.values())
    types = {type(value) for value in given}
    if types <= ATOMS:
        return digest_of(encoded_atoms([*values, *given], types | {str}))
    digest = digest_of_value([*values, given], plan.namespace)
    if digest is None:
        raise CaptureError(_named(plan, values))
    return digest


def digest_of_value(value: object, namespace: Mapping[str, object]) -> Digest | None:
    """The digest of `value` with the code inside it; None if not all of it can be told."""
    found = Found(namespace, BUDGET)
    digest = Walk(found, step_for).digest(value)
    if found.exhausted or found.is_unknown:
        return None
    if not (found.reached or found.modules):
        return digest
    inputs = Inputs(namespace, NOTHING, None)
    reached = tuple(found.reached.values())
    inputs.reached(Examined(digest, reached, frozenset(found.modules), False), frozenset())
    return digest_of(digest, key_of_inputs(inputs).digest)


def _named(plan: Plan, values: dict[str, object]) -> str:
    told = {name: digest_of_value(value, plan.namespace) for name, value in values.items()}
    names = [name for name, digest in told.items() if digest is None]
    which = ", ".join(map(repr, names)) or "something among them"
    return (
        f"step {plan.name!r} runs each time: of its arguments, {which} cannot be told from others;"
        " give it what can (a path, a text, a client whose settings tell it)"
    )
