"""The words of `%nbckpt` that write: tags, notes, values given by hand, prune, settings."""

from __future__ import annotations

import argparse
import re
from typing import NoReturn

from nbckpt import reports
from nbckpt.errors import UsageError
from nbckpt.jupyter import notices
from nbckpt.jupyter.magics import lines
from nbckpt.session.session import Session

UPDATE = "%nbckpt update REF name=expression … [--as STEP]"
_AS = re.compile(r"\s--as(?:\s+|=)(?P<quote>['\"]?)(?P<step>[\w.+-]+)(?P=quote)(?=\s|$)")


def tag(session: Session, line: str) -> None:
    """Give a checkpoint tags, or take them away."""
    usage = "%nbckpt tag REF TAG … [--delete]"
    words, given = lines.parted(line, usage, 2, 1000, ("--delete",))
    ref, *tags = words
    delete = bool(given)
    notices.notify(reports.tagged_text(session.tag(ref, *tags, delete=delete), tags, delete=delete))


def note(session: Session, line: str) -> None:
    """Give a checkpoint another note: all that stands behind REF, quoted or not."""
    ref, _, text = line.partition(" ")
    if not ref:
        message = "something is missing: write `%nbckpt note REF TEXT`"
        raise UsageError(message)
    notices.notify(reports.noted_text(session.note(ref, lines.unquoted(text))))


def update(session: Session, line: str) -> None:
    """Give variables values by hand, as if a step had made them."""
    from nbckpt.config import assignments

    step = found["step"] if (found := _AS.search(f" {line}")) else None
    typed = assignments.parsed(_AS.sub("", f" {line}"), UPDATE)
    if not typed.words:
        message = f"which checkpoint? write `{UPDATE}`; `%nbckpt log` lists them"
        raise UsageError(message)
    if len(typed.words) > 1:
        assignments.refuse_word(typed.words[1], UPDATE)
    if not typed.expressions:
        message = f"update {typed.words[0]!r}: give the values: write `{UPDATE}`"
        raise UsageError(message)
    made = session.update(typed.words[0], {}, step, expressions=typed.expressions)
    notices.notify(reports.updated_text(made, tuple(typed.expressions), session.position.branch))


def prune(session: Session, line: str) -> None:
    """Remove old checkpoints, and free the disk."""
    from nbckpt.session.maintenance import prune as pruning

    parser = _Parser(prog="%nbckpt prune", add_help=False, allow_abbrev=False)
    pruning.add_options(parser)
    asked = parser.parse_args(lines.words_of(line, "%nbckpt prune [--keep-last N] …"))
    retention = pruning.retention_of(asked, session.settings)
    notices.notify(pruning.text_of(pruning.prune(session, retention, dry_run=asked.dry_run)))


def config(session: Session, line: str, width: int) -> None:
    """Tell the settings, or have the store remember one."""
    from nbckpt.config.sources import settings_of
    from nbckpt.session.maintenance import settings

    name, _, value = line.partition(" ")
    rows = settings.configured(session.store, name, lines.unquoted(value))
    session.settings = settings_of(session.store)
    notices.notify(settings.text_of(rows, width=width))


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        text = f"{self.prog}: {message}; {' '.join(self.format_usage().split())}"
        raise UsageError(text)
