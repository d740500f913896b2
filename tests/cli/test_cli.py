"""The command line on real stores: what it prints where, and its exit status."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nbckpt import __version__
from nbckpt.cli import main
from nbckpt.session.session import Session
from tests.running import environment, texts_of, write_notebook

VERBS = (
    "run", "log", "show", "diff", "sql", "check", "rewind", "fork", "switch", "update", "rerun",
    "resume", "tag", "note", "prune", "config", "demo", "approvals", "answer", "trust", "export",
    "key", "rekey",
)  # fmt: skip


@pytest.fixture
def kept(session: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Session:
    """A store in the working directory with `load`, `read` and, on a side line, `spoil`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NBCKPT_STORE", raising=False)
    space = session.namespace
    space["data"] = [1, 2, 3]
    session.checkpoint("load", note="the beginning", tags=["raw"])
    space["words"] = "日本 and more"
    session.checkpoint("read")
    space["data"] = None
    session.checkpoint("spoil")
    session.rewind("read")
    space["lock"] = (i for i in range(3))
    session.checkpoint("train")
    session.wait()
    return session


def test_the_log_lists_the_branch_newest_first(
    kept: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["log"])

    lines = capsys.readouterr().out.splitlines()
    assert status == 0
    assert [line.split()[1] for line in lines[1:]] == ["train", "read", "load"]
    assert "#raw; the beginning" in lines[3]


def test_the_log_of_the_newest_says_how_many_are_older(
    kept: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["log", "-n", "1"])
    lines = capsys.readouterr().out.splitlines()
    main(["log", "-n", "2", "--json"])
    found = json.loads(capsys.readouterr().out)

    assert [line.split()[1] for line in lines[1:-1]] == ["train"]
    assert lines[-1] == "… and 2 older: `-n 3` shows all"
    assert [c["name"] for c in found] == ["train", "read"]


@pytest.mark.parametrize("typed", ["0", "-1", "few"])
def test_a_log_of_no_number_is_refused(
    kept: Session, typed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", f"-n{typed}"]) == 2
    assert f"{typed!r} is no number of checkpoints" in capsys.readouterr().err


def test_the_log_of_all_branches_has_what_was_left_too(
    kept: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["log", "--all"])

    out = capsys.readouterr().out
    assert "○─╯  read" in out
    assert "spoil" in out
    assert "main.1" in out


def test_the_log_for_programs_is_json(kept: Session, capsys: pytest.CaptureFixture[str]) -> None:
    main(["log", "--json"])

    found = json.loads(capsys.readouterr().out)
    assert [c["name"] for c in found] == ["train", "read", "load"]
    assert found[0]["heads"] == ["main"]
    assert found[1]["parent"] == found[2]["id"]
    assert found[1]["changed"] == ["words"]
    assert found[2]["tags"] == ["raw"]
    assert found[2]["created_at"].endswith("+00:00")


def test_show_tells_variables_and_what_was_not_kept(
    kept: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["show", "train"])

    out = capsys.readouterr().out
    assert status == 0
    assert "[1, 2, 3]" in out
    assert "not kept\n    lock: generator" in out


def test_show_for_programs_has_each_variable(
    kept: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["show", "read", "--json"])

    found = json.loads(capsys.readouterr().out)
    changed = {v["name"]: v["changed"] for v in found["variables"]}
    assert changed == {"data": False, "words": True}
    assert found["outputs"] == []


def test_sql_answers_as_a_table_and_as_json(
    kept: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    query = (
        "select name, duration_s > 9 as slow, null as nothing from checkpoints where name = 'load'"
    )

    main(["sql", query])
    table = capsys.readouterr().out
    main(["sql", query, "--json"])
    found = json.loads(capsys.readouterr().out)

    assert [line.split() for line in table.splitlines()] == [
        ["name", "slow", "nothing"],
        ["load", "False"],
    ]
    assert found == [{"name": "load", "slow": False, "nothing": None}]


def test_a_sound_store_is_said_to_be(kept: Session, capsys: pytest.CaptureFixture[str]) -> None:
    kept.store.close()

    assert main(["check"]) == 0
    assert capsys.readouterr().out.startswith("all sound: 1 journal")
    assert main(["check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ok"] is True


def test_a_damaged_byte_is_found_and_its_checkpoint_named(
    kept: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    kept.store.close()
    pack = next((kept.store.path / "packs").glob("*.pack"))
    text = bytearray(pack.read_bytes())
    at = text.index("日本".encode())
    text[at] ^= 1
    pack.write_bytes(text)

    status = main(["check"])

    out = capsys.readouterr().out
    assert status == 3
    assert out.startswith("damaged: ")
    assert "'words'" in out
    assert out.splitlines()[-1].startswith("next: `nbckpt resume --fallback` brings back the")


def test_a_newer_store_is_refused_with_the_next_move(
    kept: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    (kept.store.path / "format.json").write_text('{"nbckpt": 99}')

    assert main(["log"]) == 3
    assert "upgrade nbckpt" in capsys.readouterr().err


@pytest.mark.parametrize(
    "typed",
    [
        *(["log"], ["show", "train"], ["diff", "~1", "~0"], ["status"], ["sql", "select 1"]),
        *(["check"], ["check", "--repair"], ["rewind", "train"], ["fork", "train", "try"]),
        *(["switch", "main"], ["update", "train", "x=1"], ["rerun", "train"], ["resume"]),
        *(["tag", "train", "t"], ["note", "train", "n"], ["prune"], ["cost"], ["config"]),
        *(["config", "retention_count", "3"], ["rekey", "--all"], ["trust"], ["trust", "--show"]),
        *(["export", "train", "out"], ["approvals"], ["answer", "q", "approve"]),
        *(["export", "train", "out", "--portable"], ["status", "--json"], ["run", "n.ipynb"]),
    ],
    ids=" ".join,
)
def test_a_store_from_before_1_0_gets_one_sentence_and_stays_as_it_is(
    kept: Session, typed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = kept.store.path
    (path / "format.json").write_text('{"format": 4, "id": "1234", "sum": "of other members"}')
    (path / "format.copy.json").unlink()
    Path("n.ipynb").write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
    before = {p: p.read_bytes() for p in path.rglob("*") if p.is_file()}

    assert main(typed) == 3

    (line,) = capsys.readouterr().err.splitlines()
    told = " is a store from before nbckpt 1.0 (format 4), which this version cannot read: move or"
    assert f"{path.name}{told} delete it, or name another store with NBCKPT_STORE" in line
    assert {p: p.read_bytes() for p in path.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["show", "trian"], "did you mean 'train'"),
        (["sql", "selec"], "syntax error"),
        (["log", "--store", "nowhere"], "no store at"),
        (["run", "nowhere.ipynb"], "nowhere.ipynb cannot be read"),
        (["show", "~9"], "before the first checkpoint"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_status_2(
    kept: Session, typed: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(typed)

    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert err.startswith("nbckpt: ")
    assert told in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("typed", [[], ["show"], ["run", "a.ipynb", "-p", "n"]])
def test_what_cannot_be_parsed_is_exit_status_2(
    typed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(typed) == 2
    assert "usage: nbckpt" in capsys.readouterr().err


def test_an_unknown_command_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lgo"]) == 2
    told = "lgo: there is no such command; did you mean `nbckpt log`? `nbckpt --help` lists them"
    assert capsys.readouterr().err == f"nbckpt: {told}\n"


def test_looking_makes_no_store_and_writes_into_none(
    kept: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {p: p.stat().st_mtime_ns for p in kept.store.path.rglob("*")}

    main(["log"])
    main(["show", "read"])
    main(["sql", "select 1"])
    main(["check"])
    main(["log", "--store", str(tmp_path / "elsewhere")])

    assert {p: p.stat().st_mtime_ns for p in kept.store.path.rglob("*")} == before
    assert not (tmp_path / "elsewhere").exists()


def test_a_log_sees_what_a_session_that_still_writes_has_made_durable(
    kept: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    kept.namespace["more"] = 1
    kept.checkpoint("evaluate", sync=True)

    main(["log"])

    assert capsys.readouterr().out.splitlines()[1].split()[1] == "evaluate"


@pytest.mark.slow
def test_a_pipe_that_is_closed_early_is_no_error(kept: Session) -> None:
    for _ in range(40):
        kept.checkpoint("again")
    kept.wait()
    command = f"{sys.executable} -m nbckpt sql 'select * from range(200000)' | head -n 1"

    done = subprocess.run(
        ["sh", "-c", command], env=environment(), capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["range"]
    assert done.stderr == ""


def test_help_and_version_come_without_anything_heavy() -> None:
    code = (
        "import sys; from nbckpt.cli import main; main(['--help']); main(['--version']);"
        "heavy = {'duckdb', 'pandas', 'pyarrow', 'numpy', 'IPython', 'nbclient', 'nbformat',"
        " 'rich', 'asyncio'} & set(sys.modules); print('heavy', sorted(heavy))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[-2:] == [f"nbckpt {__version__}", "heavy []"]
    for verb in VERBS:
        assert re.search(rf"\n    {verb}\s", done.stdout)


@pytest.mark.slow
def test_a_run_prints_a_table_and_for_a_failed_cell_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    monkeypatch.delenv("NBCKPT_STORE", raising=False)
    cells = {"defaults": "n = 1", "use": "print(n)", "bad": "n / 0"}
    notebook = write_notebook(tmp_path / "a.ipynb", cells, {"defaults": ["parameters"]})

    status = main(["run", str(notebook), "-p", "n", "7", "-p", "m", "x"])

    out, err = capsys.readouterr()
    assert status == 1
    assert [line.split()[1] for line in out.splitlines()[1:5]] == [
        "defaults",
        "injected-parameters",
        "use",
        "bad",
    ]
    assert "restored 0 of 4 cells" in out
    assert "[3/4] use" in err
    assert "without a default in a cell tagged 'parameters': 'm'" in err
    assert err.splitlines()[-1].startswith("nbckpt: cell 4 of 4 ('bad') failed: ZeroDivisionError")
    assert texts_of(tmp_path / "a.out.ipynb")["use"] == "7\n"

    status = main(["run", str(notebook), "-p", "n", "7", "-o", str(tmp_path / "b.ipynb"), "--json"])

    found = json.loads(capsys.readouterr().out)
    assert status == 1
    assert [c["way"] for c in found["cells"]] == ["restored", "ran", "restored", "ran"]
    assert found["out"] == str(tmp_path / "b.ipynb")


@pytest.mark.slow
def test_on_a_terminal_a_run_shows_a_bar_instead_of_lines(tmp_path: Path) -> None:
    loop = """
with nbckpt.checkpoint("read") as step:
    for i in step.track(range(12)):
        time.sleep(0.1)
"""
    write_notebook(tmp_path / "a.ipynb", {"tools": "import time, nbckpt", "loop": loop})
    code = (
        "import os, pty, sys; os.chdir(sys.argv[1]);"
        "sys.exit(pty.spawn([sys.executable, '-m', 'nbckpt', 'run', 'a.ipynb']))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env={**environment(), "TERM": "xterm", "COLUMNS": "60", "LINES": "20"},
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )

    assert "starting the kernel" in done.stdout
    assert " of 12" in done.stdout
    assert "1/2" in done.stdout
    assert "restored 0 of 2 cells" in done.stdout
    assert "[2/2]" not in done.stdout


@pytest.mark.parametrize("module", ["numbers", "duckdb", "pyarrow", "json", "typing"])
def test_nothing_is_imported_from_the_folder_where_one_stands(tmp_path: Path, module: str) -> None:
    (tmp_path / f"{module}.py").write_text("raise SystemExit('of a stranger')")

    done = subprocess.run(
        [sys.executable, "-m", "nbckpt", "log"],
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if k != "NBCKPT_STORE"},
        capture_output=True,
        text=True,
    )

    assert "of a stranger" not in done.stderr
    assert "there is no store at" in done.stderr
