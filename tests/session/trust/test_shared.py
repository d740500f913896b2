"""A store that two people write to: each keeps what is theirs, and runs nothing of the other's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbckpt.errors import UntrustedError
from nbckpt.jupyter.shell import load, unload
from nbckpt.steps import current_session

LOOP = """%%checkpoint loop
import os, nbckpt
seen = []
for n in nbckpt.track(range(4)):
    seen.append(n)
    with open("log", "a") as log:
        _ = log.write(str(n))
    if n == 2 and os.path.exists("stop"):
        raise ValueError(n)
"""
OWN = """%%checkpoint own
class Model:
    k = 3
model = Model()
with open("ran", "a") as log:
    _ = log.write("x")
"""
EVIL = """%%checkpoint evil
import pathlib
class Built:
    def __reduce__(self):
        return pathlib.Path.touch, (pathlib.Path("mark"),)
built = Built()
plain = [1, 2]
"""


@pytest.fixture
def become(shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Restart the kernel as somebody."""

    def restart(who: str) -> None:
        unload(shell)
        monkeypatch.setenv("NBCKPT_HOME", str(tmp_path / "home" / who))
        shell.reset(new_session=False)
        load(shell)

    return restart


def run(shell: Any, source: str) -> Any:
    return shell.run_cell(source, store_history=True)


@pytest.mark.slow
@pytest.mark.parametrize(("second", "goes_on"), [("ann", True), ("bob", False)])
def test_only_ones_own_loop_goes_on_where_it_stopped(
    shell: Any, become: Callable[[str], None], second: str, goes_on: bool
) -> None:
    become("ann")
    Path("stop").touch()
    run(shell, LOOP)
    Path("stop").unlink()
    become(second)

    assert run(shell, LOOP).success

    log = Path("log").read_text()
    assert (log[:3], log[3] != "0") == ("012", goes_on)
    assert shell.user_ns["seen"] == [0, 1, 2, 3]


@pytest.mark.slow
def test_what_is_ones_own_comes_back_beside_what_is_not(
    shell: Any, become: Callable[[str], None]
) -> None:
    become("ann")
    run(shell, OWN)
    become("bob")
    run(shell, EVIL)
    become("ann")
    own = next(
        c.id for c in current_session.session().timeline.checkpoints.values() if c.name == "own"
    )

    with pytest.raises(UntrustedError, match="'evil' was made by another user"):
        shell.run_line_magic("resume", "")
    space = shell.user_ns
    assert not {"plain", "built"} & space.keys()
    shell.run_line_magic("rewind", own)
    assert space["model"].k == 3
    run(shell, OWN)
    assert Path("ran").read_text() == "x"
    assert not Path("mark").exists()
    listed = current_session.session().timeline.checkpoints.values()
    assert {c.name for c in listed if not c.trusted} == {"evil"}

    shell.run_line_magic("nbckpt", "trust")
    shell.run_line_magic("rewind", next(c.id for c in listed if c.name == "evil"))

    assert Path("mark").exists()
