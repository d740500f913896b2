"""A recording as a line of a journal, and as a row of SQL."""

from __future__ import annotations

from nbckpt.llm import scope
from nbckpt.llm.recordings_index import Index
from nbckpt.session.session import Session
from nbckpt.storage.check import check
from nbckpt.storage.journal_lines import Unread, encode, read_text
from nbckpt.storage.line_signatures import Signer
from nbckpt.storage.pruning import prune
from nbckpt.testing import Provider
from nbckpt.timeline.prune_retention import Retention
from nbckpt.timeline.recordings import Recording, recording_from, recording_record
from tests.llm.asking import body, post, records_of

ONE = Recording(
    id="a1",
    step='say "hi"',
    session="s",
    branch="main",
    position=None,
    occurrence=3,
    request="f" * 64,
    provider="openai",
    endpoint="chat",
    model="m",
    url="http://localhost/v1/chat/completions",
    status=200,
    headers=[("content-type", "application/json")],
    blob="e" * 64,
    sizes=[3, 4],
    state="done",
    streamed=True,
    created_at=1.5,
    duration_s=0.25,
    tokens_in=7,
    tags=("nightly",),
)


def test_a_recording_comes_back_from_its_line_as_it_was() -> None:
    signer = Signer()
    opened = signer.open(signer.line(encode(recording_record(ONE)), 8).rstrip())
    text = opened and opened[0]
    assert text is not None
    record = read_text(text)

    assert isinstance(record, Unread)
    assert recording_from(record) == ONE


def test_what_places_a_recording_is_there_without_the_rest() -> None:
    record = read_text(encode(recording_record(ONE)).encode())

    assert isinstance(record, Unread)
    assert (record["step"], record["occurrence"], record["state"]) == ('say "hi"', 3, "done")
    assert not record.is_read
    assert record["blob"] == "e" * 64
    assert record.is_read


def test_sql_sees_each_call_with_what_it_took(provider: Provider, recorded: Session) -> None:
    with scope.entered("step"):
        post(provider.url, body("what is the tallest?"))
    records_of(recorded)

    rows = recorded.sql(
        "select step, provider, model, input_tokens > 0, output_tokens > 0, cost_usd, summary,"
        " state, size_bytes > 100 from recordings"
    ).fetchall()

    told = "what is the tallest?"
    assert rows == [("step", "openai", "m", True, True, None, told, "done", True)]


def test_a_prune_keeps_what_was_paid_for(provider: Provider, recorded: Session) -> None:
    recorded.namespace["x"] = list(range(50_000))
    recorded.checkpoint("first")
    with scope.entered("step"):
        first = post(provider.url, body()).text
    for n in range(5):
        recorded.namespace["x"] = [n] * 50_000
        recorded.checkpoint(f"more-{n}")
    recorded.wait()

    done = prune(recorded.store, Retention(keep_last=1), now=2e9)
    recorded.refresh()
    with scope.entered("step"):
        again = post(provider.url, body()).text

    assert done.checkpoints
    assert again == first
    assert provider.answered == 1
    recorded.wait()
    assert check(recorded.store.path).ok


def test_what_a_journal_says_takes_the_place_of_what_was_written_into_it() -> None:
    first, second = (recording_record(ONE._replace(id=own)) for own in ("a", "b"))
    index = Index()
    index.take([first, second])

    index.take([{**first, "from": "journal"}, {**second, "from": "journal"}])

    found = index.find((ONE.step, ONE.request, ONE.occurrence))
    assert [(r["id"], r["from"]) for r in found] == [("a", "journal"), ("b", "journal")]
