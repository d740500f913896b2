"""Settings that somebody else left in a store: nothing is deleted, kept, paid or sent for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nbckpt.cli import main
from nbckpt.config.config_file import write_setting
from nbckpt.config.setting_kinds import NAMES, OF_ANYBODY
from nbckpt.config.settings_sources import settings_from, settings_of
from nbckpt.errors import UntrustedError
from nbckpt.jupyter.shell import load, unload
from nbckpt.session.maintenance import trust_verb
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.storage.store import Store

THEIRS: dict[str, object] = {
    "verify": "raise",
    "retention_count": 1, "retention_days": 1, "max_size": 1, "max_value_size": 1,
    "max_store_size": 1, "capture_timeout_s": 1, "retention_recordings": 0, "auto": "on", "prices": "m=0/0",
    "record_hosts": "example.org", "telemetry": "on",
    "idle_s": 7, "patience_s": 7, "track_share": 0.5, "max_background_memory": 7,
    "secret_fields": "user", "approvals": "fail",
    "budget": "5", "match_ignore": "user", "stream_usage": "off",
}  # fmt: skip


def theirs(path: Path, settings: dict[str, object] = THEIRS) -> Store:
    """A store of one's own, in which somebody else has left settings."""
    store = Store.open(path)
    session = Session(store, {"x": 1})
    session.checkpoint("first", sync=True)
    session.namespace["x"] = 2
    session.checkpoint("second", sync=True)
    (path / "config.json").write_text(json.dumps(settings))
    return store


def test_only_what_harms_nobody_counts(tmp_path: Path) -> None:
    store = theirs(tmp_path / "s")

    settings = settings_of(store, settings_from({}))

    assert set(THEIRS) == set(NAMES)
    assert set(settings.origins) == OF_ANYBODY
    assert settings.idle_s == 7
    (problem,) = settings.problems
    assert problem.startswith("config.json was not written by you")
    for name in set(NAMES) - OF_ANYBODY:
        assert name in problem
    assert "nbckpt trust --show" in problem
    store.close()


def test_no_command_deletes_by_them_before_they_are_trusted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = {"retention_count": 1, "record_hosts": "example.org"}
    theirs(tmp_path / "s", said).close()
    where = ["--store", str(tmp_path / "s")]
    main(["log", "--all", "--json", *where])
    before = capsys.readouterr().out

    assert main(["prune", *where]) == 0
    told = capsys.readouterr().err
    main(["log", "--all", "--json", *where])
    assert json.loads(capsys.readouterr().out) == json.loads(before)
    assert main(["config", "max_size", "2GB", *where]) == 3
    refused = capsys.readouterr().err
    shown = main(["trust", "--show", *where]), capsys.readouterr().out
    assert main(["trust", "--yes", *where]) == 0
    given = capsys.readouterr().out
    assert main(["prune", *where]) == 0
    capsys.readouterr()
    main(["log", "--all", "--json", *where])

    assert "retention_count, record_hosts" in told
    assert "do not count" in told
    assert "or delete the file" in refused
    assert shown[0] == 3
    assert "record_hosts=example.org" in shown[1]
    assert "not yours   its settings" in shown[1]
    assert given.startswith("trusted: settings in ")
    assert [c["name"] for c in json.loads(capsys.readouterr().out)] == ["second"]


def test_what_is_changed_after_somebody_looked_is_not_trusted(tmp_path: Path) -> None:
    store = theirs(tmp_path / "s")
    told = trust_verb.strange(store, Session(store, {}).timeline)
    (store.path / "config.json").write_text('{"max_size": 5}')

    with pytest.raises(UntrustedError, match="look again"):
        trust_verb.take_over(store, told.seen)
    trust_verb.trust(store, Session(store, {}).timeline)
    once = settings_of(store, settings_from({}))
    (store.path / "config.json").write_text('{"max_size": 6}')

    assert once.max_size == 5
    assert settings_of(store, settings_from({})).max_size is None
    store.close()


def test_what_one_has_set_counts_for_oneself_and_for_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(tmp_path / "s")
    write_setting(store, "max_size", "2GB")
    store.close()

    again = Store.open(tmp_path / "s")
    assert settings_of(again, settings_from({})).max_size == 2_000_000_000
    again.close()
    monkeypatch.setenv("NBCKPT_HOME", str(tmp_path / "another"))
    other = Store.open(tmp_path / "s")
    assert settings_of(other, settings_from({})).max_size is None
    other.close()


def test_a_notebook_begins_nothing_by_them_until_it_trusts_them(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    store = current_session.session().store
    unload(shell)
    (store.path / "config.json").write_text('{"auto": "on", "max_value_size": "2MB"}')
    capsys.readouterr()
    load(shell)
    told = capsys.readouterr().err

    shell.run_cell("x = 1", store_history=True)
    session = current_session.session()
    before = list(session.timeline.checkpoints), session.settings.max_value_size
    shell.run_line_magic("nbckpt", "trust")

    assert "auto, max_value_size in it do not count" in told
    assert "`%nbckpt trust`" in told
    assert before == ([], None)
    assert session.settings.max_value_size == 2_000_000
