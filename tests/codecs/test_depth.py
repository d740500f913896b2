"""Room for deep recursions, which an interrupt does not take from who is deep down."""

from __future__ import annotations

import os
import signal
import sys
import threading

import numpy as np
import pytest

from nbckpt.codecs import depth
from tests.codecs.test_round_trips import round_trip
from tests.notebooks import define


def test_who_is_deep_down_keeps_his_room_when_the_wait_for_him_is_interrupted() -> None:
    before, is_over, found, threads = sys.getrecursionlimit(), threading.Event(), [], []

    def work() -> None:
        threads.append(threading.current_thread())
        os.kill(os.getpid(), signal.SIGINT)
        is_over.wait(60)
        found.append(sys.getrecursionlimit())

    with pytest.raises(KeyboardInterrupt):
        depth.with_room(work)
    assert depth.with_room(sys.getrecursionlimit) == depth.LEVELS  # another one comes and goes
    is_over.set()
    threads[0].join()

    assert found == [depth.LEVELS]
    assert sys.getrecursionlimit() == before


def test_the_limits_are_as_before_where_no_thread_can_begin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: threading.Thread) -> None:
        message = "can't start new thread"
        raise RuntimeError(message)

    before = sys.getrecursionlimit(), threading.stack_size()
    monkeypatch.setattr(threading.Thread, "start", refuse)

    with pytest.raises(RuntimeError, match="can't start"):
        depth.with_room(list)

    assert (sys.getrecursionlimit(), threading.stack_size()) == before


def test_arrays_are_kept_where_the_first_import_of_numpy_was_broken_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    namespace = define("import numpy as np\na = np.zeros(3, 'i4,f8')\nb = np.arange(9000)")
    monkeypatch.delattr(np, "dtypes")  # so it is then, and asking for it never ends

    back = round_trip(namespace, "a", "b")

    assert back["a"].dtype == namespace["a"].dtype
    np.testing.assert_array_equal(back["b"], namespace["b"])
