"""Recordings that are too old to answer, and the words that they are found by."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest

from nbckpt.errors import ReplayError, UsageError
from nbckpt.llm import current, scope
from nbckpt.session.session import Session
from nbckpt.testing import Provider
from tests.llm.asking import body, post, records_of


def ask(provider: Provider, **options: Any) -> str:
    with scope.entered("step"), scope.recording(**options):
        return post(provider.url, body()).text


def test_a_recording_older_than_its_ttl_is_asked_anew_and_both_are_kept(
    provider: Provider, recorded: Session
) -> None:
    first = ask(provider, ttl="1d")
    assert ask(provider, ttl="1d") == first
    time.sleep(0.06)

    second = ask(provider, ttl=0.05)

    assert second != first
    assert ask(provider, ttl="1d") == ask(provider) == second
    assert provider.answered == 2
    assert len(records_of(recorded)) == 2


def test_nothing_answers_with_a_ttl_of_0(provider: Provider, recorded: Session) -> None:
    ask(provider, ttl=0)
    time.sleep(0.01)
    ask(provider, ttl=timedelta(0))

    assert provider.answered == 2


def test_only_says_that_what_was_recorded_is_too_old(provider: Provider, recorded: Session) -> None:
    ask(provider)
    time.sleep(0.06)

    with pytest.raises(
        ReplayError, match=r"in step 'step' was recorded longer ago than its ttl of 0.05"
    ):
        ask(provider, mode="only", ttl="50ms")

    assert ask(provider, mode="only", ttl="1h")


def test_what_is_recorded_in_a_block_has_its_tags_and_those_around_it(
    provider: Provider, recorded: Session
) -> None:
    recorder = current.recorder()
    assert recorder is not None
    recorder.tags = ("all",)
    with scope.recording(tags=["nightly"]), scope.entered("step"):
        with scope.recording("record", tags="draft"):
            post(provider.url, body())
        post(provider.url, body("no block of its own"))

    assert [r["tags"] for r in records_of(recorded)] == [
        ["all", "nightly", "draft"],
        ["all", "nightly"],
    ]
    found = recorded.sql("select count(*) from recordings where list_contains(tags, 'draft')")
    assert found.fetchall() == [(1,)]


def test_a_block_of_tags_alone_leaves_the_mode_around_it(
    provider: Provider, recorded: Session
) -> None:
    with scope.recording("off"):
        ask(provider, tags=["x"])
        assert records_of(recorded) == []
        ask(provider)

    assert len(records_of(recorded)) == 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"ttl": "soon"}, "ttl is 'soon': give seconds, or a text such as '12h' or '7d'"),
        ({"ttl": -1}, "ttl is -1: give"),
        ({"ttl": float("nan")}, "ttl is nan: give"),
        ({"tags": ["two words"]}, "tag 'two words': a tag is a word"),
        ({"tags": [""]}, "tag '': a tag is a word"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told), scope.recording(**options):
        pass


@pytest.mark.slow
def test_the_magic_sets_ttl_and_tags_for_the_notebook(
    shell: Any, provider: Provider, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.jupyter.test_cells import run

    code = f"import httpx\na = httpx.post('{provider.url}/v1/chat/completions', json={body()!r}).text\n"
    run(shell, "%nbckpt record on --ttl 50ms --tag nightly --tag x")
    assert "on, in cells that are kept; ttl 0.05 s; tags nightly, x" in capsys.readouterr().out
    run(shell, f"%%checkpoint ask\n{code}raise ValueError")
    time.sleep(0.06)
    run(shell, f"%%checkpoint ask\n{code}raise ValueError")
    assert provider.answered == 2
    run(shell, "%nbckpt record --ttl 1d")
    run(shell, f"%%checkpoint ask\n{code}raise ValueError")
    assert provider.answered == 2
    run(shell, "%nbckpt record on")
    capsys.readouterr()

    run(shell, "%nbckpt record --ttl never")

    assert "ttl is 'never': give seconds" in capsys.readouterr().out
    recorder = current.recorder()
    assert recorder is not None
    assert (recorder.ttl_s, recorder.tags) == (None, ())
