"""Notebooks in forked processes: what a cell changes of a process ends with it.

They are forked from a process that holds little more than IPython and nbckpt: in one that runs
tests, the tests' own modules would be modules beside the notebook.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import nbckpt

MARK = "#ck\n"
"""The first line of a cell that is to be a `%%checkpoint` cell."""


class Answer(NamedTuple):
    """What a notebook left.

    Attributes
    ----------
    value
        Of the expression that was asked for.
    said
        All that was shown.
    errors
        Of cells.
    restored
        Numbers of the cells that were restored, of the last run of each.
    """

    value: Any
    said: str
    errors: list[str]
    restored: list[int]


def run(
    folder: Path,
    cells: Sequence[str],
    ask: str,
    *,
    mode: str = "",
    rounds: int = 1,
    then: Sequence[str] = (),
    loaded: tuple[str, ...] = (),
) -> Answer:
    """Run cells in a new kernel, with the store in `folder`, and evaluate `ask` there.

    Parameters
    ----------
    mode
        `plain` without nbckpt; `skip` for `%nbckpt auto skip`; else only marked cells are kept.
    then
        The cells as they are afterwards, run once more in the same kernel.
    loaded
        Large libraries that are there before the notebook imports them.
    """
    return _answer(folder, [*[cells] * rounds, *([then] if then else [])], ask, mode, loaded)


def run_passes(
    folder: Path,
    *passes: Sequence[str],
    probe: str = "y",
    plain: bool = False,
    loaded: tuple[str, ...] = (),
) -> Answer:
    """Run notebooks after each other in one new kernel, with `%nbckpt auto skip`.

    Large libraries may be `loaded` there before the notebook imports them.

    The answer's value is the text of `probe`, or of the error that it ends with, which is
    evaluated in a cell of its own.
    """
    probing = f"__probe = 'not found'\n__probe = repr({probe})"
    rounds = [*passes[:-1], [*passes[-1], probing]]
    answer = _answer(folder, rounds, "__probe", "plain" if plain else "skip", loaded)
    place = len(passes[-1])
    failed = [error for error in answer.errors if error.startswith(f"{place}: ")]
    return answer._replace(
        value=failed[-1] if answer.value == "not found" else answer.value,
        restored=[number for number in answer.restored if number != place],
    )


def edited(cells: Sequence[str], old: str, new: str) -> list[str]:
    """The cells with one text replaced."""
    return [cell.replace(old, new) for cell in cells]


def restored_beside(
    files: Mapping[str, str],
    cells: Sequence[str],
    folder: Path,
    loaded: tuple[str, ...] = (),
) -> Answer:
    """A second run beside some modules, which gives what a plain one does; edited, it does, too.

    Each 5 becomes a 6 by the edit.
    """
    for place in (folder / "a", folder / "b"):
        place.mkdir()
        for name, text in files.items():
            (place / f"{name}.py").write_text(text)
    run = functools.partial(run_passes, loaded=loaded)
    run(folder / "a", cells)

    got = run(folder / "a", cells)
    other = run(folder / "a", edited(cells, "5", "6"))

    assert got.value == run(folder / "b", cells, plain=True).value
    assert other.value == run(folder / "b", edited(cells, "5", "6"), plain=True).value
    assert "Traceback" not in got.said + other.said
    return got


def _answer(
    folder: Path,
    rounds: Sequence[Sequence[str]],
    ask: str,
    mode: str,
    loaded: tuple[str, ...] = (),
) -> Answer:
    folder.mkdir(exist_ok=True)
    server = _server(loaded)
    server.ask.write(json.dumps([str(folder), rounds, ask, mode]) + "\n")
    server.ask.flush()
    answer = Answer(*json.loads(server.answer.readline()))
    assert answer.errors != ["crash"], answer.said
    return answer


_SHARED = (
    "pandas",
    "IPython.core.interactiveshell",
    "IPython.terminal.debugger",
    "nbckpt.jupyter.shell",
    "nbckpt.fingerprint.keys",
    "nbckpt.steps.restore.effects",
    "nbckpt.capture.observation.attachments",
    "nbckpt.capture.observation.files",
    "nbckpt.capture.observation.indirect_names",
    "nbckpt.capture.observation.shown_widgets",
    "nbckpt.capture.observation.process_state.reach",
    "nbckpt.steps.step",
)
"""What nearly every notebook imports: once for all of them."""


class _Server(NamedTuple):
    """The process that forks, and the two ends of it."""

    process: subprocess.Popen[str]
    ask: IO[str]
    answer: IO[str]


@functools.cache
def _server(loaded: tuple[str, ...]) -> _Server:
    """The process that forks, which ends when this one does."""
    reader, writer = os.pipe()
    command = [sys.executable, "-m", __name__, str(writer), *loaded]
    root = str(Path(nbckpt.__file__).parent.parent)
    started = subprocess.Popen(
        command, cwd=root, stdin=subprocess.PIPE, pass_fds=[writer], text=True
    )
    os.close(writer)
    assert started.stdin is not None
    return _Server(started, started.stdin, os.fdopen(reader))


def _serve(answers: int, *loaded: str) -> None:
    """Fork a process for each line that asks for one, and write what it answers."""
    sys.path[0] = ""  # a notebook's folder is on its path
    for module in (*_SHARED, *loaded):
        __import__(module)
    from nbckpt.capture.observation.libraries import Libraries

    Libraries({"__name__": "__main__"}).look()  # once, too
    while line := sys.stdin.readline():
        folder, rounds, ask, mode = json.loads(line)
        if (child := os.fork()) == 0:
            try:
                os.chdir(folder)
                answer = json.dumps(_run(rounds, ask, mode))
            except BaseException:
                answer = json.dumps(Answer(None, traceback.format_exc(), ["crash"], []))
            with os.fdopen(answers, "w") as pipe:
                pipe.write(f"{answer}\n")
            os._exit(0)
        if os.waitpid(child, 0)[1]:  # by a signal: nobody has answered
            crash = Answer(None, "it was ended by a signal", ["crash"], [])
            os.write(answers, f"{json.dumps(crash)}\n".encode())


def _run(rounds: Sequence[Sequence[str]], ask: str, mode: str) -> Answer:
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    os.environ["NBCKPT_STORE"] = ".nbckpt"
    os.environ["IPYTHONDIR"] = str(Path(".ipython").resolve())
    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "nocolor"
    InteractiveShell.clear_instance()
    setattr(InteractiveShell, "enable_gui", lambda *_: None)  # noqa: B010  # a terminal's or a kernel's has one
    shell: Any = InteractiveShell.instance(config=config)
    said, errors, restored = io.StringIO(), [], set()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        if mode != "plain":
            shell.run_line_magic("load_ext", "nbckpt")
        if mode == "skip":
            shell.run_cell("%nbckpt auto skip")
        for cells in rounds:
            for place, cell in enumerate(cells):
                head = f"%%checkpoint c{place}\n" if mode == "" else ""
                source = head + cell[len(MARK) :] if cell.startswith(MARK) else cell
                done = shell.run_cell(source, cell_id=f"c{place}", store_history=True)
                if error := done.error_in_exec or done.error_before_exec:
                    errors.append(f"{place}: {error!r}")
                restored.discard(place)
                if mode != "plain" and _is_restored(place):
                    restored.add(place)
    value = eval(ask, shell.user_ns)
    if mode != "plain":
        from nbckpt.steps import current_session

        current_session.session().wait()
    return Answer(value, said.getvalue(), errors, sorted(restored))


def _is_restored(place: int) -> bool:
    from nbckpt.steps import current_session
    from nbckpt.steps.execution.step_state import StepState

    steps = current_session.session().state(StepState).latest
    step = steps.get(f"c{place}") or steps.get(f"cell-c{place}")
    return step is not None and not step.todo


if __name__ == "__main__":
    _serve(int(sys.argv[1]), *sys.argv[2:])
