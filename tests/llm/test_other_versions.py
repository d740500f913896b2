"""openai 2 and litellm, and older HTTP libraries: in environments of their own, for they do not fit
beside what the tests stand on. What one version recorded is replayed by another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openai
import pytest

from nbckpt.testing import Provider
from tests.llm.beside import Beside, beside

OPENAI_2 = ("openai<3", "litellm", "mcp")
OLDER = ("openai<3", "httpx<0.28", "aiohttp<3.10", "urllib3<2", "grpcio")

CHANNEL = """
import os
import nbckpt
nbckpt.open(os.environ["STORE"], globals())
import grpc
from nbckpt.steps import current_session as current
grpc.secure_channel("dns:///api.x.ai:443", grpc.ssl_channel_credentials()).close()
grpc.insecure_channel("localhost:1").close()
print(*current.session().writes.news)
"""

CURL = """
import asyncio, os
import nbckpt
session = nbckpt.open(os.environ["STORE"], globals())
import pycurl
from curl_cffi import requests
from nbckpt.llm import scope, seams
with scope.entered("one"):
    curl = pycurl.Curl()
    curl.setopt(curl.URL, "https://api.openai.com/v1/responses")
    pycurl.Curl().setopt_string(pycurl.URL, "http://localhost:1/")
    assert isinstance(curl, pycurl.Curl)
async def ask(url):
    async with requests.AsyncSession() as client:
        try:
            await client.post(url, json={}, timeout=0.01)
        except requests.exceptions.RequestException:
            pass
with scope.entered("two"):
    asyncio.run(ask("https://api.anthropic.com/v1/messages"))
    asyncio.run(ask("https://api.anthropic.com/v1/messages"))
    asyncio.run(ask("http://localhost:1/"))
seams.uninstall()
assert pycurl.Curl.__mro__[1:] == (object,), pycurl.Curl.__mro__
print(*session.writes.news, sep="\\n")
"""

ASK = """
import json, os
import openai
from nbckpt.steps import current_session as current
from nbckpt.llm import scope
from nbckpt.session.session import Session
from nbckpt.storage.store import Store

said = [{"role": "user", "content": "hi"}]
schema = {"type": "object", "properties": {"city": {"type": "string"}}}
tools = [{"type": "function", "function": {"name": "weather", "parameters": schema}}]

def ask(folder, mode):
    store = Store.open(folder)
    session = current.begin(Session(store, {"__name__": "__main__"}, notebook="test"))
    client, told = openai.OpenAI(max_retries=0), []
    with scope.recording(mode), scope.entered("step"):
        chat, responses = client.chat.completions, client.responses
        told.append(chat.create(model="m", messages=said).to_dict())
        told += [chunk.to_dict() for chunk in chat.create(model="m", messages=said, stream=True)]
        told.append(chat.create(model="m", messages=said, tools=tools).to_dict())
        told.append(responses.create(model="m", input="hi").to_dict())
        told += [event.to_dict() for event in responses.create(model="m", input="hi", stream=True)]
        told.append(client.embeddings.create(model="m", input=["a", "b"]).to_dict())
        told.append(client.images.generate(model="gpt-image-1", prompt="a cat").to_dict())
        speech = client.audio.speech.create(model="tts-1", voice="alloy", input="hi")
        told.append(speech.content.hex())
        heard = client.audio.transcriptions.create(model="whisper-1", file=("a.wav", b"RIFF" * 20))
        told.append(heard.to_dict())
    session.wait()
    current.end()
    store.close()
    return json.dumps(told, sort_keys=True, indent=1)
"""

THERE = f"""{ASK}
print(openai.__version__.partition(".")[0])
print(ask(os.environ["REPLAYED"], "only"))
print("--")
print(ask(os.environ["RECORDED"], "replay"))
"""


@pytest.fixture(scope="session")
def environments(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where environments stay between runs."""
    cache = getattr(request.config, "cache", None)
    return tmp_path_factory.mktemp("beside") if cache is None else Path(cache.mkdir("beside"))


@pytest.fixture(scope="session")
def openai_2(environments: Path) -> Beside:
    return beside(environments, *OPENAI_2)


@pytest.mark.parametrize(
    ("which", "n"),
    [
        ("test_sdks and openai or litellm and (claude or openai_2 or embeddings)", 22),
        pytest.param("openai or litellm", 42, marks=pytest.mark.long),
    ],
)
@pytest.mark.slow
def test_openai_2_and_litellm_get_the_same_with_the_provider_stopped(
    which: str, n: int, openai_2: Beside
) -> None:
    files = ("tests/llm/test_sdks.py", "tests/llm/litellm_cases.py")
    told = openai_2.passes(*files, "-k", f"({which}) and not langchain")

    assert "skipped" not in told
    assert int(told.partition(" passed")[0].split()[-1]) >= n


@pytest.mark.parametrize(
    ("which", "n"),
    [
        (["tests/llm/test_urllib3.py", "tests/llm/test_aiohttp.py", "-k", "not _openai"], 20),
        pytest.param(
            ["tests/llm/test_sdks.py", "tests/llm/test_replay.py", "-k", "not langchain"], 55,
            marks=pytest.mark.long,
        ),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_older_http_libraries_give_the_same_with_the_provider_stopped(
    which: list[str], n: int, environments: Path
) -> None:
    told = beside(environments, *OLDER).passes(*which)

    assert int(told.partition(" passed")[0].split()[-1]) >= n


@pytest.mark.slow
def test_what_one_version_recorded_another_replays(
    openai_2: Beside, provider: Provider, tmp_path: Path
) -> None:
    here: dict[str, Any] = {}
    exec(ASK, here)  # what is said there, by the SDK of this environment
    assert int(openai.__version__.partition(".")[0]) >= 3
    stores = {"REPLAYED": str(tmp_path / "here"), "RECORDED": str(tmp_path / "there")}

    recorded_here = here["ask"](stores["REPLAYED"], "replay")
    assert provider.answered == 9
    version, _, told = openai_2.run(THERE, **provider.environment(), **stores).partition("\n")
    replayed_there, _, recorded_there = told.partition("\n--\n")
    assert provider.answered == 18
    provider.stop()

    assert version == "2"
    assert replayed_there == recorded_here
    assert here["ask"](stores["RECORDED"], "only") == recorded_there != recorded_here


@pytest.mark.slow
def test_a_channel_of_grpc_to_a_model_is_told_of(environments: Path, tmp_path: Path) -> None:
    told = beside(environments, *OLDER).run(CHANNEL, STORE=str(tmp_path / "store"))

    assert told.startswith("this notebook calls api.x.ai by gRPC that nbckpt does not see")
    assert "localhost" not in told


@pytest.mark.slow
def test_a_model_asked_by_curl_is_told_of(environments: Path, tmp_path: Path) -> None:
    told = beside(environments, "curl_cffi", "pycurl").run(CURL, STORE=str(tmp_path / "store"))

    assert [line.partition(" that nbckpt")[0] for line in told.splitlines()] == [
        "step 'one' calls api.openai.com by curl",
        "step 'two' calls api.anthropic.com by curl",
    ]


@pytest.mark.slow
def test_boto3_gets_the_same_with_the_provider_stopped(environments: Path) -> None:
    told = beside(environments, "boto3").passes("tests/llm/test_bedrock.py")

    assert "skipped" not in told
