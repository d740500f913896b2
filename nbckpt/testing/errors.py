"""The providers' own words for what went wrong. Pure."""

from __future__ import annotations

import json
from dataclasses import replace
from http import HTTPStatus

from nbckpt.testing.replies import Call
from nbckpt.testing.wire import NDJSON, Answer, Json, json_answer, sse

OPENAI = {
    400: "invalid_request_error",
    401: "invalid_request_error",
    404: "invalid_request_error",
    429: "rate_limit_error",
}
ANTHROPIC = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
GEMINI = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def error_answer(provider: str, status: int, message: str, param: str | None = None) -> Answer:
    """An error of `status` in the shape that `provider` gives it."""
    if provider == "mistral" and param is not None and status == 400:
        status = 422
    return json_answer(_shape(provider, status, message, param), status)


def broken_off(call: Call, answer: Answer, after: int) -> Answer:
    """A stream that begins as `answer` and tells an error; its head has said 200 long ago."""
    error = _shape(call.provider, 500, "Failed on request, in the middle of the answer.", None)
    if answer.media_type == NDJSON:
        last = json.dumps(error).encode() + b"\n"
    elif call.provider == "anthropic":
        last = sse("error", error)
    elif call.path.endswith("/responses"):
        last = sse("error", {**error["error"], "type": "error", "sequence_number": after})
    else:
        last = sse(None, error)
    return replace(answer, chunks=(*answer.chunks[:after], last), is_broken=True)


def _shape(provider: str, status: int, message: str, param: str | None) -> Json:
    match provider:
        case "anthropic":
            kind = ANTHROPIC.get(status, "api_error")
            error = {"type": kind, "message": message}
            return {"type": "error", "error": error, "request_id": "req_offline"}
        case "gemini":
            kind = GEMINI.get(status, "UNKNOWN")
            return {"error": {"code": status, "message": message, "status": kind}}
        case "ollama":
            return {"error": message}
        case "mistral" if status == 422:
            where = ["body", param]
            detail = [{"type": "missing", "loc": where, "msg": message, "input": None}]
            return {
                "object": "error",
                "message": {"detail": detail},
                "type": "invalid_request_error",
            }
        case "mistral":
            return {"object": "error", "message": message, "type": "api_error", "code": str(status)}
    kind = OPENAI.get(status, "server_error")
    code = "rate_limit_exceeded" if status == HTTPStatus.TOO_MANY_REQUESTS else None
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}
