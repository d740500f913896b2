"""Classes of traitlets', whose metaclass makes traits and handlers of what stands in their body."""

from __future__ import annotations

import sys
from typing import Any

OF_DESCRIPTORS = (
    "_all_trait_default_generators", "_descriptors", "_instance_inits",
    "_static_immutable_initial_values", "_trait_default_generators", "_traits",
)  # fmt: skip
"""Attributes that the metaclass makes of the body of a class."""


def has_descriptors(cls: type) -> bool:
    """True if a class is one whose traits and handlers traitlets sets up."""
    module: Any = sys.modules.get("traitlets.traitlets")
    return module is not None and isinstance(cls, module.MetaHasDescriptors)
