"""The table of the fidelity suite, made from its cases."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

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
"""


def table() -> str:
    """The whole table as Markdown."""
    return "\n".join([_INTRODUCTION, *map(_section, modules())])


def _section(module: str) -> str:
    rows: dict[tuple[str, str, str], int] = Counter(
        _row(case) for case in cases_of(module).values()
    )
    lines = [f"## {title_of(module)}", "", "| value | comes back | |", "| --- | --- | --- |"]
    for (name, outcome, note), count in rows.items():
        counted = f"{name} ({count} cases)" if count > 1 else name
        lines.append(f"| {counted} | {outcome} | {note} |")
    return "\n".join([*lines, ""])


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
