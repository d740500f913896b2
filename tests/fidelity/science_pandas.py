"""pandas: every kind of index, column and frame."""

from __future__ import annotations

from tests.fidelity.cases import Case

TITLE = "pandas"

_PD = "import numpy as np\nimport pandas as pd\n"

_INDEXES = {
    "RangeIndex": "pd.RangeIndex(5, 50, 3, name='r')",
    "integer": "pd.Index([3, 1, 2], name=('a', 1))",
    "small integer": "pd.Index(np.array([3, 1, 2], 'i2'))",
    "float with NaN": "pd.Index([1.5, np.nan, -0.0])",
    "bool": "pd.Index([True, False])",
    "str": "pd.Index(['a', 'bé', None])",
    "object": "pd.Index(['a', 1, (2, 3), None], dtype=object)",
    "nullable": "pd.Index([1, None, 3], dtype='Int64')",
    "categorical": "pd.CategoricalIndex(list('abca'), categories=list('cba'), ordered=True)",
    "datetime": "pd.DatetimeIndex(['2020-01-01', 'NaT', '1999-12-31'], name='t')",
    "datetime with a frequency": "pd.date_range('2020-01-31', periods=20, freq='ME')",
    "datetime with a custom frequency": (
        "pd.date_range('2020-01-01', periods=9,"
        " freq=pd.offsets.CustomBusinessDay(holidays=['2020-01-06']))"
    ),
    "datetime in seconds": "pd.DatetimeIndex(np.array([1, 2], 'M8[s]'))",
    "datetime in a time zone": "pd.date_range('2020-03-28', periods=9, freq='12h', tz='Europe/Berlin')",
    "datetime in a zone of dateutil": (
        "pd.date_range('2020-03-28', periods=9, tz='dateutil/Europe/Berlin')"
    ),
    "datetime with a fixed offset": "pd.DatetimeIndex(['2020-01-01T00:00+05:30'])",
    "timedelta": "pd.timedelta_range('1h', periods=9, freq='90min')",
    "period": "pd.period_range('2020-01', periods=9, freq='Q-NOV')",
    "interval": "pd.interval_range(0, 9, periods=4, closed='left')",
    "interval of times": "pd.interval_range(pd.Timestamp('2020'), periods=3, freq='D')",
    "MultiIndex": (
        "pd.MultiIndex.from_product([['a', 'b'], [1, 2], pd.date_range('2020', periods=2)],"
        " names=['x', None, 'x'])"
    ),
    "MultiIndex with missing and unused levels": (
        "pd.MultiIndex.from_arrays([['a', None, 'c'], [1.5, 2.5, np.nan]])[:2]"
    ),
    "empty": "pd.Index([], dtype='f4', name='nothing')",
}

_DTYPES = {
    "nullable integers": "pd.array([1, None, 3] * 2000, 'Int8')",
    "nullable unsigned integers": "pd.array([1, None, 3] * 2000, 'UInt64')",
    "nullable floats": "pd.array([1.5, None, -0.0] * 2000, 'Float32')",
    "nullable booleans": "pd.array([True, None, False] * 2000, 'boolean')",
    "str": "pd.array(['a', None, 'é€'] * 2000, 'str')",
    "string[python]": "pd.array(['a', None, 'é€'] * 2000, 'string[python]')",
    "string[pyarrow]": "pd.array(['a', None, 'é€'] * 2000, 'string[pyarrow]')",
    "categories of texts": "pd.Categorical(list('abca') * 2000, categories=list('dcba'))",
    "categories of integers, ordered": "pd.Categorical([3, 1, None], [1, 2, 3], ordered=True)",
    "categories of intervals": "pd.cut(np.arange(30), 4)",
    "categories of mixed types": "pd.Categorical(['a', 1, (2,)], categories=['a', 1, (2,)])",
    "datetimes in a time zone": "pd.date_range('2020', periods=5000, tz='Asia/Kolkata').array",
    "datetimes in seconds": "pd.array(np.arange(5000).astype('M8[s]'))",
    "timedeltas": "pd.array(np.arange(5000).astype('m8[ms]'))",
    "periods": "pd.period_range('2020', periods=5000, freq='2D').array",
    "intervals": "pd.arrays.IntervalArray.from_breaks(np.arange(9.), closed='both')",
    "sparse": "pd.arrays.SparseArray([0, 0, 1.5, 0], fill_value=0)",
    "sparse booleans": "pd.arrays.SparseArray(np.arange(5000) % 9 == 0)",
    "Arrow integers": "pd.array([1, None, 3], 'int32[pyarrow]')",
    "Arrow decimals": (
        "pd.array([__import__('decimal').Decimal('1.50'), None],"
        " pd.ArrowDtype(__import__('pyarrow').decimal128(9, 2)))"
    ),
    "Arrow lists": (
        "pd.array([[1, 2], None, []],"
        " pd.ArrowDtype(__import__('pyarrow').list_(__import__('pyarrow').int8())))"
    ),
    "Arrow structs": (
        "pd.array([{'a': 1, 'b': 'x'}, None],"
        " pd.ArrowDtype(__import__('pyarrow').struct({'a': 'int8', 'b': 'string'})))"
    ),
    "Arrow timestamps": "pd.array([None, 5], 'timestamp[us, tz=UTC][pyarrow]')",
    "Arrow dictionaries": (
        "pd.array(['a', 'b', None], pd.ArrowDtype("
        "__import__('pyarrow').dictionary('int8', __import__('pyarrow').string())))"
    ),
    "numpy": "pd.arrays.NumpyExtensionArray(np.array([1, 2]))",
}

_SERIES = {
    "complex": "np.array([1 - 0j, complex('nan')])",
    "longdouble": "np.array([1, 2], 'longdouble')",
    "float16": "np.array([1, 2], 'f2')",
    "big-endian": "np.array([1, 2], '>i4')",
    "NaN payloads": "np.array([0x7FF8000000000123, 0xFFF0000000000001], 'u8').view('f8')",
    "objects of many types": "[1, 'a', None, [2], {3}, (4,), 5.5, pd.NA, pd.NaT, int, b'x']",
    "lone surrogates": "pd.Series(['\\ud800', 'a'], dtype=object)",
    "Python dates": "[__import__('datetime').date(2020, 1, 1), None]",
    "empty": "pd.Series([], dtype='f4')",
}

_FRAMES = {
    "of many types": (
        "pd.DataFrame({'i': range(4000), 'f': np.arange(4000.), 's': ['a'] * 4000,\n"
        "    'c': pd.Categorical(['x', 'y'] * 2000), 't': pd.date_range('2020', periods=4000),\n"
        "    'o': [[i] for i in range(4000)], 'n': pd.array([1, None] * 2000, 'Int64')})"
    ),
    "of one type, wide": "pd.DataFrame(np.arange(30000.).reshape(100, 300))",
    "with duplicate column names": "pd.DataFrame([[1, 'a', 2.5]], columns=['x', 'y', 'x'])",
    "with column labels of many types": (
        "pd.DataFrame([[1, 2, 3, 4]], columns=[1, 'a', ('b', 2), None])"
    ),
    "with columns of a MultiIndex": (
        "pd.DataFrame(np.ones((2, 4)), columns=pd.MultiIndex.from_product([['a', 'b'], [1, 2]]))"
    ),
    "with columns of dates": "pd.DataFrame(np.ones((2, 3)), columns=pd.date_range('2020', periods=3))",
    "empty": "pd.DataFrame()",
    "with columns and no rows": "pd.DataFrame({'a': pd.array([], 'Int8'), 'b': []})",
    "with rows and no columns": "pd.DataFrame(index=range(5))",
    "a view of rows": "pd.DataFrame({'a': np.arange(9000.), 'b': range(9000)})[100:200:3]",
    "a selection of columns": "pd.DataFrame(np.arange(9000.).reshape(900, 10))[[1, 5]]",
    "transposed": "pd.DataFrame(np.arange(12.).reshape(3, 4), columns=list('abcd')).T",
    "sparse": "pd.DataFrame(np.eye(50)).astype(pd.SparseDtype('f8', 0))",
}

_STATEMENTS = {
    "frame with attrs": (
        "x = pd.DataFrame({'a': [1]})\nx.attrs = {'source': ['x.csv', {1, 2}], 3: None}"
    ),
    "series with attrs and flags": (
        "x = pd.Series([1, 2], name='n')\nx.attrs['unit'] = 'mm'\n"
        "x.flags.allows_duplicate_labels = False"
    ),
    "frame and its column, a value each": (
        "df = pd.DataFrame({'a': [1., 2.], 'b': ['x', 'y']})\nx = [df, df['a'], df.copy(deep=False)]"
    ),
    "frames that hold frames": "d = pd.DataFrame({'a': [1]})\nx = pd.Series([d, d, [d]])",
    "subclasses of frame and series": (
        "class S(pd.Series):\n"
        "    @property\n"
        "    def _constructor(self): return S\n"
        "class F(pd.DataFrame):\n"
        "    _metadata = ['unit']\n"
        "    @property\n"
        "    def _constructor(self): return F\n"
        "    _constructor_sliced = S\n"
        "x = F({'a': [1, 2]})\nx.unit = {'a': 'mm'}"
    ),
    "a custom extension type of the notebook's accessor": (
        "@pd.api.extensions.register_dataframe_accessor('mine_too')\n"
        "class Mine:\n    def __init__(self, frame): self.frame = frame\n"
        "x = pd.DataFrame({'a': [1]})"
    ),
    "scalars": (
        "x = [pd.Timestamp('2020-03-29 02:30', tz='Europe/Berlin', fold=1)\n"
        "     if False else pd.Timestamp('2020-01-01 00:00:00.123456789'), pd.NaT, pd.NA,\n"
        "     pd.Timestamp(5, unit='s', tz='US/Eastern'), pd.Timedelta('1 day 5ns'),\n"
        "     pd.Period('2020Q1', 'Q-NOV'), pd.Interval(1, 2.5, 'neither'),\n"
        "     pd.offsets.BMonthEnd(3), pd.Timestamp('2020-01-01').as_unit('s')]"
    ),
    "dtypes": (
        "x = [pd.CategoricalDtype(['a', 'b'], ordered=True), pd.Int8Dtype(), pd.StringDtype(),\n"
        "     pd.DatetimeTZDtype('s', 'UTC'), pd.PeriodDtype('M'), pd.SparseDtype('f4', 1.5),\n"
        "     pd.IntervalDtype('i8', 'left'), pd.ArrowDtype(__import__('pyarrow').int8())]"
    ),
}

_BEHAVING = (
    Case(
        "`groupby` and `rolling` objects",
        _PD + "d = pd.DataFrame({'k': list('aab'), 'v': [1., 2., 3.]})\n"
        "x = [d.groupby('k'), d['v'].rolling(2)]",
        check="same([x[0].sum(), x[1].mean()], [y[0].sum(), y[1].mean()])",
        needs="pandas",
    ),
    Case(
        "`resample` objects",
        _PD + "x = pd.Series([1., 2.], pd.date_range('2020', periods=2)).resample('2D')",
        check="same(x.sum(), y.sum())",
        told=None,
        needs="pandas",
    ),
    Case(
        "`Styler`",
        _PD + "x = pd.DataFrame({'a': [1, 2]}).style.format('{:.1f}').highlight_max()",
        check="assert x.to_html(table_uuid='t') == y.to_html(table_uuid='t')",
        needs="pandas jinja2",
    ),
    Case(
        "a frame is a value of its own",
        _PD + "df = pd.DataFrame({'a': [1., 2.]})\nx = df",
        check="same(x, y)\nnew['df'].loc[0, 'a'] = 9.0\nassert x.loc[0, 'a'] == 9.0",
        note="two names of one frame stay two names of one frame",
        needs="pandas",
    ),
)

CASES = (
    *(
        Case(f"index: {name}", f"{_PD}x = {source}", needs="pandas pyarrow")
        for name, source in _INDEXES.items()
    ),
    *(
        Case(f"array: {name}", f"{_PD}x = {source}", needs="pandas pyarrow")
        for name, source in _DTYPES.items()
    ),
    *(
        Case(f"column: {name}", f"{_PD}x = pd.DataFrame({{'a': {source}}})", needs="pandas pyarrow",
             part_of="the same as a column of a frame")
        for name, source in _DTYPES.items()
    ),
    *(
        Case(f"series: {name}", f"{_PD}x = pd.Series({source}, name='n')", needs="pandas pyarrow")
        for name, source in _SERIES.items()
    ),
    *(
        Case(f"frame: {name}", f"{_PD}x = {source}", needs="pandas pyarrow")
        for name, source in _FRAMES.items()
    ),
    *(Case(name, _PD + source, needs="pandas pyarrow") for name, source in _STATEMENTS.items()),
    *_BEHAVING,
)  # fmt: skip
