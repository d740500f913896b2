"""Variables that lie on one memory without holding one object."""

from __future__ import annotations

import array
import random
from typing import Any

import numpy as np
import pytest

from nbckpt.session.session import Session


def kept_and_lost(session: Session, *names: str) -> dict[str, Any]:
    """The namespace after these variables were kept, lost and brought back."""
    session.checkpoint("kept")
    session.namespace.update(dict.fromkeys(names))
    session.rewind("kept")
    return session.namespace


def test_an_array_on_a_bytearray_stays_on_it(session: Session) -> None:
    raw = bytearray(40_000)
    session.namespace.update(raw=raw, view=np.frombuffer(raw, "u1"))

    back = kept_and_lost(session, "raw", "view")
    back["view"][7] = 5

    assert back["raw"][7] == 5


def test_an_array_on_a_standard_array_stays_on_it(session: Session) -> None:
    raw = array.array("d", range(5000))
    session.namespace.update(raw=raw, view=np.frombuffer(raw)[10:])

    back = kept_and_lost(session, "raw", "view")
    back["view"][0] = -5

    assert back["raw"][10] == -5


@pytest.mark.parametrize("names", [("a", "t"), ("z", "b")], ids=["array first", "tensor first"])
def test_a_tensor_made_from_an_array_stays_on_its_memory(
    session: Session, names: tuple[str, str]
) -> None:
    torch = pytest.importorskip("torch")
    one, other = names
    made = np.arange(9000.0)
    session.namespace.update({one: made, other: torch.from_numpy(made)})

    for _ in range(2):  # what was restored is kept as well as what was made
        back = kept_and_lost(session, one, other)
        back[other][5] = -1
        assert back[one][5] == -1
        back[one][6] = -2
        assert back[other][6] == -2


def test_a_view_of_a_view_that_was_restored_keeps_its_base(session: Session) -> None:
    base = np.arange(9000.0).reshape(90, 100)
    session.namespace.update(base=base, view=np.lib.stride_tricks.as_strided(base, (5, 5), (8, 8)))

    for n in range(2):
        back = kept_and_lost(session, "base", "view")
        back["view"][0, 1] = n

        assert back["base"][0, 1] == n


def test_two_windows_on_memory_without_a_name_share_it(session: Session) -> None:
    hidden = np.arange(9000.0)[::-1]
    session.namespace.update(one=hidden[10:60], other=hidden[50:90])
    del hidden

    back = kept_and_lost(session, "one", "other")
    back["one"][45] = 123

    assert back["other"][5] == 123


def test_a_part_of_a_masked_array_shares_its_data_and_its_mask(session: Session) -> None:
    whole = np.ma.array(np.arange(5000.0), mask=np.zeros(5000, bool))
    session.namespace.update(whole=whole, part=whole[10:20])

    back = kept_and_lost(session, "whole", "part")
    back["part"][0] = -1

    assert back["whole"][10] == -1


def test_arrays_on_memory_of_their_own_are_kept_apart(session: Session) -> None:
    pytest.importorskip("torch")
    session.namespace.update(a=np.arange(9000.0), b=np.arange(9000.0))

    checkpoint = session.checkpoint("kept")

    manifest = session.timeline.manifest(checkpoint.id)
    assert manifest["a"].group == ("a",)
    assert manifest["b"].group == ("b",)


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "source",
    [
        "import sympy\nNAME = sympy.Matrix([[sympy.Symbol('x')]])",
        "from scipy import stats\nNAME = stats.norm(1, 2)",
        "import numpy as np\nfrom sklearn.tree import DecisionTreeClassifier\n"
        "NAME = DecisionTreeClassifier().fit(np.eye(9), range(9))",
        "import matplotlib\nmatplotlib.use('agg')\nimport matplotlib.pyplot as plt\n"
        "NAME, ax = plt.subplots()\nax.plot([1, 2], label='a')\nax.legend()\nplt.close(NAME)\ndel ax",
    ],
    ids=["sympy", "scipy", "scikit-learn", "matplotlib"],
)
def test_values_that_share_only_constants_are_kept_apart(session: Session, source: str) -> None:
    pytest.importorskip(source.split()[1])
    for name in ("one", "two"):
        exec(source.replace("NAME", name), session.namespace)

    checkpoint = session.checkpoint("kept")

    manifest = session.timeline.manifest(checkpoint.id)
    assert manifest["one"].group == ("one",)
    assert manifest["two"].group == ("two",)


def test_a_value_on_the_hidden_generator_stays_on_it(session: Session) -> None:
    stats = pytest.importorskip("scipy.stats")
    session.namespace["x"] = stats.norm(1, 2)

    back = kept_and_lost(session, "x")

    np.random.seed(3)
    first = back["x"].rvs(3).tolist()
    np.random.seed(3)
    assert back["x"].rvs(3).tolist() == first


def test_functions_of_the_random_module_stay_those_of_the_module(session: Session) -> None:
    session.namespace["draw"] = random.random

    back = kept_and_lost(session, "draw")

    random.seed(3)
    first = back["draw"]()
    random.seed(3)
    assert random.random() == first
