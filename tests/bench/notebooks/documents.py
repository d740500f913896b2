"""What a notebook's cells show, without what two plain runs show differently."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

Shown = tuple[str, ...]

_VARYING = re.compile(
    r"0x[0-9a-fA-F]{6,}|IPY_MODEL_\w+|model_id='?\w+'?|(?<=id=)['\"]?[\w-]{6,}|sk-container-id-\d+"
    r"|T_[0-9a-f]{5}|\bid=\d+|/tmp/[\w./-]+|ipykernel_\d+"
)


def shown(cell: Any) -> Shown:
    """The lines and pictures that a cell shows; nbckpt's own notices are left out."""
    parts: list[str] = []
    streams = {"stdout": "", "stderr": ""}
    for output in cell.outputs:
        if output.output_type == "stream":
            streams[output.name] += output.text
        elif output.output_type == "error":
            parts.append(f"error {output.ename}: {masked(str(output.evalue))}")
        elif "nbckpt" not in output.get("metadata", {}):
            parts += [_data(kind, value) for kind, value in sorted(output.data.items())]
    for name, text in streams.items():
        parts += [f"{name} {line}" for line in _lines(text)]
    return tuple(parts)


def _lines(text: str) -> list[str]:
    """A stream's lines as a terminal shows them."""
    lines = (masked(line.split("\r")[-1]) for line in text.replace("\r\n", "\n").split("\n"))
    return [line for line in lines if line.strip() and not line.startswith("nbckpt: ")]


def _data(kind: str, value: Any) -> str:
    if kind.startswith("image/") and "svg" not in kind:
        return f"{kind} {hashlib.sha256(str(value).encode()).hexdigest()[:12]}"
    if kind.startswith("application/vnd.jupyter.widget") or "svg" in kind:
        return kind
    return f"{kind} {masked(value if isinstance(value, str) else repr(value))}"


def masked(text: str) -> str:
    """A text without addresses, ids and temporary paths."""
    return _VARYING.sub("…", text)


def difference(got: Shown, one: Shown, other: Shown) -> str:
    """How `got` differs from two plain runs, where these agree; empty if it does not."""
    if got in (one, other):
        return ""
    if len(one) != len(other):
        return ""  # the plain runs do not agree on what is there
    if len(got) != len(one):
        return f"{len(got)} parts instead of {len(one)}: {_first_odd(got, one)}"
    for mine, first, second in zip(got, one, other, strict=True):
        if first == second and mine != first:
            return f"{mine[:160]!r} instead of {first[:160]!r}"
    return ""


def _first_odd(got: Sequence[str], want: Sequence[str]) -> str:
    lost = [part for part in want if part not in got]
    more = [part for part in got if part not in want]
    return f"without {lost[0][:120]!r}" if lost else f"with {more[0][:120]!r}" if more else ""
