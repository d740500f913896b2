"""The contract of adapters, and the list of nbckpt's own."""

from __future__ import annotations

import importlib
import pkgutil
from operator import attrgetter
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import nbckpt.types
from nbckpt.text.describe import preview_of
from nbckpt.types import Missing, TypeAdapter, paired
from nbckpt.types.registry import adapter_for

WITHOUT_ADAPTERS = {"adapter", "registry", "setters"}


def modules() -> dict[str, Any]:
    names = [one.name for one in pkgutil.iter_modules(nbckpt.types.__path__)]
    wanted = [name for name in names if name not in WITHOUT_ADAPTERS]
    return {name: importlib.import_module(f"nbckpt.types.{name}") for name in wanted}


def test_a_class_is_named_by_its_module_and_name() -> None:
    with pytest.raises(ValueError, match=r"'shapes\.Point'"):
        TypeAdapter(("shapes.Point",))


def test_what_only_one_of_two_values_has_stands_beside_missing() -> None:
    pairs = list(paired({".a": 1, ".b": 2}, {".b": 2, ".c": 3}))

    assert pairs == [(".a", 1, Missing), (".b", 2, 2), (".c", Missing, 3)]


@pytest.mark.parametrize("name", sorted(modules()))
def test_each_module_has_adapters_that_no_other_has(name: str) -> None:
    own = [one for adapter in modules()[name].ADAPTERS for one in adapter.classes]
    others = [
        one
        for other, module in modules().items()
        if other != name
        for adapter in module.ADAPTERS
        for one in adapter.classes
    ]

    assert own
    assert len(set(own)) == len(own)
    assert set(own).isdisjoint(others)


def adapters() -> dict[str, TypeAdapter]:
    return {n: one for module in modules().values() for one in module.ADAPTERS for n in one.classes}


@pytest.mark.parametrize("name", sorted(adapters()))
def test_a_class_is_where_its_adapter_says(name: str) -> None:
    """A library that moves a class would leave its adapter without a use."""
    home, _, path = name.partition(":")
    pytest.importorskip(home.partition(".")[0])
    found = attrgetter(path)(importlib.import_module(home))
    kind = found if isinstance(found, type) else type(found([]))  # `csv.reader` is a function

    assert adapter_for(kind) is adapters()[name]


def test_a_class_that_derives_from_one_has_its_adapter_unless_that_is_exact() -> None:
    class Derived(pl.DataFrame):
        pass

    xarray = pytest.importorskip("xarray")

    class Dataset(xarray.Dataset):  # type: ignore[misc, name-defined]
        __slots__ = ()

    assert adapter_for(Derived) is adapter_for(pl.DataFrame)
    assert adapter_for(pa.Int64Array) is adapter_for(pa.Array)
    assert adapter_for(Dataset) is None
    assert adapter_for(np.ndarray) is None
    assert adapter_for(int) is None


@pytest.mark.slow
def test_a_class_of_the_notebook_keeps_what_it_says_of_itself(shell: Any) -> None:
    """An adapter that leaves a value to nbckpt leaves it to what is known of any class."""
    define = "class Frame(polars.DataFrame):\n    def __reduce__(self): return Frame, ({'a': [1]},)"
    for cell in (
        f"import polars\n{define}",
        "%%checkpoint a\nf = Frame({'a': [1]})\nf.n = 5",
        "%%checkpoint b\nf = None",
        "%rewind a\nassert type(f) is Frame and f.n == 5",
    ):
        shell.run_cell(cell, store_history=True).raise_error()


def test_no_metaclass_is_asked_for_a_hash() -> None:
    class Meta(type):
        def __hash__(cls) -> int:
            raise AssertionError

    class Plain(metaclass=Meta):
        pass

    assert adapter_for(Plain) is None
    assert adapter_for(Plain) is None
    assert preview_of(Plain()).endswith("Plain")
