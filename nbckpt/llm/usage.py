"""Tokens that an answer took, as its provider reports them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

_MEMBERS = ("usage", "usageMetadata")
_OLLAMA = ("prompt_eval_count", "eval_count")


class Usage(NamedTuple):
    """Tokens; None where nothing was told.

    Attributes
    ----------
    tokens_in
        All that went in, also from a cache.
    tokens_out
        All that came out, also reasoning.
    told
        What the provider said, in its own words.
    """

    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    tokens_reasoning: int | None = None
    model: str = ""
    told: Mapping[str, Any] = {}


def usage_of(values: Iterable[Any]) -> Usage:
    """Usage in the JSON values of an answer: one value, or one for each event of a stream.

    A stream reports some of it at its beginning and the rest at its end; the later figure counts.
    """
    told: dict[str, Any] = {}
    model = ""
    for value in values:
        for part in _parts(value):
            model = model or next((v for k in _MODELS if isinstance(v := part.get(k), str)), "")
            for name in _MEMBERS:
                if isinstance(part.get(name), dict):
                    told |= {k: v for k, v in part[name].items() if v is not None}
            told |= {k: part[k] for k in _OLLAMA if isinstance(part.get(k), int)}
    return Usage(*_tokens(told), model, told)


_MODELS = ("model", "modelVersion")


def _parts(value: Any) -> Iterable[Mapping[str, Any]]:
    """Where figures stand: in the value itself, or in the message that an event is about."""
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            yield each
            for name in ("message", "response"):
                if isinstance(inner := each.get(name), dict):
                    yield inner


def _tokens(told: Mapping[str, Any]) -> tuple[int | None, int | None, int | None, int | None]:
    if "promptTokenCount" in told or "candidatesTokenCount" in told:  # Gemini
        out, thoughts = _int(told, "candidatesTokenCount"), _int(told, "thoughtsTokenCount")
        cached = _int(told, "cachedContentTokenCount")
        return _int(told, "promptTokenCount"), _sum(out, thoughts), cached, thoughts
    if "prompt_eval_count" in told or "eval_count" in told:  # Ollama
        return _int(told, "prompt_eval_count"), _int(told, "eval_count"), None, None
    if "cache_read_input_tokens" in told or "cache_creation_input_tokens" in told:  # Anthropic
        read, written = (_int(told, f"cache_{n}_input_tokens") for n in ("read", "creation"))
        total = _sum(_int(told, "input_tokens"), read, written)
        return total, _int(told, "output_tokens"), read, None
    names = ("input", "output") if "input_tokens" in told else ("prompt", "completion")
    details_in, details_out = (
        details if isinstance(details := told.get(f"{name}_tokens_details"), dict) else {}
        for name in names
    )
    into, out = (_int(told, f"{name}_tokens") for name in names)
    cached, reasoning = _int(details_in, "cached_tokens"), _int(details_out, "reasoning_tokens")
    return into, out, cached, reasoning


def _int(members: Mapping[str, Any], name: str) -> int | None:
    value = members.get(name)
    return int(value) if isinstance(value, int | float) else None


def _sum(*figures: int | None) -> int | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) if known else None
