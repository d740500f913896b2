"""Each verb is in each door that it names, and a new verb is one declaration."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nbckpt
from nbckpt.cli import _parser, main
from nbckpt.cli.terminal import TerminalCall
from nbckpt.errors import StoreError, UsageError
from nbckpt.jupyter import page_verbs  # noqa: F401  # declares the requests of pages
from nbckpt.jupyter.magics import words
from nbckpt.jupyter.shell import attached, load, unload
from nbckpt.jupyter.views import Views
from nbckpt.text import commands
from nbckpt.verbs.arguments import EVERYWHERE, JSON, STORE, VALUE, Door, argument, flag
from nbckpt.verbs.calls import Answer, Call
from nbckpt.verbs.registry import VERBS, WRITES, Operation, declare, operations, verbs_at

RENAMED = {
    "answer": {"which": "id"},
    "fork": {"values": "expressions"},
    "history": {"name": "variable"},
    "log": {"name": "branch"},
    "update": {"values": "expressions"},
}
"""Verb → parameter of its function → argument, where Python has another name or form."""


def test_each_function_of_a_verb_is_public() -> None:
    for verb in verbs_at(Door.PYTHON):
        assert verb.function is not None
        assert verb.function.__name__ in nbckpt.__all__
        assert getattr(nbckpt, verb.function.__name__) is verb.function


def test_the_commands_that_messages_name_are_those_of_both_doors() -> None:
    words = [
        "answer",
        "approvals",
        "check",
        "config",
        "cost",
        "diff",
        "export",
        "history",
        "log",
        "note",
        "prune",
        "show",
        "sql",
        "status",
    ]
    words += ["tag", "trust", "update"]
    magics = ("fork", "rerun", "resume", "rewind", "switch")

    assert {
        **{word: f"%nbckpt {word}" for word in words},
        **{word: f"%{word}" for word in magics},
    } == commands.MAGICS


def test_each_verb_of_a_terminal_is_a_command() -> None:
    (found,) = [a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction)]

    assert list(found.choices) == [verb.name for verb in verbs_at(Door.TERMINAL)]
    assert {"log", "rewind", "prune", "run", "demo", "rekey"} <= set(found.choices)


def test_each_verb_of_a_notebook_is_a_magic_or_a_word(shell: Any) -> None:
    magics = shell.magics_manager.magics["line"]
    for verb in verbs_at(Door.NOTEBOOK):
        if verb.is_magic:
            assert magics[verb.name].__self__ is attached(shell)._magics
            assert (
                verb.usage_at(Door.NOTEBOOK) in magics[verb.name].__doc__
                or verb.name == "checkpoint"
            )
        else:
            assert verb.name in words()


def test_each_verb_of_the_panel_is_a_request() -> None:
    found = operations()

    for verb in verbs_at(Door.PANEL):
        assert any(known is verb for known, _ in found.values())
    assert {"rewind", "tag", "untag", "details", "trust", "strangers", "checkpoint"} <= set(found)


@pytest.mark.parametrize("name", [verb.name for verb in verbs_at(Door.PYTHON)])
def test_the_arguments_are_those_of_the_function(name: str) -> None:
    verb = VERBS[name]
    assert verb.function is not None
    same = [v for v in VERBS.values() if v.function is verb.function and v is not verb]
    known = {a.dest: a for v in (*same, verb) for a in v.arguments}
    for parameter in inspect.signature(verb.function).parameters.values():
        argument = known.get(RENAMED.get(name, {}).get(parameter.name, parameter.name))
        assert argument is not None, parameter
        default = parameter.default
        if default is inspect.Parameter.empty:
            assert argument.is_required or argument.takes_several
        else:
            assert (argument.default or None) == (default or None), parameter


def test_each_option_says_what_it_is_for_and_completion_knows_what_it_names(shell: Any) -> None:
    named = set(attached(shell)._completion._named)
    for verb in VERBS.values():
        assert verb.help
        for one in verb.arguments:
            is_typed = one.doors & verb.doors - {Door.PANEL}
            assert one.how.get("help") or not one.is_option or not is_typed, one
            assert isinstance(one.names, tuple) or one.names in {*named, VALUE}


@pytest.fixture
def made_up() -> Iterator[list[str]]:
    """Two verbs that nbckpt does not have, `shout` and the magic `whisper`; what was noted."""
    noted: list[str] = []

    @declare(
        "shout",
        "say words louder",
        argument("words", metavar="WORD", nargs="+", names=("hello", "help")),
        flag("--twice", help="and again"),
        STORE,
        JSON,
        panel=Operation("cry"),
        more="As loud as it gets.",
    )
    def _shout(call: Call) -> Answer:
        said = [word.upper() for word in call.arguments.words] * (1 + call.arguments.twice)
        return Answer(lambda: " ".join(said), lambda: {"said": said})

    @declare(
        "whisper",
        "note a text",
        argument("text", metavar="TEXT", nargs="*", is_rest=True),
        STORE,
        panel=WRITES,
        is_magic=True,
    )
    def _whisper(call: Call) -> Answer:
        noted.append(call.arguments.text)
        return Answer(lambda: f"noted {call.arguments.text}")

    yield noted
    for name in ("shout", "whisper"):
        del VERBS[name], commands.MAGICS[name]


def test_a_new_verb_is_a_word_of_the_magic(
    made_up: list[str], shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.user_ns["word"] = "world"
    capsys.readouterr()

    shell.run_line_magic("nbckpt", "shout hello {word} --twice")

    assert capsys.readouterr().out == "HELLO WORLD HELLO WORLD\n"
    usage = "%nbckpt shout WORD … [--twice]"
    for line, told in (
        ("shout", f"something is missing: write `{usage}`"),
        ("shout a --loud", f"'--loud' is no option here: write `{usage}`"),
        ("shut a", "did you mean `%nbckpt shout`?"),
    ):
        with pytest.raises(UsageError) as refused:
            shell.run_line_magic("nbckpt", line)
        assert told in str(refused.value)


def test_a_new_verb_can_be_a_magic_of_its_own(
    made_up: list[str], shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    unload(shell)
    load(shell)
    shell.user_ns["word"] = "world"
    capsys.readouterr()

    shell.run_line_magic("whisper", "'hello  {word}'")

    assert capsys.readouterr().out == "noted hello  world\n"
    assert made_up == ["hello  world"]
    assert "note a text" in shell.magics_manager.magics["line"]["whisper"].__doc__


def test_a_new_verb_is_a_command(
    made_up: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    statuses = [
        main(["shout", "a", "b"]),
        main(["shout", "a", "--json"]),
        main(["whisper", "a", "b"]),
    ]
    out = capsys.readouterr().out
    refused = main(["shout"])
    shown = capsys.readouterr().err
    main(["shout", "--help"])

    assert statuses == [0, 0, 0]
    assert out.startswith("A B\n")
    assert json.loads(out.removeprefix("A B\n").removesuffix("noted a b\n")) == {"said": ["A"]}
    assert made_up == ["a b"]
    assert (refused, "usage: nbckpt shout" in shown) == (2, True)
    assert "As loud as it gets." in capsys.readouterr().out


def test_a_new_verb_is_a_request_of_the_panel(made_up: list[str], shell: Any) -> None:
    answer = Views(attached(shell).cells).panel.answer

    assert answer("cry", {"words": "a", "twice": True}) == {
        "ok": True,
        "result": {"said": ["A", "A"]},
    }
    assert "'words' is missing" in answer("cry", {})["error"]
    written = answer("whisper", {"text": "a"})["result"]
    assert (written["text"], set(written)) == ("noted a", {"text", "status"})


def test_a_new_verb_is_completed_and_known_in_messages(made_up: list[str], shell: Any) -> None:
    completions = attached(shell)._completion.completions

    assert completions("%nbckpt sho") == ("sho", ["show", "shout"])
    assert completions("%nbckpt shout hel") == ("hel", ["hello", "help"])
    assert completions("%nbckpt shout a --") == ("--", ["--twice"])
    assert commands.in_notebook("`nbckpt shout a`, `nbckpt whisper a`") == (
        "`%nbckpt shout a`, `%whisper a`"
    )
    assert commands.in_terminal("`%nbckpt shout a`") == "`nbckpt shout a`"


def test_a_door_that_a_verb_does_not_name_does_not_have_it(shell: Any) -> None:
    assert {"why", "auto"} & {verb.name for verb in verbs_at(Door.TERMINAL)} == set()
    with pytest.raises(UsageError, match="there is no such command"):
        shell.run_line_magic("nbckpt", "rekey")
    with pytest.raises(UsageError, match="there is no such command"):
        shell.run_line_magic("nbckpt", "details load")
    assert main(["details", "load"]) == 2
    assert all(verb.doors & {*EVERYWHERE, Door.PYTHON} for verb in VERBS.values())


def test_a_command_says_what_it_did_once_that_is_durable(
    made_up: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: TerminalCall) -> None:
        message = "the disk is full"
        raise StoreError(message)

    monkeypatch.setattr(TerminalCall, "wait", refuse)
    monkeypatch.setitem(VERBS, "whisper", dataclasses.replace(VERBS["whisper"], writes=True))

    assert main(["whisper", "a"]) == 2
    said = capsys.readouterr()
    assert (said.out, "the disk is full" in said.err) == ("", True)


def test_a_page_compares_two_checkpoints_and_reruns_from_one(shell: Any) -> None:
    for cell in ("%%checkpoint a\nx = 1", "%%checkpoint b\nx = 2"):
        shell.run_cell(cell, store_history=True).raise_error()
    answer = Views(attached(shell).cells).panel.answer

    assert answer("diff", {"a": "a", "b": "b"})["ok"]
    assert "'b' is missing: give a text" in answer("diff", {"a": "a"})["error"]
    assert "'ref' is missing: give a text" in answer("rerun", {})["error"]
