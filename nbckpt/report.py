"""What a store holds, as text for people.

The command line prints what this gives; so do the notebook's magics.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbckpt import lanes, randomness
from nbckpt.figures import age_text, bytes_text, count_text, duration_text
from nbckpt.model import Checkpoint, Variable
from nbckpt.tabular import Column, facts_text, indented, table_text
from nbckpt.timeline import Timeline

if TYPE_CHECKING:
    from nbckpt.storage.check import Report
    from nbckpt.storage.store import Store

__all__ = [
    "bytes_text",
    "check_text",
    "duration_text",
    "greeting",
    "listed",
    "log_text",
    "outputs_text",
    "show_text",
    "state_text",
    "status_text",
    "summary_of",
    "user_names",
]

CHECKPOINTS = (
    Column(""),
    Column("name"),
    Column("id"),
    Column("branch"),
    Column("made", right=True),
    Column("took", right=True),
    Column("size", right=True),
    Column("changed"),
    Column("remarks"),
)
VARIABLES = (
    Column(""),
    Column("name"),
    Column("type"),
    Column("shape", right=True),
    Column("size", right=True),
    Column("preview"),
)
HERE, DONE, FAILED, PARTIAL = "●", "○", "✗", "◌"
ID_LENGTH = 8
FEW = 4


def greeting(timeline: Timeline, branch: str, store: str) -> str:
    """The line that a notebook sees when it opens a store."""
    loops = timeline.unfinished(branch)[:1]
    stopped = "".join(f" · {c.name!r} stopped with {state_text(c)}" for c in loops)
    head = timeline.head(branch)
    if head is None:
        how = stopped or " · %%checkpoint NAME above a cell"
        return f"nbckpt: nothing kept yet in {_short_path(store)}{how}"
    count = count_text(timeline.count_ancestry(head.id), "checkpoint")
    age = age_text(time.time() - head.created_at)
    return f"nbckpt: {count} on {branch}, head {head.name!r} {age}{stopped} · %resume"


def summary_of(checkpoint: Checkpoint) -> str:
    """What a checkpoint added, in a few words."""
    names = user_names(checkpoint.changed)
    size = sum(checkpoint.changed[name].size_bytes for name in names)
    kept = f"{count_text(len(names), 'variable')} new or changed, {bytes_text(size)}"
    if not checkpoint.refused:
        return kept
    return f"{kept}; not kept: {'; '.join(map(str, checkpoint.refused))}"


def listed(timeline: Timeline, branch: str | None, limit: int | None = None) -> list[Checkpoint]:
    """The checkpoints that a log of `branch` shows, newest first; None means of all branches.

    With the finished ones stand those that failed or did not finish, as long as they are the
    newest of their name.

    Parameters
    ----------
    limit
        Show no more than this many; None: all.
    """
    return [timeline.checkpoints[i] for i in timeline.log(branch)[:limit]]


def log_text(
    timeline: Timeline,
    branch: str | None,
    position: str | None,
    *,
    limit: int | None = None,
    writing: Container[str] = frozenset(),
    now: float | None = None,
    width: int | None = None,
) -> str:
    """The checkpoints of a branch, or with None of all, newest first, and how they hang together.

    Parameters
    ----------
    position
        Id of the checkpoint that the session stands on, which gets a mark of its own.
    limit
        Show no more than this many, and say how many there are beside; None: all.
    writing
        Ids of those that are not durable yet, which is remarked.
    now
        Seconds since the epoch; by default those of the clock.
    width
        Characters that there is room for; None: no limit.
    """
    ids = timeline.log(branch)
    shown = [timeline.checkpoints[i] for i in ids[:limit]]
    if not shown:
        where = "" if branch is None else f" on branch {branch!r}"
        return f"no checkpoints{where} yet"
    heads = _heads(timeline)
    here = position or next(iter(heads), None)
    graph = lanes.drawn(shown, [_mark(c, here) for c in shown], trunk=here)
    at = time.time() if now is None else now
    rows = [
        (drawn, *_log_row(c, heads.get(c.id, ""), at, is_written=c.id not in writing))
        for drawn, c in zip(graph, shown, strict=True)
    ]
    older = len(ids) - len(shown)
    more = f"\n… and {older:,} older: `-n {len(ids)}` shows all" if older else ""
    return table_text(CHECKPOINTS, rows, width=width) + more


def _heads(timeline: Timeline) -> dict[str, str]:
    heads: dict[str, list[str]] = {}
    for branch, head in timeline.branches.items():
        heads.setdefault(head, []).append(branch)
    return {head: ", ".join(branches) for head, branches in heads.items()}


def _mark(checkpoint: Checkpoint, here: str | None) -> str:
    if checkpoint.state == "failed":
        return FAILED
    if checkpoint.state == "partial":
        return PARTIAL
    return HERE if checkpoint.id == here else DONE


def _log_row(
    checkpoint: Checkpoint, branches: str, now: float, *, is_written: bool
) -> tuple[str, ...]:
    names = user_names(checkpoint.changed)
    size = sum(checkpoint.changed[name].size_bytes for name in names)
    return (
        checkpoint.name,
        checkpoint.id[:ID_LENGTH],
        branches,
        age_text(now - checkpoint.created_at),
        duration_text(checkpoint.duration_s),
        bytes_text(size) if names else "",
        _changes(checkpoint),
        _remarks(checkpoint, is_written=is_written),
    )


def _changes(checkpoint: Checkpoint) -> str:
    names = [*user_names(checkpoint.changed), *(f"-{name}" for name in checkpoint.removed)]
    more = f" and {len(names) - FEW} more" if len(names) > FEW + 1 else ""
    return ", ".join(names[:FEW] if more else names) + more


def _remarks(checkpoint: Checkpoint, *, is_written: bool) -> str:
    parts = [state_text(checkpoint)] if checkpoint.state != "done" else []
    parts += [] if is_written else ["… being written"]
    parts += [f"#{tag}" for tag in checkpoint.tags]
    parts += [f"{count_text(len(checkpoint.refused), 'variable')} not kept"] * bool(
        checkpoint.refused
    )
    return "; ".join([*parts, *([checkpoint.note] if checkpoint.note else [])])


def state_text(checkpoint: Checkpoint) -> str:
    """`done`, `failed: ValueError: …` or `21 of 40 items done`."""
    if checkpoint.state == "failed":
        return f"failed: {checkpoint.error}" if checkpoint.error else "failed"
    if checkpoint.progress is None:
        return checkpoint.state
    _, done, total = checkpoint.progress
    return f"{done} of {total} items done" if total >= 0 else f"{count_text(done, 'item')} done"


def show_text(
    timeline: Timeline,
    checkpoint: Checkpoint,
    *,
    outputs: Sequence[Mapping[str, Any]] = (),
    now: float | None = None,
    width: int | None = None,
) -> str:
    """All that is known of one checkpoint.

    Parameters
    ----------
    outputs
        What its cell printed and showed, as it was recorded.
    now
        Seconds since the epoch; by default those of the clock.
    width
        Characters that there is room for; None: no limit.
    """
    manifest = timeline.manifest(checkpoint.id)
    rows = [
        _variable_row(manifest[name], changed=name in checkpoint.changed)
        for name in user_names(manifest)
    ]
    sections = {
        "code": indented(checkpoint.cell.source.rstrip()),
        "variables (* changed here)": indented(
            table_text(VARIABLES, rows, width=width and width - FEW) if rows else ""
        ),
        "gone": indented(", ".join(checkpoint.removed)),
        "not kept": indented("\n".join(map(str, checkpoint.refused))),
        "left out by choice": indented(", ".join(checkpoint.omitted)),
        "outputs": indented(outputs_text(outputs)),
    }
    at = time.time() if now is None else now
    facts = facts_text(_facts(timeline, checkpoint, at))
    return "\n\n".join([facts, *(f"{title}\n{text}" for title, text in sections.items() if text)])


def _facts(timeline: Timeline, checkpoint: Checkpoint, now: float) -> list[tuple[str, str]]:
    made = dt.datetime.fromtimestamp(checkpoint.created_at).astimezone()
    parent = timeline.checkpoints.get(checkpoint.parent or "")
    count = checkpoint.cell.execution_count
    return [
        ("name", checkpoint.name),
        ("id", checkpoint.id),
        ("state", state_text(checkpoint)),
        ("made", f"{made:%Y-%m-%d %H:%M:%S}, {age_text(now - checkpoint.created_at)}"),
        ("took", duration_text(checkpoint.duration_s)),
        ("branch", checkpoint.branch),
        ("parent", f"{parent.name} ({parent.id[:ID_LENGTH]})" if parent else ""),
        ("next", ", ".join(timeline.next_names(checkpoint.id))),
        ("notebook", checkpoint.notebook),
        ("cell", "" if count is None else f"In [{count}]"),
        ("tags", ", ".join(checkpoint.tags)),
        ("note", checkpoint.note),
    ]


def _variable_row(variable: Variable, *, changed: bool) -> tuple[str, ...]:
    return (
        "*" if changed else "",
        variable.name,
        variable.type_name + (" (made again by its statement)" if variable.recipe else ""),
        variable.shape or "",
        bytes_text(variable.size_bytes),
        variable.preview,
    )


def outputs_text(outputs: Sequence[Mapping[str, Any]]) -> str:
    """What a cell printed and showed, as far as it is text; of the rest, what it is."""
    return "\n".join(text.rstrip() for output in outputs if (text := _output_text(output)))


def _output_text(output: Mapping[str, Any]) -> str:
    if "stream" in output:
        return str(output["text"])
    shown = output.get("display") or output.get("result") or {}
    return str(shown.get("text/plain") or f"<{next(iter(shown), 'nothing')}>")


def status_text(
    store: Store, timeline: Timeline, branch: str, position: str | None, *, now: float | None = None
) -> str:
    """Where the session stands, and what its store holds."""
    at = time.time() if now is None else now
    head = timeline.head(branch)
    here = timeline.checkpoints.get(position or "")
    return facts_text(
        [
            ("store", _short_path(str(store.path))),
            ("holds", _holds(timeline)),
            ("branch", branch),
            ("head", f"{head.name} {age_text(at - head.created_at)}" if head else "none yet"),
            ("here", f"{here.name} ({here.id[:ID_LENGTH]})" if here else "at no checkpoint"),
            ("damaged", "\n".join(store.damages)),
        ]
    )


def _holds(timeline: Timeline) -> str:
    kept = count_text(len(timeline.checkpoints), "checkpoint")
    return f"{kept} on {count_text(len(timeline.branches), 'branch', 'branches')}"


def check_text(report: Report) -> str:
    """What was looked at in a store, and what is wrong with it."""
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
    return "\n".join([f"{verdict}: {looked_at}", *problems])


def user_names(names: Iterable[str]) -> list[str]:
    """Those of `names` that are variables of the user's, sorted."""
    return sorted(name for name in names if name not in randomness.NAMES)


def _short_path(path: str) -> str:
    """`path` from the working directory if it lies in it."""
    here = Path.cwd()
    return str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path
