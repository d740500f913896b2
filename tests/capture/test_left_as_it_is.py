"""Values stay as they are when they are looked at, and come back as what they were."""

from __future__ import annotations

import sqlite3
import time
from types import ModuleType
from typing import Any

import matplotlib as mpl
import pytest

from nbckpt.capture.observation.texts_of_libraries import texts_of
from nbckpt.fingerprint.values import ValueDigester
from nbckpt.fingerprint.values.reducing import reduction_of
from tests.codecs.test_round_trips import define, round_trip

ENUMS = {
    "members": "from enum import Enum\nclass K(Enum):\n    A = 1\n    B = 2",
    "methods between members": (
        "from enum import Enum\nclass K(Enum):\n    'Text.'\n    A = 1\n"
        "    def f(self):\n        return self.A\n    B = 2\n    C = 1\n"
        "    def __str__(self):\n        return 'x'"
    ),
    "given values": (
        "from enum import Enum\nclass K(Enum):\n    A = (1, 2)\n"
        "    def __init__(self, x, y):\n        self.x = x"
    ),
    "of a base": (
        "from enum import IntEnum, auto\nclass K(IntEnum):\n    A = auto()\n"
        "    @classmethod\n    def z(cls):\n        return cls.A"
    ),
}


@pytest.mark.parametrize("source", ENUMS.values(), ids=ENUMS)
def test_an_enum_comes_back_in_its_order(source: str) -> None:
    namespace = define(source)

    back = round_trip(namespace, "K")["K"]

    assert list(vars(back)) == list(vars(namespace["K"]))
    assert [(m.name, m.value) for m in back] == [(m.name, m.value) for m in namespace["K"]]


def test_a_dict_that_is_its_own_attributes_comes_back_as_one() -> None:
    namespace = define(
        "class Attributes(dict):\n    def __init__(self, **items):\n        super().__init__(items)\n"
        "        self.__dict__ = self\nx = Attributes(a=1)"
    )

    back = round_trip(namespace, "x", into=round_trip(namespace, "Attributes"))["x"]
    back.b = 2

    assert back == {"a": 1, "b": 2}


class Fit:
    def __init__(self) -> None:
        self.settings = {"function": len, "lock": object()}
        self.cache = 1

    def __getstate__(self) -> dict[str, Any]:
        self.settings.update(function=None, lock=None)
        del self.cache
        return self.__dict__


def test_what_a_value_clears_when_it_is_pickled_is_put_back() -> None:
    fit = Fit()
    lock = fit.settings["lock"]

    state = reduction_of(fit, 5)[2]

    assert vars(fit) == {"settings": {"function": len, "lock": lock}, "cache": 1}
    assert state == {"settings": {"function": len, "lock": None}}


def test_a_query_goes_on_after_its_files_were_asked_for() -> None:
    connection = sqlite3.connect(":memory:")
    cursor = connection.execute("select 1 union select 2 union select 3")
    cursor.fetchone()

    texts_of(cursor, 1_000)

    assert cursor.fetchall() == [(2,), (3,)]
    connection.close()


def test_the_settings_of_drawings_come_back_as_the_library_s_own() -> None:
    back = round_trip({"rcParams": mpl.rcParams}, "rcParams")["rcParams"]

    assert back is mpl.rcParams


def _digest(value: object) -> str:
    return ValueDigester({}).digest(value)


def _begun(n_given: int, items: list[int]) -> Any:
    found = (item * item for item in items)
    for _ in range(n_given):
        next(found)
    return found


def test_a_generator_is_told_by_the_place_it_has_come_to() -> None:
    one, same = _begun(1, [1, 2, 3]), _begun(1, [1, 2, 3])

    assert _digest(one) == _digest(same)
    assert _digest(one) != _digest(_begun(2, [1, 2, 3]))
    assert _digest(one) != _digest(_begun(1, [1, 2, 4]))
    assert _digest(_begun(0, [1])) != _digest(_begun(1, [1]))
    assert next(one) == 4


def test_a_generator_that_shares_a_cell_is_told_by_what_lies_there() -> None:
    def made() -> tuple[Any, Any]:
        total = 0

        def add() -> None:
            nonlocal total
            total += 1

        def give() -> Any:
            while True:
                yield total

        return add, give()

    add, given = made()
    next(given)
    before = _digest(given)
    add()

    assert _digest(given) != before


def test_a_finalizer_is_told_by_what_it_calls() -> None:
    import weakref

    kept: set[int] = set()
    called: list[int] = []
    one, other = (weakref.finalize(kept, called.append, n) for n in (1, 2))

    assert _digest(one) != _digest(other)


def test_a_design_matrix_comes_back() -> None:
    patsy: ModuleType = pytest.importorskip("patsy")
    _, x = patsy.dmatrices("y ~ a", {"y": [1.0, 2.0], "a": [1.0, 3.0]})

    back = round_trip({"x": x}, "x")["x"]

    assert back.design_info.column_names == ["Intercept", "a"]
    assert (back == x).all()
    assert _digest(x) == _digest(back)


@pytest.mark.slow
def test_a_model_comes_back_with_the_functions_that_its_formula_names() -> None:
    smf: Any = pytest.importorskip("statsmodels.formula.api")
    pd = pytest.importorskip("pandas")
    data = pd.DataFrame({"y": [1.0, 2.0, 4.0, 7.0, 8.0], "a": [1.0, 3.0, 4.0, 6.0, 9.0]})

    def double(x: Any) -> Any:
        return 2 * x

    fitted = smf.ols("y ~ double(a)", data).fit()
    back = round_trip({"fitted": fitted}, "fitted")["fitted"]

    new = pd.DataFrame({"a": [2.0, 5.0]})
    assert back.predict(new).tolist() == fitted.predict(new).tolist()
    assert back.model.data.model_spec.column_names == ["Intercept", "double(a)"]
    assert _digest(fitted) == _digest(back)


@pytest.mark.slow
def test_a_model_comes_back_as_its_fit_left_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.localtime()
    monkeypatch.setattr(time, "localtime", lambda *_: now)  # which a summary tells
    sm: Any = pytest.importorskip("statsmodels.api")
    np = pytest.importorskip("numpy")
    rng = np.random.default_rng(1)
    design = sm.add_constant(rng.normal(size=(200, 2)))
    model = sm.NegativeBinomial(rng.negative_binomial(2, 0.4, size=200), design)
    fitted = model.fit(disp=0)

    back = round_trip({"model": model, "fitted": fitted}, "model", "fitted")

    assert back["model"].loglike(fitted.params) == model.loglike(fitted.params)
    assert back["fitted"].model is back["model"]
    assert back["fitted"].summary().as_text() == fitted.summary().as_text()
    assert back["model"].score.__self__ is back["model"]
    assert _digest(model) == _digest(back["model"])


@pytest.mark.parametrize("formula", ["a", "center(a)", "bs(a, df=4)", "C(b)", "np.log(a) + a:b"])
def test_a_design_frame_comes_back_with_how_it_was_made(formula: str) -> None:
    patsy: ModuleType = pytest.importorskip("patsy")
    np = pytest.importorskip("numpy")
    data = {"a": np.arange(1.0, 9.0), "b": list("xyxyxyxy")}
    x = patsy.dmatrix(formula, data, return_type="dataframe")

    back = round_trip({"x": x}, "x")["x"]

    new = {"a": np.array([2.5, 3.5]), "b": ["y", "x"]}
    told, wanted = (patsy.build_design_matrices([table.design_info], new)[0] for table in (back, x))
    assert np.array_equal(told, wanted)
    assert _digest(x) == _digest(back)
