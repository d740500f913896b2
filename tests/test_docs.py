"""The documents name modules and files that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for place in ("README.md", "CONTRIBUTING.md", "docs/**/*.md", "nbckpt/**/*.md")
    for path in ROOT.glob(place)
)
BUILT = {"nbckpt/jupyter/static", "nbckpt/labextension"}
"""Made by the build, where there is Node."""
SOURCES = ("nbckpt", "labextension/src", "labextension", ".")
TOPS = {path.name for path in (ROOT / "nbckpt").iterdir() if path.is_dir()}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_document_names_what_there_is(document: str) -> None:
    text = (ROOT / document).read_text()
    named = re.findall(r"`((?:[\w.-]+/)+[\w-]+(?:\.(?:py|ts|md))?/?)`", text)

    assert not [
        name for name in named if _is_ours(name) and name not in BUILT and not _exists(name)
    ]


def _is_ours(name: str) -> bool:
    """True for a path that begins in the project or in the package."""
    top = name.partition("/")[0]
    return top in {*TOPS, "nbckpt", "tests", "docs", "labextension", "notebooks"}


def _exists(name: str) -> bool:
    places = [ROOT / source / name.rstrip("/") for source in SOURCES]
    return any(p.exists() or p.with_name(f"{p.name}.py").exists() for p in places)
