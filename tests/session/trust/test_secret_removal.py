"""`nbckpt check --secrets --repair`: what was written before it was known for a secret is gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from nbckpt.steps import current_session
from nbckpt.testing import Provider
from tests.notebooks import restart, run
from tests.running import environment as environment_of_tests
from tests.session.trust.holding import holding

SECRET = "zq8f-Lk2vN0xTe5uWb7c"

CELLS = {
    "text": f"%%checkpoint text\nx = 1  # {SECRET}",
    "value": "%%checkpoint value\nk = 'zq8f-' + 'Lk2vN0xTe5uWb7c'\nn = 2",
    "pair": "%%checkpoint pair\na = [k]\nb = {'a': a}\nc = 3",
    "table": "%%checkpoint table\nimport pandas as pd\nd = pd.DataFrame({'t': [k, 'b']})",
    "asked": "%%checkpoint asked\nimport nbckpt\n"
    "v = len(nbckpt.sql(\"from variable('d', 'table')\").fetchall())",
    "shown": "%%checkpoint shown\ny = 4\nprint('it is', k)\nk",
    "step": "%%checkpoint step\nimport nbckpt\n@nbckpt.step\ndef f(i): return [i, k]\nz = len(f(1))",
    "items": "%%checkpoint items\nw = len(nbckpt.map(lambda i: [i, k], [1, 2]))",
}


def check(*arguments: str, secret: str = SECRET) -> subprocess.CompletedProcess[str]:
    """`nbckpt check --secrets` in a process that has the secret in its environment."""
    return subprocess.run(
        [sys.executable, "-m", "nbckpt", "check", "--secrets", *arguments],
        env={**environment_of_tests(), "SERVICE_TOKEN": secret},
        capture_output=True,
        text=True,
        check=False,
    )


def ended(shell: Any) -> None:
    """End the session of a shell: nobody writes its store now."""
    session = current_session.session()
    restart(shell)
    session.store.close()


@pytest.mark.parametrize("last", CELLS, ids=CELLS)
def test_what_was_written_before_it_was_a_secret_is_gone_and_the_rest_is_there(
    shell: Any, last: str
) -> None:
    names = list(CELLS)[: list(CELLS).index(last) + 1]
    for name in names:
        run(shell, CELLS[name])
    ended(shell)
    assert holding(Path(".nbckpt"), SECRET)

    done = check("--repair", "--json")

    assert done.returncode == 0, done.stdout + done.stderr
    assert SECRET not in done.stdout + done.stderr
    assert holding(Path(".nbckpt"), SECRET) == set()
    assert json.loads(check("--json").stdout) == {"ok": True, "secrets": []}
    whole = [sys.executable, "-m", "nbckpt", "check"]
    assert subprocess.run(whole, env=environment_of_tests(), check=False).returncode == 0
    run(shell, "%resume")
    there = shell.user_ns
    assert there["x"] == 1
    assert "k" not in there
    kept = {"pair": ("c", 3), "shown": ("y", 4), "step": ("z", 2), "items": ("w", 2)}
    assert all(there[kept[name][0]] == kept[name][1] for name in names if name in kept)


def test_what_was_taken_out_is_made_again_by_its_cell(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("value", "pair"):
        run(shell, CELLS[name])
    ended(shell)
    assert check("--repair").returncode == 0

    run(shell, "%resume")
    run(shell, "%%checkpoint more\nm = [*a, n]")

    assert shell.user_ns["m"] == [SECRET, 2]
    assert shell.user_ns["b"]["a"] is shell.user_ns["a"]


def test_a_cell_whose_text_has_stars_is_not_run_again_by_itself(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, f"%%checkpoint made\nk = 'x' + {SECRET!r}\nn = 2")
    ended(shell)
    done = check("--repair")
    assert "taken out: variable 'k' of checkpoint 'made'" in done.stdout
    assert "stars: the text of the cell of checkpoint 'made'" in done.stdout

    run(shell, "%resume")
    capsys.readouterr()
    shell.run_cell("%%checkpoint more\nm = k", store_history=True)

    assert "m" not in shell.user_ns
    assert "a secret was taken out of 'made'" in "".join(capsys.readouterr())
    shell.run_cell("%rewind made", store_history=True)
    capsys.readouterr()
    run(shell, f"%%checkpoint made\nk = 'x' + {SECRET!r}\nn = 2")
    assert "restored 'made'" in capsys.readouterr().out
    run(shell, "%%checkpoint more\nm = k")
    assert shell.user_ns["m"] == f"x{SECRET}"


def test_what_has_stars_is_not_rerun(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(shell, "%%checkpoint before\nn = 1")
    run(shell, f"%%checkpoint made\nk = len({SECRET!r})")
    ended(shell)
    assert check("--repair").returncode == 0

    shell.run_cell("%rerun before", store_history=True)

    assert "a secret was taken out of 'made'" in "".join(capsys.readouterr())


def test_an_answer_has_stars_and_is_replayed(shell: Any) -> None:
    with Provider() as provider:
        asked_and_replayed(shell, provider)


def asked_and_replayed(shell: Any, provider: Provider) -> None:
    cell = (
        "%%checkpoint ask\nimport openai\n"
        f"client = openai.OpenAI(api_key='none', base_url={provider.url + '/v1'!r})\n"
        f"said = [{{'role': 'user', 'content': 'say zq8f-' + 'Lk2vN0xTe5uWb7c'}}]\n"
        "answer = client.chat.completions.create(model='m', messages=said)\n"
        "text = answer.choices[0].message.content\ndel said, answer, client\n"
    )
    run(shell, cell)
    text = shell.user_ns["text"]
    ended(shell)
    assert holding(Path(".nbckpt"), SECRET)

    assert check("--repair").returncode == 0

    assert holding(Path(".nbckpt"), SECRET) == set()
    sent = len(provider.requests)
    run(shell, cell)
    assert len(provider.requests) == sent
    assert shell.user_ns["text"] == text.replace(SECRET, "***")


def test_what_a_running_notebook_writes_is_left_and_told(shell: Any) -> None:
    run(shell, CELLS["value"])
    current_session.session().wait()

    done = check("--repair")

    assert done.returncode == 3
    assert "left: variable 'k' of checkpoint 'value'" in done.stdout
    assert "close the notebooks of this store" in done.stdout
    restart(shell)
    run(shell, "%resume")
    assert shell.user_ns["k"] == SECRET


@pytest.mark.slow
def test_killed_at_any_time_the_store_is_whole(shell: Any) -> None:
    for cell in CELLS.values():
        run(shell, cell)
    ended(shell)
    words = [sys.executable, "-m", "nbckpt", "check", "--secrets", "--repair"]
    env = {**environment_of_tests(), "SERVICE_TOKEN": SECRET}

    for wait_s in (0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        process = subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL)
        time.sleep(wait_s)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        whole = [sys.executable, "-m", "nbckpt", "check"]
        assert subprocess.run(whole, env=environment_of_tests(), check=False).returncode == 0

    assert check("--repair").returncode == 0
    assert holding(Path(".nbckpt"), SECRET) == set()
    run(shell, "%resume")
    assert (shell.user_ns["c"], shell.user_ns["y"], shell.user_ns["w"]) == (3, 4, 2)
