"""Result of an export, with the items that were left out, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbckpt.model import Checkpoint, Refusal
from nbckpt.text.escape import lines_of
from nbckpt.text.units import bytes_text, count_text


@dataclass(frozen=True, slots=True)
class Exported:
    """Result of an export.

    Attributes
    ----------
    left
        Variables that were left out, each with its reason.
    recordings, calls
        Model calls and kept calls of its step.
    tables
        Variables that are there as Parquet, too.
    left_records
        Model calls and kept calls that were left out.
    """

    path: Path
    checkpoint: Checkpoint
    variables: tuple[str, ...]
    left: tuple[Refusal, ...]
    recordings: int
    calls: int
    tables: tuple[str, ...]
    left_records: int
    size_bytes: int
    encrypted: bool

    def text(self, path: str = "") -> str:
        """The lines for people; `path` is how they would type where it is."""
        where = path or str(self.path)
        parts = [count_text(len(self.variables), "variable")]
        parts += [count_text(self.recordings, "model call")] * bool(self.recordings)
        parts += [count_text(self.calls, "kept call")] * bool(self.calls)
        parts += [f"{count_text(len(self.tables), 'table')} as Parquet"] * bool(self.tables)
        head = f"{self.checkpoint.name!r} is in {where}: {', '.join(parts)}, "
        lines = [head + bytes_text(self.size_bytes)]
        lines += [f"  left out: {told}" for told in _reasons(self.left)]
        if self.left_records:
            lines.append(f"  left out: {count_text(self.left_records, 'call')} of its step")
        others = f"others restore it after `nbckpt trust {where}`"
        needs = ", with the key that it is encrypted with" if self.encrypted else ""
        lines.append(f"next: `nbckpt log --store {where}`; {others}{needs}")
        return lines_of(lines)

    def as_record(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "path": str(self.path),
            "id": self.checkpoint.id,
            "name": self.checkpoint.name,
            "variables": list(self.variables),
            "left_out": [refusal._asdict() for refusal in self.left],
            "recordings": self.recordings,
            "kept_calls": self.calls,
            "left_out_calls": self.left_records,
            "tables": list(self.tables),
            "size_bytes": self.size_bytes,
            "encrypted": self.encrypted,
        }


@dataclass(frozen=True, slots=True)
class ExportedFiles:
    """Result of an export in open formats.

    Attributes
    ----------
    files
        Name of each variable that has a file → its path in the folder.
    left
        Variables that have none, each with its reason.
    cells
        Number of cells in the notebook.
    left_outputs
        Number of recorded outputs that the notebook lacks.
    """

    path: Path
    checkpoint: Checkpoint
    files: Mapping[str, str]
    left: tuple[Refusal, ...]
    cells: int
    left_outputs: int

    def text(self, path: str = "") -> str:
        """The lines for people; `path` is how they would type where it is."""
        where = path or str(self.path)
        files, cells = count_text(len(self.files), "variable"), count_text(self.cells, "cell")
        lines = [f"{self.checkpoint.name!r} is in {where}, in open formats: {files}, {cells}"]
        lines += [f"  no file: {told}" for told in _reasons(self.left)]
        if self.left_outputs:
            outputs = count_text(self.left_outputs, "output")
            lines.append(
                f"  not in the notebook: {outputs}, damaged or of no form that an export writes"
            )
        lines.append(f"next: {where}/index.json says which file holds which variable")
        return lines_of(lines)

    def as_record(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "path": str(self.path),
            "id": self.checkpoint.id,
            "name": self.checkpoint.name,
            "files": dict(self.files),
            "left_out": [refusal._asdict() for refusal in self.left],
            "cells": self.cells,
            "left_out_outputs": self.left_outputs,
        }


def _reasons(left: Iterable[Refusal]) -> list[str]:
    """Texts that name the variables left out, with types: one for each reason."""
    found: dict[str, list[str]] = {}
    for name, _, kind, reason in left:
        found.setdefault(reason, []).append(f"{name} ({kind})")
    return [f"{', '.join(names)}: {reason}" for reason, names in found.items()]
