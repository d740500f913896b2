"""That generators which drew no number are told by their memory alone."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import numpy as np
import pytest
import sympy.core.random

from nbckpt.fingerprint import random_generators

SEEDS = itertools.count(5)
PYTHON, NUMPY = "random.state", "numpy.random.state"
SYMPY = "sympy.core.random.state"


@pytest.fixture(autouse=True)
def _generators_as_before() -> object:
    states = random_generators.states()
    yield
    np.random.set_bit_generator(np.random.MT19937(1))
    random_generators.put_states(states)


@pytest.mark.parametrize(
    ("draw", "name"),
    [
        (random.random, PYTHON),
        (lambda: random.gauss(0, 1), PYTHON),
        (lambda: random.getrandbits(1), PYTHON),
        (lambda: random.seed(next(SEEDS)), PYTHON),
        (lambda: random.shuffle([1, 2, 3]), PYTHON),
        (lambda: sympy.core.random.random(), SYMPY),
        (lambda: sympy.core.random.seed(next(SEEDS)), SYMPY),
        (np.random.rand, NUMPY),
        (np.random.randn, NUMPY),
        (lambda: np.random.binomial(10, 0.4), NUMPY),
        (lambda: np.random.seed(next(SEEDS)), NUMPY),
        (lambda: np.random.set_bit_generator(np.random.MT19937(next(SEEDS))), NUMPY),
        (lambda: np.random.mtrand._rand.standard_gamma(2.0), NUMPY),  # type: ignore[attr-defined]
    ],
)
def test_whatever_draws_changes_the_memory(draw: Callable[[], object], name: str) -> None:
    for _ in range(4):  # `gauss` and `randn` make two numbers, and give one of them later
        before, state = random_generators.memory(), random_generators.states()
        assert random_generators.memory() == before
        draw()
        after = random_generators.memory()
        assert {n for n in after if after[n] != before[n]} == {name}
        assert not random_generators.is_same(random_generators.states()[name], state[name])


def test_memory_of_another_kind_of_generator_is_not_read() -> None:
    np.random.set_bit_generator(np.random.PCG64(3))

    assert PYTHON in random_generators.memory()
    assert NUMPY not in random_generators.memory()
    assert NUMPY in random_generators.states()


def test_states_leave_out_what_is_known_to_stand_still() -> None:
    assert PYTHON not in random_generators.states(without={PYTHON})
