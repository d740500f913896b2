"""Tab behind the magics, as front ends ask for it."""

from __future__ import annotations

from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter

from tests.kernels import Kernel


@pytest.fixture
def kept(shell: Any) -> Any:
    """A shell on `main`, in which `load` and `use` have run, with a branch `wide`."""
    for source in (
        "%%checkpoint load\nkey = 1\nxs = [1]",
        "%%checkpoint use\ny = key * 2",
        "%nbckpt tag use best",
        "%fork load wide key=5",
        "%switch main",
    ):
        shell.run_cell(source, store_history=True).raise_error()
    return shell


def offered(shell: Any, text: str) -> list[str]:
    """The whole lines that a completion at the end of `text` makes."""
    with provisionalcompleter():
        found = list(shell.Completer.completions(text, len(text)))
    return [text[: one.start] + one.text for one in found]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("%rewind u", ["%rewind use"]),
        ("  %rewind w", ["  %rewind wide"]),
        ("x = 1\n%rewind l", ["x = 1\n%rewind load"]),
        ("%fork load wider k", ["%fork load wider key="]),
        ("%fork load key=5 x", ["%fork load key=5 xs="]),
        (
            "%rerun load --",
            ["%rerun load --fresh", "%rerun load --all", "%rerun load --other-notebook"],
        ),
        ("%switch ", ["%switch main", "%switch wide"]),
        ("%resume --", ["%resume --fallback", "%resume --other-notebook"]),
        ("%nbckpt pr", ["%nbckpt prune"]),
        ("%nbckpt show u", ["%nbckpt show use"]),
        ("%nbckpt diff load u", ["%nbckpt diff load use"]),
        ("%nbckpt tag load b", ["%nbckpt tag load best"]),
        ("%nbckpt note l", ["%nbckpt note load"]),
        ("%nbckpt update use x", ["%nbckpt update use xs="]),
        ("%nbckpt update use xs=[] --as lo", ["%nbckpt update use xs=[] --as load"]),
        ("%nbckpt prune --drop w", ["%nbckpt prune --drop wide"]),
        ("%nbckpt prune --dr", ["%nbckpt prune --drop", "%nbckpt prune --dry-run"]),
        ("%nbckpt config max_s", ["%nbckpt config max_size", "%nbckpt config max_store_size"]),
        ("%nbckpt trust --", ["%nbckpt trust --show"]),
        ("%nbckpt export u", ["%nbckpt export use"]),
        ("%nbckpt auto sk", ["%nbckpt auto skip"]),
        ("%nbckpt log --", ["%nbckpt log --all"]),
        ("%%checkpoint --vars ke", ["%%checkpoint --vars key"]),
        ("%%checkpoint --vars y,ke", ["%%checkpoint --vars y,key"]),
        ("%%checkpoint new --re", ["%%checkpoint new --rerun"]),
    ],
)
def test_what_fits_is_offered_and_nothing_else(kept: Any, text: str, lines: list[str]) -> None:
    assert offered(kept, text) == lines


def test_checkpoints_come_first_and_the_newest_of_them(kept: Any) -> None:
    assert offered(kept, "%rewind ") == [
        "%rewind use",
        "%rewind load",
        "%rewind main",
        "%rewind wide",
        "%rewind best",
    ]


def test_the_beginning_of_an_id_is_completed(kept: Any) -> None:
    head = kept._nbckpt_extension.session.position.head.id

    assert f"%rewind {head[:8]}" in offered(kept, f"%rewind {head[:3]}")


@pytest.mark.slow
def test_an_expression_and_other_lines_are_left_to_python(kept: Any) -> None:
    assert "%fork load key=xs" in offered(kept, "%fork load key=x")
    assert not any("wide" in line for line in offered(kept, "rewind w"))
    assert not any("wide" in line for line in offered(kept, "%time w"))


def test_a_checkpoint_that_is_not_there_is_no_error(
    kept: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "%fork laod key=" not in offered(kept, "%fork laod k")
    assert capsys.readouterr().err == ""


def test_after_unloading_nothing_is_offered(kept: Any) -> None:
    completer = kept.Completer  # IPython 7 asks by the second list
    count = len([*completer.custom_matchers, *completer.magic_arg_matchers])

    kept.run_line_magic("unload_ext", "nbckpt")

    assert len([*completer.custom_matchers, *completer.magic_arg_matchers]) == count - 1
    assert offered(kept, "%rewind us") == []


@pytest.mark.slow
def test_a_kernel_completes_for_its_front_end(tmp_path: Any) -> None:
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run("%%checkpoint load\nx = 1")

        reply = kernel.client.complete("%rewind lo", reply=True, timeout=30)["content"]

    assert reply["matches"] == ["load"]
    assert reply["cursor_start"] == len("%rewind ")
