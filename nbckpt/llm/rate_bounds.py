"""The most that tokens of a call may cost, whatever they turn out to be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nbckpt.config.model_prices import Rate
from nbckpt.llm.cost_bounds import Bound
from nbckpt.llm.prices import Listed, listed
from nbckpt.llm.service_tiers import US_ONLY, USUAL, Tier, tier_of
from nbckpt.llm.usage import TIER

_MEDIA = ("audio", "image", "video")


def most_of(
    provider: str,
    model: str,
    bound: Bound,
    at: float,
    *,
    tiers: Iterable[str] = (),
    rates: Mapping[str, Rate] | None = None,
) -> tuple[float, bool] | None:
    """The most that a call may cost in US dollars, and whether that is known.

    It counts each token at the highest rate that may apply: of a cache that is written, of audio
    where there is some, of a long prompt.

    Parameters
    ----------
    tiers
        Names of those that it may be served in, beside the usual one.
    rates
        The user's own prices, by model.

    Returns
    -------
    tuple or None
        None if no price is known of the model, or of one of the tiers.
    """
    if rates and (rate := rates.get(model)) is not None:
        into = max(rate.into, rate.cached or 0.0)
        return (bound.tokens_in * into + bound.tokens_out * rate.out) / 1e6, _is_known(bound)
    try:
        return _most_listed(provider, model, bound, at, tiers)
    except Exception:  # whatever another version of the package cannot reckon with has no price
        return None


def _most_listed(
    provider: str, model: str, bound: Bound, at: float, tiers: Iterable[str]
) -> tuple[float, bool] | None:
    if (found := listed(provider, model, at)) is None:
        return None
    most, is_known = 0.0, _is_known(bound)
    for tier in _tiers(found.provider, bound, tiers):
        prices = found.prices_in(tier) if tier is not None else None
        if prices is None or _lacks_audio(prices, bound, found):
            return None
        usd, is_rated = _usd(prices, bound, model)
        most, is_known = max(most, usd), is_known and is_rated
    # A workspace may be set to keep all of its calls in one country.
    place = US_ONLY if found.provider == "anthropic" and not bound.is_anywhere else 1.0
    return most * place, is_known


def _is_known(bound: Bound) -> bool:
    return bound.is_in_known and bound.is_out_known


def _tiers(provider: str, bound: Bound, names: Iterable[str]) -> list[Tier | None]:
    told: list[dict[str, str]] = [{TIER: name} for name in names]
    if bound.is_fast:
        told.append({"speed": "fast"})
    return [USUAL, *(tier_of(provider, each) for each in told)]


def _lacks_audio(prices: Any, bound: Bound, found: Listed) -> bool:
    """True if OpenAI would bill audio, of which the package lists no price."""
    if "audio" not in bound.media or found.provider not in ("openai", "azure"):
        return False
    return not any(
        getattr(prices, name, None) is not None
        for name in ("input_audio_mtok", "output_audio_mtok", "audio_hours")
    )


def _usd(prices: Any, bound: Bound, model: str) -> tuple[float, bool]:
    """The most by one table of prices, and whether all that may be billed has a rate there."""
    into_names, out_names = ["input_mtok"], ["output_mtok", "output_reasoning_mtok"]
    out_names.append("output_citation_mtok")
    for medium in _MEDIA:
        if medium in bound.media or medium in model:
            into_names.append(f"input_{medium}_mtok")
            out_names.append(f"output_{medium}_mtok")
    if bound.caches or "claude" not in model:  # others write into a cache unasked
        into_names.append("cache_write_mtok")
    if bound.caches_an_hour:
        into_names.append("cache_write_1h_mtok")
    into = _highest(prices, into_names, bound.tokens_in)
    out = _highest(prices, out_names, bound.tokens_in)
    chars = _highest(prices, ["input_mchars"], 0)
    usd = bound.tokens_in * max(into or 0.0, chars or 0.0) + bound.tokens_out * (out or 0.0)
    calls = (bound.tool_calls or 0) * (
        _highest(prices, ["web_searches_kcount", "storage_searches_kcount"], 0) or 0.0
    )
    calls += _highest(prices, ["requests_kcount"], 0) or 0.0
    is_rated = (into is not None or chars is not None) and (
        out is not None or not bound.tokens_out or chars is not None
    )
    return usd / 1e6 + calls / 1e3, is_rated


def _highest(prices: Any, names: Iterable[str], tokens_in: int) -> float | None:
    """The highest of some rates for a prompt of at most so many tokens; None if there are none."""
    found: list[float] = []
    for name in names:
        value = getattr(prices, name, None)
        if value is not None:
            found.append(float(getattr(value, "base", value)))
            tiers = getattr(value, "tiers", ())
            found += [float(tier.price) for tier in tiers if tier.start < tokens_in]
    return max(found, default=None)
