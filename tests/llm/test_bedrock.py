"""Bedrock: answers in frames, signed requests, models in the path."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import urllib3

from nbckpt.llm import scope
from nbckpt.llm.event_frames import events_in, frames_of
from nbckpt.session.session import Session
from tests.llm.asking import failures_of, records_of, states_of
from tests.llm.serving import served

MODEL = "anthropic.claude-3-haiku-20240307-v1%3A0"
ASKED = {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}
SIGNED = "AWS4-HMAC-SHA256 Credential=AK{n}/20260101/us-east-1/bedrock/aws4_request, Signature={n}"
USAGE = {"inputTokens": 5, "outputTokens": 7, "totalTokens": 12}


def frame(event: str, value: dict[str, Any], kind: str = "event") -> bytes:
    """One event as Bedrock writes it."""
    names = {f":{kind}-type": event, ":content-type": "application/json", ":message-type": kind}
    headers = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(text)) + text.encode()
        for name, text in names.items()
    )
    payload = json.dumps(value).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return message + struct.pack(">I", zlib.crc32(message))


def chunk(value: dict[str, Any]) -> bytes:
    return frame("chunk", {"bytes": base64.b64encode(json.dumps(value).encode()).decode()})


def said(text: str) -> list[bytes]:
    return [
        frame("messageStart", {"role": "assistant"}),
        frame("contentBlockDelta", {"delta": {"text": text}, "contentBlockIndex": 0}),
        frame("messageStop", {"stopReason": "end_turn"}),
        frame("metadata", {"usage": USAGE, "metrics": {"latencyMs": 1}}),
    ]


INVOKED = [
    chunk({"type": "message_start", "message": {"model": "claude", "usage": {"input_tokens": 5}}}),
    chunk({"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 5}}),
]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        server = self.server
        server.asked += 1
        way = self.path.rpartition("/")[2]
        if "stream" not in way:
            whole = {"output": {"message": {"role": "assistant", "content": [{"text": "a"}]}}}
            whole |= {"usage": USAGE, "stopReason": "end_turn", "metrics": {"latencyMs": 1}}
            own = {"generation": f"answer {server.asked}"}
            self._send([json.dumps(whole if way == "converse" else own).encode()], None)
            return
        pieces = server.pieces or (said(f"{server.asked}") if "converse" in way else INVOKED)
        self._send(pieces, "application/vnd.amazon.eventstream")

    def _send(self, pieces: list[bytes], kind: str | None) -> None:
        self.send_response(200)
        self.send_header("content-type", kind or "application/json")
        self.send_header("connection", "close")
        if kind is None:
            self.send_header("content-length", str(len(pieces[0])))
            self.send_header("x-amzn-bedrock-input-token-count", "5")
            self.send_header("x-amzn-bedrock-output-token-count", "7")
        else:
            self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            told = piece if kind is None else b"%x\r\n%b\r\n" % (len(piece), piece)
            self.wfile.write(told)
            self.wfile.flush()
        if kind is not None and not self.server.cuts:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    def log_message(self, *_: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked = 0
        self.cuts = False
        self.pieces: list[bytes] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


@pytest.fixture
def server() -> Iterator[_Server]:
    server = _Server()
    with served(server):
        yield server


def ask(server: _Server, way: str, n: int = 0) -> Any:
    headers = {"authorization": SIGNED.format(n=n), "content-type": "application/json"}
    url = f"{server.url}/model/{MODEL}/{way}"
    with urllib3.PoolManager(retries=False) as pool:
        answer = pool.request(
            "POST", url, body=json.dumps(ASKED), headers=headers, preload_content=False
        )
        return b"".join(answer.stream())


WAYS = ["converse", "converse-stream", "invoke", "invoke-with-response-stream"]


@pytest.mark.parametrize("way", WAYS)
def test_an_answer_is_replayed_whoever_signed_and_tells_its_tokens(
    way: str, server: _Server, recorded: Session
) -> None:
    with scope.entered("step"):
        first = ask(server, way, 1)
    with scope.entered("step"):
        assert ask(server, way, 2) == first

    assert server.asked == 1
    (record,) = records_of(recorded)
    assert record["provider"] == "aws.bedrock"
    assert record["model"] in ("anthropic.claude-3-haiku-20240307-v1:0", "claude")
    assert record["tokens_in"] == 5
    assert record["streamed"] == ("stream" in way)


def test_a_stream_that_fails_or_is_cut_is_no_answer(server: _Server, recorded: Session) -> None:
    failing = frame("throttlingException", {"message": "slow down"}, "exception")
    with scope.entered("step"):
        server.pieces = [said("a")[0], failing]
        ask(server, "converse-stream")
        server.pieces, server.cuts = said("a")[:2], True
        with pytest.raises(urllib3.exceptions.ProtocolError):
            ask(server, "converse-stream")

    assert states_of(recorded) == ["partial", "partial"]
    assert failures_of(recorded)[0] == "the stream said that it failed"


def test_a_stream_whose_last_frame_is_broken_is_no_answer(
    server: _Server, recorded: Session
) -> None:
    with scope.entered("step"):
        server.pieces = [*said("a")[:3], said("a")[3][:-3]]
        ask(server, "converse-stream")

    assert "done" not in states_of(recorded)


@pytest.mark.parametrize("way", ["converse-stream", "invoke-with-response-stream"])
@pytest.mark.parametrize("cut", [0.1, 0.4, 0.8])
def test_a_stream_that_ends_within_a_frame_is_no_answer(
    server: _Server, recorded: Session, way: str, cut: float
) -> None:
    whole = b"".join(said("a") if "converse" in way else INVOKED)
    server.pieces = [whole[: int(len(whole) * cut)]]
    with scope.entered("step"):
        ask(server, way)
    server.pieces = []
    with scope.entered("step"):
        ask(server, way)

    assert server.asked == 2


def test_a_stream_of_whole_frames_that_lacks_its_end_is_no_answer(
    server: _Server, recorded: Session
) -> None:
    server.pieces = said("a")[:2]
    with scope.entered("step"):
        ask(server, "converse-stream")

    assert "done" not in states_of(recorded)


@pytest.mark.parametrize(
    "headers",
    [{}, {"authorization": SIGNED.replace("bedrock", "s3")}, {"authorization": "Bearer x"}],
)
def test_a_path_like_bedrocks_is_another_services(
    headers: dict[str, str], server: _Server, recorded: Session
) -> None:
    with scope.entered("step"), urllib3.PoolManager() as pool:
        for _ in range(2):
            pool.request("POST", f"{server.url}/model/5/invoke", body="{}", headers=headers)

    assert server.asked == 2
    assert records_of(recorded) == []


def test_frames_are_whole_or_not() -> None:
    frames = said("hi")
    data = b"".join(frames)

    assert frames_of(data).is_whole
    assert [list(event) for event in events_in(data)][-1] == ["usage", "metrics"]
    assert next(events_in(b"".join(INVOKED)))["type"] == "message_start"
    for cut in (1, 5, 20):
        assert not frames_of(data[:-cut]).is_whole
        assert len(frames_of(data[:-cut]).payloads) == 3
    assert not frames_of(data.replace(b'"hi"', b'"ho"')).is_whole
    assert not frames_of(b"\0" * 40).is_whole


def _converse(client: Any) -> Any:
    answer = client.converse(modelId="m", **ASKED)
    return answer["output"], answer["usage"]


def _converse_stream(client: Any) -> Any:
    return list(client.converse_stream(modelId="m", **ASKED)["stream"])


def _invoke(client: Any) -> Any:
    return client.invoke_model(modelId="m", body=json.dumps(ASKED))["body"].read()


def _invoke_stream(client: Any) -> Any:
    asked = {"modelId": "m", "body": json.dumps(ASKED)}
    return list(client.invoke_model_with_response_stream(**asked)["body"])


@pytest.mark.slow
@pytest.mark.parametrize("function", [_converse, _converse_stream, _invoke, _invoke_stream])
def test_boto3_gets_the_same_again(
    function: Callable[[Any], Any], server: _Server, recorded: Session
) -> None:
    boto3 = pytest.importorskip("boto3")

    def client(key: str) -> Any:
        keys = {"aws_access_key_id": key, "aws_secret_access_key": key}
        return boto3.client("bedrock-runtime", "us-east-1", endpoint_url=server.url, **keys)

    with scope.entered("step"):
        first = function(client("one"))
    with scope.entered("step"):
        assert function(client("two")) == first

    assert server.asked == 1
    assert states_of(recorded) == ["done"]
    assert records_of(recorded)[0]["tokens_in"] == 5
