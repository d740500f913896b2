"""What a timeline view is told, from records alone."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from statistics import median

import pytest

from nbckpt.errors import FormatError
from nbckpt.model import Cell
from nbckpt.reports import timeline_rows
from nbckpt.reports.timeline_rows import (
    Listing,
    details_of,
    outputs_of,
    status_of,
)
from nbckpt.session.session import Session
from nbckpt.timeline.checkpoint_records import checkpoint_record


def names(session: Session, limit: int = timeline_rows.MOST) -> list[str]:
    return [row["name"] for row in Listing(session).list(limit).rows]


def row(session: Session, name: str) -> timeline_rows.Row:
    return next(r for r in Listing(session).list().rows if r["name"] == name)


def test_checkpoints_come_oldest_first_with_what_they_changed(session: Session) -> None:
    session.namespace.update(x=1, y="two")
    a = session.checkpoint("a", tags=["keep"], note="first")
    session.namespace["x"] = [2]
    b = session.checkpoint("b")

    first, second = Listing(session).list().rows

    assert (first["id"], first["parent"], first["changed"]) == (a.id, None, ["x", "y"])
    assert (first["tags"], first["note"], first["heads"]) == (["keep"], "first", [])
    assert (second["id"], second["parent"], second["changed"]) == (b.id, a.id, ["x"])
    assert second["heads"] == ["main"]
    assert second["size_bytes"] == b.changed["x"].size_bytes > 0
    json.dumps([first, second], allow_nan=False)


def test_bytes_that_variables_share_count_once(session: Session) -> None:
    shared = list(range(1000))
    session.namespace.update(a=shared, b=[shared], c=7)

    session.checkpoint("one")

    changed = session.timeline.checkpoints[session.position.id or ""].changed
    assert changed["a"].blob == changed["b"].blob
    total = changed["a"].size_bytes + changed["c"].size_bytes
    assert row(session, "one")["size_bytes"] == total


def test_the_states_of_random_generators_are_no_variables(session: Session) -> None:
    import random

    random.seed(1)
    session.namespace["x"] = 1
    session.checkpoint("a")
    details = details_of(session, session.get("a"))

    assert row(session, "a")["changed"] == ["x"]
    assert [v["name"] for v in details["variables"]] == ["x"]


def test_what_nobody_asked_for_is_marked_and_not_tagged(session: Session) -> None:
    session.namespace["x"] = 1
    session.checkpoint("a")
    session.namespace["x"] = 2
    session.rewind("a")

    kept = row(session, "before-rewind")

    assert (kept["automatic"], kept["tags"]) == (True, [])
    assert row(session, "a")["automatic"] is False


def test_a_child_whose_clock_is_behind_stands_after_its_parent(session: Session) -> None:
    session.namespace["x"] = 1
    a = session.checkpoint("a")
    late = replace(a, id="0" * 20, name="grandchild", parent="1" * 20, created_at=a.created_at - 9)
    between = replace(late, id="1" * 20, name="child", parent=a.id, created_at=a.created_at - 10)
    for checkpoint in (late, between):
        session.timeline.apply(checkpoint_record(checkpoint))

    assert names(session) == ["a", "child", "grandchild"]


def test_only_the_newest_are_listed_and_the_older_counted(session: Session) -> None:
    for i in range(5):
        session.namespace["x"] = i
        session.checkpoint(f"c{i}")

    listed = Listing(session).list(2)

    assert [r["name"] for r in listed.rows] == ["c3", "c4"]
    assert listed.older == 3
    assert listed.rows[0]["parent"] == session.get("c2").id


def test_a_parent_that_is_not_in_the_store_is_none(session: Session) -> None:
    session.namespace["x"] = 1
    a = session.checkpoint("a")
    orphan = replace(a, id="2" * 20, name="orphan", parent="gone")
    session.timeline.apply(checkpoint_record(orphan))

    assert row(session, "orphan")["parent"] is None
    assert details_of(session, orphan)["parent"] is None


def test_failed_and_partial_checkpoints_say_how_far_they_came(session: Session) -> None:
    session.namespace["x"] = 1
    a = session.checkpoint("a")
    failed = replace(a, id="3" * 20, name="f", parent=a.id, state="failed", error="ValueError: no")
    partial = replace(a, id="4" * 20, name="p", parent=a.id, state="partial", progress=(1, 3, 10))
    for checkpoint in (failed, partial):
        session.timeline.apply(checkpoint_record(checkpoint))

    assert row(session, "f")["error"] == "ValueError: no"
    assert row(session, "p")["progress"] == [3, 10]
    assert outputs_of(session.store, failed) == []


def test_a_row_that_did_not_change_is_the_same_object(session: Session) -> None:
    session.namespace["x"] = 1
    session.checkpoint("a")
    session.checkpoint("b")
    listing = Listing(session)
    a, b = listing.list().rows
    session.namespace["x"] = 2
    session.checkpoint("c")

    again = listing.list().rows

    assert again[0] is a
    assert again[1] is not b
    assert (b["heads"], again[1]["heads"], again[2]["heads"]) == (["main"], [], ["main"])


def test_a_tag_and_a_note_that_come_later_are_in_the_row(session: Session) -> None:
    session.namespace["x"] = 1
    session.checkpoint("a")
    listing = Listing(session)
    listing.list()
    session.tag("a", "good")
    session.note("a", "the best so far")

    (after,) = listing.list().rows

    assert (after["tags"], after["note"]) == (["good"], "the best so far")


def test_the_status_says_where_the_session_stands(session: Session) -> None:
    empty = status_of(session, now=5.0)
    session.namespace["x"] = 1
    a = session.checkpoint("a")
    session.namespace["x"] = 2
    b = session.checkpoint("b")
    session.rewind("a")

    status = status_of(session, now=7.0, busy={"name": "fit"})

    assert (empty["position"], empty["head"], empty["busy"]) == (None, None, None)
    assert (status["position"], status["head"], status["before"]) == (a.id, b.id, b.id)
    assert (status["branch"], status["now"], status["busy"]) == ("main", 7.0, {"name": "fit"})


def test_details_tell_all_variables_and_which_changed_here(session: Session) -> None:
    session.namespace.update(x=1, y=2, bad=(i for i in ()))
    session.checkpoint("a")
    del session.namespace["y"]
    session.namespace["x"] = 10
    b = session.checkpoint("b")

    details = details_of(session, b)

    assert details["removed"] == ["y"]
    assert [
        (v["name"], v["changed"], v["preview"]) for v in details["variables"] if v["name"] == "x"
    ]
    assert details["parent"]["name"] == "a"
    assert details["row"]["id"] == b.id
    assert details_of(session, session.get("a"))["next"] == ["b"]
    json.dumps(details, allow_nan=False)


def outputs(session: Session, *recorded: object) -> list[timeline_rows.Output]:
    session.namespace["x"] = 1
    blob = session.store.put_blob([json.dumps(recorded).encode()])
    checkpoint = replace(session.checkpoint("a"), outputs=blob, cell=Cell("1"))
    return outputs_of(session.store, checkpoint)


def test_outputs_are_text_and_images(session: Session) -> None:
    stream, image, table, result = outputs(
        session,
        {"stream": "stdout", "text": "hello\n"},
        {
            "display": {"text/plain": "<Figure>", "image/png": "iVBORw0="},
            "metadata": {},
            "id": None,
        },
        {"display": {"text/html": "<table>", "text/plain": "a  b"}, "metadata": {}},
        {"result": {"text/plain": "42"}, "metadata": {}},
    )

    assert stream == {"kind": "stream", "text": "hello\n", "mime": "text/plain", "image": None}
    assert (image["mime"], image["image"], image["text"]) == ("image/png", "iVBORw0=", "<Figure>")
    assert (table["kind"], table["mime"], table["text"]) == ("display", "text/html", "a  b")
    assert (result["kind"], result["text"]) == ("result", "42")


def test_a_long_output_is_cut_and_says_so(session: Session) -> None:
    (output,) = outputs(session, {"stream": "stdout", "text": "x" * 30_000})

    assert output["text"].endswith("\n… 10,000 more characters")
    assert len(output["text"]) < 20_100


def test_outputs_that_cannot_be_read_cost_no_details(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(_: str) -> list[memoryview]:
        message = "blob abc is damaged"
        raise FormatError(message)

    session.namespace["x"] = 1
    kept = session.checkpoints.put_outputs([])
    checkpoint = replace(session.checkpoint("a"), outputs=kept)
    monkeypatch.setattr(session.store, "get_blob", damaged)

    details = details_of(session, checkpoint)

    assert "blob abc is damaged" in details["outputs"][0]["text"]
    assert details["variables"]


def test_a_thousand_checkpoints_are_listed_in_ten_milliseconds(session: Session) -> None:
    session.namespace["x"] = 1
    first = session.checkpoint("c0")
    before = first.id
    for i in range(1, 1000):
        made = replace(
            first, id=f"{i:020x}", parent=before, name=f"c{i}", created_at=first.created_at + i
        )
        session.timeline.apply(checkpoint_record(made))
        before = made.id
    listing = Listing(session)
    listing.list()

    took = []
    for _ in range(15):
        began = time.perf_counter()
        listed = listing.list()
        took.append(time.perf_counter() - began)

    assert len(listed.rows) == 1000
    assert median(took) < 0.010, f"{median(took) * 1000:.1f} ms"
