"""Cost of model calls and savings by replays, by the checkpoint of their step's run.

A recording and the event that reports a run's calls name their step and their session; they
belong to the first checkpoint of that name that the session made after them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from nbckpt.model import Record
from nbckpt.storage.journal_lines import whole
from nbckpt.text.units import count_text, usd_text
from nbckpt.timeline.call_counts import Kept, was_tried
from nbckpt.timeline.later_prices import (
    PRICE,
    Paid,
    Prices,
    paid_for,
    prices_in,
)
from nbckpt.timeline.recording_retention import STEP
from nbckpt.timeline.recordings import RECORDING

if TYPE_CHECKING:
    from nbckpt.storage.store import Store
    from nbckpt.timeline.timeline import Timeline

EVENT = "model_calls"
_RESTORED = ("restored", "continued")
_COUNTED = (EVENT, *_RESTORED)


class Spent(NamedTuple):
    """Number, tokens and cost of some model calls.

    Attributes
    ----------
    paid
        Calls that were paid for.
    replayed
        Calls that were answered from the store.
    tokens
        Tokens in and out of the calls that were paid for.
    paid_usd
        Dollars paid for the calls whose price is known; None if it is known of none.
    unpriced
        Paid calls whose price is not known.
    saved_usd
        Dollars that the replayed calls had cost, as far as known.
    """

    paid: int = 0
    replayed: int = 0
    tokens: int = 0
    paid_usd: float | None = None
    unpriced: int = 0
    saved_usd: float | None = None

    @property
    def calls(self) -> int:
        """All of them."""
        return self.paid + self.replayed

    def of_call(self, recording: Record, cost: float | None) -> Spent:
        """With one more that was paid for."""
        return self._replace(
            paid=self.paid + 1,
            tokens=self.tokens
            + (recording.get("tokens_in") or 0)
            + (recording.get("tokens_out") or 0),
            paid_usd=_sum(self.paid_usd, cost),
            unpriced=self.unpriced + (cost is None),
        )

    def of_event(self, event: Record, saved_usd: float | None) -> Spent:
        """With the replays of a run, and what they had cost."""
        return self._replace(
            replayed=self.replayed + int(event.get("replayed", 0)),
            saved_usd=_sum(self.saved_usd, saved_usd),
        )

    def paid_text(self) -> str:
        """The amount that was paid; a question mark stands for an unknown part."""
        known = [] if self.paid_usd is None else [usd_text(self.paid_usd)]
        return " + ".join([*known, *["?"] * bool(self.unpriced)])

    def text(self) -> str:
        """All of it in one line; empty if there were no calls."""
        if not self.calls:
            return ""
        parts = [count_text(self.calls, "call")]
        if self.replayed:
            parts.append(f"{self.replayed:,} of them replayed")
        if self.tokens:
            parts.append(count_text(self.tokens, "token"))
        if self.paid_usd is not None:
            parts.append(f"{usd_text(self.paid_usd)} paid")
        if self.unpriced:
            parts.append(f"{count_text(self.unpriced, 'call')} of unknown price")
        if self.saved_usd is not None:
            parts.append(f"{usd_text(self.saved_usd)} saved")
        return ", ".join(parts)


class CostLedger:
    """Usage, cost and savings of the calls of a store's steps.

    Attributes
    ----------
    total
        Usage of all model calls, including those of runs that never ended.
    kept
        Counts of all calls of functions that are kept.
    saved_s
        Seconds that steps which were restored and calls which were replayed would have taken.
    """

    def __init__(self) -> None:
        self._reset(0)

    def _reset(self, generation: int) -> None:
        self.total, self.kept = Spent(), Kept()
        self._generation = generation
        self._taken = {RECORDING: 0, "event": 0, STEP: 0}
        self._n_prices = 0
        self._prices = Prices()
        self._dearer: dict[str, float] = {}  # by its newest price, of recordings priced anew
        self.saved_s = 0.0
        self._restored: list[str] = []
        self._waiting: list[Record] = []
        self._spent: dict[str, Spent] = {}
        self._kept: dict[str, Kept] = {}
        self._calls: dict[str, list[Record]] = defaultdict(list)
        self._steps: dict[str, list[Record]] = defaultdict(list)
        self._replays: dict[str, list[str]] = defaultdict(list)

    def take(self, store: Store, timeline: Timeline) -> None:
        """Know what has been recorded since."""
        prices = store.records(PRICE)
        if store.generation != self._generation or len(prices) != self._n_prices:
            self._reset(store.generation)
            self._n_prices, self._prices = len(prices), prices_in(prices)
        for kind, taken in self._taken.items():
            records = store.records(kind)
            until = len(records)  # another thread may take in more
            if kind == "event":  # read now: what a disk refuses is refused before any is counted
                chosen = store.events.chosen(_COUNTED, start=taken, stop=until)
                new: Sequence[Record] = [*map(whole, chosen)]
            else:
                new = records[taken:until]
            self._taken[kind] = until
            for record in new:
                if kind == RECORDING:
                    cost = self.paid_for(record).cost_usd
                    self.total = self.total.of_call(record, cost)
                    if self._prices.of(record):
                        dearer = (cost or 0.0) - (record.get("cost_usd") or 0.0)
                        self._dearer[record["id"]] = dearer
                elif kind == STEP:
                    if not was_tried(record):
                        continue
                    self.kept = self.kept.of_call(record)
                    if record.get("step") is None:
                        continue
                elif record.get("event") == EVENT:
                    self.total = self.total.of_event(record, self._saved_in(record))
                    self.kept = self.kept.of_event(record)
                    self.saved_s += record.get("saved_duration_s", 0.0)
                else:
                    self._take_restored(record)
                    continue
                self._waiting.append(record)
        if self._waiting:
            self._settle(timeline)

    def of(self, checkpoint_id: str) -> Spent:
        """Usage and cost of the model calls of the run that made a checkpoint."""
        return self._spent.get(checkpoint_id, NOTHING)

    def kept_of(self, checkpoint_id: str) -> Kept:
        """Counts of the kept functions' calls in the run that made a checkpoint."""
        return self._kept.get(checkpoint_id, Kept())

    def calls_of(self, checkpoint_id: str) -> Sequence[Record]:
        """The recordings of the run that made a checkpoint, oldest first."""
        return _oldest_first(self._calls.get(checkpoint_id, ()))

    def steps_of(self, checkpoint_id: str) -> Sequence[Record]:
        """The records of the calls of functions that this run made, oldest first."""
        return _oldest_first(self._steps.get(checkpoint_id, ()))

    def replays_of(self, checkpoint_id: str) -> Sequence[str]:
        """Ids of the recordings that answered calls of this run, as far as they are listed."""
        return self._replays.get(checkpoint_id, ())

    def paid_for(self, recording: Record) -> Paid:
        """Cost of a recording, by its newest price."""
        return paid_for(recording, self._prices)

    def _saved_in(self, event: Record) -> float | None:
        """Dollars that a run's replayed calls had cost, by the newest prices of those it lists."""
        told: float | None = event.get("saved_cost_usd")
        dearer = [self._dearer[i] for i in event.get("replays", ()) if i in self._dearer]
        return _sum(told, sum(dearer)) if dearer else told

    @property
    def saved_usd(self) -> float | None:
        """Dollars that the replayed calls had cost, and the calls of steps that were restored."""
        known = [c for i in self._restored if (c := self.of(i).paid_usd) is not None]
        return _sum(self.total.saved_usd, sum(known)) if known else self.total.saved_usd

    def so_far(self, session_id: str, since: float) -> Spent:
        """Usage and cost, since a time, of a session's calls whose run has not ended."""
        spent = NOTHING
        for record in self._waiting:
            is_own = record["kind"] == RECORDING and record["session"] == session_id
            if is_own and float(record["created_at"]) >= since:
                spent = spent.of_call(record, self.paid_for(record).cost_usd)
        return spent

    def _take_restored(self, event: Record) -> None:
        if event.get("event") in _RESTORED:
            self.saved_s += max(0.0, event.get("saved_s", 0.0))
            self._restored.append(event.get("checkpoint", ""))

    def _settle(self, timeline: Timeline) -> None:
        made: dict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
        for c in list(timeline.checkpoints.values()):
            if c.state != "partial":
                made[c.session, c.name].append((c.created_at, c.id))
        for each in made.values():
            each.sort()
        waiting = []
        for record in self._waiting:
            step, at = (
                (record.get("name", ""), record["at"])
                if record["kind"] == "event"
                else (record.get("step", ""), record["created_at"])
            )
            ends = made.get((record["session"], step), [])
            place = bisect_left(ends, (float(at), ""))
            if place == len(ends):
                waiting.append(record)
                continue
            i = ends[place][1]
            self._settle_on(i, record)
        self._waiting = waiting

    def _settle_on(self, checkpoint_id: str, record: Record) -> None:
        spent, kept = self.of(checkpoint_id), self.kept_of(checkpoint_id)
        if record["kind"] == "event":
            self._spent[checkpoint_id] = spent.of_event(record, self._saved_in(record))
            self._kept[checkpoint_id] = kept.of_event(record)
            self._replays[checkpoint_id] += record.get("replays", ())
        elif record["kind"] == STEP:
            self._kept[checkpoint_id] = kept.of_call(record)
            self._steps[checkpoint_id].append(record)
        else:
            self._spent[checkpoint_id] = spent.of_call(record, self.paid_for(record).cost_usd)
            self._calls[checkpoint_id].append(record)


NOTHING = Spent()
_ledgers: WeakKeyDictionary[Store, CostLedger] = WeakKeyDictionary()


def ledger_of(store: Store, timeline: Timeline) -> CostLedger:
    """The ledger of the calls of a store's steps, as far as the store has been read."""
    ledger = _ledgers.get(store)
    if ledger is None:
        ledger = _ledgers[store] = CostLedger()
    ledger.take(store, timeline)
    return ledger


def replays_in(store: Store, ledger: CostLedger, checkpoint_id: str) -> list[Record]:
    """The recordings that answered calls of a run, in the order of the calls."""
    wanted = ledger.replays_of(checkpoint_id)
    if not wanted:
        return []
    known = set(wanted)
    found = {r["id"]: r for r in store.records(RECORDING) if r["id"] in known}
    return [found[i] for i in wanted if i in found]


def call_as_json(
    recording: Record, paid: Paid | None = None, *, replayed: bool = False
) -> Mapping[str, object]:
    """One call, for programs.

    Parameters
    ----------
    paid
        Its newest price; by default the one that it was recorded with.
    """
    paid = paid or paid_for(recording, Prices())
    return {
        "id": recording["id"],
        "provider": recording["provider"],
        "model": recording["model"],
        "endpoint": recording["endpoint"],
        "state": recording["state"],
        "created_at": recording["created_at"],
        "duration_s": recording["duration_s"],
        "tokens_in": recording.get("tokens_in"),
        "tokens_out": recording.get("tokens_out"),
        "cost_usd": paid.cost_usd,
        "price": paid.price,
        "summary": recording.get("summary", ""),
        "replayed": replayed,
    }


def _oldest_first(records: Iterable[Record]) -> list[Record]:
    return sorted(records, key=lambda record: float(record["created_at"]))


def _sum(a: float | None, b: float | None) -> float | None:
    if a is None or b is None:
        return b if a is None else a
    return a + b
