"""What a case of the fidelity suite is, and where the cases are."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from packaging.version import Version

import tests.fidelity
from nbckpt.capture.observation.library_versions import version_of

Outcome = Literal["exact", "recipe", "refused"]


@dataclass(frozen=True, slots=True)
class Case:
    """One type of value.

    Attributes
    ----------
    name
        As it stands in the table; unique in its module.
    make
        A cell that binds ``x``. It runs twice, in two processes that have different hash seeds, and
        must make equal values each time; the working directory is empty at the first, and the same
        at the second.
    check
        Statements that compare ``x``, which was restored, with ``y``, which was not: with
        ``assert``, or with ``same(x, y)``, the deep comparison. ``new`` and ``old`` are the
        namespaces around them. By default, ``same(x, y)``.
    outcome
        ``exact``: it comes back as it was. ``recipe``: the statement that made it runs again.
        ``refused``: it is named with the reason, and all else is kept.
    reason
        A text that stands in the refusal.
    note
        What the table says about it.
    needs
        Packages that the case is skipped without, by import name, with spaces between;
        ``numpy>=2`` of no older version.
    since
        The first Python that has it.
    told
        Whether keys can tell its value. If not, its digest must be one that nothing equals: a cell
        that reads it runs again. None: it is told in some processes and not in others.
    part_of
        The row of the table that stands for this case and others alike; `name` by default.
    """

    name: str
    make: str
    check: str = ""
    outcome: Outcome = "exact"
    reason: str = ""
    note: str = ""
    needs: str = ""
    since: tuple[int, int] = (3, 11)
    told: bool | None = True
    part_of: str = ""

    @property
    def missing(self) -> str:
        """What it needs and is not there; empty if all is."""
        if sys.version_info < self.since:
            return f"Python {self.since[0]}.{self.since[1]}"
        return next((need for need in self.needs.split() if not _is_there(need)), "")


def _is_there(need: str) -> bool:
    package, _, version = need.partition(">=")
    if importlib.util.find_spec(package) is None:
        return False
    return not version or Version(version_of(package)) >= Version(version)


def modules() -> list[str]:
    """The names of the modules that hold cases, as the table orders them."""
    found = [info.name for info in pkgutil.iter_modules(tests.fidelity.__path__)]
    return sorted(n for n in found if n.startswith(("python_", "science_")))


def title_of(module: str) -> str:
    """The heading of a module's cases."""
    title: str = importlib.import_module(f"tests.fidelity.{module}").TITLE
    return title


def cases_of(module: str) -> Mapping[str, Case]:
    """The cases of a module by name: those of its ``CASES``."""
    cases: tuple[Case, ...] = importlib.import_module(f"tests.fidelity.{module}").CASES
    by_name = {case.name: case for case in cases}
    assert len(by_name) == len(cases), f"two cases of {module} have one name"
    return by_name
