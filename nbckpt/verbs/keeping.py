"""Marks on checkpoints, retention and settings: tag, note, prune, config."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from nbckpt.steps import current_session
from nbckpt.verbs.arguments import (
    BRANCH,
    OF_NOTEBOOK,
    OF_STORE,
    REF,
    SETTING,
    TAG,
    Door,
    argument,
    count,
    days,
    flag,
)
from nbckpt.verbs.calls import Answer, Call
from nbckpt.verbs.registry import WRITES, Operation, at, declare

if TYPE_CHECKING:
    from nbckpt.config.settings import Row, Settings
    from nbckpt.model import Checkpoint
    from nbckpt.session.checkpoint_view import Look
    from nbckpt.storage.pruning import Pruned
    from nbckpt.timeline.prune_retention import Retention


def tag(ref: str | Look, *tags: str, delete: bool = False) -> Look:
    """The checkpoint `ref` with these tags, or with `delete` without them.

    Raises
    ------
    CheckpointNotFoundError
        If there is none.
    UsageError
        If a tag is none, or one to delete is not there.
    """
    from nbckpt.session.checkpoint_view import Look, ref_of

    session = current_session.session()
    return Look(session, session.tag(ref_of(ref), *tags, delete=delete))


@declare(
    "tag",
    "give a checkpoint tags, or take them away",
    REF,
    argument("tags", metavar="TAG", nargs="+", names=TAG, request="tag"),
    flag("--delete", help="take them away"),
    *OF_NOTEBOOK,
    function=tag,
    panel=(WRITES, Operation("untag", writes=True, fixed={"delete": True})),
    writes=True,
)
def _tag(call: Call) -> Answer:
    from nbckpt.reports.marks import tagged_text

    asked = call.arguments
    made = call.session.tag(asked.ref, *asked.tags, delete=asked.delete)
    return Answer(
        lambda: tagged_text(made, asked.tags, delete=asked.delete), lambda: _record(call, made)
    )


def _record(call: Call, checkpoint: Checkpoint) -> dict[str, object]:
    from nbckpt.reports import json_output

    return json_output.of_checkpoint(call.session.timeline, checkpoint)


def note(ref: str | Look, text: str) -> Look:
    """The checkpoint `ref` with another note; an empty text takes it away.

    Raises
    ------
    CheckpointNotFoundError
        If there is none.
    """
    from nbckpt.session.checkpoint_view import Look, ref_of

    session = current_session.session()
    return Look(session, session.note(ref_of(ref), text))


@declare(
    "note",
    "give a checkpoint another note",
    REF,
    argument(
        "text",
        metavar="TEXT",
        nargs="*",
        help="nothing takes the note away",
        request="note",
        is_rest=True,
    ),
    *OF_NOTEBOOK,
    function=note,
    panel=WRITES,
    writes=True,
    usage="REF TEXT",
)
def _note(call: Call) -> Answer:
    from nbckpt.reports.marks import noted_text

    made = call.session.note(call.arguments.ref, call.arguments.text)
    return Answer(lambda: noted_text(made), lambda: _record(call, made))


def prune(
    keep_last: int | None = None,
    keep_days: float | None = None,
    keep_tagged: bool = True,
    max_size: int | str | None = None,
    drop: Iterable[str] = (),
    recordings: bool | float | None = None,
    forget: Iterable[str] = (),
    dry_run: bool = False,
) -> Pruned:
    """Remove what no head, no tag and no rule keeps from the store; return what was removed.

    Without any rule those of the settings count, if there are any.

    Parameters
    ----------
    keep_last
        Number of the newest checkpoints of each branch that stay.
    keep_days
        Age in days below which checkpoints stay.
    max_size
        The oldest go until the store is no larger: bytes, or a text such as ``"2GB"``.
    drop
        Branches to give up.
    recordings
        True: model calls and kept calls of steps that have no checkpoint left go too; a number:
        those of them that are older than that many days. What was paid for stays otherwise.
    forget
        Tags of model calls that go, whatever step they belong to.
    dry_run
        Only report.

    Raises
    ------
    UsageError
        If a number means nothing, or a branch to drop is not there.
    StoreError
        If another prune runs, or the disk refuses.
    """
    from nbckpt.session.maintenance import prune_request as pruning

    session = current_session.session()
    retention = pruning.asked(
        session.settings,
        keep_last=keep_last,
        keep_days=keep_days,
        keep_tagged=keep_tagged,
        max_size=max_size,
        drop=_several(drop),
        recordings=recordings,
        forget=_several(forget),
    )
    return pruning.prune(session, retention, dry_run=dry_run)


@declare(
    "prune",
    "remove old checkpoints, and free the disk",
    argument(
        "--keep-last", metavar="N", type=count, help="keep the N newest checkpoints of each branch"
    ),
    argument("--keep-days", metavar="D", type=days, help="keep those of the last D days"),
    argument(
        "--keep-tagged",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="keep what has a tag",
    ),
    argument("--max-size", metavar="S", help="remove the oldest until the store is no larger: 2GB"),
    argument(
        "--drop",
        metavar="BRANCH",
        action="append",
        default=[],
        names=BRANCH,
        help="give this branch up; may be given again",
    ),
    argument(
        "--recordings",
        metavar="AGE",
        nargs="?",
        const=0.0,
        type=days,
        help="also model calls and kept calls of steps without a checkpoint; with AGE only older",
    ),
    argument(
        "--forget",
        metavar="TAG",
        action="append",
        default=[],
        help="also model calls with this tag; may be given again",
    ),
    flag("--dry-run", help="only say what would be removed"),
    *OF_STORE,
    function=prune,
    more="""\
Without options: by the settings retention_count, retention_days and max_size, if there are any;
and in any case bytes that no checkpoint names. What a head, a tag or a kept checkpoint needs
stays; what others no longer need is freed, also while notebooks run.

What was paid for stays: model calls and kept calls go only with --recordings or --forget.

  nbckpt prune --keep-last 20 --keep-days 30 --dry-run
  nbckpt prune --max-size 2GB""",
)
def _prune(call: Call) -> Answer:
    from nbckpt.session.maintenance import prune_request as pruning

    retention = _retention(call, call.session.settings)
    return _pruned(pruning.prune(call.session, retention, dry_run=call.arguments.dry_run))


@at(Door.TERMINAL, "prune")
def _prune_store(call: Call) -> Answer:
    from nbckpt.config.settings_sources import settings_of
    from nbckpt.session.maintenance import prune_request as pruning

    settings = settings_of(call.store)
    for problem in settings.problems:
        call.warn(problem)
    retention = _retention(call, settings)
    return _pruned(pruning.prune_store(call.store, retention, dry_run=call.arguments.dry_run))


def _retention(call: Call, settings: Settings) -> Retention:
    """The retention that the arguments ask for."""
    from nbckpt.session.maintenance import prune_request as pruning

    asked = call.arguments
    return pruning.asked(
        settings,
        keep_last=asked.keep_last,
        keep_days=asked.keep_days,
        keep_tagged=asked.keep_tagged,
        max_size=asked.max_size,
        drop=tuple(asked.drop),
        recordings=asked.recordings,
        forget=tuple(asked.forget),
    )


def _pruned(done: Pruned) -> Answer:
    from nbckpt.session.maintenance import prune_request as pruning

    return Answer(lambda: pruning.text_of(done), lambda: pruning.as_record(done))


def _several(names: object) -> tuple[Any, ...]:
    """Names as they were given: one, or several."""
    return tuple(names) if isinstance(names, Iterable) and not isinstance(names, str) else (names,)


@declare(
    "config",
    "the settings of a store; and set one",
    argument("name", metavar="NAME", nargs="?", names=SETTING),
    argument(
        "value", metavar="VALUE", nargs="*", help="`default` forgets what was set", is_rest=True
    ),
    *OF_STORE,
)
def _config(call: Call) -> Answer:
    from nbckpt.config.settings_sources import settings_of

    answer = _configured(call)
    call.session.settings = settings_of(call.store)
    return answer


@at(Door.TERMINAL, "config")
def _config_store(call: Call) -> Answer:
    from nbckpt.config.settings_sources import settings_of

    answer = _configured(call)
    for problem in settings_of(call.store).problems:
        call.warn(problem)
    return answer


def _configured(call: Call) -> Answer:
    from nbckpt.session.maintenance import settings

    rows: list[Row] = settings.configured(call.store, call.arguments.name, call.arguments.value)
    return Answer(
        lambda: settings.text_of(rows, width=call.width), lambda: [row._asdict() for row in rows]
    )
