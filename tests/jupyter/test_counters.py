"""Counters that loops bind anew, each time at an address that the last number has left."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels import Kernel

START = "words = ['abcdef'] * 500; n = 0; x = 0.0; text = ''; pair = (0, 0); data = b''; z = 0j"
LOOP = "\n".join(
    [
        "for w in words:",
        "    n += len(w)",
        "    x += len(w) / 7",
        "    text = str(n)",
        "    pair = (n, x)",
        "    data = text.encode()",
        "    z += 1j",
        "for i in range(6):",
        "    e = 7 / (i + 50.5) + n",
    ]
)
STATE = "(n, round(x, 6), text, pair[0], data, z, i, round(e, 6))"
AFTER_THREE = (9000, 1285.714286, "9000", 9000, b"9000", 1500j, 5, 9000.126126)


def cells_of(mode: str) -> list[tuple[str, str]]:
    marker = "%%checkpoint {}\n" if mode == "checkpoint" else "# {}\n"
    sources = [START, LOOP, LOOP, LOOP]
    return [(marker.format(f"c{i}") + s, f"cell-{i}") for i, s in enumerate(sources)]


def run_all(kernel: Kernel, mode: str) -> None:
    kernel.run("%load_ext nbckpt", "load")
    if mode != "checkpoint":
        kernel.run(f"%nbckpt auto {mode}", "auto")
    for source, cell_id in cells_of(mode):
        assert kernel.run(source, cell_id).ok


@pytest.mark.parametrize("mode", ["on", "skip", "checkpoint"])
def test_counters_come_back_as_they_stood(tmp_path: Path, mode: str) -> None:
    with Kernel(tmp_path) as kernel:
        run_all(kernel, mode)
        kernel.run("import nbckpt; nbckpt.wait()")
        kernel.kill()

    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt", "load")
        kernel.run("%resume")
        assert kernel.run(STATE).result == repr(AFTER_THREE)

    with Kernel(tmp_path) as kernel:
        run_all(kernel, mode)
        assert kernel.run(STATE).result == repr(AFTER_THREE)
        assert kernel.run("%rewind c1" if mode == "checkpoint" else "%rewind cell-cell-1").ok
        assert kernel.run("(n, text)").result == "(3000, '3000')"
