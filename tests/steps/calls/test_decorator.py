"""`@nbckpt.step`: what is answered from the store, what runs, and what is said."""

from __future__ import annotations

import asyncio
import inspect
import pickle
import sys
import threading
import types
from textwrap import indent

import cloudpickle
import pytest

import nbckpt
from nbckpt.errors import UsageError
from nbckpt.steps import current_session
from nbckpt.steps.execution.step_state import StepState
from nbckpt.storage.check import check
from tests.steps.calls.conftest import Notebook

SQUARE = """
@nbckpt.step
def square(x, k=1):
    ran(f"square {x} {k}")
    return [x * x * k]
"""


def test_a_call_is_answered_without_running_in_a_new_process(notebook: Notebook) -> None:
    notebook.cell(SQUARE + "first = square(3)")
    assert notebook.ran == ["square 3 1"]

    notebook.restart()
    notebook.cell(SQUARE + "again = square(3)")

    assert notebook.ran == []
    assert notebook.namespace["again"] == [9]


def test_arguments_count_by_parameter_however_they_are_given(notebook: Notebook) -> None:
    notebook.cell(SQUARE + "square(3, k=2)")
    notebook.restart()
    notebook.ran

    notebook.cell(SQUARE + "out = square(k=2, x=3)")

    assert notebook.ran == []
    notebook.cell("square(3)")
    assert notebook.ran == ["square 3 1"]


def test_equal_calls_of_one_run_are_samples_and_replay_as_they_were(notebook: Notebook) -> None:
    source = (
        "import random\n"
        "@nbckpt.step\n"
        "def sample(topic):\n"
        "    ran('sample')\n"
        "    return random.random()\n"
        "samples = [sample('a') for _ in range(5)]"
    )
    notebook.cell(source)
    samples = notebook.namespace["samples"]
    assert len(set(samples)) == 5

    notebook.restart()
    notebook.ran
    notebook.cell(source)

    assert notebook.namespace["samples"] == samples
    assert notebook.ran == []


def test_inserted_items_shift_nothing(notebook: Notebook) -> None:
    notebook.cell(SQUARE + "out = [square(x) for x in [1, 2, 3]]")
    notebook.restart()
    notebook.ran

    notebook.cell(SQUARE + "out = [square(x) for x in [7, 1, 2, 8, 3]]")

    assert notebook.ran == ["square 7 1", "square 8 1"]
    assert notebook.namespace["out"] == [[49], [1], [4], [64], [9]]


def test_a_call_belongs_to_the_innermost_block_though_that_ran_before(notebook: Notebook) -> None:
    block = 'with nbckpt.checkpoint("{name}", rerun=True) as step:\n    if step.todo:\n'
    inner = block.format(name="inner") + "        square({x})\n"
    notebook.cell(SQUARE + inner.format(x=1))

    notebook.cell(block.format(name="outer") + indent(inner.format(x=2), " " * 8))

    notebook.session.wait()
    notebook.session.refresh()
    assert [r["step"] for r in notebook.store.records("step")] == ["inner", "inner"]


def test_changed_code_runs_and_says_why(notebook: Notebook) -> None:
    notebook.cell(SQUARE + "square(3)")
    notebook.restart()

    notebook.cell(SQUARE.replace("x * x", "x + x"))
    with pytest.warns(RuntimeWarning, match=r"step 'square' runs again: function 'square' changed"):
        assert notebook.value("square(3)") == [6]


def test_a_changed_value_that_the_function_reads_runs_it_and_is_named(notebook: Notebook) -> None:
    source = (
        "@nbckpt.step\ndef f(x):\n    return helper(x)\ndef helper(x):\n    return x * FACTOR[0]\n"
    )
    notebook.cell("FACTOR = [2]\n" + source)
    assert notebook.value("f(3)") == 6

    notebook.restart()
    notebook.cell("FACTOR = [5]\n" + source)

    with pytest.warns(RuntimeWarning, match=r"input 'FACTOR' has another value"):
        assert notebook.value("f(3)") == 15


def test_a_changed_helper_runs_it_in_the_same_process(notebook: Notebook) -> None:
    notebook.cell("def helper(x):\n    return x + 1\n@nbckpt.step\ndef f(x):\n    return helper(x)")
    assert notebook.value("f(1)") == 2

    notebook.cell("def helper(x):\n    return x + 2")

    with pytest.warns(RuntimeWarning, match="function 'helper' changed"):
        assert notebook.value("f(1)") == 3


def test_comments_and_options_are_no_code(notebook: Notebook) -> None:
    notebook.cell(SQUARE + "square(3)")
    notebook.restart()
    notebook.ran

    notebook.cell(SQUARE.replace("@nbckpt.step", "# once more\n@nbckpt.step(retries=3)"))

    assert notebook.value("square(3)") == [9]
    assert notebook.ran == []


def test_each_replay_is_a_copy_of_its_own(notebook: Notebook) -> None:
    notebook.cell(SQUARE + "a = square(3)\na.append('changed')")
    notebook.restart()
    notebook.cell(SQUARE + "b = square(3)\nb.append('b')")
    assert notebook.namespace["b"] == [9, "b"]

    notebook.restart()

    notebook.cell(SQUARE)
    assert notebook.value("square(3)") == [9]


def test_what_a_result_shares_inside_it_shares_again(notebook: Notebook) -> None:
    source = "@nbckpt.step\ndef f():\n    row = [1]\n    return {'a': row, 'b': row}\nout = f()"
    notebook.cell(source)
    notebook.restart()

    notebook.cell(source)

    out = notebook.namespace["out"]
    assert out["a"] is out["b"]


def test_instances_of_the_notebooks_classes_come_back_as_such(notebook: Notebook) -> None:
    source = (
        "class Doc:\n    def __init__(self, text):\n        self.text = text\n"
        "@nbckpt.step\ndef make(text):\n    ran('make')\n    return [Doc(text)]\nout = make('a')"
    )
    notebook.cell(source)
    notebook.restart()
    notebook.ran

    notebook.cell(source)

    (doc,) = notebook.namespace["out"]
    assert (type(doc), doc.text) == (notebook.namespace["Doc"], "a")
    assert notebook.ran == []


def test_methods_count_with_their_objects(notebook: Notebook) -> None:
    source = (
        "class Model:\n    def __init__(self, name):\n        self.name = name\n"
        "    @nbckpt.step\n    def ask(self, q):\n        ran(f'{self.name} {q}')\n"
        "        return f'{self.name}: {q}'\n"
        "out = [Model('a').ask(1), Model('b').ask(1)]"
    )
    notebook.cell(source)
    notebook.restart()
    assert notebook.ran == ["a 1", "b 1"]

    notebook.cell(source)

    assert notebook.namespace["out"] == ["a: 1", "b: 1"]
    assert notebook.ran == []


def test_a_result_that_cannot_be_kept_is_returned_and_named(notebook: Notebook) -> None:
    notebook.cell("@nbckpt.step\ndef f():\n    return {'rows': (i for i in [1])}")

    with pytest.warns(RuntimeWarning, match=r"'f' is NOT kept: result\['rows'\], a generator"):
        assert list(notebook.value("f()")["rows"]) == [1]

    notebook.session.refresh()
    assert not notebook.store.records("step")


def test_a_function_that_changes_its_argument_is_not_kept(notebook: Notebook) -> None:
    notebook.cell("@nbckpt.step\ndef add(rows):\n    rows.append(1)\n    return len(rows)")

    with pytest.warns(RuntimeWarning, match="it changes what it is given"):
        assert notebook.value("add([])") == 1


EFFECTS = {
    "mutates": ("seen = []", "seen.append(x)", "input 'seen' has another value"),
    "reads and binds": ("n = 0", "global n; n += x", "the global 'n'"),
    "only binds": ("n = 0", "global n; n = [x]", "the global 'n'"),
    "deletes": ("n = 0", "global n; del n", "the global 'n'"),
    "by a helper": ("n = 0\ndef helper(x):\n    global n; n = [x]", "helper(x)", "the global 'n'"),
    "sets an attribute": ("class S: n = 0\ns = S()", "s.n = x", "input 's' has another value"),
}


@pytest.mark.parametrize("how", EFFECTS)
def test_a_call_that_changes_variables_is_not_kept_and_says_which(
    notebook: Notebook, how: str
) -> None:
    before, body, told = EFFECTS[how]
    code = f"{before}\n@nbckpt.step\ndef f(x):\n    ran(x)\n    {body}\n    return x"
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match=f"'f' is NOT kept: it .*{told}"):
            notebook.cell(f"{code}\nf(1)")
        notebook.restart()

    assert notebook.ran == ["1", "1"]


def test_a_call_that_changes_a_variable_of_the_function_around_it_is_not_kept(
    notebook: Notebook,
) -> None:
    code = (
        "def outer():\n    n = 0\n    @nbckpt.step\n    def inner(x):\n        nonlocal n\n"
        "        n = x\n        return x\n    inner(5)\n    return n\nmade = outer()"
    )
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="it changes what it reads"):
            notebook.cell(code)
        assert notebook.value("made") == 5
        notebook.restart()


def test_what_must_not_run_twice_and_changes_a_variable_is_kept_and_says_so(
    notebook: Notebook,
) -> None:
    code = "sent = []\n@nbckpt.step(once=True)\ndef f(x):\n    sent.append(x)\n    return x"
    with pytest.warns(RuntimeWarning, match="it changes what it reads .*; its result is kept"):
        notebook.cell(f"{code}\nf(1)")
    notebook.restart()

    notebook.cell(f"{code}\nmade = f(1)")

    assert (notebook.value("made"), notebook.value("sent")) == (1, [])


def test_arguments_that_cannot_be_told_are_named_and_the_function_runs(notebook: Notebook) -> None:
    notebook.cell("@nbckpt.step\ndef f(rows):\n    return list(rows)")
    notebook.cell("import csv\nrows = csv.reader(['1,2', '3'])\nnext(rows)")

    with pytest.warns(RuntimeWarning, match="of its arguments, 'rows' cannot be told"):
        assert notebook.value("f(rows)") == [["3"]]


def test_wrong_arguments_are_the_functions_own_error(notebook: Notebook) -> None:
    notebook.cell(SQUARE)

    with pytest.raises(TypeError, match=r"square.* missing 1 required positional argument: 'x'"):
        notebook.value("square()")


def test_without_a_session_it_is_a_plain_function() -> None:
    current_session.end()

    @nbckpt.step
    def double(x: int) -> int:
        return 2 * x

    assert (double(2), double.__name__) == (4, "double")
    assert str(inspect.signature(double)) == "(x: 'int') -> 'int'"


def test_each_kind_of_function_stays_what_it_is(notebook: Notebook) -> None:
    notebook.cell(
        "@nbckpt.step\nasync def a(): return 1\n@nbckpt.step\ndef g(): yield 1\n"
        "@nbckpt.step\nasync def ag(): yield 1"
    )

    assert inspect.iscoroutinefunction(notebook.namespace["a"])
    assert inspect.isgeneratorfunction(notebook.namespace["g"])
    assert inspect.isasyncgenfunction(notebook.namespace["ag"])


GATHERED = """
import os

@nbckpt.step
async def ask(q):
    ran(f"ask {q}")
    await asyncio.sleep(0.001 * (7 - q))
    if q == 4 and os.path.exists(f"{LOG}.fail"):
        raise OSError("refused")
    return q * 10

async def ask_all():
    return await asyncio.gather(*[ask(q) for q in range(10)], return_exceptions=True)
"""


def test_of_ten_parallel_calls_of_which_one_fails_nine_are_kept(notebook: Notebook) -> None:
    failing = notebook.folder / "log.fail"
    failing.touch()
    notebook.cell(GATHERED)
    answers = asyncio.run(notebook.value("ask_all()"))
    assert sum(isinstance(answer, OSError) for answer in answers) == 1
    assert len(notebook.ran) == 10

    failing.unlink()
    notebook.restart()
    notebook.cell(GATHERED)

    assert asyncio.run(notebook.value("ask_all()")) == [10 * q for q in range(10)]
    assert notebook.ran == ["ask 4"]


def test_equal_calls_at_once_are_as_many_answers(notebook: Notebook) -> None:
    source = (
        "import random\n@nbckpt.step\nasync def draw(x):\n    ran('draw')\n"
        "    await asyncio.sleep(random.random() / 100)\n    return random.random()\n"
        "async def all_():\n    return await asyncio.gather(*[draw(1) for _ in range(5)])"
    )
    notebook.cell(source)
    first = asyncio.run(notebook.value("all_()"))
    notebook.restart()
    notebook.ran

    notebook.cell(source)

    assert asyncio.run(notebook.value("all_()")) == first
    assert len(set(first)) == 5
    assert notebook.ran == []


def test_threads_keep_what_they_call(notebook: Notebook) -> None:
    source = SQUARE + (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(4) as pool:\n    out = list(pool.map(square, range(20)))"
    )
    notebook.cell(source)
    assert len(notebook.ran) == 20
    notebook.restart()

    notebook.cell(source)

    assert notebook.namespace["out"] == [[x * x] for x in range(20)]
    assert notebook.ran == []


def test_calls_inside_a_replayed_call_shift_nothing(notebook: Notebook) -> None:
    source = (
        "import random\n@nbckpt.step\ndef inner(x):\n    return random.random()\n"
        "@nbckpt.step\ndef outer(x):\n    return inner(x)\n"
        "out = [outer(1), inner(1), inner(1)]"
    )
    notebook.cell(source)
    first = notebook.namespace["out"]
    notebook.restart()

    notebook.cell(source)

    assert notebook.namespace["out"] == first
    assert first[1] != first[2]


def test_an_answer_is_durable_before_its_caller_sees_it(notebook: Notebook) -> None:
    notebook.cell(SQUARE)
    notebook.value("square(3)")

    other = Notebook(notebook.folder)
    try:
        other.cell(SQUARE)
        assert other.value("square(3)") == [9]
        assert other.ran == ["square 3 1"]
    finally:
        current_session.begin(notebook.session)
        other.store.close()


def test_an_answer_is_found_from_another_branch(notebook: Notebook) -> None:
    notebook.cell(SQUARE + "x = 1")
    notebook.session.checkpoint("start")
    notebook.cell("square(5)")
    notebook.session.checkpoint("later")
    notebook.ran

    notebook.session.fork("start", "try-2")
    notebook.session.workspace.running = __import__("ast").parse("x")

    assert notebook.value("square(5)") == [25]
    assert notebook.ran == []


def test_a_fresh_run_asks_anew_and_the_newest_answer_counts(
    notebook: Notebook,
) -> None:
    source = "import random\n@nbckpt.step\ndef draw():\n    return random.random()\nout = draw()"
    notebook.cell(source)
    first = notebook.namespace["out"]
    notebook.restart()
    notebook.session.state(StepState).pays_again = True
    notebook.cell(source)
    second = notebook.namespace["out"]
    notebook.restart()

    notebook.cell(source)

    assert first != second
    assert notebook.namespace["out"] == second


def test_a_decorated_function_survives_a_checkpoint(notebook: Notebook) -> None:
    notebook.cell(SQUARE + "square(3)")
    notebook.session.checkpoint("here")
    notebook.session.wait()
    notebook.restart()
    notebook.ran

    notebook.session.rewind("here")

    assert notebook.value("square(3)") == [9]
    assert notebook.value("square(4)") == [16]
    assert notebook.ran == ["square 4 1"]
    assert notebook.value("square.__nbckpt_step__[1][1]['name']") == "square"


def test_prune_keeps_the_answers_and_check_finds_nothing_wrong(notebook: Notebook) -> None:
    notebook.cell(
        "@nbckpt.step\ndef big(x):\n    ran(f'big {x}')\n    return __import__('os').urandom(300_000)\n"
    )
    values = [notebook.value(f"big({x})") for x in range(3)]
    for x in range(3):
        notebook.cell(f"y = __import__('os').urandom(400_000 + {x})")
        notebook.session.workspace.ran(None)
        notebook.session.checkpoint(f"c{x}")
    notebook.session.wait()
    notebook.restart()
    notebook.ran

    pruned = nbckpt.prune(keep_last=1)

    assert len(pruned.checkpoints) == 2
    report = check(notebook.store.path)
    assert not [p for p in report.problems if p.kind in ("missing", "damaged")]
    notebook.cell(
        "@nbckpt.step\ndef big(x):\n    ran(f'big {x}')\n    return __import__('os').urandom(300_000)\n"
    )
    assert [notebook.value(f"big({x})") for x in range(3)] == values
    assert notebook.ran == []


def test_sql_sees_the_calls(notebook: Notebook) -> None:
    notebook.cell(SQUARE + "square(3); square(3); square(4)")

    rows = nbckpt.sql(
        "select name, occurrence, state, attempts, size_bytes > 0 from steps order by created_at"
    ).fetchall()

    assert rows == [
        ("square", 0, "done", 1, True),
        ("square", 1, "done", 1, True),
        ("square", 0, "done", 1, True),
    ]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"retries": -1}, "retries is -1; it is a whole number, 0 or more"),
        ({"retries": "2"}, "retries is '2'; it is a whole number"),
        ({"backoff": "1"}, "backoff is '1'; it is a number of seconds, 0 or more"),
        ({"timeout_s": 0}, "timeout_s is 0; it is a number of seconds, more than 0"),
        ({"timeout_s": "60"}, "timeout_s is '60'; it is a number"),
        ({"retry_on": "ValueError"}, "it is a class of errors, or a tuple of classes"),
        ({"retry_on": (ValueError, 3)}, "it is a class of errors, or a tuple of classes"),
        ({"name": 3}, "step 3: name is 3; it is a text"),
        ({"once": True, "retries": 1}, "give retries or once=True"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, object], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        nbckpt.step(**options)(lambda: None)  # type: ignore[call-overload]


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(UsageError, match="decorate the `def`"):
        nbckpt.step(print)


def test_a_full_disk_is_told_and_the_value_is_there(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nbckpt.errors import StoreError

    notebook.cell(SQUARE)

    def refuse(parts: object) -> str:
        message = "the disk is full"
        raise StoreError(message)

    monkeypatch.setattr(notebook.store, "put_blob", refuse)
    with pytest.warns(RuntimeWarning, match="'square' is NOT kept: the disk is full"):
        assert notebook.value("square(3)") == [9]


def test_many_threads_share_the_disks_syncs(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncs: list[int] = []
    journal = notebook.store._writer.journal
    write = journal.write
    slow = threading.Event()

    def counted(*, durable: bool) -> None:
        syncs.append(1)
        slow.wait(0.05)
        write(durable=durable)

    monkeypatch.setattr(journal, "write", counted)
    notebook.cell(SQUARE)
    threads = [threading.Thread(target=notebook.namespace["square"], args=(x,)) for x in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(notebook.ran) == 40
    assert len(syncs) < 15


def test_recording_asks_anew_in_the_block(notebook: Notebook) -> None:
    from nbckpt.llm import scope

    notebook.cell(SQUARE)
    notebook.value("square(3)")
    notebook.restart()
    notebook.cell(SQUARE)
    with scope.recording("record"):
        notebook.value("square(3)")

    assert len(notebook.ran) == 2


def test_model_calls_belong_to_the_call_of_the_step(notebook: Notebook) -> None:
    from nbckpt.llm import scope

    seen: list[tuple[str, int]] = []
    module = types.ModuleType("a_library_of_the_test")
    module.__file__ = types.__file__  # of one that is made in memory all counts
    sys.modules["a_library_of_the_test"] = module

    def ask() -> None:
        within = scope.here().scope
        assert within is not None
        within.count("recorded", "test")
        seen.append((within.step.partition("(")[0], within.reserve("request")))

    module.ask = ask  # type: ignore[attr-defined]
    notebook.cell(
        "@nbckpt.step\ndef sample():\n    import a_library_of_the_test\n"
        "    a_library_of_the_test.ask()\n    a_library_of_the_test.ask()"
    )
    with scope.entered("cell") as cell:
        notebook.value("[sample(), sample()]")
        ask()

    # Each call begins at the first of its equals, and shifts nothing for what follows it.
    assert [n for _, n in seen] == [0, 1, 0, 1, 0]
    assert [name for name, _ in seen] == ["sample"] * 4 + ["cell"]
    assert cell.counts == {("recorded", "test"): 5}


def test_other_processes_get_a_step_by_cloudpickle(notebook: Notebook) -> None:
    notebook.cell(
        "def make(k):\n    @nbckpt.step\n    def times(x):\n        return x * k\n    return times"
    )
    times = notebook.value("make(5)")

    again = pickle.loads(cloudpickle.dumps(times))

    assert (again(2), again.__qualname__) == (10, "make.<locals>.times")


def test_steps_in_closures_count_with_what_they_close_over(notebook: Notebook) -> None:
    source = (
        "def make(k):\n    @nbckpt.step\n    def times(x):\n        ran(f'{k} {x}')\n"
        "        return x * k\n    return times\n"
        "out = [make(2)(3), make(5)(3)]"
    )
    notebook.cell(source)
    notebook.restart()
    assert notebook.ran == ["2 3", "5 3"]

    notebook.cell(source)

    assert notebook.namespace["out"] == [6, 15]
    assert notebook.ran == []


def test_a_client_may_be_given_and_may_be_read(notebook: Notebook) -> None:
    source = (
        "import openai\nclient = openai.OpenAI(api_key='sk-0123456789')\n"
        "@nbckpt.step\ndef ask(c, q):\n    ran(q)\n    return f'{q} {client.max_retries}'\n"
        "out = ask(client, 'a')"
    )
    notebook.cell(source)
    notebook.restart()
    assert notebook.ran == ["a"]

    notebook.cell(source)

    assert notebook.namespace["out"] == "a 2"
    assert notebook.ran == []
