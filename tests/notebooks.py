"""Namespaces and kernels for tests: what a notebook's cells would make."""

from __future__ import annotations

import linecache
import textwrap
from typing import Any

from nbckpt.digests import digest_of
from nbckpt.jupyter.shell import load, unload
from nbckpt.steps import current_session


def define(source: str, namespace: dict[str, Any] | None = None) -> dict[str, Any]:
    """The namespace after `source` ran in it as a cell would, its text known to `linecache`."""
    namespace = {"__name__": "__main__"} if namespace is None else namespace
    filename = f"<test cell {digest_of(source)[:12]}>"
    lines = source.splitlines(keepends=True)
    linecache.cache[filename] = (len(source), None, lines, filename)
    exec(compile(source, filename, "exec", dont_inherit=True), namespace)
    return namespace


def restart(shell: Any) -> None:
    """A new session on the same store with an empty namespace, as after a kernel restart."""
    unload(shell)
    shell.reset(new_session=False)
    load(shell)


def run(shell: Any, source: str) -> None:
    """Run a cell, which must not raise."""
    shell.run_cell(textwrap.dedent(source), store_history=True).raise_error()


def resumed(shell: Any) -> dict[str, Any]:
    """What is there after a restart and a resume."""
    current_session.session().wait()
    restart(shell)
    run(shell, "%resume")
    namespace: dict[str, Any] = shell.user_ns
    return namespace


def refusals() -> dict[str, str]:
    """The variables that cannot be kept, and why."""
    return {r.variable: r.reason for r in current_session.session().workspace.capturer.refusals()}
