"""One line stays one line, whatever a record holds: nothing in it looks as if nbckpt had said it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nbckpt.cli import main
from nbckpt.jupyter.completion import Completion
from nbckpt.jupyter.shell import attached, load, unload
from nbckpt.jupyter.views import Views
from nbckpt.model import Cell, Refusal, Variable
from nbckpt.session.maintenance.prune_request import prune_store, text_of
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.storage.store import Store
from nbckpt.timeline.checkpoint_records import checkpoint_record
from nbckpt.timeline.prune_retention import Retention
from nbckpt.timeline.recordings import Recording, recording_record

EVIL = "x\nFORGED\r\x1b[2JFORGED\u2028FORGED\u202e\tend"
FORGED = re.compile(r"^[\s●○✗◌│─╯┼*+~=-]*FORGED", re.MULTILINE)


def forge(path: Path) -> str:
    """A store in which every text that takes one line holds several; the id of its head."""
    store = Store.open(path)
    session = Session(store, {"a": [1], "b": 2})
    first = session.checkpoint("first", sync=True)
    refused = Refusal(EVIL, EVIL, EVIL, EVIL)
    variable = replace_all(first.changed["a"])
    made = replace(
        first, id="f" * 20, parent=first.id, name=EVIL, branch=EVIL, notebook=EVIL, note=EVIL,
        tags=(EVIL,), removed=("b",), refused=(refused,), omitted=(EVIL,), made_by=EVIL,
        changed={EVIL: variable}, bound=(EVIL,), joined=(Cell("y = 1", 1),),
    )  # fmt: skip
    failed = replace(made, id="e" * 20, parent=made.id, state="failed", error=EVIL)
    at, digest = first.created_at, first.changed["a"].blob
    recording = Recording(
        id="r", step=EVIL, session=EVIL, branch=EVIL, position=made.id, occurrence=0,
        request=digest, provider=EVIL, endpoint=EVIL, model=EVIL, url=EVIL, status=200, headers=(),
        blob=digest, sizes=(), state="done", streamed=False, created_at=at, duration_s=1.0,
        summary=EVIL, price=EVIL, cost_usd=1.0,
    )  # fmt: skip
    head = {"kind": "head", "branch": EVIL, "checkpoint": made.id, "notebook": EVIL}
    spoilt = {"kind": "event", "event": "write_failed", "at": at, "session": EVIL, "error": EVIL}
    store.append([
        checkpoint_record(made), checkpoint_record(failed), {**head, "at": at + 1},
        {"kind": "tag", "checkpoint": made.id, "tag": EVIL, "at": at},
        {"kind": "note", "checkpoint": made.id, "note": EVIL, "at": at},
        recording_record(recording), spoilt,
        {"kind": "approval", "id": "q1", "question": EVIL, "request": digest, "occurrence": 0,
         "preview": EVIL, "step": EVIL, "session": EVIL, "state": "waiting", "at": at},
        {"kind": "session", "session": EVIL, "notebook": EVIL, "at": at, "user": EVIL, "host": EVIL},
    ]).result()  # fmt: skip
    store.close()
    return made.id


def replace_all(variable: Variable) -> Variable:
    return variable._replace(
        name=EVIL, type_name=EVIL, shape=EVIL, preview=EVIL, group=(EVIL,), needs=(EVIL,)
    )


@pytest.fixture
def strange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    """Where such a store is, which somebody else has made, and the id of its head."""
    made = forge(tmp_path / "s")
    monkeypatch.setenv("NBCKPT_HOME", str(tmp_path / "me"))
    return tmp_path / "s", made


def require_lines(said: str, what: object) -> None:
    """What was said may hold what is forged, behind what nbckpt says, and steers nothing."""
    assert not FORGED.search(said), (what, said)
    assert not set("\x1b\r\u2028\u202e") & set(said), (what, said)


@pytest.mark.slow
def test_no_command_prints_a_line_of_somebody_elses(
    strange: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    store, made = strange
    shown = ""
    for line in (
        ["log", "--all"], ["log", EVIL], ["show", made], ["show", "e" * 20], ["show", EVIL],
        ["diff", "first", made], ["status"], ["check"], ["cost"], ["approvals"], ["config"],
        ["prune", "--dry-run", "--keep-last", "1", "--drop", EVIL], ["trust", "--show"],
        ["sql", "select * from checkpoints"], ["sql", "select * from variables"],
        ["sql", "select * from recordings"], ["sql", f"select 1 as '{EVIL}'"],
        ["sql", f"select * from variable('{EVIL}')"], ["export", made, str(store.parent / "out")],
        ["tag", made, EVIL], ["rewind", EVIL], ["fork", EVIL, "mine"], ["switch", EVIL],
        ["answer", EVIL, "approve"], ["note", made, EVIL], ["log", "--notebook", EVIL],
        ["trust", "--yes"], ["export", made, str(store.parent / "out")],
    ):  # fmt: skip
        assert main([*line, "--store", str(store)]) in (0, 2, 3), line
        out, err = capsys.readouterr()
        require_lines(out + err, line)
        shown += out + err

    pruned = prune_store(opened := Store.open(store), Retention(), dry_run=True)
    opened.close()
    require_lines(text_of(replace(pruned, checkpoints=((made, EVIL),))), "prune")
    assert r"x\nFORGED\r\x1b[2JFORGED\u2028FORGED\u202e\tend" in shown
    assert main(["show", made, "--json", "--store", str(store)]) == 0
    exact = json.loads(capsys.readouterr().out)
    assert (exact["name"], exact["branch"], exact["note"]) == (EVIL, EVIL, EVIL)


def test_no_magic_prints_a_line_of_somebody_elses(
    strange: tuple[Path, str], shell: Any, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    store, made = strange
    unload(shell)
    monkeypatch.setenv("NBCKPT_STORE", str(store))
    capsys.readouterr()
    load(shell)
    for line in (
        "nbckpt log --all", f"nbckpt show {made}", "nbckpt status", "nbckpt cost", "nbckpt check",
        "nbckpt approvals", "nbckpt trust --show", f"nbckpt tag {made} mine", f"rewind {made}",
        f"nbckpt diff first {made}", "nbckpt prune --dry-run --keep-last 1", "rewind first",
        f"nbckpt note {made} mine", f"fork {made} mine", "timeline", "nbckpt trust",
        f"rewind {made}", f"nbckpt export {made} {store.parent / 'out'}", "rewind nowhere",
        "nbckpt show 'x\nFORGED'", "rewind 'x\nFORGED'",
    ):  # fmt: skip
        magic, _, rest = line.partition(" ")
        ran = shell.run_cell(f"get_ipython().run_line_magic({magic!r}, {rest!r})")
        out, err = capsys.readouterr()
        if ran.error_in_exec is not None:
            render = getattr(ran.error_in_exec, "_render_traceback_", None)
            assert render is not None, (line, ran.error_in_exec)
            require_lines("\n".join(render()), line)
        require_lines(out + err, line)


def test_nothing_of_it_is_offered_to_be_typed(
    strange: tuple[Path, str], shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    unload(shell)
    monkeypatch.setenv("NBCKPT_STORE", str(strange[0]))
    load(shell)
    session = current_session.session()
    completion = Completion(shell, session)

    _, offered = completion.completions("%switch ")
    _, tags = completion.completions("%rewind x")

    assert EVIL in session.timeline.branches
    assert "main" in offered
    assert not any("FORGED" in text for text in (*offered, *tags))


def test_the_sidebar_is_told_in_lines_too(
    strange: tuple[Path, str], shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    unload(shell)
    monkeypatch.setenv("NBCKPT_STORE", str(strange[0]))
    load(shell)
    answer = Views(attached(shell).cells).panel.answer
    strangers, refused = answer("strangers", {}), answer("rewind", {"ref": strange[1]})

    require_lines(str(strangers["result"]["text"]), strangers)
    require_lines(refused["error"], refused)
    assert answer("trust", {"seen": strangers["result"]["seen"]})["ok"]
    moved = answer("rewind", {"ref": strange[1]})
    require_lines(str(moved["result"]["text"]), moved)
