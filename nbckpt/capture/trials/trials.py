"""Groups of variables that were just encoded → those that come back, and refusals of the others."""

from __future__ import annotations

import itertools
import pickle
import weakref
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from nbckpt.capture.groups.trial_lessons import Members, Ways
from nbckpt.capture.trials.prints import print_of
from nbckpt.capture.trials.trial_run import TrialOutcome, TrialRun
from nbckpt.codecs.class_statements import makes_such
from nbckpt.codecs.hashed_keys import may_not_be_filled
from nbckpt.codecs.key_hashing import has_own_hash
from nbckpt.digests import Digest
from nbckpt.fingerprint.values.homes import module_of_class
from nbckpt.fingerprint.values.sure_types import comes_back_for_sure, package_of
from nbckpt.runtime import sandbox
from nbckpt.storage.blobs import digest_of_parts, size_of_parts

if TYPE_CHECKING:
    from nbckpt.capture.groups.groups import Encoder, Group

MOST_BYTES = 64 << 20
"""Most bytes of a group that are loaded for a trial."""


NO_FORKS = sandbox.NO_FORKS | {"_duckdb", "jaxlib", "lightgbm", "xgboost"}
"""Packages of what is not loaded in a copy; some are those of C beneath such a library."""

BY_STATEMENT = frozenset({"_io", "io", "sqlite3", "socket", "generator"})
"""Of these the statement comes with what was done since: a place, rows."""

MOST_REMEMBERED = 1_000

MOST_ROUNDS = 3
"""Most times that a group is written again with more of its members."""


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
        self._known: weakref.WeakSet[type] = weakref.WeakSet()
        self._members = Members()
        self._run = TrialRun(namespace)
        self._passed: dict[Digest, None] = {}
        self._why_none: str | None = None
        self._prints: dict[str, bytes] = {}

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
        self._prints.clear()  # trials run in a fork: values stay as they are meanwhile
        is_suspect = [self._is_to_be_tried(group, values) for group in groups]
        if not any(is_suspect):
            return list(groups)
        self._run.refused = frozenset()
        outcomes = iter(self._tried(list(itertools.compress(groups, is_suspect)), values))
        found: list[Group] = []
        for group, is_tried in zip(groups, is_suspect, strict=True):
            outcome = next(outcomes) if is_tried else TrialOutcome()
            found += self._mended(group, outcome, values, encoder) if outcome.problem else [group]
        return found

    def _mended(
        self, group: Group, outcome: TrialOutcome, values: Mapping[str, object], encoder: Encoder
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
        self, group: Group, outcome: TrialOutcome, values: Mapping[str, object], encoder: Encoder
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
        self._run.refused |= culprits.keys()
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
        before, self._run.refused = self._run.refused, self._run.refused.union(group.names) - needed
        outcomes = [(one, self._tried([one], values)[0]) for one in alone]
        self._run.refused = before
        return {
            one.names[0]: found.problem
            for one, found in outcomes
            if found.problem and not found.name
        }

    def _learn(self, group: Group, outcome: TrialOutcome) -> bool:
        """Have members be written that did not come back; whether there are new ones."""
        if group.encoded is None or group.recipes:
            return False
        place, names = outcome.lacking
        kinds = [k for k in group.encoded.kinds if (module_of_class(k), k.__qualname__) == place]
        learnt = [self.ways.add_members(kind, names) for kind in kinds] if names else []
        return any(learnt)

    # -- what is tried ----------------------------------------------------------------------

    def _is_to_be_tried(self, group: Group, values: Mapping[str, object]) -> bool:
        encoded = group.encoded
        if group.known:  # it came back when it was kept
            return False
        if encoded is None or not (encoded.kinds or encoded.members or group.has_substitutes):
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
        if size_of_parts(encoded.parts) > MOST_BYTES:
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
        # Buffers hold no opcodes; a payload may be a stream, too.
        streams = (part for part in group.encoded.parts if isinstance(part, bytes))
        may_hold = any(pickle.FROZENSET in stream for stream in streams) or any(
            issubclass(kind, weakref.ref) for kind in group.encoded.kinds
        )
        return may_hold and may_not_be_filled(values[name] for name in group.names)

    # -- a trial ----------------------------------------------------------------------------

    def _tried(self, groups: list[Group], values: Mapping[str, object]) -> list[TrialOutcome]:
        """The outcome of each group."""
        outcomes, untold = self._run.asked(groups, values)
        self.untold.update(untold)
        for group, outcome in zip(groups, outcomes, strict=True):
            if not outcome.problem and group.encoded is not None:
                self._known.update(group.encoded.kinds)
                self._members.add(group.encoded.members)
                if self._may_differ_by_values(group):
                    self._remember(self._key(group, values))
        return outcomes

    def _key(self, group: Group, values: Mapping[str, object]) -> Digest:
        """Digest of a group's stream and of its live values: while it stays, the verdict stays."""
        assert group.encoded is not None
        prints = [self._print(name, values) for name in group.names]
        return digest_of_parts([*group.encoded.parts, *prints])

    def _print(self, name: str, values: Mapping[str, object]) -> bytes:
        """The print of a variable; made once for the look-up of a verdict and for the verdict."""
        if name not in self._prints:
            self._prints[name] = print_of(values[name])
        return self._prints[name]

    def _remember(self, key: Digest) -> None:
        self._passed[key] = None
        while len(self._passed) > MOST_REMEMBERED:
            del self._passed[next(iter(self._passed))]
