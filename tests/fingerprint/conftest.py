"""A folder of modules."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that modules are imported from; forgotten afterwards, and no others.

    Of a library that is imported meanwhile only a part may be new.
    """
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name, module in list(sys.modules.items()):
        members = getattr(module, "__dict__", {})  # what some modules make up is no place
        places = [members.get("__file__"), *(members.get("__path__") or ())]
        if any(isinstance(p, str) and tmp_path in Path(p).parents for p in places):
            del sys.modules[name]
