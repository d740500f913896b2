"""Variables → groups → bytes: what shares an object is written together, all else on its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nbckpt.codecs import depth, refused
from nbckpt.codecs.pickler import Encoded, EncodeError, Scope, encode, is_by_reference
from nbckpt.describe import type_name_of
from nbckpt.digests import Digest
from nbckpt.model import Refusal
from nbckpt.names import is_user_name
from nbckpt.recipes import Bindings, Recipe, recipe_for
from nbckpt.storage.blobs import digest_of_parts

ATOMS = frozenset({int, float, complex, bool, str, bytes, type(None)})
"""Types whose values cannot be shared in a way that shows."""

MAX_SUBSTITUTES = 50
"""Objects inside one variable that are kept by recipe or dill before it is given up."""


@dataclass(frozen=True)
class Group:
    """A group of variables as one blob, or why it has none.

    Attributes
    ----------
    values
        Of several variables: the digest that each one's blob would have alone.
    """

    names: tuple[str, ...]
    encoded: Encoded | None
    refusals: tuple[Refusal, ...] = ()
    recipes: frozenset[str] = frozenset()
    values: Mapping[str, Digest] = field(default_factory=dict)


class Encoder:
    """Encodes variables one by one, and together where they share what can change."""

    def __init__(
        self, namespace: dict[str, object], bindings: Bindings, homes: Mapping[int, str]
    ) -> None:
        self._namespace = namespace
        self._bindings = bindings
        self._homes = homes
        self._substitutes: dict[int, Any] = {}
        self._recipes: set[str] = set()
        self._keepalive: list[object] = []

    def encode_groups(self, names: list[str]) -> list[Group]:
        """All of `names`, each in the one group that it belongs to."""
        single = [self._encode((name,), with_shares=len(names) > 1) for name in names]
        good = {o.names[0]: o for o in single if o.encoded is not None}
        encoded = {n: o.encoded for n, o in good.items() if o.encoded}
        groups = _groups(
            {n: e.shares for n, e in encoded.items()},
            _mutual({n: e.needs for n, e in encoded.items()}),
        )
        together = [good[g[0]] if len(g) == 1 else self._together(g, encoded) for g in groups]
        return [*together, *(o for o in single if o.encoded is None)]

    def _encode(self, names: tuple[str, ...], *, with_shares: bool = True) -> Group:
        values = {name: self._namespace[name] for name in names}
        if len(names) == 1 and (
            type(values[names[0]]) in ATOMS or is_by_reference(values[names[0]])
        ):
            with_shares = False
        while True:
            scope = Scope(self._namespace, self._homes, self._substitutes)
            try:
                encoded = _encode_at_any_depth(values, scope, with_shares=with_shares)
            except EncodeError as error:
                if refusal := self._substitute(error, values):
                    refusals = tuple(Refusal(n, *refusal) for n in names)
                    return Group(names, None, refusals)
                continue
            return Group(names, encoded, recipes=frozenset(self._recipes.intersection(names)))

    def _together(self, names: tuple[str, ...], alone: Mapping[str, Encoded]) -> Group:
        values = {name: digest_of_parts(alone[name].parts) for name in names}
        return replace(self._encode(names), values=values)

    def sharing(self, names: Iterable[str]) -> list[tuple[str, ...]]:
        """Which of `names` share objects: groups of two or more; nothing is stored."""
        single = {name: self._encode((name,)) for name in names}
        shares = {n: group.encoded.shares for n, group in single.items() if group.encoded}
        return [group for group in _groups(shares) if len(group) > 1]

    def _substitute(
        self, error: EncodeError, values: Mapping[str, object]
    ) -> tuple[str, str, str] | None:
        """Find something to write in the refusing object's place; else where, what and why."""
        culprit = error.culprit
        path = refused.path_to(culprit, values) or [(next(iter(values)), culprit)]
        because = ""
        if len(self._substitutes) < MAX_SUBSTITUTES and id(culprit) not in self._substitutes:
            recipe, because = self._recipe_on(path)
            if recipe is not None:
                return None
            if substitute := refused.dilled(culprit):
                self._replace(culprit, substitute)
                return None
        reason = refused.reason_of(error.__cause__ or error)
        where, obj = path[-1]
        return where, type_name_of(obj), f"{reason} {because}".strip()

    def _recipe_on(self, path: list[refused.Step]) -> tuple[Recipe | None, str]:
        """A recipe for the outermost object on the way that is a variable and has one."""
        because = ""
        for _, obj in path:
            for name in self._names_of(obj):
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
        scope = Scope(self._namespace, self._homes)
        try:
            encode({"recipe": recipe.reduced()}, scope, with_shares=False)
        except EncodeError:
            return False
        return True

    def _replace(self, obj: object, substitute: Any) -> None:
        self._substitutes[id(obj)] = substitute
        self._keepalive.append(obj)


def _encode_at_any_depth(
    values: Mapping[str, object], scope: Scope, *, with_shares: bool
) -> Encoded:
    """Encode; once more with a larger stack when the values are nested too deeply for this one."""
    try:
        return _encode_views(values, scope, with_shares=with_shares)
    except EncodeError as error:
        if not depth.is_too_deep(error.__cause__):
            raise
    return depth.with_room(lambda: _encode_views(values, scope, with_shares=with_shares))


def _encode_views(values: Mapping[str, object], scope: Scope, *, with_shares: bool) -> Encoded:
    """Encode; a second time when several arrays turn out to lie on one memory."""
    encoded = encode(values, scope, with_shares=with_shares)
    linked = frozenset(root for root, arrays in encoded.views.items() if len(arrays) > 1)
    if not linked:
        return encoded
    return encode(values, scope, linked=linked, with_shares=with_shares)


def _mutual(needs: Mapping[str, frozenset[str]]) -> list[tuple[str, str]]:
    """Pairs of definitions that need each other: neither blob could be loaded first."""

    def reached(name: str) -> set[str]:
        found: set[str] = set()
        queue = [name]
        while queue:
            more = needs.get(queue.pop(), frozenset()) - found
            found |= more
            queue.extend(more)
        return found

    reach = {name: reached(name) for name, needed in needs.items() if needed}
    return [(a, b) for a, names in reach.items() for b in names if a in reach.get(b, ())]


def _groups(
    shares: Mapping[str, frozenset[int]], tied: Iterable[tuple[str, str]] = ()
) -> list[tuple[str, ...]]:
    """The connected components of variables that share an object, or are tied otherwise."""
    owner: dict[int, str] = {}
    leader = {name: name for name in shares}

    def find(name: str) -> str:
        while leader[name] != name:
            leader[name] = name = leader[leader[name]]
        return name

    for name, ids in shares.items():
        for obj in ids:
            leader[find(name)] = find(owner.setdefault(obj, name))
    for one, other in tied:
        leader[find(one)] = find(other)
    groups: dict[str, list[str]] = {}
    for name in sorted(shares):
        groups.setdefault(find(name), []).append(name)
    return [tuple(group) for group in groups.values()]
