"""Registry of the ways in which a framework asks models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

WAYS: dict[str, Callable[[], Any]] = {}
LIMITS: dict[str, str] = {}
"""Way → why it asks anew when it runs again."""

CITIES = "Oslo, Bergen, Narvik"
"""In a prompt: the model asks the tool for one after the other."""


def way(function: Callable[[], Any]) -> Callable[[], Any]:
    """Have a function, which may be one of asyncio, be a way; it returns what the model said."""
    WAYS[function.__name__] = function
    return function


def limited(why: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Have a function be a way that may ask anew."""

    def limit(function: Callable[[], Any]) -> Callable[[], Any]:
        LIMITS[function.__name__] = why
        return way(function)

    return limit


def weather(city: str) -> str:
    """The weather of a city.

    Args:
        city: Name of the city.
    """
    return f"It is sunny in {city}."
