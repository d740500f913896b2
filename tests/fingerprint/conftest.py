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
        places = [getattr(module, "__file__", None), *(getattr(module, "__path__", None) or ())]
        if any(isinstance(p, str) and tmp_path in Path(p).parents for p in places):
            del sys.modules[name]
