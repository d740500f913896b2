"""What `import nbckpt` brings along, and the shape of its errors."""

from __future__ import annotations

import importlib.util
import json
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nbckpt import errors
from tests.running import environment

HEAVY = ("IPython", "duckdb", "pandas", "pyarrow", "numpy", "polars", "torch", "ipywidgets")


def loaded_by(statement: str) -> set[str]:
    """The modules that a new interpreter holds after `statement`."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment()
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "module", ["nbckpt", "nbckpt.session.session", "nbckpt.verbs", "nbckpt.steps.block"]
)
def test_importing_loads_no_heavy_package(module: str) -> None:
    loaded = loaded_by(f"import {module}")

    assert module in loaded
    assert loaded.isdisjoint(HEAVY)


@pytest.mark.slow
def test_a_script_that_keeps_a_plain_value_loads_no_heavy_package(tmp_path: Path) -> None:
    loaded = loaded_by(
        f"import nbckpt\nx = [1, 2]\ns = nbckpt.open({str(tmp_path)!r} + '/s', globals())\n"
        "s.checkpoint('a')\ns.wait()\nassert nbckpt.get('a').values['x'] == [1, 2]"
    )

    assert loaded.isdisjoint({"IPython", "duckdb", "pandas", "pyarrow"})


@pytest.mark.slow
def test_loading_into_ipython_and_resuming_loads_only_what_that_needs(tmp_path: Path) -> None:
    loaded_by(
        f"import nbckpt\nx = [1, 2]\ns = nbckpt.open({str(tmp_path)!r} + '/s', globals())\n"
        "s.checkpoint('a')\ns.wait()"
    )
    shell = (
        "import os, sys\n"
        f"os.environ['NBCKPT_STORE'] = {str(tmp_path)!r} + '/s'\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
    )
    before = loaded_by(shell)

    after = loaded_by(
        f"{shell}shell.run_line_magic('load_ext', 'nbckpt')\n"
        "shell.run_line_magic('nbckpt', 'auto on')\nshell.run_line_magic('resume', '')\n"
        "sys.stdout.flush()\nassert shell.user_ns['x'] == [1, 2]\nprint()"
    )

    added = {name.partition(".")[0] for name in after - before} - {"IPython"}
    assert added.isdisjoint({*HEAVY, "asyncio", "dill", "html", "nbformat", "rich", "ssl", "tqdm"})
    cells = {
        "capture.groups.groups",
        "fingerprint.code.names_of_cell",
        "fingerprint.keys",
        "fingerprint.values.walking",
        "steps.step",
        "storage.parquet_files",
    }
    assert all(importlib.util.find_spec(f"nbckpt.{name}") for name in cells)
    assert after.isdisjoint({f"nbckpt.{name}" for name in cells})


SHELL = """
import os, sys
os.environ['NBCKPT_STORE'] = {store!r}
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("%load_ext nbckpt")
"""


def ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] == "nbckpt"}


@pytest.mark.slow
def test_loading_into_ipython_loads_nothing_that_keeps_or_compares_values(tmp_path: Path) -> None:
    loaded = loaded_by(SHELL.format(store=str(tmp_path / "s")) + "print()")

    absent = {
        "capture.decode", "capture.observation.audit", "capture.restore", "capture.trials",
        "codecs", "fingerprint.keys", "reports.log", "runtime.dirty_pages",
        "session.moves", "session.workspace.stale_search", "steps.step",
        "storage.putting", "storage.reader", "types",
    }  # fmt: skip
    assert all(importlib.util.find_spec(f"nbckpt.{name}") for name in absent)
    assert loaded.isdisjoint({f"nbckpt.{name}" for name in absent})
    assert len(ours(loaded)) < 222


@pytest.mark.slow
def test_what_is_loaded_in_a_pause_is_all_that_the_first_checkpoints_need(tmp_path: Path) -> None:
    begun = (
        SHELL.format(store=str(tmp_path / "s"))
        + "from nbckpt.jupyter import preloading\nn_parts = len(list(preloading.parts()))\n"
    )
    cells = "shell.run_cell('%nbckpt auto on')\nshell.run_cell('a = [1]')\n"

    before = loaded_by(f"{begun}print()")
    after = loaded_by(f"{begun}{cells}sys.stdout.flush()\nprint()")

    assert ours(after) == ours(before)


@pytest.mark.slow
def test_a_command_that_lists_loads_nothing_that_looks_at_values(tmp_path: Path) -> None:
    store = str(tmp_path / "s")
    loaded_by(
        f"import nbckpt\nx = [1, 2]\ns = nbckpt.open({store!r}, globals())\n"
        "s.checkpoint('a')\ns.wait()"
    )

    for command in ("log", "status"):
        loaded = loaded_by(
            f"from nbckpt.cli import main\nmain([{command!r}, '--store', {store!r}])"
        )

        assert "nbckpt.timeline.timeline" in loaded
        assert "nbckpt.fingerprint.values" not in loaded
        assert loaded.isdisjoint({*HEAVY, "nbckpt.capture.capture", "nbckpt.session.workspace"})


@pytest.mark.slow
def test_all_public_names_are_there() -> None:
    loaded_by("import nbckpt\nfor name in nbckpt.__all__:\n    assert getattr(nbckpt, name)")


def drawn_tree(text: str) -> dict[str, str]:
    """Class → its base, read from the drawing in a docstring."""
    parents: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    for line in text.splitlines():
        found = re.match(r"^([\s│├└─]*)(\w*(?:Error|BaseException))\b", line)
        if found is None:
            continue
        depth, name = len(found[1]), found[2]
        above = [(d, n) for d, n in above if d < depth]
        if above:
            parents[name] = above[-1][1]
        above.append((depth, name))
    return parents


def test_the_error_classes_are_those_of_the_drawing() -> None:
    classes = [c for c in vars(errors).values() if isinstance(c, type)]
    real = {c.__name__: c.__bases__[0].__name__ for c in classes if c is not errors.NbckptError}

    assert drawn_tree(errors.__doc__ or "") == real
    assert len(real) > 10


@pytest.mark.parametrize("name", sorted(n for n, c in vars(errors).items() if isinstance(c, type)))
def test_an_error_says_its_sentence_and_survives_pickling(name: str) -> None:
    error = vars(errors)[name]("no checkpoint 'x': %nbckpt log lists them")

    again = pickle.loads(pickle.dumps(error))

    assert type(again) is type(error)
    assert str(again) == "no checkpoint 'x': %nbckpt log lists them"


def test_a_name_that_is_not_found_is_a_key_error() -> None:
    assert issubclass(errors.NotFoundError, KeyError)
