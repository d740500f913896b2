"""Questions and answers, folded from records in whatever order these come."""

from __future__ import annotations

import itertools

import pytest

from nbckpt.model import Record
from nbckpt.timeline.approvals import (
    APPROVAL,
    Question,
    Questions,
    again_record,
    asked_record,
)

ASKED = Question(
    "q1", "delete?", "digest", 0, "clean", None, "s1", "main", "work", "c1", 10.0, "a", "blob"
)


def answer(state: str, at: float, **more: object) -> Record:
    return {"kind": APPROVAL, "id": "q1", "state": state, "at": at, "user": "sam", **more}


def test_a_record_brings_back_the_question_that_it_was_made_of() -> None:
    assert Questions([asked_record(ASKED)]).all == {"q1": ASKED}


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_the_order_of_the_records_does_not_matter(order: tuple[int, ...]) -> None:
    records: list[Record] = [
        asked_record(ASKED),
        again_record(ASKED, "s2", 15.0),
        answer("refused", 20.0, text="too many", through="command", host="h"),
        answer("approved", 30.0),
    ]

    questions = Questions([records[i] for i in order])

    assert questions.waiting == []
    found = questions.all["q1"]
    assert (found.state, found.text, found.user, found.answered_at) == (
        "refused", "too many", "sam", 20.0,
    )  # fmt: skip
    assert found.session == "s2"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_what_is_withdrawn_stays_so(order: tuple[int, int]) -> None:
    records = [answer("approved", 20.0), answer("withdrawn", 30.0)]

    questions = Questions([asked_record(ASKED), *(records[i] for i in order)])

    assert questions.all["q1"].state == "withdrawn"


def test_records_of_a_later_version_are_left_alone() -> None:
    later: list[Record] = [
        {"kind": APPROVAL, "id": "q2", "state": "waiting", "at": 1.0},
        {"kind": APPROVAL, "state": "waiting", "at": 1.0},
        answer("postponed", 20.0),
        {**asked_record(ASKED), "colour": "red"},
    ]

    questions = Questions(later)

    assert list(questions.all) == ["q1"]
    assert questions.waiting == [ASKED]
