"""Values → parts: one small stream and the large buffers beside it, none of them copied."""

from __future__ import annotations

import copyreg
from _pickle import dumps  # the one of `pickle` may have been replaced
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from nbckpt.codecs import arrays, classes, containers, hidden_secrets, instance_dicts, storages
from nbckpt.codecs.hidden_secrets import Hiding, SecretError
from nbckpt.codecs.pickler import NamespacePickler, Scope
from nbckpt.codecs.reducers import reducer_for, reducer_of
from nbckpt.codecs.segmented import Segmented, segmented
from nbckpt.codecs.sharing import shareable_ids
from nbckpt.codecs.streams import StreamWriter, TooLargeError
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.fingerprint.values.sure_types import comes_back_for_sure
from nbckpt.runtime.gc_pause import switched_off
from nbckpt.runtime.time_limit import OutOfTimeError
from nbckpt.runtime.user_code_errors import user_code_errors

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from nbckpt.codecs.known_contents import Contents

MOST_OF_A_SCALAR = 4_096
"""Characters of a text, or bits of a number, that is written without a pickler of our own."""


@dataclass(frozen=True)
class Encoded:
    """Values as bytes, and what was seen on the way.

    Attributes
    ----------
    parts
        The stream, its large payloads, then buffers; valid as long as the values are not changed.
    needs
        Names of notebook functions and classes that the stream refers to.
    shares
        ids of the mutable objects and memory inside: variables with a common one belong together.
    views
        id or address of each memory → ids of the arrays, and of what else, that lie on it.
    tables
        ids of memories of tables: they tie these to arrays on them, and not to each other.
    written
        ids of memories that are written to through an array or a table inside.
    dicts
        ids of the dicts of instances that something else inside holds, too.
    kinds
        The types of the objects inside, but for atoms and plain containers.
    members
        Of those types whose code has a say in what is written: names that their objects have.
    """

    parts: list[Buffer]
    needs: frozenset[str]
    shares: frozenset[int] | array[int]
    views: Mapping[int, frozenset[int]]
    tables: frozenset[int] = frozenset()
    written: frozenset[int] = frozenset()
    dicts: frozenset[int] = frozenset()
    kinds: frozenset[type] = frozenset()
    members: Mapping[type, frozenset[str]] = field(default_factory=dict)
    keepalive: object = None


def encode(
    values: Mapping[str, object],
    scope: Scope,
    *,
    linked: frozenset[int] = frozenset(),
    with_shares: bool = True,
    contents: Contents | None = None,
) -> Encoded:
    """`values` as one blob's parts.

    Parameters
    ----------
    linked
        ids of array memories on which several arrays lie: these are written as views; and of
        dicts that come back as the very dicts of the instances that have them.
    with_shares
        Whether `shares` is wanted; it costs up to a microsecond an object.
    contents
        Takes the contents of large arrays of texts, for each of which a number is written. If it
        took any, the parts are no blob: they are only to be compared with others of this kind.

    Raises
    ------
    EncodeError
        If an object inside refuses; it is named.
    """
    name = next(iter(values), "")
    if len(values) == 1:
        encoded_alone = encoded_scalar(name, values[name], scope.max_bytes)
        if encoded_alone is not None:
            return encoded_alone
    write = partial(_written, values, scope, linked=linked, with_shares=with_shares)
    encoded = write(contents=contents)
    is_compared = contents is not None and contents.has_taken
    if is_compared or not hidden_secrets.may_be_in(encoded.parts):
        return encoded
    encoded = write(hiding=Hiding())
    if told := hidden_secrets.name_in(encoded.parts):
        raise EncodeError(values[name]) from SecretError(f"it holds {told} of the environment")
    return encoded


def _written(
    values: Mapping[str, object],
    scope: Scope,
    *,
    linked: frozenset[int],
    with_shares: bool,
    contents: Contents | None = None,
    hiding: Hiding | None = None,
) -> Encoded:
    """`encode`, with whatever secrets are in the values unless they are to be hidden."""
    name = next(iter(values), "")
    writer = StreamWriter(scope.max_bytes, names=hiding is not None)
    buffers: list[Buffer] = []
    pickler = NamespacePickler(
        writer,
        buffers,
        scope,
        reducer_of,
        own=frozenset(values),
        linked=linked,
        contents=contents,
    )
    if contents is not None:
        contents.begin()
    with switched_off():
        stands_for = _segmented(values, scope) if hiding is None else None
        written = values if stands_for is None else {name: stands_for}
        try:
            if hiding is not None:
                pickler.persistent_id = hiding
                hidden_secrets.refuse_named(values, hiding)
            pickler.dump({_apart(name): written[name] for name in classes.bases_first(written)})
        except user_code_errors(OutOfTimeError) as error:
            culprit = pickler.latest if hiding is None else hiding.culprit or pickler.latest
            raise EncodeError(culprit) from error  # a value ends no process
        if stands_for is None:
            return _encoded(pickler, values, writer, buffers, with_shares=with_shares)
        pickler.private.add(id(stands_for))
        encoded = _encoded(pickler, written, writer, buffers, with_shares=with_shares)
        return _of_elements(encoded, stands_for, with_shares=with_shares)


def _segmented(values: Mapping[str, object], scope: Scope) -> Segmented | None:
    if len(values) != 1:
        return None
    (value,) = values.values()
    return segmented(value, scope, _is_as_pickle_writes)


def _is_as_pickle_writes(kind: type) -> bool:
    return (
        kind not in copyreg.dispatch_table
        and reducer_for(kind) is None
        and comes_back_for_sure(kind)
    )


def _of_elements(stream: Encoded, stands_for: Segmented, *, with_shares: bool) -> Encoded:
    """A list or dict as encoded, of whose elements the pickler saw none."""
    shares = stands_for.shares() if with_shares else array("Q")
    if not stands_for.kinds:
        return Encoded(stream.parts, _NOTHING, shares, {})
    return replace(
        stream,
        shares=shares + array("Q", stream.shares) if shares else stream.shares,
        kinds=(stream.kinds - {Segmented}) | stands_for.kinds,
        members={kind: names for kind, names in stream.members.items() if kind is not Segmented},
    )


def encoded_scalar(name: str, value: object, max_bytes: int | None = None) -> Encoded | None:
    """One variable with a short value, as `encode` gives it; None of any other value.

    Byte for byte what a pickler of our own makes of it, in a tenth of the time.

    Parameters
    ----------
    max_bytes
        Of a longer one nothing is given either.
    """
    if not _is_scalar(value) or not name.isidentifier():
        return None
    if type(value) is str and hidden_secrets.is_suspect(name, value):
        return None
    writer = StreamWriter(max_bytes)
    try:
        writer.write(dumps({_apart(name): value}, 5))
    except TooLargeError:
        return None
    return Encoded(writer.parts(), _NOTHING, _NOTHING, {})


_NOTHING: frozenset[Any] = frozenset()


def _encoded(
    pickler: NamespacePickler,
    values: Mapping[str, object],
    writer: StreamWriter,
    buffers: list[Buffer],
    *,
    with_shares: bool,
) -> Encoded:
    """The bytes that a pickler wrote, and what it saw."""
    scope = pickler.scope
    storages.finish(pickler.storages.values())
    plain = containers.ids_of(values.values(), scope.tuples) if with_shares else frozenset()
    contents = pickler.contents
    is_compared = contents is not None and contents.has_taken
    is_wanted = plain is None or pickler.exporters or pickler.dicts or is_compared
    memo = pickler.memo.copy() if is_wanted else {}
    if contents is not None and is_compared:
        contents.end(memo)
    arrays.tie_memories(pickler, memo)
    shares = plain or shareable_ids(
        memo if with_shares else {},
        except_ids=pickler.private,
        homes=scope.homes,
        tuples=scope.tuples,
    )
    twice = instance_dicts.held_twice(pickler.dicts, memo, values.values())
    tying = {dict_ for dict_, owners in pickler.dicts.items() if not shares.isdisjoint(owners)}
    return Encoded(
        parts=[*writer.parts(), *buffers],
        needs=frozenset(pickler.needs),
        shares=shares.union(
            pickler.views, pickler.storages, pickler.addresses, pickler.cells, tying
        ),
        views={
            root: frozenset(ids.union(pickler.tables.get(root, ())))
            for root, ids in pickler.views.items()
        },
        tables=frozenset(pickler.tables),
        written=frozenset(pickler.written),
        dicts=twice,
        kinds=frozenset(pickler.kinds()),
        members={kind: frozenset(names) for kind, names in pickler.members.items()},
        # As long as ids are compared: what only this pickling made would lend its to another.
        keepalive=(
            _compared(memo, pickler.own_dicts),
            pickler.storages,
            pickler.kept,
            pickler.roots,
            pickler.exporters,
            pickler.cells,
            pickler.storage_arrays,
        ),
    )


_NEVER_COMPARED = ATOMS | {tuple}


def _compared(memo: Mapping[int, tuple[int, object]], own_dicts: set[int]) -> list[object]:
    """The objects that may be compared with what others hold.

    The dicts that instances have live as long as these do. Held here, or by a tuple that a
    reducer made of one, they were held twice for whoever pickles the instances next.
    """
    return [
        obj
        for address, (_, obj) in memo.items()
        if type(obj) not in _NEVER_COMPARED and address not in own_dicts
    ]


def _is_scalar(value: object) -> bool:
    """True if it is one of the short values of which no reducer is asked."""
    if type(value) is str:
        return len(value) <= MOST_OF_A_SCALAR
    if type(value) is int:
        return value.bit_length() <= MOST_OF_A_SCALAR
    return type(value) is float or type(value) is bool or value is None


def _apart(name: str) -> str:
    """A text that no value holds: one written once for both would tell a restored name apart."""
    return name.encode().decode()


class EncodeError(Exception):
    """The pickler stopped at `culprit`; `__cause__` says why. Capture turns it into a refusal."""

    def __init__(self, culprit: object) -> None:
        super().__init__(type(culprit).__name__)
        self.culprit = culprit
