"""The magics in a real shell: what they do, what they say, and what they say of bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbckpt.errors import NbckptError, UsageError
from nbckpt.timeline.timeline import Timeline
from nbckpt.verbs.arguments import Door
from nbckpt.verbs.registry import verbs_at

CELLS = (
    "%%checkpoint load\nk = 1\nxs = [1]",
    "%%checkpoint use\ny = k * 2\nprint('y is', y)",
    "%%checkpoint more\nz = y + 1",
)


def run(shell: Any, *sources: str) -> None:
    for source in sources:
        shell.run_cell(source, store_history=True).raise_error()


def timeline_of(shell: Any) -> Timeline:
    timeline = shell._nbckpt_extension.session.timeline
    assert isinstance(timeline, Timeline)
    return timeline


def heads(shell: Any) -> dict[str, str]:
    timeline = timeline_of(shell)
    return {branch: timeline.checkpoints[i].name for branch, i in timeline.branches.items()}


@pytest.fixture
def kept(shell: Any) -> Any:
    """A shell in which `load`, `use` and `more` have run."""
    run(shell, *CELLS)
    return shell


@pytest.mark.slow
def test_a_fork_has_other_values_and_a_rerun_makes_the_rest_anew(
    kept: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(kept, "%fork load wide k=k + 4 xs=[1, 2]", "%rerun")

    out = capsys.readouterr().out
    values = {name: kept.user_ns[name] for name in ("k", "xs", "y", "z")}
    assert values == {"k": 5, "xs": [1, 2], "y": 10, "z": 11}
    assert "on new branch 'wide', with k, xs, forked at 'load'" in out
    assert "y is 10" in out
    assert "input 'k' has another value" in out
    assert heads(kept) == {"main": "more", "wide": "more"}


@pytest.mark.slow
def test_a_rerun_restores_what_the_change_cannot_have_reached(
    kept: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(kept, "%fork load other xs=[7]", "%rerun")

    out = capsys.readouterr().out
    assert "restored" in out
    assert (kept.user_ns["xs"], kept.user_ns["z"]) == ([7], 3)

    run(kept, "%rerun load --all")

    assert "run" in capsys.readouterr().out


@pytest.mark.slow
def test_a_switch_and_a_rewind_to_before_it_bring_the_values_along(
    kept: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(kept, "%fork load wide k=5", "%switch main")
    assert kept.user_ns["k"] == 1

    run(kept, "%rewind -")

    assert kept.user_ns["k"] == 5
    assert "on branch 'main', at 'more'" in capsys.readouterr().out


@pytest.mark.slow
def test_what_looks_like_a_format_is_an_expression(kept: Any) -> None:
    run(kept, "target = 'load'", "%fork {target} k={1:2} xs={'k': 'x=1 y'}")

    assert kept.user_ns["k"] == {1: 2}
    assert kept.user_ns["xs"] == {"k": "x=1 y"}


@pytest.mark.slow
def test_values_given_by_hand_go_through_a_reducer_and_stand_for_a_step(
    kept: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    import nbckpt

    nbckpt.reducer("xs", lambda old, new: old + new)
    run(kept, "%nbckpt update load xs=[8, 9] y=4 --as use")

    assert (kept.user_ns["xs"], kept.user_ns["y"]) == ([1, 8, 9], 4)
    assert "xs, y given at 'use' (" in capsys.readouterr().out
    assert nbckpt.get("use").metadata["made_by"] == "update"
    assert nbckpt.get("use").next == ("more",)

    run(kept, "%rerun")

    assert kept.user_ns["z"] == 5


@pytest.mark.slow
def test_tags_and_notes_are_shown_in_the_log(kept: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(
        kept,
        "%nbckpt tag use best small",
        "%nbckpt tag use small --delete",
        '%nbckpt note use it is "good" so far',
        "%nbckpt log",
    )

    out = capsys.readouterr().out
    assert "tagged 'use' with 'best', 'small'" in out
    assert '#best; it is "good" so far' in out

    run(kept, "%rewind best")

    assert "z" not in kept.user_ns


def test_the_log_of_all_branches_tells_what_was_forked_and_what_was_left(
    kept: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(
        kept,
        "%rewind load",
        "w = 9",
        "%checkpoint side",
        "%fork load wide k=5",
        "%nbckpt log --all",
    )
    log = capsys.readouterr().out
    run(kept, "%nbckpt log wide", "%nbckpt status", "%nbckpt show wide")
    rest = capsys.readouterr().out

    assert "main.1" in log
    assert "values by fork" in log
    assert "others      main, head side" in rest
    assert "main.1, head more" in rest
    assert "how         values by fork" in rest


def test_the_status_counts_what_failed_beside_the_checkpoints(
    kept: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    run(kept, "%nbckpt status")
    before = _held(capsys)
    kept.run_cell("%%checkpoint bad\n1 / 0", store_history=True)
    capsys.readouterr()
    run(kept, "%nbckpt status")

    assert _held(capsys) == f"{before}, and 1 that failed or did not finish"
    for _ in range(3):
        kept.run_cell("%%checkpoint bad\n1 / 0", store_history=True)
    kept.run_cell("%%checkpoint finished\n1 / 0", store_history=True)
    kept.run_cell("%%checkpoint finished\nf = 1", store_history=True)
    capsys.readouterr()
    run(kept, "%nbckpt status")
    assert "and 1 that failed or did not finish" in _held(capsys)


def test_the_log_after_a_look_back_shows_the_newer_ones_too(
    kept: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    run(kept, "%nbckpt log")
    before = capsys.readouterr().out.splitlines()
    first = before[-1].split()[1]

    run(kept, f"%rewind {first}")
    capsys.readouterr()
    run(kept, "%nbckpt log")

    now = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in now[1:] if "before-rewind" not in line] == [
        line.split()[1] for line in before[1:]
    ]
    assert now[-1].startswith("●")


def test_the_words_of_the_magic_are_told_each_with_what_it_does(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, "%nbckpt")
    listed = capsys.readouterr().out

    for verb in verbs_at(Door.NOTEBOOK):
        line = next(line for line in listed.splitlines() if line.startswith(f"{verb.magic} "))
        assert len(line.removeprefix(verb.magic).strip()) >= 10
    run(shell, "%nbckpt?")
    assert "%nbckpt why" in capsys.readouterr().out


@pytest.mark.parametrize("typed", ["%fork load k", "%fork load k xs=[2]"])
def test_a_variable_that_is_given_no_value_is_no_name_of_a_branch(kept: Any, typed: str) -> None:
    before = heads(kept)

    result = kept.run_cell(typed)

    assert "'k' is a variable at 'load'" in str(result.error_in_exec)
    assert heads(kept) == before


def _held(capsys: pytest.CaptureFixture[str]) -> str:
    lines = capsys.readouterr().out.splitlines()
    return next(line for line in lines if line.startswith("holds"))


def test_a_difference_shows_itself(kept: Any) -> None:
    result = kept.run_cell("%nbckpt diff load use").result

    assert "y" in str(result)
    assert "<" in result._repr_html_()


@pytest.mark.slow
def test_a_prune_removes_what_nothing_needs(kept: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(kept, "%nbckpt prune --keep-last 1 --dry-run")
    assert len(timeline_of(kept).checkpoints) == 3
    run(kept, "%nbckpt prune --keep-last 1", "%rewind more")

    out = capsys.readouterr().out
    assert "would remove 2 checkpoints" in out
    assert "\nremoved 2 checkpoints, freed" in out
    assert heads(kept) == {"main": "more"}
    assert kept.user_ns["y"] == 2


@pytest.mark.slow
def test_settings_are_told_and_remembered_by_the_store(
    kept: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(kept, "%nbckpt config max_size 2 GB", "%nbckpt config")

    out = capsys.readouterr().out
    assert "max_size  2000000000  config.json" in out
    assert "retention_days" in out
    assert kept._nbckpt_extension.session.settings.max_size == 2_000_000_000


def test_the_timeline_is_text_where_the_widget_cannot_be_shown(
    kept: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from nbckpt.jupyter import widget

    monkeypatch.setattr(widget, "CODE", tmp_path / "missing.js")
    shown: list[Any] = []
    monkeypatch.setattr(kept.display_pub, "publish", lambda data, *_, **__: shown.append(data))

    run(kept, "%timeline")

    (data,) = shown
    assert "●  more" in data["text/plain"]
    assert data["text/html"].startswith("<pre>")


def test_the_timeline_is_text_where_a_package_is_missing(
    kept: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "nbckpt.jupyter.widget", None)
    shown: list[Any] = []
    monkeypatch.setattr(kept.display_pub, "publish", lambda data, *_, **__: shown.append(data))

    run(kept, "%timeline")

    assert "needs a package that is missing" in shown[0]["text/plain"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("%rewind", "something is missing: write `%rewind REF`; `%nbckpt log` lists"),
        ("%rewind load use", "'load use' is too much: write `%rewind REF`"),
        ("%rewind laod", "did you mean 'load'"),
        ("%rewind 'load", "cannot be read: No closing quotation"),
        ("%fork", "where from? write `%fork REF [BRANCH] [name=expression …]`"),
        ("%fork load a b", "'b' is one word too many"),
        ("%fork load main", "branch 'main' exists"),
        ("%fork load use", "'use' is the name of a checkpoint"),
        ("%fork load a k=", "there is nothing"),
        ("%fork load a k=nothing", "k=nothing failed: NameError"),
        ("%fork load a k=hello world", "a text needs its quotes"),
        ("%fork laod a k=1", "did you mean 'load'"),
        ("%switch", "something is missing: write `%switch BRANCH`"),
        ("%switch mian", "no branch 'mian'; did you mean 'main'"),
        ("%rerun load use", "write `%rerun [REF] [--fresh] [--all]`"),
        ("%rerun load --frehs", "'--frehs' is no option here"),
        ("%rerun more", "more"),
        ("%resume mian", "mian"),
        ("%resume --force", "'--force' is no option here"),
        ("%timeline wide", "write `%timeline`"),
        ("%nbckpt lgo", "did you mean `%nbckpt log`?"),
        ("%nbckpt every 5", "write `%nbckpt auto every`"),
        ("%nbckpt sql", "what query? write `%nbckpt sql"),
        ("%nbckpt log mian", "no branch 'mian'"),
        ("%nbckpt log main --all", "'main' and --all: name a branch, or take every branch"),
        ("%nbckpt log -n none", "'none' is no number of checkpoints"),
        ("%nbckpt show", "write `%nbckpt show REF`"),
        ("%nbckpt diff", "write `%nbckpt diff REF [REF]`"),
        ("%nbckpt diff load laod", "did you mean 'load'"),
        ("%nbckpt tag load", "write `%nbckpt tag REF TAG … [--delete]`"),
        ("%nbckpt tag load a,b", "'a,b' is no tag"),
        ("%nbckpt note", "write `%nbckpt note REF TEXT`"),
        ("%nbckpt update load", "give the values"),
        ("%nbckpt update", "which checkpoint?"),
        ("%nbckpt update load k=5 --as nothing", "no step 'nothing'"),
        (
            "%nbckpt prune --kep 3",
            "'--kep' is no option here: write `%nbckpt prune [--keep-last N] ",
        ),
        ("%nbckpt prune --max-size much", "'much' is no size"),
        ("%nbckpt prune --keep-last 0", "'0' is no number of checkpoints"),
        ("%nbckpt prune --drop main", "this session is on branch 'main'"),
        ("%nbckpt config max_syze 3", "there is no such setting"),
        ("%nbckpt auto sometimes", "auto sometimes"),
        ("%nbckpt check --all", "write `%nbckpt check [--memory] [--repair] [--secrets]`"),
    ],
)
def test_bad_input_is_one_sentence_and_changes_nothing(kept: Any, typed: str, told: str) -> None:
    before = heads(kept)
    values = {name: kept.user_ns[name] for name in ("k", "xs", "y", "z")}
    records = len(timeline_of(kept).checkpoints)

    result = kept.run_cell(typed)

    assert isinstance(result.error_in_exec, NbckptError)
    message = str(result.error_in_exec)
    assert told in message
    assert "\n" not in message
    assert result.error_in_exec._render_traceback_() == [
        f"{type(result.error_in_exec).__name__}: {message}".replace("`nbckpt ", "`%nbckpt ")
    ]
    assert heads(kept) == before
    assert len(timeline_of(kept).checkpoints) == records
    assert all(kept.user_ns[name] is value for name, value in values.items())


def test_a_message_in_a_notebook_names_the_next_move_as_it_is_typed_there(kept: Any) -> None:
    result = kept.run_cell("%rewind zzzzzz")

    (line,) = result.error_in_exec._render_traceback_()
    assert line.endswith("; `%nbckpt log` lists them")


def test_an_update_that_gives_nothing_is_a_usage_error(kept: Any) -> None:
    with pytest.raises(UsageError):
        kept.run_line_magic("nbckpt", "update load")
