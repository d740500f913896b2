"""`%unload_ext nbckpt`, and what a notebook may still ask for afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbckpt.jupyter.shell import load, unload
from nbckpt.steps import current_session
from tests.kernels import Kernel


@pytest.mark.slow
def test_a_checkpoint_cell_after_unloading_ends_and_says_that_the_magic_is_not_there(
    tmp_path: Path,
) -> None:
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run("%unload_ext nbckpt")

        ran = kernel.run("%%checkpoint a\nx = 1", timeout_s=20)

        assert "`%%checkpoint` not found" in ran.stderr + ran.stdout + ran.error
        assert kernel.value("'x' in globals()") == "False"


@pytest.mark.parametrize("line", ["%checkpoint a", "%rewind a", "%resume", "%nbckpt log"])
def test_no_magic_is_left_behind(shell: Any, capsys: pytest.CaptureFixture[str], line: str) -> None:
    unload(shell)
    capsys.readouterr()

    shell.run_cell(line)

    assert f"`{line.split(maxsplit=1)[0]}` not found" in "".join(capsys.readouterr())


def test_a_magic_that_another_extension_put_under_our_name_stays(shell: Any) -> None:
    said: list[str] = []
    theirs: Callable[[str], None] = said.append
    shell.register_magic_function(theirs, "line", "rewind")

    unload(shell)
    shell.run_line_magic("rewind", "the tape")

    assert said == ["the tape"]


def test_what_is_loaded_again_works(shell: Any) -> None:
    unload(shell)
    load(shell)

    result = shell.run_cell("%%checkpoint a\nx = 1")

    assert result.success
    assert [c.name for c in current_session.session().history()] == ["a"]


def test_a_checkpoint_cell_that_nothing_would_mark_is_refused_and_does_not_hang(
    shell: Any,
) -> None:
    ours = [t for t in shell.input_transformers_cleanup if "nbckpt" in t.__module__]
    for transform in ours:
        shell.input_transformers_cleanup.remove(transform)

    result = shell.run_cell("%%checkpoint a\nx = 1")
    shell.run_line_magic("reload_ext", "nbckpt")

    assert "%reload_ext nbckpt" in str(result.error_in_exec)
    assert "x" not in shell.user_ns
    assert shell.run_cell("%%checkpoint a\nx = 1").success
    assert [c.name for c in current_session.session().history()] == ["a"]
