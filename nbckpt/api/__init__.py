"""The calls of ``import nbckpt``, on the session that is open."""

from nbckpt.api.handing import export, trust
from nbckpt.api.keeping import event, note, prune, tag, wait
from nbckpt.api.looking import diff, get, history, open, sql  # noqa: A004  # as gzip.open
from nbckpt.api.moving import fork, reducer, rerun, resume, rewind, switch, update

__all__ = [
    "diff",
    "event",
    "export",
    "fork",
    "get",
    "history",
    "note",
    "open",
    "prune",
    "reducer",
    "rerun",
    "resume",
    "rewind",
    "sql",
    "switch",
    "tag",
    "trust",
    "update",
    "wait",
]
