"""Settings: the environment, then the store's `config.json`, then what is usual."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from nbckpt.config.config_file import write_setting
from nbckpt.config.setting_kinds import NAMES
from nbckpt.config.settings import Settings, table
from nbckpt.config.settings_sources import settings_from, settings_of, with_stored
from nbckpt.errors import StoreError, UsageError
from nbckpt.session.session import open_session
from nbckpt.storage.store import Store


def test_without_anything_said_all_is_usual() -> None:
    assert settings_from({}) == Settings()
    assert with_stored(settings_from({}), None) == Settings()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("retention_count", "50", 50),
        ("retention_days", "30", 30.0),
        ("retention_days", "30 days", 30.0),
        ("retention_days", "2 weeks", 14.0),
        ("max_size", "2GB", 2_000_000_000),
        ("max_size", "500 MB", 500_000_000),
        ("max_size", "1 GiB", 1 << 30),
        ("idle_s", "0", 0.0),
        ("patience_s", "250 ms", 0.25),
        ("track_share", "0.5", 0.5),
        ("auto", "every  30 s", "every 30s"),
        ("auto", "cost", "cost"),
        (
            "record_hosts",
            "api.example.com/v1, localhost:8000",
            "api.example.com/v1, localhost:8000",
        ),
        ("secret_fields", "user_ssn", "user_ssn"),
    ],
)
def test_a_setting_is_read_from_either_place(name: str, text: str, value: object) -> None:
    variable = f"NBCKPT_{name.upper()}"
    of_environment = settings_from({variable: text})
    of_store = with_stored(Settings(), json.dumps({name: text}))

    assert getattr(of_environment, name) == getattr(of_store, name) == value
    assert of_environment.origins == {name: variable}
    assert of_store.origins == {name: "config.json"}


@pytest.mark.parametrize(
    ("name", "text"),
    [("retention_count", "0"), ("retention_count", "1.5"), ("retention_days", "-1"),
     ("max_size", "big"), ("max_size", "1 parsec"), ("track_share", "1.1"), ("track_share", "nan"),
     ("idle_s", "soon"), ("auto", "sometimes"), ("patience_s", "inf"),
     ("record_hosts", "two words"), ("record_hosts", "api.example.com="), ("secret_fields", "a b"),
     ("match_ignore", "a b"), ("match_ignore", "trace_id, stream"), ("match_ignore", "messages")],
)  # fmt: skip
def test_what_a_setting_cannot_be_is_named_with_where_it_stands(name: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"NBCKPT_{name.upper()} is '{text}'; it is "):
        settings_from({f"NBCKPT_{name.upper()}": text})

    settings = with_stored(Settings(), json.dumps({name: text}))
    assert getattr(settings, name) == getattr(Settings(), name)
    (problem,) = settings.problems
    assert f"config.json: {name} is '{text}'; it is " in problem


def test_the_environment_wins_over_the_store() -> None:
    settings = with_stored(settings_from({"NBCKPT_AUTO": "on"}), '{"auto": "off", "idle_s": 9}')

    assert (settings.auto, settings.idle_s) == ("on", 9.0)


@pytest.mark.parametrize("text", ["{", "[1]", "null", '{"idle_s": }', "\x00"])
def test_a_file_that_is_no_settings_costs_nothing_but_itself(text: str) -> None:
    settings = with_stored(Settings(), text)

    (problem,) = settings.problems
    assert "config.json cannot be read" in problem
    assert settings.idle_s == Settings().idle_s


def test_one_bad_member_does_not_cost_the_others() -> None:
    settings = with_stored(Settings(), '{"idle_s": [5], "auto": "on", "colour": "blue"}')

    assert (settings.idle_s, settings.auto) == (5.0, "on")
    assert len(settings.problems) == 2
    assert "config.json: colour is no setting; there are" in settings.problems[1]


def test_what_is_written_holds_for_all_who_open_the_store(store: Store) -> None:
    write_setting(store, "max_size", "2GB")
    write_setting(store, "idle_s", "7")
    write_setting(store, "auto", "every 5")

    again = settings_of(Store.open(store.path, create=False), Settings())

    assert (again.max_size, again.idle_s, again.auto) == (2_000_000_000, 7.0, "every 5")
    written = json.loads((store.path / "config.json").read_text())
    del written["sum"]
    assert written == {"max_size": "2GB", "idle_s": 7, "auto": "every 5"}


def test_settings_that_a_damaged_disk_changed_do_not_count(store: Store) -> None:
    write_setting(store, "retention_count", "50")
    path = store.path / "config.json"
    path.write_text(path.read_text().replace("50", "10"))

    settings = settings_of(store, Settings())

    assert settings.retention_count is None
    assert "config.json is damaged, or was edited by hand" in settings.problems[0]
    path.write_text('{"retention_count": 10}')
    store.trust.vouch()
    assert settings_of(store, Settings()).retention_count == 10


def test_an_empty_text_forgets_a_setting(store: Store) -> None:
    write_setting(store, "idle_s", "7")

    write_setting(store, "idle_s", "")

    assert settings_of(store, Settings()).idle_s == 5.0


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [("colour", "blue", "there is no such setting"), ("max_size", "huge", "max_size is 'huge'")],
)
def test_what_cannot_be_set_changes_nothing(store: Store, name: str, text: str, told: str) -> None:
    write_setting(store, "idle_s", "7")
    before = (store.path / "config.json").read_text()

    with pytest.raises(UsageError, match=told):
        write_setting(store, name, text)

    assert (store.path / "config.json").read_text() == before


def test_a_damaged_file_is_not_overwritten(store: Store) -> None:
    (store.path / "config.json").write_text("{oops")

    with pytest.raises(UsageError, match=r"config\.json cannot be read"):
        write_setting(store, "idle_s", "7")

    assert (store.path / "config.json").read_text() == "{oops"


def test_a_folder_in_the_files_place_is_told_and_costs_no_store(store: Store) -> None:
    (store.path / "config.json").mkdir()

    settings = settings_of(store, Settings())

    assert "config.json cannot be read" in settings.problems[0]
    with pytest.raises(StoreError, match=r"config\.json cannot be read"):
        write_setting(store, "idle_s", "7")


def test_the_table_tells_value_origin_and_meaning_of_each() -> None:
    settings = with_stored(
        settings_from({"NBCKPT_STORE": "/s", "NBCKPT_IDLE_S": "2"}), '{"max_size": "1GB"}'
    )

    rows = {row.name: row for row in table(settings)}

    assert set(rows) == {"store", "encryption", *NAMES}
    assert rows["store"][1:3] == ("/s", "NBCKPT_STORE")
    assert rows["idle_s"][1:3] == ("2", "NBCKPT_IDLE_S")
    assert rows["max_size"][1:3] == ("1000000000", "config.json")
    assert rows["auto"][1:3] == ("off", "default")
    assert rows["retention_count"][1:3] == ("none", "default")
    assert all(row.meaning for row in rows.values())


def test_a_script_is_warned_of_bad_settings_and_goes_on(tmp_path: Path) -> None:
    Store.open(tmp_path / "s").config.write('{"idle_s": "soon"}')

    with pytest.warns(UserWarning, match=r"config\.json: idle_s is 'soon'"):
        session = open_session(tmp_path / "s", {})

    assert session.settings.idle_s == 5.0
    session.store.close()


def test_a_notebook_is_told_of_bad_settings_and_goes_on(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    from nbckpt.jupyter.shell import load, unload
    from nbckpt.steps import current_session

    current_session.session().store.config.write('{"idle_s": "soon", "auto": "every 2"}')
    unload(shell)
    capsys.readouterr()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(shell)

    assert "config.json: idle_s is 'soon'" in capsys.readouterr().err
    assert str(current_session.session().policy) == "every 2"
