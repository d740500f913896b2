"""Calls that are not recorded, because they belong to no step: a budget sees what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbckpt.llm.call import Call
    from nbckpt.llm.outcomes import CallOutcomes
    from nbckpt.llm.session_budget import SessionBudget
    from nbckpt.timeline.recordings import Outcome


class UnkeptCalls:
    """Takes what such calls bring, and writes nothing of it but the cost.

    Attributes
    ----------
    outcomes
        Counts of the session's calls.
    """

    def __init__(self, budget: SessionBudget, outcomes: CallOutcomes) -> None:
        self.outcomes = outcomes
        self._budget = budget

    def keep(self, call: Call, state: Outcome) -> None:
        """Take note of what a call cost."""
        question = call.question
        model = call.usage.model or question.model
        self._budget.ended(call, model, state)

    def failed(self, call: Call, error: BaseException | str) -> None:
        """Note that a call was not answered."""
        self._budget.failed(call, error)

    def passed(self, call: Call, failure: str) -> None:  # noqa: ARG002 - a writer's signature
        """Let an answer pass that is not the last."""
        self._budget.failed(call, "")
