"""Values → parts → values, in a namespace of notebook definitions."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbckpt.codecs.encode import EncodeError, encode
from nbckpt.codecs.loading import Loading, decode
from nbckpt.codecs.pickler import Scope
from nbckpt.codecs.references import homes_of
from tests.notebooks import define

Namespace = dict[str, Any]


def round_trip(namespace: Namespace, *names: str, into: Namespace | None = None) -> Namespace:
    """The named variables, written together and read back into another namespace."""
    target: Namespace = {} if into is None else into
    visible = [n for n in namespace if not n.startswith("__")]
    scope = Scope(namespace, homes_of(namespace, visible))
    values = {name: namespace[name] for name in names}
    encoded = encode(values, scope)
    linked = frozenset(root for root, arrays in encoded.views.items() if len(arrays) > 1)
    parts = encode(values, scope, linked=linked).parts
    copies = [_copy(part) for part in parts]
    target |= decode(copies, Loading(target, target.__getitem__), trusted=True)
    return target


def _copy(part: Any) -> memoryview:
    view = memoryview(part)
    return memoryview(bytes(view) if view.readonly else bytearray(view))


def test_a_view_stays_a_view_of_its_base() -> None:
    namespace = define("import numpy as np\na = np.arange(9000.)\nv = a[10:20]")

    back = round_trip(namespace, "a", "v")
    back["v"][0] = -1

    assert back["a"][10] == -1


@pytest.mark.parametrize("view", ["F[3:, 2]", "F.T", "F[::-2]", "F[:, ::3]"])
def test_views_of_fortran_arrays_keep_their_place(view: str) -> None:
    namespace = define(
        "import numpy as np\n"
        "F = np.asfortranarray(np.arange(20000.).reshape(100, 200))\n"
        f"v = {view}"
    )

    back = round_trip(namespace, "F", "v")
    back["v"].flat[0] = 55

    assert back["F"].flags.f_contiguous
    assert (back["F"] == 55).sum() == 1 + (namespace["F"] == 55).sum() * (
        namespace["v"].flat[0] != 55
    )
    np.testing.assert_array_equal(back["v"].shape, namespace["v"].shape)


def test_views_of_object_arrays_stay_views() -> None:
    namespace = define(
        "import numpy as np\na = np.array([[1, 'x'], [None, [2]]], dtype=object)\nv = a[:, 1]"
    )

    back = round_trip(namespace, "a", "v")
    back["v"][0] = "changed"

    assert back["a"][0, 1] == "changed"


def test_a_read_only_array_comes_back_read_only() -> None:
    namespace = define("import numpy as np\na = np.zeros(9000)\na.flags.writeable = False")

    back = round_trip(namespace, "a")

    assert not back["a"].flags.writeable


@pytest.mark.parametrize("count", [9, 9000])
def test_an_array_made_read_only_may_be_made_writeable_again(count: int) -> None:
    namespace = define(f"import numpy as np\na = np.zeros({count})\na.flags.writeable = False")

    a = round_trip(namespace, "a")["a"]
    a.flags.writeable = True
    a[3] = 5

    assert a[3] == 5
    assert namespace["a"][3] == 0


@pytest.mark.parametrize("count", [9, 9000])
def test_an_array_on_bytes_stays_one_that_cannot_be_written(count: int) -> None:
    namespace = define(f"import numpy as np\na = np.frombuffer(bytes({count}), 'u1')")

    a = round_trip(namespace, "a")["a"]

    assert not a.flags.writeable


def test_a_writable_array_comes_back_writable() -> None:
    namespace = define("import numpy as np\nsmall = np.zeros(3)\nlarge = np.zeros(9000)")

    back = round_trip(namespace, "small", "large")

    assert back["small"].flags.writeable
    assert back["large"].flags.writeable


@pytest.mark.parametrize(
    "expression",
    [
        "np.array(5)",
        "np.zeros((0, 3))",
        "np.array(['2020-01-01'] * 3000, dtype='M8[ns]')",
        "np.array([(1, 2.5)] * 3000, dtype=[('a', 'i4'), ('b', 'f8')])",
        "np.arange(9000, dtype='>i4')",
        "np.ma.array([1, 2, 3], mask=[0, 1, 0])",
        "np.float32(2.5)",
        "np.array(['a', 'bcd'] * 5000)",
        "np.arange(9000).reshape(30, 300)[::2, ::3]",
    ],
)
def test_arrays_of_every_kind_come_back_equal(expression: str) -> None:
    namespace = define(f"import numpy as np\nx = {expression}")

    back = round_trip(namespace, "x")

    assert type(back["x"]) is type(namespace["x"])
    assert back["x"].dtype == namespace["x"].dtype
    np.testing.assert_array_equal(back["x"], namespace["x"])


def test_frames_are_values_even_when_they_share_memory() -> None:
    namespace = define(
        "import pandas as pd\n"
        "df = pd.DataFrame({'a': [1., 2.], 'b': ['x', 'y']})\n"
        "same = df.copy(deep=False)\ncolumn = df['a']"
    )

    back = round_trip(namespace, "df", "same", "column")
    back["column"].iloc[0] = 99

    assert back["df"].loc[0, "a"] == 1
    pd.testing.assert_frame_equal(back["same"], namespace["same"])


def test_a_restored_function_sees_the_namespace_of_today() -> None:
    namespace = define("x = 1\ndef f():\n    return x")

    back = round_trip(namespace, "f")
    back["x"] = 100

    assert back["f"]() == 100
    assert back["f"].__globals__ is back


def test_a_restored_function_has_its_source() -> None:
    namespace = define("def f(a, *, b=2) -> int:\n    '''Doc.'''\n    return a + b")

    back = round_trip(namespace, "f")

    assert inspect.getsource(back["f"]) == inspect.getsource(namespace["f"])
    assert inspect.signature(back["f"]) == inspect.signature(namespace["f"])
    assert back["f"].__doc__ == "Doc."


def test_closures_over_one_variable_share_it_again() -> None:
    namespace = define(
        "def make():\n"
        "    n = 0\n"
        "    def inc():\n        nonlocal n\n        n += 1\n        return n\n"
        "    def get():\n        return n\n"
        "    return inc, get\n"
        "inc, get = make()\n_ = inc()"
    )

    back = round_trip(namespace, "inc", "get")
    back["inc"]()

    assert back["get"]() == 2


def test_a_closure_may_hold_its_own_function() -> None:
    namespace = define(
        "def make():\n    def f(n):\n        return 1 if n == 0 else n * f(n - 1)\n    return f\n"
        "f = make()"
    )

    back = round_trip(namespace, "f")

    assert back["f"](5) == 120
    assert back["f"].__closure__[0].cell_contents is back["f"]


def test_an_instance_refers_to_its_class_in_the_namespace() -> None:
    namespace = define("class K:\n    def me(self):\n        return super().__init__\nk = K()")

    back = round_trip(namespace, "K")
    back = round_trip(namespace, "k", into=back)

    assert type(back["k"]) is back["K"]
    back["k"].me()


def test_loading_a_class_leaves_the_live_one_alone() -> None:
    namespace = define("class K:\n    tag = 'old'")
    old = round_trip(namespace, "K")["K"]
    namespace["K"].tag = "new"

    back = round_trip(namespace, "K")

    assert old.tag == "old"
    assert back["K"].tag == "new"
    assert namespace["K"] is not back["K"]


@pytest.mark.parametrize(
    "definition",
    [
        "from enum import Enum\nclass T(Enum):\n    A = 1\nx = T.A\nok = lambda x: x.value == 1",
        "from dataclasses import dataclass\n@dataclass\nclass T:\n    a: int\nx = T(3)\n"
        "ok = lambda x: x.a == 3",
        "from typing import NamedTuple\nclass T(NamedTuple):\n    a: int\nx = T(3)\n"
        "ok = lambda x: x.a == 3",
        "class M(type):\n    pass\nclass T(metaclass=M):\n    pass\nx = T()\n"
        "ok = lambda x: type(type(x)).__name__ == 'M'",
        "class T:\n    @property\n    def a(self):\n        return 7\nx = T()\nok = lambda x: x.a == 7",
        "class T:\n    __slots__ = ('a',)\nx = T()\nx.a = 4\n"
        "ok = lambda x: x.a == 4 and not hasattr(x, '__dict__')",
        "from dataclasses import dataclass\n@dataclass(slots=True)\nclass T:\n    a: int = 3\n"
        "x = T()\nok = lambda x: x.a == 3 and not hasattr(x, '__dict__') and x == type(x)(3)",
        "import queue\nx = queue.Queue()\nx.put(5)\nok = lambda x: x.get() == 5",
        "import threading\nx = {'lock': threading.Lock(), 'r': threading.RLock()}\n"
        "ok = lambda x: x['lock'].acquire(False) and x['r'].acquire(False)",
        "from functools import partial\nx = partial(int, base=2)\nok = lambda x: x('11') == 3",
        "x = [1]\nx.append(x)\nok = lambda x: x[1] is x",
        "import collections\nx = collections.defaultdict(lambda: 7)\nok = lambda x: x['a'] == 7",
        "import os\nwith open(os.devnull) as x:\n    pass\n"
        "ok = lambda x: x.closed and x.name == os.devnull and x.mode == 'r'",
        "x = [].append\nok = lambda x: x(1) is None and x.__self__ == [1]",
    ],
)
def test_values_of_notebook_types_come_back_working(definition: str) -> None:
    namespace = define(definition)
    check: Callable[[Any], bool] = namespace["ok"]
    names = [n for n in ("M", "T") if n in namespace]

    back: Namespace = {}
    if "os" in namespace:
        back["os"] = namespace["os"]
    for name in [*names, "x"]:
        back = round_trip(namespace, name, into=back)

    assert check(back["x"])


def test_large_text_and_bytes_leave_the_stream_uncopied() -> None:
    namespace = {"big": b"x" * 1_000_000, "text": "é" * 300_000, "again": [b"x" * 1_000_000]}

    encoded = encode(namespace, Scope(namespace))

    assert sum(memoryview(p).nbytes for p in encoded.parts if memoryview(p).nbytes < 10_000) < 300
    assert round_trip(namespace, "big", "text", "again") == namespace


def test_the_same_definition_gives_the_same_bytes() -> None:
    source = "class K:\n    def f(self):\n        return [K]\ndef g(a=K):\n    return a"
    first, second = define(source), define(source)

    digests = [
        [bytes(p) for p in encode({"K": ns["K"], "g": ns["g"]}, Scope(ns)).parts]
        for ns in (first, second)
    ]

    assert digests[0] == digests[1]


@pytest.mark.parametrize("value", ["class Known: pass", "Known = {'Known': 1}", "Known = Fraction"])
def test_a_variable_whose_name_is_another_text_than_before_gives_the_same_bytes(
    value: str,
) -> None:
    namespace = define(f"from fractions import Fraction\n{value}")
    apart = "".join(["Kno", "wn"])  # as the name of a restored variable is
    known = namespace["Known"]

    digests = [
        [bytes(p) for p in encode({name: known}, Scope(namespace)).parts]
        for name in (sys.intern("Known"), apart)
    ]

    assert digests[0] == digests[1]


def test_the_object_that_refuses_is_named() -> None:
    import socket

    culprit = socket.socket()
    values = {"a": [1, {"deep": culprit}]}

    with pytest.raises(EncodeError) as caught:
        encode(values, Scope({}))
    culprit.close()

    assert caught.value.culprit is culprit


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(), inner)
        | st.tuples(inner, inner)
        | st.frozensets(st.integers())
    ),
    max_leaves=30,
)


@pytest.mark.slow
@given(plain)
def test_plain_values_come_back_equal(value: object) -> None:
    namespace = {"x": value}

    back = round_trip(namespace, "x")

    assert back["x"] == value
    assert type(back["x"]) is type(value)
