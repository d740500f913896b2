"""Tokens that an answer took, as its provider reports them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

_MEMBERS = ("usage", "usageMetadata", "usage_metadata", "amazon-bedrock-invocationMetrics")
_WITHIN = ("message", "response", "delta", "interaction")
"""Members in which those stand, of an event."""
_TELLING = {"meta": "billed_units", "metrics": "input_token_count"}
"""Members that hold figures only if they have such a one: of Cohere, of Replicate."""
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
            for name, figure in _TELLING.items():
                if isinstance(inner := part.get(name), dict) and figure in inner:
                    told |= inner
            if isinstance(found := part.get("predictions"), list):
                told |= _of_predictions(found)
    return Usage(*_tokens(told), model, told)


_MODELS = ("model", "modelVersion")


def _parts(value: Any) -> Iterable[Mapping[str, Any]]:
    """Where figures stand: in the value itself, or in the message that an event is about."""
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            yield each
            for name in _WITHIN:
                if isinstance(inner := each.get(name), dict):
                    yield inner


def usage_in_headers(header: Callable[[str], str]) -> Mapping[str, Any]:
    """What Bedrock says of an answer whose body is a model's own."""
    told = {name: header(f"x-amzn-bedrock-{name}-token-count") for name in ("input", "output")}
    return {"usage": {f"{name}Tokens": int(n) for name, n in told.items() if n.isdecimal()}}


def _of_predictions(predictions: list[Any]) -> dict[str, int]:
    """The tokens of texts that Vertex has embedded: it tells them of each."""
    found = [each for each in predictions if isinstance(each, dict)]
    embedded = [inner for each in found if isinstance(inner := each.get("embeddings"), dict)]
    told = [inner for each in embedded if isinstance(inner := each.get("statistics"), dict)]
    total = _sum(*(_int(each, "token_count") for each in told))
    return {} if total is None else {"total_tokens": total}


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
    if isinstance(billed := told.get("billed_units") or told.get("tokens"), dict):  # Cohere
        return _int(billed, "input_tokens"), _int(billed, "output_tokens"), None, None
    if "total_input_tokens" in told or "total_output_tokens" in told:  # Gemini's interactions
        thoughts = _int(told, "total_thought_tokens")
        out = _sum(_int(told, "total_output_tokens"), thoughts)
        return _int(told, "total_input_tokens"), out, _int(told, "total_cached_tokens"), thoughts
    if not told.keys() & {"input_tokens", "prompt_tokens", "completion_tokens"}:
        return _of_others(told)
    names = ("input", "output") if "input_tokens" in told else ("prompt", "completion")
    details_in, details_out = (
        details if isinstance(details := told.get(f"{name}_tokens_details"), dict) else {}
        for name in names
    )
    into, out = (_int(told, f"{name}_tokens") for name in names)
    cached, reasoning = _int(details_in, "cached_tokens"), _int(details_out, "reasoning_tokens")
    return into, out, cached, reasoning


def _of_others(told: Mapping[str, Any]) -> tuple[int | None, int | None, int | None, None]:
    """As Bedrock counts, Replicate, and who counts only what goes in: Jina, Voyage, Vertex."""
    if "inputTokens" in told or "outputTokens" in told:
        read, written = (_int(told, f"cache{name}InputTokens") for name in ("Read", "Write"))
        into = _sum(_int(told, "inputTokens"), read, written)
        return into, _int(told, "outputTokens"), read, None
    for name in ("{}TokenCount", "{}_token_count"):
        into, out = (_int(told, name.format(way)) for way in ("input", "output"))
        if into is not None or out is not None:
            return into, out, None, None
    return _int(told, "total_tokens"), None, None, None


def _int(members: Mapping[str, Any], name: str) -> int | None:
    value = members.get(name)
    return int(value) if isinstance(value, int | float) else None


def _sum(*figures: int | None) -> int | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) if known else None
