"""A figure: one thing that was measured several times, and what it may be at most."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from statistics import median, quantiles
from typing import Any

PACKAGES = (
    "nbckpt", "ipython", "numpy", "pandas", "scikit-learn", "duckdb", "pyarrow", "blake3",
    "cloudpickle", "dill", "joblib", "kishu", "polars", "sympy", "xgboost",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured.

    Attributes
    ----------
    unit
        ``s``, ``B``, ``MB``, or ``x`` for a ratio.
    at_most
        The goal for the median, in the same unit; None where there is none.
    floor
        The floor that a row in seconds is held against (`tests.bench.floors`); None for what is
        not nbckpt's: peers, plain runs and copies.
    floor_s
        The seconds of that floor in the same process.
    absent
        Why nothing was measured: a package that is not installed.
    """

    label: str
    unit: str
    values: Sequence[float] = field(default_factory=list)
    at_most: float | None = None
    floor: str | None = None
    floor_s: float | None = None
    absent: str = ""

    @property
    def median(self) -> float:
        """Of all the times that it was measured."""
        return median(self.values)

    @property
    def ratio(self) -> float | None:
        """The median in floors; None where the row is held against none."""
        return self.median / self.floor_s if self.values and self.floor_s else None

    @property
    def high(self) -> float:
        """The 95th percentile of many values, the largest of few."""
        return quantiles(self.values, n=20)[-1] if len(self.values) >= 20 else max(self.values)

    def text(self, value: float) -> str:
        """A value, as people write it."""
        return amount(value, self.unit)

    def as_record(self) -> dict[str, Any]:
        """As JSON members."""
        return {"kind": "figure", **asdict(self)}


def absences(label: str, packages: Sequence[str]) -> list[Figure]:
    """A figure that names the packages that are not installed; none if all are."""
    lacking = [p for p in packages if find_spec(p) is None]
    why = f"not installed: {', '.join(lacking)}"
    return [Figure(label, "s", absent=why)] if lacking else []


def figure_of(record: dict[str, Any]) -> Figure:
    """What `as_record` gave."""
    return Figure(**{k: v for k, v in record.items() if k != "kind"})


def amount(value: float, unit: str) -> str:
    """A number with its unit."""
    match unit:
        case "s":
            if abs(value) < 1e-4:
                return f"{value * 1e6:.1f} \N{MICRO SIGN}s"
            return f"{value:.2f} s" if abs(value) >= 10 else f"{value * 1e3:,.1f} ms"
        case "B":
            return f"{value / 1e6:,.2f} MB" if abs(value) >= 1e5 else f"{value / 1e3:.1f} kB"
        case "MB":
            return f"{value:,.0f} MB"
        case "x":
            return f"{value:.2f} x"
    return f"{value:g}"


def in_floors(ratio: float) -> str:
    """A number of floors, which may be a part of one or some thousands."""
    return f"{ratio:,.3g}" if ratio < 1000 else f"{ratio:,.0f}"


def machine() -> dict[str, Any]:
    """What the figures were taken on; it names no machine and no path."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    versions = {p: found for p in PACKAGES if (found := _version(p)) is not None}
    return {
        "kind": "machine",
        "cores": os.cpu_count(),
        "architecture": platform.machine(),
        "memory_gib": round(memory / (1 << 30)),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
        "versions": versions,
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
