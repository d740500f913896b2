"""Which notebook a session is of, as each front end tells it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from nbckpt.jupyter.shell import notebook_of
from nbckpt.steps import current_session
from tests.notebooks import restart, run

NAMES = ("NBCKPT_NOTEBOOK", "JPY_SESSION_NAME", "DATABRICKS_RUNTIME_VERSION")


def dbutils(path: str) -> Any:
    context = SimpleNamespace(notebookPath=lambda: SimpleNamespace(get=lambda: path))
    tools = SimpleNamespace(notebook=lambda: SimpleNamespace(getContext=lambda: context))
    return SimpleNamespace(
        notebook=SimpleNamespace(entry_point=SimpleNamespace(getDbutils=lambda: tools))
    )


TOLD: dict[str, tuple[dict[str, str], dict[str, object], str]] = {
    "Jupyter's server": ({"JPY_SESSION_NAME": "/home/a/Train model.ipynb"}, {}, "Train model"),
    "VS Code": ({}, {"__vsc_ipynb_file__": "/home/a/train.ipynb"}, "train"),
    "VS Code, with a kernel of a server": (
        {"JPY_SESSION_NAME": "0f3a.ipynb"},
        {"__vsc_ipynb_file__": "/home/a/train.ipynb"},
        "train",
    ),
    "papermill": ({}, {"PAPERMILL_INPUT_PATH": "s3://bucket/a%20b.ipynb"}, "a b"),
    "Databricks": (
        {"DATABRICKS_RUNTIME_VERSION": "15.4"},
        {"dbutils": dbutils("/Users/a/train")},
        "train",
    ),
    "a job of Databricks": ({"DATABRICKS_RUNTIME_VERSION": "15.4"}, {"dbutils": object()}, ""),
    "the user": (
        {"NBCKPT_NOTEBOOK": "mine", "JPY_SESSION_NAME": "x.ipynb"},
        {"__vsc_ipynb_file__": "y.ipynb"},
        "mine",
    ),
    "nobody": ({}, {"__vsc_ipynb_file__": 5}, ""),
}


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("by", TOLD)
def test_a_notebook_has_the_name_that_is_told(by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    environment, namespace, name = TOLD[by]
    for key, value in environment.items():
        monkeypatch.setenv(key, value)

    assert notebook_of(namespace) == name


@pytest.mark.slow
def test_a_shell_of_nobody_says_whose_state_it_brings(
    shell: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JPY_SESSION_NAME", "/home/a/train.ipynb")
    restart(shell)
    assert current_session.session().notebook == "train"
    run(shell, "%%checkpoint one\nv = 1")

    monkeypatch.delenv("JPY_SESSION_NAME")
    restart(shell)
    capsys.readouterr()
    run(shell, "%resume")

    assert "resumed at 'one' of the notebook 'train'" in capsys.readouterr().out
    assert shell.user_ns["v"] == 1


@pytest.mark.slow
def test_of_ones_own_notebook_nothing_is_said(
    shell: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NBCKPT_NOTEBOOK", "mine")
    restart(shell)
    run(shell, "%%checkpoint one\nv = 1")
    restart(shell)
    run(shell, "%resume")

    assert "of the notebook" not in capsys.readouterr().out
