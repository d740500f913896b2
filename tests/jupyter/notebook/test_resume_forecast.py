"""What a resume would bring back and save, and which cells it would leave to run."""

from __future__ import annotations

import time
from typing import Any

import pytest

from nbckpt.errors import BranchNotFoundError
from nbckpt.jupyter.notebook.resume_forecast import resume_plan
from nbckpt.jupyter.page_requests import Panel
from nbckpt.timeline.checkpoint_records import checkpoint_record
from tests.jupyter.notebook.cells import Notebook, new_session

CELLS = {
    "ext": "%load_ext nbckpt",
    "quiet": "import warnings\nwarnings.filterwarnings('ignore')",
    "k": "k = 3",
    "load": "%%checkpoint load\ndf = [1, 2] * k",
    "look": "print(df)",
    "train": "%%checkpoint train\nt = sum(df)",
    "after": "u = t + 1",
}


def plan_of(notebook: Notebook, branch: str | None = None, **sources: str) -> dict[str, Any]:
    notebook.sources.update(sources)
    notebook.session.refresh()
    cells, now = notebook.document, time.time()
    return resume_plan(notebook.session, branch, cells, now=now)


def fates(plan: dict[str, Any]) -> dict[str, str]:
    return {cell["cell_id"]: cell["does"] for cell in plan["cells"]}


def why(plan: dict[str, Any], cell_id: str) -> str:
    return next(str(c["why"]) for c in plan["cells"] if c["cell_id"] == cell_id)


def stop(notebook: Notebook, name: str, cell_id: str, parent: str) -> None:
    """Leave what a loop leaves whose kernel was killed: a partial checkpoint."""
    session = notebook.session
    base = session.get(parent)
    record = {
        **checkpoint_record(base),
        "id": "f" * 20,
        "parent": base.id,
        "name": name,
        "state": "partial",
        "created_at": time.time(),
        "duration_s": 40.0,
        "progress": [0, 31, 50],
        "cell": {"source": notebook.sources[cell_id], "cell_id": cell_id},
    }
    session.writes.append([record]).result()
    session.timeline.apply(record)


def test_what_comes_back_is_told_from_the_record_of_the_head(shell: Any) -> None:
    notebook = Notebook(shell, CELLS)
    notebook.run("k", "load", "look", "train")

    plan = plan_of(notebook)

    assert plan["checkpoint"]["name"] == "train"
    assert plan["variables"] == 3
    assert 0 < plan["size_bytes"] < 1000
    assert 0 <= plan["age_s"] < 60
    assert plan["saves_s"] == sum(c.duration_s for c in notebook.session.history())
    assert (plan["saves_usd"], plan["refused"]) == (None, [])


def test_cells_up_to_the_head_do_not_run_and_those_after_it_do(shell: Any) -> None:
    notebook = Notebook(shell, CELLS)
    notebook.run("quiet", "k", "load", "look", "train")

    plan = plan_of(notebook)

    assert fates(plan) == {
        "ext": "skipped",
        "quiet": "restored",
        "k": "restored",
        "load": "restored",
        "look": "restored",
        "train": "restored",
        "after": "runs",
    }
    assert why(plan, "load") == "kept as 'load'"
    assert why(plan, "quiet") == "kept as 'load'"
    assert why(plan, "after") == "it comes after 'train'"


def test_a_cell_that_was_edited_since_is_told_and_does_not_run(shell: Any) -> None:
    notebook = Notebook(shell, CELLS)
    notebook.run("k", "load", "train")

    plan = plan_of(notebook, load="%%checkpoint load\n# the same\ndf  = [1, 2] * k")
    assert not any(cell["edited"] for cell in plan["cells"])
    plan = plan_of(notebook, train="%%checkpoint train\nt = max(df)")

    assert [c["cell_id"] for c in plan["cells"] if c["edited"]] == ["train"]
    assert fates(plan)["train"] == "restored"
    assert why(plan, "train").startswith("edited since")


def test_a_loop_that_died_goes_on_and_the_rest_runs(shell: Any) -> None:
    notebook = Notebook(shell, CELLS)
    notebook.run("k", "load")
    stop(notebook, "train", "train", "load")

    plan = plan_of(notebook)

    assert plan["checkpoint"]["name"] == "load"
    assert plan["saves_s"] > 40
    assert why(plan, "train") == "stopped at 31 of 50: it goes on there"
    assert fates(plan)["train"] == fates(plan)["after"] == "runs"
    assert fates(plan)["look"] == "runs"


def test_a_notebook_that_died_on_its_second_run_is_resumed_where_it_stood(shell: Any) -> None:
    notebook = Notebook(shell, CELLS)
    notebook.run("k", "load", "train")
    notebook.run("load")
    stop(notebook, "train", "train", "load")

    plan = plan_of(notebook)
    panel = Panel(notebook.session, shell, shell._nbckpt_extension.cells)
    answer = panel.answer("resume", {})

    assert plan["checkpoint"]["name"] == "load"
    assert fates(plan)["train"] == "runs"
    assert answer["result"]["checkpoint"] == plan["checkpoint"]["id"]
    assert "t" not in shell.user_ns


def test_a_cell_that_failed_runs_again(shell: Any) -> None:
    notebook = Notebook(shell, CELLS)
    notebook.run("k", "load")
    notebook.run(train="%%checkpoint train\nt = 1 / 0")

    plan = plan_of(notebook)

    assert why(plan, "train") == "it failed: ZeroDivisionError: division by zero"
    assert plan["checkpoint"]["name"] == "load"


def test_where_the_cell_of_the_head_is_gone_the_one_before_it_counts(shell: Any) -> None:
    notebook = Notebook(shell, CELLS)
    notebook.run("k", "load", "train")
    del notebook.sources["train"]

    plan = plan_of(notebook)

    assert (fates(plan)["load"], fates(plan)["look"]) == ("restored", "runs")


def test_what_could_not_be_kept_is_named(shell: Any) -> None:
    notebook = Notebook(shell)
    notebook.run(
        bad="%%checkpoint bad\nimport threading\nlock = (threading.Lock(), (i for i in [input]))"
    )

    [refused] = plan_of(notebook)["refused"]

    assert refused["variable"] == "lock"
    assert set(refused) == {"variable", "path", "type_name", "reason"}


def test_without_a_checkpoint_there_is_nothing_to_resume(shell: Any) -> None:
    plan = plan_of(Notebook(shell, CELLS))

    assert plan["checkpoint"] is None
    assert fates(plan)["ext"] == "skipped"
    assert fates(plan)["k"] == "runs"


def test_another_branch_can_be_asked_for(shell: Any) -> None:
    notebook = Notebook(shell, CELLS)
    notebook.run("k", "load", "train")
    notebook.session.fork("load", "other", {"k": 1})

    assert plan_of(notebook, "main")["checkpoint"]["name"] == "train"
    assert plan_of(notebook)["checkpoint"]["made_by"] == "fork"
    with pytest.raises(BranchNotFoundError, match="nowhere"):
        plan_of(notebook, "nowhere")


def test_a_block_that_stopped_is_found_in_its_cell(shell: Any) -> None:
    source = "import nbckpt\nwith nbckpt.checkpoint('b') as step:\n    x = 1\n    1 / 0"
    notebook = Notebook(shell, {**CELLS, "block": source})
    notebook.run("k", "load", "block")

    plan = plan_of(notebook)

    assert why(plan, "block") == "it failed: ZeroDivisionError: division by zero"


def test_cells_whose_ids_were_not_kept_are_known_by_their_texts(shell: Any) -> None:
    notebook = Notebook(shell, {**CELLS, "again": "print(df)"})
    notebook.run("k", "load", "look", "again", "train")
    before = plan_of(notebook)["cells"]
    notebook.sources = {f"new-{i}": source for i, source in notebook.sources.items()}

    plan = plan_of(notebook)

    assert plan["cells"] == [{**c, "cell_id": f"new-{c['cell_id']}"} for c in before]
    assert why(plan, "new-look") == "kept as 'train'"


def test_a_cell_runs_that_set_what_no_record_can_set(shell: Any) -> None:
    source = "%%checkpoint on\nget_ipython().events.register('pre_run_cell', lambda _: None)"
    notebook = Notebook(shell, {**CELLS, "on": source})
    notebook.run("k", "on")

    plan = plan_of(notebook)

    assert fates(plan)["on"] == "runs"
    assert "pre_run_cell callback 0, which cannot be set from a record" in why(plan, "on")


MADE = {
    "ext": "%load_ext nbckpt",
    "provider": "%%checkpoint provider\nfeed = (n for n in range(9))\nk = 2",
    "asked": "%%checkpoint asked\nanswer = next(feed) + k",
    "only": "%%checkpoint only\nrest = (n for n in range(9))",
    "sent": "%%checkpoint sent\nimport subprocess\nsubprocess.run(['true'])\nlog = (n for n in [1])",
    "end": "print(next(feed))",
}
SET_UP = {
    "ext": "%load_ext nbckpt",
    "before": "n = 1",
    "server": "server = (n for n in range(9))",
    "point": "import os\nos.environ['SERVER'] = str(id(server))",
    "client": "import httpx\nclient = httpx.Client()",
    "used": "first = next(server)",
    "load": "%%checkpoint load\ndf = [1, 2]",
}


def makes(plan: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    """What cells can make again, and what is told of it."""
    setups = {c["cell_id"] for c in plan["cells"] if c["sets_up"]}
    told = ((c["cell_id"], c["makes"], c["acts"], c["again"]) for c in plan["cells"])
    return {i: (tuple(names), acts, again) for i, names, acts, again in told if i in setups}


def test_cells_are_told_that_made_what_does_not_come_back(shell: Any) -> None:
    notebook = Notebook(shell, MADE)
    notebook.run("provider", "asked", "only", "sent")

    plan = plan_of(notebook)

    assert sorted(r["variable"] for r in plan["refused"]) == ["feed", "log", "rest"]
    assert makes(plan) == {
        "provider": (("feed",), "", False),  # `asked` has taken one of it
        "only": (("rest",), "", True),
        "sent": (("log",), "subprocess.run()", False),
    }
    assert fates(plan)["asked"] == "restored"


def test_what_leans_on_them_is_set_up_again_with_them(shell: Any) -> None:
    notebook = Notebook(shell, SET_UP)
    notebook.run_all()

    plan = plan_of(notebook)
    told = {c["cell_id"]: (tuple(c["makes"]), c["again"]) for c in plan["cells"] if c["sets_up"]}

    assert told == {
        "server": (("server",), False),
        "point": ((), False),
        "client": (("client",), False),
    }
    without = {i: source for i, source in SET_UP.items() if i != "used"}
    again = new_session(shell, without)
    again.run_all()
    told = {c["cell_id"]: c["again"] for c in plan_of(again)["cells"] if c["sets_up"]}
    assert told == {"server": True, "point": True, "client": True}


def test_a_cell_that_is_to_run_again_does_so_once_after_a_resume(shell: Any) -> None:
    notebook = Notebook(shell, {**CELLS, "k": "%%checkpoint k\nprint('ran')\nk = 3"})
    notebook.run("k", "load")
    again = new_session(shell, notebook.sources)
    panel = Panel(again.session, shell, shell._nbckpt_extension.cells)

    assert panel.answer("resume", {"again": ["k"]})["ok"]

    assert [ran(again, "k"), ran(again, "k")] == [True, False]


def ran(notebook: Notebook, cell_id: str) -> bool:
    """Run a cell; whether it ran instead of being restored."""
    notebook.run(cell_id)
    step = notebook.shell._nbckpt_extension.cells.steps.latest
    return step.restored is None


@pytest.mark.parametrize(
    "follower",
    [
        "os.environ['A'] = str(results.pop())",
        "os.environ['A'] = str(next(feed))",
        "os.environ.pop('A', id(feed))",
        "os.environ['A'] = os.environ['A'] + str(id(feed))",
        "os.environ.update(A=str(random.random()), B=str(id(feed)))",
        "other = (n for n in [next(feed)])",
    ],
)
def test_to_point_to_it_is_to_do_nothing_else(shell: Any, follower: str) -> None:
    sources = {
        "kept": "import os, random\nresults = [1, 2]\nos.environ['A'] = '1'",
        "maker": "%%checkpoint maker\nfeed = (n for n in range(9))",
        "follower": follower,
        "end": "%%checkpoint end\nz = 1",
    }
    notebook = Notebook(shell, sources)
    notebook.run_all()

    again = [c["cell_id"] for c in plan_of(notebook)["cells"] if c["again"]]

    assert "follower" not in again


@pytest.mark.parametrize(
    ("maker", "follower"),
    [
        ("feed = (n for n in range(9))", "results.append(next(feed))"),
        ("feed = (n for n in range(9))", "counts['n'] += next(feed)"),
        ("feed = (n for n in range(9))", "next(feed)"),
        ("feed = (n for n in range(9))", "print(next(feed))"),
        ("feed = begun()", "os.environ['A'] = str(id(feed))"),
        ("feed = (n for n in range(9)); results.append(1)", "os.environ['A'] = str(id(feed))"),
        ("feed = (n for n in range(9)); number += 1", "os.environ['A'] = str(id(feed))"),
        ("feed = (n for n in range(9)); random.seed(3)", "os.environ['A'] = str(id(feed))"),
        ("import random; feed = (n for n in range(9)); number = random.random()", "pass"),
        ("feed = (n for n in range(9))", "os.environ['A'] = str(id(feed)); os.system('true')"),
    ],
)
def test_a_cell_that_does_more_than_to_set_up_is_not_proposed(
    shell: Any, maker: str, follower: str
) -> None:
    sources = {
        "kept": "import os, random\nresults, number = [], 1\ncounts = {'n': 0}\n"
        "def begun():\n    return (n for n in range(9))",
        "maker": f"%%checkpoint maker\n{maker}",
        "follower": follower,
        "end": "%%checkpoint end\nz = 1",
    }
    notebook = Notebook(shell, sources)
    notebook.run_all()

    plan = plan_of(notebook)

    assert [c["cell_id"] for c in plan["cells"] if c["again"]] == []


def test_ids_of_cells_are_texts_and_are_forgotten_by_another_move(shell: Any) -> None:
    notebook = Notebook(shell, {**CELLS, "k": "%%checkpoint k\nk = 3"})
    notebook.run("k", "load")
    again = new_session(shell, notebook.sources)
    panel = Panel(again.session, shell, shell._nbckpt_extension.cells)
    assert not panel.answer("resume", {"again": 5})["ok"]
    assert panel.answer("resume", {"again": ["k"]})["ok"]

    assert panel.answer("rewind", {"ref": "k"})["ok"]

    assert not ran(again, "k")
