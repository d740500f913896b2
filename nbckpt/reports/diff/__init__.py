"""Comparison of two checkpoints: variables by digest first, then by content.

Nothing here touches the live namespace or asks a value of the user's to compare or show itself.
Each family of values has a module whose `detail(before, after, limits)` gives the differences.
"""

from nbckpt.reports.diff.comparing import compare
from nbckpt.reports.diff.details import Limits
from nbckpt.reports.diff.difference import Difference

__all__ = ["Difference", "Limits", "compare"]
