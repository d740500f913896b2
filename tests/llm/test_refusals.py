"""The disk refuses, or something is wrong with the recorder: the caller has its answer all the same."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import Any

import httpx
import pytest

from nbckpt.errors import StoreError
from nbckpt.llm import current, scope, waiting
from nbckpt.llm.call import Call
from nbckpt.session.session import Session
from nbckpt.testing import Provider
from tests.llm.asking import body, post, records_of


def test_a_disk_that_refuses_the_bytes_costs_the_recording_only(
    provider: Provider, recorded: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(parts: Any) -> str:
        message = "no space left"
        raise StoreError(message)

    monkeypatch.setattr(recorded.store, "put_blob", refuse)
    with scope.entered("step"):
        assert post(provider.url, body()).json()["choices"]

    assert list(recorded.writes.news) == ["an answer of openai is NOT recorded: no space left"]


@pytest.mark.parametrize("where", ["_look_at", "_problem"])
def test_a_defect_is_told_and_breaks_no_call(
    where: str, provider: Provider, recorded: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise KeyError(where)

    monkeypatch.setattr(Call, where, fail)
    with scope.entered("step"):
        assert "[DONE]" in post(provider.url, body(stream=True)).text

    (told,) = recorded.writes.news
    assert told.startswith("a model call was NOT recorded, by a defect in nbckpt: KeyError")


def test_a_defect_in_what_looks_for_recordings_is_told_and_breaks_no_call(
    provider: Provider, recorded: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = current.recorder()
    monkeypatch.setattr(recorder, "_lookup", None)
    with scope.entered("step"):
        assert post(provider.url, body()).json()["choices"]

    assert len(recorded.writes.news) == 1


def test_an_interrupted_call_gives_its_place_back(
    provider: Provider, recorded: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hurried() -> None:
        async with httpx.AsyncClient() as client:
            url = f"{provider.url}/v1/chat/completions"
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await client.post(url, json=body())
            provider.mend()
            await client.post(url, json=body())

    provider.slow(first_s=30)
    with scope.entered("step"):
        asyncio.run(hurried())

    assert [r["occurrence"] for r in records_of(recorded)] == [0]


def test_a_disk_that_hangs_holds_nobody_for_ever() -> None:
    never: Future[None] = Future()

    waiting.wait(never, patience_s=0.01)
    asyncio.run(waiting.wait_async(never, patience_s=0.01))

    assert not never.done()
