"""Objects of libraries that pickle refuses, or takes apart wrongly, although they tell all of it.

One function for each, named by its class, so that no package is imported to ask.
"""

from __future__ import annotations

import copyreg
import functools
import gc
import importlib
import itertools
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from nbckpt.codecs.alive import RefusedError
from nbckpt.codecs.singletons import modules_of_libraries, named_in
from nbckpt.fingerprint.values.reducing import past_getattr, reduction_of, set_members

if TYPE_CHECKING:
    from nbckpt.codecs.pickler import NamespacePickler, Reducer


def reducer_for(kind: type) -> Reducer | None:
    """The reducer for objects of type `kind`; None for types that are not known here."""
    if reducer := _EXACT.get((str(kind.__module__), kind.__name__)):
        return reducer
    for cls in kind.__mro__[:-1]:
        if reducer := _REDUCERS.get((str(cls.__module__), cls.__name__)):
            return reducer
    return None


def set_attributes(value: Any, attributes: dict[str, object]) -> None:
    """Set what the call that made `value` does not take."""
    for name, attribute in attributes.items():
        setattr(value, name, attribute)


def item_of(container: Any, key: Any) -> Any:
    """The item of a container at a key."""
    return container[key]


def _made(make: Any, arguments: tuple[Any, ...], attributes: dict[str, object]) -> Any:
    return make, arguments, attributes, None, None, set_attributes


# -- Python's ---------------------------------------------------------------------------------


def _reduce_simple_queue(_: object, queue: Any) -> Any:
    """Nothing shows what such a queue holds but the collector, which visits it."""
    size = queue.qsize()
    found = [item for item in gc.get_referents(queue) if item is not type(queue)]
    if sys.version_info < (3, 13):  # a list, in which what was taken out left its place
        lists = [item for item in found if type(item) is list]
        found = lists[0] if len(found) == len(lists) == 1 else []
    items = found[len(found) - size :] if size else []
    if len(items) != size:
        message = "what it holds cannot be told"
        raise RefusedError(message)
    return make_simple_queue, (), items, None, None, put_all


def make_simple_queue() -> Any:
    """An empty queue."""
    import queue

    return queue.SimpleQueue()


def put_all(queue: Any, items: list[object]) -> None:
    """Fill a queue."""
    for item in items:
        queue.put(item)


def _reduce_shared(_: object, shared: Any) -> Any:
    """A value or an array that processes share; those that run would go on with the old one."""
    import multiprocessing

    if multiprocessing.active_children():
        message = "processes that run share it"
        raise RefusedError(message)
    raw = shared.get_obj()
    lock = type(shared.get_lock()).__name__
    if hasattr(type(raw), "_length_"):
        return make_shared, (type(raw)._type_, list(raw), lock)
    return make_shared, (type(raw), raw.value, lock)


def make_shared(kind: type, content: Any, lock: str) -> Any:
    """A shared value, or an array where the content is a list."""
    import multiprocessing

    locks: Any = {"Lock": multiprocessing.Lock, "RLock": multiprocessing.RLock}
    make: Any = multiprocessing.Array if isinstance(content, list) else multiprocessing.Value
    return make(kind, content, lock=locks[lock]())


def _reduce_mock_call(_: object, call: Any) -> Any:
    """A call that a mock remembers; its class would take two or three items for other ones."""
    items = tuple(tuple.__iter__(call))
    return tuple.__new__, (type(call), items), dict(vars(call)), None, None, set_members


class _Lines:
    """The lines that a reader of CSV is given, of which some were read before."""

    def __init__(self, before: int, lines: Iterator[str]) -> None:
        self.lines = lines
        self._all = itertools.chain(itertools.repeat("\n", before), lines)

    def __iter__(self) -> Iterator[str]:
        return self._all


_DIALECT = (
    "delimiter", "doublequote", "escapechar", "lineterminator", "quotechar", "quoting",
    "skipinitialspace", "strict",
)  # fmt: skip


def _reduce_csv_reader(_: object, reader: Any) -> Any:
    known = (type(reader), type(reader.dialect))
    found = [item for item in gc.get_referents(reader) if not isinstance(item, known)]
    sources = [item for item in found if item not in known and hasattr(item, "__next__")]
    if len(sources) != 1:
        message = "it has begun a row, or what it reads cannot be told"
        raise RefusedError(message)
    settings = {name: getattr(reader.dialect, name) for name in _DIALECT}
    return make_csv_reader, (sources[0], reader.line_num, settings)


def make_csv_reader(lines: Iterator[str], line_num: int, settings: dict[str, Any]) -> Any:
    """A reader that stands behind so many lines."""
    import csv

    reader = csv.reader(iter(_Lines(line_num, lines)), **settings)
    for _ in range(line_num):
        next(reader)
    return reader


# -- NumPy and numba --------------------------------------------------------------------------


def _reduce_ufunc(_: object, ufunc: Any) -> Any:
    """One of a library is that; one that was made of a function is made of it again."""
    functions = [item for item in gc.get_referents(ufunc) if callable(item)]
    if len(functions) == 1 and str(ufunc.__name__).endswith(" (vectorized)"):
        identity = {} if ufunc.identity is None else {"identity": ufunc.identity}
        return make_ufunc, (functions[0], ufunc.nin, ufunc.nout, identity)
    return NotImplemented


def make_ufunc(function: Any, n_in: int, n_out: int, options: dict[str, Any]) -> Any:
    """A function that is called for each element of arrays."""
    import numpy as np

    return np.frompyfunc(function, n_in, n_out, **options)


def _reduce_broadcast(_: object, broadcast: Any) -> Any:
    return make_broadcast, (tuple(one.base for one in broadcast.iters), broadcast.index)


def make_broadcast(arrays: tuple[Any, ...], index: int) -> Any:
    """Arrays that are gone through together, so far."""
    import numpy as np

    made: Any = np.broadcast(*arrays)
    for _ in range(index):
        next(made)
    return made


def _reduce_typed_list(_: object, values: Any) -> Any:
    return make_typed_list, (values._list_type.item_type, list(values))  # noqa: SLF001


def make_typed_list(kind: Any, items: list[object]) -> Any:
    """A list of numba."""
    made = importlib.import_module("numba.typed").List.empty_list(kind)
    made.extend(items)
    return made


def _reduce_typed_dict(_: object, values: Any) -> Any:
    kind = values._dict_type  # noqa: SLF001
    return make_typed_dict, (kind.key_type, kind.value_type, dict(values.items()))


def make_typed_dict(key: Any, value: Any, items: dict[object, object]) -> Any:
    """A dict of numba."""
    made = importlib.import_module("numba.typed").Dict.empty(key, value)
    for one, other in items.items():
        made[one] = other
    return made


# -- texts ------------------------------------------------------------------------------------


def _reduce_regex(_: object, pattern: Any) -> Any:
    return make_regex, (pattern.pattern, pattern.flags, dict(pattern.named_lists))


def make_regex(pattern: Any, flags: int, lists: dict[str, Any]) -> Any:
    """A pattern of the module `regex`."""
    return importlib.import_module("regex").compile(pattern, flags, **lists)


def _reduce_regex_match(_: object, match: Any) -> Any:
    if match.string is not None and not match.partial:
        what = (match.re, match.string, match.pos, match.endpos)
        for how in ("search", "match", "fullmatch", "finditer"):
            again = make_regex_match(*what, how, match.start())
            if again is not None and again.allspans() == match.allspans():
                return make_regex_match, (*what, how, match.start())
    message = "it cannot be found again in its text"
    raise RefusedError(message)


def make_regex_match(pattern: Any, text: Any, first: int, last: int, how: str, start: int) -> Any:
    """The match that `how` finds; of several, the one that begins at `start`."""
    if how == "finditer":
        found = pattern.finditer(text, first, last)
        return next((match for match in found if match.start() == start), None)
    return getattr(pattern, how)(text, first, last)


def _reduce_span(_: object, span: Any) -> Any:
    names = {"label": span.label_, "kb_id": span.kb_id_, "span_id": span.id_}
    return make_span, (span.doc, span.start, span.end, names)


def make_span(doc: Any, start: int, end: int, names: dict[str, str]) -> Any:
    """A part of a document of spaCy."""
    return importlib.import_module("spacy.tokens").Span(doc, start, end, **names)


def _reduce_token(_: object, token: Any) -> Any:
    return item_of, (token.doc, token.i)


def _reduce_lexeme(_: object, lexeme: Any) -> Any:
    return item_of, (lexeme.vocab, lexeme.text)


def _reduce_vocab(_: object, vocab: Any) -> Any:
    reduce = copyreg.dispatch_table.get(type(vocab))
    reduced: Any = NotImplemented if reduce is None else reduce(vocab)
    if not isinstance(reduced, tuple) or len(reduced) != 2:
        return NotImplemented
    return _made(*reduced, {"writing_system": vocab.writing_system})


def _reduce_validated(_: object, wrapper: Any) -> Any:
    """Reduce a validated function, without the notebook's namespace that its validator holds."""
    config = dict(wrapper.config_wrapper.config_dict)
    return make_validated, (type(wrapper), wrapper.function, config, wrapper.validate_return)


def make_validated(kind: Any, function: Any, config: dict[str, Any], validates: bool) -> Any:
    """The wrapper that `pydantic.validate_call` puts around a function."""
    return kind(function, config or None, validates, None)


_OF_CODERS = {
    "Encoder": ("enc_hook", "decimal_format", "uuid_format", "order"),
    "Decoder": ("type", "strict", "dec_hook", "float_hook", "ext_hook"),
}


def _reduce_coder(_: object, coder: Any) -> Any:
    """An encoder or a decoder of msgspec, with what it was made with."""
    names = _OF_CODERS[type(coder).__name__]
    return make_coder, (type(coder), {n: getattr(coder, n) for n in names if hasattr(coder, n)})


def make_coder(kind: Any, options: dict[str, Any]) -> Any:
    """An encoder or a decoder."""
    return kind(**options)


def _reduce_token_type(pickler: NamespacePickler, token: Any) -> Any:
    """A kind of tokens is the one object that is found by its names."""
    pickler.private.add(id(token))
    return token_of, (type(token).__module__, *token)


def token_of(module: str, *names: str) -> Any:
    """A kind of tokens of Pygments or sqlparse."""
    return functools.reduce(getattr, names, importlib.import_module(module).Token)


# -- shapes, images, units, molecules, times --------------------------------------------------


def _reduce_prepared(_: object, prepared: Any) -> Any:
    return make_prepared, (prepared.context,)


def make_prepared(geometry: Any) -> Any:
    """A geometry that answers fast."""
    return importlib.import_module("shapely.prepared").prep(geometry)


def _reduce_draw(_: object, draw: Any) -> Any:
    names = ("ink", "fill", "fontmode", "font")
    attributes = {n: vars(draw)[n] for n in names if n in vars(draw)}
    return _made(make_draw, (type(draw), draw._image, draw.mode), attributes)  # noqa: SLF001


def make_draw(kind: Any, image: Any, mode: str) -> Any:
    """An object that draws on an image."""
    return kind(image, mode)


def _reduce_quantity(_: object, quantity: Any) -> Any:
    return make_quantity, (quantity._REGISTRY, quantity._magnitude, quantity._units)  # noqa: SLF001


def make_quantity(registry: Any, magnitude: Any, units: Any) -> Any:
    """A quantity of that registry."""
    return registry.Quantity(magnitude, units)


def _reduce_unit(_: object, unit: Any) -> Any:
    return make_unit, (unit._REGISTRY, unit._units)  # noqa: SLF001


def make_unit(registry: Any, units: Any) -> Any:
    """A unit of that registry."""
    return registry.Unit(units)


def _reduce_molecule(_: object, molecule: Any) -> Any:
    """A molecule of RDKit with its properties, which its own pickle leaves out."""
    options = sys.modules["rdkit.Chem.rdchem"].PropertyPickleOptions
    return type(molecule), (molecule.ToBinary(int(options.AllProps)),)


def _reduce_moment(_: object, moment: Any) -> Any:
    """A time of pendulum with its fold, which its own pickle leaves out."""
    make, arguments, *_rest = moment.__reduce_ex__(5)
    return with_fold, (make, arguments, moment.fold)


def with_fold(make: Callable[..., Any], arguments: tuple[Any, ...], fold: int) -> Any:
    """A time that is the first or the second of its name."""
    return make(*arguments, fold=fold)


# -- databases and servers ---------------------------------------------------------------------


def _reduce_engine(_: object, engine: Any) -> Any:
    """An engine of SQLAlchemy without the statements that it has compiled.

    Their symbols are numbers of one process.
    """
    make, arguments, state, *rest = reduction_of(engine, 5)
    cache: Any = state.get("_compiled_cache") if type(state) is dict else None
    if type(cache).__name__ == "LRUCache":
        empty = type(cache)(cache.capacity, cache.threshold, cache.size_alert)
        state = {**state, "_compiled_cache": empty}
    return make, arguments, state, *rest


def _reduce_proxy(pickler: NamespacePickler, proxy: Any) -> Any:
    """A proxy of the request that is being answered is the one that a library has."""
    for place, members in modules_of_libraries():
        for name, value in list(members.items()):
            if value is proxy:
                pickler.private.add(id(proxy))
                return named_in, (place, name)
    return past_getattr(reduction_of(proxy, 5))


_REDUCERS: dict[tuple[str, str], Reducer] = {
    ("_queue", "SimpleQueue"): _reduce_simple_queue,
    ("multiprocessing.sharedctypes", "SynchronizedBase"): _reduce_shared,
    ("unittest.mock", "_Call"): _reduce_mock_call,
    ("_csv", "reader"): _reduce_csv_reader,
    ("numpy", "ufunc"): _reduce_ufunc,
    ("numpy", "broadcast"): _reduce_broadcast,
    ("numba.typed.typedlist", "List"): _reduce_typed_list,
    ("numba.typed.typeddict", "Dict"): _reduce_typed_dict,
    ("_regex", "Pattern"): _reduce_regex,
    ("_regex", "Match"): _reduce_regex_match,
    ("spacy.tokens.span", "Span"): _reduce_span,
    ("spacy.tokens.token", "Token"): _reduce_token,
    ("spacy.lexeme", "Lexeme"): _reduce_lexeme,
    ("spacy.vocab", "Vocab"): _reduce_vocab,
    ("msgspec.json", "Encoder"): _reduce_coder,
    ("msgspec.json", "Decoder"): _reduce_coder,
    ("msgspec.msgpack", "Encoder"): _reduce_coder,
    ("msgspec.msgpack", "Decoder"): _reduce_coder,
    ("pydantic._internal._validate_call", "ValidateCallWrapper"): _reduce_validated,
    ("shapely.prepared", "PreparedGeometry"): _reduce_prepared,
    ("PIL.ImageDraw", "ImageDraw"): _reduce_draw,
    ("pint.registry", "Quantity"): _reduce_quantity,
    ("pint.registry", "Unit"): _reduce_unit,
}
"""By the module and the name of a class; those that derive from one count, too."""

_EXACT: dict[tuple[str, str], Reducer] = {
    ("rdkit.Chem.rdchem", "Mol"): _reduce_molecule,
    ("rdkit.Chem.rdchem", "RWMol"): _reduce_molecule,
    ("pendulum.datetime", "DateTime"): _reduce_moment,
    ("sqlalchemy.engine.base", "Engine"): _reduce_engine,
    ("pygments.token", "_TokenType"): _reduce_token_type,
    ("sqlparse.tokens", "_TokenType"): _reduce_token_type,
    ("werkzeug.local", "LocalProxy"): _reduce_proxy,
}
"""The same, of classes whose subclasses may be made otherwise."""
