"""Lines of magics and requests of pages: arguments, or one sentence that names what was typed."""

from __future__ import annotations

from typing import Any

import pytest

import nbckpt.jupyter.magics  # noqa: F401  # declares the verbs of notebooks
from nbckpt.errors import UsageError
from nbckpt.verbs.parsing import parsed_line, parsed_request
from nbckpt.verbs.registry import VERBS, operations

FORK = r"write `%fork REF \[BRANCH\] \[name=expression …\]`"
UPDATE = r"write `%nbckpt update REF name=expression … \[--as STEP\]`"
LISTS = "; `%nbckpt log` lists the checkpoints"


def requested(op: str, request: dict[str, Any]) -> Any:
    verb, operation = operations()[op]
    return parsed_request(verb, operation, request)


@pytest.mark.parametrize(
    ("verb", "line", "message"),
    [
        ("fork", "k=5", f"^where from\\? {FORK}{LISTS}$"),
        ("fork", "k=5 m=6", f"^where from\\? {FORK}{LISTS}$"),
        ("fork", "train b c k=5", f"^'c' is one word too many: {FORK}$"),
        ("update", "k=5", f"^which checkpoint\\? {UPDATE}{LISTS}$"),
        ("update", "train foo k=1", f"^'foo' is one word too many: {UPDATE}$"),
        ("update", "train", f"^update 'train': give the values: {UPDATE}$"),
        ("rewind", "-x", "^'-x' is no option here: write `%rewind REF`$"),
        ("rewind", "--awaited a", "^'--awaited' is no option here: write `%rewind REF`$"),
        ("rerun", "--awaitedx a", "^'--awaitedx' is no option here: "
         r"write `%rerun \[REF\] \[--fresh\] \[--all\]`$"),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_read_is_one_sentence(verb: str, line: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parsed_line(VERBS[verb], line)


def test_options_stand_before_between_and_behind_words() -> None:
    for line in ("--delete train a b", "train a --delete b", "train a b --delete"):
        found = parsed_line(VERBS["tag"], line)
        assert (found.ref, found.tags, found.delete) == ("train", ["a", "b"], True)


def test_values_stand_behind_the_checkpoint_and_the_branch() -> None:
    found = parsed_line(VERBS["fork"], "train b k=5 xs=[1, 2]")

    assert (found.ref, found.branch) == ("train", "b")
    assert found.expressions == {"k": "5", "xs": "[1, 2]"}


@pytest.mark.parametrize(
    ("op", "members"),
    [("diff", {"a": "x", "b": 5}), ("checkpoint", {"name": " "}), ("checkpoint", {"name": 5}),
     ("rewind", {}), ("resume", {"branch": 5})],
)  # fmt: skip
def test_a_page_gives_texts(op: str, members: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="is missing: give a text"):
        requested(op, members)


def test_a_text_of_a_page_is_stripped() -> None:
    assert requested("checkpoint", {"name": " x "}).name == "x"


@pytest.mark.parametrize(
    ("line", "step", "text"),
    [
        ("load q='x --as y z'", None, "'x --as y z'"),
        ("load q='x --as y' --as use", "use", "'x --as y'"),
        ("load --as 'use' q='a'", "use", "'a'"),
    ],
)
def test_an_option_inside_a_text_is_a_part_of_it(line: str, step: str | None, text: str) -> None:
    parsed = parsed_line(VERBS["update"], line)

    assert parsed.as_step == step
    assert parsed.expressions == {"q": text}
