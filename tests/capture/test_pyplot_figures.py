"""What pyplot has open is what the notebook opened, whatever is built to be looked at or let go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kernels import Kernel

INLINE = """\
%load_ext nbckpt
%matplotlib inline
import matplotlib.pyplot as plt, nbckpt
with nbckpt.checkpoint('one'):
    fig, ax = plt.subplots(); L = [fig]
with plt.ioff():
    mine = plt.figure('mine')"""


@pytest.fixture
def plt(shell: Any) -> Iterator[Any]:
    import matplotlib.pyplot as plt

    shell.run_cell("import matplotlib.pyplot as plt, nbckpt")
    yield plt
    plt.close("all")


@pytest.mark.slow
@pytest.mark.kernel
@pytest.mark.parametrize(
    "look",
    ["f = nbckpt.get('one').values['fig']", "%nbckpt diff one", "%nbckpt history L"],
)
def test_a_look_shows_and_closes_none_where_figures_are_shown_inline(
    tmp_path: Path, look: str
) -> None:
    with Kernel(tmp_path) as kernel:
        kernel.run(INLINE)
        kernel.run("with plt.ioff():\n    mine = plt.figure('mine')")
        before = kernel.look("plt.get_fignums()")

        ran = kernel.run(look)

        assert [d for d in ran.displays if "image/png" in d["data"]] == []
        assert kernel.look("plt.get_fignums()") == before != "[]"


def test_a_restore_that_is_refused_leaves_none_open(shell: Any, plt: Any) -> None:
    shell.run_cell("with nbckpt.checkpoint('one'):\n    fig, ax = plt.subplots()")
    shell.run_cell("fig, ax = plt.subplots(); plt.close('all'); mine = plt.figure('mine')")
    shell.run_cell("%checkpoint two")

    shell.run_cell("%nbckpt restore fig one").raise_error()

    assert plt.get_fignums() == [1]
    assert plt.gcf() is shell.user_ns["mine"]
