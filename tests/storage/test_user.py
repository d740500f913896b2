"""The folder of a user: his key, and whom he trusts."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nbckpt.errors import StoreError
from nbckpt.storage.store import Store
from nbckpt.storage.user import User, users_folder
from tests.running import environment
from tests.storage.users import checkpoint, timeline_of, trusted_in, user, write


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a user who has done nothing yet."""
    monkeypatch.setenv("NBCKPT_HOME", str(tmp_path / "home" / "nbckpt"))
    return tmp_path / "home" / "nbckpt"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_first_write_makes_a_key_that_is_its_users_alone(home: Path, tmp_path: Path) -> None:
    Store.open(tmp_path / "s").close()
    assert not home.exists()

    write(tmp_path / "s", 1)

    assert [mode(path) for path in (home, home / "key")] == [0o700, 0o600]
    assert len(bytes.fromhex((home / "key").read_text())) == 32
    assert set(trusted_in(tmp_path / "s").values()) == {True}


def test_a_key_that_comes_back_while_a_store_is_open_makes_its_lines_trusted(
    home: Path, tmp_path: Path
) -> None:
    write(tmp_path / "s", 1)
    (home / "key").rename(tmp_path / "away")
    store = Store.open(tmp_path / "s")
    assert {c.trusted for c in timeline_of(store).checkpoints.values()} == {False}

    (tmp_path / "away").rename(home / "key")

    assert {c.trusted for c in timeline_of(store).checkpoints.values()} == {True}
    store.close()


def test_a_key_that_is_made_by_the_first_write_has_nothing_read_anew(
    home: Path, tmp_path: Path
) -> None:
    store = Store.open(tmp_path / "s")
    store.all_records()
    for n in (1, 2, 3):
        store.append(checkpoint(store, n, b"value %d" % n)).result()
        store.all_records()
    generation = store.generation
    store.close()

    assert (home / "key").exists()
    assert generation == 0


def test_sessions_that_begin_at_once_make_one_key(home: Path) -> None:
    code = "from nbckpt.storage.user import User; print(User().key(make=True).hex())"

    def begin(_: int) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    with ThreadPoolExecutor(4) as pool:
        keys = set(pool.map(begin, range(4)))
    with ThreadPoolExecutor(8) as pool:
        keys |= {key.hex() for key in pool.map(lambda _: User().key(make=True), range(50)) if key}

    assert keys == {(home / "key").read_text().strip()}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"NBCKPT_HOME": "/a/b"}, "/a/b"),
        ({"JUPYTER_DATA_DIR": "/j", "XDG_DATA_HOME": "/x"}, "/j/nbckpt"),
        ({"XDG_DATA_HOME": "/x"}, "/x/jupyter/nbckpt"),
        ({"HOME": "/h"}, "/h/.local/share/jupyter/nbckpt"),
    ],
)
def test_the_folder_is_where_jupyter_keeps_data(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    for name in ("NBCKPT_HOME", "JUPYTER_DATA_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", "linux")

    assert users_folder() == Path(expected)


def test_a_tilde_in_its_name_is_the_users_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/of/me")
    monkeypatch.setenv("NBCKPT_HOME", "~/keys")

    assert users_folder() == Path("/home/of/me/keys")


def test_it_is_where_jupyter_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from jupyter_core.paths import jupyter_data_dir

    monkeypatch.delenv("NBCKPT_HOME")
    assert users_folder() == Path(jupyter_data_dir()) / "nbckpt"


def test_a_key_that_others_may_read_is_closed_to_them(home: Path) -> None:
    key = User().key(make=True)
    home.chmod(0o755)
    (home / "key").chmod(0o644)

    assert User().key() == key
    assert [mode(path) for path in (home, home / "key")] == [0o700, 0o600]


@pytest.mark.parametrize("which", ["key", "."])
def test_a_key_that_another_user_could_have_put_there_is_not_used(
    home: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    if os.geteuid():
        pytest.skip("only root gives files away")
    User().key(make=True)
    os.chown(home / which, 12345, -1)
    them = User()

    assert them.key(make=True) is None
    assert "belongs to another user" in them.problem


def spoil_folder(home: Path) -> None:
    home.parent.mkdir()
    home.write_text("")


def spoil_key(home: Path) -> None:
    User().key(make=True)
    (home / "key").write_text("abc")


def spoil_link(home: Path) -> None:
    User().key(make=True)
    (home / "key").rename(home / "elsewhere")
    (home / "key").symlink_to(home / "elsewhere")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [(spoil_folder, "not a directory"), (spoil_key, "64 hex"), (spoil_link, "link")],
)
def test_without_a_key_work_goes_on_and_it_is_said_once(
    home: Path, tmp_path: Path, spoil: object, reason: str
) -> None:
    assert callable(spoil)
    spoil(home)
    store = Store.open(tmp_path / "s")

    with pytest.warns(UserWarning, match=f"(?s){reason}.*set NBCKPT_HOME"):
        records = checkpoint(store, 1, b"some")
    store.append(records).result()
    store.append(checkpoint(store, 2, b"more")).result()  # and a second warning would be an error

    assert [c.trusted for c in timeline_of(store).checkpoints.values()] == [True, True]
    store.close()
    assert set(trusted_in(tmp_path / "s").values()) == {False}
    assert b'"mac"' not in next((tmp_path / "s" / "journal").iterdir()).read_bytes()


def test_a_lost_key_leaves_nothing_that_is_trusted_until_it_is_again(
    home: Path, tmp_path: Path
) -> None:
    write(tmp_path / "s", 1)
    (home / "key").unlink()
    write(tmp_path / "s", 2)

    assert list(trusted_in(tmp_path / "s").values()) == [False, True]
    store = Store.open(tmp_path / "s")
    assert store.trust.vouch() == (1, 4, 1)
    store.close()

    assert set(trusted_in(tmp_path / "s").values()) == {True}


# -- vouching


def test_vouching_trusts_what_is_there_and_not_what_comes_later(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with user(tmp_path / "other"):
        write(path, 1)
        live = Store.open(path)
        live.append(checkpoint(live, 2, b"two")).result()
    before = {p: p.read_bytes() for p in path.rglob("*") if p.is_file()}
    store = Store.open(path)

    found = store.trust.untrusted()
    generation = store.generation
    assert store.trust.vouch() == found == (2, 8, 2)

    assert not store.trust.untrusted()
    assert store.generation > generation
    assert {p: p.read_bytes() for p in path.rglob("*") if p.is_file()} == before
    live.append(checkpoint(live, 3, b"three")).result()
    assert [c.trusted for c in timeline_of(store).checkpoints.values()] == [True, True, False]
    assert list(trusted_in(path).values()) == [True, True, False]
    store.close()
    live.close()


def test_an_open_session_notices_what_another_vouches_for(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with user(tmp_path / "other"):
        write(path, 1)
    first, second = Store.open(path), Store.open(path)
    assert [c.trusted for c in timeline_of(first).checkpoints.values()] == [False]
    blob = timeline_of(first).checkpoints[f"id{1:018}"].changed["x"].blob
    generation = first.generation

    second.trust.vouch()

    assert [c.trusted for c in timeline_of(first).checkpoints.values()] == [True]
    assert first.generation > generation
    assert first.blobs.can_rely_on(blob)
    first.close()
    second.close()


def test_a_vouch_outlives_damage_of_other_lines(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with user(tmp_path / "other"):
        write(path, 1)
        write(path, 2)
    store = Store.open(path)
    store.trust.vouch()
    store.close()
    first = min((path / "journal").iterdir())
    first.write_bytes(first.read_bytes().replace(b'"main"', b'"mein"', 1))

    assert trusted_in(path) == {f"id{2:018}": True}


def test_trust_in_a_folder_that_cannot_be_written_says_so(home: Path, tmp_path: Path) -> None:
    with user(tmp_path / "other"):
        write(tmp_path / "s", 1)
    spoil_folder(home)
    store = Store.open(tmp_path / "s")

    with pytest.raises(StoreError, match="set NBCKPT_HOME to a folder of yours"):
        store.trust.vouch()

    store.close()
