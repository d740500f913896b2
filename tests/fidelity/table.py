"""The table of the fidelity suite, made from its cases."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.fidelity import peers
from tests.fidelity.cases import Case, cases_of, modules, title_of

TABLE = Path(__file__).parent / "FIDELITY.md"

_INTRODUCTION = """\
# What comes back, type by type

Each line is a test: the value is kept, lost and brought back in one process, and brought back in a
second one that never made it; then it is compared deeply, and so is the digest that keys stand on.
`python -m tests.fidelity` writes this table from the cases.

- **exact**: it comes back as it was.
- **recipe**: the statement that made it runs again.
- **refused**: it is named, with the reason and the next move; everything else is kept.

The last columns are {versions}, which write all variables of the same case at
once in one process and load them in another; the same check compares. **no**: it cannot be written.
**late**: it is written, and does not load. **differs**: it loads, and the check tells it apart:
another value, an attribute that is gone, memory that is not shared any more or lies in another order.
`python -m tests.fidelity.peers` finds that out again.
"""

_WORDS = {"right": "right", "refused": "no", "does not load": "late", "wrong": "differs"}


def table() -> str:
    """The whole table as Markdown."""
    return "\n".join(
        [_INTRODUCTION.format(versions=peers.versions()), _summary(), *map(_section, modules())]
    )


def _summary() -> str:
    """The number of cases that come back with each."""
    cases = [(module, case) for module in modules() for case in cases_of(module).values()]
    told = [peers.told_of(module, case.name) for module, case in cases]
    tried = [(case, found) for (_, case), found in zip(cases, told, strict=True) if all(found)]
    kept = sum(case.outcome != "refused" for case, _ in tried)
    lines = [
        f"| of {len(tried)} cases | right | cannot be written | does not load | differs |",
        "| --- | --- | --- | --- | --- |",
        f"| nbckpt | {kept} | {len(tried) - kept} | 0 | 0 |",
    ]
    for n, peer in enumerate(peers.PEERS):
        found = Counter(one[n] for _, one in tried)
        counts = " | ".join(str(found[word]) for word in _WORDS)
        lines.append(f"| {peer} | {counts} |")
    return "\n".join([*lines, ""])


def _section(module: str) -> str:
    rows: dict[tuple[str, str, str], list[tuple[str, ...]]] = {}
    for case in cases_of(module).values():
        rows.setdefault(_row(case), []).append(peers.told_of(module, case.name))
    heads = ["value", "comes back", "", *peers.PEERS]
    lines = [f"## {title_of(module)}", "", _line(heads), _line(["---"] * len(heads))]
    for (name, outcome, note), told in rows.items():
        counted = f"{name} ({len(told)} cases)" if len(told) > 1 else name
        lines.append(_line([counted, outcome, note, *map(_together, zip(*told, strict=True))]))
    return "\n".join([*lines, ""])


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("  ", " ")


def _together(found: tuple[str, ...]) -> str:
    """The findings of the cases of one row, counted."""
    counts = Counter(_WORDS.get(one, "") for one in found)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{n} {word}" for word, n in counts.most_common() if word)


def _row(case: Case) -> tuple[str, str, str]:
    notes = [case.note]
    if case.outcome == "refused":
        notes.insert(0, f"“… {case.reason} …”")
    if case.outcome != "refused" and not case.told:
        always = "always runs" if case.told is False else "may run again"
        notes.append(f"a cell that reads it {always}")
    note = "; ".join(n for n in notes if n)
    return _plain(case.part_of or case.name), case.outcome, _plain(note)


def _plain(text: str) -> str:
    return text.replace("|", "\\|")
