"""Cost of a call: tokens as its provider reported them, times prices of a maintained package.

The setting `prices` takes precedence, then a cost that the provider reports itself, then the
package ``genai-prices`` as it was installed: nothing is fetched. What none of them knows has no
price, which is not nothing.
"""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from importlib import import_module
from typing import Any, NamedTuple, TypeGuard

from nbckpt.config.model_prices import Rate
from nbckpt.llm.billed_units import FEES, units_of
from nbckpt.llm.service_tiers import FULL, USUAL, Tier, factor_of_place, tier_of
from nbckpt.llm.usage import Usage
from nbckpt.runtime.interrupts import wait_for

OWN = "setting prices"
_PATIENCE_S = 2.0
"""Seconds that the first answer waits for the package, which loads during the call."""

# OpenTelemetry's name of a provider → genai-prices'.
_PROVIDERS = {
    "aws.bedrock": "aws",
    "azure.ai.inference": "azure",
    "azure.ai.openai": "azure",
    "gcp.gemini": "google",
    "gcp.vertex_ai": "google",
    "mistral_ai": "mistral",
    "x_ai": "x-ai",
}
_XAI_TICKS = 1e10
"""xAI reports costs in parts of a US dollar [1]_.

References
----------
.. [1] xAI, documentation, "Cost Tracking".
"""

_loading: list[Future[Any]] = []
_unknown: set[tuple[str, str]] = set()
_lock = threading.Lock()


class Price(NamedTuple):
    """Cost of a call, and the source of its price.

    Attributes
    ----------
    source
        The setting, the provider, or the package with its version and the tier.
    """

    usd: float
    source: str


class Listed(NamedTuple):
    """A model as the package lists it.

    Attributes
    ----------
    provider
        The package's name of it.
    prices
        At the time that was asked for, of the usual tier.
    """

    provider: str
    model: Any
    prices: Any
    at: dt.datetime
    is_own: bool

    def prices_in(self, tier: Tier) -> Any:
        """The prices of a tier; None if the package lists none."""
        if tier == USUAL:
            return self.prices
        variants = getattr(self.model, "price_variants", None) if self.is_own else None
        for variant in variants or ():
            is_then = variant.constraint is None or variant.constraint.active(self.at)
            if is_then and variant.when == dict(tier.when):
                return self.model.get_prices(self.at, tier.when)
        return None


def load() -> Future[Any]:
    """Have the package imported beside what goes on; None comes out if it is not installed."""
    with _lock:
        if not _loading:
            _loading.append(Future())
            threading.Thread(target=_load, args=_loading, name="nbckpt-prices", daemon=True).start()
        return _loading[0]


def price_of(
    provider: str,
    model: str,
    usage: Usage,
    at: float,
    rates: Mapping[str, Rate] | None = None,
) -> Price | None:
    """The price of a call.

    Parameters
    ----------
    at
        When it began, in seconds since the epoch: prices change.
    rates
        The user's own, by model: of every tier, and without fees of tools.

    Returns
    -------
    Price or None
        None where the model's price or its tokens are not known: that is not nothing.
    """
    has_tokens = usage.tokens_in is not None or usage.tokens_out is not None
    if has_tokens and rates and (rate := rates.get(model)) is not None:
        return Price(_times(rate, usage), OWN)
    if (usd := _reported(provider, usage.told)) is not None:
        return Price(usd, f"reported by {provider}")
    if not (units := units_of(usage)):
        return None
    try:
        found = listed(provider, model, at)
        return None if found is None else _priced(found, usage, units)
    except Exception:  # whatever it cannot reckon with has no price, and the answer goes on
        return None


def listed(provider: str, model: str, at: float) -> Listed | None:
    """A model's prices in the package; None if it lists none."""
    name = _PROVIDERS.get(provider, provider)
    if (name, model) in _unknown or _library() is None:
        return None
    try:
        owner, found = _snapshot().find_provider_model(model, None, name, None)
    except LookupError:
        _unknown.add((name, model))
        return None
    if is_fine_tuned(model) and not is_fine_tuned(found.id):
        return None
    when = dt.datetime.fromtimestamp(at, dt.UTC)
    is_own = any(found is each for each in owner.models)
    return Listed(owner.id, found, found.get_prices(when), when, is_own)


def is_fine_tuned(model: str) -> bool:
    """True of a model that was fine-tuned, which costs more than what it was made of."""
    return model.startswith("ft:") or ".ft-" in model


def window_of(provider: str, model: str) -> int | None:
    """The most tokens that a model takes and gives in one call; None if that is not known."""
    if _library() is None:
        return None
    try:
        _, found = _snapshot().find_provider_model(
            model, None, _PROVIDERS.get(provider, provider), None
        )
    except Exception:  # it is not known there, or another version
        return None
    window = getattr(found, "context_window", None)
    return window if isinstance(window, int) else None


def _library() -> Any:
    """The package, once it is imported; None if it is not installed, or takes too long."""
    loading = load()
    return loading.result() if wait_for(loading, _PATIENCE_S) else None


def _snapshot() -> Any:
    return import_module("genai_prices.data_snapshot").get_snapshot()


def _load(loading: Future[Any]) -> None:
    try:
        library = import_module("genai_prices")
        # Its table is built at its first question.
        library.calc_price(library.Usage(input_tokens=1), "gpt-4o-mini", provider_id="openai")
    except Exception:  # it is not here, or of no use here
        loading.set_result(None)
    else:
        loading.set_result(library)


def _times(rate: Rate, usage: Usage) -> float:
    into, out = usage.tokens_in or 0, usage.tokens_out or 0
    cached = min(usage.tokens_cached or 0, into)
    for_cached = rate.into if rate.cached is None else rate.cached
    return ((into - cached) * rate.into + cached * for_cached + out * rate.out) / 1e6


def _reported(provider: str, told: Mapping[str, Any]) -> float | None:
    """The cost in US dollars that a provider reports of its own calls; None if it reports none."""
    usd: object = None
    if provider == "openrouter":
        usd = told.get("cost")
        upstream = told.get("cost_details")
        if told.get("is_byok") and isinstance(upstream, dict):  # the model's owner bills the rest
            usd = _sum(usd, upstream.get("upstream_inference_cost"))
    elif provider == "perplexity" and isinstance(cost := told.get("cost"), dict):
        usd = cost.get("total_cost")
    elif provider == "x_ai" and _is_amount(ticks := told.get("cost_in_usd_ticks")):
        usd = ticks / _XAI_TICKS
    return float(usd) if _is_amount(usd) else None


def _is_amount(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15


def _sum(one: Any, other: Any) -> float | None:
    return one + other if _is_amount(one) and _is_amount(other) else None


# -- by the package ---------------------------------------------------------------------------


def _priced(found: Listed, usage: Usage, units: Mapping[str, float]) -> Price | None:
    """The price of units; None if the package lists none of some of them, or of their tier."""
    tier = tier_of(found.provider, usage.told)
    factor = factor_of_place(found.provider, usage.told)
    if tier is None or factor is None:
        return None
    prices, note = found.prices_in(tier), tier.name
    if prices is None and tier.is_half(found.provider, usage.tokens_cached or 0):
        prices, factor, note = found.prices, factor / 2, f"{tier.name} at half"
    elif prices is None and (found.provider, tier.name) in FULL:
        prices = found.prices
    if prices is None or not _has_all(prices, units, found.provider):
        return None
    library = _library()
    tokens = {name: n for name, n in units.items() if name not in FEES}
    usd = float(prices.calc_price(library.Usage(**tokens))["total_price"]) * factor
    notes = [f"genai-prices {library.__version__}", note]
    for name in sorted(FEES & units.keys()):
        fee = getattr(prices, f"{name}_kcount", None)
        usd += units[name] * float(fee or 0) / 1000
        if fee is None and units[name]:
            notes.append(f"without {name.replace('_', ' ')}")
    return Price(usd, ", ".join(filter(None, notes)))


def _has_all(prices: Any, units: Mapping[str, float], provider: str) -> bool:
    """True if there is a price of all that was taken: a sum without some part is too low."""
    needs = [
        ("input_tokens", "input_mtok"),
        ("output_tokens", "output_mtok"),
        ("audio_seconds", "audio_hours"),
        ("input_document_pages", "input_document_kpages"),
        ("input_annotated_document_pages", "input_annotated_document_kpages"),
    ]
    if provider in ("openai", "azure"):  # elsewhere, audio costs as text if it has no own price
        needs += [(f"{way}_audio_tokens", f"{way}_audio_mtok") for way in ("input", "output")]
    is_pictured = getattr(prices, "output_image_mtok", None) is not None
    if is_pictured and units.get("output_tokens") and "output_image_tokens" not in units:
        return False  # how much of the answer is a picture, which costs more, was not told
    return all(getattr(prices, price, None) is not None for n, price in needs if units.get(n))
