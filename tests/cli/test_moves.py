"""Moving in a history from the command line: real processes on a real notebook's store."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from nbckpt.session.session import Session
from nbckpt.storage.store import Store
from tests.running import environment, write_notebook

CELLS = {
    "load": "%%checkpoint load\nk = 1\nxs = [1]",
    "use": "%%checkpoint use\ny = k * 2\nprint('y is', y)",
    "wait": "%%checkpoint wait\nimport asyncio\nawait asyncio.sleep(0)\nz = y + 1",
}

Nbckpt: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "nbckpt", *words],
        cwd=folder,
        env={**environment(), "IPYTHONDIR": str(folder / ".ipython"), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the notebook `train` has run."""
    folder = tmp_path_factory.mktemp("ran")
    write_notebook(folder / "train.ipynb", CELLS)
    done = command(folder, "run", "train.ipynb")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def folder(ran: Path, tmp_path: Path) -> Path:
    """A copy of it to write in."""
    return Path(shutil.copytree(ran, tmp_path / "copy"))


@pytest.fixture
def nbckpt(folder: Path) -> Nbckpt:
    """`nbckpt WORDS` in that folder; it must be done well."""

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        done = command(folder, *words)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done

    return call


def found(nbckpt: Nbckpt, *words: str) -> Any:
    return json.loads(nbckpt(*words, "--json").stdout)


def files_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def names(nbckpt: Nbckpt, *words: str) -> list[str]:
    return [c["name"] for c in found(nbckpt, "log", *words)]


@pytest.mark.slow
def test_a_branch_is_moved_back_and_what_it_leaves_stays(nbckpt: Nbckpt) -> None:
    told = nbckpt("rewind", "load").stdout
    heads = {b: c["name"] for c in found(nbckpt, "log", "--all") for b in c["heads"]}

    assert told.startswith("branch 'main' is at 'load' (")
    assert told.endswith("; where it was stays on 'main.1'\n")
    assert heads == {"main": "load", "main.1": "wait"}

    nbckpt("rewind", "-")

    assert names(nbckpt) == ["wait", "use", "load"]
    nbckpt("fork", "load", "other")
    assert names(nbckpt, "main") == ["wait", "use", "load"]


@pytest.mark.slow
def test_a_fork_without_values_writes_no_value(nbckpt: Nbckpt, folder: Path) -> None:
    before = {p.name: p.stat().st_size for p in (folder / ".nbckpt" / "packs").iterdir()}

    pointed = found(nbckpt, "fork", "use", "other")

    assert pointed["branch"] == "other"
    assert pointed["name"] == "use"
    assert {p.name: p.stat().st_size for p in (folder / ".nbckpt" / "packs").iterdir()} == before
    assert names(nbckpt) == ["use", "load"]
    assert nbckpt("fork", "use").stdout.startswith("branch 'other-2' begins at 'use'")


@pytest.mark.slow
def test_a_fork_with_values_is_rerun_and_can_be_resumed(nbckpt: Nbckpt, folder: Path) -> None:
    nbckpt("fork", "load", "wide", "k=k + 4", "xs=[1, 2]")
    done = found(nbckpt, "rerun")

    assert [(cell["name"], cell["state"]) for cell in done["cells"]] == [
        ("use", "run"),
        ("wait", "run"),
    ]
    assert done["branch"] == "wide"
    assert done["error"] is None
    asked = nbckpt("resume", "wide", "-c", "print('got', k, xs, y, z)")
    assert "got 5 [1, 2] 10 11\n" in asked.stdout
    log = nbckpt("log", "--all").stdout
    assert "values by fork" in log
    assert "│ ○  wait" in log
    shown = nbckpt("show", "~2").stdout
    assert "how         values by fork" in shown
    assert "    k = k + 4" in shown


@pytest.mark.slow
def test_a_rerun_whose_cell_fails_says_which_and_exits_with_1(folder: Path) -> None:
    command(folder, "fork", "load", "bad", "k='text'", "xs=None")
    command(folder, "update", "load", "k=None")

    done = command(folder, "rerun")

    assert done.returncode == 1
    assert "✗  use" in done.stdout
    assert "'use' failed: TypeError" in done.stdout


@pytest.mark.slow
def test_values_given_by_hand_stand_for_a_step(nbckpt: Nbckpt) -> None:
    pointed = found(nbckpt, "update", "load", "y=40", "--as", "use")

    assert pointed["name"] == "use"
    assert pointed["given"] == ["y"]
    shown = found(nbckpt, "show", pointed["id"])
    assert shown["made_by"] == "update"
    assert {v["name"]: v["preview"] for v in shown["variables"]}["y"] == "40"
    assert "next        wait" in nbckpt("show", pointed["id"]).stdout


@pytest.mark.slow
def test_a_notebook_resumes_on_the_branch_that_was_chosen(nbckpt: Nbckpt, folder: Path) -> None:
    nbckpt("fork", "load", "try-2", "k=9")
    nbckpt("switch", "main")
    assert "print it 1" in nbckpt("resume", "-c", "print('print it', k)").stdout

    told = nbckpt("switch", "try-2", "--notebook", "train").stdout

    assert "is the one that notebook 'train' resumes on, at 'load'" in told
    store = Store.open(folder / ".nbckpt")
    session = Session(store, {}, notebook="train")
    assert session.position.branch == "try-2"
    store.close()


@pytest.mark.slow
def test_tags_and_notes_are_written_and_taken_away(nbckpt: Nbckpt) -> None:
    assert nbckpt("tag", "use", "best", "small").stdout == "tagged 'use' with 'best', 'small'\n"
    assert nbckpt("note", "use", "look", "here").stdout == "noted at 'use'\n"
    assert "#best; #small; look here" in nbckpt("log").stdout

    nbckpt("tag", "use", "small", "--delete")
    nbckpt("note", "use")

    checkpoint = found(nbckpt, "show", "use")
    assert (checkpoint["tags"], checkpoint["note"]) == (["best"], "")


@pytest.mark.slow
def test_a_difference_is_told_as_text_and_as_json(nbckpt: Nbckpt) -> None:
    text = nbckpt("diff", "load", "wait").stdout
    record = found(nbckpt, "diff", "load")

    assert "y" in text
    assert {v["name"]: v["status"] for v in record["variables"]}["z"] == "added"
    assert record["b"]["name"] == "wait"


@pytest.mark.slow
def test_a_dry_run_of_prune_removes_nothing_and_the_real_one_does(nbckpt: Nbckpt) -> None:
    nbckpt("tag", "load", "kept")
    dry = nbckpt("prune", "--keep-last", "1", "--dry-run").stdout
    assert dry.startswith("would remove 1 checkpoint, would free ")
    assert "\n  use  " in dry
    assert names(nbckpt) == ["wait", "use", "load"]

    pruned = found(nbckpt, "prune", "--keep-last", "1")

    assert [c["name"] for c in pruned["checkpoints"]] == ["use"]
    assert names(nbckpt) == ["wait", "load"]
    assert "got 2 3" in nbckpt("resume", "-c", "print('got', y, z)").stdout
    assert nbckpt("check").stdout.startswith("all sound")


@pytest.mark.slow
def test_settings_are_remembered_by_the_store_and_forgotten(nbckpt: Nbckpt) -> None:
    assert "max_size  2000000000  config.json" in nbckpt("config", "max_size", "2GB").stdout
    rows = {row["name"]: row["value"] for row in found(nbckpt, "config")}
    assert rows["max_size"] == "2000000000"
    nbckpt("config", "auto", "every", "30", "s")
    assert "every 30s" in nbckpt("config", "auto").stdout

    nbckpt("config", "max_size", "default")

    assert "none   default" in nbckpt("config", "max_size").stdout


@pytest.mark.slow
def test_a_setting_that_is_none_by_default_can_be_set_to_none(nbckpt: Nbckpt, folder: Path) -> None:
    nbckpt("config", "max_size", "2GB")

    assert "none   default" in nbckpt("config", "max_size", "none").stdout
    assert "patience_s is 'none'" in command(folder, "config", "patience_s", "none").stderr


@pytest.mark.slow
def test_a_store_elsewhere_is_moved_in(nbckpt: Nbckpt, folder: Path) -> None:
    shutil.move(folder / ".nbckpt", folder / "elsewhere")

    nbckpt("fork", "load", "far", "--store", "elsewhere")

    assert names(nbckpt, "--store", "elsewhere") == ["load"]
    assert not (folder / ".nbckpt").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("rewind laod", "did you mean 'load'"),
        ("rewind -", "there was none"),
        ("log mian", "no branch 'mian'; did you mean 'main'"),
        ("log main --all", "'main' and --all: name a branch, or take every branch"),
        ("fork load main", "branch 'main' exists"),
        ("fork load a b", "'b' is one word too many"),
        ("fork load a k=", "k=: what is behind '='"),
        ("fork load a k=nothing", "k=nothing failed: NameError"),
        ("fork load use", "'use' is the name of a checkpoint"),
        ("switch mian", "no branch 'mian'; did you mean 'main'"),
        ("switch main --notebook other", "no checkpoint of a notebook 'other'; there are 'train'"),
        ("update load 5", "'5' gives no variable a value"),
        ("update load k=5 --as nothing", "no step 'nothing'"),
        ("rerun wait", "'wait'"),
        ("rerun laod", "did you mean 'load'"),
        ("resume mian -c 1", "no branch 'mian'; did you mean 'main'"),
        (
            "resume load -c 1",
            "no branch 'load': that is a checkpoint, `nbckpt rewind load` goes there",
        ),
        ("diff load laod", "did you mean 'load'"),
        ("tag load a,b", "'a,b' is no tag"),
        ("tag load new --delete", "has no tag 'new'"),
        ("note laod text", "did you mean 'load'"),
        ("prune --max-size much", "'much' is no size"),
        ("prune --drop mian", "mian"),
        ("config max_syze 3", "there is no such setting"),
        ("config max_size much", "max_size is 'much'; it is a size, such as 2GB"),
        ("rewind load --store nowhere", "no store at"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_changes_nothing(
    ran: Path, typed: str, told: str
) -> None:
    before = files_of(ran / ".nbckpt")

    done = command(ran, *typed.split())

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("nbckpt: ")
    assert done.stderr.count("\n") == 1
    assert told in done.stderr
    assert files_of(ran / ".nbckpt") == before


@pytest.mark.parametrize(
    "typed", ["rewind", "fork", "switch", "update load", "tag load", "note", "prune --keep-last 0"]
)
def test_what_cannot_be_parsed_shows_the_usage(ran: Path, typed: str) -> None:
    done = command(ran, *typed.split())

    assert done.returncode == 2
    assert "usage: nbckpt" in done.stderr


@pytest.mark.slow
def test_after_a_branch_was_given_up_the_notebook_is_on_the_one_before(nbckpt: Nbckpt) -> None:
    nbckpt("fork", "load", "small")

    nbckpt("prune", "--drop", "small")

    assert names(nbckpt) == ["wait", "use", "load"]


@pytest.mark.slow
def test_code_that_raises_in_a_resumed_console_is_exit_status_1(folder: Path) -> None:
    done = command(folder, "resume", "-c", "1 / 0")

    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stdout


@pytest.mark.slow
def test_a_console_on_a_damaged_head_says_so_and_falls_back_when_asked(folder: Path) -> None:
    command(
        folder, "resume", "-c", "y = 'the word'; get_ipython().run_line_magic('checkpoint', 'end')"
    )
    packs = (folder / ".nbckpt" / "packs").glob("*.pack")
    pack = next(path for path in packs if b"the word" in path.read_bytes())
    pack.write_bytes(pack.read_bytes().replace(b"the word", b"the wo\0d"))

    refused = command(folder, "resume", "-c", "print('got', y)")
    taken = command(folder, "resume", "--fallback", "-c", "print('got', y)")

    assert refused.returncode == 3
    assert "'y'" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert "--fallback" in refused.stderr
    assert taken.returncode == 0
    assert "got 2\n" in taken.stdout


@pytest.mark.slow
def test_a_console_reads_what_is_typed(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nbckpt", "resume"],
        cwd=folder,
        env={**environment(), "IPYTHONDIR": str(folder / ".ipython"), "TERM": "dumb"},
        input="print('got', k, z)\nexit\n",
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0
    assert "got 1 3\n" in done.stdout
