"""Where a session stands, what its store holds, and whether it is sound."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from nbckpt.runtime import clock
from nbckpt.session.history.summaries import ID_LENGTH, state_text
from nbckpt.text.escape import lines_of
from nbckpt.text.units import age_text, bytes_text, count_text
from nbckpt.timeline.timeline import Timeline

if TYPE_CHECKING:
    from nbckpt.storage.check_report import Report
    from nbckpt.storage.repairing import Repaired
    from nbckpt.storage.store import Store

FEW = 8
"""Branches that a status names."""
CHECK = "next: `nbckpt check` reads every byte, and tells what else is damaged"
MEND = (
    "next: `nbckpt resume --fallback` brings back the newest checkpoint that is whole;"
    " `nbckpt check --repair` rebuilds what can be rebuilt; what is lost comes back from a copy of"
    " the store alone"
)


def greeting(timeline: Timeline, branch: str, store: str, *, notebook: str = "") -> str:
    """The line that a notebook sees when it opens a store.

    Parameters
    ----------
    notebook
        Its name: it may have gone back to look at something.
    """
    loops = timeline.unfinished(branch)[:1]
    stopped = "".join(f" · {c.name!r} stopped with {state_text(c)}" for c in loops)
    head = timeline.head(branch)
    if head is None:
        how = stopped or " · %%checkpoint NAME above a cell"
        return f"nbckpt: nothing kept yet in {_short_path(store)}{how}"
    count = count_text(timeline.count_ancestry(head.id), "checkpoint")
    age = age_text(clock.now() - head.created_at)
    look = timeline.look_of(branch, notebook)
    back = f" · gone back to {look.name!r}" if look is not None and look.id != head.id else ""
    return f"nbckpt: {count} on {branch}, head {head.name!r} {age}{back}{stopped} · %resume"


def strangers_text(store: Store) -> str:
    """Notice of untrusted records, which the store's user did not write; empty without any."""
    found = store.trust.untrusted()
    if not found.records:
        return ""
    many = count_text(found.checkpoints, "checkpoint")
    what = f"{many} here" if found.checkpoints else count_text(found.records, "record")
    is_one = (found.checkpoints or found.records) == 1
    was, them = ("was", "it") if is_one else ("were", "them")
    return (
        f"{what} {was} made by another user, or came from elsewhere: nothing of {them} is built"
        " before `nbckpt trust`; `nbckpt trust --show` lists the content"
    )


def status_text(
    store: Store, timeline: Timeline, branch: str, position: str | None, *, now: float | None = None
) -> str:
    """Where the session stands, and what its store holds."""
    from nbckpt.session.history.costs import ledger_of
    from nbckpt.text.tables import facts_text

    at = clock.now() if now is None else now
    head = timeline.head(branch)
    here = timeline.checkpoints.get(position or "")
    ledger = ledger_of(store, timeline)
    return facts_text(
        [
            ("store", _short_path(str(store.path))),
            ("holds", _holds(timeline)),
            ("models", ledger.total.text()),
            ("functions", ledger.kept.text()),
            ("branch", branch),
            ("head", f"{head.name} {age_text(at - head.created_at)}" if head else "none yet"),
            ("here", f"{here.name} ({here.id[:ID_LENGTH]})" if here else "at no checkpoint"),
            ("others", _others(timeline, branch, at)),
            ("asks", _asks(store)),
            ("untrusted", strangers_text(store)),
            ("damaged", [*store.damages, *([CHECK] if store.damages else [])]),
        ]
    )


def _asks(store: Store) -> list[str]:
    """The questions that wait for an answer, one a line."""
    from nbckpt.timeline.approvals import APPROVAL, Questions

    waiting = Questions(store.records(APPROVAL)).waiting
    lines = [f"{q.question} (`nbckpt answer {q.id} approve|refuse`)" for q in waiting]
    more = [f"… and {len(lines) - FEW} more"] if len(lines) > FEW else []
    return [*lines[:FEW], *more]


def _holds(timeline: Timeline) -> str:
    done = len(timeline.newest_first())
    undone = timeline.n_undone()
    more = f", and {undone:,} that failed or did not finish" if undone else ""
    branches = count_text(len(timeline.branches), "branch", "branches")
    return f"{count_text(done, 'checkpoint')} on {branches}{more}"


def _others(timeline: Timeline, branch: str, now: float) -> list[str]:
    """The other branches, each with its head, one a line, the newest first."""
    heads = {b: timeline.checkpoints[i] for b, i in timeline.branches.items() if b != branch}
    newest = sorted(heads, key=lambda b: heads[b].created_at, reverse=True)
    lines = [f"{b}, head {heads[b].name} {age_text(now - heads[b].created_at)}" for b in newest]
    more = [f"… and {len(lines) - FEW} more"] if len(lines) > FEW else []
    return [*lines[:FEW], *more]


def check_text(report: Report) -> str:
    """Verdict on a store: counts of the checked parts, and the problems found."""
    looked_at = ", ".join(
        [
            count_text(report.journals, "journal"),
            count_text(report.records, "record"),
            count_text(report.packs, "pack"),
            count_text(report.blobs, "blob"),
            count_text(report.tables, "table"),
            bytes_text(report.size_bytes),
        ]
    )
    problems = [str(problem) for problem in report.problems]
    verdict = "all sound" if report.ok else "damaged"
    return lines_of([f"{verdict}: {looked_at}", *problems, *([] if report.ok else [MEND])])


def repaired_text(repaired: Repaired) -> str:
    """Report of a repair: mended, lost and left parts, a line each."""
    lines = [f"mended: {told}" for told in repaired.mended] or ["nothing was to be mended"]
    lines += [f"lost: {told}" for told in repaired.lost]
    lines += [f"left: {told}" for told in repaired.left]
    if repaired.aside is not None:
        lines.append(f"what was damaged is in {repaired.aside}; delete it when you need it no more")
    return lines_of(lines)


def repaired_members(repaired: Repaired) -> dict[str, object]:
    """The same as JSON."""
    aside = None if repaired.aside is None else str(repaired.aside)
    return {**dataclasses.asdict(repaired), "aside": aside}


def _short_path(path: str) -> str:
    """`path` from the working directory if it lies in it."""
    here = Path.cwd()
    return str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path
