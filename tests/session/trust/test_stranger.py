"""A store that somebody else made, through every door: nothing in it is built or run before trust.

All that could be leaves a file behind (`tests.session.trust.stranger`).
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import nbckpt
from nbckpt.cli import main
from nbckpt.errors import UntrustedError
from nbckpt.jupyter.shell import attached, load, unload
from nbckpt.jupyter.views import Views
from nbckpt.session.maintenance import trust_verb
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.storage.line_signatures import Signer
from nbckpt.storage.store import Store
from nbckpt.testing import Provider
from tests.running import environment, write_notebook
from tests.session.trust import stranger
from tests.session.trust.making import make

NAMES = ("plain", "code", "shown", "steps", "aside", "../../../outside")
QUERIES = (
    "select name, branch, note from checkpoints",
    "from variables",
    "from recordings",
    "from steps",
    "from branches",
    "from approvals",
    "from events",
    "from variable('built', 'code')",
    "from variable('twice', 'code')",
    "from variable('connection', 'code')",
)
READS = ("details", "page", "rerun_plan")


class Strange:
    """A copy of the stranger's store, and what would be seen if any of it ran.

    Attributes
    ----------
    store
        Where it lies.
    """

    def __init__(self, made: Path, folder: Path) -> None:
        self.store = folder / "theirs" / ".nbckpt"
        shutil.copytree(made / ".nbckpt", self.store)
        # Names in it lead here.
        self._victims = [
            *(self.store.parent / f"victim{end}" for end in (".pack", ".jsonl", ".parquet")),
            folder / "victim.parquet",
        ]
        for victim in self._victims:
            pd.DataFrame({"n": [100]}).to_parquet(victim)
        self._marks = made / "marks"
        for mark in self._marks.iterdir():
            mark.unlink()

    @property
    def is_alone(self) -> bool:
        """Whether nothing outside of the store was touched."""
        return all(pd.read_parquet(victim)["n"].to_list() == [100] for victim in self._victims)

    @property
    def ran(self) -> list[str]:
        """What of it was built or run."""
        marks = [mark.name for mark in self._marks.iterdir()]
        return sorted([*marks, *(["environ"] if "STRANGER" in os.environ else [])])


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture(scope="module")
def made(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the stranger has made, in a process of its own and with a key of its own."""
    folder = tmp_path_factory.mktemp("stranger")
    make(folder, provider)
    return folder


@pytest.fixture
def strange(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Strange]:
    found = Strange(made, tmp_path)
    monkeypatch.chdir(found.store.parent)
    monkeypatch.delenv("NBCKPT_STORE", raising=False)
    monkeypatch.setenv("NBCKPT_HOME", str(tmp_path / "me"))  # nothing was trusted before
    yield found
    os.environ.pop("STRANGER", None)
    assert found.is_alone


@pytest.fixture
def opened(
    strange: Strange, shell: Any, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> Any:
    """A shell in which nbckpt is loaded on the stranger's store."""
    unload(shell)
    for name, value in provider.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("NBCKPT_STORE", str(strange.store))
    monkeypatch.setenv("NBCKPT_APPROVALS", "fail")
    monkeypatch.chdir(strange.store.parent)
    load(shell)
    return shell


def said(capsys: pytest.CaptureFixture[str], *line: str, status: tuple[int, ...] = (0,)) -> str:
    """What a command printed; it has to end as expected."""
    ended = main(list(line))
    out, err = capsys.readouterr()
    assert ended in status, (line, ended, err)
    assert not set("\x1b\x07\u202e") & set(out + err), line
    return out + err


def ids_of(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Name → id of all checkpoints."""
    assert main(["log", "--all", "--json"]) == 0
    return {one["name"]: one["id"] for one in json.loads(capsys.readouterr().out)}


@pytest.mark.slow
def test_every_command_looks_at_it_and_nothing_runs(
    strange: Strange, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = said(capsys, "log", "--all")
    ids = ids_of(capsys)
    for i in ids.values():
        shown = said(capsys, "show", i)
        said(capsys, "show", i, "--json")
        said(capsys, "diff", ids["plain"], i)
        assert "made by another user, or came from elsewhere" in shown
    for query in QUERIES:
        said(capsys, "sql", query, status=(0, 2, 3))
    frame = said(capsys, "sql", "select sum(n) as total from variable('frame', 'plain')")
    for verb in (["check"], ["approvals"], ["cost"], ["config"], ["prune", "--dry-run"]):
        said(capsys, *verb, status=(0, 3))

    assert sorted(ids) == sorted(NAMES)
    assert listed.count("not trusted") == len(NAMES)
    assert "6" in frame.split()
    assert strange.ran == []


@pytest.mark.slow
def test_every_command_that_writes_leaves_it_at_rest(
    strange: Strange, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ids = ids_of(capsys)
    for moved in (
        ["rewind", ids["code"]], ["fork", ids["plain"], "mine"], ["switch", "side"],
        ["fork", ids["code"], "given", "shown=2"], ["update", ids["plain"], "text=''"],
        ["resume", "main", "-c", "print(text)"], ["export", ids["code"], str(tmp_path / "out")],
        ["sql", "from variable('built', 'code')"],
    ):  # fmt: skip
        refused = said(capsys, *moved, status=(3,))
        assert "made by another user, or came from elsewhere" in refused
        assert "(`nbckpt trust --show`), then `nbckpt trust`" in refused
    said(capsys, "tag", ids["shown"], "seen")
    said(capsys, "note", ids["shown"], "seen")
    said(capsys, "prune", "--keep-last", "2")

    assert not (tmp_path / "out").exists()
    assert strange.ran == []


def test_trust_is_shown_asked_for_and_given(
    strange: Strange, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = said(capsys, "trust", "--show", ".", status=(3,))
    nobody = said(capsys, "trust", status=(2,))
    told = json.loads(said(capsys, "trust", "--show", "--json", status=(3,)))
    assert strange.ran == []

    given = said(capsys, "trust", "--yes")
    again = said(capsys, "trust", "--show")
    log = said(capsys, "log", "--all")

    for word in ("twice", "Shape", "connection", "Built", "numpy.ndarray (2)"):
        assert word in shown
    assert "--yes" in nobody
    assert set(told["classes"]) >= {"Shape", "Built"}
    assert set(told["functions"]) >= {"twice", "touch"}
    assert told["recipes"] == ["connection"]
    assert {"name": "built", "type_name": "Built"} in told["pickled"]
    assert {"name": "frame", "type_name": "pandas.DataFrame"} in told["pickled"]
    assert given.startswith("trusted: ")
    assert "nothing to trust" in again
    assert "not trusted" not in log
    assert strange.ran == []


@pytest.mark.slow
def test_a_prune_and_work_on_top_of_it_make_nothing_of_it_trusted(
    opened: Any, strange: Strange, capsys: pytest.CaptureFixture[str]
) -> None:
    opened.run_line_magic("nbckpt", "tag main theirs")
    opened.run_cell("%%checkpoint own\nown = ['mine']", store_history=True).raise_error()
    unload(opened)
    said(capsys, "prune", "--keep-last", "1", "--drop", "side")
    opened.reset(new_session=False)
    load(opened)
    left = current_session.session().timeline.checkpoints.values()

    opened.run_line_magic("resume", "")

    assert {c.name for c in left} >= {"own", "steps"}
    assert [c.name for c in left if c.trusted] == ["own"]
    assert opened.user_ns["own"] == ["mine"]
    assert not {"text", "built", "twice", "connection"} & opened.user_ns.keys()
    with pytest.raises(UntrustedError, match="nbckpt trust"):
        opened.run_line_magic("rewind", "theirs")
    told = trust_verb.strange(current_session.session().store, current_session.session().timeline)
    assert "connection" in told.recipes
    assert strange.ran == []


class _Terminal(io.StringIO):
    """Somebody who types."""

    def isatty(self) -> bool:
        return True


def test_a_person_at_a_terminal_is_told_and_asked(
    strange: Strange, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", _Terminal("\n"))
    refused = said(capsys, "trust", ".", status=(3,))
    monkeypatch.setattr(sys, "stdin", _Terminal("y\n"))
    agreed = said(capsys, "trust", ".")

    assert "run as your own code" in refused
    assert "twice" in refused
    assert "nothing was trusted" in refused
    assert "trusted: 6 checkpoints" in agreed


def test_what_is_added_while_somebody_looks_is_not_trusted_with_it(
    strange: Strange, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(strange.store)
    session = Session(store, {})
    told = trust_verb.strange(store, session.timeline)
    with monkeypatch.context() as theirs:
        theirs.setenv("NBCKPT_HOME", str(made / "home"))
        other = Store.open(strange.store)
        other.append([{"kind": "event", "event": "more", "at": 1.0, "session": "s"}]).result()
        other.close()

    with pytest.raises(UntrustedError, match="look again"):
        trust_verb.take_over(store, told.seen)

    again = trust_verb.amount(store, session.timeline)
    assert again.records > told.records
    trust_verb.take_over(store, again.seen)
    assert store.trust.untrusted().records == 0
    store.close()


def test_nothing_is_trusted_but_the_lines_that_were_looked_at(strange: Strange) -> None:
    store = Store.open(strange.store)
    told = trust_verb.strange(store, Session(store, {}).timeline)
    for journal in (strange.store / "journal").iterdir():
        lines = journal.read_bytes().splitlines()
        texts = (
            line[: line.rindex(b',"n":')].replace(b"sides = 4", b"sides = 5") for line in lines
        )
        written = (Signer().line(text.decode(), n) for n, text in enumerate(texts))
        journal.write_bytes(b"".join(written))  # as many as before

    trust_verb.take_over(store, told.seen)

    assert store.trust.untrusted().records == told.records
    store.close()
    again = Store.open(strange.store)
    assert again.trust.untrusted().records == told.records
    with pytest.raises(UntrustedError, match="look again"):
        trust_verb.take_over(again, told.seen)
    again.close()


def test_a_notebook_on_it_gets_nothing_of_it_and_one_sentence(
    opened: Any, strange: Strange, capsys: pytest.CaptureFixture[str]
) -> None:
    unload(opened)
    capsys.readouterr()
    load(opened)
    hello = capsys.readouterr().out
    space, branch = dict(opened.user_ns), current_session.session().position.branch
    ids = {c.name: c.id for c in current_session.session().timeline.checkpoints.values()}

    assert "made by another user, or came from elsewhere" in hello
    assert "%nbckpt trust" in hello
    for magic, line in (
        ("resume", ""), ("rewind", ids["code"]), ("switch", "side"), ("rerun", ids["plain"]),
        ("fork", f"{ids['shown']} mine"), ("fork", f"{ids['code']} given text=text.upper()"),
        ("nbckpt", f"update {ids['plain']} text=''"),
    ):  # fmt: skip
        with pytest.raises(UntrustedError, match="nbckpt trust"):
            opened.run_line_magic(magic, line)
    looked = nbckpt.get(ids["code"])
    for name in ("built", "text", "numbers", "frame"):
        with pytest.raises(UntrustedError, match=f"'{name}' at checkpoint.*nbckpt trust"):
            looked.values[name]
    assert looked.variables["nested"].preview.startswith("{'a': [1, 2.5, None], 'b': (")
    assert (opened.user_ns, current_session.session().position.branch) == (space, branch)
    assert not any(c.trusted for c in current_session.session().timeline.checkpoints.values())
    assert strange.ran == []


@pytest.mark.slow
def test_its_cells_run_again_as_if_nobody_had_run_them(
    opened: Any, strange: Strange, provider: Provider, capsys: pytest.CaptureFixture[str]
) -> None:
    before = provider.answered
    setup = stranger.SETUP.format(marks=str(strange.store.parent))
    opened.run_cell(setup, store_history=True).raise_error()

    plain = opened.run_cell(stranger.PLAIN, store_history=True)
    steps = opened.run_cell(stranger.STEPS, store_history=True)
    told = capsys.readouterr().out

    assert plain.success
    assert "restored" not in told
    assert provider.answered == before + 1
    assert isinstance(steps.error_in_exec, nbckpt.UnansweredError)
    assert strange.ran == []


def test_a_timeline_and_a_sidebar_show_it_and_nothing_runs(
    opened: Any, strange: Strange, capsys: pytest.CaptureFixture[str]
) -> None:
    opened.run_line_magic("timeline", "")
    panel = Views.of(attached(opened).cells).panel
    listed, _ = Views.of(attached(opened).cells).now()
    answers = {
        (op, row["name"]): panel.answer(op, {"ref": row["id"], "cells": []})
        for row in listed.rows
        for op in READS
    }
    difference = panel.answer("diff", {"a": "plain", "b": "code"})
    moves = [
        panel.answer(op, {"ref": "code", "branch": "side", "cells": []})
        for op in ("resume_plan", "resume", "rewind", "fork", "switch")
    ]
    strangers = panel.answer("strangers", {})

    assert not any(row["trusted"] for row in listed.rows)
    details = answers["details", "code"]["result"]
    assert not any(variable["trusted"] for variable in details["variables"])
    assert difference["ok"]
    for refused in moves:
        assert "nbckpt trust" in refused["error"]
    assert "twice" in strangers["result"]["text"]
    outputs = answers["details", "shown"]["result"]["outputs"]
    assert all(output["image"] is None for output in outputs)
    assert "window.stolen" not in json.dumps([o for o in outputs if o["mime"] != "text/plain"])
    page = json.dumps(answers["page", "shown"])
    assert "text/html" not in page
    assert "javascript" not in page
    assert strange.ran == []


@pytest.mark.slow
def test_an_unattended_run_repeats_nothing_of_it(
    strange: Strange, provider: Provider, capsys: pytest.CaptureFixture[str]
) -> None:
    setup = stranger.SETUP.format(marks=str(strange.store.parent))
    notebook = write_notebook(
        strange.store.parent / "mine.ipynb",
        {"setup": setup, "plain": stranger.PLAIN, "look": "%%checkpoint steps\nsingle = 5"},
    )

    ran = said(capsys, "run", str(notebook), "--json")

    assert "none of it stands for a cell of this run" in ran
    cells = json.loads(ran[ran.index("{") : ran.rindex("}") + 1])["cells"]
    assert [(cell["ending"], cell["way"]) for cell in cells] == [("done", "ran")] * 3
    assert strange.ran == []


@pytest.mark.slow
def test_after_trust_all_of_it_comes_back(
    opened: Any, strange: Strange, provider: Provider, capsys: pytest.CaptureFixture[str]
) -> None:
    paid = provider.answered
    shown = ids_of(capsys)["shown"]  # after a move its name may be on the stranger's branch alone
    opened.run_line_magic("nbckpt", "trust")
    trusted = capsys.readouterr().out

    opened.run_line_magic("rewind", "code")
    space = opened.user_ns

    assert trusted.startswith("trusted: 6 checkpoints by ")
    assert space["Shape"].sides == 4
    assert space["twice"](2) == 4
    assert space["connection"].execute("select 1").fetchone() == (1,)
    assert strange.ran == ["built", "called", "environ", "inside", "recipe"]
    opened.run_line_magic("rewind", shown)
    steps = opened.run_cell(stranger.STEPS, store_history=True)
    assert steps.success
    assert (space["agreed"], provider.answered) == (True, paid)
    assert current_session.session().store.trust.untrusted().records == 0


@pytest.mark.long
def test_a_console_and_a_kernel_on_it_run_nothing_of_it(
    strange: Strange, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = ids_of(capsys)
    command = [sys.executable, "-m", "nbckpt"]
    console = subprocess.run(
        [*command, "resume", "main", "-c", "print(text, 'built' in globals())"],
        capture_output=True, text=True, env=environment(), check=False,
    )  # fmt: skip
    again = said(capsys, "rerun", ids["plain"], status=(3,))

    assert console.returncode == 3
    assert "nbckpt trust" in console.stderr
    assert "nbckpt trust" in again
    assert strange.ran == []
