"""Frames of cells and scripts, whose variables are those of the notebook."""

from __future__ import annotations

from collections.abc import Mapping
from types import FrameType

_NAME = "<module>"
_NAME_BEFORE_8 = "<cell line: "
"""With which IPython 7.30 to 8.0 begin the name of a cell's code."""


def is_of_cell(frame: FrameType, namespace: Mapping[str, object]) -> bool:
    """True if a frame runs the top level of code in `namespace`, and no function."""
    name = frame.f_code.co_name
    return frame.f_globals is namespace and (name == _NAME or name.startswith(_NAME_BEFORE_8))
