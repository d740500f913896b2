"""Uses the public API as a typed caller would; mypy reads it, nothing runs it."""

from __future__ import annotations

from collections.abc import Mapping

import nbckpt
from nbckpt.model import Variable
from nbckpt.moves import Moved


def embed(docs: list[str]) -> list[int]:
    vectors: list[int] = []
    with nbckpt.checkpoint("embed", vars=["vectors"], tags=["slow"], sync=True) as step:
        if step.todo:
            for doc in step.track(docs):
                words = doc.split()
                vectors.append(len(words))
    return vectors


def look() -> float:
    session: nbckpt.Session = nbckpt.open(".nbckpt", namespace=globals(), notebook="train")
    session.checkpoint("start", exclude=["big"], note="before")
    newest = nbckpt.history()[0]
    variables: Mapping[str, Variable] = newest.variables
    values: Mapping[str, object] = nbckpt.get("embed").values
    names: tuple[str, ...] = newest.next
    moved: Moved = nbckpt.rewind("embed")
    nbckpt.resume("main")
    nbckpt.wait(timeout_s=5)
    nbckpt.sql("select 1").fetchall()
    kept = len(variables) + len(values) + len(names) + len(moved.came_back)
    return newest.created_at.timestamp() + newest.duration_s + kept
