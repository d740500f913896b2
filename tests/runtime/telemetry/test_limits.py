"""How large variables, the store and what waits for the disk may become."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbckpt
from nbckpt.config.config_file import write_setting
from nbckpt.config.settings import Settings, prune_size, variable_of
from nbckpt.config.settings_sources import settings_from, with_stored
from nbckpt.errors import StoreError, UsageError
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.storage.check import check
from nbckpt.storage.sizes import size_of
from nbckpt.storage.store import Store
from nbckpt.testing import Provider
from tests.kernels import Kernel
from tests.llm.asking import ask, records_of

MB = 1_000_000


@pytest.fixture
def limited(store: Store) -> Iterator[Session]:
    """A session that leaves out what has more than a megabyte."""
    session = Session(store, {}, notebook="test", settings=Settings(max_value_size=MB))
    yield session
    current_session.end()


# -- a variable


@pytest.mark.parametrize(
    ("large", "told"),
    [
        (np.zeros(2 * MB, dtype=np.uint8), "big: numpy.ndarray has 2 MB, more than max_value_size"),
        ("t" * 2 * MB, "big: str has 2 MB, more than max_value_size (1 MB) lets through"),
        (bytearray(3 * MB), "big: bytearray has 3 MB, more than"),
        ([str(n) for n in range(300_000)], "big: list is larger than max_value_size (1 MB)"),
        ({"a": [np.ones(200_000)]}, "big: dict has 1.6 MB, more than"),
    ],
    ids=["array", "text", "bytes", "list", "within"],
)
def test_a_variable_that_is_too_large_is_left_out_and_named_with_its_size(
    limited: Session, large: object, told: str
) -> None:
    limited.namespace |= {"big": large, "small": [1, 2]}

    kept = limited.checkpoint("a")

    (refusal,) = kept.refused
    assert str(refusal).startswith(told)
    assert set(kept.changed) >= {"small"}
    assert "big" not in kept.changed
    assert size_of(limited.store.path) < MB


def test_what_is_too_large_is_found_before_it_is_read(limited: Session) -> None:
    limited.namespace["big"] = np.zeros(500 * MB, dtype=np.uint8)
    limited.namespace["numbers"] = list(range(3 * MB))

    began = time.process_time()
    kept = limited.checkpoint("a")
    took_s = time.process_time() - began

    assert {refusal.variable for refusal in kept.refused} == {"big", "numbers"}
    assert took_s < 0.3


def test_what_stands_in_for_a_part_of_something_large_does_not_bring_it_along(
    limited: Session,
) -> None:
    base = np.zeros(2 * MB, dtype=np.uint8)
    limited.namespace |= {"base": base, "view": base[:10], "small": 1}

    kept = limited.checkpoint("a")

    assert "base" in {refusal.variable for refusal in kept.refused}
    assert "small" in kept.changed
    assert size_of(limited.store.path) < MB


def test_a_variable_that_shrinks_is_kept_again(limited: Session) -> None:
    limited.namespace["x"] = b"1" * 2 * MB
    limited.checkpoint("a")
    limited.namespace["x"] = b"1"

    kept = limited.checkpoint("b")

    assert not kept.refused
    assert "x" in kept.changed


def test_a_higher_limit_holds_from_the_next_checkpoint_on(limited: Session) -> None:
    limited.namespace["x"] = b"1" * 2 * MB
    limited.checkpoint("a")

    limited.settings = Settings(max_value_size=3 * MB)
    limited.workspace.ran(None)
    kept = limited.checkpoint("b")

    assert not kept.refused
    assert "x" in kept.changed


@pytest.mark.slow
def test_a_notebook_is_told_what_was_left_out_and_how_to_raise_the_limit(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run("%nbckpt config max_value_size 1MB")
        first = kernel.run("%%checkpoint load\nbig = 'x' * 2_000_000; small = 1")
        kernel.run("%nbckpt config max_value_size none")
        second = kernel.run("%%checkpoint load --rerun\nbig = 'x' * 2_000_000; small = 1")
        kernel.run("%nbckpt config max_value_size 1MB")
        refused = kernel.run("%nbckpt config max_value_size 0")

    assert first.notices == [
        "nbckpt: not kept: big: str has 2 MB, more than max_value_size (1 MB) lets through"
    ]
    assert second.notices == []
    assert size_of(tmp_path / ".nbckpt") > 2_000
    assert "max_value_size is '0'; it is a size of 1 byte or more, such as 500MB" in refused.error


# -- the store


def filled(session: Session, name: str, size: int = 3 * MB) -> None:
    """Keep `size` bytes that no store has yet."""
    session.namespace["x"] = np.random.default_rng().bytes(size)
    session.workspace.ran(None)
    session.checkpoint(name, sync=True)


def test_a_checkpoint_that_would_pass_the_limit_is_not_kept(store: Store) -> None:
    session = Session(store, {}, notebook="test", settings=Settings(max_store_size=10 * MB))
    for name in "abc":
        filled(session, name)

    with pytest.raises(StoreError) as refusal:
        filled(session, "d")

    assert re.fullmatch(
        r"the store has 9\.\d+ MB and may have no more than 10 MB \(max_store_size\): `nbckpt prune`"
        r" makes room, `nbckpt config max_store_size SIZE` allows more",
        str(refusal.value),
    )
    assert size_of(store.path) < 10 * MB
    assert [c.name for c in session.history()] == ["c", "b", "a"]
    assert check(store.path).ok


def test_what_the_store_has_already_costs_no_room(store: Store) -> None:
    session = Session(store, {}, notebook="test", settings=Settings(max_store_size=5 * MB))
    filled(session, "a", 4 * MB)

    session.namespace["copy"] = bytes(bytearray(session.namespace["x"]))  # type: ignore[call-overload]
    session.workspace.ran(None)
    session.checkpoint("b", sync=True)

    assert session.get("b").name == "b"


def test_a_prune_makes_room(store: Store) -> None:
    session = Session(store, {}, notebook="test", settings=Settings(max_store_size=10 * MB))
    for name in "abc":
        filled(session, name)
    with pytest.raises(StoreError, match="max_store_size"):
        filled(session, "d")

    from nbckpt.session.maintenance.prune_request import prune
    from nbckpt.timeline.prune_retention import Retention

    session.store._writer.begin_new_packs()
    prune(session, Retention(keep_last=1))
    other = Session(
        Store.open(store.path), {}, notebook="o", settings=Settings(max_store_size=10 * MB)
    )
    filled(other, "d")

    assert other.get("d").name == "d"
    other.store.close()


def test_model_calls_are_kept_where_checkpoints_are_not(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    import openai

    settings = Settings(max_store_size=20_000)
    with Provider() as provider:
        session = current_session.begin(
            Session(store, {"__name__": "__main__"}, notebook="test", settings=settings)
        )
        session.namespace["x"] = np.random.default_rng().bytes(100_000)
        from nbckpt.llm import scope

        with (
            scope.entered("ask"),
            openai.OpenAI(base_url=f"{provider.url}/v1", api_key="k") as client,
        ):
            ask(client, "one")
            ask(client, "two " * 20_000)
        with pytest.raises(StoreError, match="max_store_size"):
            session.checkpoint("a")

    assert len(records_of(session)) == 2
    current_session.end()


@pytest.mark.slow
def test_a_notebook_goes_on_where_its_store_is_full_and_says_so(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run("%nbckpt config max_store_size 2MB")
        kernel.run("%%checkpoint one\nimport random; x = random.Random(1).randbytes(1_500_000)")
        refused = kernel.run("%%checkpoint two\ny = random.Random(2).randbytes(1_500_000); z = 5")
        value = kernel.value("(z, len(y))")
        kernel.run("%nbckpt config max_store_size none")
        after = kernel.run("%%checkpoint three\nz = 6")
        status = kernel.run("%nbckpt log")

    assert refused.ok
    assert "checkpoint 'two' was NOT kept: the store has 1.5" in refused.stderr
    assert "`%nbckpt prune` makes room" in refused.stderr or "`nbckpt prune`" in refused.stderr
    assert value == "(5, 1500000)"
    assert not after.stderr
    assert "three" in status.stdout


def test_prunes_begin_before_the_store_is_full() -> None:
    assert prune_size(Settings()) is None
    assert prune_size(Settings(max_store_size=10 * MB)) is None
    assert prune_size(Settings(max_size=5 * MB, max_store_size=10 * MB)) == 5 * MB
    assert prune_size(Settings(max_size=50 * MB, max_store_size=10 * MB)) == 9 * MB


# -- what waits


@pytest.mark.slow
def test_with_no_background_memory_all_is_written_while_the_cell_is_held(store: Store) -> None:
    session = Session(store, {}, notebook="test", settings=Settings(max_background_memory=0))
    session.namespace["x"] = np.random.default_rng(0).bytes(20 * MB)
    session.namespace["y"] = np.random.default_rng(0).random(MB)

    session.checkpoint("a")

    assert store._writer.waiting._lent_bytes == 0
    assert not store._writer.waiting


def test_the_limit_of_background_memory_outlives_a_fork(store: Store) -> None:
    import os

    store.let_wait(1234)
    if (child := os.fork()) == 0:
        os._exit(0 if store._writer.waiting.most_bytes == 1234 else 1)

    assert os.waitpid(child, 0)[1] == 0


# -- settings


@pytest.mark.parametrize("name", ["max_value_size", "max_store_size", "max_background_memory"])
def test_a_limit_is_set_in_either_place_and_taken_off_again(name: str, store: Store) -> None:
    variable = variable_of(name)
    write_setting(store, name, "64MB")

    assert getattr(settings_from({variable: "64MB"}), name) == 64 * MB
    assert getattr(with_stored(Settings(), store.config.text()), name) == 64 * MB

    write_setting(store, name, "")
    assert getattr(with_stored(Settings(), store.config.text()), name) == getattr(Settings(), name)


def test_the_environment_can_say_that_there_is_no_limit() -> None:
    environment = settings_from({"NBCKPT_MAX_STORE_SIZE": "none"})

    assert with_stored(environment, '{"max_store_size": "1MB"}').max_store_size is None


@pytest.mark.parametrize(
    ("name", "text"),
    [("max_value_size", "0"), ("max_store_size", "0"), ("max_value_size", "much"),
     ("max_store_size", "-1"), ("max_background_memory", "none"), ("telemetry", "maybe")],
)  # fmt: skip
def test_what_a_limit_cannot_be_is_told(name: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"{variable_of(name)} is '{text}'; it is "):
        settings_from({variable_of(name): text})


def test_telemetry_that_cannot_be_had_is_told_at_the_next_prompt(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)

    session: Any = Session(store, {}, settings=Settings(telemetry="on"))

    assert session.writes.news[0].startswith("telemetry is on, and the package opentelemetry-api")
    assert nbckpt.runtime.telemetry.watching() is None
    session.settings = Settings()
