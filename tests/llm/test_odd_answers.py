"""Whatever is asked and answered: the caller gets what was sent, and again what was recorded."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbckpt.errors import ReplayError
from nbckpt.llm import scope
from nbckpt.llm.outcomes import CallOutcomes
from nbckpt.session.session import Session
from tests.llm.test_endpoints import CASES
from tests.llm.test_request_keys import NAMES, VALUES

TOLD = (
    *("choices", "content", "usage", "error", "status", "output", "object", "done", "delta"),
    *("prompt_tokens", "prompt_tokens_details", "total_tokens", "input_tokens", "service_tier"),
    *("iterations", "cache_creation", "server_tool_use", "usageMetadata", "promptTokensDetails"),
    *("candidates", "finishReason", "meta", "billed_units", "metrics", "stop_reason", "message"),
)
SAID = st.recursive(
    VALUES, lambda inner: st.dictionaries(st.sampled_from(TOLD), inner, max_size=4), max_leaves=8
)
ANSWERS = st.dictionaries(st.sampled_from(TOLD), SAID, max_size=5)
TYPES = ("application/json", "text/event-stream", "application/x-ndjson", "text/plain", "")
ENDS = (b"data: [DONE]\n\n", b'{"done":true}\n', b"event: error\n\n", b"")


_numbers = itertools.count()


def dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


def events(values: list[Any]) -> bytes:
    return b"".join(b"data: %b\n\n" % dumped(value) for value in values)


def lines(values: list[Any]) -> bytes:
    return b"".join(b"%b\n" % dumped(value) for value in values)


BODIES = st.one_of(
    ANSWERS.map(dumped),
    SAID.map(dumped),
    st.builds(
        lambda sent, end: events(sent) + end, st.lists(SAID, max_size=4), st.sampled_from(ENDS)
    ),
    st.lists(SAID, max_size=4).map(lines),
    st.binary(max_size=60),
)


@contextmanager
def defects() -> Iterator[list[Exception]]:
    found: list[Exception] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CallOutcomes, "notify_defect", lambda _, problem: found.append(problem))
        yield found


@pytest.mark.slow
@given(
    case=st.sampled_from(CASES),
    asked=st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4),
    answer=BODIES,
    kind=st.sampled_from(TYPES),
    status=st.sampled_from([200, 200, 200, 201, 202, 204, 302, 400, 429, 500]),
    cut=st.integers(1, 40),
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_caller_gets_what_was_sent_and_again_what_was_recorded(
    recorded: Session,
    case: Any,
    asked: dict[str, Any],
    answer: bytes,
    kind: str,
    status: int,
    cut: int,
) -> None:
    number = next(_numbers)
    body = asked | case.asked | {"example": number} if isinstance(case.asked, dict) else case.asked
    pieces = [answer[n : n + cut] for n in range(0, len(answer), cut)]
    headers = {"content-type": kind} if kind else {}
    sent = httpx.MockTransport(
        lambda _: httpx.Response(status, headers=headers, content=iter(pieces))
    )
    is_json = {"content-type": "application/json"}
    options = {} if body is None else {"content": dumped(body), "headers": is_json}
    with httpx.Client(transport=sent) as client, defects() as found:
        plain = client.request(case.method, case.url, **options)
        with scope.entered("step"), scope.recording("record"):
            first = client.request(case.method, case.url, **options)
        with scope.entered("step"), scope.recording("only"):
            try:
                again = client.request(case.method, case.url, **options)
            except ReplayError:
                again = None

    assert found == []
    assert (first.status_code, first.content) == (plain.status_code, plain.content)
    if again is not None and body is not None:
        assert (again.status_code, again.content) == (first.status_code, first.content)
