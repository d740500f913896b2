"""What was paid for stays when a store is pruned, unless somebody asks for it to go."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbckpt.config.settings import Settings
from nbckpt.llm import scope
from nbckpt.session.maintenance import prune_request as pruning
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.storage.check import check
from nbckpt.storage.pruning import Pruned, prune
from nbckpt.storage.store import Store
from nbckpt.testing import Provider
from nbckpt.timeline.prune_retention import Retention
from nbckpt.timeline.recordings import RECORDING
from tests.llm.asking import body, post

ALL = Retention(keep_last=1, calls_days=0.0)
DAY_S = 86_400


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch):
    with Provider() as provider:
        yield provider


class Notebook:
    """Sessions on one store, one after the other."""

    def __init__(self, path: Path, provider: Provider) -> None:
        self.path, self.provider = path, provider
        self.begin()

    def begin(self) -> None:
        self.session = current_session.begin(
            Session(Store.open(self.path), {"__name__": "__main__"})
        )

    def restart(self) -> None:
        self.end()
        self.begin()

    def end(self) -> None:
        current_session.end()
        self.session.store.close()

    def step(self, name: str, *questions: str, kept: bool = True) -> list[str]:
        """The answers of a step that asks; `kept`: it ends, with a checkpoint."""
        with scope.entered(name) as place:
            answers = [post(self.provider.url, body(question)).text for question in questions]
        if kept:
            self.session.writes.record_event("model_calls", name=name, **place.members())
            self.session.namespace[name] = answers
            self.session.checkpoint(name)
        self.session.wait()
        self.session.refresh()
        return answers

    def prune(self, retention: Retention, now: float | None = None) -> Pruned:
        done = prune(self.session.store, retention, now=now)
        self.session.refresh()
        assert check(self.session.store.path).ok
        return done

    def paid(self, name: str, *questions: str) -> int:
        """How many of a step's questions have to be paid now."""
        before = self.provider.answered
        self.step(name, *questions, kept=False)
        return self.provider.answered - before


@pytest.fixture
def notebook(tmp_path: Path, provider: Provider):
    notebook = Notebook(tmp_path / ".nbckpt", provider)
    yield notebook
    notebook.end()


@pytest.mark.slow
@pytest.mark.parametrize("restarted", [True, False], ids=["after a restart", "while it lives"])
def test_calls_of_steps_without_a_checkpoint_go_when_asked(
    notebook: Notebook, restarted: bool
) -> None:
    notebook.step("gone", "a", "b")
    notebook.step("kept", "c")
    if restarted:
        notebook.restart()

    done = notebook.prune(ALL)

    assert (len(done.checkpoints), done.calls) == (1, 2)
    assert notebook.paid("kept", "c") == 0
    assert notebook.paid("gone", "a", "b") == 2
    notebook.restart()
    assert notebook.paid("gone", "a", "b") == 0


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_tag_to_forget_that_no_call_has_is_named(notebook: Notebook, dry_run: bool) -> None:
    notebook.step("kept", "c")

    done = prune(notebook.session.store, Retention(forget=("nope",)), dry_run=dry_run)

    assert done.calls == 0
    assert "no model call has the tag 'nope'" in pruning.text_of(done)


def test_they_stay_when_nobody_asks_and_go_with_a_later_prune(notebook: Notebook) -> None:
    notebook.step("gone", "a")
    notebook.step("kept", "b")
    notebook.restart()

    first = notebook.prune(Retention(keep_last=1))
    paid = notebook.paid("gone", "a")
    notebook.restart()
    second = notebook.prune(ALL)

    assert (first.calls, paid, second.calls) == (0, 0, 1)
    assert notebook.paid("gone", "a") == 1


def test_calls_of_a_run_that_died_stay(notebook: Notebook) -> None:
    notebook.step("done", "a")
    notebook.step("died", "b", "c", kept=False)
    notebook.restart()

    done = notebook.prune(ALL)

    assert done.calls == 0
    assert notebook.paid("died", "b", "c") == 0


def test_what_is_younger_than_asked_stays(notebook: Notebook) -> None:
    notebook.step("gone", "a")
    notebook.step("kept", "b")
    notebook.restart()
    at = notebook.session.timeline.head("main").created_at
    week = Retention(keep_last=1, calls_days=7.0)

    assert notebook.prune(week, now=at + 6 * DAY_S).calls == 0
    assert notebook.prune(week, now=at + 8 * DAY_S).calls == 1


def test_answers_leave_the_disk(notebook: Notebook) -> None:
    notebook.provider.large(200_000)
    notebook.step("gone", "a")
    notebook.step("kept", "b")
    notebook.restart()

    done = notebook.prune(ALL)

    assert done.freed_bytes > 100_000
    [left] = notebook.session.store.records(RECORDING)
    assert left["step"] == "kept"
    assert "and 1 call" in repr(done)
    assert "and 1 call," in pruning.text_of(done)


def test_a_dry_run_counts_them_and_takes_none(notebook: Notebook) -> None:
    notebook.step("gone", "a")
    notebook.step("kept", "b")

    told = prune(notebook.session.store, ALL, dry_run=True)

    assert told.calls == 1
    assert notebook.paid("gone", "a") == 0


def test_another_process_pays_anew_for_what_was_taken_meanwhile(
    notebook: Notebook, tmp_path: Path
) -> None:
    notebook.step("gone", "a")
    notebook.step("kept", "b")
    other = Store.open(tmp_path / ".nbckpt")

    assert prune(other, ALL).calls == 1
    other.close()
    notebook.session.refresh()

    assert notebook.paid("gone", "a") == 1
    assert not notebook.session.writes.news


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ({}, (None, ())),
        ({"recordings": True}, (0.0, ())),
        ({"recordings": False}, (None, ())),
        ({"recordings": 0.0}, (0.0, ())),
        ({"recordings": 30}, (30, ())),
        ({"forget": ("nightly",)}, (None, ("nightly",))),
    ],
)
def test_what_is_asked_for(typed: dict[str, object], expected: tuple[object, ...]) -> None:
    options = {"keep_last": None, "keep_days": None, "keep_tagged": True, "max_size": None}

    asked = pruning.asked(Settings(), **options, drop=(), **typed)  # type: ignore[arg-type]

    assert (asked.calls_days, asked.forget) == expected


def test_the_setting_counts_where_nothing_is_asked_for() -> None:
    options = {"keep_last": None, "keep_days": None, "keep_tagged": True, "max_size": None}

    asked = pruning.asked(Settings(retention_recordings=30.0), **options, drop=())  # type: ignore[arg-type]

    assert asked.calls_days == 30.0
