"""Model calls inside of `@nbckpt.step`, called in a cell that is not kept, or in a script."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbckpt.testing import Provider
from tests.llm.surviving import output_of_second_run
from tests.notebooks import restart

STEP = """
import nbckpt, openai
@nbckpt.step
def summaries(docs, dies=False):
    made = []
    with openai.OpenAI(max_retries=0) as client:
        for n, doc in enumerate(docs):
            if dies_at(n): raise InterruptedError
            said = [{'role': 'user', 'content': doc}]
            answer = client.chat.completions.create(model='m', messages=said)
            made.append(answer.choices[0].message.content)
    return made
"""
DIES = "import os\ndef dies_at(n): return n == 5 and not os.path.exists('go')"
DOCS = [f"doc {n}" for n in range(10)]


def test_what_was_paid_before_an_error_is_not_paid_again(
    shell: Any, provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shell.run_cell(DIES)
    shell.run_cell(STEP)
    failed = shell.run_cell(f"made = summaries({DOCS})")
    assert isinstance(failed.error_in_exec, InterruptedError)
    assert provider.answered == 5
    Path("go").touch()

    shell.run_cell(f"made = summaries({DOCS})").raise_error()

    assert len(set(shell.user_ns["made"])) == provider.answered == 10


def test_nor_after_a_restart(
    shell: Any, provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cells = (DIES, STEP, f"made = summaries({DOCS})")
    for cell in cells:
        shell.run_cell(cell)
    Path("go").touch()
    restart(shell)
    for cell in cells:
        shell.run_cell(cell).raise_error()

    assert len(set(shell.user_ns["made"])) == provider.answered == 10


def test_equal_calls_of_two_calls_are_samples(shell: Any, provider: Provider) -> None:
    shell.run_cell(
        "import nbckpt, openai\n@nbckpt.step\ndef asked(n):\n    with openai.OpenAI() as client:\n"
        "        said = [{'role': 'user', 'content': 'hi'}]\n"
        "        return client.chat.completions.create(model='m', messages=said)"
        ".choices[0].message.content"
    ).raise_error()

    shell.run_cell("first = [asked(1), asked(2), asked(1)]").raise_error()
    shell.run_cell("again = [asked(1), asked(2), asked(1)]").raise_error()

    assert len(set(shell.user_ns["first"])) == provider.answered == 3
    assert shell.user_ns["again"] == shell.user_ns["first"]


THREADS = """
from concurrent.futures import ThreadPoolExecutor
import nbckpt, openai
client = openai.OpenAI(max_retries=0)
def ask(text):
    said = [{'role': 'user', 'content': text}]
    return client.chat.completions.create(model='m', messages=said).choices[0].message.content
@nbckpt.step
def answers(name, fails=False):
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(ask, [f'{name} {n}' for n in range(5)]))
    if fails_now(): raise InterruptedError
    return made
"""


def test_threads_of_the_only_call_in_work_are_of_it(
    shell: Any, provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shell.run_cell("import os\ndef fails_now(): return not os.path.exists('go')").raise_error()
    shell.run_cell(THREADS).raise_error()
    assert isinstance(shell.run_cell("answers('a')").error_in_exec, InterruptedError)
    Path("go").touch()

    shell.run_cell("made = answers('a')").raise_error()
    shell.run_cell("ask('outside'); ask('outside')").raise_error()

    assert len(set(shell.user_ns["made"])) == 5
    assert provider.answered == 5 + 2


@pytest.mark.slow
def test_a_script_that_is_killed_pays_the_rest_alone(provider: Provider, tmp_path: Path) -> None:
    dies = "import os, signal\ndef dies_at(n): n == 5 and not os.path.exists('go') and kill()\n"
    dies += "def kill(): open('go', 'w').close(); os.kill(os.getpid(), signal.SIGKILL)"
    begin = "import nbckpt\nnbckpt.open('.nbckpt', namespace=globals())"
    script = f"{begin}\n{dies}\n{STEP}\nprint(len(set(summaries({DOCS}))))\nnbckpt.wait()"
    told = output_of_second_run(script, tmp_path, provider)

    assert told.split()[-1] == "10"
    assert provider.answered == 10
