"""The request for a step: its name, and the options that it was asked for with."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from nbckpt.capture.selection import Selection


@dataclass(frozen=True)
class Request:
    """Options that a step was asked for with.

    Attributes
    ----------
    name
        Name of its checkpoints; a step with another name is another step.
    selection
        Variables that it keeps.
    deps
        Files that it depends on.
    rerun
        Run from the beginning even if it could be restored.
    is_skippable
        False for a block whose body runs in any case; its loops still go on where they were.
    beside
        Of a block, the code that runs after it in its cell or script; None for a cell.
    sync
        Wait for the disk however long it takes.
    """

    name: str
    selection: Selection = field(default_factory=Selection)
    deps: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    note: str = ""
    rerun: bool = False
    sync: bool = False
    is_skippable: bool = True
    beside: ast.Module | None = None
