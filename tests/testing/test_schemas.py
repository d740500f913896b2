"""Values for schemas, without a server."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from nbckpt.testing.schemas import value_for


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Node(BaseModel):
    name: str
    colour: Colour
    next: Node | None
    children: list[Node]


class Figures(BaseModel):
    low: Annotated[int, Field(ge=100)]
    high: Annotated[float, Field(le=1)]
    between: Annotated[int, Field(gt=3, lt=6)]
    three: Annotated[list[int], Field(min_length=3)]
    short: Annotated[str, Field(max_length=4)]
    long: Annotated[str, Field(min_length=40)]
    kind: Literal["a"]
    either: int | str
    pair: dict[str, int]
    known: bool


@pytest.mark.parametrize("kind", [Node, Figures, list[Figures], int, str | None, Colour])
@pytest.mark.parametrize("n", [1, 2, 5000])
def test_a_value_is_what_its_schema_allows(kind: Any, n: int) -> None:
    adapter = TypeAdapter(kind)

    value = value_for(adapter.json_schema(), "answer", n)

    adapter.validate_python(value)


def test_an_answer_is_told_by_its_number() -> None:
    schema = {"type": "OBJECT", "properties": {"n": {"type": "INTEGER"}, "t": {"type": "STRING"}}}

    assert value_for(schema, "answer 7", 7) == {"n": 7, "t": "answer 7"}
