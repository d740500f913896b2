"""Model calls after edits around them: what was answered is paid once, and samples stay samples."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from nbckpt.steps import current_session
from nbckpt.testing import Provider
from tests.notebooks import restart

SETUP = """
import httpx, nbckpt
def ask(text, **more):
    asked = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
    said = httpx.post(f"{url}/v1/chat/completions", json=asked).json()
    return said["choices"][0]["message"]["content"]
"""
LOOP = "got = []\nfor i in range(5):\n    got.append(ask(f'q{i}'))"
SAMPLES = "got = []\nfor i in range(5):\n    got.append(ask('hi'))"
CALLS = "def one(text):\n    return ask(text)\ngot = [one(f'q{i}') for i in range(5)]"
STEPS = CALLS.replace("def", "@nbckpt.step\ndef", 1)


def named(name: str, source: str) -> str:
    return f"%%checkpoint {name}\n{source}"


def block(name: str, source: str) -> str:
    body = source.replace("\n", "\n    ")
    return f"with nbckpt.checkpoint({name!r}):\n    {body}"


def tracked(name: str) -> str:
    return (
        f"got = []\nwith nbckpt.checkpoint({name!r}) as step:\n"
        "    for i in step.track(range(5)):\n        got.append(ask(f'q{i}'))"
    )


Cell = str | tuple[str, str]
"""The source of a cell, and its id if it has one."""
EDITS: dict[str, tuple[list[Cell], list[Cell]]] = {
    "a line below the loop": (
        ["%nbckpt auto on", LOOP],
        ["%nbckpt auto on", f"{LOOP}\nn = len(got)"],
    ),
    "a line below the samples": (
        ["%nbckpt auto on", SAMPLES],
        ["%nbckpt auto on", f"{SAMPLES}\nn = len(got)"],
    ),
    "another id": ([("%%checkpoint\n" + LOOP, "one")], [("%%checkpoint\n" + LOOP, "two")]),
    "moved below another": (
        [named("a", LOOP), named("b", "x = ask('x')")],
        [named("b", "x = ask('x')"), named("a", LOOP)],
    ),
    "a step renamed": ([named("a", LOOP)], [named("b", LOOP)]),
    "samples renamed": ([named("a", SAMPLES)], [named("b", SAMPLES)]),
    "a block renamed": ([block("a", LOOP)], [block("b", LOOP)]),
    "a tracked loop renamed": ([tracked("a")], [tracked("b")]),
    "a cell to a block": ([named("a", LOOP)], [block("a", LOOP)]),
    "two cells merged": (
        [named("a", LOOP), named("b", "x = ask('x')")],
        [named("c", f"{LOOP}\nx = ask('x')")],
    ),
    "two cells merged under one's name": (
        [named("a", LOOP), named("b", "x = ask('x')")],
        [named("a", f"{LOOP}\nx = ask('x')")],
    ),
    "two cells that ask the same merged": (
        [named("a", "x = ask('hi')"), named("b", "y = ask('hi')")],
        [named("c", "x = ask('hi')\ny = ask('hi')")],
    ),
    "two cells that ask the same merged under one's name": (
        [named("a", "x = ask('hi')"), named("b", "y = ask('hi')")],
        [named("a", "x = ask('hi')\ny = ask('hi')")],
    ),
    "a cell split": (
        [named("a", f"x = ask('x')\n{LOOP}")],
        [named("a", "x = ask('x')"), named("b", LOOP)],
    ),
    "@nbckpt.step put on": ([named("a", CALLS)], [named("a", STEPS)]),
    "@nbckpt.step taken off": ([named("a", STEPS)], [named("a", CALLS)]),
    "@nbckpt.step renamed": ([named("a", STEPS)], [named("a", STEPS.replace("one", "other"))]),
    "an equal number": (
        [named("a", "x = ask('x', temperature=1)")],
        [named("a", "x = ask('x', temperature=1.0)")],
    ),
}


@pytest.fixture
def run(shell: Any, provider: Provider) -> Iterator[Callable[[Cell], None]]:
    def run(cell: Cell) -> None:
        source, cell_id = (cell, None) if isinstance(cell, str) else cell
        shell.run_cell(source, store_history=True, cell_id=cell_id).raise_error()

    shell.user_ns["url"] = provider.url
    run(SETUP)
    yield run
    current_session.session().wait()


@pytest.fixture
def begin_anew(shell: Any, provider: Provider, run: Callable[[Cell], None]) -> Callable[[], None]:
    def begin_anew() -> None:
        restart(shell)
        shell.user_ns["url"] = provider.url
        run(SETUP)

    return begin_anew


@pytest.mark.parametrize("restarts", [True, False], ids=["new kernel", "same kernel"])
@pytest.mark.parametrize(("before", "after"), EDITS.values(), ids=EDITS)
def test_an_edit_around_calls_pays_nothing(
    shell: Any,
    provider: Provider,
    run: Callable[[Cell], None],
    begin_anew: Callable[[], None],
    before: list[Cell],
    after: list[Cell],
    restarts: bool,
) -> None:
    for cell in before:
        run(cell)
    was = {n: shell.user_ns.get(n) for n in ("got", "x", "y")}
    paid = provider.answered
    if restarts:
        begin_anew()
    for cell in after:
        run(cell)

    assert provider.answered == paid
    assert {n: shell.user_ns.get(n) for n in was} == was


def test_samples_that_were_renamed_and_cut_short_go_on_with_their_own(
    shell: Any, provider: Provider, run: Callable[[Cell], None], begin_anew: Callable[[], None]
) -> None:
    run(named("a", SAMPLES))
    was = shell.user_ns["got"]
    begin_anew()
    cut = SAMPLES.replace("    got", "    if i == 3: raise KeyError\n    got")
    with pytest.raises(KeyError):
        run(named("b", cut))
    begin_anew()
    run(named("b", SAMPLES))

    assert shell.user_ns["got"] == was
    assert provider.answered == 5


def test_two_more_samples_of_a_step_that_was_renamed_are_new(
    shell: Any, provider: Provider, run: Callable[[Cell], None], begin_anew: Callable[[], None]
) -> None:
    run(named("a", SAMPLES))
    was = shell.user_ns["got"]
    begin_anew()
    for _ in range(2):
        run(named("b", SAMPLES.replace("5", "7")))
        assert shell.user_ns["got"][:5] == was
        assert len(set(shell.user_ns["got"])) == 7
        assert provider.answered == 7
        begin_anew()


OTHERS: dict[str, tuple[list[Cell], list[Cell], int]] = {
    "another cell that asks the same": ([named("a", SAMPLES)], [named("b", "x = ask('hi')")], 1),
    "more samples of a step beside another's": (
        [named("a", SAMPLES), named("d", SAMPLES.replace("got", "had"))],
        [named("a", SAMPLES.replace("5", "7"))],
        2,
    ),
    "a sixth call of a decorated function": (
        [named("a", "@nbckpt.step\ndef one(): return ask('hi')\ngot = [one() for i in range(5)]")],
        [named("a", "@nbckpt.step\ndef one(): return ask('hi')\ngot = [one() for i in range(6)]")],
        1,
    ),
    "a prompt that changed": ([named("a", LOOP)], [named("b", LOOP.replace("q{i}", "p{i}"))], 5),
    "in mode record": (
        [named("a", LOOP)],
        [named("b", block("c", LOOP).replace("checkpoint('c')", "recording('record')"))],
        5,
    ),
}


@pytest.mark.parametrize("restarts", [True, False], ids=["new kernel", "same kernel"])
@pytest.mark.parametrize(("before", "after", "n_paid"), OTHERS.values(), ids=OTHERS)
def test_what_is_another_sample_or_another_question_is_paid(
    shell: Any,
    provider: Provider,
    run: Callable[[Cell], None],
    begin_anew: Callable[[], None],
    before: list[Cell],
    after: list[Cell],
    n_paid: int,
    restarts: bool,
) -> None:
    for cell in before:
        run(cell)
    paid = provider.answered
    if restarts:
        begin_anew()
        if after[0] != before[0] and "'a'" not in repr(after):
            for cell in before[:1]:  # it is still there, restored
                run(cell)
    for cell in after:
        run(cell)

    assert provider.answered - paid == n_paid
    samples = shell.user_ns["got"]
    assert len(set(samples)) == len(samples)


def test_another_notebook_of_the_folder_pays_for_itself(
    shell: Any, provider: Provider, run: Callable[[Cell], None], begin_anew: Callable[[], None]
) -> None:
    run(named("a", LOOP))
    begin_anew()
    current_session.session().notebook = "other.ipynb"
    run(named("b", LOOP))

    assert provider.answered == 10


NEAR: dict[str, tuple[str, str, str]] = {
    "a number": (
        "x = ask('hi', temperature=0.5)",
        "x = ask('hi', temperature=0.7)",
        "but for temperature: 0.5 → 0.7",
    ),
    "a member": ("x = ask('hi')", "x = ask('hi', seed=1)", "but for seed: nothing → 1"),
    "an id": (
        "x = ask('hi', extra={'trace': {'id': '0f8fad5bd9cb469fa165'}})",
        "x = ask('hi', extra={'trace': {'id': '7c9e6679742540de944b'}})",
        'but for extra.trace.id: "0f8fad5bd9cb469fa165" → "7c9e6679742540de944b"; '
        "`%nbckpt config match_ignore extra.trace.id` has that not compared",
    ),
    "the time in the prompt": (
        "x = ask('it is 2026-11-30 10:00:01: hi')",
        "x = ask('it is 2026-11-30 11:20:45: hi')",
        'but for messages.0.content: "it is 2026-11-30 10:00:01: hi" → '
        '"it is 2026-11-30 11:20:45: hi"',
    ),
    "the order of lines": (
        "x = ask('sum up\\none said a\\ntwo said b')",
        "x = ask('sum up\\ntwo said b\\none said a')",
        "but for messages.0.content: its lines → the same in another order",
    ),
    "the order of parts": (
        "x = ask('hi', extra={'documents': [{'text': 'a'}, {'text': 'b'}]})",
        "x = ask('hi', extra={'documents': [{'text': 'b'}, {'text': 'a'}]})",
        "but for extra.documents: 2 parts → the same in another order",
    ),
    "another prompt": ("x = ask('hi')", "x = ask('ho')", ""),
    "another sample": ("x = ask('hi')", "x = [ask('hi') for _ in range(2)]", ""),
}


@pytest.mark.parametrize(("before", "after", "told"), NEAR.values(), ids=NEAR)
def test_what_differs_from_an_answered_question_is_told_before_it_is_paid(
    shell: Any,
    provider: Provider,
    run: Callable[[Cell], None],
    begin_anew: Callable[[], None],
    capsys: pytest.CaptureFixture[str],
    before: str,
    after: str,
    told: str,
) -> None:
    run(named("a", before))
    begin_anew()
    shown: list[tuple[str, int]] = []
    session = current_session.session()
    session.writes.shows = lambda text: shown.append((text, provider.answered))
    run(named("a", after))

    assert provider.answered == 2
    capsys.readouterr()
    run("%nbckpt why a")
    why = capsys.readouterr().out
    if not told:
        assert shown == []
        assert "model call" not in why
        return
    ((text, paid_then),) = shown
    assert text == f"'a' asks anew what was answered just now in 'a', {told}"
    assert paid_then == 1
    assert f"a model call {text.removeprefix(repr('a') + ' ')}" in why


def test_an_id_that_is_not_compared_costs_nothing(
    shell: Any, provider: Provider, run: Callable[[Cell], None]
) -> None:
    run("%nbckpt config match_ignore extra.trace.id")
    for trace in ("0f8fad5bd9cb469fa165", "7c9e6679742540de944b"):
        run(named("a", f"x = ask('hi', extra={{'trace': {{'id': {trace!r}}}}})"))

    assert provider.answered == 1


def test_a_loop_tells_once_what_differs_and_why_tells_all(
    shell: Any,
    provider: Provider,
    run: Callable[[Cell], None],
    begin_anew: Callable[[], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(named("a", LOOP))
    begin_anew()
    shown: list[str] = []
    current_session.session().writes.shows = shown.append
    run(named("a", LOOP.replace("{i}'", "{i}', seed=i")))
    capsys.readouterr()
    run("%nbckpt why a")

    told = capsys.readouterr().out
    assert len(shown) == 1
    assert all(f"but for seed: nothing → {i}\n" in told for i in range(5))


def test_a_copy_of_a_cell_that_was_edited_has_a_sample_of_its_own(
    provider: Provider, run: Callable[[Cell], None], shell: Any
) -> None:
    text = "a = 1\nb = 2\nx = ask('hi')"
    run((f"%%checkpoint\n{text}", "one"))
    first = shell.user_ns["x"]
    run((f"%%checkpoint\n{text.replace('b = 2', 'b = 3')}", "two"))

    assert provider.answered == 2
    assert shell.user_ns["x"] != first


def test_a_new_cell_after_a_resume_has_a_sample_of_its_own(
    provider: Provider,
    run: Callable[[Cell], None],
    shell: Any,
    begin_anew: Callable[[], None],
) -> None:
    run(named("a", "x = ask('hi')"))
    begin_anew()
    run("%resume")
    run(named("c", "y = ask('hi')"))

    assert provider.answered == 2
    assert shell.user_ns["x"] != shell.user_ns["y"]
    run(named("b", "x = ask('hi')"))  # `a`, renamed
    assert provider.answered == 2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            block("a", "y = ask('hi')"),
            f"{block('n', 'x = ask(chr(104) + chr(105))')}\n{block('a', 'y = [ask(chr(104) + chr(105))][0]')}",
        ),
        (
            "got = []\nfor k in range(1, 3):\n    with nbckpt.checkpoint(f's{k}'):\n"
            "        got.append(ask('hi'))",
            "got = []\nfor k in range(0, 3):\n    with nbckpt.checkpoint(f's{k}'):\n"
            "        got = [*got, ask('hi')]",
        ),
    ],
)
def test_one_recording_is_given_once_in_a_run_of_a_cell(
    provider: Provider,
    run: Callable[[Cell], None],
    shell: Any,
    begin_anew: Callable[[], None],
    before: str,
    after: str,
) -> None:
    run(before)
    begin_anew()
    run(after)
    samples = shell.user_ns.get("got") or [shell.user_ns["x"], shell.user_ns["y"]]

    assert len(set(samples)) == len(samples)


def test_samples_that_were_renamed_stay_paid_after_one_more(
    provider: Provider, run: Callable[[Cell], None], shell: Any, begin_anew: Callable[[], None]
) -> None:
    run(named("a", "x = [ask('hi') for _ in range(3)]"))
    first = shell.user_ns["x"]
    for n in (2, 4, 4, 3):
        begin_anew()
        run(named("b", f"total = {n}\ny = []\nwhile len(y) < total:\n    y.append(ask('hi'))"))
        assert shell.user_ns["y"][:3] == first[:n]
        assert provider.answered == (3 if n == 2 else 4)


def test_calls_that_shared_an_answer_share_it_after_a_rename(
    run: Callable[[Cell], None], shell: Any, begin_anew: Callable[[], None]
) -> None:
    at_once = (
        "from concurrent.futures import ThreadPoolExecutor as Pool\n"
        "with nbckpt.recording(coalesce=True), Pool(4) as pool:\n"
        "    x = list(pool.map(ask, ['hi'] * 4))"
    )
    numbers = count()

    def answer(_: str) -> str:
        time.sleep(0.5)  # the others have asked by then
        return f"answer {next(numbers)}"

    with Provider(answer=answer) as provider:
        shell.user_ns["url"] = provider.url
        run(named("a", at_once))
        begin_anew()
        shell.user_ns["url"] = provider.url
        run(named("b", at_once))

        assert provider.answered == 1
        assert shell.user_ns["x"] == ["answer 0"] * 4


def _conversation(kind: str, first: str, second: str, *, answers: str = "") -> dict[str, Any]:
    """A conversation with two calls of tools, whose ids are given; results may be swapped."""
    ids = [first, second]
    results = [second, first] if answers == "swapped" else ids
    if kind == "gemini":
        calls = [
            {"functionCall": {"id": i, "name": "f", "args": {"n": n}}} for n, i in enumerate(ids)
        ]
        found = [
            {"functionResponse": {"id": i, "name": "f", "response": {"n": n}}}
            for n, i in enumerate(results)
        ]
        return {"contents": [{"role": "model", "parts": calls}, {"role": "user", "parts": found}]}
    if kind == "anthropic":
        used = [
            {"type": "tool_use", "id": i, "name": "f", "input": {"n": n}} for n, i in enumerate(ids)
        ]
        told = [
            {"type": "tool_result", "tool_use_id": i, "content": str(n)}
            for n, i in enumerate(results)
        ]
        messages = [{"role": "assistant", "content": used}, {"role": "user", "content": told}]
        return {"model": "m", "max_tokens": 9, "messages": messages}
    asked = [
        {"id": i, "type": "function", "function": {"name": "f", "arguments": f'{{"n": {n}}}'}}
        for n, i in enumerate(ids)
    ]
    said = [{"role": "tool", "tool_call_id": i, "content": str(n)} for n, i in enumerate(results)]
    return {"model": "m", "messages": [{"role": "assistant", "tool_calls": asked}, *said]}


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("openai", "/v1/chat/completions"),
        ("anthropic", "/v1/messages"),
        ("gemini", "/v1beta/models/m:generateContent"),
        ("ollama", "/api/chat"),
    ],
)
def test_ids_that_a_framework_makes_up_for_calls_of_tools_do_not_count_and_their_order_does(
    provider: Provider, run: Callable[[Cell], None], shell: Any, kind: str, path: str
) -> None:
    for n, body in enumerate(
        (
            _conversation(kind, "call_1", "call_2"),
            _conversation(kind, "pyd_ai_7f", "pyd_ai_03"),
            _conversation(kind, "call_1", "call_2", answers="swapped"),
        )
    ):
        shell.user_ns["body"] = body
        run(f"%%checkpoint a\nn = {n}\nx = httpx.post(f'{{url}}{path}', json=body).status_code")
        assert shell.user_ns["x"] == 200

    assert provider.answered == 2
