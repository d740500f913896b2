"""Keys come from a file, a variable or the keyring, and each that does not is told."""

from __future__ import annotations

import base64
import stat
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend

from nbckpt.cli import main
from nbckpt.config.config_file import write_setting
from nbckpt.config.settings_sources import encryption_from, settings_from, settings_of
from nbckpt.errors import SealedError, UsageError
from nbckpt.storage.key_sources import make_key, read_key
from nbckpt.storage.store import Store

KEY = bytes(range(224, 256))  # not drawn: each worker has to find tests of the same names
TEXTS = [KEY.hex(), KEY.hex().upper() + "\n", base64.b64encode(KEY).decode()]


class Ring(KeyringBackend):
    """A keyring in memory."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.held[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.held[service, username]


@pytest.fixture
def ring() -> Iterator[Ring]:
    before, ring = keyring.get_keyring(), Ring()
    keyring.set_keyring(ring)
    yield ring
    keyring.set_keyring(before)


@pytest.mark.parametrize("text", [*TEXTS, base64.urlsafe_b64encode(KEY).decode()])
def test_a_key_is_read_from_a_file_and_from_a_variable(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text(text)
    monkeypatch.setenv("MY_KEY", text)

    assert read_key(f"file:{tmp_path / 'key'}") == KEY
    assert read_key("env:MY_KEY") == KEY


@pytest.mark.parametrize("text", ["", "x", KEY.hex()[:-2], KEY.hex() + "00", "ä" * 64])
def test_what_is_no_key_is_told_and_not_shown(text: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(text)

    with pytest.raises(SealedError, match="64 hex digits") as refused:
        read_key(f"file:{tmp_path / 'key'}")
    assert len(text) < 2 or text not in str(refused.value)


@pytest.mark.parametrize("source", ["file:/nowhere/key", "env:NOT_SET_HERE"])
def test_a_key_that_is_not_there_is_told_with_its_place(source: str) -> None:
    with pytest.raises(SealedError, match=source.split(":")[1]):
        read_key(source)


def test_a_new_key_is_its_owners_alone_and_never_takes_anothers_place(tmp_path: Path) -> None:
    path = tmp_path / "key"

    source = make_key(str(path))

    assert len(read_key(source)) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_text()
    with pytest.raises(UsageError, match="is there already"):
        make_key(f"file:{path}")
    assert path.read_text() == before


def test_the_keyring_holds_keys_by_name(ring: Ring, tmp_path: Path) -> None:
    assert make_key("keyring:work") == "keyring:work"
    assert main(["key", "new", "keyring"]) == 0

    with pytest.raises(UsageError, match="'work' already"):
        make_key("keyring:work")
    assert set(ring.held) == {("nbckpt", "work"), ("nbckpt", "default")}
    assert read_key("keyring:work") != read_key("keyring")
    with pytest.raises(SealedError, match="nbckpt key new keyring:none"):
        read_key("keyring:none")
    store = Store.open(tmp_path / "s", key="keyring:work")
    store.close()
    assert Store.open(tmp_path / "s", key="keyring:work").cipher is not None


@pytest.mark.parametrize("text", ["on", "file:", "env:", "env:a-b", "key:x", "/a/path"])
def test_a_setting_that_names_no_key_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="file:PATH"):
        settings_from({"NBCKPT_ENCRYPTION": text})


def test_the_environment_alone_says_where_the_key_is(store: Store) -> None:
    store.config.write('{"encryption": "file:/somebody/elses"}')

    settings = settings_of(store, settings_from({}))

    assert settings.encryption == ""
    assert "encryption" in settings.problems[0]
    assert encryption_from({"NBCKPT_ENCRYPTION": "keyring"}) == "keyring"
    assert encryption_from({"NBCKPT_ENCRYPTION": "off"}) == ""
    with pytest.raises(UsageError, match="set NBCKPT_ENCRYPTION"):
        write_setting(store, "encryption", "keyring")


def test_a_plain_store_is_told_where_new_ones_are_encrypted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Store.open(tmp_path / "plain", key="off")
    monkeypatch.setenv("NBCKPT_ENCRYPTION", make_key(str(tmp_path / "key")))

    told = settings_of(plain).problems
    sealed = Store.open(tmp_path / "sealed")

    assert any("this store is not encrypted: `nbckpt rekey`" in problem for problem in told)
    assert settings_of(sealed).problems == ()
