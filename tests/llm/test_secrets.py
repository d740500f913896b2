"""No key that a call goes with, and no secret of the environment, is ever written."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from nbckpt.llm import scope
from nbckpt.session import Session
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
