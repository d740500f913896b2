"""The runbook quotes what the code says, and names commands that there are."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import nbckpt
import nbckpt.cli  # declares commands
from nbckpt.config.setting_kinds import NAMES
from nbckpt.verbs.arguments import Door
from nbckpt.verbs.registry import verbs_at

PACKAGE = Path(nbckpt.__file__).parent
RUNBOOK = PACKAGE / "RUNBOOK.md"
QUOTED = [line[2:] for line in RUNBOOK.read_text().splitlines() if line.startswith("> ")]


@cache
def said() -> str:
    """All texts that the code can say, those of one expression joined."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                parts = (p.value if isinstance(p, ast.Constant) else "\0" for p in node.values)
                found.append("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return "\n".join(found)


@pytest.mark.parametrize("message", QUOTED)
def test_a_message_that_is_quoted_is_one_of_the_codes(message: str) -> None:
    pieces = [piece.strip() for piece in re.split(r"…|format\.json", message)]

    missing = [piece for piece in pieces if len(piece) > 4 and piece not in said()]

    assert not missing
    assert any(len(piece) > 6 for piece in pieces)


def test_every_command_of_the_runbook_can_be_typed(shell: Any) -> None:
    text = RUNBOOK.read_text()
    verbs = {verb.name for verb in verbs_at(Door.TERMINAL)}
    words = {verb.name for verb in verbs_at(Door.NOTEBOOK)}

    typed = set(
        re.findall(r"`nbckpt ([a-z]+)|^nbckpt ([a-z]+)|-m nbckpt ([a-z]+)", text, re.MULTILINE)
    )
    magics = set(re.findall(r"`%nbckpt ([a-z]+)", text))

    assert {next(filter(None, found)) for found in typed} <= verbs
    assert magics <= words
    assert len(typed) > 8


def test_every_setting_of_the_runbook_can_be_set() -> None:
    named = set(re.findall(r"nbckpt config ([a-z_]+)", RUNBOOK.read_text()))

    assert named <= set(NAMES)
    assert len(named) > 5


def test_the_runbook_goes_with_the_package_and_is_found_from_its_front_page() -> None:
    root = PACKAGE.parent

    assert "nbckpt/RUNBOOK.md" in (root / "README.md").read_text()
