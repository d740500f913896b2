"""How values of scientific packages are compared."""

from __future__ import annotations

import importlib
import io
import sys
from typing import Any

from tests.fidelity.compare import Comparison, by_reduction, compares, members, same

# -- memory that several arrays or tensors lie on


def _same_place(c: Comparison, x: tuple[int, int], y: tuple[int, int]) -> None:
    """Hold that what shares memory with what was met before shares it in the same way.

    Each place is the identity of the memory's owner and an address.
    """
    there, back = c.__dict__.setdefault("_memories", ({}, {}))
    (x_owner, x_at), (y_owner, y_at) = x, y
    if x_owner not in there and y_owner not in back:
        there[x_owner], back[y_owner] = (y_owner, x_at, y_at), x_owner
        return
    if x_owner not in there or there[x_owner][0] != y_owner or back.get(y_owner) != x_owner:
        c.fail("its memory is shared with other arrays than before")
    _, x_first, y_first = there[x_owner]
    c.equal(" place in the shared memory", x_at - x_first, y_at - y_first)


def _place(array: Any) -> tuple[int, int]:
    import numpy as np

    base: Any = array
    below: Any = None
    while True:
        below = base.base
        below = below.base if type(below).__name__ == "DummyArray" else below
        if not isinstance(below, np.ndarray):
            break
        base = below
    below = below.obj if isinstance(below, memoryview) else below
    first = array.__array_interface__["data"][0]
    if type(below).__name__ == "Tensor":
        return below.untyped_storage().data_ptr(), first
    if "torch" in sys.modules and base.size:  # a tensor may lie on it, and knows no more
        return base.__array_interface__["data"][0], first
    return id(below if isinstance(below, bytearray) else base), first


# -- numpy


@compares("numpy.ndarray")
def _array(c: Comparison, x: Any, y: Any) -> None:
    import numpy as np

    plain_x, plain_y = np.ndarray.view(x, np.ndarray), np.ndarray.view(y, np.ndarray)
    _dtype(c, plain_x.dtype, plain_y.dtype)
    c.equal(".shape", plain_x.shape, plain_y.shape)
    for flag in ("C_CONTIGUOUS", "F_CONTIGUOUS", "WRITEABLE", "ALIGNED"):
        c.equal(f".flags.{flag}", plain_x.flags[flag], plain_y.flags[flag])
    if plain_y.size:
        c.equal(".strides", _steps(plain_x), _steps(plain_y))
        if plain_y.dtype.kind != "T":
            _same_place(c, _place(x), _place(y))
    values(c, plain_x, plain_y)
    if isinstance(y, np.ma.MaskedArray) and y is not np.ma.masked:
        c.part(".fill_value", x.fill_value, y.fill_value)  # which makes it, if it was never asked
    if not isinstance(y, np.memmap):
        members(c, x, y)


def _steps(array: Any) -> list[int]:
    """The strides that mean something."""
    return [s for s, n in zip(array.strides, array.shape, strict=True) if n > 1]


def values(c: Comparison, x: Any, y: Any) -> None:
    """Compare elements bit for bit; what lies in the padding of records is no value."""
    if y.dtype.names is not None:
        for name in y.dtype.names:
            values(c, x[name], y[name])
    elif y.dtype.hasobject or y.dtype.kind == "T":
        c.parts("", x.reshape(-1).tolist(), y.reshape(-1).tolist())
    elif y.dtype.char in "gG":  # six of their sixteen bytes are padding
        c.equal("values", [repr(v) for v in x.reshape(-1)], [repr(v) for v in y.reshape(-1)])
    elif x.tobytes() != y.tobytes():
        at = next(i for i in range(y.size) if x.flat[i].tobytes() != y.flat[i].tobytes())
        c.fail(f"element {at} is {x.flat[at]!r}, was {y.flat[at]!r}")


@compares("numpy.generic")
def _scalar(c: Comparison, x: Any, y: Any) -> None:
    import numpy as np

    _dtype(c, x.dtype, y.dtype)
    values(c, np.asarray(x), np.asarray(y))


@compares("numpy.dtype")
def _dtype(c: Comparison, x: Any, y: Any) -> None:
    c.equal(" dtype", repr(x), repr(y))
    c.equal(" dtype's metadata", dict(x.metadata or {}), dict(y.metadata or {}))
    c.equal(" dtype's alignment", x.isalignedstruct, y.isalignedstruct)


@compares("numpy.ufunc", "torch.dtype", "torch.device", "torch.layout", "torch.memory_format")
def _named(c: Comparison, x: object, y: object) -> None:
    c.equal("name", repr(x), repr(y))


@compares("numpy.random.Generator", "numpy.random._generator.Generator")
def _generator(c: Comparison, x: Any, y: Any) -> None:
    c.part(".bit_generator", x.bit_generator, y.bit_generator)


@compares("numpy.random.bit_generator.BitGenerator", "numpy.random.mtrand.RandomState")
def _random_state(c: Comparison, x: Any, y: Any) -> None:
    states = [v.state if hasattr(v, "state") else v.get_state(legacy=False) for v in (x, y)]
    c.part(".state", *states)


@compares("numpy.finfo", "numpy.iinfo")
def _machine_limits(c: Comparison, x: Any, y: Any) -> None:
    c.equal("limits", repr(x), repr(y))


# -- pandas


@compares("pandas.DataFrame", "pandas.core.frame.DataFrame")
def _frame(c: Comparison, x: Any, y: Any) -> None:
    c.equal(".shape", x.shape, y.shape)
    c.part(".columns", x.columns, y.columns)
    for i in range(y.shape[1]):
        _column(c, f".iloc[:, {i}]", x.iloc[:, i], y.iloc[:, i])
    _labels(c, x, y)


@compares("pandas.Series", "pandas.core.series.Series")
def _series(c: Comparison, x: Any, y: Any) -> None:
    c.part(".name", x.name, y.name)
    _column(c, ".array", x, y)
    _labels(c, x, y)


def _labels(c: Comparison, x: Any, y: Any) -> None:
    c.part(".index", x.index, y.index)
    c.part(".attrs", x.attrs, y.attrs)
    c.equal(".flags", x.flags.allows_duplicate_labels, y.flags.allows_duplicate_labels)
    for name in y._metadata:
        c.part(f".{name}", getattr(x, name, None), getattr(y, name, None))


def _column(c: Comparison, label: str, x: Any, y: Any) -> None:
    c.equal(f"{label}.dtype", repr(x.dtype), repr(y.dtype))
    if hasattr(y.dtype, "na_value") and not isinstance(y.dtype, str):
        same(x.array, y.array)
        return
    values(c, x.to_numpy(), y.to_numpy())


@compares("pandas.Index", "pandas.core.indexes.base.Index")
def _index(c: Comparison, x: Any, y: Any) -> None:
    c.part(".names", list(x.names), list(y.names))
    c.equal(".dtype", repr(x.dtype), repr(y.dtype))
    c.equal(".freq", repr(getattr(x, "freq", None)), repr(getattr(y, "freq", None)))
    if hasattr(y, "levels"):
        c.parts(".levels", x.levels, y.levels)
        c.parts(".codes", map(list, x.codes), map(list, y.codes))
    elif hasattr(y, "step"):
        c.equal(" range", (x.start, x.stop, x.step), (y.start, y.stop, y.step))
    else:
        _column(c, "", x, y)


@compares(
    "pandas.api.extensions.ExtensionArray", "pandas.core.arrays.base.ExtensionArray",
    "pandas.arrays.ExtensionArray",
)  # fmt: skip
def _extension_array(c: Comparison, x: Any, y: Any) -> None:
    import numpy as np

    c.equal(".dtype", repr(x.dtype), repr(y.dtype))
    if hasattr(y, "_pa_array"):
        same(
            x._pa_array, y._pa_array
        )  # frames share what cannot change, and are values all the same
        return
    if hasattr(y, "_mask"):
        values(c, x._mask, y._mask)
        values(c, x._data[~x._mask], y._data[~y._mask])
        return
    if hasattr(y, "categories"):
        c.equal(".ordered", x.ordered, y.ordered)
        c.part(".categories", x.categories, y.categories)
        values(c, np.asarray(x.codes), np.asarray(y.codes))
        return
    for name in ("_ndarray", "sp_values", "fill_value", "left", "right", "closed", "freq"):
        if hasattr(y, name):
            c.part(f".{name}", getattr(x, name), getattr(y, name))
    c.parts("", map(repr, x), map(repr, y))


@compares("pandas.api.extensions.ExtensionDtype", "pandas.core.dtypes.base.ExtensionDtype")
def _extension_dtype(c: Comparison, x: Any, y: Any) -> None:
    c.equal("dtype", repr(x), repr(y))


@compares(
    "pandas._libs.tslibs.offsets.BaseOffset", "pandas._libs.tslibs.period._Period",
    "pandas._libs.tslibs.timedeltas._Timedelta", "pandas._libs.interval.Interval",
)  # fmt: skip
def _time(c: Comparison, x: Any, y: Any) -> None:
    c.equal("value", repr(x), repr(y))
    for name in ("unit", "n", "normalize", "freqstr", "ordinal", "closed", "kwds"):
        c.equal(f".{name}", getattr(x, name, None), getattr(y, name, None))
    if x != y:
        c.fail(f"it is {x!r}, which is not equal to {y!r}")


# -- polars and Arrow


@compares("polars.dataframe.frame.DataFrame")
def _polars_frame(c: Comparison, x: Any, y: Any) -> None:
    c.equal(".schema", repr(x.schema), repr(y.schema))
    c.equal(".shape", x.shape, y.shape)
    c.parts(" columns", x.get_columns(), y.get_columns())


@compares("polars.series.series.Series")
def _polars_series(c: Comparison, x: Any, y: Any) -> None:
    c.equal(".name", x.name, y.name)
    c.equal(".dtype", repr(x.dtype), repr(y.dtype))
    if "Object" in repr(y.dtype):
        c.part(" values", x.to_list(), y.to_list())
        return
    c.part(".to_arrow()", x.to_arrow(), y.to_arrow())
    if repr(y.dtype).startswith("Enum"):
        c.part(".categories", x.dtype.categories.to_list(), y.dtype.categories.to_list())


@compares("polars.lazyframe.frame.LazyFrame")
def _polars_lazy(c: Comparison, x: Any, y: Any) -> None:
    c.equal(".explain()", x.explain(optimized=False), y.explain(optimized=False))
    c.part(".collect()", x.collect(), y.collect())


@compares("polars.expr.expr.Expr")
def _polars_expression(c: Comparison, x: Any, y: Any) -> None:
    c.equal("expression", x.meta.serialize(), y.meta.serialize())


@compares("pyarrow.lib.DataType", "pyarrow.lib.Field", "pyarrow.lib.Schema")
def _arrow_type(c: Comparison, x: Any, y: Any) -> None:
    if not x.equals(y, check_metadata=True):
        c.fail(f"type is {x}, was {y}")


@compares("pyarrow.lib.Table", "pyarrow.lib.RecordBatch")
def _arrow_table(c: Comparison, x: Any, y: Any) -> None:
    c.part(".schema", x.schema, y.schema)
    c.equal(".num_rows", x.num_rows, y.num_rows)
    c.parts(" columns", x.columns, y.columns)


@compares("pyarrow.lib.ChunkedArray")
def _arrow_chunks(c: Comparison, x: Any, y: Any) -> None:
    c.part(".type", x.type, y.type)
    c.parts(".chunks", x.chunks, y.chunks)


@compares("pyarrow.lib.Array")
def _arrow_array(c: Comparison, x: Any, y: Any) -> None:
    c.part(".type", x.type, y.type)
    c.equal("length", len(x), len(y))
    if not x.equals(y):  # it holds that NaN is not NaN
        c.parts("", map(repr, x), map(repr, y))


@compares("pyarrow.lib.Scalar")
def _arrow_scalar(c: Comparison, x: Any, y: Any) -> None:
    c.part(".type", x.type, y.type)
    c.equal("value", repr(x), repr(y))


@compares("pyarrow.lib.Buffer")
def _arrow_buffer(c: Comparison, x: Any, y: Any) -> None:
    c.equal("bytes", x.to_pybytes(), y.to_pybytes())


# -- torch


@compares("torch.Tensor", "torch._tensor.Tensor")
def _tensor(c: Comparison, x: Any, y: Any) -> None:
    import torch

    for name in ("dtype", "device", "layout", "shape", "requires_grad", "is_leaf"):
        c.equal(f".{name}", getattr(x, name), getattr(y, name))
    c.equal(" bits", (x.is_conj(), x.is_neg()), (y.is_conj(), y.is_neg()))
    if y.layout is torch.strided and y.device.type != "meta" and not y.is_quantized:
        c.equal(".stride()", x.stride(), y.stride())
        c.equal(".storage_offset()", x.storage_offset(), y.storage_offset())
        if y.untyped_storage().nbytes():
            places = [(t.untyped_storage().data_ptr(), t.data_ptr()) for t in (x, y)]
            _same_place(c, *places)
    if y.device.type == "meta":
        return
    if y.layout is not torch.strided:
        _sparse(c, x, y)
        return
    if y.is_quantized:
        c.equal(".qscheme()", x.qscheme(), y.qscheme())
        c.part(".dequantize()", x.dequantize(), y.dequantize())
        x, y = x.int_repr(), y.int_repr()
    plain = [t.detach().resolve_conj().resolve_neg().contiguous().reshape(-1) for t in (x, y)]
    if not torch.equal(*(p.view(torch.uint8) for p in plain)):
        c.fail(f"values are {x}, were {y}")
    if y.is_leaf:
        c.part(".grad", x.grad, y.grad)
    c.part(".__dict__", vars(x), vars(y))


def _sparse(c: Comparison, x: Any, y: Any) -> None:
    import torch

    names = ["values"]
    if y.layout is torch.sparse_coo:
        c.equal(".is_coalesced()", x.is_coalesced(), y.is_coalesced())
        names = ["_indices", "_values"]
    names += [n for n in ("crow_indices", "col_indices", "ccol_indices", "row_indices")
              if y.layout is not torch.sparse_coo and n[1:4] in str(y.layout) + "col"]  # fmt: skip
    for name in names:
        try:
            pair = getattr(x, name)(), getattr(y, name)()
        except RuntimeError:  # it is of another compressed layout
            continue
        c.part(f".{name}()", *pair)


@compares("torch._C.Generator")
def _torch_generator(c: Comparison, x: Any, y: Any) -> None:
    c.equal(".device", x.device, y.device)
    c.part(".get_state()", x.get_state(), y.get_state())


@compares("torch.storage.UntypedStorage")
def _storage(c: Comparison, x: Any, y: Any) -> None:
    c.equal(".tolist()", x.tolist(), y.tolist())
    _same_place(c, (x.data_ptr(), x.data_ptr()), (y.data_ptr(), y.data_ptr()))


# -- models


@compares("xgboost.core.Booster")
def _xgboost(c: Comparison, x: Any, y: Any) -> None:
    c.equal(".save_raw()", bytes(x.save_raw("json")), bytes(y.save_raw("json")))
    c.equal(".save_config()", x.save_config(), y.save_config())
    members(c, _without(x, "handle"), _without(y, "handle"))


@compares("lightgbm.basic.Booster")
def _lightgbm(c: Comparison, x: Any, y: Any) -> None:
    c.equal(".model_to_string()", x.model_to_string(), y.model_to_string())
    c.part(".params", x.params, y.params)
    for name in ("best_iteration", "best_score", "pandas_categorical"):
        c.part(f".{name}", getattr(x, name), getattr(y, name))


def _without(value: Any, *names: str) -> Any:
    import types

    return types.SimpleNamespace(**{k: v for k, v in vars(value).items() if k not in names})


# -- the rest


@compares("sympy.core.basic.Basic", "sympy.matrices.matrixbase.MatrixBase")
def _symbolic(c: Comparison, x: Any, y: Any) -> None:
    sympy = sys.modules["sympy"]
    c.equal("expression", sympy.srepr(x), sympy.srepr(y))
    if x != y:
        c.fail(f"it is {x}, which is not equal to {y}")


@compares("PIL.Image.Image")
def _image(c: Comparison, x: Any, y: Any) -> None:
    for name in ("mode", "size"):
        c.equal(f".{name}", getattr(x, name), getattr(y, name))
    c.part(".info", x.info, y.info)
    c.part(" pixels", x.tobytes(), y.tobytes())
    c.part(" palette", x.getpalette(), y.getpalette())


@compares("matplotlib.figure.Figure")
def _figure(c: Comparison, x: Any, y: Any) -> None:
    c.equal(
        " title", x._suptitle and x._suptitle.get_text(), y._suptitle and y._suptitle.get_text()
    )
    c.equal(".dpi", x.dpi, y.dpi)
    c.parts(" axes", [a.get_title() for a in x.axes], [a.get_title() for a in y.axes])
    c.equal(" pixels", *(_drawn(figure) for figure in (x, y)))


def _drawn(figure: Any) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="rgba")
    return file.getvalue()


@compares("matplotlib.artist.Artist")
def _artist(c: Comparison, x: Any, y: Any) -> None:
    if y.figure is not None:
        c.part(".figure", x.figure, y.figure)
    kept = ("zorder", "alpha", "label", "visible", "gid", "url", "clip_on")
    found = [{n: getattr(a, f"get_{n}")() for n in kept} for a in (x, y)]
    c.part(" properties", *found)


@compares("spacy.language.Language", "spacy.vocab.Vocab", "spacy.tokens.doc.Doc")
def _spacy(c: Comparison, x: Any, y: Any) -> None:
    load = importlib.import_module("srsly").msgpack_loads
    c.part(".to_bytes()", load(x.to_bytes()), load(y.to_bytes()))


@compares("scipy.stats._distn_infrastructure.rv_generic")
def _distribution(c: Comparison, x: Any, y: Any) -> None:
    by_reduction(c, x, y)
