"""What goes wrong on the way goes wrong in the same way with recording on, and is no answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import httpx2
import openai
import pytest
import requests

from nbckpt.llm import scope
from nbckpt.session.session import Session
from nbckpt.testing import Provider
from tests.llm.asking import body, states_of

SAID = body()["messages"]
FAULTS: dict[str, Callable[[Provider], Any]] = {
    "429 with a time": lambda p: p.fail(None, status=429, retry_after=0.01),
    "429 and then well": lambda p: p.fail(1, status=429, retry_after=0.01),
    "500": lambda p: p.fail(None, status=500),
    "malformed": lambda p: p.malformed(None),
    "wrong type": lambda p: p.wrong_type(times=None),
    "cut": lambda p: p.cut(after_chunks=2, times=None),
    "an error midway": lambda p: p.error_midway(after_chunks=2, times=None),
    "too slow": lambda p: p.slow(first_s=0.5),
    "stopped": lambda p: p.stop(),
}


def _patience(fault: str) -> Any:
    """Tries and seconds: an SDK waits half a second before it tries again, unless it is told."""
    return {"max_retries": int("429" in fault), "timeout": 0.1 if fault == "too slow" else 20}


def _openai(_: Provider, fault: str) -> Any:
    with openai.OpenAI(**_patience(fault)) as client:
        return client.chat.completions.create(model="m", messages=SAID)  # type: ignore[arg-type]


def _openai_stream(_: Provider, fault: str) -> Any:
    with openai.OpenAI(**_patience(fault)) as client:
        options: dict[str, Any] = {"model": "m", "messages": SAID, "stream": True}
        return list(client.chat.completions.create(**options))


def _anthropic_stream(_: Provider, fault: str) -> Any:
    import anthropic

    with (
        anthropic.Anthropic(**_patience(fault)) as client,
        client.messages.stream(model="m", max_tokens=9, messages=SAID) as stream,  # type: ignore[arg-type]
    ):
        return stream.get_final_message()


def _requests(provider: Provider, fault: str) -> Any:
    asked = body(stream=True)
    url = f"{provider.url}/v1/chat/completions"
    with requests.post(url, json=asked, timeout=_patience(fault)["timeout"], stream=True) as answer:
        return answer.status_code, [line for line in answer.iter_lines() if line]


def outcome(function: Callable[[Provider, str], Any], fault: str) -> tuple[str, int]:
    """What a caller sees, and how often the provider was asked."""
    with Provider() as provider, pytest.MonkeyPatch.context() as patch:
        for name, value in provider.environment().items():
            patch.setenv(name, value)
        FAULTS[fault](provider)
        try:
            value = function(provider, fault)
            seen = value.model_dump_json() if hasattr(value, "model_dump_json") else str(value)
        except Exception as error:
            cause = error.__cause__
            seen = (
                f"{type(error).__name__} {getattr(error, 'status_code', '')} {type(cause).__name__}"
            )
        return seen, len(provider.requests)


@pytest.mark.filterwarnings("default")  # the SDKs' own
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("function", [_openai, _openai_stream, _anthropic_stream, _requests])
def test_a_caller_sees_the_same_with_recording_on(
    function: Callable[[Provider, str], Any], fault: str, recorded: Session
) -> None:
    with scope.entered("step"), scope.recording("off"):
        plain = outcome(function, fault)
    with scope.entered("step"):
        seen = outcome(function, fault)

    assert seen == plain
    is_well = fault == "429 and then well" and function is not _requests
    is_whole = function is _openai and fault == "an error midway"
    assert states_of(recorded).count("done") == int(is_well or is_whole)


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_a_time_out_of_the_library_is_its_own(
    library: Any, provider: Provider, recorded: Session
) -> None:
    provider.slow(first_s=5)

    with scope.entered("step"), pytest.raises(library.ReadTimeout):
        library.post(f"{provider.url}/v1/chat/completions", json=body(), timeout=0.05)

    assert states_of(recorded) == []
