"""Digests of a notebook's variables, made inside its kernel; knows nothing of nbckpt.

The kernel runs this file by its path. A digest is of all that a user can see of a value: type,
contents in order, numbers to the last bit. Values that cannot be compared this way are named.
"""

from __future__ import annotations

import hashlib
import sys
import types
from typing import Any

SKIPPED = {"In", "Out", "exit", "quit", "get_ipython", "open", "display"}
PLAIN = {
    "datetime", "decimal", "fractions", "uuid", "pathlib", "zoneinfo", "ipaddress", "re",
}  # fmt: skip
UNWRITTEN = ("_tmp_like_exog",)
"""Attributes that hold memory as it was found: statsmodels makes room by `numpy.empty_like`."""

SAME = {"longlong": "int64", "ulonglong": "uint64"}
"""Types of NumPy that are written as another of the same size (`docs/limits`)."""
BUDGET = 400_000


class NotCompared(Exception):
    """There is no way here to tell whether two such values are equal."""


def answer() -> dict[str, str]:
    """By name, the digest of each variable, or why it is not compared after a `?`."""
    namespace = dict(vars(sys.modules["__main__"]))
    found = {}
    for name in sorted(namespace):
        if name.startswith("_") or name in SKIPPED:
            continue
        kind = type(namespace[name])
        label = f"{kind.__module__}.{kind.__qualname__}"
        try:
            found[name] = f"{label} {_digest(namespace[name])}"
        except NotCompared as reason:
            found[name] = f"?{label}: {reason}"
        except RecursionError:
            found[name] = f"?{label}: too deep"
        except Exception as error:
            found[name] = f"?{label}: {type(error).__name__}: {error}"[:200]
    return found


def _digest(value: object) -> str:
    walk = Walk()
    walk.value(value)
    return walk.hash.hexdigest()[:16]


class Walk:
    """One look at a value and all inside it."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self.seen: dict[int, int] = {}
        self.kept: list[object] = []
        self.left = BUDGET

    def text(self, *parts: object) -> None:
        for part in parts:
            data = part if isinstance(part, bytes) else str(part).encode("utf-8", "replace")
            self.hash.update(len(data).to_bytes(8, "little") + data)

    def value(self, value: Any) -> None:
        self.left -= 1
        if self.left < 0:
            raise NotCompared("too large")
        kind = type(value)
        if value is None or kind in (
            bool,
            int,
            float,
            complex,
            str,
            bytes,
            type(...),
            range,
            slice,
        ):
            self.text(kind.__name__, repr(value))
            return
        if id(value) in self.seen:
            self.text("again")
            return
        self.seen[id(value)] = len(self.seen)
        self.kept.append(value)
        self.text(kind.__module__, SAME.get(kind.__qualname__, kind.__qualname__))
        self.contents(value, kind)

    def contents(self, value: Any, kind: type) -> None:
        if issubclass(kind, types.ModuleType):
            self.text(value.__name__)
        elif issubclass(kind, type):
            self.type_(value)
        elif kind is types.FunctionType:
            self.function(value)
        elif kind in (types.BuiltinFunctionType, types.MethodDescriptorType):
            self.text(value.__name__)
        elif kind is types.MethodType:
            self.value(value.__self__)
            self.value(value.__func__)
        elif issubclass(kind, list | tuple) or kind.__qualname__ == "deque":
            self.text(len(value))
            for item in value:
                self.value(item)
            self.state(value, kind)
        elif issubclass(kind, dict):
            self.text(len(value))
            for key, item in dict.items(value):
                self.value(key)
                self.value(item)
            self.state(value, kind)
        elif issubclass(kind, set | frozenset):
            self.text(*sorted(_digest(item) for item in value))
        elif issubclass(kind, bytearray | memoryview):
            self.text(bytes(value))
        elif issubclass(kind, BaseException):
            self.value(value.args)
        elif kind.__module__.partition(".")[0] in PLAIN:
            self.text(repr(value))
        else:
            self.of_library(value, kind)

    def of_library(self, value: Any, kind: type) -> None:
        for base in kind.__mro__:
            room = getattr(self, "of_" + base.__module__.partition(".")[0], None)
            if room is not None and room(value, base.__qualname__):
                return
        self.instance(value, kind)

    # -- what a library's values are made of

    def of_numpy(self, value: Any, name: str) -> bool:
        if name == "ndarray":
            self.text(value.dtype, value.shape)
            if value.dtype.hasobject:
                for item in value.ravel().tolist():
                    self.value(item)
            elif value.dtype.names:  # between the fields may lie memory that nobody wrote
                for field in value.dtype.names:
                    self.value(value[field].copy())
            else:
                self.text(value.tobytes())
        elif name == "generic":
            self.text(value.dtype, value.tobytes())
        elif name == "dtype":
            self.text(repr(value))
        elif name == "Generator":
            self.value(value.bit_generator.state)
        elif name == "RandomState":
            self.value(value.get_state())
        elif name == "ufunc":
            self.text(value.__name__)
        else:
            return False
        return True

    def of_pandas(self, value: Any, name: str) -> bool:
        if name == "DataFrame":
            self.value(value.columns)
            self.value(value.index)
            for number in range(value.shape[1]):
                column = value.iloc[:, number]
                self.text(column.dtype)
                self.value(column.to_numpy())
        elif name in ("Series", "Index"):
            self.text(value.dtype, value.name if isinstance(value.name, str) else repr(value.name))
            if name == "Series":
                self.value(value.index)
            self.value(value.to_numpy())
        elif name in (
            "ExtensionDtype",
            "Timestamp",
            "Timedelta",
            "Period",
            "BaseOffset",
            "Interval",
        ):
            self.text(repr(value))
        elif name == "ExtensionArray":
            self.text(value.dtype)
            self.value(value.to_numpy(dtype=object))
        else:
            return False
        return True

    def of_polars(self, value: Any, name: str) -> bool:
        if name == "DataFrame":
            self.text(value.schema)
            self.value(value.to_dict(as_series=False))
        elif name == "Series":
            self.text(value.dtype, value.name)
            self.value(value.to_list())
        elif name in ("Expr", "LazyFrame"):
            self.text(str(value) if name == "Expr" else value.explain(optimized=False))
        else:
            return False
        return True

    def of_pyarrow(self, value: Any, name: str) -> bool:
        if name in ("Table", "RecordBatch"):
            self.text(value.schema)
            self.value(value.to_pydict())
        elif name in ("Array", "ChunkedArray"):
            self.text(value.type)
            self.value(value.to_pylist())
        elif name in ("DataType", "Schema", "Field"):
            self.text(value)
        else:
            return False
        return True

    def of_torch(self, value: Any, name: str) -> bool:
        if name in ("Tensor", "TensorBase"):
            self.text(value.dtype, value.shape, value.device, value.requires_grad)
            data = value.detach().cpu().contiguous()
            self.text(bytes(data.view(-1).untyped_storage())[: data.nbytes])
        elif name in ("dtype", "device", "Size"):
            self.text(repr(value))
        elif name == "Module":
            self.value(dict(value.state_dict()))
            self.text(value.training, repr(value))
        elif name == "Optimizer":
            self.value(value.state_dict())
        elif name == "Generator":
            self.value(value.get_state())
        else:
            return False
        return True

    def of_sympy(self, value: Any, name: str) -> bool:
        if name in ("Basic", "MatrixBase", "Printable"):
            self.text(sys.modules["sympy"].srepr(value))
            return True
        return False

    def of_networkx(self, value: Any, name: str) -> bool:
        if name == "Graph":
            self.value(list(value.nodes(data=True)))
            self.value(list(value.edges(data=True)))
            self.value(value.graph)
            return True
        return False

    def of_scipy(self, value: Any, name: str) -> bool:
        if name.endswith("spbase") or name in ("_spbase", "sparray", "spmatrix"):
            self.text(value.format)
            self.value(value.toarray())
            return True
        return False

    def of_random(self, value: Any, name: str) -> bool:
        if name == "Random":
            self.value(value.getstate())
            return True
        return False

    def of_functools(self, value: Any, name: str) -> bool:
        if name == "partial":
            self.value((value.func, value.args, value.keywords))
            return True
        return False

    def of_matplotlib(self, value: Any, name: str) -> bool:
        raise NotCompared("a picture; what it shows is compared as output")

    of_ipywidgets = of_IPython = of_plotly = of_altair = of_bokeh = of_matplotlib

    # -- code and instances

    def type_(self, value: type) -> None:
        self.text(value.__module__, value.__qualname__)
        if value.__module__ == "__main__":
            self.text(*(base.__qualname__ for base in value.__mro__))
            # Special members of a class that a function made stand where that has put them.
            for name, item in sorted(vars(value).items(), key=lambda of: of[0] * (of[0][:2] == "__")):
                if name in ("__slotnames__", "__module__", "__firstlineno__"):
                    continue  # `copyreg` leaves the first; the others stand where they were set
                if type(item) in (types.FunctionType, int, float, str, tuple, list, dict):
                    self.text(name)
                    self.value(item)

    def function(self, value: types.FunctionType) -> None:
        self.text(value.__module__, value.__qualname__)
        if value.__module__ != "__main__" and "<" not in value.__qualname__:
            return
        self.code(value.__code__)
        self.value(value.__defaults__)
        self.value(value.__kwdefaults__)
        for cell in value.__closure__ or ():
            try:
                self.value(cell.cell_contents)
            except ValueError:
                self.text("empty")

    def code(self, code: types.CodeType) -> None:
        self.text(code.co_name, code.co_code, code.co_names, code.co_varnames)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self.code(constant)
            elif isinstance(constant, frozenset):
                self.text(*sorted(map(repr, constant)))
            else:
                self.text(repr(constant))

    def instance(self, value: Any, kind: type) -> None:
        had = self.state(value, kind)
        if had:
            return
        if kind.__reduce_ex__ is object.__reduce_ex__ and kind.__reduce__ is object.__reduce__:
            is_pythons = kind.__dictoffset__ != 0 or "__slots__" in vars(kind) or kind is object
            if not is_pythons:
                raise NotCompared("made in C")
            return
        reduced = value.__reduce_ex__(2)
        if reduced[:2] == (iter, ([],)):
            reduced = (iter, ([],))  # one that has ended comes back as one of nothing
        self.value(reduced if isinstance(reduced, str) else tuple(reduced[:3]))

    def state(self, value: Any, kind: type) -> bool:
        """Attributes of an instance; whether it can have any."""
        found = False
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict):
            found = True
            for name in sorted(map(str, attributes)):
                if name.startswith(("_cache", "_repr", "__", *UNWRITTEN)):
                    continue
                self.text(name)
                self.value(attributes.get(name))
        for base in kind.__mro__:
            slots = base.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else tuple(slots):
                if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                    found = True
                    self.text(name)
                    self.value(getattr(value, name))
        return found
