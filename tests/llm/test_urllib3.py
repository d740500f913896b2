"""Calls through urllib3, and through requests, which stands on it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import requests
import urllib3

from nbckpt.llm import scope
from nbckpt.session.session import Session
from nbckpt.testing import Provider
from tests.llm.asking import body, failures_of, records_of, states_of

PATH = "/v1/chat/completions"


def _sync(provider: Provider) -> Any:
    answer = requests.post(provider.url + PATH, json=body(), timeout=20)
    answer.raise_for_status()
    return answer.status_code, answer.url, answer.json()


def _compressed(provider: Provider) -> Any:
    return requests.post(provider.url + PATH, json=body("[gzip]"), timeout=20).json()


def _lines(provider: Provider) -> Any:
    asked = body(stream=True)
    with requests.post(provider.url + PATH, json=asked, stream=True, timeout=20) as answer:
        return list(answer.iter_lines())


def _pieces(provider: Provider) -> Any:
    asked = body(stream=True)
    with requests.post(provider.url + PATH, json=asked, stream=True, timeout=20) as answer:
        return list(answer.iter_content(None))


def _sent(asked: dict[str, Any]) -> dict[str, Any]:
    """As version 1 takes it, too."""
    return {"body": json.dumps(asked), "headers": {"content-type": "application/json"}}


def _pool(provider: Provider) -> Any:
    with urllib3.PoolManager() as pool:
        return json.loads(pool.request("POST", provider.url + PATH, **_sent(body())).data)


def _undecoded(provider: Provider) -> Any:
    options: dict[str, Any] = {"preload_content": False, "decode_content": False}
    with urllib3.PoolManager() as pool:
        answer = pool.request("POST", provider.url + PATH, **_sent(body()), **options)
        return answer.read(7), answer.read()


@pytest.mark.parametrize("function", [_sync, _compressed, _lines, _pieces, _pool, _undecoded])
def test_the_same_comes_back_with_the_provider_stopped(
    function: Callable[[Provider], Any], provider: Provider, recorded: Session
) -> None:
    with scope.entered("step"):
        first = function(provider)
    assert provider.answered == 1
    assert states_of(recorded) == ["done"]
    provider.stop()

    with scope.entered("step"):
        assert function(provider) == first


def test_an_error_is_no_answer_and_gives_its_place_back(
    provider: Provider, recorded: Session
) -> None:
    with scope.entered("step"):
        statuses = [
            requests.post(provider.url + PATH, json=body("[fail=1]"), timeout=20).status_code
            for _ in range(2)
        ]

    assert statuses[0] >= 400
    assert statuses[1] == 200
    assert [r["occurrence"] for r in records_of(recorded)] == [0]
    assert len(failures_of(recorded)) == 1


def test_what_the_library_tries_again_takes_one_place(
    provider: Provider, recorded: Session
) -> None:
    retries = urllib3.Retry(3, status_forcelist=[429, 500, 503], allowed_methods=None)
    asked = body("[status=500][times=1]")
    with scope.entered("step"), urllib3.PoolManager(retries=retries) as pool:
        for _ in range(2):
            answer = pool.request("POST", provider.url + PATH, **_sent(asked))
            assert answer.status == 200

    assert [r["occurrence"] for r in records_of(recorded)] == [0, 1]


def test_a_stream_that_is_left_or_cut_is_no_answer(provider: Provider, recorded: Session) -> None:
    url, left, cut = (
        provider.url + PATH,
        body("[slow=0.05]", stream=True),
        body("[cut=2]", stream=True),
    )
    with scope.entered("step"):
        with requests.post(url, json=left, stream=True, timeout=20) as answer:
            next(answer.iter_lines())
        with (
            requests.post(url, json=cut, stream=True, timeout=20) as answer,
            pytest.raises(requests.RequestException),
        ):
            list(answer.iter_lines())

    assert states_of(recorded) == ["partial", "partial"]


@pytest.mark.slow
def test_a_stream_is_given_as_it_comes(provider: Provider, recorded: Session) -> None:
    asked = body("[slow=0.1]", stream=True)
    with (
        scope.entered("step"),
        requests.post(provider.url + PATH, json=asked, stream=True, timeout=20) as answer,
    ):
        pieces = answer.iter_content(None)
        next(pieces)
        assert not records_of(recorded)
        assert list(pieces)

    assert states_of(recorded) == ["done"]
