"""Objects of libraries that pickle refuses, or takes apart wrongly, although they tell all of it.

One function for each, named by its class, so that no package is imported to ask.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nbckpt.codecs import stdlib_objects, text_objects
from nbckpt.codecs.singletons import modules_of_libraries, named_in
from nbckpt.fingerprint.values.reducing import past_getattr, reduction_of, set_attributes

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


# -- shapes, images, units, molecules, times --------------------------------------------------


def _reduce_prepared(_: object, prepared: Any) -> Any:
    return make_prepared, (prepared.context,)


def make_prepared(geometry: Any) -> Any:
    """A geometry that answers fast."""
    return importlib.import_module("shapely.prepared").prep(geometry)


def _reduce_draw(_: object, draw: Any) -> Any:
    names = ("ink", "fill", "fontmode", "font")
    attributes = {n: vars(draw)[n] for n in names if n in vars(draw)}
    arguments = type(draw), draw._image, draw.mode  # noqa: SLF001
    return make_draw, arguments, attributes, None, None, set_attributes


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
    **stdlib_objects.REDUCERS,
    **text_objects.REDUCERS,
    ("numpy", "ufunc"): _reduce_ufunc,
    ("numpy", "broadcast"): _reduce_broadcast,
    ("numba.typed.typedlist", "List"): _reduce_typed_list,
    ("numba.typed.typeddict", "Dict"): _reduce_typed_dict,
    ("shapely.prepared", "PreparedGeometry"): _reduce_prepared,
    ("PIL.ImageDraw", "ImageDraw"): _reduce_draw,
    ("pint.registry", "Quantity"): _reduce_quantity,
    ("pint.registry", "Unit"): _reduce_unit,
}
"""By the module and the name of a class; those that derive from one count, too."""

_EXACT: dict[tuple[str, str], Reducer] = {
    **text_objects.EXACT,
    ("rdkit.Chem.rdchem", "Mol"): _reduce_molecule,
    ("rdkit.Chem.rdchem", "RWMol"): _reduce_molecule,
    ("pendulum.datetime", "DateTime"): _reduce_moment,
    ("sqlalchemy.engine.base", "Engine"): _reduce_engine,
    ("werkzeug.local", "LocalProxy"): _reduce_proxy,
}
"""The same, of classes whose subclasses may be made otherwise."""
