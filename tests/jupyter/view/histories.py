"""Histories made up for the view: rows, status and answers as the kernel sends them."""

from __future__ import annotations

import random
import time
from typing import Any

NOW = time.time()
Row = dict[str, Any]


def row(identity: str, parent: str | None, name: str, **members: Any) -> Row:
    """A checkpoint that a cell made on `main`, except for `members`."""
    return {
        "id": identity,
        "parent": parent,
        "name": name,
        "branch": "main",
        "heads": [],
        "state": "done",
        "created_at": NOW - 3600,
        "duration_s": 1.25,
        "size_bytes": 4_100_000,
        "cost_usd": None,
        "calls": 0,
        "tags": [],
        "note": "",
        "changed": ["df"],
        "automatic": False,
        "made_by": "",
        "error": None,
        "progress": None,
        "notebook": "analysis",
        **members,
    }


def status(position: str | None, **members: Any) -> dict[str, Any]:
    """Where a session stands that runs nothing, except for `members`."""
    return {
        "store": ".nbckpt",
        "branch": "main",
        "position": position,
        "head": position,
        "busy": None,
        "now": NOW,
        **members,
    }


def small() -> list[Row]:
    """One of each: branches, states, labels; newest last."""
    day = 86_400
    return [
        row("a1", None, "load", created_at=NOW - 2 * day, duration_s=721.0, size_bytes=512_000_000),
        row("a2", "a1", "clean", created_at=NOW - 2 * day + 900, tags=["reviewed"], changed=["df", "mask"]),
        row("a3", "a2", "cell-7f3a", created_at=NOW - 2 * day + 950, automatic=True, size_bytes=12_300),
        row(
            "b1", "a2", "embed", branch="try-2", created_at=NOW - day, cost_usd=0.42, calls=120,
            duration_s=126.0, note="smaller chunks, other model",
        ),
        row("a4", "a3", "embed", created_at=NOW - 20_000, cost_usd=1.31, calls=240, duration_s=310.0),
        row("b2", "b1", "train", branch="try-2", created_at=NOW - 18_000, heads=["try-2"], duration_s=7300.0),
        row("c1", "a4", "fork", branch="k=5", created_at=NOW - 9_000, made_by="fork", size_bytes=310, duration_s=0.004),
        row(
            "c2", "c1", "train", branch="k=5", created_at=NOW - 8_000, heads=["k=5"], state="failed",
            error="ValueError: k must be smaller than the number of rows\n  <script>alert(1)</script>",
        ),
        row("a5", "a4", "train", created_at=NOW - 4_000, duration_s=5400.0, size_bytes=88_000_000),
        row("d1", "a4", "update", branch="hand", created_at=NOW - 3_000, made_by="update", heads=["hand"], size_bytes=2_000),
        row("a6", "a5", "evaluate <script>alert(1)</script>", created_at=NOW - 1_200, tags=["best", "paper"]),
        row(
            "a7", "a6", "summaries", created_at=NOW - 30, heads=["main"], state="partial",
            progress=[31, 50], cost_usd=0.0042, calls=31, duration_s=48.0,
        ),
    ]  # fmt: skip


def large(count: int, seed: int = 1) -> list[Row]:
    """`count` checkpoints on branches that come and go."""
    chance = random.Random(seed)
    rows: list[Row] = []
    tips: list[str | None] = [None]
    for number in range(count):
        identity = f"x{number:06d}"
        if len(tips) < 9 and rows and chance.random() < 0.06:
            tips.append(rows[max(0, number - chance.randrange(1, 30))]["id"])
        at = 0 if chance.random() < 0.5 else chance.randrange(len(tips))
        rows.append(
            row(identity, tips[at], f"step {number}", created_at=NOW - (count - number) * 60)
        )
        tips[at] = identity
        if len(tips) > 2 and chance.random() < 0.04:
            tips.pop(chance.randrange(1, len(tips)))
    return rows


def details(of: Row) -> dict[str, Any]:
    """What is known of `of`."""
    return {
        "row": of,
        "source": "%%checkpoint train\nmodel = fit(df, k=k)\nscores = [model.score(fold) for fold in folds]\nprint(len(scores), 'scores')",
        "execution_count": 12,
        "cell_id": "7f3a",
        "variables": [
            {"name": "model", "type_name": "KMeans", "shape": "", "size_bytes": 210_000, "changed": True, "recipe": False, "preview": "KMeans(n_clusters=5)"},
            {"name": "scores", "type_name": "list", "shape": "10", "size_bytes": 812, "changed": True, "recipe": False, "preview": "[0.81, 0.79, 0.83, 0.8, 0.77, 0.81, 0.82, 0.8, 0.79, 0.84]"},
            {"name": "html", "type_name": "str", "shape": "29", "size_bytes": 90, "changed": True, "recipe": False, "preview": "'<script>document.title=\"broken\"</script>'"},
            {"name": "df", "type_name": "DataFrame", "shape": [120_000, 14], "size_bytes": 88_000_000, "changed": False, "recipe": False, "preview": "id  text  price …"},
            {"name": "client", "type_name": "OpenAI", "shape": None, "size_bytes": None, "changed": False, "recipe": True, "preview": "client = OpenAI()"},
            {"name": "k", "type_name": "int", "shape": None, "size_bytes": 5, "changed": False, "recipe": False, "preview": "5"},
        ],
        "removed": ["tmp"],
        "refused": [{"variable": "socket", "path": "socket.raw", "type_name": "socket", "reason": "an open socket cannot be kept"}],
        "omitted": [],
        "outputs": [
            {"kind": "stream", "text": "\u001b[31m10\u001b[0m scores\n", "mime": "text/plain", "image": None},
            {"kind": "display", "text": "a plot", "mime": "image/png", "image": PNG},
            {"kind": "display", "text": "not a plot", "mime": "image/png", "image": "\"><script>document.title='broken'</script>"},
        ],
        "calls": [
            {"model": "gpt-5-mini", "input_tokens": 1200, "output_tokens": 310, "cost_usd": 0.0021, "duration_s": 1.9, "replayed": False},
            {"model": "gpt-5-mini", "input_tokens": 1180, "output_tokens": 290, "cost_usd": 0.0021, "duration_s": 0.003, "replayed": True},
        ],
        "next": ["evaluate", "summaries"],
        "joined": ["import math"],
        "parent": {"id": "a4", "name": "embed"},
    }  # fmt: skip


def difference(a: Row, b: Row) -> dict[str, Any]:
    """How `a` and `b` differ."""
    side = {"type_name": "int", "shape": None, "size_bytes": 5, "preview": "4"}
    sides = [
        {m: r[m] for m in ("id", "name", "branch", "created_at", "duration_s", "cost_usd")}
        for r in (a, b)
    ]
    return {
        "a": sides[0],
        "b": sides[1],
        "variables": [
            {"name": "df", "status": "changed", "a": {**side, "type_name": "DataFrame", "shape": [3, 2]}, "b": {**side, "type_name": "DataFrame", "shape": [4, 2]},
             "detail": {"kind": "frame", "summary": "1 row more, 2 cells changed", "rows": [["price[0]", "3.5", "<b>4.5</b>"], ["price[2]", "1.0", "1.5"]], "lines": [], "more": 12}},
            {"name": "prompt", "status": "changed", "a": {**side, "type_name": "str"}, "b": {**side, "type_name": "str"},
             "detail": {"kind": "text", "summary": "1 line changed", "rows": [], "lines": [{"sign": " ", "text": "You are a helpful reader."}, {"sign": "-", "text": "Answer in one word."}, {"sign": "+", "text": "Answer in one sentence."}], "more": 0}},
            {"name": "k", "status": "changed", "a": side, "b": {**side, "preview": "5"}, "detail": None},
            {"name": "model", "status": "added", "a": None, "b": {**side, "type_name": "KMeans", "preview": "KMeans(n_clusters=5)"}, "detail": None},
            {"name": "tmp", "status": "removed", "a": side, "b": None, "detail": None},
        ],
        "code": {"lines": [{"sign": "@", "text": "cell 3"}, {"sign": "-", "text": "k = 4"}, {"sign": "+", "text": "k = 5"}]},
        "outputs": {"lines": []},
        "same": 14,
    }  # fmt: skip


def rerun() -> dict[str, Any]:
    """What a rerun says."""
    return {
        "text": "reran 2 of 4 cells on branch 'main.2'",
        "branch": "main.2",
        "error": None,
        "cells": [
            {"name": "clean", "checkpoint_id": "a2", "state": "skipped", "why": "reads nothing that changed", "took_s": 0.0},
            {"name": "embed", "checkpoint_id": "a4", "state": "restored", "why": "same code, same values", "took_s": 0.004},
            {"name": "train", "checkpoint_id": "a5", "state": "run", "why": "k changed", "took_s": 61.0},
            {"name": "evaluate", "checkpoint_id": None, "state": "failed", "why": "ValueError: k", "took_s": 0.2},
            {"name": "summaries", "checkpoint_id": None, "state": "not reached", "why": "", "took_s": 0.0},
        ],
        "status": status("a5"),
    }  # fmt: skip


def answers(rows: list[Row]) -> dict[str, Any]:
    """An answer to each question."""
    return {
        "details": details(rows[-1]),
        "diff": difference(rows[0], rows[-1]),
        "rewind": {"text": "rewound to 'embed'; %rewind - goes back", "status": status("a4")},
        "fork": {"text": "forked 'embed' as 'try-3'", "status": status("a4", branch="try-3")},
        "rerun": rerun(),
        "switch": {"text": "on branch 'try-2'", "status": status("b2", branch="try-2")},
        "tag": {"text": "tagged", "status": status("a7")},
        "untag": {"text": "not tagged any more", "status": status("a7")},
        "note": {"text": "noted", "status": status("a7")},
        "history": variable_history(),
        "restore": {"text": "model is as it was at 'load' (a1)", "status": status("a7")},
    }


def variable_history() -> dict[str, Any]:
    """Two steps of a number, the older one of another user's markup."""
    known = {
        "branch": "main",
        "type_name": "int",
        "shape": "",
        "size_bytes": 5,
        "change": "changed",
    }
    return {
        "variable": "model",
        "measure": "value",
        "numbers": [3, None, 5],
        "older": 1,
        "points": [
            {**known, "checkpoint": "a5", "step": "train", "created_at": NOW - 60, "told": "5", "why": ["its cell made it"], "code": ["k = 5"], "difference": "3 → 5", "facts": {"head": [["x"], ["<b>1</b>"]]}},
            {**known, "checkpoint": "a1", "step": "load", "created_at": NOW - 600, "told": "<script>3</script>", "why": [], "code": [], "difference": "", "facts": {"series": [1, None, 2], "low": 1, "high": 2}},
        ],
    }  # fmt: skip


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
