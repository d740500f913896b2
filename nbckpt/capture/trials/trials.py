"""Groups of variables that were just encoded → those that come back, and refusals of the others."""

from __future__ import annotations

import pickle
import time
import warnings
import weakref
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from nbckpt.capture.trials.prints import print_of
from nbckpt.capture.trials.ways import Members, Ways
from nbckpt.codecs.class_statements import makes_such
from nbckpt.codecs.hashed import may_not_be_filled
from nbckpt.codecs.key_hashing import has_own_hash
from nbckpt.codecs.loading import Loading, decode
from nbckpt.digests import Digest
from nbckpt.errors import NbckptError, RestoreError
from nbckpt.fingerprint.names import is_user_name
from nbckpt.fingerprint.values.sure import comes_back_for_sure, module_of, package_of
from nbckpt.runtime import sandbox
from nbckpt.runtime.interrupts import allowed
from nbckpt.storage.blobs import digest_of_parts
from nbckpt.text.escape import on_a_line

if TYPE_CHECKING:
    from nbckpt.capture.groups import Encoder, Group
    from nbckpt.capture.trials.comparison import Difference

MOST_BYTES = 64 << 20
"""Most bytes of a group that are loaded for a trial."""

LOOK_S = 0.5
"""Seconds that the comparison of what came back may take."""

LONGEST_S = 2.0
"""Seconds that loading may take; what takes longer is not known to end."""

NO_FORKS = sandbox.NO_FORKS | {"_duckdb", "jaxlib", "lightgbm", "xgboost"}
"""Packages of what is not loaded in a copy; some are those of C beneath such a library."""

BY_STATEMENT = frozenset({"_io", "io", "sqlite3", "socket", "_hashlib", "_blake2", "generator"})
"""Of these the statement comes with what was done since: a place, rows, what was fed."""

MOST_REMEMBERED = 1_000

MOST_ROUNDS = 3
"""Most times that a group is written again with more of its members."""

Lacking = tuple[tuple[str, str], tuple[str, ...]]


class Outcome(NamedTuple):
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
    def of(cls, told: Any) -> Outcome:
        """One that came as JSON."""
        problem, (place, names), name = told
        lacking = ((str(place[0]), str(place[1])), tuple(map(str, names)))
        return cls(str(problem), lacking, str(name))


class Trials:
    """Loads what was encoded, once for each type and each statement, and compares it.

    Attributes
    ----------
    untold
        How often nothing came of a trial, by the reason.
    ways
        What was learnt from those that failed.

    Parameters
    ----------
    namespace
        Where the definitions are that the values need.
    """

    def __init__(self, namespace: dict[str, object]) -> None:
        self.untold: Counter[str] = Counter()
        self.ways = Ways()
        self._namespace = namespace
        self._known: weakref.WeakSet[type] = weakref.WeakSet()
        self._members = Members()
        self._refused: frozenset[str] = frozenset()
        self._passed: dict[Digest, None] = {}
        self._why_none: str | None = None

    def judged(
        self, groups: Sequence[Group], values: Mapping[str, object], encoder: Encoder
    ) -> list[Group]:
        """The same variables, with refusals of those that do not come back.

        Parameters
        ----------
        values
            What the variables hold.
        encoder
            What encoded them, and can in another way.
        """
        suspects = [n for n, group in enumerate(groups) if self._is_to_be_tried(group, values)]
        if not suspects:
            return list(groups)
        self._refused = frozenset()
        outcomes = iter(self._tried([groups[n] for n in suspects], values))
        found: list[Group] = []
        for n, group in enumerate(groups):
            outcome = next(outcomes) if n in suspects else Outcome()
            found += self._mended(group, outcome, values, encoder) if outcome.problem else [group]
        return found

    def _mended(
        self, group: Group, outcome: Outcome, values: Mapping[str, object], encoder: Encoder
    ) -> list[Group]:
        """A group in another way, by which all of it comes back; else without what does not."""
        first = outcome
        for _ in range(MOST_ROUNDS):
            if not self._learn(group, outcome):
                break
            again = encoder.again(group.names)
            if again is None:
                break
            outcome = self._tried([again], values)[0]
            if not outcome.problem:
                return [again]
        other = encoder.otherwise(group)
        if other is not None and not self._tried([other], values)[0].problem:
            return [other]
        return self._parted(group, first, values, encoder)

    def _parted(
        self, group: Group, outcome: Outcome, values: Mapping[str, object], encoder: Encoder
    ) -> list[Group]:
        """Refusals of what does not come back, and the rest of its group."""
        names = group.names
        culprits = {outcome.name: outcome.problem}
        if not outcome.name:
            culprits = self._culprits(group, values, encoder)
        culprits = culprits or dict.fromkeys(names, outcome.problem)
        rest = tuple(name for name in names if name not in culprits)
        again = encoder.again(rest) if rest else None
        if again is None:
            return group.refused({n: culprits.get(n, outcome.problem) for n in names}, values)
        if len(rest) > 1:
            again = replace(again, values={name: group.values[name] for name in rest})
        self._refused |= culprits.keys()
        found = self._tried([again], values)[0]
        of_rest = self._mended(again, found, values, encoder) if found.problem else [again]
        return [*group.refused(culprits, values), *of_rest]

    def _culprits(
        self, group: Group, values: Mapping[str, object], encoder: Encoder
    ) -> dict[str, str]:
        """Those of several variables that do not load by themselves, and why."""
        if len(group.names) == 1:
            return {}
        alone = [one for name in group.names if (one := encoder.again((name,))) is not None]
        needed = frozenset[str]().union(*(one.encoded.needs for one in alone if one.encoded))
        before, self._refused = self._refused, self._refused.union(group.names) - needed
        outcomes = [(one, self._tried([one], values)[0]) for one in alone]
        self._refused = before
        return {
            one.names[0]: found.problem
            for one, found in outcomes
            if found.problem and not found.name
        }

    def _learn(self, group: Group, outcome: Outcome) -> bool:
        """Have members be written that did not come back; whether there are new ones."""
        if group.encoded is None or group.recipes:
            return False
        place, names = outcome.lacking
        kinds = [k for k in group.encoded.kinds if (module_of(k), k.__qualname__) == place]
        learnt = [self.ways.add_members(kind, names) for kind in kinds] if names else []
        return any(learnt)

    # -- what is tried ----------------------------------------------------------------------

    def _is_to_be_tried(self, group: Group, values: Mapping[str, object]) -> bool:
        encoded = group.encoded
        if encoded is None:
            return False
        new = [kind for kind in encoded.kinds if kind not in self._known]
        sure = [kind for kind in new if comes_back_for_sure(kind) and not has_own_hash(kind)]
        self._known.update(sure)
        is_unsure = len(sure) < len(new) or self._members.are_new(encoded.members)
        if not is_unsure and not self._may_differ_by_values(group):
            return False
        if any(map(makes_such, encoded.kinds)):  # the library knows the live class of that name
            return False
        packages = set(map(package_of, (*encoded.kinds, *(type(values[n]) for n in group.names))))
        if packages & NO_FORKS or (group.recipes and packages & BY_STATEMENT):
            return False
        if sum(memoryview(part).nbytes for part in encoded.parts) > MOST_BYTES:
            return False
        if self._why_none is None:
            self._why_none = sandbox.why_none()
        if self._why_none:
            return False
        if is_unsure:
            return True
        is_hazard = group.has_substitutes or self._may_not_be_filled(group, values)
        return is_hazard and self._key(group, values) not in self._passed

    @staticmethod
    def _may_differ_by_values(group: Group) -> bool:
        """True if types alone may not tell that values come back."""
        kinds = group.encoded.kinds if group.encoded is not None else ()
        return group.has_substitutes or any(map(has_own_hash, kinds))

    @staticmethod
    def _may_not_be_filled(group: Group, values: Mapping[str, object]) -> bool:
        """True if a frozenset or a reference in a group may keep a hash of before."""
        assert group.encoded is not None
        may_hold = any(issubclass(kind, weakref.ref) for kind in group.encoded.kinds) or any(
            bytes(memoryview(part)).find(pickle.FROZENSET) >= 0 for part in group.encoded.parts
        )
        return may_hold and may_not_be_filled(values[name] for name in group.names)

    # -- a trial ----------------------------------------------------------------------------

    def _tried(self, groups: list[Group], values: Mapping[str, object]) -> list[Outcome]:
        """The outcome of each group."""
        answer = self._asked(groups, values)
        if "why" in answer and len(groups) > 1:  # one of them: which, is found one by one
            return [self._tried([group], values)[0] for group in groups]
        if "why" in answer:
            answer = {"outcomes": [Outcome()], "untold": [answer["why"]]}
        self.untold.update(map(str, answer["untold"]))
        outcomes = [*map(Outcome.of, answer["outcomes"])]
        for group, outcome in zip(groups, outcomes, strict=True):
            if not outcome.problem and group.encoded is not None:
                self._known.update(group.encoded.kinds)
                self._members.add(group.encoded.members)
                if self._may_differ_by_values(group):
                    self._remember(self._key(group, values))
        return outcomes

    def _are_others_in_a_copy(self, groups: Sequence[Group], values: Mapping[str, object]) -> bool:
        """True if values are others in a copy, before anything is done there.

        Python says of threads that they ended, and libraries may do as much to what they have.
        """
        live = [values[name] for group in groups for name in group.names]
        with allowed():
            told = sandbox.in_a_copy(
                lambda: {"prints": [print_of(value).hex() for value in live]}, LONGEST_S
            )
        return "prints" in told and told["prints"] != [print_of(value).hex() for value in live]

    def _key(self, group: Group, values: Mapping[str, object]) -> Digest:
        """Digest of a group's stream and of its live values: while it stays, the verdict stays."""
        assert group.encoded is not None
        prints = [print_of(values[name]) for name in group.names]
        return digest_of_parts([*group.encoded.parts, *prints])

    def _remember(self, key: Digest) -> None:
        self._passed[key] = None
        while len(self._passed) > MOST_REMEMBERED:
            del self._passed[next(iter(self._passed))]

    def _asked(self, groups: list[Group], values: Mapping[str, object]) -> dict[str, Any]:
        """The answer of a copy of the process, or ``why`` there is none that counts."""
        with allowed():
            answer = sandbox.in_a_copy(lambda: self._in_the_copy(groups, values), LONGEST_S)
        has_problems = any(problem for problem, *_ in answer.get("outcomes", ()))
        if has_problems and self._are_others_in_a_copy(groups, values):
            return {"why": "a copy of the process changes it"}
        return answer

    def _in_the_copy(self, groups: list[Group], values: Mapping[str, object]) -> dict[str, Any]:
        untold: list[str] = []
        kept: list[object] = []
        outcomes = sandbox.confined(
            lambda: [self._outcome(group, values, untold, kept) for group in groups], may_try=True
        )
        return {"outcomes": outcomes, "untold": untold}

    def _outcome(
        self, group: Group, values: Mapping[str, object], untold: list[str], kept: list[object]
    ) -> Outcome:
        """The outcome of a group."""
        from nbckpt.capture.trials.comparison import Comparison

        assert group.encoded is not None
        parts = [memoryview(bytes(memoryview(part))) for part in group.encoded.parts]
        try:
            back = self._loaded(parts, group.names)
        except sandbox.StoppedError as stopped:
            untold.append(f"it wants {stopped}")
            return Outcome()
        except PermissionError:  # to write something, which the copy may not
            untold.append("it wants to write")
            return Outcome()
        except BaseException as error:  # a value's own code raises it: nobody interrupts a copy
            return Outcome(f"cannot be made again from what is kept of it ({_told(error)})")
        kept.append(back)
        others = {n: v for n, v in values.items() if n not in group.names and is_user_name(n)}
        comparison = Comparison(time.monotonic() + LOOK_S, others)
        for name in group.names:
            found = comparison.first_difference(name, values[name], back[name])
            if found is not None and self._is_steady(parts, group.names, back, found):
                kind = type(found.owner)
                lacking = (module_of(kind), kind.__qualname__), tuple(found.lacking)
                text = on_a_line(found.text)
                return Outcome(f"does not come back as it is: {text}", lacking, name)
        return Outcome()

    def _loaded(self, parts: list[memoryview], names: Sequence[str]) -> dict[str, object]:
        """The values that come back where none of these names is bound, nor a refused one."""
        loading = Loading(self._namespace, self._resolved, is_silent=True)
        own = {n: self._namespace.pop(n) for n in {*names, *self._refused} if n in self._namespace}
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
        comparison = Comparison(time.monotonic() + LOOK_S, {})
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
