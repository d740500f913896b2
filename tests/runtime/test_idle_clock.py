"""The clock strikes once for each time that nothing runs, and settings say when."""

from __future__ import annotations

import threading
import time

import pytest

from nbckpt.config.settings import Settings
from nbckpt.config.settings_sources import settings_from
from nbckpt.errors import UsageError
from nbckpt.runtime.idle_clock import IdleClock


class Struck:
    """Counts how often a clock has struck."""

    def __init__(self) -> None:
        self.times = 0
        self._struck = threading.Condition()

    def __call__(self) -> None:
        with self._struck:
            self.times += 1
            self._struck.notify()

    def until(self, times: int) -> bool:
        with self._struck:
            return self._struck.wait_for(lambda: self.times >= times, timeout=10)


def test_it_strikes_once_for_each_time_that_nothing_runs() -> None:
    struck = Struck()
    clock = IdleClock(0.05, struck)

    clock.end()
    assert struck.until(1)
    time.sleep(0.2)
    once = struck.times
    clock.begin()
    clock.end()
    assert struck.until(2)
    clock.close()

    assert once == 1


def test_what_runs_puts_it_off() -> None:
    struck = Struck()
    clock = IdleClock(0.1, struck)

    for _ in range(5):
        clock.end()
        time.sleep(0.02)
        clock.begin()
    time.sleep(0.3)
    meanwhile = struck.times
    clock.close()

    assert meanwhile == 0


def test_closed_it_strikes_no_more() -> None:
    struck = Struck()
    clock = IdleClock(0.05, struck)

    clock.end()
    clock.close()
    clock.end()
    time.sleep(0.2)

    assert struck.times == 0


@pytest.mark.parametrize(("text", "seconds"), [("", 5.0), ("0", 0.0), ("2.5", 2.5)])
def test_the_environment_says_when(text: str, seconds: float) -> None:
    assert settings_from({"NBCKPT_IDLE_S": text}).idle_s == seconds
    assert Settings().idle_s == 5.0


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf"])
def test_what_is_no_number_of_seconds_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=f"NBCKPT_IDLE_S is '{text}'"):
        settings_from({"NBCKPT_IDLE_S": text})
