"""`%nbckpt record`: whether model calls of steps are kept, and what became of them."""

from __future__ import annotations

import argparse
from typing import NoReturn

from nbckpt.errors import UsageError
from nbckpt.jupyter import notices
from nbckpt.jupyter.magics import lines
from nbckpt.llm import current

USAGE = "%nbckpt record [on | off] [--ttl 7d] [--tag T]… [--coalesce]"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        told = f"record: {message}; write `{USAGE}`"
        raise UsageError(told)


def record(line: str) -> None:
    """Switch recording on or off, say how old what answers may be, or tell how it stands.

    ``on`` alone forgets an age, tags and ``--coalesce`` that were given before.
    """
    from nbckpt.llm import aging, seams

    recorder = current.recorder()
    parser = _Parser(prog="%nbckpt record", add_help=False, allow_abbrev=False)
    parser.add_argument("mode", nargs="?", choices=("on", "off"))
    parser.add_argument("--ttl")
    parser.add_argument("--tag", action="append", default=[])
    parser.add_argument("--coalesce", action="store_true")
    asked = parser.parse_args(lines.words_of(line, USAGE))
    if recorder is None:
        message = f"record {line!r}: no session is open; `%load_ext nbckpt` opens one"
        raise UsageError(message)
    ttl_s = None if asked.ttl is None else aging.ttl_of(asked.ttl)
    tags = aging.tags_of(asked.tag)
    if asked.mode is not None:
        recorder.mode = "replay" if asked.mode == "on" else "off"
    if asked.mode == "on" or asked.ttl is not None:
        recorder.ttl_s = ttl_s
    if asked.mode == "on" or tags:
        recorder.tags = tags
    if asked.mode == "on" or asked.coalesce:
        recorder.coalesce = asked.coalesce
    notices.notify(f"model calls are recorded: {'; '.join(_facts())}; seen so far: {calls_text()}")
    for problem in seams.missed:
        notices.notify(problem)


def calls_text() -> str:
    """Counts of this session's model calls and their outcomes, by provider."""
    from nbckpt.llm.telling import calls_text

    recorder = current.recorder()
    return "none" if recorder is None else calls_text(recorder.outcomes)


def _facts() -> list[str]:
    recorder = current.recorder()
    assert recorder is not None
    is_off = recorder.mode == "off"
    facts = ["off: they are paid each time" if is_off else "on, in cells that are kept"]
    if recorder.ttl_s is not None:
        facts.append(f"ttl {recorder.ttl_s:g} s")
    if recorder.coalesce:
        facts.append("equal ones in flight are sent once")
    return facts + ([f"tags {', '.join(recorder.tags)}"] if recorder.tags else [])
