"""A step that is about to be restored, run as well: in a copy of this process, to be compared.

Of code that wants to act outside, or awaits, nothing is told, nor of a variable that two copies do
not make alike: the code asks for the time, or draws numbers. Where no copy can be had the step is
restored without it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbckpt.capture.selection import Selection
from nbckpt.digests import Digest
from nbckpt.fingerprint.code.scopes import future_flags
from nbckpt.fingerprint.keys import is_users_name
from nbckpt.fingerprint.user_names import Own
from nbckpt.fingerprint.values import ValueDigester
from nbckpt.model import Checkpoint
from nbckpt.runtime import sandbox
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.session.workspace.stale_search import Stale

if TYPE_CHECKING:
    from nbckpt.session.session import Session

LONGEST_S = 20.0
"""A step that took longer is not run for this."""

PATIENCE_S = 10.0
"""Seconds that a copy gets beyond its code's time: locks of threads may hold it for ever."""


@dataclass(frozen=True)
class ShadowRun:
    """Values that a step gives the variables when it runs.

    Attributes
    ----------
    digests
        Digest of each variable afterwards; of those alone that two runs make alike.
    untold
        Names of the variables that they do not.
    """

    digests: Mapping[str, Digest]
    untold: frozenset[str]

    def compare(self, session: Session, checkpoint: Checkpoint, selection: Selection) -> None:
        """Report the variables that are not, now that a step was restored, what a run gives.

        Raises
        ------
        StaleCaptureError
            If there are some, and the setting says so.
        """
        live = digests_of_all(session)
        left_out = {r.variable for r in checkpoint.refused} | {*checkpoint.omitted} | self.untold
        names = {n for n in {*live, *self.digests} - left_out if selection.has(n)}
        inputs = ", ".join(checkpoint.key.inputs) if checkpoint.key else ""
        rule = f"its code and what it reads ({inputs or 'nothing'}) counted as the same"
        stale = [
            Stale(name, self._path(name, live), rule, checkpoint.name)
            for name in sorted(names)
            if live.get(name) != self.digests.get(name)
        ]
        session.workspace.audit.report(stale, "%nbckpt why tells more; a run of the cell mends it")

    def _path(self, name: str, live: Mapping[str, Digest]) -> str:
        if name not in live:
            return f"{name}, which is missing"
        return name if name in self.digests else f"{name}, which is left over"


def shadow_of(session: Session, checkpoint: Checkpoint, tree: ast.Module) -> ShadowRun | None:
    """A run of a step's code on the variables as they are now; None if it gives no answer.

    Parameters
    ----------
    checkpoint
        The checkpoint that is to be restored instead.
    """
    try:
        found = _shadow_of(session, checkpoint, tree)
    except user_code_errors() as defect:  # a check breaks no restore
        session.workspace.audit.tell_defect(defect)
        return None
    session.workspace.audit.shadows[found if isinstance(found, str) else "compared"] += 1
    return None if isinstance(found, str) else found


def _shadow_of(session: Session, checkpoint: Checkpoint, tree: ast.Module) -> ShadowRun | str:
    """The run, or why there is none."""
    if why := _why_not(session, checkpoint, session.workspace.reach(tree)):
        return why
    try:
        flags = future_flags(session.namespace)
        code = compile(tree, "<shadow run>", "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return "it awaits"
    timeout_s = PATIENCE_S + 3 * checkpoint.duration_s
    runs = []
    for _ in range(2):
        run = sandbox.in_a_copy(lambda _: _after_running(session, code), timeout_s).answer
        if "why" in run:
            return str(run["why"])
        runs.append(run["digests"])
    one, other = runs
    same = {name: digest for name, digest in one.items() if other.get(name) == digest}
    return ShadowRun(same, frozenset({*one, *other} - same.keys()))


def _why_not(session: Session, checkpoint: Checkpoint, loads: frozenset[str] | None) -> str:
    if checkpoint.duration_s > LONGEST_S:
        return "it takes long"
    if loads is None:
        return "it can touch any name"
    namespace = session.namespace
    homes = {_package_of(namespace[n]) for n in loads if n in namespace}
    if "nbckpt" in homes:
        return "it calls nbckpt"
    if found := sorted(homes & sandbox.NO_FORKS):
        return f"it uses {found[0]}"
    return sandbox.why_none()


def _package_of(value: object) -> str:
    kind = type(value)
    if issubclass(kind, Own):
        return "nbckpt"
    named = value if kind is type(sys) else None
    name = getattr(named, "__name__", "") or getattr(value, "__module__", "") or kind.__module__
    return str(name).partition(".")[0]


def _after_running(session: Session, code: Any) -> dict[str, Any]:
    """In a copy: run the code, and digest all variables."""
    sandbox.confined(lambda: exec(code, session.namespace))
    return {"digests": digests_of_all(session)}


def digests_of_all(session: Session) -> dict[str, Digest]:
    """Digests of all variables of the user of which all can be told."""
    namespace = session.namespace
    found = {}
    for name in filter(is_users_name, session.workspace.tracker.user_names()):
        examined = ValueDigester(namespace).examine(namespace[name])
        if not examined.exhausted:
            found[name] = examined.digest
    return found
