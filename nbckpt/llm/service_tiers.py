"""Tiers that providers serve calls in, each at a price of its own. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from nbckpt.llm.usage import TIER

_USUAL = frozenset({"", "auto", "default", "on_demand", "standard", "unspecified"})
_TRAFFIC = {
    "ON_DEMAND": "", "ON_DEMAND_FLEX": "flex", "ON_DEMAND_PRIORITY": "priority",
    "TRAFFIC_TYPE_UNSPECIFIED": "",
}  # fmt: skip
"""Vertex AI's names."""
_DEARER = frozenset({"fast", "priority"})

HALVES = frozenset(
    {
        ("anthropic", "batch"), ("azure", "batch"), ("google", "batch"), ("google", "flex"),
        ("groq", "batch"), ("mistral", "batch"), ("openai", "batch"), ("openai", "flex"),
    }
)  # fmt: skip
"""Provider and tier whose tokens cost half, as these providers' pages on batches and flex say.

The package knows a tier's own prices of most models: these count for the others, and for calls from
before it knew them.
"""
FULL = frozenset({("groq", "flex")})
"""Provider and tier at the usual price."""
_STACKING = frozenset({("anthropic", "batch"), ("openai", "flex")})
"""Tiers that make what comes from a cache cheaper, too; of the others, their providers say not."""


class Tier(NamedTuple):
    """The tier that a call was served in.

    Attributes
    ----------
    name
        Empty for the usual one.
    when
        As ``genai-prices`` selects a price by it.
    """

    name: str = ""
    when: Mapping[str, str] = {}

    def is_half(self, provider: str, cached: int) -> bool:
        """True if its tokens cost half of the usual price."""
        known = (provider, self.name)
        return known in HALVES and (cached == 0 or known in _STACKING)


USUAL = Tier()


def tier_of(provider: str, told: Mapping[str, Any]) -> Tier | None:
    """The tier that an answer names; None if what it costs there is not known.

    Parameters
    ----------
    provider
        As ``genai-prices`` calls it.
    """
    if told.get("speed") == "fast":
        return Tier("fast", {"speed": "fast"})
    traffic = told.get("trafficType")
    name = told.get(TIER) or told.get("serviceTier")
    name = _TRAFFIC.get(traffic, traffic) if isinstance(traffic, str) else name
    name = name.lower() if isinstance(name, str) else ""
    if name in _USUAL:
        return USUAL
    if name == "batch":
        return Tier(name, {"processing": "batch"})
    if provider == "anthropic" or name not in {"flex", *_DEARER}:  # paid in advance, or unheard of
        return None
    return Tier(name, {TIER: name})


def dearer_tier(told: Mapping[str, Any]) -> str:
    """The tier that an answer names, if it is dearer than the usual one; else empty."""
    tier = tier_of("", told)
    return tier.name if tier is not None and tier.when.get(TIER) in _DEARER else ""


def dearer_tier_asked(members: Mapping[str, Any]) -> str:
    """The tier that a request asks, if it is dearer than the usual one; else empty."""
    places = (members, members.get("generationConfig"), members.get("config"))
    for place in places:
        if isinstance(place, Mapping):
            name = place.get(TIER) or place.get("serviceTier")
            if isinstance(name, str) and name.lower() in _DEARER:
                return name.lower()
    return ""


US_ONLY = 1.1
"""Times the price, of Anthropic's tokens that stay in the United States."""


def factor_of_place(provider: str, told: Mapping[str, Any]) -> float | None:
    """Times the usual price that tokens cost where they were computed; None if not known."""
    place = told.get("inference_geo")
    if provider != "anthropic" or place in (None, "", "global", "not_available"):
        return 1.0
    return US_ONLY if place == "us" else None
