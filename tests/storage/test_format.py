"""A reader that knows nothing but `FORMAT.md` reads what nbckpt writes."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbckpt.session.session import Session
from nbckpt.storage.pruning import prune
from nbckpt.storage.store import Store
from nbckpt.storage.user import users_folder
from nbckpt.timeline.prune_retention import Retention
from tests.storage import second_reader

LINES = 200


@pytest.fixture
def session(tmp_path: Path) -> Any:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    session = Session(Store.open(tmp_path / "s"), namespace, notebook="n")
    yield session
    session.store.close()


def values() -> dict[str, Any]:
    """Values of all forms of chunk and part: small, large, mapped, pressed, zero, cut in groups."""
    random = np.random.default_rng(0)
    return {
        "small": np.arange(12, dtype="<i4").reshape(3, 4),
        "large": random.random((1000, 300)),
        "many": random.integers(0, 1 << 62, 3_000_000),
        "zeros": np.zeros(1_000_000),
        "fortran": np.asfortranarray(random.random((40, 50))),
        "view": np.arange(100.0)[::7],
        "empty": np.empty((0, 3), "f4"),
        "texts": np.array(["a", "bcd"]),
        "big_endian": np.arange(5, dtype=">u2"),
        "text": "x" * 600_000,
        "nested": {"a": [1, 2.5, None, (True, b"bytes")], "numbers": list(range(5000))},
    }


def opened(session: Session) -> second_reader.Store:
    key = bytes.fromhex((users_folder() / "key").read_text())
    return second_reader.Store(session.store.path, key)


def as_numpy(value: Any) -> Any:
    if not isinstance(value, second_reader.Array):
        return value
    flat = np.frombuffer(value.data, value.dtype)
    return flat.reshape(value.shape, order=value.order)  # type: ignore[call-overload]


def test_a_second_reader_lists_the_checkpoints(session: Session) -> None:
    for number, name in enumerate(("one", "two", "three")):
        session.namespace["x"] = number
        session.checkpoint(name)

    listed = opened(session).checkpoints

    known = session.timeline.checkpoints
    assert list(listed) == list(known)
    assert [
        (record["name"], record.get("parent"), record["branch"], record["created_at"])
        for record in listed.values()
    ] == [(c.name, c.parent, c.branch, c.created_at) for c in known.values()]


@pytest.mark.slow
def test_a_second_reader_brings_back_the_same_values(session: Session) -> None:
    session.namespace.update(values())
    kept = session.checkpoint("kept")
    session.namespace.update(large=None, nested=None)
    del session.namespace["small"]
    later = session.checkpoint("later")

    read = opened(session)

    for checkpoint in (later, kept):
        session.rewind(checkpoint.id)
        manifest = read.manifest(checkpoint.id)
        assert manifest.keys() == session.timeline.manifest(checkpoint.id).keys()
        for name in manifest.keys() & values().keys():
            found, value = as_numpy(read.value(checkpoint.id, name)), session.namespace[name]
            assert type(found) is type(value)
            np.testing.assert_array_equal(found, value, strict=isinstance(value, np.ndarray))
    assert values().keys() <= read.manifest(kept.id).keys()
    assert values().keys() - read.manifest(later.id).keys() == {"small"}


def test_a_second_reader_reads_what_a_prune_has_left(session: Session) -> None:
    session.namespace["x"] = np.arange(50_000.0)
    session.checkpoint("one")
    session.namespace["y"] = 1
    session.checkpoint("two")
    session.namespace["z"] = 2
    kept = session.checkpoint("three")
    path = session.store.path
    session.store.close()
    store = Store.open(path)
    prune(store, Retention(keep_last=1))
    store.close()

    read = opened(session)

    assert list(read.checkpoints) == [kept.id]
    assert read.checkpoints[kept.id].get("parent") is None
    np.testing.assert_array_equal(as_numpy(read.value(kept.id, "x")), np.arange(50_000.0))


def test_a_second_reader_builds_nothing_for_another_user(session: Session) -> None:
    session.namespace["x"] = 1
    kept = session.checkpoint("one")

    for key in (None, bytes(32)):
        read = second_reader.Store(session.store.path, key)
        assert list(read.checkpoints) == [kept.id]
        with pytest.raises(PermissionError):
            read.value(kept.id, "x")


def test_the_second_reader_is_short_and_knows_nothing_but_the_specification() -> None:
    source = Path(second_reader.__file__).read_text()
    nodes = list(ast.walk(ast.parse(source)))
    imported = {a.name for n in nodes if isinstance(n, ast.Import) for a in n.names}
    imported |= {n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)}

    roots = {name.partition(".")[0] for name in imported}

    assert roots <= {"blake3", "zstandard", *sys.stdlib_module_names}
    assert len(source.splitlines()) <= LINES
