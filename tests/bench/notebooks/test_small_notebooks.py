"""Small notebooks run twice and held against a plain run: a sample, and how they are judged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.bench.small_notebooks import NOTEBOOKS
from tests.bench.small_notebooks.judging import BAD, judged
from tests.bench.small_notebooks.notebook import Category, SmallNotebook
from tests.running import environment

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="each notebook runs in forks")

SAMPLE = 50
"""Of so many notebooks about one is played."""

KNOWN: frozenset[tuple[str, str]] = frozenset()
"""Notebook and phase of what is judged bad today. The set only shrinks."""


ONCE_BAD = (
    "exceptions/edited-half-way-*",
    "attachments/*-urllib-opener", "attachments/edited-import-hook", "dead ends/torch-graph*",
    "definitions/edited-getcomments", "definitions/edited-numba-free-ufunc",
    "opaque state/*-numpy-interface", "outputs/unchanged-ipython-display",
    "outputs/unchanged-repr-that-prints", "process state/*-displayhook",
)  # fmt: skip
"""What a play of all has found to be bad: each is played."""


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict[str, str]]:
    """What nbckpt makes of the sample, by notebook and phase."""
    out = tmp_path_factory.mktemp("small") / "verdicts.jsonl"
    rows = played(out, "--mode", "skip", "--every", str(SAMPLE))
    return {(row["key"], row["phase"]): row for row in rows}


def played(out: Path, *arguments: str) -> list[dict[str, str]]:
    """The verdicts of some notebooks."""
    command = [sys.executable, "-m", "tests.bench.small_notebooks", *arguments]
    command += ["--json", str(out), "--table"]
    subprocess.run(command, env=environment(), capture_output=True, timeout=280, check=False)
    return [json.loads(line) for line in out.read_text().splitlines()]


@pytest.mark.exhaustive
def test_what_was_bad_once_is_right(tmp_path: Path) -> None:
    rows = played(tmp_path / "verdicts.jsonl", *(a for glob in ONCE_BAD for a in ("--only", glob)))

    assert [row for row in rows if row["verdict"] in BAD] == []
    assert len(rows) > 4 * len(ONCE_BAD)


@pytest.mark.slow
def test_nothing_of_the_sample_comes_back_stale_or_ends_dead(
    verdicts: dict[tuple[str, str], dict[str, str]],
) -> None:
    bad = {key: row["why"] for key, row in verdicts.items() if row["verdict"] in BAD}

    assert {key: why for key, why in bad.items() if key not in KNOWN} == {}


@pytest.mark.slow
def test_what_is_known_to_be_bad_still_is(
    verdicts: dict[tuple[str, str], dict[str, str]],
) -> None:
    assert {key for key in KNOWN if verdicts[key]["verdict"] not in BAD} == set()


def test_there_are_five_hundred_notebooks_of_every_category() -> None:
    categories = {notebook.category for notebook in NOTEBOOKS.values()}

    assert len(NOTEBOOKS) >= 500
    assert len(categories) == 15


# -- how they are judged


def _notebook(edited: str = "y = 2") -> SmallNotebook:
    return SmallNotebook("c", "n", ("x = 1", "y = 1"), ("x = 1", edited))


def _answer(probe: str = "1", **last: Any) -> dict[str, Any]:
    cell = {"error": "", "outputs": [], "said": [], "restored": True, "why": []}
    cells = [{"id": "cell-0", **cell}, {"id": "cell-1", **cell, **last}]
    return {"first": [], "cells": cells, "probe": probe, "first_probe": probe}


@pytest.mark.parametrize(
    ("kept", "verdict"),
    [
        (_answer(), "right, restored"),
        (_answer(restored=False, why=["code"]), "right, ran"),
        (_answer(probe="0"), "WRONG"),
        (_answer(outputs=[{"kind": "stream", "text": "a"}]), "WRONG"),
        (_answer(error="NameError: name 'f' is not defined"), "dead end"),
        (_answer(error="RestoreError: cannot"), "refused"),
        ({"crash": "hangs"}, "dead end"),
    ],
)
def test_a_verdict_holds_what_was_kept_against_a_plain_run(
    kept: dict[str, Any], verdict: str
) -> None:
    answers = {("plain", "live"): _answer(restored=False), ("skip", "live"): kept}

    assert judged(_notebook(), "skip", "live", answers).verdict == verdict


def test_an_unchanged_cell_that_ran_is_a_needless_run() -> None:
    answers = {
        ("plain", "live"): _answer(),
        ("skip", "live"): _answer(restored=False, why=["input 'x' has another value"]),
    }

    judgement = judged(_notebook(edited="y = 1"), "skip", "live", answers)

    assert judgement.verdict == "needless run"
    assert "input 'x'" in judgement.why


def test_an_edit_that_changes_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="stands 2 times"):
        Category("c").edit("n", "x = 1\n---\ny = 1", "1", "2")


def test_each_key_is_one_notebook(tmp_path: Path) -> None:
    assert all(key == notebook.key for key, notebook in NOTEBOOKS.items())
