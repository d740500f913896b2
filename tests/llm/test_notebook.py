"""Model calls of cells: in a real shell, and in real kernels that are killed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbckpt.testing import Provider
from tests.jupyter.test_cells import restart, run
from tests.kernels import Kernel
from tests.llm.surviving import survived

SETUP = """
import httpx, os
def ask(prompt):
    said = {"model": "m", "messages": [{"role": "user", "content": str(prompt)}]}
    answer = httpx.post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json=said, timeout=60)
    return answer.json()["choices"][0]["message"]["content"]
"""


@pytest.fixture
def asking(shell: Any, provider: Provider) -> Any:
    """A shell whose cells can ask."""
    assert run(shell, SETUP).success
    return shell


@pytest.mark.slow
def test_a_cell_that_failed_pays_for_what_is_left(asking: Any, provider: Provider) -> None:
    asking.user_ns["last"] = 30
    cell = (
        "%%checkpoint ask\nanswers = []\nfor n in range(50):\n"
        "    if n == 31 and {}: raise ValueError(n)\n    answers.append(ask(n))"
    )
    assert not run(asking, cell.format("True")).success
    paid = provider.answered
    restart(asking)
    run(asking, SETUP)

    assert run(asking, cell.format("False")).success

    assert paid == 31
    assert provider.answered == 50
    assert len(set(asking.user_ns["answers"])) == 50


@pytest.mark.slow
def test_an_edited_cell_pays_for_what_it_asks_anew(asking: Any, provider: Provider) -> None:
    run(asking, "%%checkpoint ask\na = ask('one'); b = ask('two')")
    first = asking.user_ns["b"]

    run(asking, "%%checkpoint ask\na = ask('uno'); b = ask('two'); c = b.upper()")

    assert asking.user_ns["b"] == first
    assert provider.answered == 3


def test_a_plain_cell_asks_each_time(asking: Any, provider: Provider) -> None:
    for _ in range(2):
        run(asking, "a = ask('one')")

    assert provider.answered == 2


@pytest.mark.slow
def test_an_automatic_cell_is_a_step_too(asking: Any, provider: Provider) -> None:
    run(asking, "%nbckpt auto on")
    run(asking, "a = ask('one')\nraise ValueError", "cell-1")

    run(asking, "a = ask('one')\nb = ask('two')", "cell-1")

    assert provider.answered == 2


@pytest.mark.slow
def test_a_block_is_a_step_of_its_own_inside_a_cell(asking: Any, provider: Provider) -> None:
    block = "%%checkpoint cell\nimport nbckpt\na = ask('one')\nwith nbckpt.checkpoint('inner'):\n    b = ask('one')\n{}c = ask('one')"
    run(asking, block.format("raise ValueError\n"))
    first = asking.user_ns["a"]

    assert run(asking, block.format("")).success

    names = asking.user_ns
    assert names["a"] == first
    assert len({names["a"], names["b"], names["c"]}) == 3
    assert provider.answered == 3


@pytest.mark.slow
def test_a_fork_pays_only_for_what_differs(asking: Any, provider: Provider) -> None:
    run(asking, "%%checkpoint template\ntemplate = 'sum up {}'")
    run(asking, "%%checkpoint facts\nfacts = [ask(n) for n in range(3)]")
    run(asking, "%%checkpoint sums\nsums = [ask(template.format(n)) for n in range(3)]")
    run(asking, "%%checkpoint same\nsame = ask('unchanged')\nlast = same + sums[0]")
    assert provider.answered == 7

    assert run(asking, "%fork template other template='in short: {}'").success
    assert run(asking, "%rerun").success

    assert provider.answered == 10
    assert asking.user_ns["last"].startswith(asking.user_ns["same"])


@pytest.mark.slow
def test_a_fork_at_step_3_of_5_asks_for_steps_3_to_5_alone(asking: Any, provider: Provider) -> None:
    run(asking, "%%checkpoint one\none = ask('one')\ntemplate = 'sum up {}'")
    run(asking, "%%checkpoint two\ntwo = [ask(f'{n}: {one}') for n in range(2)]")
    run(asking, "%%checkpoint three\nthree = [ask(template.format(text)) for text in two]")
    run(asking, "%%checkpoint four\nfour = ask(' '.join(three))")
    run(asking, "%%checkpoint five\nfive = ask(four)")
    assert provider.answered == 7
    before = [asking.user_ns[name] for name in ("one", "two")]

    assert run(asking, "%fork two other template='in short: {}'").success
    assert run(asking, "%rerun").success

    assert provider.answered == 7 + 2 + 1 + 1
    assert [asking.user_ns[name] for name in ("one", "two")] == before
    assert run(asking, "%rerun one --all").success
    assert provider.answered == 11


@pytest.mark.slow
def test_a_fresh_rerun_pays_for_all_and_one_of_everything_for_nothing(
    asking: Any, provider: Provider
) -> None:
    run(asking, "%%checkpoint start\nx = 1")
    run(asking, "%%checkpoint ask\na = ask('one')")
    first = asking.user_ns["a"]

    run(asking, "%rerun start --all")
    assert (provider.answered, asking.user_ns["a"]) == (1, first)
    run(asking, "%rerun start --fresh")
    anew = asking.user_ns["a"]
    run(asking, "%rerun start --all")

    assert provider.answered == 2
    assert first != anew == asking.user_ns["a"]
    rows = asking.user_ns["get_ipython"]().run_line_magic("nbckpt", "sql from recordings")
    assert len(rows.fetchall()) == 2


@pytest.mark.slow
def test_a_stepping_cell_with_a_rewind_in_it_ends_as_a_step(
    asking: Any, provider: Provider
) -> None:
    run(asking, "%%checkpoint start\nx = 1")
    run(asking, "%%checkpoint odd\nimport nbckpt\na = ask('one')\nnbckpt.rewind('start')")

    run(asking, "b = ask('one')")  # a plain cell: no step is running

    assert provider.answered == 2


@pytest.mark.slow
def test_a_killed_kernel_pays_for_what_was_in_flight_only(
    tmp_path: Path, provider: Provider
) -> None:
    cell = "%%checkpoint ask\nanswers = [ask(n) for n in range(20)]"
    provider.slow(first_s=0.03)
    kills = 3
    begin = ("%load_ext nbckpt", SETUP)
    with survived(tmp_path, provider, begin, cell, kills=kills, answers=4) as kernel:
        assert kernel.value("len(set(answers))") == "20"

    assert 20 <= provider.answered <= 20 + kills


@pytest.mark.slow
def test_clients_made_before_the_extension_and_libraries_imported_later_are_seen(
    tmp_path: Path, provider: Provider
) -> None:
    with Kernel(tmp_path) as kernel:
        kernel.run("import openai; early = openai.OpenAI()")
        assert kernel.run("%load_ext nbckpt").ok
        assert kernel.value("'httpx' in __import__('sys').modules") == "False"
        body = "%%checkpoint a\nimport ollama\nsaid = [{'role': 'user', 'content': 'hi'}]\n"
        body += "one = early.chat.completions.create(model='m', messages=said).id\n"
        body += "two = ollama.Client().chat(model='m', messages=said).message.content\n"
        assert not kernel.run(body + "raise ValueError").ok
        assert kernel.run(body).ok

    assert provider.answered == 2


@pytest.mark.slow
def test_samples_of_a_tracked_loop_go_on_with_the_next_one(asking: Any, provider: Provider) -> None:
    cell = (
        "import nbckpt, os, time\nwith nbckpt.checkpoint('samples') as step:\n    samples = []\n"
        "    for n in step.track(range(10)):\n"
        "        if n == 6 and not os.path.exists('well'): raise ValueError(n)\n"
        "        samples.append(ask('the same'))\n        time.sleep(0.05)"
    )
    assert not run(asking, cell).success
    assert provider.answered == 6
    restart(asking)
    run(asking, SETUP)
    Path("well").touch()

    assert run(asking, cell).success

    went_on = "select count(*) from events where event = 'continued'"
    rows = asking.run_line_magic("nbckpt", f"sql {went_on}").fetchall()
    assert rows == [(1,)]
    assert len(set(asking.user_ns["samples"])) == 10
    assert provider.answered == 10


HOLDERS = {
    "anthropic": (
        "from anthropic import Anthropic",
        "Anthropic()",
        "client.messages.create(model='m', max_tokens=9, messages=said).content[0].text",
    ),
    "genai": (
        "from google import genai",
        "genai.Client()",
        "client.models.generate_content(model='gemini-2.5-flash', contents='hi').text",
    ),
    "httpx": (
        "import httpx, os",
        "httpx.Client()",
        "client.post(os.environ['OPENAI_BASE_URL'] + '/chat/completions', json=asked).text",
    ),
    "httpx2": (
        "import httpx2, os",
        "httpx2.Client()",
        "client.post(os.environ['OPENAI_BASE_URL'] + '/chat/completions', json=asked).text",
    ),
    "ollama": (
        "import ollama",
        "ollama.Client()",
        "client.chat(model='m', messages=said).message.content",
    ),
    "openai": (
        "from openai import OpenAI",
        "OpenAI()",
        "client.chat.completions.create(**asked).choices[0].message.content",
    ),
    "requests": (
        "import requests, os",
        "requests.Session()",
        "client.post(os.environ['OPENAI_BASE_URL'] + '/chat/completions', json=asked).text",
    ),
}
"""Library → its import, its client, and a question to it."""


@pytest.mark.slow
@pytest.mark.parametrize("library", sorted(HOLDERS))
def test_an_object_that_holds_a_client_is_kept_after_it_has_asked(
    library: str, shell: Any, provider: Provider, capsys: pytest.CaptureFixture[str]
) -> None:
    imports, client, question = HOLDERS[library]
    define = (
        f"{imports}\nclass Chat:\n    def __init__(self):\n"
        f"        self.client = {client}\n        self.told = []\n"
        "    def ask(self):\n        client = self.client\n"
        "        said = [{'role': 'user', 'content': 'hi'}]\n"
        "        asked = {'model': 'm', 'messages': said}\n"
        f"        self.told.append({question})"
    )
    begin = "%%checkpoint begin\nchat = Chat()\nchat.ask()"
    run(shell, define)
    assert run(shell, begin).success
    told = shell.user_ns["chat"].told
    restart(shell)
    run(shell, define)
    capsys.readouterr()

    assert run(shell, begin).success

    assert "restored 'begin'" in (said := capsys.readouterr().out)
    assert "not kept" not in said
    assert run(shell, "chat.ask()").success
    assert shell.user_ns["chat"].told[:1] == told
    assert provider.answered == 2


@pytest.mark.slow
def test_an_object_that_holds_an_asynchronous_client_is_kept_after_it_has_asked(
    tmp_path: Path, provider: Provider
) -> None:
    define = (
        "from openai import AsyncOpenAI\nclass Chat:\n    def __init__(self):\n"
        "        self.client = AsyncOpenAI()\n    async def ask(self):\n"
        "        said = [{'role': 'user', 'content': 'hi'}]\n"
        "        return await self.client.chat.completions.create(model='m', messages=said)"
    )
    begin = "%%checkpoint begin\nchat = Chat()\nfirst = (await chat.ask()).id"
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run(define)
        assert kernel.run(begin).ok
        first = kernel.value("first")
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run(define)

        said = kernel.run(begin).notices

        assert any("restored 'begin'" in notice for notice in said), said
        assert not any("not kept" in notice for notice in said)
        assert kernel.value("first") == first
        assert kernel.run("second = await chat.ask()").ok
    assert provider.answered == 2
