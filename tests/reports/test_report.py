"""Facts as text: numbers, tables, the graph, what a store holds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbckpt.model import Cell, Checkpoint, Refusal, Variable
from nbckpt.reports.details import show_text
from nbckpt.reports.graph import drawn, parents_first
from nbckpt.reports.log import log_text
from nbckpt.reports.status import greeting
from nbckpt.session.history.summaries import size_of, summary_of
from nbckpt.text.tables import (
    Column,
    cut,
    facts_text,
    table_text,
    width_of,
)
from nbckpt.text.units import duration_text
from nbckpt.timeline.checkpoint_records import checkpoint_record
from nbckpt.timeline.timeline import Timeline

NOW = 1_000_000.0


def checkpoint(checkpoint_id: str, parent: str | None = None, **members: object) -> Checkpoint:
    known = {
        "name": checkpoint_id.rstrip("0"),
        "branch": "main",
        "session": "s",
        "notebook": "work",
        "created_at": NOW,
        "duration_s": 1.5,
        "cell": Cell("x = 1", 3),
    }
    return Checkpoint(id=checkpoint_id, parent=parent, **{**known, **members})  # type: ignore[arg-type]


def timeline_of(*checkpoints: Checkpoint, **heads: str) -> Timeline:
    timeline = Timeline()
    for made in checkpoints:
        timeline.apply(checkpoint_record(made))
    for branch, head in heads.items():
        timeline.apply({"kind": "head", "branch": branch, "checkpoint": head})
    return timeline


X = Variable("x", "blob", "value", "int", 29, preview="1")
FRAME = Variable("df", "blob2", "value2", "pandas.DataFrame", 44_000_000, shape="9 x 2")


@given(st.floats(0, 1e9))
def test_durations_are_short_and_never_empty(seconds: float) -> None:
    assert 3 <= len(duration_text(seconds)) <= 12


@given(st.floats(0.001, 1e8))
def test_a_duration_says_nearly_what_it_was(seconds: float) -> None:
    units = {"ms": 0.001, "s": 1, "min": 60, "h": 3600, "d": 86400}
    words = duration_text(seconds).split()

    said = sum(float(n) * units[u] for n, u in zip(words[::2], words[1::2], strict=True))

    assert said == pytest.approx(seconds, rel=0.06)


@given(st.lists(st.text(), max_size=6), st.integers(1, 40))
def test_what_is_cut_fits_and_begins_the_same(words: list[str], width: int) -> None:
    text = " ".join(words)

    shown = cut(text, width)

    assert width_of(shown) <= width
    assert shown == text or text.startswith(shown[:-1])


def test_a_table_is_cut_to_the_width_and_its_numbers_end_at_one_place() -> None:
    columns = [Column("name"), Column("size", right=True), Column("preview")]
    rows = [["a", "9 kB", "word " * 40], ["日本", "123 kB", "b"]]

    lines = table_text(columns, rows, width=50).splitlines()

    assert lines[0] == "name    size  preview"
    assert [width_of(line) <= 50 for line in lines] == [True] * 3
    assert lines[1].startswith("a       9 kB  word word")
    assert lines[1].endswith("…")
    assert lines[2] == "日本  123 kB  b"


def test_the_spaces_of_a_graph_stay_and_line_ends_are_written_out() -> None:
    text = table_text([Column(""), Column("name")], [["  o", "a\n  b"], ["o─╯", "c"]])

    assert text == "     name\n  o  a\\n  b\no─╯  c"


def test_a_column_in_which_nothing_stands_is_left_out() -> None:
    columns = [Column("a"), Column("b"), Column("c", always=True)]

    assert table_text(columns, [["1", "", ""]]) == "a  c\n1"


def test_facts_without_text_are_left_out_and_lines_stay_under_each_other() -> None:
    text = facts_text([("one", ["1", "2"]), ("none", ""), ("three", "3\n4")])

    assert text == "one         1\n            2\nthree       3\\n4"


def test_the_graph_joins_a_fork_to_the_lane_of_its_parent() -> None:
    line = [
        checkpoint("d", "b"),
        checkpoint("e", "c"),
        checkpoint("c", "b"),
        checkpoint("b", "a"),
        checkpoint("a"),
    ]

    assert drawn(line, "o" * 5) == ["o  ", "│ o", "│ o", "o─╯", "o  "]


def test_the_graph_crosses_a_lane_that_goes_on() -> None:
    line = [
        checkpoint("d", "a"),
        checkpoint("e", "b"),
        checkpoint("f", "a"),
        checkpoint("a"),
        checkpoint("b"),
    ]

    assert drawn(line, "o" * 5) == ["o    ", "│ o  ", "│ │ o", "o─┼─╯", "  o  "]


def test_the_graph_keeps_its_first_lane_for_the_trunk() -> None:
    line = [checkpoint("d", "b"), checkpoint("c", "b"), checkpoint("b", "a"), checkpoint("a")]

    assert drawn(line, "oooo", trunk="c") == ["  o", "o │", "o─╯", "o  "]
    assert drawn(line[1:], "ooo", trunk="gone") == ["o", "o", "o"]


def test_all_tries_that_failed_at_one_place_stand_in_one_lane() -> None:
    tries = [replace(checkpoint(name, "a"), state="failed") for name in "efg"]
    line = [tries[0], checkpoint("c", "b"), *tries[1:], checkpoint("b", "a"), checkpoint("a")]

    assert drawn(line, "xoxxoo", trunk="c") == ["  x", "o │", "│ x", "│ x", "o │", "o─╯"]


def test_the_graph_is_drawn_though_a_parent_is_not_listed() -> None:
    assert drawn([checkpoint("b", "a")], "o") == ["o"]


def test_a_log_shows_a_branch_newest_first_and_where_it_stands() -> None:
    timeline = timeline_of(
        checkpoint("load0000", created_at=NOW - 7200, changed={"x": X}, note="look here"),
        checkpoint("train000", "load0000", created_at=NOW - 90, changed={"df": FRAME}, tags=("t",)),
        main="train000",
    )

    lines = log_text(timeline, "main", None, now=NOW).splitlines()

    assert [" ".join(line.split()) for line in lines] == [
        "name id branch made took size changed remarks",
        "● train train000 main 1 min ago 1.5 s 44 MB df #t",
        "○ load load0000 2 h ago 1.5 s 29 B x look here",
    ]


def test_a_log_hangs_together_though_the_clock_was_set_back() -> None:
    first = checkpoint("first", created_at=NOW)
    second = checkpoint("second", "first", created_at=NOW - 86400)
    third = checkpoint("third", "second", created_at=NOW - 86300)

    text = log_text(timeline_of(first, second, third, main="third"), None, "third", now=NOW)

    assert [line[:6].rstrip() for line in text.splitlines()[1:]] == ["●  thi", "○  sec", "○  fir"]


def test_checkpoints_that_call_each_other_parent_are_listed_all_the_same() -> None:
    assert sorted(parents_first({"a": "b", "b": "a", "c": "c"})) == ["a", "b", "c"]


def test_what_was_forked_stands_in_a_lane_of_its_own() -> None:
    timeline = timeline_of(
        checkpoint("load0000", created_at=NOW - 9),
        checkpoint("wide0000", "load0000", created_at=NOW - 8),
        main="load0000",
        wide="wide0000",
    )

    lines = log_text(timeline, None, "load0000", now=NOW).splitlines()

    assert [line.partition("0000")[0] for line in lines[1:]] == [
        "  ○  wide  wide",
        "●─╯  load  load",
    ]


def test_a_log_of_one_branch_shows_what_failed_last_and_not_what_was_mended() -> None:
    timeline = timeline_of(
        checkpoint("bad", state="failed", error="ValueError: no", created_at=NOW - 3, name="a"),
        checkpoint("good", created_at=NOW - 2, name="a"),
        checkpoint(
            "half", "good", state="partial", progress=(1, 21, 40), created_at=NOW, name="read"
        ),
        main="good",
    )

    text = log_text(timeline, "main", None, now=NOW)

    assert "21 of 40 items done" in text
    assert "ValueError" not in text
    assert log_text(timeline, None, None, now=NOW) == text


def test_a_log_without_checkpoints_says_so() -> None:
    assert log_text(Timeline(), "main", None) == "no checkpoints on branch 'main' yet"
    assert log_text(Timeline(), None, None) == "no checkpoints yet"


def test_what_is_shown_of_a_checkpoint_names_what_was_not_kept_and_why() -> None:
    refusal = Refusal("db", "db.connection", "sqlite3.Connection", "is tied to this process")
    timeline = timeline_of(
        checkpoint("a0000000", changed={"x": X}),
        checkpoint("b0000000", "a0000000", changed={"df": FRAME}, refused=(refusal,), note="why"),
        main="b0000000",
    )

    text = show_text(
        timeline,
        timeline.checkpoints["b0000000"],
        outputs=[
            {"stream": "stdout", "text": "printed\n"},
            {"display": {"image/png": "…"}},
            {"result": {"text/plain": "42"}},
        ],
        now=NOW + 60,
    )

    assert "parent      a (a0000000)" in text
    assert "code\n    x = 1" in text
    assert "    *  df    pandas.DataFrame  9 x 2  44 MB\n" in text
    assert "       x     int                       29 B  1\n" in text
    assert "db: sqlite3.Connection at db.connection is tied to this process" in text
    assert "outputs\n    printed\n    <image/png>\n    42" in text


def test_bytes_that_variables_share_are_counted_once() -> None:
    group = ("a", "b")
    a = Variable("a", "shared", "value a", "list", 1_074_000_000, group=group)
    b = Variable("b", "shared", "value b", "list", 1_074_000_000, group=group)
    both = checkpoint("c0000000", changed={"a": a, "b": b, "x": X})

    assert size_of(both) == 1_074_000_029
    assert "1.07 GB" in log_text(timeline_of(both, main="c0000000"), "main", None, now=NOW)
    assert "3 variables new or changed, 1.07 GB" in summary_of(both)


def test_a_log_says_how_a_checkpoint_came_about() -> None:
    timeline = timeline_of(
        checkpoint("load0000", created_at=NOW - 9),
        checkpoint("fork0000", "load0000", made_by="fork", created_at=NOW - 8),
        checkpoint("hand0000", "load0000", made_by="update", tags=("best",), created_at=NOW - 7),
        checkpoint("late0000", "hand0000", joined=(Cell("a = 1"), Cell("b = 2")), created_at=NOW),
        main="late0000",
        wide="fork0000",
    )

    log = log_text(timeline, None, "late0000", now=NOW)
    shown = show_text(timeline, timeline.checkpoints["late0000"], now=NOW)

    assert "values by fork" in log
    assert "values by hand; #best" in log
    assert "with 2 cells before" in log
    assert "head of     main" in shown
    assert "cells before it, kept with it\n    a = 1\n\n    b = 2" in shown


def test_the_greeting_says_what_there_is_or_how_to_begin() -> None:
    timeline = timeline_of(checkpoint("a"), main="a")

    assert "1 checkpoint on main, head 'a'" in greeting(timeline, "main", "/store")
    assert "%%checkpoint NAME" in greeting(Timeline(), "main", "/store")
