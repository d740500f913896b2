"""Glances at the outputs of cells: a thumbnail, the head of a table, or the last line of text.

Made when somebody looks at the row, from the recorded outputs, and remembered by their digest: no
cell waits for it.
"""

from __future__ import annotations

import base64
import binascii
import io
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from nbckpt.errors import NbckptError
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.session.history.recorded_outputs import recorded_outputs
from nbckpt.text.escape import on_a_line, without_colours

if TYPE_CHECKING:
    from nbckpt.model import Checkpoint
    from nbckpt.session.session import Session

Glance: TypeAlias = dict[str, Any]
"""`kind` is ``image`` (with `image`, a PNG in base64), ``table`` (with `rows`, a list of lists of
texts) or ``text``; `text` says it in a line."""

SIDE_PX = 112
"""Longest side of a thumbnail: sharp on a screen of two pixels for one."""
MOST_BYTES = 8_000
"""Of a thumbnail; one that is larger has fewer colours."""
LIGHT = 180
"""From this mean of 255 on, a picture is taken for a plot on a light ground."""
MOST_PIXELS = 20_000_000
MOST_CHARACTERS = 120
REMEMBERED = 2_000


class Glances:
    """Those of one session's checkpoints."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: OrderedDict[str, Glance | None] = OrderedDict()

    def of(self, ids: Iterable[str]) -> dict[str, Glance | None]:
        """A glance for each id that is known; None where its cell showed nothing."""
        known = self._session.timeline.checkpoints
        return {i: self._of(known[i]) for i in ids if i in known}

    def _of(self, checkpoint: Checkpoint) -> Glance | None:
        digest = checkpoint.outputs
        if digest is None:
            return None
        if digest not in self._known:
            self._known[digest] = self._made(checkpoint)
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return self._known[digest]

    def _made(self, checkpoint: Checkpoint) -> Glance | None:
        try:
            outputs = recorded_outputs(self._session.store, checkpoint)
            return glance_of(outputs)
        except NbckptError:
            return None  # the details say what is wrong
        except user_code_errors():  # one odd output costs its own glance alone
            return None


def glance_of(outputs: Iterable[Mapping[str, Any]]) -> Glance | None:
    """The most telling of what a cell showed: its last picture, else its last table, else text."""
    text = ""
    table: Glance | None = None
    picture: Glance | None = None
    for output in outputs:
        if "stream" in output:
            text = _last_line(output.get("text")) or text
            continue
        data = output.get("display") or output.get("result") or {}
        plain = _plot_line(data) or _last_line(data.get("text/plain"))
        text = plain or text
        if isinstance(encoded := data.get("image/png"), str) and (image := thumbnail(encoded)):
            picture = {"kind": "image", "image": image, "text": plain}
        if isinstance(html := data.get("text/html"), str) and "<table" in html.casefold():
            from nbckpt.reports.table_heads import head_of_table

            if rows := head_of_table(html):
                table = {"kind": "table", "rows": rows, "text": plain}
    return picture or table or ({"kind": "text", "text": text} if text else None)


def _plot_line(data: Mapping[str, Any]) -> str:
    """A name for a plot that has no text of its own, or only one on how to show it."""
    for media_type, value in data.items():
        if media_type.startswith("application/vnd.bokehjs_exec."):
            return "Bokeh plot"
        if media_type.startswith(("application/vnd.vegalite.", "application/vnd.vega.")):
            title = value.get("title") if isinstance(value, dict) else None
            text = title.get("text") if isinstance(title, dict) else title
            return f"chart: {_last_line(text)}" if isinstance(text, str) else "chart"
    return ""


def _last_line(text: object) -> str:
    lines = [line for line in without_colours(str(text or "")).splitlines() if line.strip()]
    return on_a_line(lines[-1].strip())[:MOST_CHARACTERS] if lines else ""


def thumbnail(encoded: str) -> str | None:
    """A PNG in base64 made small, in base64 as well; None if it is none or Pillow is missing."""
    try:
        from PIL import Image, ImageFilter, ImageStat
    except ImportError:
        return None
    try:
        with Image.open(io.BytesIO(binascii.a2b_base64(encoded)), formats=("PNG",)) as image:
            if image.width * image.height > MOST_PIXELS:
                return None
            small = image.convert("RGBA")
        small.thumbnail((2 * SIDE_PX, 2 * SIDE_PX), Image.Resampling.BOX)
        if ImageStat.Stat(small.convert("L")).mean[0] > LIGHT:
            small = small.filter(ImageFilter.MinFilter(3))  # else thin lines of a plot vanish
        small.thumbnail((SIDE_PX, SIDE_PX), Image.Resampling.BOX)
        for colours in (0, 64, 16, 4):
            made = io.BytesIO()
            kept = small if not colours else small.quantize(colours, Image.Quantize.FASTOCTREE)
            kept.save(made, "PNG", optimize=True)
            if made.tell() <= MOST_BYTES:
                return base64.b64encode(made.getvalue()).decode()
    except (ValueError, OSError, SyntaxError, Image.DecompressionBombError):
        return None
    return None
