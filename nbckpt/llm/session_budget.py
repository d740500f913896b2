"""The budget for model calls, and what they cost: no call is sent that may pass it."""

from __future__ import annotations

import os
import re
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
from nbckpt.config.settings_sources import settings_of
from nbckpt.errors import BudgetError, UsageError
from nbckpt.llm import budget_texts
from nbckpt.llm.askers import asking_thread, running_task
from nbckpt.llm.budget_turns import PATIENCE_S, Turn
from nbckpt.llm.call_costs import CallCosts, was_sent
from nbckpt.llm.prices import Price, load
from nbckpt.runtime import clock
from nbckpt.runtime.gc_pause import uncollected
from nbckpt.storage.spending import InFlight, Place, Spending
from nbckpt.text.units import usd_text

if TYPE_CHECKING:
    from nbckpt.llm.call import Call
    from nbckpt.llm.question import Question
    from nbckpt.session.session import Session
    from nbckpt.timeline.recordings import Outcome

_ROUNDING = 1e-9
_MOST_AROUND = 64
_ID_OF_RESPONSE = re.compile(rb'"id": ?"(resp[\w-]+)"')
_BEGINNING = 4096
"""Bytes of an answer in which its id stands."""
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
    thread: object
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
        self._told: set[str] = set()
        self._costs = CallCosts(session)
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
                    self._waiting.append(Turn(call.give_up, until, task))
                    return self._waiting[-1]
                self._put_aside(call, usd, place, write)
        return None

    def _put_aside(
        self, call: Call, usd: float, place: Place, write: Callable[[dict[str, Any]], None]
    ) -> None:
        name = f"{self._session.id}-{os.urandom(6).hex()}"
        write(Spending.begun(name, usd, place))
        dropped = finalize(call, self._dropped.append, (name, usd))
        dropped.atexit = False  # a line that stays open counts in full, too
        self._reserved[call] = _Reserved(
            name, usd, place, asking_thread(), running_task(), dropped.detach
        )
        _around.set((*_around.get(), name)[-_MOST_AROUND:])

    def ended(self, call: Call, model: str, state: Outcome) -> Price | None:
        """What an answered call cost; None where that is not known, which is not nothing."""
        price = self._costs.price(call, model)
        with self._alone():
            if price is not None and self._was_told(call):
                price = None
            self._costs.note(call, model)
            reserved = self._reserved.get(call)
            if call.question.endpoint.kind.until and self.rule is not None:
                usd = 0.0  # what it took was put aside as it was begun
            elif price is not None and (reserved is None or reserved.id is None or state == "done"):
                usd = price.usd
            elif reserved is not None and reserved.id is not None:
                usd = self._costs.assumed(call, model, reserved.usd, state)
                self.assumed_usd += usd
            else:  # nothing new is known of one that is counted
                usd = self._counted.get(call, 0.0)
            self._settle(call, usd)
        return price

    def _was_told(self, call: Call) -> bool:
        """True if what is asked for has said what it took before: as it was made, or asked for."""
        endpoint = call.question.endpoint
        if endpoint.kind.until:
            name = endpoint.path.rpartition("/")[2]
        elif endpoint.kind.name == "responses":
            found = _ID_OF_RESPONSE.search(b"".join(call.chunks)[:_BEGINNING])
            name = found[1].decode() if found else ""
        else:
            return False
        was_told = name in self._told
        self._told.add(name)
        return was_told and bool(endpoint.kind.until)

    def failed(self, call: Call, error: BaseException | str) -> None:
        """Note that a call was not answered: whether it cost something is not known of all."""
        with self._alone():
            if (reserved := self._reserved.get(call)) is None:
                return
            if reserved.id is None or call.status >= 300 or not was_sent(error):
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
        usd, is_known = self._costs.bound(question, rule)
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
        message = budget_texts.stopped(rule, question.model, usd, paid, aside)
        if not is_known:
            message += budget_texts.STATE_A_LIMIT
        raise BudgetError(message)

    def _may_end(self, in_flight: Mapping[str, InFlight], task: object) -> bool:
        """True if some call in flight is not one that this one would keep from ending.

        It does so for one of its own thread, or of its own task (None: it holds up the thread),
        and of whoever began that task. One that waits itself ends nothing meanwhile.
        """
        own = {r.id: r for r in self._reserved.values()}
        me, around = asking_thread(), _around.get()
        for name, other in in_flight.items():
            if name in around:
                continue
            if (reserved := own.get(name)) is None:
                if other.may_end and not name.startswith(f"{self._session.id}-"):
                    return True
            elif reserved.thread == me and (task is None or reserved.task is task):
                continue
            elif not any(t.holds_up(reserved.thread, reserved.task) for t in self._waiting):
                return True
        return False

    def _settle(self, call: Call, usd: float) -> None:
        """Write down what a call cost, and let those go on who wait."""
        usd = max(usd, 0.0)
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
        knows_none = not self._costs.own_rates and load().result() is None
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
                    usd, _ = self._costs.bound(call.question, rule)
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
        return budget_texts.standing(rule, paid, aside, self.assumed_usd)


def _nothing() -> None:
    pass
