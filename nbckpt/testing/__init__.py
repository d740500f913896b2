"""What a notebook is tested with where no network is: a model provider on loopback.

Standard library only, and nothing of nbckpt's own but its errors, so that it says nothing of what
it tests.
"""

from __future__ import annotations

from nbckpt.testing.counts import Received
from nbckpt.testing.faults import Fault
from nbckpt.testing.offline import Provider
from nbckpt.testing.replies import ToolCall

__all__ = ["Fault", "Provider", "Received", "ToolCall"]
