"""Reducers in annotations."""

from __future__ import annotations

import operator
from typing import Annotated

import pytest

from nbckpt.errors import UsageError
from nbckpt.model import Cell, Checkpoint
from nbckpt.session.reducers import annotated, annotation_in, reducer_of


def made_by(*sources: str) -> list[Checkpoint]:
    """Checkpoints of these cells, newest first."""
    return [
        Checkpoint(str(n), None, "", "main", "s", "nb", 0.0, 0.0, Cell(source))
        for n, source in enumerate(sources)
    ]


@pytest.mark.parametrize(
    ("annotation", "reducer"),
    [
        (Annotated[list, operator.add], operator.add),
        (Annotated[list, "a text", operator.add], operator.add),
        (Annotated[list, operator.add, "a text"], None),
        (Annotated[list, int], None),
        (list, None),
        (list[int], None),
        (None, None),
    ],
)
def test_a_reducer_is_the_last_of_what_is_said_beside_the_type(
    annotation: object, reducer: object
) -> None:
    assert reducer_of(annotation) is reducer


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("xs: Annotated[list, add] = []", "Annotated[list, add]"),
        ("xs: list", "list"),
        ("%%checkpoint a\n!ls\nxs: list = []", "list"),
        ("xs: list = []\nxs: tuple = ()", "tuple"),
        ("def f():\n    xs: list = []", None),
        ("ys: list = xs", None),
        ("xs = []", None),
        ("xs: = [", None),
        ("", None),
    ],
)
def test_the_annotation_of_a_cell_is_read_from_its_top_level(source: str, text: str | None) -> None:
    assert annotation_in(Cell(source), "xs") == text


def test_the_notebooks_own_annotations_count_before_those_of_cells() -> None:
    line = made_by("xs: Annotated[list, operator.sub]")
    live = {"xs": Annotated[list, operator.add]}

    found = annotated("xs", {"__annotations__": live, "operator": operator}, line)

    assert found is operator.add


def test_an_annotation_that_is_text_is_evaluated() -> None:
    space = {"__annotations__": {"xs": "Annotated[list, add]"}, "Annotated": Annotated}

    assert annotated("xs", {**space, "add": operator.add}, []) is operator.add


def test_a_reducer_that_cannot_be_found_is_not_passed_over() -> None:
    space = {"__annotations__": {"xs": "Annotated[list, add]", "ys": "Gone"}}
    space |= {"Annotated": Annotated}

    with pytest.raises(UsageError, match=r"xs: Annotated.*NameError: name 'add'"):
        annotated("xs", space, [])
    assert annotated("ys", space, []) is None


def test_the_newest_cell_that_annotates_counts() -> None:
    space: dict[str, object] = {"Annotated": Annotated, "operator": operator}
    line = made_by(
        "ys = 1", "xs: Annotated[list, operator.mul]", "xs: Annotated[list, operator.add]"
    )

    assert annotated("xs", space, line) is operator.mul
    assert annotated("zs", space, line) is None


def test_a_bare_type_ends_the_search() -> None:
    space: dict[str, object] = {"Annotated": Annotated, "operator": operator}

    assert annotated("xs", space, made_by("xs: list", "xs: Annotated[list, operator.add]")) is None
