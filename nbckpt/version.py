"""The version of nbckpt, and where it lies."""

from pathlib import Path

__version__ = "0.1.0"

PACKAGE = Path(__file__).parent
"""The folder of nbckpt."""
