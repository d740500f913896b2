"""Real kernels that are interrupted at random times, as by a front end's stop button."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.kernels import Kernel, Ran

CELLS = [
    "%%checkpoint made\nimport numpy as np\nmade = [np.arange(300_000) + k for k in range({n})]",
    "%rewind begun",
    "%fork begun b{n} extra={n}",
    "rows.append({n})",
    "%checkpoint by-hand",
]


def interrupted(kernel: Kernel, source: str, after_s: float) -> Ran:
    """What came of a cell that was interrupted so many seconds after it was sent."""
    request = kernel.send(source)
    time.sleep(after_s)
    kernel.interrupt()
    return kernel.collect(request, has_reply=False)


def interrupt_a_kernel(folder: Path, times: int) -> int:
    """Interrupt cells at random times; how many said so."""
    rng, told = random.Random(3), 0
    with Kernel(folder) as kernel:
        assert kernel.run("import nbckpt\n%load_ext nbckpt\nrows = [0]\nextra = 0").ok
        assert kernel.run("%checkpoint begun").ok
        for n in range(1, times + 1):
            source = CELLS[n % len(CELLS)].format(n=n)
            ran = interrupted(kernel, source, rng.uniform(0, 0.08))

            told += not ran.ok
            assert ran.ok or "KeyboardInterrupt" in ran.error, ran.error
            probes = (kernel.run("after = len(rows)"), kernel.run(f"%checkpoint probe-{n}"))
            late = [probe.error for probe in probes if not probe.ok]
            # It came as its cell had ended: it stops what waits behind that.
            assert not late or (ran.ok and len(late) == 1 and "KeyboardInterrupt" in late[0]), late
        assert kernel.run("%rewind begun").ok
        assert kernel.value("rows") == "[0]"
        assert kernel.value("nbckpt.prune().left") == "''"
        checked = kernel.run("%nbckpt check")
        assert "no problem" in checked.stdout or "sound" in checked.stdout, checked.stdout
    return told


@pytest.mark.slow
def test_a_kernel_goes_on_after_interrupts_at_random_times(tmp_path: Path) -> None:
    interrupt_a_kernel(tmp_path, 5)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_kernel_goes_on_after_very_many_interrupts(tmp_path: Path) -> None:
    assert interrupt_a_kernel(tmp_path, 300) > 0
