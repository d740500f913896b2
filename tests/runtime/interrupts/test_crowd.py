"""Kernels are killed at random while others read and prune: nothing that was durable is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.interrupts.crowd import Crowd


@pytest.mark.slow
def test_nothing_durable_is_lost_in_a_crowd_that_is_killed(tmp_path: Path) -> None:
    crowd = Crowd(tmp_path)

    crowd.run(kernels=2, readers=1, seconds=12, kill_s=5)
    crowd.look()

    assert crowd.wrong == []
    assert crowd.counts["checkpoints"] > 0


@pytest.mark.long
@pytest.mark.timeout(900)
def test_nothing_durable_is_lost_in_a_large_crowd(tmp_path: Path) -> None:
    crowd = Crowd(tmp_path)

    crowd.run(kernels=8, readers=4, seconds=300, kill_s=40)
    crowd.look()

    print(dict(crowd.counts), f"{len(crowd.durable)} durable")
    assert crowd.wrong == []
    assert crowd.counts["kernels killed"] >= 8
