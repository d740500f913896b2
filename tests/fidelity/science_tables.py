"""polars and Arrow."""

from __future__ import annotations

from tests.fidelity.cases import Case

TITLE = "polars and Arrow"

_PL = "import datetime\nimport decimal\nimport polars as pl\n"
_PA = "import datetime\nimport decimal\nimport numpy as np\nimport pyarrow as pa\n"

_SERIES = {
    "every plain type": (
        "pl.DataFrame({'i': pl.Series([1, None], dtype=pl.Int8), 'u': pl.Series([1, 2], dtype=pl.UInt64),\n"
        "    'f': [float('nan'), -0.0], 'f4': pl.Series([1.5, None], dtype=pl.Float32), 'b': [True, None],\n"
        "    's': ['a', None], 'y': [b'x', None], 'n': [None, None],\n"
        "    'd': [datetime.date(2020, 1, 1), None], 'h': [datetime.time(1, 2, 3, 4), None],\n"
        "    't': [datetime.datetime(2020, 1, 1), None], 'l': [datetime.timedelta(1), None],\n"
        "    'm': pl.Series([decimal.Decimal('1.50'), None], dtype=pl.Decimal(9, 2))})"
    ),
    "time zones and units": (
        "pl.Series('t', [datetime.datetime(2020, 1, 1)]).dt.cast_time_unit('ns')"
        ".dt.replace_time_zone('Europe/Berlin')"
    ),
    "categoricals": "pl.Series('c', ['a', 'b', None, 'a'], dtype=pl.Categorical)",
    "enums": "pl.Series('c', ['a', 'b', None], dtype=pl.Enum(['c', 'b', 'a']))",
    "lists and arrays": (
        "pl.DataFrame({'l': [[1, 2], None, []],"
        " 'a': pl.Series([[1, 2], [3, 4], None], dtype=pl.Array(pl.Int16, 2))})"
    ),
    "structs": "pl.DataFrame({'s': [{'a': 1, 'b': ['x']}, {'a': None, 'b': None}]})",
    "objects": "pl.Series('o', [{1, 2}, None, print], dtype=pl.Object)",
    "many chunks": "pl.concat([pl.Series('a', [1, 2]), pl.Series('a', [3])], rechunk=False)",
    "a slice": "pl.DataFrame({'a': range(9000), 's': ['x'] * 9000})[500:700]",
    "empty": "pl.DataFrame(schema={'a': pl.Int8, 'b': pl.List(pl.String)})",
    "long texts": "pl.Series('s', ['x' * i for i in range(500)])",
    "large": "pl.DataFrame({'a': range(90000), 'f': [1.5] * 90000})",
    "lazy": (
        "pl.LazyFrame({'a': [1, 2, 3]}).filter(pl.col('a') > 1).with_columns(b=pl.col('a') * 2)"
    ),
    "expressions": "[pl.col('a').sum().over('b'), pl.when(pl.col('x') > 1).then(2).otherwise(None)]",
    "types": "[pl.Int8, pl.List(pl.String), pl.Datetime('ms', 'UTC'), pl.Schema({'a': pl.Int8})]",
}

_ARROW = {
    "every plain type": (
        "pa.table({'i': pa.array([1, None], pa.int8()), 'u': pa.array([1, 2], pa.uint64()),\n"
        "    'h': pa.array([np.float16(1.5), None], pa.float16()), 'f': [float('nan'), -0.0], 'b': [True, None],\n"
        "    's': ['a', None], 'S': pa.array(['a', None], pa.large_string()), 'y': [b'x', None],\n"
        "    'F': pa.array([b'abc', None], pa.binary(3)), 'n': [None, None],\n"
        "    'v': pa.array(['view of a long text', None], pa.string_view()),\n"
        "    'd': [datetime.date(2020, 1, 1), None], 't': [datetime.time(1, 2, 3, 4), None],\n"
        "    'z': pa.array([5, None], pa.timestamp('ns', 'Europe/Berlin')),\n"
        "    'l': [datetime.timedelta(1), None], 'm': [decimal.Decimal('1.50'), None]})"
    ),
    "nested types": (
        "pa.table({'l': [[1, 2], None], 'L': pa.array([[1], None], pa.large_list(pa.int8())),\n"
        "    'x': pa.array([[1, 2], None], pa.list_(pa.int8(), 2)), 's': [{'a': 1, 'b': ['x']}, None],\n"
        "    'm': pa.array([[('k', 1)], None], pa.map_(pa.string(), pa.int8()))})"
    ),
    "dictionaries": "pa.array(['a', 'b', None, 'a']).dictionary_encode()",
    "runs": "pa.RunEndEncodedArray.from_arrays([3, 5], ['a', 'b'])",
    "unions": (
        "pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(['a', 'b'])])"
    ),
    "chunks": "pa.chunked_array([[1, 2], [], [3]])",
    "chunks of dictionaries": (
        "pa.chunked_array([pa.array(['a']).dictionary_encode(), pa.array(['b']).dictionary_encode()])"
    ),
    "extension types": (
        "pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b'0123456789abcdef'], pa.binary(16)))"
    ),
    "tensors": "pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.int8(), [2]),"
    " pa.array([[1, 2]], pa.list_(pa.int8(), 2)))",
    "a slice": "pa.table({'a': range(9000), 's': ['x'] * 9000})[500:700]",
    "metadata": (
        "pa.table({'a': [1]}, schema=pa.schema([pa.field('a', pa.int8(), False, {'k': 'v'})], {'t': 'm'}))"
    ),
    "record batches": "pa.record_batch({'a': [1, 2], 's': ['x', None]})",
    "scalars, types and schemas": (
        "[pa.scalar(5), pa.scalar(None, pa.string()), pa.list_(pa.int8()),"
        " pa.schema({'a': pa.int8()}), pa.field('a', pa.int8())]"
    ),
    "buffers": "[pa.py_buffer(b'abc' * 9000), pa.array([1, 2]).buffers()[1]]",
    "a table without columns": "pa.table({})",
    "large": "pa.table({'a': range(90000), 's': ['abc'] * 90000})",
}

CASES = (
    *(
        Case(f"polars: {name}", f"{_PL}x = {source}", needs="polars pyarrow")
        for name, source in _SERIES.items()
    ),
    *(
        Case(f"Arrow: {name}", f"{_PA}x = {source}", needs="pyarrow")
        for name, source in _ARROW.items()
    ),
    Case(
        "an extension type of the notebook",
        _PA + "class Mine(pa.ExtensionType):\n"
        "    def __init__(self): super().__init__(pa.int8(), 'mine')\n"
        "    def __arrow_ext_serialize__(self): return b''\n"
        "    @classmethod\n"
        "    def __arrow_ext_deserialize__(cls, storage, data): return cls()\n"
        "x = pa.ExtensionArray.from_storage(Mine(), pa.array([1, 2], pa.int8()))",
        check="assert x.storage.equals(y.storage) and x.type.extension_name == 'mine'",
        needs="pyarrow",
    ),
    Case(
        "`pyarrow.dataset`",
        _PA + "import pyarrow.dataset as ds\nimport pyarrow.parquet as pq\n"
        "pq.write_table(pa.table({'a': [1, 2]}), 'a.parquet')\nx = ds.dataset('a.parquet')",
        check="assert x.to_table().equals(y.to_table()) and x.files == y.files",
        note="by its files",
        needs="pyarrow",
    ),
)
