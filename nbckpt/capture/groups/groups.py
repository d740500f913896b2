"""Variables → groups → bytes: what shares an object is written together, all else on its own."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from nbckpt.capture.groups.encode import encode_at_any_depth
from nbckpt.capture.groups.looks import KnownLook, Look, taken
from nbckpt.capture.groups.shared_objects import connected, mutual_groups, pairs_of_encoded
from nbckpt.capture.groups.trial_lessons import Ways
from nbckpt.capture.limits import least_size, out_of_time, too_large
from nbckpt.capture.recipes.bindings import Bindings
from nbckpt.capture.recipes.recipes import Recipe, recipe_for
from nbckpt.codecs import refused_objects, ssl_contexts
from nbckpt.codecs.encode import Encoded, EncodeError, encode, encoded_scalar
from nbckpt.codecs.hidden_secrets import SecretError
from nbckpt.codecs.indexes import pairs_by_index
from nbckpt.codecs.pickler import Scope
from nbckpt.codecs.references import is_by_reference
from nbckpt.codecs.streams import TooLargeError
from nbckpt.digests import Digest
from nbckpt.fingerprint.user_names import is_user_name
from nbckpt.fingerprint.values.array_owners import ArrayOwners
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.model import Refusal
from nbckpt.runtime.gc_pause import switched_off
from nbckpt.runtime.mapped_files import ShortenedError
from nbckpt.runtime.time_limit import OutOfTimeError, bounded, limit_s, slow
from nbckpt.storage.blobs import digest_of_parts, size_of_parts
from nbckpt.text.describe import type_name_of
from nbckpt.text.secret_texts import redacted
from nbckpt.types.adapter import RefusalError

MAX_SUBSTITUTES = 50
"""Objects inside one variable that are kept by recipe or dill before it is given up."""


@dataclass(frozen=True)
class Group:
    """A group of variables as one blob, or why it has none.

    Attributes
    ----------
    values
        Of several variables: the digest that each one's blob would have alone.
    known
        The blob that holds it already: it is as it was kept, and `encoded` has no parts.
    look
        The look by which it will be known again, once it is kept; None if it cannot.
    has_substitutes
        Whether something inside may be written otherwise than by pickle: as a statement, by dill.
    """

    names: tuple[str, ...]
    encoded: Encoded | None
    refusals: tuple[Refusal, ...] = ()
    recipes: frozenset[str] = frozenset()
    has_substitutes: bool = False
    values: Mapping[str, Digest] = field(default_factory=dict)
    known: Digest | None = None
    look: Look | None = None

    def refused(self, problems: Mapping[str, str], values: Mapping[str, object]) -> list[Group]:
        """Some of its variables, each by itself and refused.

        Parameters
        ----------
        problems
            Their names → why they cannot be kept.
        values
            What the variables hold.
        """
        refusals = [Refusal(n, n, type_name_of(values[n]), why) for n, why in problems.items()]
        return [Group((refusal.variable,), None, (refusal,)) for refusal in refusals]


class Encoder:
    """Encodes variables one by one, and together where they share what can change.

    Attributes
    ----------
    ties
        Of the last call of `encode_groups`: name → names that it directly shares with.
    too_large
        Names of variables that have more bytes than they may.

    Parameters
    ----------
    max_bytes
        Bytes of a variable; one that is larger is refused as soon as that is known.
    values
        What the variables hold; by default what they hold when they are asked for.
    ways
        How some are written that the usual way loses something of.
    looks
        How variables with large contents were when they were kept; None if all are to be encoded.
    """

    def __init__(
        self,
        namespace: dict[str, object],
        bindings: Bindings,
        homes: Mapping[int, str],
        max_bytes: int | None = None,
        values: Mapping[str, object] | None = None,
        ways: Ways | None = None,
        looks: Mapping[str, KnownLook] | None = None,
    ) -> None:
        self._namespace = namespace
        self._values = namespace if values is None else values
        self._bindings = bindings
        self._homes = homes
        self._owners = ArrayOwners(namespace)
        self._substitutes: dict[int, Any] = {}
        self._recipes: set[str] = set()
        self._ways = ways or Ways()
        self._looks = looks
        self._keepalive: list[object] = []
        self._tuples: frozenset[int] = frozenset()
        self._max_bytes = max_bytes
        self.ties: dict[str, frozenset[str]] = {}
        self.too_large: set[str] = set()

    def encode_groups(self, names: list[str]) -> list[Group]:
        """All of `names`, each in the one group that it belongs to."""
        self._tuples = self._tuples_among(names)
        n_shareable = sum(type(self._values[name]) not in ATOMS for name in names)
        scalars = self._scalars(names)
        single = [
            scalars.get(name) or self._alone(name, with_shares=n_shareable > 1) for name in names
        ]
        if len(single) == 1:
            self.ties = {names[0]: frozenset()} if single[0].encoded is not None else {}
            return single
        good = {o.names[0]: o for o in single if o.encoded is not None}
        encoded = {n: o.encoded for n, o in good.items() if o.encoded}
        pairs = self._pairs(encoded)
        self._note(encoded, pairs)
        groups = connected(encoded, [*pairs, *mutual_groups(connected(encoded, pairs), encoded)])
        together = [good[g[0]] if len(g) == 1 else self._together(g, good) for g in groups]
        return [*together, *(o for o in single if o.encoded is None)]

    def _scalars(self, names: Iterable[str]) -> dict[str, Group]:
        """Those of `names` that have short values, of which no code runs: many in no time."""
        values, most = self._values, self._max_bytes
        with switched_off():
            encoded = ((name, encoded_scalar(name, values[name], most)) for name in names)
            return {name: Group((name,), one) for name, one in encoded if one is not None}

    def _tuples_among(self, names: Iterable[str]) -> frozenset[int]:
        values = (self._values[name] for name in names)
        return frozenset(id(value) for value in values if type(value) is tuple and value)

    def _note(self, names: Iterable[str], pairs: Iterable[tuple[str, str]]) -> None:
        found: dict[str, set[str]] = {}
        for one, other in pairs:
            found.setdefault(one, set()).add(other)
            found.setdefault(other, set()).add(one)
        self.ties = {name: frozenset(found.get(name, ())) for name in names}

    def _alone(self, name: str, *, with_shares: bool) -> Group:
        """One variable as a blob of its own, unless it is too large."""
        if self._max_bytes is None:
            return self._encode((name,), with_shares=with_shares, may_be_known=True)
        size = least_size(self._values[name])
        if size <= self._max_bytes:
            group = self._encode(
                (name,), with_shares=with_shares, max_bytes=self._max_bytes, may_be_known=True
            )
            if group.encoded is None:
                return group
            size = size_of_parts(group.encoded.parts)
            if size <= self._max_bytes:
                return group
        return self._refuse(name, size)

    def _refuse(self, name: str, size_bytes: int | None) -> Group:
        assert self._max_bytes is not None
        self.too_large.add(name)
        refusal = too_large(name, self._values[name], self._max_bytes, size_bytes)
        return Group((name,), None, (refusal,))

    def _encode(
        self,
        names: tuple[str, ...],
        *,
        with_shares: bool = True,
        max_bytes: int | None = None,
        may_be_known: bool = False,
    ) -> Group:
        values = {name: self._values[name] for name in names}
        if len(names) == 1 and (
            type(values[names[0]]) in ATOMS or is_by_reference(values[names[0]])
        ):
            with_shares = False
        if any(value in slow for value in values.values()):
            why = ((n, type_name_of(v)) for n, v in values.items())
            return Group(names, None, tuple(Refusal(n, n, kind, out_of_time()) for n, kind in why))
        until = time.monotonic() + (limit_s() or math.inf)
        scope = Scope(
            self._namespace, self._homes, self._substitutes, self._tuples, max_bytes,
            self._ways.members, self._bindings.class_statement, self._bindings.changed_since,
            self._owners.bytes_of,
        )  # fmt: skip
        while True:
            try:
                with bounded(*values.values()):
                    encode_ = partial(encode_at_any_depth, values, scope, with_shares)
                    known = (self._looks or {}).get(names[0])
                    is_whole = self._looks is None or not may_be_known or bool(self._substitutes)
                    found = taken(encode_, known, is_whole=is_whole)
            except EncodeError as error:
                if isinstance(error.__cause__, TooLargeError):
                    return self._refuse(names[0], None)
                if isinstance(error.__cause__, OutOfTimeError):
                    for value in values.values():
                        slow.add(value)
                    return Group(names, None, _refused_for_time(error, values))
                if time.monotonic() > until:  # each alone was in time
                    return Group(names, None, _refused_for_time(error, values))
                if refusal := self._substitute(error, values):
                    refusals = tuple(Refusal(n, *refusal) for n in names)
                    return Group(names, None, refusals)
                continue
            recipes = frozenset(self._recipes.intersection(names))
            group = Group(names, found.encoded, (), recipes, has_substitutes=bool(self._recipes))
            return replace(group, known=found.known, look=found.look)

    def again(self, names: tuple[str, ...]) -> Group | None:
        """Variables once more, by what was learnt since; None if they cannot be kept so."""
        made = self._encode(names, with_shares=False)
        return made if made.encoded is not None else None

    def otherwise(self, group: Group) -> Group | None:
        """A variable by its parts if it was a statement, and as a statement if it was its parts.

        None where there is no other way.
        """
        made_again = [n for n in group.names if id(self._values[n]) in self._substitutes]
        if made_again:
            for name in made_again:
                self._substitutes.pop(id(self._values[name]), None)
                self._ways.by_parts.add(self._values[name])
                self._recipes.discard(name)
            return self.again(group.names)
        if len(group.names) != 1:
            return None
        (name,) = group.names
        value = self._values[name]
        recipe = recipe_for(name, value, self._namespace, self._bindings)
        if not isinstance(recipe, Recipe) or not self._can_keep(recipe):
            return None
        self._replace(value, recipe.reduced())
        self._recipes.add(name)
        return self.again((name,))

    def _together(self, names: tuple[str, ...], alone: Mapping[str, Group]) -> Group:
        whole = [
            self._encode((n,), with_shares=False) if alone[n].known else alone[n] for n in names
        ]
        encoded = {one.names[0]: one.encoded for one in whole if one.encoded is not None}
        values = {name: digest_of_parts(one.parts) for name, one in encoded.items()}
        return replace(self._encode(names, with_shares=False), values=values)

    def sharing(self, names: Iterable[str]) -> list[tuple[str, ...]]:
        """Groups of two or more of `names` that share objects; nothing is stored."""
        names = list(names)
        self._tuples = self._tuples_among(names)
        single = {name: self._encode((name,)) for name in names}
        encoded = {n: group.encoded for n, group in single.items() if group.encoded}
        return [group for group in connected(encoded, self._pairs(encoded)) if len(group) > 1]

    def _pairs(self, encoded: Mapping[str, Encoded]) -> list[tuple[str, str]]:
        values = {name: self._values[name] for name in encoded}
        return [*pairs_of_encoded(encoded), *pairs_by_index(values)]

    def _substitute(
        self, error: EncodeError, values: Mapping[str, object]
    ) -> tuple[str, str, str] | None:
        """Find something to write in the refusing object's place; else where, what and why."""
        culprit = error.culprit
        path = refused_objects.path_to(culprit, values) or [(next(iter(values)), culprit)]
        because = ""
        may_stand_in = not isinstance(error.__cause__, SecretError)  # a statement says it, too
        if (
            may_stand_in
            and len(self._substitutes) < MAX_SUBSTITUTES
            and id(culprit) not in self._substitutes
        ):
            recipe, because = self._recipe_on(path)
            if recipe is not None:
                return None
            try:
                substitute = self._substitute_for(error)
            except RefusalError as why:
                error.__cause__ = why
            else:
                if substitute is not None:
                    self._replace(culprit, substitute)
                    return None
        reason = refused_objects.reason_of(error.__cause__ or error)
        where, obj = path[-1]
        return where, type_name_of(obj), f"{reason} {because}".strip()

    def _substitute_for(self, error: EncodeError) -> Any:
        """Substitute written in place of an object that no statement makes again; None if none.

        Raises
        ------
        RefusalError
            If it is not kept on purpose.
        """
        if isinstance(error.__cause__, RefusalError | ShortenedError):
            return None
        return ssl_contexts.parts_of(error.culprit) or refused_objects.dilled(error.culprit)

    def _recipe_on(self, path: list[refused_objects.Step]) -> tuple[Recipe | None, str]:
        """A recipe for the outermost object on the way that is a variable and has one."""
        because = ""
        for _, obj in path:
            for name in () if obj in self._ways.by_parts else self._names_of(obj):
                recipe = recipe_for(name, obj, self._namespace, self._bindings)
                if isinstance(recipe, Recipe) and self._can_keep(recipe):
                    self._replace(obj, recipe.reduced())
                    self._recipes.add(name)
                    return recipe, ""
                because = because or (recipe if isinstance(recipe, str) else "")
        return None, because

    def _names_of(self, obj: object) -> list[str]:
        return [n for n, v in self._namespace.items() if v is obj and is_user_name(n)]

    def _can_keep(self, recipe: Recipe) -> bool:
        if redacted(recipe.statement) != recipe.statement:
            return False
        scope = Scope(self._namespace, self._homes)
        try:
            encode({"recipe": recipe.reduced()}, scope, with_shares=False)
        except EncodeError:
            return False
        return True

    def _replace(self, obj: object, substitute: Any) -> None:
        self._substitutes[id(obj)] = substitute
        self._keepalive.append(obj)


def _refused_for_time(error: EncodeError, values: Mapping[str, object]) -> tuple[Refusal, ...]:
    path = refused_objects.path_to(error.culprit, values) or [(next(iter(values)), error.culprit)]
    where, obj = path[-1]
    return tuple(Refusal(name, where, type_name_of(obj), out_of_time()) for name in values)
