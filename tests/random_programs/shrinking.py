"""The smallest program that still fails in the same way."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from tests.random_programs.programs import Program, simpler
from tests.random_programs.runner import Failure


def smallest(
    program: Program,
    failure: Failure,
    failure_of: Callable[[Program], Failure | None],
    *,
    within_s: float = 20,
) -> tuple[Program, Failure]:
    """Take things away as long as what is left fails with the same kind of failure.

    Delta debugging [1]_, of one thing at a time: actions, then cells, statements, and lines.

    References
    ----------
    .. [1] Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE
       Transactions on Software Engineering, 2002.
    """
    ends = time.monotonic() + within_s
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for candidate in simpler(program):
            if time.monotonic() > ends:
                return program, failure
            found = failure_of(candidate)
            if found is not None and found.kind == failure.kind:
                program, failure, is_smaller = candidate, found, True
                break
    return program, failure


def signature_of(program: Program, failure: Failure) -> str:
    """What equal failures have in common: the kind, the actions and the shape of the statements."""
    verbs = " ".join(action.verb for action in program.actions)
    sources = [*program.cells, *(a.source for a in program.actions if a.source)]
    texts = {re.sub(r"\d+", "0", t) for source in sources for t in source.statements}
    shapes = sorted(t for t in texts if not t.startswith(("import", "from", "#")))
    return f"{failure.kind} | {verbs} | {' ; '.join(shapes)}"
