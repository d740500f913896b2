"""The most that a call may cost before it is sent. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from nbckpt.llm.usage import Usage

_WITHOUT_ANSWER = frozenset({"embeddings", "rerank"})
"""Kinds of endpoints that bill what goes in alone."""

_LIMITS = (
    "max_completion_tokens",
    "max_output_tokens",
    "max_tokens",
    "maxOutputTokens",
    "num_predict",
)
_TIMES = ("n", "best_of", "candidateCount", "candidate_count")
_OPTIONS = ("generationConfig", "generation_config", "options")
_ELSEWHERE = re.compile(
    rb'"(?:previous_response_id|conversation|file_id|file_ids|file_uri|fileUri|file_url|cachedContent'
    rb'|container|vector_store_ids|prompt_id|file_data)"\s*:|"url"\s*:\s*"https?:'
    rb'|"image_url"\s*:\s*"https?:|application/pdf|"type"\s*:\s*"(?:document|input_file)"'
)
"""In bodies that name what else goes in, of a length that they do not tell, or pack it."""

_LONGEST = (
    (re.compile(r"gpt-(?:4o|4o-mini)(?:-20\d\d.*)?"), 16_384),
    (re.compile(r"gpt-4\.1(?:-mini|-nano)?(?:-20\d\d.*)?"), 32_768),
    (re.compile(r"gpt-(?:4-turbo|3\.5-turbo)(?:-.*)?"), 4_096),
    (re.compile(r"gpt-5(?:-mini|-nano)?(?:-20\d\d.*)?"), 128_000),
    (re.compile(r"o1-mini(?:-20\d\d.*)?"), 65_536),
    (re.compile(r"(?:o1|o3|o3-mini|o4-mini)(?:-20\d\d.*)?"), 100_000),
    (re.compile(r"gemini-2\.5-(?:pro|flash|flash-lite)"), 65_536),
    (re.compile(r"gemini-2\.0-.*|gemini-1\.5-.*"), 8_192),
)
"""Names of models, and the most tokens of an answer, as their providers' model pages say [1]_ [2]_.

References
----------
.. [1] OpenAI, platform documentation, "Models".
.. [2] Google, Gemini API documentation, "Gemini models".
"""


class Bound(NamedTuple):
    """The most that goes in and comes out of a call.

    Attributes
    ----------
    usage
        As a provider would report it.
    is_known
        False if nothing limits what goes in or comes out, so that `usage` holds for what is known.
    factor
        Times the usual price.
    """

    usage: Usage
    is_known: bool
    factor: float = 1.0


def bound_of(
    kind: str,
    model: str,
    members: Mapping[str, Any],
    body: bytes,
    *,
    window: Callable[[], int | None],
    longest: Callable[[], int | None],
) -> Bound:
    """The most that a call may take.

    A token is a byte at least, so that a body holds no more of them than bytes.

    Parameters
    ----------
    window
        Gives the most tokens that the model takes and gives in one call; None if nobody knows.
    longest
        Gives the tokens of its longest answer so far: what counts if nothing else is known.
    """
    into: int | None = len(body)
    if _ELSEWHERE.search(body):
        into = window()
    out = 0 if kind in _WITHOUT_ANSWER else _most_out(model, members, window, longest)
    told: dict[str, Any] = {}
    if b'"cache_control"' in body and into is not None:  # writing costs more than reading
        told["cache_creation_input_tokens"] = into
    factor = _AN_HOUR if _HOUR.search(body) else 1.0
    return Bound(Usage(into or len(body), out or 0, told=told), None not in (into, out), factor)


_HOUR = re.compile(rb'"ttl"\s*:\s*"1h"')
_AN_HOUR = 1.6
"""Anthropic writes into a cache of an hour for 2 times the price of input, else for 1.25 times."""


def _most_out(
    model: str,
    members: Mapping[str, Any],
    window: Callable[[], int | None],
    longest: Callable[[], int | None],
) -> int | None:
    stated = _number(members, _LIMITS)
    if stated is None:
        own = next((most for name, most in _LONGEST if name.fullmatch(model)), None)
        stated = own or window() or longest()
    prompts = members.get("prompt")
    times = len(prompts) if isinstance(prompts, list) and _are_several(prompts) else 1
    return None if stated is None else stated * times * max(1, _number(members, _TIMES) or 1)


def _are_several(prompts: list[Any]) -> bool:
    """True of a list of prompts, and not of one prompt as a list of tokens."""
    return any(isinstance(prompt, str | list) for prompt in prompts)


def _number(members: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    """The largest of some members that are positive numbers; None if there are none."""
    places = (members, *(members.get(name) for name in _OPTIONS))
    found = [
        number
        for place in places
        if isinstance(place, Mapping)
        for name in names
        if type(number := place.get(name)) is int and number > 0
    ]
    return max(found, default=None)


def seen_of(events: list[Any], body: bytes) -> Usage:
    """The most that a call took, by what was seen of it, where its provider did not say.

    What a model thinks in silence is not seen.
    """
    return Usage(len(body), sum(map(_bytes_in, map(_said, events))))


def thinks_unseen(model: str) -> bool:
    """True if a model may bill for thoughts that its answer does not show."""
    return _THINKS.match(model) is not None


_THINKS = re.compile(r"o\d|gpt-5|gemini-(?:2\.5|[3-9])|.*(?:think|reason|-r1)")


def _said(event: Any) -> Any:
    """The part of an event that the model has written."""
    if isinstance(event, dict):
        for name in ("choices", "delta", "candidates", "message", "content", "output"):
            if name in event:
                return event[name]
    return None


_NAMES = frozenset({"role", "id", "type", "object", "index", "finish_reason", "finishReason"})


def _bytes_in(value: Any) -> int:
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, list):
        return sum(map(_bytes_in, value))
    if isinstance(value, dict):
        return sum(_bytes_in(v) for k, v in value.items() if k not in _NAMES)
    return 0
