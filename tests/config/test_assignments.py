"""Names and expressions as people type them."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbckpt.config.assignments import assigned, parsed
from nbckpt.errors import UsageError

USAGE = "%fork REF [BRANCH] [name=expression …]"


@pytest.mark.parametrize(
    ("line", "words", "expressions"),
    [
        ("train", ("train",), {}),
        ("train try-2 k=5", ("train", "try-2"), {"k": "5"}),
        ('train name="a b"', ("train",), {"name": '"a b"'}),
        ("train xs=[1, 2] k = 3", ("train",), {"xs": "[1, 2]", "k": "3"}),
        ("train x=1, y=2", ("train",), {"x": "1", "y": "2"}),
        ("train t=1,", ("train",), {"t": "1,"}),
        ("train d={1: 2, 'k': 3}", ("train",), {"d": "{1: 2, 'k': 3}"}),
        ("train same=a == b", ("train",), {"same": "a == b"}),
        ("train f=lambda x=1: x y=2", ("train",), {"f": "lambda x=1: x", "y": "2"}),
        ("train text='a y=3 b' z=1", ("train",), {"text": "'a y=3 b'", "z": "1"}),
        ("train 'k=a + b' z=1", ("train",), {"k": "a + b", "z": "1"}),
        ("'my branch' k=dict(a=1, b = 2)", ("my branch",), {"k": "dict(a=1, b = 2)"}),
        ("~2 größe=1", ("~2",), {"größe": "1"}),
        ("k=3", (), {"k": "3"}),
    ],
)
def test_words_come_first_and_expressions_are_whole(
    line: str, words: tuple[str, ...], expressions: dict[str, str]
) -> None:
    typed = parsed(line, USAGE)

    assert typed.words == words
    assert dict(typed.expressions) == expressions


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("train k=", "k=: what is behind '=' is no Python expression: there is nothing"),
        ("train k=hello world", "a text needs its quotes, as in k='…'"),
        ("train k=1 k=2", "'k' is given twice: 1 and 2"),
        ("train class=3", "'class=3' gives no variable a value"),
        ("train 2x=3", "'2x=3' gives no variable a value"),
        ("'train k=3", USAGE),
        ("train k=[1, 2", "k=[1, 2: what is behind '='"),
        ("train k=a b c=3", "k=a b: what is behind '='"),
    ],
)
def test_what_cannot_be_read_is_named_with_the_next_move(line: str, told: str) -> None:
    with pytest.raises(UsageError) as refused:
        parsed(line, USAGE)

    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.binary(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from("abcdef"), LITERALS, max_size=4))
def test_every_value_is_read_as_it_was_written(values: dict[str, object]) -> None:
    line = " ".join(["train", *(f"{name}={value!r}" for name, value in values.items())])

    typed = parsed(line, USAGE)

    assert typed.words == ("train",)
    assert {n: ast.literal_eval(e) for n, e in typed.expressions.items()} == values


def test_a_piece_of_a_shells_line_is_an_assignment_or_refused() -> None:
    assert assigned(["k=a + b", "t='x y'"]) == {"k": "a + b", "t": "'x y'"}
    with pytest.raises(UsageError, match="gives no variable a value"):
        assigned(["k"])
