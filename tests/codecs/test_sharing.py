"""What ties variables to each other, and what never changes and ties none."""

from __future__ import annotations

from typing import Any

import pytest

from nbckpt.steps import current_session
from tests.notebooks import restart, run

ANNOTATED = {
    "List": "def {}(a: List[str]) -> Optional[str]: return a[0]",
    "built in": "def {}(a: list[str]) -> str | None: return a[0]",
    "Callable": "def {}(a: Callable[[int], str] = str) -> 'List[int]': return a(1)",
    "Annotated": "def {}(a: Annotated[int, 'metres'], b: Literal['x'] = 'x') -> Any: return a",
}


def group_of(name: str) -> tuple[str, ...]:
    kept = current_session.session().workspace.capturer.kept_as(name)
    assert kept is not None
    return kept.group


@pytest.mark.slow
@pytest.mark.parametrize("definition", ANNOTATED.values(), ids=ANNOTATED)
def test_functions_with_the_same_annotations_are_not_tied(shell: Any, definition: str) -> None:
    cells = [
        "%%checkpoint names\nfrom typing import *",
        f"%%checkpoint one\n{definition.format('one')}\nheld = [one]",
        f"%%checkpoint two\n{definition.format('two')}",
    ]
    for cell in cells:
        run(shell, cell)
    groups = [group_of(name) for name in ("held", "one", "two")]
    restart(shell)
    for cell in cells:
        run(shell, cell)

    assert groups == [("held",), ("one",), ("two",)]
    one, two = (shell.user_ns[name].__annotations__ for name in ("one", "two"))
    assert [one[name] is two[name] or one[name] == two[name] for name in one] == [True] * len(one)


@pytest.mark.slow
def test_what_holds_a_type_variable_holds_that_one_again(shell: Any) -> None:
    cells = [
        "%%checkpoint names\nfrom typing import Generic, List, TypeVar\nT = TypeVar('T')",
        "%%checkpoint box\nclass Box(Generic[T]):\n    items: List[T]",
        "%%checkpoint first\ndef first(items: List[T]) -> T: return items[0]\nkinds = {'a': List[T]}",
    ]
    look = (
        "same = [Box.__parameters__[0] is T, first.__annotations__['return'] is T,"
        " kinds['a'].__parameters__[0] is T, Box[int].__args__ == (int,)]"
    )
    for _ in range(2):
        for cell in cells:
            run(shell, cell)
        run(shell, look)
        assert shell.user_ns["same"] == [True] * 4
        restart(shell)
