"""The check of a store, and its repair."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from nbckpt.errors import SealedError
from nbckpt.verbs.arguments import NOTEBOOK_ONLY, OF_STORE, Door, flag
from nbckpt.verbs.calls import DAMAGED, DONE, Answer, Call
from nbckpt.verbs.registry import at, declare

if TYPE_CHECKING:
    from nbckpt.storage.check_report import Report
    from nbckpt.storage.repairing import Repaired


@declare(
    "check",
    "read every byte, and tell what is damaged or missing",
    flag("--memory", help="of the variables instead of the store", doors=NOTEBOOK_ONLY),
    flag(
        "--repair",
        help="rebuild what can be rebuilt first; what was damaged is kept aside in .damaged/",
    ),
    flag(
        "--secrets",
        help="look for secrets instead: of the environment, and what looks like keys; with --repair"
        " these are taken out",
    ),
    *OF_STORE,
)
def _check(call: Call) -> Answer:
    """Check the store of a notebook; `nbckpt.jupyter` checks its variables."""
    from nbckpt.storage.check import check
    from nbckpt.storage.repairing import repair

    call.session.wait()
    if call.arguments.secrets:
        return _secrets(call)
    repaired = repair(call.store) if call.arguments.repair else None
    return _found(check(call.store.path), repaired)


@at(Door.TERMINAL, "check")
def _check_in_terminal(call: Call) -> Answer:
    if call.arguments.secrets:
        return _secrets(call)
    repaired = _repaired(call) if call.arguments.repair else None
    return _found(_report(call), repaired)


def _secrets(call: Call) -> Answer:
    """Search a store for secrets, and take them out if that is asked for."""
    from nbckpt.reports.secrets_found import found_text, removed_text
    from nbckpt.session.maintenance.secret_removal import remove_secrets
    from nbckpt.session.maintenance.secret_search import detector, secrets_found

    if call.arguments.repair:
        removed = remove_secrets(call.store)
        return Answer(
            lambda: removed_text(removed),
            lambda: {
                "ok": not removed.left,
                **dataclasses.asdict(removed),
                "left": [one._asdict() for one in removed.left],
            },
            status=DAMAGED if removed.left else DONE,
        )
    with detector() as detects:
        found = secrets_found(call.store, detects).found

    def record() -> dict[str, object]:
        return {"ok": not found, "secrets": [one._asdict() for one in found]}

    return Answer(lambda: found_text(found), record, status=DAMAGED if found else DONE)


def _found(report: Report, repaired: Repaired | None) -> Answer:
    from nbckpt.reports.status import check_text, repaired_members, repaired_text

    def text() -> str:
        before = [] if repaired is None else [repaired_text(repaired)]
        return "\n".join([*before, check_text(report)])

    def record() -> dict[str, object]:
        told = {} if repaired is None else {"repaired": repaired_members(repaired)}
        return {"ok": report.ok, **dataclasses.asdict(report), **told}

    return Answer(text, record, status=DONE if report.ok else DAMAGED)


def _repaired(call: Call) -> Repaired:
    """Repair a store, first its mark, without which no store is opened; return the result."""
    from nbckpt.storage.mark_repair import mend_mark
    from nbckpt.storage.repairing import repair

    mended = mend_mark(call.path)
    repaired = repair(call.store)
    if not mended:
        return repaired
    return dataclasses.replace(repaired, mended=(mended, *repaired.mended))


def _report(call: Call) -> Report:
    """Report on the problems of a store; from checksums alone if its key is not here."""
    from nbckpt.storage.check import check

    try:
        store = call.store  # held: its cipher is known as long as it is
        return check(store.path)
    except SealedError as error:
        from nbckpt.storage.check_without_key import check_from_outside

        call.warn(f"{error}; until then only checksums are looked at")
        return check_from_outside(call.path)
