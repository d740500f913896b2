"""Model calls: record, budget, cost."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from nbckpt.config.budget_rule import SPANS, BudgetRule
from nbckpt.errors import UsageError
from nbckpt.llm import current
from nbckpt.verbs.arguments import NOTEBOOK_ONLY, OF_STORE, Door, argument, flag
from nbckpt.verbs.calls import Answer, Call
from nbckpt.verbs.registry import at, declare

if TYPE_CHECKING:
    from nbckpt.llm.recorder import Recorder


@declare(
    "record",
    "whether model calls of steps are kept, and what became of them",
    argument("mode", nargs="?", choices=("on", "off"), names=("on", "off")),
    argument("--ttl", metavar="AGE", help="how old what answers may be"),
    argument(
        "--tag", metavar="T", action="append", default=[], dest="tags", help="of what is kept"
    ),
    flag("--coalesce", help="send equal calls in flight once"),
    doors=NOTEBOOK_ONLY,
    usage="[on | off] [--ttl 7d] [--tag T]… [--coalesce]",
    more="`on` alone forgets an age, tags and --coalesce that were given before.",
)
def _record(call: Call) -> Answer:
    from nbckpt.llm import seams, time_to_live

    asked, recorder = call.arguments, current.recorder()
    if recorder is None:
        message = "record: no session is open; `%load_ext nbckpt` opens one"
        raise UsageError(message)
    ttl_s = None if asked.ttl is None else time_to_live.ttl_of(asked.ttl)
    tags = time_to_live.tags_of(asked.tags)
    if asked.mode is not None:
        recorder.mode = "replay" if asked.mode == "on" else "off"
    if asked.mode == "on" or asked.ttl is not None:
        recorder.ttl_s = ttl_s
    if asked.mode == "on" or tags:
        recorder.tags = tags
    if asked.mode == "on" or asked.coalesce:
        recorder.coalesce = asked.coalesce
    facts = "; ".join(_facts(recorder))
    said = [f"model calls are recorded: {facts}; seen so far: {calls_text()}", *seams.missed]
    return Answer(lambda: "\n".join(said))


def calls_text() -> str:
    """Counts of this session's model calls and their outcomes, by provider."""
    from nbckpt.llm.calls_text import calls_text

    recorder = current.recorder()
    return "none" if recorder is None else calls_text(recorder.outcomes)


def _facts(recorder: Recorder) -> list[str]:
    is_off = recorder.mode == "off"
    facts = ["off: they are paid each time" if is_off else "on, in cells that are kept"]
    if recorder.ttl_s is not None:
        facts.append(f"ttl {recorder.ttl_s:g} s")
    if recorder.coalesce:
        facts.append("equal ones in flight are sent once")
    if ignored := recorder.ignored:
        facts.append(f"not compared: {', '.join(sorted(ignored))}")
    return facts + ([f"tags {', '.join(recorder.tags)}"] if recorder.tags else [])


def budget(
    usd: float | None = None, *, per: str | None = None, unknown: float | None = None
) -> str:
    """Stop model calls before the one that may pass so many dollars; without, tell.

    The budget belongs to the store: it holds in all its sessions, also after a restart, and counts
    the calls of all of them, those in flight by the most that they may cost.

    Parameters
    ----------
    usd
        US dollars; ``float("inf")`` ends the budget.
    per
        What they are for: ``"notebook"`` (as if nothing is said), ``"session"``, ``"day"`` or
        ``"branch"``.
    unknown
        What a call counts, in US dollars, whose price is not known. Else it is stopped; so it is
        again with ``float("inf")``.

    Returns
    -------
    str
        Limit, amount paid and amount left.

    Raises
    ------
    UsageError
        If no session is open, an amount is none, or no prices are known.
    StoreError
        If the disk refuses.
    """
    recorder = current.recorder()
    if recorder is None:
        message = "budget: no session is open; write `%load_ext nbckpt` or `nbckpt.open(…)` first"
        raise UsageError(message)
    before = recorder.budget.rule
    if usd is None and before is not None:
        usd = before.usd
    elif usd is None and (per is not None or unknown is not None):
        message = "budget: say how much, as in `%nbckpt budget 5.00 --per day`"
        raise UsageError(message)
    if usd is None or (per is None and unknown is None and before and usd == before.usd):
        return recorder.budget.text()
    per = per or (before.per if before else SPANS[0])
    if per not in SPANS:
        message = f"budget: per {per!r}; it is {', '.join(SPANS[:-1])} or {SPANS[-1]}"
        raise UsageError(message)
    kept = unknown if unknown is not None or before is None else before.unknown_usd
    kept = None if kept == float("inf") else kept
    if _amount(usd) == float("inf"):
        recorder.budget.set(None)
    else:
        recorder.budget.set(BudgetRule(_amount(usd), per, None if kept is None else _amount(kept)))
    return recorder.budget.text()


def _amount(given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float | Decimal) or not given >= 0:
        message = f"budget {given!r}: give US dollars, as in `%nbckpt budget 5.00`"
        raise UsageError(message)
    return float(given)


def _dollars(word: str) -> float:
    if word == "off":
        return float("inf")
    try:
        return float(word.removeprefix("$"))
    except ValueError as error:
        message = f"budget {word!r}: write `%nbckpt budget [USD | off]`"
        raise UsageError(message) from error


@declare(
    "budget",
    "stop model calls before the one that may pass a budget, or tell what was paid",
    argument("usd", metavar="USD", nargs="?", type=_dollars, names=("off",)),
    argument("--per", choices=SPANS, help="what it is for; a notebook if nothing is said"),
    argument(
        "--unknown", metavar="USD", type=_dollars, help="what a call without a known price counts"
    ),
    function=budget,
    doors=NOTEBOOK_ONLY,
    usage="[USD | off] [--per day] [--unknown USD]",
    more="It belongs to the store: it holds after a restart, and for all notebooks that use it.",
)
def _budget(call: Call) -> Answer:
    asked = call.arguments
    said = budget(asked.usd, per=asked.per, unknown=asked.unknown)
    return Answer(lambda: said)


@declare(
    "cost",
    "what model calls have cost, by model",
    flag("--recompute", help="price all of them by the prices known today"),
    *OF_STORE,
    writes=True,
    more="""\
Each recording keeps the price that it was made with; --recompute writes the prices of today beside
them, those of the setting `prices` first, and the newest count.

  nbckpt config prices "my-model=0.5/1.5"
  nbckpt cost --recompute""",
)
def _cost(call: Call) -> Answer:
    call.session.refresh()
    return _costs(call)


@at(Door.TERMINAL, "cost")
def _cost_in_terminal(call: Call) -> Answer:
    from nbckpt.config.settings_sources import settings_of

    call.session.settings = settings_of(call.store)
    return _costs(call)


def _costs(call: Call) -> Answer:
    from nbckpt.reports.costs import costs_text
    from nbckpt.session.history.costs import call_as_json, ledger_of
    from nbckpt.timeline.recordings import RECORDING

    if call.arguments.recompute:
        from nbckpt.llm.repricing import reprice

        call.tell(reprice(call.session).text())
    ledger = ledger_of(call.store, call.session.timeline)
    recordings = call.store.records(RECORDING)
    return Answer(
        lambda: costs_text(recordings, ledger, width=call.width),
        lambda: [call_as_json(record, ledger.paid_for(record)) for record in recordings],
    )
