"""One trial: groups are loaded in a copy of the process, and compared with what is live."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nbckpt.capture.trials.prints import print_of
from nbckpt.codecs.loading import Loading, decode
from nbckpt.errors import NbckptError, RestoreError
from nbckpt.fingerprint.user_names import is_user_name
from nbckpt.fingerprint.values.homes import module_of_class
from nbckpt.runtime import sandbox
from nbckpt.runtime.interrupts import allowed
from nbckpt.text.escape import on_a_line

if TYPE_CHECKING:
    from nbckpt.capture.groups.groups import Group
    from nbckpt.capture.trials.comparison import Difference

LOOK_S = 0.5
"""Seconds that the comparison of what came back may take."""

LONGEST_S = 2.0
"""Seconds that loading may take; what takes longer is not known to end."""

MOST_S = 2 * LONGEST_S
"""Seconds that all groups of one cell may take."""

Lacking = tuple[tuple[str, str], tuple[str, ...]]


class TrialOutcome(NamedTuple):
    """Outcome of a trial.

    Attributes
    ----------
    problem
        End of a sentence on the first thing that is not as it was; empty if all is, or nobody
        can tell.
    lacking
        Module and name of a class, and names of members that did not come back of its object.
    name
        The variable that is not as it was; empty if nothing came back.
    """

    problem: str = ""
    lacking: Lacking = (("", ""), ())
    name: str = ""

    @classmethod
    def of(cls, told: Any) -> TrialOutcome:
        """One that came as JSON."""
        problem, (place, names), name = told
        lacking = ((str(place[0]), str(place[1])), tuple(map(str, names)))
        return cls(str(problem), lacking, str(name))


class TrialRun:
    """Loads groups in a copy of the process, where nothing can be harmed by it.

    Attributes
    ----------
    refused
        Names of variables that are not there when the others come back.

    Parameters
    ----------
    namespace
        Where the definitions are that the values need.
    """

    def __init__(self, namespace: dict[str, object]) -> None:
        self.refused: frozenset[str] = frozenset()
        self._namespace = namespace

    def asked(
        self, groups: Sequence[Group], values: Mapping[str, object]
    ) -> tuple[list[TrialOutcome], list[str]]:
        """The outcome of each group, and why nothing came of some.

        One that ends the copy, or does not end in it, costs the others nothing: these are tried in
        the next copy, as long as there is time.
        """
        until = time.monotonic() + MOST_S
        outcomes: list[TrialOutcome] = []
        untold: list[str] = []
        while len(outcomes) < len(groups):
            rest = groups[len(outcomes) :]
            if outcomes and time.monotonic() > until:
                untold.append("there was no time")
                outcomes += [TrialOutcome()] * len(rest)
                break
            answer, said = self._in_a_copy(rest, values, until)
            found = [TrialOutcome.of(told) for _, told in said]
            untold += [str(reason) for reason, _ in said if reason]
            if len(found) < len(rest):
                untold.append(str(answer.get("why", "")))
                found.append(TrialOutcome())
            if self._are_others_in_a_copy(rest, found, values):
                untold.append("a copy of the process changes it")
            outcomes += found
        return outcomes, untold

    def _in_a_copy(
        self, groups: Sequence[Group], values: Mapping[str, object], until: float
    ) -> sandbox.Told:
        most_s = max(until - time.monotonic(), LONGEST_S)
        with allowed():
            return sandbox.in_a_copy(
                lambda say: self._in_the_copy(groups, values, say), LONGEST_S, most_s
            )

    def _are_others_in_a_copy(
        self,
        groups: Sequence[Group],
        outcomes: list[TrialOutcome],
        values: Mapping[str, object],
    ) -> bool:
        """Take back problems of values that are others in a copy, before anything is done there.

        Python says of threads that they ended, and libraries may do as much to what they have.
        """
        live = {
            n: [values[name] for name in group.names]
            for n, (group, outcome) in enumerate(zip(groups, outcomes, strict=False))
            if outcome.problem
        }
        if not live:
            return False

        def prints() -> dict[str, list[str]]:
            return {str(n): [print_of(v).hex() for v in live[n]] for n in live}

        with allowed():
            told = sandbox.in_a_copy(lambda _: {"prints": prints()}, LONGEST_S).answer.get("prints")
        here = prints() if told else {}
        changed = [n for n in live if told and told[str(n)] != here[str(n)]]
        for n in changed:
            outcomes[n] = TrialOutcome()
        return bool(changed)

    def _in_the_copy(
        self, groups: Sequence[Group], values: Mapping[str, object], say: sandbox.Say
    ) -> dict[str, Any]:
        kept: list[object] = []
        names: dict[int, list[str]] = {}
        for name, value in values.items():
            if is_user_name(name):
                names.setdefault(id(value), []).append(name)

        def try_all() -> None:
            for group in groups:
                outcome, why = self._outcome(group, values, names, kept)
                say([why, outcome])

        sandbox.confined(try_all, may_try=True)
        return {}

    def _outcome(
        self,
        group: Group,
        values: Mapping[str, object],
        names: Mapping[int, Sequence[str]],
        kept: list[object],
    ) -> tuple[TrialOutcome, str]:
        """The outcome of a group, and why there is none."""
        from nbckpt.capture.trials.comparison import Comparison

        assert group.encoded is not None
        parts = [memoryview(bytes(memoryview(part))) for part in group.encoded.parts]
        try:
            back = self._loaded(parts, group.names)
        except sandbox.StoppedError as stopped:
            return TrialOutcome(), f"it wants {stopped}"
        except PermissionError:  # to write something, which the copy may not
            return TrialOutcome(), "it wants to write"
        except BaseException as error:  # a value's own code raises it: nobody interrupts a copy
            problem = f"cannot be made again from what is kept of it ({_told(error)})"
            return TrialOutcome(problem), ""
        kept.append(back)
        comparison = Comparison(time.monotonic() + LOOK_S, names, group.names)
        for name in group.names:
            found = comparison.first_difference(name, values[name], back[name])
            if found is not None and self._is_steady(parts, group.names, back, found):
                kind = type(found.owner)
                lacking = (module_of_class(kind), kind.__qualname__), tuple(found.lacking)
                text = on_a_line(found.text)
                return TrialOutcome(f"does not come back as it is: {text}", lacking, name), ""
        return TrialOutcome(), ""

    def _loaded(self, parts: list[memoryview], names: Sequence[str]) -> dict[str, object]:
        """The values that come back where none of these names is bound, nor a refused one."""
        loading = Loading(self._namespace, self._resolved, is_silent=True)
        own = {n: self._namespace.pop(n) for n in {*names, *self.refused} if n in self._namespace}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # those of the notebook may be errors
                return decode(parts, loading, trusted=True)
        finally:
            self._namespace.update(own)

    def _resolved(self, name: str) -> object:
        if name not in self._namespace:
            message = f"it needs {name!r}, which cannot be kept"
            raise RestoreError(message)
        return self._namespace[name]

    def _is_steady(
        self,
        parts: list[memoryview],
        names: Sequence[str],
        back: Mapping[str, object],
        found: Difference,
    ) -> bool:
        """True if it is the same each time that the group is loaded, and no number of its own."""
        from nbckpt.capture.trials.comparison import Comparison

        again = self._loaded(parts, names)
        comparison = Comparison(time.monotonic() + LOOK_S)
        for name, value in back.items():
            other = comparison.first_difference(name, value, again[name])
            if other is not None and other.path == found.path:
                return False
        return True


def _told(error: BaseException) -> str:
    if isinstance(error, NbckptError):
        return str(error)
    text = str(error).strip().split("\n")[0][:200]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
