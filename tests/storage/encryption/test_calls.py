"""Model calls and kept calls of an encrypted store are replayed, and their texts stand nowhere."""

from __future__ import annotations

from pathlib import Path

import httpx

from nbckpt.llm import scope
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.storage.store import Store
from nbckpt.testing import Provider
from tests.llm.asking import body

PROMPT, ANSWER = "PLANTED-in-the-prompt", "PLANTED-in-the-answer"


def ask(url: str) -> str:
    with scope.entered("PLANTED-step"):
        return httpx.post(f"{url}/v1/chat/completions", json=body(PROMPT)).text


def opened(path: Path) -> Session:
    return Session(Store.open(path), {"__name__": "__main__"}, notebook="n")


def test_a_call_is_replayed_and_its_texts_are_nowhere(key: str, tmp_path: Path) -> None:
    path = tmp_path / "s"
    session = current_session.begin(opened(path))
    try:
        with Provider(answer=lambda _: ANSWER) as provider:
            first = ask(provider.url)
            session.wait()
            current_session.end()
            session.store.close()
            session = current_session.begin(opened(path))
            again = ask(provider.url)
            assert len(provider.requests) == 1
    finally:
        current_session.end()

    assert ANSWER in first
    assert again == first
    assert session.sql("select step from recordings").fetchall() == [("PLANTED-step",)]
    for file in path.rglob("*"):
        assert not file.is_file() or b"PLANTED" not in file.read_bytes(), file
