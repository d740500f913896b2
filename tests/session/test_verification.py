"""A sweep finds what is not as it was kept, a slice at a time, and takes equal values for equal."""

from __future__ import annotations

import time

import numpy as np
import pytest

from nbckpt.session.session import Session
from nbckpt.session.verification import Verifier
from nbckpt.session.verification_sweep import NAME, Sweep

pytestmark = pytest.mark.changes_unseen


def swept(verifier: Verifier) -> Sweep:
    """A sweep that has come to its end."""
    sweep = verifier.begin()
    while sweep.go_on(0.01):
        pass
    return sweep


class Slow:
    """A value whose bytes take a while."""

    def __reduce__(self) -> tuple[type[Slow], tuple[()]]:
        time.sleep(0.05)
        return Slow, ()


class Unsteady:
    """A value whose bytes are others each time, and which is always the same."""

    pickles = 0

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        Unsteady.pickles += 1
        text = "".join(["a text ", "that is made anew"])
        return unsteady, (text, text if Unsteady.pickles % 2 else "".join([text[:5], text[5:]]))


def unsteady(_text: str, _again: str) -> Unsteady:
    """An `Unsteady`."""
    return Unsteady()


class Restless:
    """A value that is another one at each look."""

    looks = 0

    def __reduce__(self) -> tuple[object, tuple[int]]:
        Restless.looks += 1
        return restless, (Restless.looks,)


def restless(_number: int) -> Restless:
    """A `Restless`."""
    return Restless()


def test_what_changed_is_kept_and_nothing_else(session: Session) -> None:
    space = session.namespace
    held: list[object] = [1]
    array = np.zeros(300_000)
    space.update(held=held, alias=held, array=array, other=[3], gone=1)
    session.checkpoint("made")

    held.append(2)
    array[-1] = 5
    space["new"] = "new"
    del space["gone"]
    sweep = swept(Verifier(session))
    kept = sweep.keep()

    assert kept is not None
    assert (kept.name, kept.parent, kept.tags) == (NAME, session.get("~1").id, ("automatic",))
    assert set(kept.changed) == {"held", "alias", "array", "new"}
    assert kept.removed == ("gone",)
    assert swept(Verifier(session)).found == set()


def test_what_code_touched_is_left_to_the_next_checkpoint(session: Session) -> None:
    held: list[object] = [1]
    session.namespace.update(held=held, other=[2])
    session.checkpoint("made")

    held.append(2)
    session.workspace.tracker.touched(["held"])

    assert swept(Verifier(session)).found == set()


def test_without_a_checkpoint_there_is_nothing_to_be_wrong(session: Session) -> None:
    session.namespace["held"] = [1]

    sweep = swept(Verifier(session))

    assert (sweep.found, sweep.keep()) == (set(), None)


@pytest.mark.slow
def test_a_slice_ends_when_its_time_is_up(session: Session) -> None:
    session.namespace.update({f"slow{n}": Slow() for n in range(3)})
    session.checkpoint("made")
    sweep = Verifier(session).begin()

    goes_on = [sweep.go_on(0.01) for _ in range(3)]

    assert goes_on == [True, True, False]


@pytest.mark.slow
def test_what_took_long_is_left_out_and_named_until_it_is_asked_for(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow: dict[str, object] = {"items": [Slow()]}
    session.namespace.update(slow=slow, quick=[1])
    session.checkpoint("made")
    monkeypatch.setattr("nbckpt.session.verification.TOO_LONG_S", 0.02)
    verifier = Verifier(session)
    first = swept(verifier)
    slow["more"] = 1

    second = swept(verifier)
    named = verifier.left_out
    asked = verifier.begin(thoroughly=True)
    while asked.go_on(1):
        pass

    assert first.found == second.found == set()
    assert asked.found == {"slow"}
    assert named == ("slow",)


def test_bytes_that_differ_each_time_are_no_change(session: Session) -> None:
    session.namespace["value"] = Unsteady()
    session.checkpoint("made")
    verifier = Verifier(session)

    assert [swept(verifier).found for _ in range(2)] == [set(), set()]


@pytest.mark.slow
def test_what_is_never_the_same_twice_is_left_out_at_last(session: Session) -> None:
    session.namespace["value"] = Restless()
    session.checkpoint("made")
    verifier = Verifier(session)

    kept = [swept(verifier).keep() for _ in range(5)]

    assert [checkpoint is not None for checkpoint in kept] == [True, True, True, False, False]
    assert verifier.left_out == ("value",)
