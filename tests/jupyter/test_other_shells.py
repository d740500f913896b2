"""Shells and extensions that treat a cell in their own way: it is seen, or that is said."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nbckpt.errors import UsageError
from nbckpt.jupyter.shell import attached, load
from nbckpt.steps import current_session
from tests.notebooks import run


def names() -> list[str]:
    return [c.name for c in current_session.session().history()]


def test_lists_that_an_extension_puts_back_lose_nothing(shell: Any) -> None:
    shell.ast_transformers, shell.input_transformers_post = [], []
    run(shell, "%nbckpt auto on")
    run(shell, "v = 1")
    run(shell, "%%checkpoint named\nw = v")

    assert len(names()) == 2
    assert "named" in names()


def test_code_is_seen_as_it_was_written(shell: Any) -> None:
    """What instruments a cell, as pyccolo does for ipyflow, comes after nbckpt."""
    kind = type("Instrumenting", (), {"visit": lambda self, tree: tree})
    kind.__module__ = "pyccolo.ipython_extension"
    transformer = kind()
    shell.ast_transformers = [transformer]

    run(shell, "v = 1")

    assert shell.ast_transformers == [attached(shell)._transformer, transformer]
    shell.ast_transformers.remove(transformer)


class Proxy:
    """A stream that stands for another, as that of ipyflow does."""

    def __init__(self, stream: Any) -> None:
        self.__dict__["stream"] = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.stream, name, value)


def test_a_stream_that_stands_for_another_is_noted_and_left(
    shell: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, "%nbckpt auto on")
    monkeypatch.setattr(sys, "stdout", Proxy(sys.stdout))
    cell = "%%checkpoint said\nprint('hello')"
    run(shell, cell)
    run(shell, "print('more')")
    run(shell, cell)

    assert capsys.readouterr().out.count("hello") == 2
    assert "said" in names()


def test_a_shell_that_shows_nobody_its_cells_says_so_once(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.transform_ast = lambda tree: tree
    try:
        run(shell, "%nbckpt auto on")
        run(shell, "v = 1")
        run(shell, "v = 2")
    finally:
        del shell.transform_ast

    told = "".join(capsys.readouterr())
    assert told.count("InteractiveShell runs cells that nbckpt does not see") == 1
    assert names() == []


def test_a_shell_without_what_it_takes_is_named() -> None:
    with pytest.raises(UsageError, match=r"types.SimpleNamespace: it has no ast_transformers"):
        load(SimpleNamespace(events=None, user_ns={}))  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_kernel_that_does_not_tell_what_was_asked_of_it_is_no_matter(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As in xeus-python: a shell with a kernel whose comms are a class of C, without targets."""
    import comm
    from IPython.core.interactiveshell import InteractiveShell

    class Comm:
        __slots__ = ("__weakref__",)

        def __init__(self, **_: object) -> None:
            pass

        def __getattr__(self, name: str) -> Any:
            if name in ("send", "close", "on_msg", "on_close"):
                return lambda *_, **__: None
            raise AttributeError(name)

    class Manager:
        __slots__ = ()

        def register_target(self, *_: object) -> None:
            pass

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NBCKPT_STORE", str(tmp_path / "store"))
    monkeypatch.setattr(comm, "get_comm_manager", Manager)
    monkeypatch.setattr(comm, "create_comm", Comm)
    shell: Any = InteractiveShell.instance()
    shell.kernel = object()
    try:
        shell.run_line_magic("load_ext", "nbckpt")
        run(shell, "%%checkpoint a\nx = 5")
        assert names() == ["a"]
    finally:
        shell.run_line_magic("unload_ext", "nbckpt")
        InteractiveShell.clear_instance()
