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


def repaired(shell: Any, *arguments: str, **environment: str) -> str:
    """What a repair says that takes all out."""
    ended(shell)
    done = check("--repair", *arguments, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("n", [3, 70])
def test_what_comes_after_many_checkpoints_resumes(shell: Any, n: int) -> None:
    run(shell, f"{CELLS['value']}\ny = 5")
    for i in range(n):
        shell.user_ns["i"] = [i]
        current_session.session().checkpoint(f"c{i}")
    repaired(shell)

    run(shell, "%resume")

    assert (shell.user_ns["y"], shell.user_ns["n"], shell.user_ns["i"]) == (5, 2, [n - 1])
    assert "k" not in shell.user_ns
    run(shell, "%rewind c1")
    assert shell.user_ns["i"] == [1]


LOOP = (
    "%%checkpoint loop\nimport nbckpt\nseen = {}\nfor i in nbckpt.track(range(6)):\n"
    "    if i == FAILS: raise ValueError(i)\n    seen[i] = k if i == 2 else i"
)


def test_a_loop_begins_anew_without_what_it_had_made(shell: Any) -> None:
    run(shell, CELLS["value"])
    shell.user_ns["FAILS"] = 4
    shell.run_cell(LOOP, store_history=True)
    assert "the progress of 'loop'" in repaired(shell)

    run(shell, "%resume")
    shell.user_ns["FAILS"] = -1
    run(shell, LOOP)

    assert shell.user_ns["seen"] == {**dict(enumerate(range(6))), 2: SECRET}


def test_what_a_tracked_loop_made_is_made_again(shell: Any) -> None:
    run(shell, CELLS["value"])
    run(shell, LOOP.replace("FAILS", "-1"))
    repaired(shell)

    run(shell, "%resume")
    run(shell, "%%checkpoint more\nz = dict(seen)")

    assert shell.user_ns["z"] == {**dict(enumerate(range(6))), 2: SECRET}


def test_a_secret_that_occurs_in_a_digest_takes_nothing(shell: Any) -> None:
    run(shell, "%%checkpoint a\ny = [1, 2, 3]")
    session = current_session.session()
    blob = session.timeline.manifest(session.position.id)["y"].blob
    told = repaired(shell, secret=blob[8:24])

    assert told == "no secrets found\n"
    run(shell, "%resume")
    assert shell.user_ns["y"] == [1, 2, 3]


def test_a_damaged_store_is_left_as_it_is_and_said(shell: Any) -> None:
    run(shell, CELLS["value"])
    run(shell, "%%checkpoint large\nlarge = list(range(100_000))")
    ended(shell)
    (pack,) = Path(".nbckpt", "packs").glob("*.pack")
    data = bytearray(pack.read_bytes())
    data[len(data) // 2] ^= 1
    pack.write_bytes(data)

    done = check("--repair")

    assert done.returncode == 3
    assert "left: variable 'k' of checkpoint 'value'" in done.stdout
    assert "what is damaged was left as it is: `nbckpt check` lists it" in done.stdout
    run(shell, "%rewind value")
    assert shell.user_ns["k"] == SECRET


def test_the_data_of_a_question_goes(shell: Any) -> None:
    run(shell, CELLS["value"])
    shell.run_cell("%%checkpoint ask\nnbckpt.approve('so?', [k, 1], timeout_s=0)\nr = 1")
    run(shell, "import nbckpt")
    shell.run_cell("%%checkpoint ask\nnbckpt.approve('so?', [k, 1], timeout_s=0)\nr = 1")

    assert "the data of a question of 'ask'" in repaired(shell)
    assert holding(Path(".nbckpt"), SECRET) == set()


def test_of_several_results_of_a_map_the_others_stay(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = (
        "%%checkpoint items\nimport json, nbckpt\n"
        "def work(i):\n    json.RAN.append(i)\n    return [i, k if i == 3 else '']\n"
        "w = [i for i, _ in nbckpt.map(work, range(9))]\nif STOPS: raise ValueError"
    )
    run(shell, CELLS["value"])
    monkeypatch.setattr(json, "RAN", [], raising=False)
    shell.user_ns["STOPS"] = True
    shell.run_cell(cell, store_history=True)
    assert "1 kept result of 'items'" in repaired(shell)

    run(shell, "%resume")
    run(shell, "k = 'zq8f-' + 'Lk2vN0xTe5uWb7c'")
    shell.user_ns["STOPS"] = False
    assert list(range(9)) == json.RAN  # type: ignore[attr-defined]
    run(shell, cell)

    assert [*range(9), 3] == json.RAN  # type: ignore[attr-defined]


def test_secrets_within_one_another_leave_nothing(shell: Any) -> None:
    inner, outer = "aB3dE5gH7j", "x9Y8z7W6aB3dE5gH7jK1l2M3n4"
    run(shell, f"%%checkpoint a\ny = 2  # {outer}")
    ended(shell)
    done = subprocess.run(
        [sys.executable, "-m", "nbckpt", "check", "--secrets", "--repair"],
        env={**environment_of_tests(), "A_TOKEN": inner, "B_TOKEN": outer},
        check=False,
    )

    assert done.returncode == 0
    assert holding(Path(".nbckpt"), "x9Y8z7W6", "K1l2M3n4") == set()


@pytest.mark.parametrize(
    "secret", ['zq8f-Lk2"vN0xTe5uWb7c', "zq8f-Lk2\\\\vN0xTe5u", "zq8f-Läk2vN0xTe5u"]
)
def test_a_secret_goes_that_json_writes_in_another_way(shell: Any, secret: str) -> None:
    run(shell, f"%%checkpoint a\nk = {secret!r} + ''\nprint({{'k': k}}, [k])\ny = 1")
    repaired(shell, secret=secret)

    forms = (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    assert holding(Path(".nbckpt"), *forms) == set()
    run(shell, "%resume")
    assert shell.user_ns["y"] == 1
