"""Costs of calls: what one may cost before it is sent, and what it did cost."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from nbckpt.config.budget_rule import BudgetRule
from nbckpt.config.model_prices import Rate, rates_of
from nbckpt.errors import BudgetError
from nbckpt.llm.cost_bounds import Bound, bound_of, seen_in, thinks_unseen
from nbckpt.llm.endpoint_kinds import FREE
from nbckpt.llm.prices import Price, is_fine_tuned, price_of, window_of
from nbckpt.llm.rate_bounds import most_of
from nbckpt.llm.service_tiers import dearer_tier, dearer_tier_asked
from nbckpt.runtime import clock
from nbckpt.text.units import usd_text
from nbckpt.timeline.recordings import RECORDING

if TYPE_CHECKING:
    from nbckpt.llm.call import Call
    from nbckpt.llm.question import Question
    from nbckpt.session.session import Session
    from nbckpt.timeline.recordings import Outcome


class CallCosts:
    """Prices of a session's calls, by its settings and by what its store has seen of models."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._kept: dict[str, int] = {}  # longest answers, by model: of the store when it was asked
        self._seen: dict[str, int] = {}  # and of this session
        self._tiers: dict[str, set[str]] = {}  # dearer ones that calls were served in, by model
        self._knows_tiers = False  # those that the store has seen
        self._rates: tuple[str, Mapping[str, Rate]] = ("", {})

    @property
    def own_rates(self) -> Mapping[str, Rate]:
        """The user's own prices, by model."""
        text = self._session.settings.prices
        if text != self._rates[0]:
            self._rates = (text, rates_of(text))
        return self._rates[1]

    # -- before

    def bound(self, question: Question, rule: BudgetRule) -> tuple[float, bool]:
        """The most that a call may cost in US dollars, and whether that is known.

        Raises
        ------
        BudgetError
            If no price is known of it, and the budget does not say what it counts.
        """
        endpoint = question.endpoint
        model = question.model
        if endpoint.kind.name in FREE:
            return 0.0, True
        if (most := self._most(question, self._bound(question))) is not None:
            return most
        if rule.unknown_usd is not None:
            return rule.unknown_usd, True
        priced = f'say one with `%nbckpt config prices "{model}=0.5/1.5"`, or ' if model else "say "
        message = (
            f"no price is known of {model or endpoint.path!r}, so that the budget of"
            f" {usd_text(rule.usd)} stops its calls: {priced}what each such call counts with"
            f" `%nbckpt budget {rule.usd:g} --unknown 0.01`"
        )
        raise BudgetError(message)

    def _bound(self, question: Question) -> Bound:
        endpoint, model = question.endpoint, question.model
        return bound_of(
            endpoint.kind.name,
            model,
            question.members,
            question.asked.body,
            window=partial(window_of, endpoint.provider, model),
            longest=partial(self._longest_of, model),
        )

    def _most(self, question: Question, bound: Bound) -> tuple[float, bool] | None:
        """The most that something costs, in any tier that it may be served in."""
        provider, model = question.endpoint.provider, question.model
        tiers = self._tiers_of(model) | {dearer_tier_asked(question.members)} - {""}
        return most_of(provider, model, bound, clock.now(), tiers=tiers, rates=self.own_rates)

    def _tiers_of(self, model: str) -> set[str]:
        """Dearer tiers that a model's calls were served in: an account may be set to one."""
        if not self._knows_tiers:
            self._knows_tiers = True
            for record in self._session.store.records(RECORDING):
                self._note_tier(str(record.get("model")), record.get("usage", {}))
        return self._tiers.get(model, set())

    def _note_tier(self, model: str, told: Mapping[str, Any]) -> None:
        if tier := dearer_tier(told):
            self._tiers.setdefault(model, set()).add(tier)

    def _longest_of(self, model: str) -> int | None:
        """Tokens of the longest answer of a model that this store knows; None if it knows none."""
        if model not in self._kept:
            records = self._session.store.records(RECORDING)
            known = (r.get("tokens_out") for r in records if r.get("model") == model)
            self._kept[model] = max((n for n in known if isinstance(n, int)), default=0)
        return max(self._kept[model], self._seen.get(model, 0)) or None

    # -- after

    def note(self, call: Call, model: str) -> None:
        """Take note of the length of an answer, and of its tier."""
        for name in {model, call.question.model}:
            self._seen[name] = max(self._seen.get(name, 0), call.usage.tokens_out or 0)
            self._note_tier(name, call.usage.told)

    def price(self, call: Call, model: str) -> Price | None:
        """The price of what a call took: of the model that answered, or that was asked."""
        provider, own = call.question.endpoint.provider, self.own_rates
        asked, usage = call.question.model, call.usage
        is_half = (usage.tokens_in is None) != (usage.tokens_out is None)
        if is_half and call.question.endpoint.kind.name in _TOLD_IN_FULL:
            return None
        names = (asked, model) if asked in own and model not in own else (model, asked)
        if is_fine_tuned(asked) and not is_fine_tuned(model):  # some answer with the base's name
            names = (asked, asked)
        prices = (price_of(provider, n, call.usage, call.created_at, own) for n in names)
        return next((price for price in prices if price is not None), None)

    def assumed(self, call: Call, model: str, reserved: float, state: Outcome) -> float:
        """What a call counts of whose cost its provider did not say, or not all.

        Parameters
        ----------
        reserved
            The most that it may cost.
        """
        if state == "done" and call.events and not thinks_unseen(model):
            bound = self._bound(call.question)
            seen = bound._replace(tokens_out=seen_in(call.events), is_out_known=True)
            most = self._most(call.question, seen)
            if most is not None and most[1]:
                return min(most[0], reserved)
        return reserved


_TOLD_IN_FULL = frozenset({"chat", "completions", "messages", "responses"})
"""Kinds whose answers say what went in and what came out: one without the other is no cost."""


def was_sent(error: BaseException | str) -> bool:
    """False if a request has failed before it could reach anybody."""
    seen: set[int] = set()
    problem = error if isinstance(error, BaseException) else None
    while problem is not None and id(problem) not in seen:
        seen.add(id(problem))
        name = type(problem).__name__
        if isinstance(problem, ConnectionRefusedError) or name in _UNSENT:
            return False
        # Not its context: that may be an error that the notebook was about to handle.
        problem = getattr(problem, "reason", None) or problem.__cause__
        problem = problem if isinstance(problem, BaseException) else None
    return True


_UNSENT = frozenset(
    {
        "ClientConnectorError", "ConnectError", "ConnectTimeout", "ConnectTimeoutError", "gaierror",
        "NameResolutionError", "NewConnectionError", "PoolTimeout", "SSLCertVerificationError",
        "UnsupportedProtocol",
    }
)  # fmt: skip
"""Names of errors of the HTTP libraries that come before anything is sent."""
