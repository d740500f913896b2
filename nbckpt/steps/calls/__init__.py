"""Calls that are kept: the same code on the same arguments gives the same answer, without running.

A call is known by the digest of its function's code with all that this reaches, by the digest of
its arguments, and by how many equal calls the running step made before it. What it returned is in
the store before its caller sees it.
"""

from nbckpt.steps.calls.decorator import step
from nbckpt.steps.calls.intents import resolve

__all__ = ["resolve", "step"]
