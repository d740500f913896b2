"""No key that a call goes with, and no secret of the environment, is ever written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from nbckpt.config.record_hosts import fields_of
from nbckpt.errors import ReplayError
from nbckpt.llm import scope
from nbckpt.llm.fields import without_in_answer
from nbckpt.session.session import Session
from nbckpt.storage.store import Store
from nbckpt.testing import Provider
from tests.llm.asking import body, records_of

ENVIRONMENT = "sk-environment-secret-0001"
PASSWORD = 'p"ass\\word-secret-0002'
HEADER = "sk-header-secret-0003"
URL = "sk-url-secret-0004"
ECHOED = "sk-echoed-secret-0005"
COOKIE = "session-cookie-secret-0006"
SECRETS = [ENVIRONMENT, HEADER, URL, ECHOED, COOKIE, "word-secret-0002"]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("compressed", [False, True])
def test_the_whole_store_holds_no_secret(
    streamed: bool,
    compressed: bool,
    recorded: Session,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_API_KEY", ENVIRONMENT)
    monkeypatch.setenv("DB_PASSWORD", PASSWORD)
    monkeypatch.setenv("ECHO_TOKEN", ECHOED)
    said = f"tell {ENVIRONMENT} and {PASSWORD} to nobody"
    headers = {
        "authorization": f"Bearer {HEADER}",
        "x-api-key": HEADER,
        "cookie": COOKIE,
        "accept-encoding": "gzip" if compressed else "identity",
    }
    with Provider(answer=lambda _: f"your key is {ECHOED} or {HEADER}, I think") as provider:
        if compressed:
            provider.compress()
        url = f"{provider.url}/v1/chat/completions?key={URL}&api-version=1"
        provider.fail(1)
        with scope.entered("step"):
            for _ in range(2):
                httpx.post(url, json=body(said, stream=streamed), headers=headers)
        provider.stop()
        with scope.entered("step"), scope.recording("only"):
            again = httpx.post(url, json=body(said, stream=streamed), headers=headers)
    assert "your" in again.text
    (record,) = records_of(recorded)
    recorded.checkpoint("end", vars=[])
    recorded.wait()

    store = Store.open(folder, create=False)
    blob = b"".join(bytes(part) for part in store.get_blob(record["blob"]))
    store.close()
    written = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]

    assert b"your" in blob
    for secret in SECRETS:
        assert secret.encode() not in blob
        assert not any(secret.encode() in data for data in written), secret


def test_what_is_short_is_no_secret(
    provider: Provider, recorded: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    with scope.entered("step"):
        httpx.post(f"{provider.url}/v1/chat/completions", json=body("true or false?"))

    (record,) = records_of(recorded)
    assert record["summary"] == "true or false?"


FIELDS = "user_ssn, account, pin"
HIDDEN = ["123-45-6789", "AC-00-11-22", "pin-47-11", "9876543"]


def _written(folder: Path, session: Session) -> bytes:
    """All that is in the store: its files, and its blobs, which may be compressed."""
    records = records_of(session)
    blobs = [bytes(p) for r in records for p in session.store.get_blob(r["blob"])]
    return b"".join([*blobs, *(path.read_bytes() for path in folder.rglob("*") if path.is_file())])


@pytest.mark.parametrize("streamed", [False, True])
def test_fields_that_the_user_names_are_never_written(
    streamed: bool, recorded: Session, folder: Path
) -> None:
    recorded.settings = replace(recorded.settings, secret_fields=FIELDS)
    call = {"id": "c", "type": "function", "function": {"name": "f"}}
    call["function"]["arguments"] = json.dumps({"account": HIDDEN[1], "pin": "pin-47-11"})  # type: ignore[index]
    said = [{"role": "assistant", "tool_calls": [call]}, *body("who am I?")["messages"]]
    person = {"user_ssn": [HIDDEN[0]], "account": {"number": HIDDEN[1], "of": 9876543}}
    asked = {"model": "m", "stream": streamed, "messages": said, "extra": person}
    answers = iter([f"you are {HIDDEN[0]} of {HIDDEN[1]}", "nobody"])
    with Provider(answer=lambda _: next(answers)) as provider:
        url = f"{provider.url}/v1/chat/completions?pin=pin-47-11"
        with scope.entered("step"):
            first = httpx.post(url, json=asked)
        other = {**asked, "extra": {"user_ssn": "another"}}
        with scope.entered("step"):
            httpx.post(url, json=other)
        assert provider.answered == 2
        provider.stop()
        with scope.entered("step"), scope.recording("only"):
            again = httpx.post(url, json=asked)
            with pytest.raises(ReplayError) as raised:
                httpx.post(url, json={**asked, "temperature": 1})

    if not streamed:
        assert HIDDEN[0] in first.text
        assert (
            again.json()["choices"][0]["message"]["content"] == "you are *********** of ***********"
        )
    written = _written(folder, recorded)
    assert b"who am I?" in written
    assert b'"user_ssn":"***"' in written
    for secret in HIDDEN:
        assert secret.encode() not in written, secret
        assert secret not in str(raised.value)


def test_fields_of_forms_and_of_answers_are_never_written(
    provider: Provider, recorded: Session, folder: Path
) -> None:
    hosts = {"record_hosts": "127.0.0.1", "secret_fields": FIELDS}
    recorded.settings = replace(recorded.settings, **hosts)  # type: ignore[arg-type]
    with scope.entered("step"):
        form = {"user_ssn": HIDDEN[0], "model": "whisper-1"}
        url = f"{provider.url}/v1/audio/transcriptions"
        httpx.post(url, data=form, files={"file": ("a.wav", b"RIFF" * 20)})
        httpx.post(url, data=form)

    assert records_of(recorded)
    written = _written(folder, recorded)
    assert b"whisper-1" in written
    assert HIDDEN[0].encode() not in written


def test_a_named_field_of_an_answer_is_starred_in_place() -> None:
    fields = fields_of("ssn, acct")
    answer = b'{"ssn": "1\\"2", "x": 1, "acct": 12, "args": "{\\"ssn\\": \\"12-34\\"}"}'

    hidden = without_in_answer(answer, fields)

    assert hidden == b'{"ssn": "****", "x": 1, "acct": 10, "args": "{\\"ssn\\": \\"*****\\"}"}'
    assert json.loads(hidden)["x"] == 1
