"""What came of real notebooks, as Markdown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from tests.bench.notebooks.trials import Trial

WRONG = ("output", "variable", "ending")
PER_CELL_S = 0.010
_GIVES = re.compile(r"^it changes (the )?callbacks of ")
"""Why a cell runs again by design."""


def document(trials: Sequence[Trial]) -> str:
    """A table with one line a notebook, sums, and every finding."""
    used = [trial for trial in trials if not trial.unusable]
    lines = ["# Real notebooks", "", *_table(used), "", *_sums(used), "", "## Findings", ""]
    for trial in used:
        if trial.findings:
            lines += [f"### {trial.name}", ""]
            lines += [f"- {f.phase}, {f.kind}: {f.where}: {f.what}" for f in trial.findings]
            lines.append("")
    lines += ["## Not used", ""]
    lines += [f"- {trial.name}: {trial.unusable}" for trial in trials if trial.unusable]
    return "\n".join(lines) + "\n"


def _table(trials: Sequence[Trial]) -> list[str]:
    head = (
        "| notebook | cells | restored | needless | wrong outputs | wrong variables | endings "
        "| absent | not compared | plain s | first s | second s | plain CPU s | second CPU s |"
    )
    rows = [head, "|" + " --- |" * 14]
    for t in trials:
        counts = [
            len(t.of_kind(kind)) for kind in ("needless", "output", "variable", "ending", "absent")
        ]
        rows.append(
            f"| {t.name} | {t.cells} | {t.restored} | {' | '.join(map(str, counts))} "
            f"| {t.not_compared} | {t.plain_s:.2f} | {t.first_s:.2f} | {t.second_s:.2f} "
            f"| {t.plain_cpu_s:.2f} | {t.second_cpu_s:.2f} |"
        )
    return rows


def _sums(trials: Sequence[Trial]) -> list[str]:
    cells = sum(t.cells for t in trials)
    again = [f for t in trials for f in t.of_kind("needless") if f.phase == "again"]
    needless = [f for f in again if not _GIVES.search(f.what)]
    slow = [t.name for t in trials if t.second_s > t.plain_s + PER_CELL_S * t.cells]
    busy = [t.name for t in trials if t.second_cpu_s > t.plain_cpu_s + PER_CELL_S * t.cells]
    reasons = Counter(_kind_of(f.what) for f in needless)
    givers = len(again) - len(needless)
    share = 100 * len(needless) / (cells - givers) if cells > givers else 0.0
    clean = sum(not t.of_kind(*WRONG) for t in trials)
    return [
        f"{len(trials)} notebooks, {cells} cells; {clean} without a wrong output, variable or end.",
        f"Ran again though unchanged: {len(needless)} cells, {share:.1f} %, beside {givers} that "
        "give a widget its callbacks, which their cells make.",
        *(f"- {count} x {reason}" for reason, count in reasons.most_common()),
        f"Restored slower than run plus 10 ms a cell: {', '.join(slow) or 'none'}.",
        f"The same by the processor's time: {', '.join(busy) or 'none'}.",
    ]


def _kind_of(reason: str) -> str:
    """A reason without the names in it."""
    parts = reason.split("; ")
    quoted = parts[0].split("'")
    return "'…'".join(quoted[::2])
