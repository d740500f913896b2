"""The bytes of a part as one line."""

from __future__ import annotations

import subprocess
import sys

from tests.running import environment

CYCLE = """
import gc
from nbckpt.storage.blobs import flat

cycle = [memoryview(bytearray(5000))]
cycle += [flat(cycle[0]), cycle]
del cycle
gc.collect()
"""


def test_a_view_and_its_bytes_are_collected_in_a_cycle() -> None:
    # As the locals of a traceback are. Python up to 3.12.6 ends the process if one holds the other.
    done = subprocess.run(
        [sys.executable, "-c", CYCLE], env=environment(), capture_output=True, text=True
    )

    assert (done.returncode, done.stderr) == (0, "")
