"""A server on loopback of what providers make, let run, and give back: batches, files, videos."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Json = dict[str, Any]

_USAGE = {
    "input_tokens": 3,
    "output_tokens": 4,
    "total_tokens": 7,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 0},
}


def _file(name: str, **_: Any) -> Json:
    told = {"object": "file", "bytes": 1, "created_at": 1, "filename": "a", "purpose": "batch"}
    return {"id": name, **told, "status": "uploaded"}


def _batch(name: str, state: str) -> Json:
    told = {"object": "batch", "endpoint": "/v1/chat/completions", "input_file_id": "file-1"}
    ended = {"output_file_id": f"file-of-{name}", "model": "m", "usage": _USAGE}
    told |= {"completion_window": "24h", "created_at": 1, "status": state}
    return {"id": name, **told, **(ended if state == "completed" else {})}


def _response(name: str, state: str) -> Json:
    said = {"type": "output_text", "text": f"answer of {name}", "annotations": []}
    message = {"type": "message", "id": "msg", "role": "assistant", "status": "completed"}
    told = {"object": "response", "created_at": 1, "model": "m", "status": state, "error": None}
    told |= {"tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    output = [{**message, "content": [said]}] if state == "completed" else []
    return {"id": name, **told, "output": output, "usage": _USAGE if output else None}


def _video(name: str, state: str) -> Json:
    told = {
        "object": "video",
        "model": "sora-2",
        "created_at": 1,
        "progress": 0,
        "size": "720x1280",
    }
    return {"id": name, **told, "seconds": "4", "status": state}


def _messages(name: str, state: str) -> Json:
    counts = {"processing": 0, "succeeded": 1, "errored": 0, "canceled": 0, "expired": 0}
    at = "2026-01-01T00:00:00Z"
    told = {"type": "message_batch", "request_counts": counts, "created_at": at, "expires_at": at}
    url = f"/v1/messages/batches/{name}/results" if state == "ended" else None
    return {"id": name, **told, "processing_status": state, "results_url": url}


def _operation(name: str, state: str) -> Json:
    ended = state == "completed"
    told = {"state": "BATCH_STATE_SUCCEEDED" if ended else "BATCH_STATE_RUNNING"}
    said = {"content": {"parts": [{"text": f"answer of {name}"}], "role": "model"}}
    inline = {"inlinedResponses": [{"response": {"candidates": [said]}}]}
    done = {"done": True, "response": {"inlinedResponses": inline}} if ended else {}
    return {"name": f"batches/{name}", "metadata": told, **done}


def _interaction(name: str, state: str) -> Json:
    told = {"object": "interaction", "model": "m", "status": state, "role": "model"}
    return {"id": name, "created": "2026-01-01T00:00:00Z", "updated": None, **told}


def _job(name: str, state: str) -> Json:
    counts = {"total_requests": 1, "completed_requests": 1, "succeeded_requests": 1}
    told = {"object": "batch", "input_files": ["f"], "endpoint": "/v1/chat/completions"}
    told |= {"errors": [], "status": "SUCCESS" if state == "completed" else "RUNNING"}
    return {"id": name, **told, "created_at": 1, **counts, "failed_requests": 0}


def _chat(n: int) -> Json:
    said = {"index": 0, "message": {"role": "assistant", "content": f"answer {n}"}}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    told = {"object": "chat.completion", "model": "m", "created": 1, "usage": usage}
    return {"id": f"c{n}", **told, "choices": [{**said, "finish_reason": "stop"}]}


def _agent(name: str) -> Json:
    told = {"model": "m", "name": "a", "version": 0, "versions": [0], "source": "api"}
    at = "2026-01-01T00:00:00Z"
    return {"id": name, **told, "created_at": at, "updated_at": at, "deployment_chat": False}


def _container(name: str) -> Json:
    return {"id": name, "object": "container", "name": "c", "created_at": 1, "status": "running"}


def _library(name: str) -> Json:
    at = "2026-01-01T00:00:00Z"
    told = {"name": "l", "owner_id": None, "owner_type": "User", "total_size": 0}
    told |= {"nb_documents": 0, "chunk_size": None}
    return {"id": name, **told, "created_at": at, "updated_at": at}


_MADE = {
    "files": ("file", lambda name, _: _file(name)),
    "batches": ("batch", _batch),
    "responses": ("resp", _response),
    "videos": ("video", _video),
    "messages/batches": ("msgbatch", _messages),
    "batch/jobs": ("job", _job),
    "interactions": ("v1", _interaction),
    "conversations": ("conv", lambda name, _: {"id": name, "object": "conversation", "created_at": 1}),
    "vector_stores": ("vs", lambda name, _: {"id": name, "object": "vector_store", "created_at": 1}),
    "agents": ("ag", lambda name, _: _agent(name)),
    "containers": ("cntr", lambda name, _: _container(name)),
    "fileSearchStores": ("fss", lambda name, _: {"name": f"fileSearchStores/{name}"}),
    "libraries": ("lib", lambda name, _: _library(name)),
    "predictions": (
        "p", lambda name, state: {"id": name, "status": _replicates(state), "output": ["hi"]}
    ),
}  # fmt: skip
_BEGINS = {"messages/batches": "in_progress", "responses": "queued"}


def _replicates(state: str) -> str:
    return "succeeded" if state == "completed" else "processing"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Jobs

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self._answer(body)

    do_GET = do_DELETE = do_PATCH = do_POST

    def _answer(self, body: bytes) -> None:
        path = self.path.partition("?")[0].partition("#")[0]
        path = re.sub(r"^/v1(?:beta)?/", "", path).strip("/")
        server = self.server
        with server.lock:
            server.asked[f"{self.command} {path}"] += 1
            server.seen.append((self.command, path, body))
            status, answer = server.answer(self.command, path)
        begins = self.headers.get("x-goog-upload-command") == "start"
        is_json = isinstance(answer, dict)
        data = json.dumps(answer).encode() if is_json else answer
        self.send_response(status)
        self.send_header("content-type", "application/json" if is_json else "application/binary")
        self.send_header("content-length", str(len(data)))
        if path.startswith("upload/"):
            made = f"{server.url}/{path}?upload_id={server.made(path)}"
            self.send_header("x-goog-upload-status", "active" if begins else "final")
            self.send_header("x-goog-upload-url", made)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


class Jobs(ThreadingHTTPServer):
    """A server that goes on with what was made for two polls, and then has it.

    Attributes
    ----------
    asked
        How often, by method and path.
    ends_as
        What jobs say at their end.
    gone
        Ids that are deleted.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.lock = threading.Lock()
        self.asked: Counter[str] = Counter()
        self.seen: list[tuple[str, str, bytes]] = []
        self.ends_as = "completed"
        self.gone: set[str] = set()
        self._polls: Counter[str] = Counter()
        self._made: Counter[str] = Counter()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Refuse connections from now on."""
        if self._thread.is_alive():
            self.shutdown()
            self._thread.join()
            self.server_close()

    def made(self, path: str) -> int:
        """How many were made."""
        return self._made[path]

    def answer(self, method: str, path: str) -> tuple[int, Json | bytes]:
        """Status and answer."""
        if any(name in path.split("/") for name in self.gone):
            return 404, {"error": {"message": "gone", "type": "not_found_error"}}
        if method == "DELETE":
            self.gone.add(path.split("/")[1])
            return 200, {"id": path.split("/")[1], "object": "file", "deleted": True}
        if method == "PATCH":
            return 200, _agent(path.split("/")[1])
        if method == "POST":
            return 201 if path == "libraries" else 200, self._make(path)
        return 200, self._tell(path)

    def _make(self, path: str) -> Json:
        if path.endswith("/search"):
            self._made["search"] += 1
            hit = {"file_id": "f", "filename": "a", "score": 1.0, "attributes": {}, "content": []}
            return {"object": "page", "search_query": [], "data": [hit], "has_more": False}
        if path.endswith("/items"):
            return {"object": "list", "data": [], "first_id": "", "last_id": "", "has_more": False}
        if path.startswith("upload/"):
            self._made[path] += 1
            name = f"files/f{self._made[path]}"
            return {
                "file": {"name": name, "uri": name, "mimeType": "text/plain", "state": "ACTIVE"}
            }
        if path.startswith("agents/") or path == "chat/completions":
            self._made[path] += 1
            return _chat(self._made[path])
        if ":" in path:
            self._made[path] += 1
            return _operation(f"b{sum(self._made.values())}", "running")
        self._made[path] += 1
        prefix, made = _MADE[path]
        begins = _BEGINS.get(path, "in_progress")
        return made(f"{prefix}_{sum(self._made.values())}", begins)

    def _tell(self, path: str) -> Json | bytes:
        kind, _, name = path.rpartition("/")
        if name in ("content", "results"):
            said = {"type": "message", "id": "m", "role": "assistant", "model": "m", "content": []}
            said |= {"stop_reason": "end_turn", "stop_sequence": None, "usage": _USAGE}
            line = {"custom_id": kind, "result": {"type": "succeeded", "message": said}}
            return json.dumps(line).encode() + b"\n"
        self._polls[path] += 1
        has_ended = self._polls[path] > 2
        if kind == "batches" and name.startswith("b") and not name.startswith("batch_"):
            return _operation(name, self.ends_as if has_ended else "running")
        ends = self.ends_as
        if kind == "messages/batches" and ends == "completed":
            ends = "ended"
        return _MADE[kind][1](name, ends if has_ended else "in_progress")
