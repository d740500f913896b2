"""Verdicts on small notebooks: what nbckpt did, held against a plain run."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from nbckpt import errors
from tests.bench.small_notebooks.notebook import SmallNotebook
from tests.bench.small_notebooks.playing import is_marked

VERDICTS = (
    "right, restored", "right, ran", "needless run", "WRONG", "dead end", "refused", "flawed",
)  # fmt: skip
"""Of these `flawed` is the notebook's own: it hangs or dies without nbckpt."""
BAD = frozenset({"WRONG", "dead end", "flawed"})

_OWN_ERRORS = tuple(name for name, _ in inspect.getmembers(errors, inspect.isclass))


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of one notebook in one mode and phase.

    Attributes
    ----------
    verdict
        One of `VERDICTS`.
    why
        What differs, or why a cell ran.
    """

    key: str
    mode: str
    phase: str
    verdict: str
    why: str = ""


def judged(
    notebook: SmallNotebook, mode: str, phase: str, answers: dict[tuple[str, str], dict[str, Any]]
) -> Judgement:
    """The verdict on one phase."""
    plain, kept = answers["plain", phase], answers[mode, phase]
    verdict, why = _verdict(notebook, mode, phase, plain, kept)
    return Judgement(notebook.key, mode, phase, verdict, why)


def _verdict(
    notebook: SmallNotebook, mode: str, phase: str, plain: dict[str, Any], kept: dict[str, Any]
) -> tuple[str, str]:
    if "crash" in plain:
        return "flawed", plain["crash"]
    if "crash" in kept:
        return "dead end", kept["crash"]
    for number, (want, got) in enumerate(zip(plain["cells"], kept["cells"], strict=True)):
        if got["error"] and got["error"] != want["error"]:
            kind = "refused" if got["error"].startswith(_OWN_ERRORS) else "dead end"
            return kind, f"cell {number}: {got['error']}"
    if kept["probe"] != plain["probe"]:
        said = " ".join(s for cell in kept["cells"] for s in cell["said"] if "not " in s)
        why = f"{kept['probe'][:150]} instead of {plain['probe'][:150]}"
        return "WRONG", f"{why} [{said[:200]}]" if said else why
    firsts = [("first run, ", p, k) for p, k in zip(plain["first"], kept["first"], strict=True)]
    lasts = [("", p, k) for p, k in zip(plain["cells"], kept["cells"], strict=True)]
    for when, want, got in [*firsts, *lasts]:
        if want["outputs"] != got["outputs"] or want["error"] != got["error"]:
            return "WRONG", f"{when}output of {want['id']}: {_differing(want, got)}"
    return _right(notebook, mode, kept["cells"])


def complaints(notebook: SmallNotebook, plain: dict[str, Any]) -> list[str]:
    """What speaks against a notebook itself: it raises, or its edit makes no difference."""
    if "crash" in plain:
        return [plain["crash"]]
    found = [
        f"{when} {cell['id']}: {cell['error']}"
        for when, cells in (("first", plain["first"]), ("second", plain["cells"]))
        for cell in cells
        if cell["error"]
    ]
    if plain["probe"].startswith("raises "):
        found.append(f"its probe {plain['probe']}")
    is_deciding = notebook.cells[:-1] != notebook.edited[:-1] or notebook.outside
    before = plain["first_probe"], plain["first"][-1]["outputs"]
    is_same = before == (plain["probe"], plain["cells"][-1]["outputs"])
    if is_deciding and is_same and notebook.is_last_affected:
        found.append("its second version does what the first did")
    return found


def _right(notebook: SmallNotebook, mode: str, cells: list[dict[str, Any]]) -> tuple[str, str]:
    followed = [
        n
        for n, source in enumerate(notebook.edited)
        if (mode == "skip" or is_marked(notebook, n)) and not _is_empty(source)
    ]
    same_until = next(
        (n for n, (a, b) in enumerate(zip(notebook.cells, notebook.edited, strict=True)) if a != b),
        0 if notebook.outside else len(cells),
    )
    expected = [n for n in followed if n < same_until]
    if not notebook.is_last_affected and len(cells) - 1 in followed:
        expected.append(len(cells) - 1)
    ran = {n: "; ".join(cells[n]["why"]) for n in expected if not cells[n]["restored"]}
    ran = {n: why for n, why in ran.items() if not cells[n]["error"]}
    if ran:
        return "needless run", " | ".join(f"cell {n}: {why[:120]}" for n, why in ran.items())
    last = cells[-1]
    if last["restored"]:
        return "right, restored", ""
    return "right, ran", "; ".join(last["why"])


def _is_empty(source: str) -> bool:
    """Whether a cell has no statement: it is no step then."""
    return all(line.lstrip().startswith("#") or not line.strip() for line in source.splitlines())


def _differing(want: dict[str, Any], got: dict[str, Any]) -> str:
    return f"{got['outputs'] or got['error']!r:.300} instead of {want['outputs'] or want['error']!r:.300}"
