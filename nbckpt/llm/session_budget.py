"""The budget for model calls, and what they cost: no call is sent that may pass it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary, finalize

from nbckpt.config.budget_rule import BudgetRule, budget_of
from nbckpt.config.config_file import write_setting
from nbckpt.config.model_prices import Rate, rates_of
from nbckpt.config.settings_sources import settings_of
from nbckpt.errors import BudgetError, UsageError
from nbckpt.llm import providers
from nbckpt.llm.budget_turns import PATIENCE_S, Turn
from nbckpt.llm.cost_bounds import FREE, bound_of, seen_of, thinks_unseen
from nbckpt.llm.flights import running_task
from nbckpt.llm.prices import Price, load, price_of, window_of
from nbckpt.runtime import clock
from nbckpt.runtime.gc_pause import uncollected
from nbckpt.storage.spending import InFlight, Place, Spending
from nbckpt.text.units import usd_text
from nbckpt.timeline.recordings import RECORDING

if TYPE_CHECKING:
    from nbckpt.llm.call import Call, Question
    from nbckpt.session.session import Session
    from nbckpt.timeline.recordings import Outcome

_ROUNDING = 1e-9
_MOST_AROUND = 64
_around: ContextVar[tuple[str, ...]] = ContextVar("nbckpt_budget_around", default=())
"""Calls that this task has begun, and those that began it: they may wait for it."""


class _Reserved(NamedTuple):
    """What a call in flight has put aside.

    Attributes
    ----------
    id
        Of its line in the store's file; None if there is none, where no budget is set.
    usd
        The most that it may cost.
    """

    id: str | None
    usd: float
    place: Place
    thread: int
    task: object
    forget: Callable[[], object]


class SessionBudget:
    """The budget of a store, as one of its sessions keeps to it.

    Attributes
    ----------
    paid_usd
        Paid in this session.
    assumed_usd
        Of that, for calls whose answer nobody saw in full: the most that these may cost.
    """

    def __init__(self, session: Session) -> None:
        self.paid_usd = 0.0
        self.assumed_usd = 0.0
        self._session = session
        self._spending = Spending(session.store.path)
        self._lock = threading.RLock()
        self._reserved: WeakKeyDictionary[Call, _Reserved] = WeakKeyDictionary()
        self._counted: WeakKeyDictionary[Call, float] = WeakKeyDictionary()
        self._waiting: list[Turn] = []
        self._dropped: deque[tuple[str, float]] = deque()
        self._longest: dict[str, int] = {}
        self._rates: tuple[str, Mapping[str, Rate]] = ("", {})
        self._rule: BudgetRule | None = budget_of(session.settings.budget)
        self._stamp: object = None
        self._has_told = False

    # -- the recorder calls these -------------------------------------------------------------

    @property
    def rule(self) -> BudgetRule | None:
        """The budget that is set; None if there is none. Other sessions may set it, too."""
        stamp = self._session.store.config.stamp()
        if stamp != self._stamp:
            self._stamp = stamp
            self._rule = budget_of(settings_of(self._session.store).budget)
        return self._rule

    def begin(self, call: Call, *, blocks: bool = True) -> Turn | None:
        """Put aside what a call may cost that is about to be sent.

        Parameters
        ----------
        blocks
            True if waiting would hold up the thread.

        Returns
        -------
        Turn or None
            What it has to wait for, before it is asked again: calls in flight have put aside what
            it needs, and may cost less. None if it may be sent.

        Raises
        ------
        BudgetError
            If it may pass the budget: then it is not sent.
        """
        load()
        rule, place, until = self.rule, self._place(), None
        with self._alone():
            if isinstance(call.awaited, Turn):
                until = call.awaited.until
                self._waiting = [turn for turn in self._waiting if turn is not call.awaited]
            if rule is None:
                self._reserved[call] = _Reserved(None, 0.0, place, 0, None, _nothing)
                return None
            with self._line() as write:
                task = None if blocks else running_task()
                usd = self._admitted(call.question, rule, place, until, task=task)
                if usd is None:
                    until = until or time.monotonic() + PATIENCE_S
                    self._waiting.append(Turn(call.give_up, until))
                    return self._waiting[-1]
                self._put_aside(call, usd, place, write)
        return None

    def _put_aside(
        self, call: Call, usd: float, place: Place, write: Callable[[dict[str, Any]], None]
    ) -> None:
        name = f"{self._session.id}-{id(call):x}-{time.monotonic_ns():x}"
        write(Spending.begun(name, usd, place))
        dropped = finalize(call, self._dropped.append, (name, usd))
        dropped.atexit = False  # a line that stays open counts in full, too
        self._reserved[call] = _Reserved(
            name, usd, place, threading.get_ident(), running_task(), dropped.detach
        )
        _around.set((*_around.get(), name)[-_MOST_AROUND:])

    def ended(self, call: Call, model: str, state: Outcome) -> Price | None:
        """What an answered call cost; None where that is not known, which is not nothing."""
        price = self._price(call, model)
        with self._alone():
            for name in {model, self._asked(call)}:
                longest = self._longest_of(name) or 0
                self._longest[name] = max(longest, call.usage.tokens_out or 0)
            reserved = self._reserved.get(call)
            if price is not None and (reserved is None or reserved.id is None or state == "done"):
                usd = price.usd
            elif reserved is not None and reserved.id is not None:
                usd = self._assumed(call, model, reserved.usd, state)
            else:  # nothing new is known of one that is counted
                usd = self._counted.get(call, 0.0)
            self._settle(call, usd)
        return price

    def _price(self, call: Call, model: str) -> Price | None:
        """The price of what a call took: of the model that answered, or that was asked."""
        provider, own, asked = call.question.endpoint.provider, self._own(), self._asked(call)
        names = (asked, model) if asked in own and model not in own else (model, asked)
        prices = (price_of(provider, n, call.usage, call.created_at, own) for n in names)
        return next((price for price in prices if price is not None), None)

    def _asked(self, call: Call) -> str:
        question = call.question
        return providers.model_of(question.endpoint, question.body.members)

    def failed(self, call: Call, error: BaseException | str) -> None:
        """Note that a call was not answered: whether it cost something is not known of all."""
        with self._alone():
            if (reserved := self._reserved.get(call)) is None:
                return
            if reserved.id is None or call.status >= 300 or not _was_sent(error):
                self._settle(call, 0.0)
            else:
                self.assumed_usd += reserved.usd
                self._settle(call, reserved.usd)

    # -- within -------------------------------------------------------------------------------

    def _place(self) -> Place:
        session = self._session
        return Place.of(clock.now(), session.id, session.notebook, session.position.branch)

    def _is_meant(self, rule: BudgetRule, here: Place) -> Callable[[Place], bool]:
        """True for places that the budget counts together with this one."""
        return lambda place: getattr(place, rule.per) == getattr(here, rule.per)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One thread at once, in which no object of the notebook goes meanwhile."""
        with self._lock, uncollected():
            while self._dropped:  # calls that nobody holds any more, and of whose end nobody told
                name, usd = self._dropped.popleft()
                self.paid_usd += usd
                self.assumed_usd += usd
                with self._line() as write:
                    write(Spending.ended(name, usd))
            yield

    @contextmanager
    def _line(self) -> Iterator[Callable[[dict[str, Any]], None]]:
        """The store's file; if the disk refuses, what this session knows of it."""
        spending = self._spending
        with ExitStack() as stack:
            try:
                write = stack.enter_context(spending.turn())
            except OSError as problem:
                self._tell(problem)
                write = spending.take

            def written(line: dict[str, Any]) -> None:
                try:
                    write(line)
                except OSError as problem:
                    self._tell(problem)
                    spending.take(line)

            yield written

    def _tell(self, problem: OSError) -> None:
        if not self._has_told:
            self._has_told = True
            self._session.writes.notify(
                f"{self._session.store.path} takes no note of what model calls cost: {problem};"
                " the budget counts what this session pays"
            )

    def _admitted(
        self,
        question: Question,
        rule: BudgetRule,
        place: Place,
        until: float | None,
        *,
        task: object,
    ) -> float | None:
        """What a call has to put aside; None if it has to wait."""
        is_meant = self._is_meant(rule, place)
        paid, in_flight = self._spending.total(is_meant), self._spending.open_in(is_meant)
        aside = sum(other.usd for other in in_flight.values())
        model = providers.model_of(question.endpoint, question.body.members)
        usd, is_known = self._bound(question, model, rule)
        left = rule.usd - paid - aside
        if is_known and usd <= 0:
            return 0.0
        if not is_known:  # of the first call of a model nothing tells: it goes alone
            usd = max(usd, rule.usd - paid) if rule.usd > paid else usd + _ROUNDING * 2
        if usd <= left + _ROUNDING:
            return max(usd, 0.0)
        is_late = until is not None and time.monotonic() >= until
        fits_alone = usd <= rule.usd - paid + _ROUNDING
        if fits_alone and not is_late and self._may_end(in_flight, task):
            return None
        flying = f", and what is in flight may cost {usd_text(aside)}" if aside > 0 else ""
        hint = "" if is_known else "; it sets no limit of its answer: give it `max_tokens`"
        message = (
            f"the budget of {usd_text(rule.usd)} per {rule.per} stops this call of {model!r}: the "
            f"calls before it cost {usd_text(paid)}{flying}, and this one may cost {usd_text(usd)}"
            f"{hint}; raise it with `%nbckpt budget USD`, or end it with `%nbckpt budget off`"
        )
        raise BudgetError(message)

    def _may_end(self, in_flight: Mapping[str, InFlight], task: object) -> bool:
        """True if some call in flight is not one that this one would keep from ending.

        It does so for one of its own thread, or of its own task (None: it holds up the thread),
        and of whoever began that task.
        """
        own = {r.id: r for r in self._reserved.values()}
        me, around = threading.get_ident(), _around.get()
        for name, other in in_flight.items():
            if name in around:
                continue
            if (reserved := own.get(name)) is None:
                if other.may_end and not name.startswith(f"{self._session.id}-"):
                    return True
            elif reserved.thread != me or (task is not None and reserved.task is not task):
                return True
        return False

    def _bound(self, question: Question, model: str, rule: BudgetRule) -> tuple[float, bool]:
        """The most that a call may cost, and whether that is known."""
        endpoint, members = question.endpoint, question.body.members or {}
        if endpoint.kind.name in FREE:
            return 0.0, True
        bound = bound_of(
            endpoint.kind.name,
            model,
            members,
            question.asked.body,
            window=window_of(endpoint.provider, model),
            longest=self._longest_of(model),
        )
        price = price_of(endpoint.provider, model, bound.usage, clock.now(), self._own())
        if price is not None:
            return price.usd * bound.factor, bound.is_known
        if rule.unknown_usd is not None:
            return rule.unknown_usd, True
        priced = f'say one with `%nbckpt config prices "{model}=0.5/1.5"`, or ' if model else "say "
        message = (
            f"no price is known of {model or endpoint.path!r}, so that the budget of"
            f" {usd_text(rule.usd)} stops its calls: {priced}what each such call counts with"
            f" `%nbckpt budget {rule.usd:g} --unknown 0.01`"
        )
        raise BudgetError(message)

    def _longest_of(self, model: str) -> int | None:
        """Tokens of the longest answer of a model that this store knows; None if it knows none."""
        if model not in self._longest:
            records = self._session.store.records(RECORDING)
            known = (r.get("tokens_out") for r in records if r.get("model") == model)
            self._longest[model] = max((n for n in known if isinstance(n, int)), default=0)
        return self._longest[model] or None

    def _assumed(self, call: Call, model: str, reserved: float, state: Outcome) -> float:
        """What a call counts of whose cost its provider did not say, or not all."""
        usd = reserved
        if state == "done" and call.events and not thinks_unseen(model):
            usage = seen_of(call.events, call.question.asked.body)
            provider = call.question.endpoint.provider
            price = price_of(provider, model, usage, call.created_at, self._own())
            usd = reserved if price is None else min(price.usd, reserved)
        self.assumed_usd += usd
        return usd

    def _settle(self, call: Call, usd: float) -> None:
        """Write down what a call cost, and let those go on who wait."""
        reserved = self._reserved.pop(call, None)
        # Of a stream that goes on after its end, the first part is counted already.
        before = self._counted.get(call, 0.0)
        self._counted[call] = usd
        self.paid_usd += usd - before
        if reserved is not None and reserved.id is not None:
            reserved.forget()
            with self._line() as write:
                write(Spending.ended(reserved.id, usd))
        elif usd != before:
            place = reserved.place if reserved is not None else self._place()
            with self._line() as write:
                write(Spending.more(usd - before, place))
        self._wake()

    def _wake(self) -> None:
        turns, self._waiting = self._waiting, []
        for turn in turns:
            with suppress(Exception):  # who waits may have been cancelled
                turn.landed.set_result(None)

    def _own(self) -> Mapping[str, Rate]:
        text = self._session.settings.prices
        if text != self._rates[0]:
            self._rates = (text, rates_of(text))
        return self._rates[1]

    # -- doors --------------------------------------------------------------------------------

    def set(self, rule: BudgetRule | None) -> None:
        """Have calls stopped that may pass a limit, in all sessions of the store; None: no limit.

        Raises
        ------
        UsageError
            If no price of any model is known, so that it could only stop all.
        StoreError
            If the disk refuses.
        """
        knows_none = not self._own() and load().result() is None
        if rule is not None and rule.unknown_usd is None and knows_none:
            message = (
                "budget: no prices are known here: `pip install 'nbckpt[prices]'`, or say them "
                'with `%nbckpt config prices "MODEL=0.5/1.5"`, per million tokens in/out'
            )
            raise UsageError(message)
        write_setting(self._session.store, "budget", "" if rule is None else str(rule))
        with self._alone():
            if rule is not None:
                self._put_aside_for_all(rule)
            self._wake()

    def _put_aside_for_all(self, rule: BudgetRule) -> None:
        """Put aside what calls may cost that were sent before there was a budget."""
        for call, reserved in list(self._reserved.items()):
            if reserved.id is None:
                try:
                    usd, _ = self._bound(call.question, self._asked(call), rule)
                except BudgetError:  # no price is known
                    continue
                with self._line() as write:
                    self._put_aside(call, usd, reserved.place, write)

    def text(self) -> str:
        """Limit, amount paid and amount left, in one line."""
        if (rule := self.rule) is None:
            return f"no budget; {usd_text(self.paid_usd)} paid in this session"
        with self._alone(), self._line():
            is_meant = self._is_meant(rule, self._place())
            paid = self._spending.total(is_meant)
            aside = sum(call.usd for call in self._spending.open_in(is_meant).values())
        parts = [f"{usd_text(paid)} paid"]
        if aside:
            parts.append(f"at most {usd_text(aside)} in flight")
        parts.append(f"{usd_text(max(0.0, rule.usd - paid - aside))} left")
        told = f"budget {usd_text(rule.usd)} per {rule.per}: {', '.join(parts)}"
        if rule.unknown_usd is not None:
            told += f"; calls without a price count {usd_text(rule.unknown_usd)} each"
        if self.assumed_usd:
            told += (
                f"; in this session at most {usd_text(self.assumed_usd)} of it for answers that"
                " did not tell what they took, or whose end nobody saw"
            )
        return told


def _nothing() -> None:
    pass


def _was_sent(error: BaseException | str) -> bool:
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
