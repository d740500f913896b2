"""Pillow: images of files, and objects that draw on an image."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import Any

from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.types.adapter import RefusalError, TypeAdapter
from nbckpt.types.setters import set_attributes


def _reduce_draw(draw: Any) -> Any:
    names = ("ink", "fill", "fontmode", "font")
    attributes = {n: vars(draw)[n] for n in names if n in vars(draw)}
    arguments = type(draw), draw._image, draw.mode  # noqa: SLF001
    return make_draw, arguments, attributes, None, None, set_attributes


def make_draw(kind: Any, image: Any, mode: str) -> Any:
    """An object that draws on an image."""
    return kind(image, mode)


def _reduce_image(image: Any) -> Any:
    """An image of a file; Pillow's own way writes the frame that is there, and no other."""
    if _n_frames(image) > 1:
        message = "it reads its frames from a file: keep a list of these, or open it again"
        raise RefusalError(message)
    return NotImplemented


def _n_frames(image: Any) -> int:
    """The frames in the file of an image; it is not asked itself, which would read it anew."""
    if not isinstance(getattr(type(image), "n_frames", None), property):
        return int(vars(image).get("n_frames", 1))
    name, inside = getattr(image, "filename", ""), getattr(image, "_fp", None)
    source = name or (io.BytesIO(inside.getvalue()) if isinstance(inside, io.BytesIO) else None)
    if source is None:
        return 1 + int(image.tell())
    try:
        with sys.modules["PIL.Image"].open(source) as twin:
            return int(twin.n_frames)
    except user_code_errors():  # its file is gone, or damaged
        return 1 + int(image.tell())


def _memory(image: Any) -> Sequence[tuple[int, int]] | None:
    """An image over memory of another object is read-only, and does not tell of whom."""
    return None if getattr(image, "readonly", 0) else ()


ADAPTERS = (
    TypeAdapter(("PIL.ImageFile:ImageFile",), reduce=_reduce_image),
    TypeAdapter(("PIL.Image:Image",), memory=_memory),
    TypeAdapter(("PIL.ImageDraw:ImageDraw",), reduce=_reduce_draw),
)
