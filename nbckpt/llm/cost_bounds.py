"""The most that a call may cost before it is sent. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

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
_MOST = 10**12
"""Limit of the numbers in requests, above any budget: a larger one counts as this."""
_ELSEWHERE = re.compile(
    rb'"(?:previous_response_id|conversation|file_id|file_ids|file_uri|fileUri|file_url|cachedContent'
    rb'|container|vector_store_ids|prompt_id|file_data)"\s*:|"url"\s*:\s*"https?:'
    rb'|"image_url"\s*:\s*"https?:|application/pdf|"type"\s*:\s*"(?:document|input_file)"'
    rb'|data:video/|"video/|content-type:\s*video/'
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
    (re.compile(r"gpt-image-1(?:-mini|\.5)?(?:-20\d\d.*)?"), 7_000),
)
"""Names of models, and the most tokens of an answer, as their providers' model pages say [1]_ [2]_.

References
----------
.. [1] OpenAI, platform documentation, "Models"; of pictures, "Image generation".
.. [2] Google, Gemini API documentation, "Gemini models".
"""

_PICTURES = (
    (re.compile(r"(?:.*/)?claude"), 10_000),
    (re.compile(r"(?:.*/)?(?:ft:)?gpt-4o-mini"), 50_000),
    (re.compile(r"(?:.*/)?(?:ft:)?(?:chatgpt|gpt|o\d)"), 25_000),
)
"""Beginnings of models' names, and what a picture may take however small its file is.

More than what the providers' pages on pictures come to [1]_ [2]_: gpt-4o-mini bills tiles at 33
times the rate of gpt-4o, up to 48,169 tokens.

References
----------
.. [1] OpenAI, platform documentation, "Images and vision", section on costs.
.. [2] Anthropic, documentation, "Vision".
"""
_ANY_PICTURE = 50_000
_PICTURE = re.compile(
    rb'data:image\\?/|"(?:media_type|mime_?type)"\s*:\s*"image\\?/|content-type:\s*image/',
    re.IGNORECASE,
)
_MEDIA = {
    "audio": re.compile(rb'(?i)"(?:input_)?audio"|"audio\\?/|data:audio/|content-type:\s*audio/'),
    "image": re.compile(rb'(?i)"(?:input_)?image|data:image\\?/|content-type:\s*image/'),
    "video": re.compile(rb'(?i)"video|data:video/|content-type:\s*video/'),
}
_HOUR = re.compile(rb'"ttl"\s*:\s*"1h"')

_UNSEEN = 2_000
"""Tokens of what a provider says to a model of tools and formats: of all, and of each of its own.

Anthropic's page on tools names 346 for all and some 700 for one of its own.
"""
_CLIENT_TOOL = re.compile(
    r"(?:function|custom|local_shell|apply_patch|computer.*|bash_.*|text_editor_.*|memory_.*|)"
)
"""Types of tools that the caller runs."""
_DECLARED = frozenset({"functionDeclarations", "function_declarations"})
_SEARCHING = ("web_search_options", "search_parameters", "plugins", "mcp_servers")
"""Members that have the provider search, or ask others, before it answers."""


class Bound(NamedTuple):
    """The most that goes in and comes out of a call.

    Attributes
    ----------
    is_in_known, is_out_known
        False if nothing limits what goes in or comes out, so that the tokens are those known of.
    tool_calls
        The most calls of the provider's own tools; None if nothing limits them.
    media
        Of ``audio``, ``image`` and ``video`` those that may be billed.
    caches, caches_an_hour
        Whether what goes in is written into a cache, and for an hour.
    is_fast
        Whether Anthropic's fast mode is asked for.
    is_anywhere
        Whether the caller lets Anthropic compute it anywhere.
    """

    tokens_in: int
    tokens_out: int
    is_in_known: bool
    is_out_known: bool
    tool_calls: int | None = 0
    media: frozenset[str] = frozenset()
    caches: bool = False
    caches_an_hour: bool = False
    is_fast: bool = False
    is_anywhere: bool = False


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

    A token of text is a byte at least, so that a body holds no more of them than bytes.

    Parameters
    ----------
    window
        Gives the most tokens that the model takes and gives in one call; None if nobody knows.
    longest
        Gives the tokens of its longest answer so far: what counts if nothing else is known.
    """
    calls = _tool_calls(members)
    into: int | None = len(body) + _unseen(members) + _in_pictures(model, body)
    if calls != 0 or _ELSEWHERE.search(body):
        # A tool's results go in once more at each of its calls.
        whole = window()
        into = None if whole is None or calls is None else whole * (calls + 1)
    out = 0 if kind in _WITHOUT_ANSWER else _most_out(model, members, window, longest)
    is_usual = "deep-research" not in model
    return Bound(
        into or len(body),
        out or 0,
        into is not None and is_usual,
        out is not None and is_usual,
        tool_calls=calls,
        media=frozenset(name for name, pattern in _MEDIA.items() if pattern.search(body)),
        caches=b'"cache_control"' in body,
        caches_an_hour=_HOUR.search(body) is not None,
        is_fast=members.get("speed") == "fast",
        is_anywhere=members.get("inference_geo") == "global",
    )


def _in_pictures(model: str, body: bytes) -> int:
    pictures = len(_PICTURE.findall(body))
    each = next((most for name, most in _PICTURES if name.match(model)), _ANY_PICTURE)
    return pictures * each


def _unseen(members: Mapping[str, Any]) -> int:
    tools = members.get("tools")
    own = [t for t in tools if _has_own_words(t)] if isinstance(tools, list) else []
    is_shaped = any(name in members for name in ("output_config", "output_format"))
    return _UNSEEN * ((1 if tools or is_shaped else 0) + len(own))


def _has_own_words(tool: object) -> bool:
    """True of a tool that its provider explains to the model."""
    return isinstance(tool, dict) and tool.get("type", "function") not in ("function", "custom")


def _tool_calls(members: Mapping[str, Any]) -> int | None:
    """The most calls of the provider's own tools; None if nothing limits them."""
    tools = members.get("tools")
    own = [t for t in tools if _is_the_providers(t)] if isinstance(tools, list) else []
    if any(members.get(name) not in (None, False, []) for name in _SEARCHING):
        return None
    if not own:
        return 0
    if (most := _number(members, ("max_tool_calls",))) is not None:
        return most
    limits = [_number(tool, ("max_uses",)) if isinstance(tool, dict) else None for tool in own]
    return None if None in limits else sum(n for n in limits if n is not None)


def _is_the_providers(tool: object) -> bool:
    """True of a tool that the provider runs: it tells a type, or Gemini's name of it."""
    if not isinstance(tool, dict):
        return True
    kind = tool.get("type")
    if isinstance(kind, str):
        return _CLIENT_TOOL.fullmatch(kind) is None
    return "name" not in tool and bool(tool.keys() - _DECLARED)


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
    times *= max(1, _number(members, _TIMES) or 1)
    return None if stated is None else min(stated * times, _MOST)


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
    return min(max(found), _MOST) if found else None


def seen_in(events: list[Any]) -> int:
    """The most tokens that came out, by what was seen of a stream that did not tell.

    What a model thinks in silence is not seen.
    """
    return sum(map(_bytes_in, map(_said, events)))


def thinks_unseen(model: str) -> bool:
    """True if a model may bill for thoughts that its answer does not show."""
    return _THINKS.match(model) is not None


_THINKS = re.compile(r"o\d|gpt-[5-9]|gemini-(?:2\.5|[3-9])|.*(?:think|reason|-r1)")


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
