"""Cost of a session's model calls, and the limit on it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from nbckpt.config.model_prices import Rate, rates_of
from nbckpt.errors import BudgetError, UsageError
from nbckpt.llm import providers
from nbckpt.llm.prices import load, price_of
from nbckpt.llm.providers import Endpoint
from nbckpt.llm.usage import Usage
from nbckpt.runtime import clock
from nbckpt.text.units import usd_text
from nbckpt.timeline.recordings import Recording

if TYPE_CHECKING:
    from nbckpt.llm.call import Call
    from nbckpt.session.session import Session

_BYTES_PER_TOKEN = 4
_LIMITS = ("max_completion_tokens", "max_output_tokens", "max_tokens", "maxOutputTokens")
_OPTIONS = ("generationConfig", "generation_config", "options")


class SessionBudget:
    """Cost of a session's model calls so far, and the limit that the user set.

    Attributes
    ----------
    paid_usd
        Paid for answers in this session; for calls that are not recorded, their estimates.
    limit_usd
        None: no limit.
    """

    def __init__(self, session: Session) -> None:
        self.paid_usd = 0.0
        self.limit_usd: float | None = None
        self._session = session
        self._lock = threading.RLock()
        self._under_way: WeakKeyDictionary[Call, float] = WeakKeyDictionary()
        self._counted: WeakKeyDictionary[Call, float] = WeakKeyDictionary()
        self._longest: dict[str, int] = {}
        self._rates: tuple[str, Mapping[str, Rate]] = ("", {})

    # -- the recorder calls these -------------------------------------------------------------

    def begin(self, call: Call) -> None:
        """Take note of a call that is about to be sent.

        Raises
        ------
        BudgetError
            If it would pass the limit: then it is not sent.
        """
        load()
        if self.limit_usd is not None:
            question = call.question
            size = len(question.asked.body)
            with self._lock:
                estimate = self._admitted(question.endpoint, question.body.members, size)
                self._under_way[call] = estimate

    def unseen(self, endpoint: Endpoint, members: Mapping[str, Any] | None, size: int) -> None:
        """Take note of a call that is about to be sent, and whose answer will not be seen.

        Raises
        ------
        BudgetError
            If it would pass the limit.
        """
        if self.limit_usd is not None:
            with self._lock:
                self.paid_usd += self._admitted(endpoint, members, size)

    def ended(self, call: Call, recording: Recording) -> Recording:
        """The recording of a call that was answered, with what it cost."""
        price = price_of(
            recording.provider, recording.model, call.usage, recording.created_at, self._own()
        )
        with self._lock:
            self._under_way.pop(call, None)
            longest = self._longest.get(recording.model, 0)
            self._longest[recording.model] = max(longest, recording.tokens_out or 0)
            if price is None:
                return recording
            # Of a stream that goes on after its end, the first part is counted already.
            self.paid_usd += price.usd - self._counted.get(call, 0.0)
            self._counted[call] = price.usd
        return recording._replace(cost_usd=price.usd, price=price.source)

    def failed(self, call: Call) -> None:
        """Take note of a call that was not answered: it cost nothing."""
        with self._lock:
            self._under_way.pop(call, None)

    # -- within -------------------------------------------------------------------------------

    def _admitted(self, endpoint: Endpoint, members: Mapping[str, Any] | None, size: int) -> float:
        """The estimate of a call that may be sent."""
        assert self.limit_usd is not None
        model = providers.model_of(endpoint, members)
        estimate = self._estimate(endpoint.provider, model, members or {}, size)
        spent = self.paid_usd + sum(self._under_way.values())
        if spent >= self.limit_usd or spent + (estimate or 0.0) > self.limit_usd:
            about = "" if estimate is None else f" and this one about {usd_text(estimate)}"
            message = (
                f"the budget of {usd_text(self.limit_usd)} stops this call of {model!r}: the calls "
                f"before it cost {usd_text(spent)}{about}; raise it with `%nbckpt budget USD`, or "
                "end it with `%nbckpt budget off`"
            )
            raise BudgetError(message)
        if estimate is None and model:
            told = f"no price is known of {model!r}: the budget does not see its calls; "
            told += f'say one with `%nbckpt config prices "{model}=0.5/1.5"`'
            self._session.writes.notify(told)
        return estimate or 0.0

    def _estimate(
        self, provider: str, model: str, members: Mapping[str, Any], size: int
    ) -> float | None:
        longest, most = self._longest.get(model), _limit_of(members)
        known = [n for n in (longest, most) if n is not None]
        usage = Usage(size // _BYTES_PER_TOKEN, min(known, default=0))
        price = price_of(provider, model, usage, clock.now(), self._own())
        return None if price is None else price.usd

    def _own(self) -> Mapping[str, Rate]:
        text = self._session.settings.prices
        if text != self._rates[0]:
            self._rates = (text, rates_of(text))
        return self._rates[1]

    # -- doors --------------------------------------------------------------------------------

    def set(self, limit_usd: float | None) -> None:
        """Have calls stopped that would pass a limit; None: no limit.

        Raises
        ------
        UsageError
            If no price of any model is known, so that it could never stop one.
        """
        if limit_usd is not None and not self._own() and load().result() is None:
            message = (
                "budget: no prices are known here: `pip install 'nbckpt[prices]'`, or say them "
                'with `%nbckpt config prices "MODEL=0.5/1.5"`, per million tokens in/out'
            )
            raise UsageError(message)
        self.limit_usd = limit_usd

    def text(self) -> str:
        """Limit, amount paid and amount left, in one line."""
        paid = f"{usd_text(self.paid_usd)} paid in this session"
        if self.limit_usd is None:
            return f"no budget; {paid}"
        left = max(0.0, self.limit_usd - self.paid_usd)
        return f"budget {usd_text(self.limit_usd)}: {paid}, {usd_text(left)} left"


def _limit_of(members: Mapping[str, Any]) -> int | None:
    for place in (members, *(members.get(name) for name in _OPTIONS)):
        if isinstance(place, Mapping):
            for name in _LIMITS:
                if isinstance(number := place.get(name), int):
                    return number
    return None
