"""The verbs about what is kept: tag, note, prune, cost, config."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from nbckpt.cli import parsing
from nbckpt.cli.parsing import existing_store, writing_session
from nbckpt.cli.showing import DONE, print_json, say, tell_problems, width

_PRUNE = """\
Without options: by the settings retention_count, retention_days and max_size, if there are any;
and in any case bytes that no checkpoint names. What a head, a tag or a kept checkpoint needs
stays; what others no longer need is freed, also while notebooks run.

What was paid for stays: model calls and kept calls go only with --recordings or --forget.

  nbckpt prune --keep-last 20 --keep-days 30 --dry-run
  nbckpt prune --max-size 2GB"""


_COST = """\
Each recording keeps the price that it was made with; --recompute writes the prices of today beside
them, those of the setting `prices` first, and the newest count.

  nbckpt config prices "my-model=0.5/1.5"
  nbckpt cost --recompute"""


def add(verbs: Any) -> None:
    """Declare the verbs of this room."""
    tag = parsing.verb(verbs, "tag", _tag, "give a checkpoint tags, or take them away")
    parsing.takes_ref(tag)
    tag.add_argument("tags", metavar="TAG", nargs="+")
    tag.add_argument("--delete", action="store_true", help="take them away")
    note = parsing.verb(verbs, "note", _note, "give a checkpoint another note")
    parsing.takes_ref(note)
    note.add_argument("text", metavar="TEXT", nargs="*", help="nothing takes the note away")
    prune = parsing.verb(
        verbs, "prune", _prune, "remove old checkpoints, and free the disk", _PRUNE
    )
    _add_prune_options(prune)
    cost = parsing.verb(verbs, "cost", _cost, "what model calls have cost, by model", _COST)
    cost.add_argument(
        "--recompute", action="store_true", help="price all of them by the prices known today"
    )
    config = parsing.verb(verbs, "config", _config, "the settings of a store; and set one")
    config.add_argument("name", metavar="NAME", nargs="?")
    config.add_argument("value", metavar="VALUE", nargs="*", help="`default` forgets what was set")
    for parser in (tag, note, prune, cost, config):
        parsing.takes_store(parser)
        parsing.takes_json(parser)
    for parser in (tag, note):
        parsing.takes_notebook(parser)


def _add_prune_options(parser: argparse.ArgumentParser) -> None:
    from nbckpt.session.maintenance import prune as pruning

    pruning.add_options(parser)


def _tag(arguments: argparse.Namespace) -> int:
    from nbckpt import reports
    from nbckpt.reports import json_output

    with writing_session(arguments) as session:
        tags, delete = arguments.tags, arguments.delete
        checkpoint = session.tag(arguments.ref, *tags, delete=delete)
    if arguments.json:
        print_json(json_output.of_checkpoint(session.timeline, checkpoint))
    else:
        say(reports.tagged_text(checkpoint, tags, delete=delete))
    return DONE


def _note(arguments: argparse.Namespace) -> int:
    from nbckpt import reports
    from nbckpt.reports import json_output

    with writing_session(arguments) as session:
        checkpoint = session.note(arguments.ref, " ".join(arguments.text))
    if arguments.json:
        print_json(json_output.of_checkpoint(session.timeline, checkpoint))
    else:
        say(reports.noted_text(checkpoint))
    return DONE


def _prune(arguments: argparse.Namespace) -> int:
    from nbckpt.config.sources import settings_of
    from nbckpt.session.maintenance import prune as pruning

    store = existing_store(arguments)
    try:
        settings = settings_of(store)
        tell_problems(settings)
        retention = pruning.retention_of(arguments, settings)
        pruned = pruning.prune_store(store, retention, dry_run=arguments.dry_run)
    finally:
        store.close()
    if arguments.json:
        print_json(pruning.as_record(pruned))
    else:
        say(pruning.text_of(pruned))
    return DONE


def _cost(arguments: argparse.Namespace) -> int:
    from nbckpt.reports.costs import costs_text
    from nbckpt.session.history.costs import call_as_json, ledger_of
    from nbckpt.timeline.recordings import RECORDING

    with writing_session(arguments) as session:
        if arguments.recompute:
            from nbckpt.config.sources import settings_of
            from nbckpt.llm.pricing import reprice

            session.settings = settings_of(session.store)
            told = reprice(session).text()
            print(told, file=sys.stderr)
        ledger = ledger_of(session.store, session.timeline)
        recordings = session.store.records(RECORDING)
        if arguments.json:
            print_json([call_as_json(call, ledger.paid_for(call)) for call in recordings])
        else:
            say(costs_text(recordings, ledger, width=width()))
    return DONE


def _config(arguments: argparse.Namespace) -> int:
    from nbckpt.config.sources import settings_of
    from nbckpt.session.maintenance import settings as configuring

    store = existing_store(arguments)
    try:
        rows = configuring.configured(store, arguments.name, " ".join(arguments.value))
        tell_problems(settings_of(store))
    finally:
        store.close()
    if arguments.json:
        print_json([row._asdict() for row in rows])
    else:
        say(configuring.text_of(rows, width=width()))
    return DONE
