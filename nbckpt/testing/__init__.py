"""Model provider on loopback, to test a notebook without a network.

It uses the standard library only, and nothing of nbckpt but its errors, so that it is independent
of the code that it tests.
"""

from __future__ import annotations

from nbckpt.testing.counts import Received
from nbckpt.testing.faults import Fault
from nbckpt.testing.offline import Provider
from nbckpt.testing.replies import ToolCall

__all__ = ["Fault", "Provider", "Received", "ToolCall"]
