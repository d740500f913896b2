"""A restart and Run All: cells that took long are back at once, and none of them runs."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.kernels import Kernel, Ran

SLEEP_S = 0.8

CELLS = {
    "setup": "import time, numpy as np\n",
    "load": "table = np.arange(600_000.).reshape(-1, 3)\nprint('loaded', table.shape)",
    "helpers": "class Model:\n    def __init__(self, w):\n        self.w = w\n"
    "def score(model, x):\n    return float((x @ model.w).sum())",
    "fit": "model = Model(table[:3, :3].copy())\nscore(model, np.ones(3))",
    "search": "results = {k: score(model, np.full(3, float(k))) for k in range(100)}",
    "report": "best = max(results, key=results.get)\nprint('best', best)",
}


def run_all(folder: Path) -> tuple[dict[str, Ran], float, str]:
    """What the cells gave in a new kernel, the seconds from loading nbckpt on, and the state."""
    with Kernel(folder) as kernel:
        began = time.perf_counter()
        kernel.run("%load_ext nbckpt")
        kernel.run(CELLS["setup"], "setup")
        ran = {name: kernel.run(cell(name), name) for name in CELLS if name != "setup"}
        took_s = time.perf_counter() - began
        state = kernel.value("(table.sum(), model.w.tolist(), sorted(results.items())[-1], best)")
    return ran, took_s, state


def cell(name: str) -> str:
    effect = f"with open('ran', 'a') as _file:\n    _ = _file.write('{name} ')\n"
    return f"%%checkpoint {name}\n{effect}time.sleep({SLEEP_S})\n{CELLS[name]}"


@pytest.mark.slow
def test_after_a_restart_all_finished_cells_are_back_in_under_two_seconds(tmp_path: Path) -> None:
    first, first_s, state = run_all(tmp_path)
    before = (tmp_path / "ran").read_text()

    again, again_s, state_again = run_all(tmp_path)

    print(f"ran in {first_s:.2f} s, restored in {again_s:.2f} s")
    assert all(r.ok for r in [*first.values(), *again.values()])
    assert first_s > 5 * SLEEP_S
    assert again_s < 2
    assert (tmp_path / "ran").read_text() == before == "load helpers fit search report "
    assert state_again == state
    assert [r.stdout for r in again.values()] == [r.stdout for r in first.values()]
    assert [r.result for r in again.values()] == [r.result for r in first.values()]
    assert all("restored" in "".join(r.notices) for r in again.values())
