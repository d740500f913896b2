"""`nbckpt.track` in an ordinary cell, and in a script outside of blocks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbckpt.errors import UsageError
from nbckpt.llm import scope
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.steps.calls.occurrences import running_step
from nbckpt.storage.store import Store
from nbckpt.testing import Provider
from tests.jupyter.test_cells import restart, run
from tests.kernels import Kernel
from tests.llm.asking import records_of
from tests.llm.surviving import output_of_second_run, survived
from tests.notebooks import define

SETUP = """
import asyncio, openai, nbckpt
client = openai.OpenAI(max_retries=0)
def ask(prompt):
    asked = [{"role": "user", "content": str(prompt)}]
    return client.chat.completions.create(model="m", messages=asked).choices[0].message.content
def stream(prompt):
    asked = [{"role": "user", "content": str(prompt)}]
    events = client.chat.completions.create(model="m", messages=asked, stream=True)
    return "".join(e.choices[0].delta.content or "" for e in events)
docs = [f"document {n}" for n in range(12)]
"""


class Script:
    """A session without a shell: what runs in it is one script."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.open()

    def open(self) -> None:
        namespace: dict[str, Any] = {"__name__": "__main__"}
        self.store = Store.open(self._folder / ".nbckpt")
        self.session = current_session.begin(Session(self.store, namespace, notebook="test"))
        self.run(SETUP)

    def run(self, source: str) -> None:
        define(source, self.session.namespace)

    def value(self, name: str) -> Any:
        return self.session.namespace[name]

    def restart(self) -> None:
        self.close()
        self.open()

    def close(self) -> None:
        current_session.end()
        self.store.close()


@pytest.fixture
def script(tmp_path: Path, provider: Provider) -> Iterator[Script]:
    script = Script(tmp_path)
    yield script
    script.close()


# -- deaths


@pytest.mark.slow
@pytest.mark.parametrize("how", ["ask", "stream"])
def test_a_killed_cell_pays_for_what_was_in_flight_alone(
    tmp_path: Path, provider: Provider, how: str
) -> None:
    provider.slow(first_s=0.03)
    cell = f"answers = []\nfor d in nbckpt.track(docs):\n    answers.append({how}(d))\nlen(answers)"
    before = ["%load_ext nbckpt", SETUP]

    with survived(tmp_path, provider, before, cell, kills=2, answers=4) as kernel:
        assert kernel.value("len(set(answers))") == "12"

    assert 12 <= provider.answered <= 12 + 2


@pytest.mark.slow
def test_samples_stay_samples_over_a_death(tmp_path: Path, provider: Provider) -> None:
    provider.slow(first_s=0.03)
    cell = (
        "texts = []\nfor n in nbckpt.track([1, 1, 2, 3]):\n"
        "    texts.append([ask('a number') for _ in range(3)])\n"
    )
    with survived(tmp_path, provider, ["%load_ext nbckpt", SETUP], cell, kills=1, answers=5) as k:
        texts = k.value("texts")
        assert k.value("len({t for three in texts for t in three})") == "12"
    with Kernel(tmp_path) as kernel:
        for source in ("%load_ext nbckpt", SETUP, cell):
            assert kernel.run(source).ok
        assert kernel.value("texts") == texts

    assert 12 <= provider.answered <= 12 + 1


@pytest.mark.slow
def test_a_script_that_is_killed_pays_the_rest_alone(provider: Provider, tmp_path: Path) -> None:
    script = (
        "import nbckpt, os, signal\nnbckpt.open('.nbckpt', namespace=globals())\n"
        f"{SETUP}\nmade = []\ndef main():\n    for d in nbckpt.track(docs):\n"
        "        if d == docs[5] and not os.path.exists('go'):\n"
        "            open('go', 'w').close(); os.kill(os.getpid(), signal.SIGKILL)\n"
        "        made.append(ask(d))\nmain()\nprint(len(set(made)))\nnbckpt.wait()"
    )
    told = output_of_second_run(script, tmp_path, provider)

    assert told.split()[-1] == "12"
    assert provider.answered == 12


# -- which call is which


@pytest.mark.slow
def test_a_new_item_and_another_order_shift_nothing(script: Script, provider: Provider) -> None:
    loop = "texts = {{}}\nfor n in nbckpt.track({}):\n    texts[n] = ask('a number')"
    script.run(loop.format([1, 2, 3]))
    first = script.value("texts")
    script.restart()

    script.run(loop.format([9, 3, 1, 2]))

    again = script.value("texts")
    assert {n: again[n] for n in first} == first
    assert again[9] not in first.values()
    assert provider.answered == 4


@pytest.mark.slow
def test_two_loops_of_one_script_have_samples_of_their_own(
    script: Script, provider: Provider
) -> None:
    loops = "texts = []\nfor _ in range(2):\n    for n in nbckpt.track([1, 2]):\n        texts.append(ask('x'))"
    script.run(loops)
    first = script.value("texts")
    script.restart()
    script.run(loops)

    assert script.value("texts") == first
    assert len(set(first)) == provider.answered == 4


@pytest.mark.slow
def test_loops_of_two_tasks_at_once_have_samples_of_their_own(
    script: Script, provider: Provider
) -> None:
    tasks = (
        "async def one(aclient, texts, pauses):\n"
        "    async for n in nbckpt.track([1, 2, 3]):\n"
        "        await asyncio.sleep(pauses)\n"
        "        asked = [{{'role': 'user', 'content': 'a number'}}]\n"
        "        answer = await aclient.chat.completions.create(model='m', messages=asked)\n"
        "        texts.append(answer.choices[0].message.content)\n"
        "a, b = [], []\nasync def go():\n"
        "    async with openai.AsyncOpenAI(max_retries=0) as c:\n"
        "        await asyncio.gather(one(c, a, {}), one(c, b, {}))\n"
        "asyncio.run(go())"
    )
    script.run(tasks.format(0.0, 0.02))
    first = script.value("a"), script.value("b")
    script.restart()
    script.run(tasks.format(0.02, 0.0))

    assert (script.value("a"), script.value("b")) == first
    assert len({*first[0], *first[1]}) == provider.answered == 6


def test_cells_with_other_code_have_samples_of_their_own(shell: Any, provider: Provider) -> None:
    first = "a = []\nfor d in nbckpt.track(docs[:3]):\n    a.append(ask('x'))"
    second = "b = []\nfor d in nbckpt.track(docs[:3]):\n    print(d)\n    b.append(ask('x'))"
    for cell in (SETUP, first, second):
        assert run(shell, cell).success
    made = [shell.user_ns["a"], shell.user_ns["b"]]
    restart(shell)
    for cell in (SETUP, first, second):
        assert run(shell, cell).success

    assert [shell.user_ns["a"], shell.user_ns["b"]] == made
    assert len({*made[0], *made[1]}) == provider.answered == 6


def test_an_edited_cell_pays_for_nothing_again(shell: Any, provider: Provider) -> None:
    cell = "a = []\nfor d in nbckpt.track(docs):\n    a.append(ask(d))\n    if d == docs[4] and {}: raise ValueError"
    assert run(shell, SETUP).success
    assert not run(shell, cell.format(True)).success
    assert provider.answered == 5

    assert run(shell, cell.format(False)).success

    assert provider.answered == len(set(shell.user_ns["a"])) == 12


def test_its_step_is_named_after_its_items_and_its_cell(shell: Any, provider: Provider) -> None:
    assert run(shell, SETUP).success
    assert run(shell, "for d in nbckpt.track(docs): ask(d)").success

    [step] = {r["step"] for r in records_of(current_session.session())}

    assert step.startswith("track docs in cell ")
    [event] = [
        e for e in records_of(current_session.session(), "event") if e["event"] == "model_calls"
    ]
    assert event["recorded"] == 12


# -- what may stand in it


@pytest.mark.slow
def test_calls_of_a_loop_inside_belong_to_the_outer_item(
    script: Script, provider: Provider
) -> None:
    loops = (
        "texts = {{}}\nfor n in nbckpt.track({}):\n    for m in nbckpt.track([1, 2]):\n"
        "        texts[n, m] = ask('x')"
    )
    script.run(loops.format([1, 2]))
    first = script.value("texts")
    script.restart()
    script.run(loops.format([2, 1]))

    assert script.value("texts") == first
    assert len(set(first.values())) == provider.answered == 4


@pytest.mark.slow
def test_maps_kept_calls_and_values_are_found_again(script: Script, provider: Provider) -> None:
    loop = (
        "@nbckpt.step\ndef kept(n): return ask('x')\n"
        "made = []\nfor n in nbckpt.track([1, 2]):\n"
        "    made.append([kept(0), nbckpt.uuid(), *nbckpt.map(lambda m: ask('y'), [1, 2], workers=2)])"
    )
    script.run(loop)
    made = script.value("made")
    script.restart()
    script.run(loop)

    assert script.value("made") == made
    assert len({x for row in made for x in row}) == 8
    assert provider.answered == 6


def test_a_block_in_it_is_a_step(script: Script) -> None:
    script.run(
        "made = []\nfor n in nbckpt.track([1, 2]):\n    with nbckpt.checkpoint('one') as step:\n"
        "        if step.todo:\n            for m in step.track([n]): made.append(m)"
    )

    assert script.value("made") == [1, 2]
    assert [c.name for c in script.session.timeline.checkpoints.values()].count("one") >= 1


@pytest.mark.parametrize(
    ("body", "error"),
    [("if n == 2: break", None), ("if n == 2: raise ValueError", ValueError), ("pass", None)],
)
def test_nothing_of_it_is_left_however_it_is_left(
    script: Script, body: str, error: type[Exception] | None
) -> None:
    loop = f"for n in nbckpt.track([1, 2, 3]):\n    {body}"
    if error is None:
        script.run(loop)
    else:
        with pytest.raises(error):
            script.run(loop)

    assert running_step(script.session) is None
    assert scope.here().scope is None


def test_an_iterator_that_outlives_its_cell_has_no_part_in_later_ones(
    shell: Any, provider: Provider
) -> None:
    for cell in (SETUP, "it = iter(nbckpt.track(docs))\nask(next(it))"):
        assert run(shell, cell).success
    assert running_step(current_session.session()) is None
    assert scope.here().scope is None

    assert run(shell, "ask(next(it))").success

    assert scope.here().scope is None
    assert len(records_of(current_session.session())) == 1


@pytest.mark.parametrize(
    ("given", "why"),
    [("3", "int is not iterable"), ("[1], key='id'", "key is 'id'; it is a function")],
)
def test_what_means_nothing_is_refused(script: Script, given: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        script.run(f"for n in nbckpt.track({given}): pass")
    assert running_step(script.session) is None


def test_without_a_store_it_says_what_to_do() -> None:
    import nbckpt

    with pytest.raises(UsageError, match=r"no store is open: run `%load_ext nbckpt`"):
        nbckpt.track([1])
