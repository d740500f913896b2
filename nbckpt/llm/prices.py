"""Cost of a call: tokens as its provider reported them, times prices of a maintained package.

Prices come from the package ``genai-prices`` as it was installed: nothing is fetched. The setting
`prices` takes precedence. A model that neither knows has no price.
"""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from importlib import import_module
from typing import Any, NamedTuple

from nbckpt.config.model_prices import Rate
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

_loading: list[Future[Any]] = []
_unknown: set[tuple[str, str]] = set()
_lock = threading.Lock()


class Price(NamedTuple):
    """Cost of a call, and the source of its price.

    Attributes
    ----------
    source
        The setting, or the package with its version.
    """

    usd: float
    source: str


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
        The user's own, by model.

    Returns
    -------
    Price or None
        None where the model's price or its tokens are not known: that is not nothing.
    """
    if usage.tokens_in is None and usage.tokens_out is None:
        return None
    if rates and (rate := rates.get(model)) is not None:
        return Price(_times(rate, usage), OWN)
    asked = (_PROVIDERS.get(provider, provider), model)
    if asked in _unknown:
        return None
    if (library := _library()) is None:
        return None
    try:
        told = library.calc_price(
            library.Usage(**_parts(usage)),
            model,
            provider_id=asked[0],
            genai_request_timestamp=dt.datetime.fromtimestamp(at, dt.UTC),
        )
    except LookupError:
        _unknown.add(asked)
        return None
    except Exception:  # whatever it cannot reckon with has no price, and the answer goes on
        return None
    return Price(float(told.total_price), f"genai-prices {library.__version__}")


def window_of(provider: str, model: str) -> int | None:
    """The most tokens that a model takes and gives in one call; None if that is not known."""
    if _library() is None:
        return None
    try:
        snapshot = import_module("genai_prices.data_snapshot").get_snapshot()
        _, found = snapshot.find_provider_model(
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
    into, out, cached = usage.tokens_in or 0, usage.tokens_out or 0, usage.tokens_cached or 0
    for_cached = rate.into if rate.cached is None else rate.cached
    return ((into - cached) * rate.into + cached * for_cached + out * rate.out) / 1e6


def _parts(usage: Usage) -> dict[str, int]:
    """The tokens under the names of the package: cached and audio ones are among all."""
    told = usage.told
    parts = {
        "input_tokens": usage.tokens_in,
        "output_tokens": usage.tokens_out,
        "cache_read_tokens": usage.tokens_cached,
        "cache_write_tokens": told.get("cache_creation_input_tokens"),
        "input_audio_tokens": _audio(told, "prompt_tokens_details", "input_tokens_details"),
        "output_audio_tokens": _audio(told, "completion_tokens_details", "output_tokens_details"),
    }
    return {name: number for name, number in parts.items() if isinstance(number, int) and number}


def _audio(told: Mapping[str, Any], *names: str) -> Any:
    found: Mapping[str, Any] = next(
        (told[name] for name in names if isinstance(told.get(name), dict)), {}
    )
    return found.get("audio_tokens")
