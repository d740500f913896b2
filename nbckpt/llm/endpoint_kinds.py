"""Kinds of endpoints that are model calls, and the ends of their answers: a table. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple


class Kind(NamedTuple):
    """An endpoint that several providers speak.

    Attributes
    ----------
    provider
        Whose it is where the host says nothing, under its OpenTelemetry name.
    path
        What the path ends with.
    needs
        Members of a JSON body without which it is something else that has such a path. Of what
        stands in one tuple, one is enough.
    ends
        What is in the last event of a stream and in no other.
    enough
        What is in a stream that has said everything, though more may come.
    is_json
        Whether an answer that is no stream is JSON.
    takes_any
        Whether whatever comes back with a good status is an answer.
    is_common
        Whether other services have such a path, so that the host or the SDK has to tell.
    is_own
        Whether no other provider has it.
    until
        Member of a JSON answer, with dots between, → what it says when nothing more follows: what
        says something else is asked again, and not kept. Empty if each answer is the last.
    """

    name: str
    provider: str
    path: re.Pattern[str]
    needs: tuple[tuple[str, ...], ...] = ()
    ends: re.Pattern[bytes] | None = None
    enough: re.Pattern[bytes] | None = None
    is_json: bool = True
    takes_any: bool = False
    method: str = "POST"
    is_common: bool = False
    is_own: bool = False
    until: Mapping[str, frozenset[object]] = {}

    @property
    def is_read(self) -> bool:
        """True if equal requests are no samples: they read what is there."""
        return self.method == "GET" or bool(self.until)


_DONE = re.compile(rb"\ndata: ?\[DONE\]")
_LAST_LINE = re.compile(rb'"done": ?true')
_STOP = re.compile(rb'"stop": ?true')
_MESSAGE_STOP = re.compile(rb'"type": ?"message_stop"')
_STOP_REASON = re.compile(rb'"stop_reason": ?"')
_MESSAGE_END = re.compile(rb'"(?:type|event_type)": ?"(?:message-end|stream-end)"')
_RESPONSE_END = re.compile(rb'"type": ?"response\.(?:completed|incomplete)"')
_CONVERSATION_END = re.compile(rb'"type": ?"conversation\.response\.done"')
_INTERACTION_END = re.compile(rb'"event_type": ?"interaction\.completed?"')
_FINISH_REASON = re.compile(rb'"finishReason": ?"')
_METADATA = re.compile(rb":event-type\x07\x00\x08metadata")
FAILED = re.compile(
    rb'\n(?:event: ?error\b|data: ?\{"(?:error"|type": ?"(?:error|response\.failed)")|\{"error")'
    rb"|:message-type\x07\x00(?:\x09exception|\x05error)"
)
"""Pattern of the error in a stream that fails after it has begun."""

FAILURES = frozenset(
    {
        "aborted", "canceled", "cancelled", "errored", "expired", "failed", "stopped",
        "timeout_exceeded",
    }
)  # fmt: skip
"""States of jobs that ended without a result, in lower case and without a prefix."""


def _kind(name: str, provider: str, path: str, *needs: str, **more: Any) -> Kind:
    wanted = tuple(tuple(need.split("|")) for need in needs)
    return Kind(name, provider, re.compile(rf"(?:^|/){path}$"), wanted, **more)


def _poll(provider: str, path: str, member: str, *states: object, **more: Any) -> Kind:
    """Question for what goes on: it costs nothing, and only its last answer is kept."""
    until = {member: frozenset(states)}
    options: dict[str, Any] = {"method": "GET", "is_common": True, "until": until, **more}
    return _kind("poll", provider, path, **options)


def _result(provider: str, path: str) -> Kind:
    """Download of what a job has brought, or of a file: the same each time."""
    return _kind(
        "result", provider, path, method="GET", is_common=True, is_json=False, takes_any=True
    )


_ONE = "[^/:]+"
_COMMON: dict[str, Any] = {"is_common": True}
_BINARY: dict[str, Any] = {"is_common": True, "is_json": False, "takes_any": True}
_PUBLISHED = r"publishers/[^/]+/models/[^/]+"
_BEDROCK = "model/[^/]+"
_MADE = (
    "agents|batches|batch/jobs|cachedContents|containers|conversations|fileSearchStores|files"
    "|interactions|libraries|responses|vector_stores"
)

_ASKED = (
    _kind("chat", "openai", "chat/completions", "messages", ends=_DONE),
    _kind("responses", "openai", "responses", "model", "input|prompt", ends=_RESPONSE_END),
    _kind("responses", "openai", "responses", "prompt", is_common=True, ends=_RESPONSE_END),
    _kind("responses", "openai", "responses/compact", "model"),
    _kind("count_tokens", "openai", "responses/input_tokens", "model|input"),
    _kind(
        "messages", "anthropic", "messages", "model", "messages",
        ends=_MESSAGE_STOP, enough=_STOP_REASON,
    ),
    _kind("count_tokens", "anthropic", "messages/count_tokens", "model", "messages"),
    _kind("embeddings", "openai", "embeddings", "model", "input"),
    _kind("embeddings", "ollama", "api/embed(?:dings)?", "model", "input|prompt"),
    _kind("chat", "ollama", "api/chat", "model", "messages", ends=_LAST_LINE),
    _kind("generate", "ollama", "api/generate", "model", ends=_LAST_LINE),
    _kind("chat", "mistral_ai", "agents/completions", "agent_id", "messages", ends=_DONE),
    _kind("completions", "openai", "(?:fim/)?completions", "model", "prompt", ends=_DONE),
    _kind(
        "completions", "anthropic", "complete", "prompt", "max_tokens_to_sample",
        ends=_STOP_REASON,
    ),
    _kind("completions", "llama_cpp", "completion", "prompt", "n_predict|cache_prompt", ends=_STOP),
    _kind("images", "openai", "images/(?:generations|edits|variations)"),
    _kind("speech", "openai", "audio/speech", "input", is_json=False),
    _kind("transcription", "openai", "audio/(?:transcriptions|translations)", is_json=False),
    _kind("moderations", "openai", "moderations", "input"),
    _kind("ocr", "mistral_ai", "ocr", "model", "document"),
    _kind("rerank", "cohere", "rerank", "query", "documents|texts", "model|texts|top_n|top_k"),
    _kind(
        "chat", "mistral_ai", f"conversations(?:/{_ONE}(?:/restart)?)?", "inputs",
        is_common=True, ends=_CONVERSATION_END,
    ),
    _kind("search", "openai", f"vector_stores/{_ONE}/search", "query", **_COMMON),
    _kind("videos", "openai", rf"videos(?:/{_ONE}/remix|/edits|/extensions)?", **_COMMON),
)  # fmt: skip

_OF_GOOGLE = (
    _kind("generate", "gcp.gemini", r"[^/]+:(?:streamG|g)enerateContent", enough=_FINISH_REASON),
    _kind("embeddings", "gcp.gemini", r"[^/]+:(?:batchE|e)mbedContents?"),
    _kind("count_tokens", "gcp.gemini", r"[^/]+:countTokens"),
    _kind("images", "gcp.gemini", r"imagen-[^/]*:predict"),
    _kind("videos", "gcp.gemini", r"models/[^/]+:predictLongRunning"),
    _kind(
        "interactions", "gcp.gemini", "interactions", "model|agent", "input",
        is_common=True, ends=_INTERACTION_END,
    ),
    _kind("batches", "gcp.gemini", r"[^/]+:(?:batchGenerateContent|asyncBatchEmbedContent)"),
    _kind("batches", "gcp.vertex_ai", "batchPredictionJobs", "model", "inputConfig"),
    _kind("caches", "gcp.gemini", "cachedContents", "model", **_COMMON),
    _kind("count_tokens", "gcp.vertex_ai", r"models/count-tokens:rawPredict", "messages"),
    _kind(
        "messages", "gcp.vertex_ai", r"publishers/anthropic/models/[^/]+:(?:streamR|r)awPredict",
        "messages", ends=_MESSAGE_STOP, enough=_STOP_REASON,
    ),
    _kind("chat", "gcp.vertex_ai", rf"{_PUBLISHED}:(?:streamR|r)awPredict", ends=_DONE),
    _kind("predict", "gcp.vertex_ai", rf"{_PUBLISHED}:predict", "instances"),
    _kind(
        "predict", "gcp.vertex_ai",
        r"endpoints/[^/]+:(?:predict|rawPredict|streamRawPredict|serverStreamingPredict)",
        is_common=True, is_json=False, ends=_DONE,
    ),
    _poll(
        "gcp.vertex_ai", rf"{_PUBLISHED}:fetchPredictOperation", "done", True,
        method="POST", is_common=False,
    ),
)  # fmt: skip

_OF_OTHERS = (
    _kind("chat", "cohere", "v2/chat", "model", "messages", is_common=True, ends=_MESSAGE_END),
    _kind("chat", "cohere", "v1/chat", "message", is_common=True, ends=_MESSAGE_END),
    _kind("generate", "cohere", "v1/generate", "prompt", **_COMMON),
    _kind("embeddings", "cohere", "v[12]/embed", "texts|images|inputs", **_COMMON),
    _kind("classify", "cohere", "v1/classify", "inputs|input", **_COMMON),
    _kind("embeddings", "voyageai", "v1/multimodalembeddings", "model", "inputs"),
    _kind("embeddings", "voyageai", "v1/contextualizedembeddings", "model", "inputs"),
    _kind(
        "inference", "huggingface", r"models/[^/:]+(?:/[^/:]+)?(?:/pipeline/[^/:]+)?",
        is_own=True, ends=_DONE, **_BINARY,
    ),
    _kind(
        "predictions", "replicate",
        rf"(?:v1|models/{_ONE}/{_ONE}|deployments/{_ONE}/{_ONE})/predictions", "input",
        is_own=True,
    ),
    _poll("replicate", f"predictions/{_ONE}", "status", "succeeded"),
    _kind("chat", "aws.bedrock", f"{_BEDROCK}/converse", "messages", **_COMMON),
    _kind(
        "chat", "aws.bedrock", f"{_BEDROCK}/converse-stream", "messages",
        is_common=True, enough=_METADATA,
    ),
    _kind("invoke", "aws.bedrock", f"{_BEDROCK}/invoke(?:-with-response-stream)?", **_BINARY),
    _kind("count_tokens", "aws.bedrock", f"{_BEDROCK}/count-tokens", **_COMMON),
    _kind("batches", "aws.bedrock", "model-invocation-job", "modelId", **_COMMON),
    _poll("aws.bedrock", "model-invocation-job/.+", "status", "Completed", "PartiallyCompleted"),
)  # fmt: skip

_JOBS = (
    _kind("chat", "perplexity", "async/chat/completions", "request", **_COMMON),
    _poll("perplexity", f"async/chat/completions/{_ONE}", "status", "COMPLETED"),
    _poll("x_ai", f"chat/deferred-completion/{_ONE}", "object", "chat.completion"),
    _kind("batches", "anthropic", "messages/batches", "requests", **_COMMON),
    _poll("anthropic", f"messages/batches/{_ONE}", "processing_status", "ended"),
    _result("anthropic", f"messages/batches/{_ONE}/results"),
    _kind("batches", "openai", "batches", "input_file_id", "endpoint", **_COMMON),
    _kind("batches", "mistral_ai", "batch/jobs", "endpoint", "input_files|requests", **_COMMON),
    _poll("mistral_ai", f"batch/jobs/{_ONE}", "status", "SUCCESS"),
    Kind(
        "poll", "openai", re.compile(rf"(?:^|/)batches/{_ONE}$"), method="GET", is_common=True,
        until={"status": frozenset({"completed"}), "done": frozenset({True})},
    ),
    _poll("openai", f"responses/{_ONE}", "status", "completed", "incomplete", ends=_RESPONSE_END),
    _poll("openai", f"videos/{_ONE}", "status", "completed"),
    _result("openai", f"videos/{_ONE}/content"),
    _poll("gcp.gemini", f"interactions/{_ONE}", "status", "completed", ends=_INTERACTION_END),
    _poll("gcp.gemini", f"operations/{_ONE}", "done", True),
    _poll("gcp.vertex_ai", f"batchPredictionJobs/{_ONE}", "state", "JOB_STATE_SUCCEEDED"),
)  # fmt: skip

_OBJECTS = (
    _kind("files", "gcp.gemini", "upload/v[^/]+/files", **_BINARY),
    _kind("files", "openai", "files", **_COMMON),
    _kind("files", "openai", rf"uploads(?:/{_ONE}/(?:parts|complete))?", **_COMMON),
    Kind(
        "poll", "openai", re.compile(rf"(?:^|/)files/{_ONE}$"), method="GET", is_common=True,
        until={"status": frozenset({"processed", "completed"}), "state": frozenset({"ACTIVE"})},
    ),
    _result("openai", f"files/{_ONE}(?:/content|:download)"),
    _kind("conversations", "openai", f"conversations(?:/{_ONE}/items)?", **_COMMON),
    _kind(
        "vector_stores", "openai", rf"vector_stores(?:/{_ONE}/(?:files|file_batches))?", **_COMMON
    ),
    _poll("openai", f"vector_stores/{_ONE}/file_batches/{_ONE}", "status", "completed"),
    _kind("vector_stores", "gcp.gemini", f"fileSearchStores(?:/{_ONE}:importFile)?", **_COMMON),
    _kind(
        "vector_stores", "gcp.gemini",
        f"upload/v[^/]+/fileSearchStores/{_ONE}:uploadToFileSearchStore", **_BINARY,
    ),
    _kind("vector_stores", "mistral_ai", rf"libraries(?:/{_ONE}/documents)?", **_COMMON),
    _kind("containers", "openai", rf"containers(?:/{_ONE}/files)?", **_COMMON),
    _kind("agents", "mistral_ai", "agents", "base_agent|model", **_COMMON),
    _kind("agents", "mistral_ai", f"agents/{_ONE}(?:/version)?", method="PATCH", **_COMMON),
    _kind(
        "delete", "openai", rf"(?:{_MADE})/{_ONE}(?:/(?:documents|files|items)/{_ONE})?",
        method="DELETE", **_BINARY,
    ),
    _kind("cancel", "openai", rf"(?:{_MADE}|predictions)/{_ONE}[/:]cancel", **_BINARY),
)  # fmt: skip

KINDS = (*_ASKED, *_OF_GOOGLE, *_OF_OTHERS, *_JOBS, *_OBJECTS)
"""All of them: of two that a request may be, the first."""

RAW = Kind("raw", "", re.compile(""), ends=_DONE, is_json=False, takes_any=True)
"""Whatever is asked of a host that the user names."""

FREE = frozenset(
    {
        "agents", "caches", "cancel", "containers", "conversations", "count_tokens", "delete",
        "files", "moderations", "poll", "result", "vector_stores",
    }
)  # fmt: skip
"""Names of kinds that providers do not bill by the request."""

MAKES = frozenset(
    {
        "agents", "batches", "caches", "containers", "conversations", "files", "interactions",
        "predictions", "responses", "vector_stores", "videos",
    }
)  # fmt: skip
"""Names of kinds whose answer names what later requests ask for, as long as it is there."""


def has_ended(kind: Kind, answer: object) -> bool:
    """True if nothing more follows after an answer."""
    return not kind.until or any(
        _at(answer, member) in states for member, states in kind.until.items()
    )


def failure_in(kind: Kind, answer: object) -> str:
    """The state in an answer of a job that ended without a result; empty if it says none."""
    for member in kind.until:
        state = _at(answer, member)
        name = re.sub(r"^(?:BATCH|JOB)_STATE_", "", state).lower() if isinstance(state, str) else ""
        if name in FAILURES:
            return name
    return ""


def _at(answer: object, member: str) -> object:
    value = answer
    for name in member.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, str | bool) else None
