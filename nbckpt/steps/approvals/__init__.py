"""Questions to people: asked by `nbckpt.approve`, kept until somebody answers, and after that.

A question is a record in the store, and its answer another, which any process may write. Who waits
follows the store, so that no door needs to know of any other.
"""

from nbckpt.steps.approvals.approval import Approval
from nbckpt.steps.approvals.approving import approve, approve_async

__all__ = ["Approval", "approve", "approve_async"]
