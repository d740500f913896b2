"""Units that an answer is billed for, under the names of ``genai-prices``. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from nbckpt.llm.usage import ANNOTATED, TOOL_CALLS, Usage, details_of, number_in, rounds_of

FEES = frozenset({"web_searches", "storage_searches"})
"""Units that are calls of tools, which no tier makes cheaper."""
_MODALITIES = {
    "TEXT": "text", "AUDIO": "audio", "IMAGE": "image", "DOCUMENT": "image", "VIDEO": "video",
}  # fmt: skip
_OWN_ROUNDS = ("message", "compaction")


def units_of(usage: Usage) -> dict[str, float] | None:
    """Number of each unit that a call took: cached and audio tokens are among all.

    Returns
    -------
    dict or None
        None if some are told that are billed as another model's.
    """
    told = usage.told
    units: dict[str, Any] = {"input_tokens": usage.tokens_in, "output_tokens": usage.tokens_out}
    units["cache_read_tokens"] = usage.tokens_cached
    if "promptTokenCount" in told or "candidatesTokenCount" in told:
        units |= _of_gemini(told)
    else:
        if _is_of_several_models(told):
            return None
        units |= _of_details(told) | _cache_writes(told) | _of_media(told)
    units |= _of_tools(told)
    # That a part is 0 has to be said: it is unknown of what is not there.
    return {name: n for name, n in units.items() if _is_number(n)}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15


def _is_of_several_models(told: Mapping[str, Any]) -> bool:
    """True if Anthropic had another model advise, or answer in the place of the one asked."""
    more = told.get("iterations")
    rounds = more if isinstance(more, list) else []
    return any(isinstance(r, dict) and r.get("type", "message") not in _OWN_ROUNDS for r in rounds)


def _of_details(told: Mapping[str, Any]) -> dict[str, Any]:
    into, out = details_of(told, "input"), details_of(told, "output")
    cached = into.get("cached_tokens_details")
    units = {f"input_{kind}_tokens": into.get(f"{kind}_tokens") for kind in ("audio", "image")}
    units |= {f"output_{kind}_tokens": out.get(f"{kind}_tokens") for kind in ("audio", "image")}
    if isinstance(cached, dict):
        units |= {
            f"cache_{kind}_read_tokens": cached.get(f"{kind}_tokens") for kind in ("audio", "image")
        }
    return units


def _cache_writes(told: Mapping[str, Any]) -> dict[str, Any]:
    """Tokens written into a cache: for five minutes, and for an hour, which costs more."""
    written = number_in(details_of(told, "input"), "cache_write_tokens")  # OpenAI, OpenRouter
    units: Counter[str] = Counter(cache_write_tokens=written or 0)
    for each in rounds_of(told):
        units["cache_write_tokens"] += number_in(each, "cache_creation_input_tokens") or 0
        if isinstance(by_time := each.get("cache_creation"), dict):
            for name in ("5m", "1h"):
                n = number_in(by_time, f"ephemeral_{name}_input_tokens") or 0
                units[f"cache_write_{name}_tokens"] += n
    by_time_all = units["cache_write_5m_tokens"] + units["cache_write_1h_tokens"]
    units["cache_write_tokens"] = max(units["cache_write_tokens"], by_time_all)
    return {name: n for name, n in units.items() if n}


def _of_media(told: Mapping[str, Any]) -> dict[str, Any]:
    """Audio by its length, and pages that were read."""
    seconds = told.get("prompt_audio_seconds")  # Mistral
    if told.get("type") == "duration":  # OpenAI's transcriptions
        seconds = told.get("seconds")
    units = {"audio_seconds": seconds, "input_audio_seconds": seconds}
    units["input_document_pages"] = told.get("pages_processed")
    if ANNOTATED in told:
        units["input_annotated_document_pages"] = told.get("pages_processed")
    return units


def _of_tools(told: Mapping[str, Any]) -> dict[str, Any]:
    calls, used = told.get(TOOL_CALLS), told.get("server_tool_use")
    calls = calls if isinstance(calls, dict) else {}
    used = used if isinstance(used, dict) else {}
    searches = number_in(used, "web_search_requests") or number_in(calls, "web_search")
    return {"web_searches": searches, "storage_searches": number_in(calls, "file_search")}


def _of_gemini(told: Mapping[str, Any]) -> dict[str, Any]:
    """Tokens by modality: of the prompt, of what tools brought into it, and of the answer."""
    units: dict[str, int] = {}
    for name, unit in (
        ("promptTokensDetails", "input_{}_tokens"),
        ("toolUsePromptTokensDetails", "input_{}_tokens"),
        ("cacheTokensDetails", "cache_{}_read_tokens"),
        ("candidatesTokensDetails", "output_{}_tokens"),
    ):
        details = told.get(name)
        if isinstance(details, list):
            units = dict.fromkeys(map(unit.format, ("audio", "image", "video")), 0) | units
        for part in details if isinstance(details, list) else ():
            kind = _MODALITIES.get(str(part.get("modality"))) if isinstance(part, dict) else None
            if kind not in (None, "text"):
                n = number_in(part, "tokenCount") or 0
                units[unit.format(kind)] = units.get(unit.format(kind), 0) + n
    return units
