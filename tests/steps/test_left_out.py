"""What a skipped step did to variables that `vars` and `exclude` left out, after a restart."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from nbckpt.steps import current_session
from tests.notebooks import restart, run
from tests.steps.test_blocks import play

SKIPPED = {
    "bound": ("n = 1", "m = n + 1\nout = m", "z = m"),
    "bound anew": ("n = 1", "n = 5\nout = n", "z = n"),
    "a loop's variable": ("for i in range(9): pass", "for i in range(3): out = i", "z = i"),
    "a loop without items": ("for i in range(9): pass", "for i in []: pass\nout = 3", "z = i"),
    "bound on a condition": ("t = 1\nis_so = True", "if is_so: t = 2\nout = 3", "z = t"),
    "not bound": ("t = 1\nis_so = False", "if is_so: t = 2\nout = 3", "z = t"),
    "deleted": ("c = [1]", "out = len(c)\ndel c", "z = 'c' in globals()"),
    "a function": ("def f(): return 1", "def f(): return 2\nout = f()", "z = f()"),
    "a class": ("n = 1", "class A: v = 1\nout = A().v", "z = A.v, out"),
    "a module": ("n = 1", "import json as js\nout = n", "z = js.dumps(out)"),
    "shared with what is kept": ("n = 1", "m = [n]\nout = [m]", "m.append(2)\nz = out"),
    "what cannot be kept": ("n = 1", "g = (i for i in range(3))\nout = n", "z = next(g)"),
}
KEPT_BEFORE = {
    "changed": ("c = []", "c.append(1)\nout = len(c)", "z = list(c)"),
    "bound": ("c = []", "c = [1]\nout = len(c)", "z = list(c)"),
    "deleted": ("c = []", "out = len(c)\ndel c", "z = 'c' in globals()"),
    "an attribute": ("def f(): f.n += 1; return f.n\nf.n = 0", "out = f()", "z = f.n"),
}
RUN_AGAIN = {
    "changed": ("c = []", "c.append(1)\nout = len(c)", "z = list(c)"),
    "made of itself": ("n = 1", "n = n + 1\nout = n", "z = n"),
    "made of itself, with another name": ("n = [1]\na = n", "n += [2]\nout = 5", "z = list(a)"),
    "a default": ("c = []\ndef add(v, c=c): c.append(v)", "add(1)\nout = 5", "z = list(c)"),
    "a class": (
        "class K:\n    c = []\n    @classmethod\n    def add(cls, v): cls.c.append(v)",
        "K.add(1)\nout = 5",
        "z = list(K.c)",
    ),
    "an attribute": ("def f(): f.n += 1; return f.n\nf.n = 0", "out = f()", "z = f.n"),
    "a global": (
        "def f(): return 1\ndef g():\n    global f\n    f = lambda: 2",
        "g()\nout = f()",
        "z = f()",
    ),
}
ALL = {
    **{f"skipped: {n}": (*case, True) for n, case in SKIPPED.items()},
    **{
        f"kept before: {n}": (f"%%checkpoint before\n{made}", body, after, True)
        for n, (made, body, after) in KEPT_BEFORE.items()
    },
    **{f"run again: {n}": (*case, False) for n, case in RUN_AGAIN.items()},
}


def block(body: str, *, said: str = "print('BODY')") -> str:
    body = textwrap.indent(f"{said}\n{body}", "    ")
    return f"import nbckpt\nwith nbckpt.checkpoint('x', vars=['out']):\n{body}"


def marked(body: str) -> str:
    return f"%%checkpoint x --vars out\n{body}"


@pytest.mark.parametrize("form", [block, marked])
@pytest.mark.parametrize(("made", "body", "after", "is_skipped"), ALL.values(), ids=ALL)
def test_a_step_does_the_same_skipped_as_it_did(
    shell: Any,
    capsys: pytest.CaptureFixture[str],
    made: str,
    body: str,
    after: str,
    form: Any,
    is_skipped: bool,
) -> None:
    seen, ran = [], []
    for _ in range(3):
        for cell in (made, form(body), after):
            run(shell, cell)
        seen.append((repr(shell.user_ns["z"]), repr(shell.user_ns["out"])))
        ran.append("BODY" in capsys.readouterr().out)
        restart(shell)

    assert seen == seen[:1] * 3
    if form is block:
        assert ran == [True, not is_skipped, not is_skipped]


@pytest.mark.parametrize(
    ("after", "is_skipped"),
    [
        ("z = m", False),
        ("def f(): return m\nz = f()", False),
        ("m = 7\nz = m", True),
        ("z = out", True),
    ],
)
def test_a_block_runs_again_where_the_rest_of_its_cell_or_script_reads_what_it_left_out(
    shell: Any,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    after: str,
    is_skipped: bool,
) -> None:
    cell = f"n = 1\n{block('m = n + 1' + chr(10) + 'out = m')}\n{after}"
    for is_first in (True, False):
        run(shell, cell)
        assert ("BODY" in capsys.readouterr().out) is (is_first or not is_skipped)
        restart(shell)

    folder = tmp_path / "script"
    folder.mkdir()
    body = "if step.todo:\n    print('BODY')\n    m = n + 1\n    out = m"
    head = "n = 1\nwith nbckpt.checkpoint('x', vars=['out']) as step:\n"
    script = f"{head}{textwrap.indent(body, '    ')}\n{after}\nprint(z)"
    z = "7" if "7" in after else "2"
    first, again = play(folder, script), play(folder, script)
    assert first.stdout == f"BODY\n{z}\n", first.stderr
    assert again.stdout == (f"{z}\n" if is_skipped else f"BODY\n{z}\n"), again.stderr


CHANGED: dict[str, tuple[list[str], str, str]] = {
    "an input": (["n = 1", "n = 2"], "m = [n]\nout = n", "'n', which it reads,"),
    "an input in place": (["n = [1]", "n.append(2)"], "m = n[0]\nout = 1", "'n', which it reads,"),
    "a loop's variable": (
        ["for k in range(3): pass", "for k in range(9): pass"],
        "m = k\nout = k",
        "'k', which it reads,",
    ),
    "a function": (
        ["def f(): return 1", "def f(): return 2"],
        "m = f()\nout = m",
        "'f', which it reads,",
    ),
    "random numbers": (
        ["import random\nrandom.seed(1)", "random.random()"],
        "m = random.random()\nout = 1",
        "it draws random numbers,",
    ),
}


@pytest.mark.parametrize("form", [block, marked])
@pytest.mark.parametrize(("before", "body", "told"), CHANGED.values(), ids=CHANGED)
def test_what_a_cell_left_out_is_not_made_of_what_has_changed_since(
    shell: Any,
    capsys: pytest.CaptureFixture[str],
    before: list[str],
    body: str,
    told: str,
    form: Any,
) -> None:
    made, change = before
    for cell in (made, form(body), change, "z = m"):
        run(shell, cell)
    kept = shell.user_ns["out"]
    restart(shell)
    for cell in (made, form(body), change):
        run(shell, cell)
    capsys.readouterr()
    shell.run_cell("y = m")
    said = capsys.readouterr().out

    assert "y" not in shell.user_ns
    assert f"'m' was not kept, and 'x' would make another: {told}" in said
    assert shell.user_ns["out"] == kept


def test_a_cell_that_is_made_again_leaves_what_is_kept_and_what_came_after(shell: Any) -> None:
    cells = (
        "%%checkpoint load\nrows = [3, -1, 4]",
        "rows = [r for r in rows if r > 0]",
        "%%checkpoint fit --vars model\nscaled = [r / 10 for r in rows]\nmodel = sum(scaled)",
        "z = max(scaled), len(scaled)",
    )
    seen = []
    for _ in range(3):
        for cell in cells:
            run(shell, cell)
        seen.append({n: shell.user_ns[n] for n in ("rows", "model", "z")})
        restart(shell)

    assert seen == [{"rows": [3, 4], "model": 0.7, "z": (0.4, 2)}] * 3


def test_what_a_cell_makes_another_each_time_does_not_replace_what_is_kept(shell: Any) -> None:
    cells = (
        "import os",
        "%%checkpoint fit\nmodel = os.urandom(4).hex()\nlines = (c for c in model)",
        "first = next(lines)",
    )
    for cell in cells:
        run(shell, cell)
    model = shell.user_ns["model"]
    restart(shell)
    for cell in cells:
        run(shell, cell)

    assert shell.user_ns["model"] == model


def test_a_generator_of_a_block_is_there_after_a_resume(shell: Any) -> None:
    for cell in (block("g = (i for i in range(3))\nout = 1"), "%%checkpoint w\nv = out"):
        run(shell, cell)
    restart(shell)
    run(shell, "%resume")
    run(shell, "z = next(g)")

    assert shell.user_ns["z"] == 0


@pytest.mark.parametrize(
    "cell",
    [
        "t = 0\nif n:\n    {}\nz = t",
        "for k in range(2):\n    t = 0\n    if n:\n        {}\n    z = t",
        "t = 0\ntry:\n    {}\nfinally:\n    z = t",
    ],
)
def test_a_nested_block_runs_where_its_cell_reads_what_it_left_out(shell: Any, cell: str) -> None:
    lines = "with nbckpt.checkpoint('x', vars=['out']):\n    t = n + 1\n    out = 5".splitlines()
    before = cell.partition("{}")[0].rpartition("\n")[2]
    source = cell.format(f"\n{before}".join(lines))
    for _ in range(2):
        run(shell, "import nbckpt\nn = 1")
        run(shell, source)
        assert shell.user_ns["z"] == 2
        restart(shell)


def test_a_block_is_skipped_beside_a_frame_that_nothing_keeps(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    for ran in (True, False):
        run(shell, "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2]})")
        run(shell, block("part = df.sum()\nout = int(part.sum())"))
        assert ("BODY" in capsys.readouterr().out) is ran
        restart(shell)


def test_a_block_that_runs_again_for_another_cell_keeps_nothing_and_asks_no_model_twice(
    shell: Any,
) -> None:
    run(shell, "import nbckpt, openai\nfrom nbckpt.testing import Provider")
    setup = (
        "from nbckpt.testing import Provider\nimport os, openai\n"
        "provider = Provider().start()\nos.environ.update(provider.environment())\n"
        "client = openai.OpenAI()\n"
        "def ask(text):\n"
        "    return client.chat.completions.create(model='gpt-4.1-mini', "
        "messages=[{'role': 'user', 'content': text}]).choices[0].message.content"
    )
    body = "answers = [ask(t) for t in 'ab']\nout = len(answers)"
    run(shell, setup)
    run(shell, block(body))
    run(shell, "first, said = provider.answered, list(answers)")
    said = shell.user_ns["said"]
    assert shell.user_ns["first"] == 2
    shell.user_ns["provider"].stop()
    restart(shell)

    run(shell, setup)
    run(shell, block(body))
    n_before = len(current_session.session().timeline.checkpoints)
    at = current_session.session().position.id
    run(shell, "again, count = list(answers), provider.answered")

    assert (shell.user_ns["again"], shell.user_ns["count"]) == (said, 0)
    assert len(current_session.session().timeline.checkpoints) == n_before
    assert current_session.session().position.id == at
    shell.user_ns["provider"].stop()


def test_a_block_inside_of_a_cell_that_runs_again_for_another_is_restored_and_moves_nothing(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, "import nbckpt")
    run(shell, f"g = (i for i in range(3))\n{block('out = 5')}\nh = out")
    run(shell, "%%checkpoint later\nw = 1")
    current_session.session().wait()
    restart(shell)
    capsys.readouterr()
    run(shell, "%resume")
    session = current_session.session()
    at, n_before = session.position.id, len(session.timeline.checkpoints)
    run(shell, "z = next(g)")

    assert shell.user_ns["z"] == 0
    assert "BODY" not in capsys.readouterr().out
    assert (session.position.id, len(session.timeline.checkpoints)) == (at, n_before)


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        (["q = [5]", "%%checkpoint x --exclude b\nb = q", "%%checkpoint y\nq.append(6)"], "q, b"),
        (
            ["%%checkpoint x --vars a\na = [1]\nb = [a]", "%%checkpoint y\nb[0].append(3)"],
            "a, b[0]",
        ),
        (
            [
                "import numpy as np",
                "%%checkpoint x --exclude v\na = np.zeros(3)\nv = a[:2]",
                "%%checkpoint y\nv[0] = 7",
            ],
            "a[:2].tolist(), v.tolist()",
        ),
    ],
)
def test_what_was_left_out_is_kept_later_as_one_with_what_it_shares(
    shell: Any, cells: list[str], shown: str
) -> None:
    for cell in (*cells, f"was = str(({shown}))"):
        run(shell, cell)
    was = shell.user_ns["was"]
    restart(shell)
    run(shell, "%rewind y")
    run(shell, f"one, other = {shown}\nnow = str((one, other))")

    assert shell.user_ns["now"] == was
    if "tolist" not in shown:
        assert shell.user_ns["one"] is shell.user_ns["other"]


def test_an_instance_is_not_made_again_of_a_class_that_has_changed_since(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = ("%%checkpoint x --exclude b\nclass C: n = 0\na = C()\nb = C()", "C.n = 7")
    for cell in (*cells, "z = b.n, isinstance(b, C)"):
        run(shell, cell)
    assert shell.user_ns["z"] == (7, True)
    restart(shell)
    for cell in cells:
        run(shell, cell)
    capsys.readouterr()
    shell.run_cell("z = b.n")

    assert "z" not in shell.user_ns
    assert "'b' was not kept, and shared what 'C' holds" in capsys.readouterr().out


@pytest.mark.parametrize("made", ["b = [2]", "b = (i for i in [[2]])"])
def test_what_was_left_out_is_made_again_after_a_look_back(shell: Any, made: str) -> None:
    cells = (f"%%checkpoint x --vars a\na = [1]\n{made}", "%%checkpoint y\nk = 1")
    for cell in cells:
        run(shell, cell)
    restart(shell)
    for cell in cells:
        run(shell, cell)
    run(shell, "%rewind x")
    run(shell, "%rewind -")
    run(shell, "z = list(b)")

    assert shell.user_ns["z"] in ([2], [[2]])
