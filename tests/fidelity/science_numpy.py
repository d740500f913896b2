"""NumPy and SciPy: arrays of every type and layout, views, generators, sparse matrices."""

from __future__ import annotations

from tests.fidelity.cases import Case

TITLE = "NumPy and SciPy"

_NP = "import numpy as np\n"

_DTYPES = """
    ?  i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16 >i2 >i4 >i8 >f4 >f8 >c16 S5 U3 >U3
    V7 M8[D] M8[s] M8[ns] M8[25us] >M8[ns] m8[s] m8[ns] longdouble clongdouble
"""

_ARRAYS = {
    "Fortran order": "np.asfortranarray(np.arange(6000.).reshape(60, 100))",
    "three dimensions, axes moved": "np.moveaxis(np.arange(6000.).reshape(10, 20, 30), 0, 1)",
    "negative strides": "np.arange(5000)[::-1]",
    "every second row and column": "np.arange(9000.).reshape(30, 300)[::2, ::2]",
    "broadcast together": "np.broadcast_arrays(np.arange(3.), np.ones((2, 3)))",
    "broadcast": "np.broadcast_to(np.arange(3.), (4000, 3))",
    "sliding windows": "np.lib.stride_tricks.sliding_window_view(np.arange(5000.), 8)",
    "diagonal": "np.arange(100.).reshape(10, 10).diagonal()",
    "0-d": "np.array(5)",
    "0-d, read only": "(lambda a: (a.setflags(write=False), a)[1])(np.array(2.5))",
    "empty": "np.zeros((0, 3), 'f4')",
    "empty, Fortran order": "np.zeros((3, 0, 2), 'i2', order='F')",
    "one element": "np.array([[7]], 'u2')",
    "NaN payloads": "np.array([0x7FF8000000000123, 0xFFF0000000000000] * 2000, 'u8').view('f8')",
    "negative zeros": "np.array([-0.0, 0.0] * 2000)",
    "NaT": "np.array(['NaT', '2020-01-01'] * 2000, 'M8[ns]')",
    "read only": "(lambda a: (a.setflags(write=False), a)[1])(np.zeros(9000))",
    "structured": "np.array([(1, 2.5, 'ab')] * 3000, [('a', 'i4'), ('b', 'f8'), ('c', 'U4')])",
    "structured, nested": (
        "np.zeros(3000, [('p', [('x', 'f4'), ('y', '>f4')]), ('grid', 'i2', (2, 3))])"
    ),
    "structured, aligned": "np.ones(3000, np.dtype([('a', 'u1'), ('b', 'f8')], align=True))",
    "structured, with titles": "np.zeros(5, np.dtype([(('Title', 'a'), 'i4')]))",
    "structured, with objects": (
        "np.array([(1, [2]), (3, 'x')], dtype=[('a', 'i4'), ('b', object)])"
    ),
    "dtype with metadata": "np.zeros(5000, np.dtype('f8', metadata={'unit': 'm'}))",
    "objects": "np.array([[1, 'x'], [None, [2, {'a': 3.5}]]], dtype=object)",
    "objects, Fortran order": "np.asfortranarray(np.array([[1, 'x', 2], [None, 's', ()]], object))",
    "objects, 0-d": "np.array({'a': 1}, dtype=object)",
    "objects that are arrays": "np.array([np.arange(3), np.zeros((2, 2))], dtype=object)",
    "texts": "np.array(['a', 'bcd', 'é€'] * 3000)",
    "texts of any length": "np.array(['a', 'x' * 90, ''], dtype=np.dtypes.StringDType())",
    "texts of any length, with nulls": (
        "np.array(['a', None, 'b'], dtype=np.dtypes.StringDType(na_object=None))"
    ),
    "masked": "np.ma.array(np.arange(5000.), mask=np.arange(5000) % 3 == 0, fill_value=-1)",
    "masked, hard": "np.ma.array([1, 2, 3], mask=[0, 1, 0], hard_mask=True)",
    "masked, without a mask": "np.ma.array([[1, 2], [3, 4]])",
    "masked, structured": (
        "np.ma.array([(1, 2.), (3, 4.)], mask=[(0, 1), (0, 0)], dtype=[('a', 'i4'), ('b', 'f8')])"
    ),
    "the masked constant": "np.ma.masked",
    "recarray": "np.rec.array([(1, 2.5), (3, 4.5)], dtype=[('a', 'i4'), ('b', 'f8')])",
    "record": "np.rec.array([(1, 2.5)], dtype=[('a', 'i4'), ('b', 'f8')])[0]",
    "void scalar": "np.zeros(1, [('a', 'i4'), ('b', 'f8')])[0]",
    "matrix": "np.matrix([[1, 2], [3, 4]])",
    "chararray": "np.char.array(['a', 'bc'])",
    "poly1d": "np.poly1d([1, 2, 3])",
    "scalars": (
        "[np.float32(2.5), np.int8(-3), np.bool_(True), np.complex64(1 + 2j), np.str_('é'),"
        " np.bytes_(b'x'), np.datetime64('2020-01-01', 'D'), np.timedelta64(5, 'ns'),"
        " np.longdouble('1.1'), np.float64('nan'), np.datetime64('NaT')]"
    ),
    "dtypes": (
        "[np.dtype('f8'), np.dtype('>M8[us]'), np.dtype([('a', 'i4', (2,))]), np.float32,"
        " np.dtype('f4', metadata={'a': 1})]"
    ),
    "dtype of texts of any length": "np.dtypes.StringDType(na_object=np.nan)",
    "ufuncs": "[np.add, np.sin, np.logaddexp.reduce]",
    "vectorize": "np.vectorize(len, otypes=['i8'])",
    "finfo": "np.finfo('f4')",
    "nditer of indices": "np.ndindex(2, 3)",
}

_SINCE = {
    "texts of any length": "2",
    "texts of any length, with nulls": "2",
    "dtype of texts of any length": "2",
    "nditer of indices": "2.4",  # until then it reads a `numpy.nditer`, which nobody can pickle
}
"""The first NumPy that has it, or whose object can be kept; of others, any."""

_SHARING = {
    "a view and its base": (
        "a = np.arange(9000.)\nx = {'a': a, 'v': a[10:20], 'back': a[::-3], 'm': a.reshape(90, 100).T}"
    ),
    "views of one hidden base": "b = np.arange(9000.)\nx = [b[10:50], b[40:80]]\ndel b",
    "views of a Fortran array": (
        "a = np.asfortranarray(np.arange(600.).reshape(20, 30))\nx = [a, a[3:, 2], a.T, a[::-2]]"
    ),
    "a view with another type": (
        "a = np.arange(4000, dtype='f8')\nx = [a, a.view('u8'), a.view('f4')[::2]]"
    ),
    "a field of records": (
        "a = np.zeros(3000, [('a', 'i4'), ('b', 'f8')])\nx = [a, a['b'], a['a'][5:9]]"
    ),
    "real and imaginary parts": "a = np.arange(4000) * (1 + 2j)\nx = [a, a.real, a.imag]",
    "views of objects": (
        "a = np.array([[1, 'x'], [None, [2]]], dtype=object)\nx = [a, a[:, 1], a.T]"
    ),
    "a read-only view of a writable array": (
        "a = np.arange(4000.)\nv = a[5:]\nv.flags.writeable = False\nx = [a, v]"
    ),
    "a view that may write of an array that was made read-only": (
        "a = np.arange(4000.)\nv, w = a[5:], a[::-2]\na.flags.writeable = False\nx = [v, a, w]"
    ),
    "the same, of objects": (
        "a = np.array([[1, 'x'], [None, 2]], dtype=object, order='F')\nv = a[:, 1]\n"
        "a.flags.writeable = False\nx = [a, v]"
    ),
    "the same, small": "a = np.arange(4)\nv = a[1:]\na.flags.writeable = False\nx = [a, v]",
    "an array on a bytearray": (
        "b = bytearray(4000)\nx = [b, np.frombuffer(b, 'u1'), np.frombuffer(b, 'u1')[100:]]"
    ),
    "an array on bytes": "x = np.frombuffer(b'abcd' * 2000, 'u2')",
    "a masked array on a plain one": (
        "a = np.arange(4000.)\nx = [a, np.ma.array(a, mask=a > 5, copy=False)]"
    ),
    "a matrix on a plain array": "a = np.arange(400.).reshape(20, 20)\nx = [a, np.asmatrix(a)]",
    "one array twice": "a = np.arange(4000)\nx = (a, [a], {'a': a})",
    "0-d and empty views": "a = np.arange(4000.)\nx = [a, a[5:6].reshape(()), a[7:7]]",
    "small arrays": "a = np.arange(4)\nx = [a, a[1:], a[::-1]]",
}

_RANDOM = {
    "Generator": "np.random.default_rng(3)",
    "Generator of MT19937": "np.random.Generator(np.random.MT19937(3))",
    "Generator of Philox": "np.random.Generator(np.random.Philox(3))",
    "Generator of SFC64": "np.random.Generator(np.random.SFC64(3))",
    "RandomState": "np.random.RandomState(3)",
    "SeedSequence": "np.random.SeedSequence(3).spawn(2)",
    "BitGenerator": "np.random.PCG64DXSM(3)",
}

_DISTRIBUTIONS = {
    "`scipy.stats` distributions": "from scipy import stats\nx = [stats.norm, stats.gamma]",
    "`scipy.stats` distributions, frozen": (
        "from scipy import stats\nx = [stats.norm(2, 3), stats.poisson(3.5)]"
    ),
    "`scipy.stats.gaussian_kde`": (
        "import numpy as np\nfrom scipy import stats\nx = stats.gaussian_kde(np.arange(50.) ** 2)"
    ),
    "`scipy.stats` multivariate": (
        "from scipy import stats\nx = stats.multivariate_normal([0, 1], [[2, .3], [.3, 1]])"
    ),
    "`scipy.interpolate`": (
        "import numpy as np\nfrom scipy import interpolate\n"
        "x = [interpolate.CubicSpline(np.arange(9), np.arange(9.) ** 3),\n"
        "     interpolate.BSpline(np.arange(9), np.ones(5), 3)]"
    ),
    "`scipy.optimize.OptimizeResult`": (
        "from scipy import optimize\nx = optimize.minimize(lambda v: (v[0] - 2) ** 2, [0.0])"
    ),
    "`scipy.spatial.KDTree`": (
        "import numpy as np\nfrom scipy import spatial\n"
        "x = spatial.KDTree(np.random.default_rng(0).random((200, 3)))"
    ),
    "`scipy.spatial.transform.Rotation`": (
        "from scipy.spatial.transform import Rotation\nx = Rotation.from_euler('xyz', [.1, .2, .3])"
    ),
}

_CHECKS = {
    "`scipy.stats` distributions": (
        "assert x[0].pdf(0.3) == y[0].pdf(0.3) and x[1].cdf(2, 3) == y[1].cdf(2, 3)"
    ),
    "`scipy.stats` distributions, frozen": (
        "assert x[0].pdf(0.3) == y[0].pdf(0.3) and x[1].pmf(2) == y[1].pmf(2)\n"
        "assert x[0].kwds == y[0].kwds and x[0].args == y[0].args\n"
        "same(x[0].rvs(5, random_state=1), y[0].rvs(5, random_state=1))"
    ),
    "`scipy.stats` multivariate": (
        "assert x.pdf([0, 0]) == y.pdf([0, 0])\nsame(x.mean, y.mean)\nsame(x.cov, y.cov)"
    ),
    # Since SciPy 1.18 nobody may write to its data, until its own pickle has brought it back.
    "`scipy.spatial.KDTree`": "same(x.data.copy(), y.data.copy())\nsame(x.query([.5, .5, .5], 3), y.query([.5, .5, .5], 3))",
    "`scipy.spatial.transform.Rotation`": "same(x.as_quat(), y.as_quat())",
}


def _sparse() -> list[Case]:
    kinds = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
    made = [f"sp.random(60, 50, 0.1, format={kind!r}, random_state=0)" for kind in kinds]
    made += [f"sp.{kind}_array(np.eye(300))" for kind in kinds]
    made.append("sp.coo_array((np.ones(3, 'f4'), ([0, 1, 1], [2, 0, 0])), shape=(3, 3))")
    return [
        Case(source, f"{_NP}import scipy.sparse as sp\nx = {source}",
             check="assert type(x) is type(y)\nsame(x.tocoo(), y.tocoo())" if "dok" in source else "",
             needs="scipy", part_of="`scipy.sparse` matrices and arrays of every format")
        for source in made
    ]  # fmt: skip


def _arrays() -> list[Case]:
    of_dtypes = [
        Case(f"array of {dtype}", f"{_NP}x = np.arange(5000).astype({dtype!r})",
             needs="numpy", part_of="arrays of every dtype")
        for dtype in _DTYPES.split()
    ]  # fmt: skip
    of_layouts = [
        Case(f"NumPy: {name}", f"{_NP}x = {source}", needs=f"numpy>={_SINCE.get(name, 1)}")
        for name, source in _ARRAYS.items()
    ]
    shared = [
        Case(f"NumPy, sharing memory: {name}", _NP + source, needs="numpy")
        for name, source in _SHARING.items()
    ]
    random = [
        Case(f"`{name}`", f"{_NP}x = {source}", needs="numpy") for name, source in _RANDOM.items()
    ]
    return [*of_dtypes, *of_layouts, *shared, *random]


_SCIPY = [
    Case(
        name,
        source,
        check=_CHECKS.get(name, ""),
        needs="scipy",
        told=name != "`scipy.spatial.KDTree`",
    )
    for name, source in _DISTRIBUTIONS.items()
]

_POLYNOMIAL = Case(
    "NumPy: Polynomial",
    f"{_NP}x = np.polynomial.Chebyshev([1, 2, 3], domain=[-2, 2], symbol='t')",
    check="assert x == y and repr(x) == repr(y)\nsame(x(0.3), y(0.3))",
    needs="numpy",
)

_SPREAD = Case(
    "NumPy: a thin slice of a large array",
    f"{_NP}x = np.arange(1e6).reshape(1000, 1000)[:, 3]",
    check="import numpy as np\nassert x.tobytes() == y.tobytes() and x.flags.writeable",
    note="the elements alone, without the gaps between them",
    needs="numpy",
)

_FILES = (
    Case(
        "`np.memmap` of a file, to read",
        f"{_NP}np.arange(9000.).tofile('data.bin')\nx = np.memmap('data.bin', 'f8', 'r')",
        check="same(x, y)\nassert x.filename == y.filename",
        needs="numpy",
        note="by its file, which must hold the same",
    ),
    Case(
        "`np.memmap` of a file, to write",
        f"{_NP}x = np.memmap('data.bin', 'f4', 'w+', shape=(30, 40), order='F')\nx[:] = 2.5",
        check="same(x, y)\nx[0, 0] = 7\nx.flush()\n"
        "import numpy as np\nassert np.fromfile('data.bin', 'f4')[0] == 7\nx[0, 0] = 2.5",
        needs="numpy",
        note="with its content; on its file again if that holds the same",
    ),
    Case(
        "`np.memmap`, copy on write",
        f"{_NP}np.arange(9000.).tofile('data.bin')\nx = np.memmap('data.bin', 'f8', 'c')\nx[0] = -1",
        check="assert type(x) is type(y) and (x == y).all() and x[0] == -1 and x.mode == 'c'",
        needs="numpy",
    ),
    Case(
        "views of a `np.memmap`",
        f"{_NP}m = np.memmap('data.bin', 'f8', 'w+', shape=900)\nm[:] = 1\n"
        "x = [m, m[5:20], np.asarray(m)[10:]]",
        check="assert [type(v) for v in x] == [type(v) for v in y]\nx[0][10:12] = 9\n"
        "assert x[1][5] == 9 and x[2][1] == 9\nx[0][10:12] = 1",
        needs="numpy",
    ),
)

CASES = (*_arrays(), _POLYNOMIAL, _SPREAD, *_FILES, *_sparse(), *_SCIPY)
