"""Pillow: objects that draw on an image."""

from __future__ import annotations

from typing import Any

from nbckpt.types.adapter import TypeAdapter
from nbckpt.types.setters import set_attributes


def _reduce_draw(draw: Any) -> Any:
    names = ("ink", "fill", "fontmode", "font")
    attributes = {n: vars(draw)[n] for n in names if n in vars(draw)}
    arguments = type(draw), draw._image, draw.mode  # noqa: SLF001
    return make_draw, arguments, attributes, None, None, set_attributes


def make_draw(kind: Any, image: Any, mode: str) -> Any:
    """An object that draws on an image."""
    return kind(image, mode)


ADAPTERS = (TypeAdapter(("PIL.ImageDraw:ImageDraw",), reduce=_reduce_draw),)
