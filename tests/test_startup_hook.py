"""The line that each Python of an environment runs as it starts, as wheels bring it there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.llm.hooked import HOOK, packages_in
from tests.test_labextension import contents, tracked_files, wheel

pytestmark = pytest.mark.tools


def test_it_is_one_line_that_begins_with_an_import() -> None:
    (line,) = HOOK.read_text().splitlines()

    assert line.startswith("import ")  # others are taken for folders


@pytest.mark.slow
def test_a_wheel_carries_it_where_python_looks(tmp_path: Path) -> None:
    clone = tracked_files(tmp_path / "clone")
    done = wheel(clone, tmp_path, {"PATH": str(tmp_path)})

    assert done.returncode == 0, done.stdout + done.stderr
    assert HOOK.name in contents(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        pytest.param([], id="installed"),
        pytest.param(
            ["-e"],
            id="editable",
            marks=pytest.mark.skipif(find_spec("editables") is None, reason="needs editables"),
        ),
    ],
)
def test_pip_brings_it_and_removes_it(options: list[str], tmp_path: Path) -> None:
    clone = tracked_files(tmp_path / "clone")
    venv.EnvBuilder(symlinks=True, with_pip=True).create(tmp_path / "env")
    packages = packages_in(tmp_path / "env")
    # The build's own needs come from here: nothing is fetched.
    found = [path for path in sys.path if path.endswith("-packages")]
    (packages / "a.pth").write_text("\n".join(found))
    pip = [tmp_path / "env" / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
    ways = {"env": {**os.environ, "PATH": str(tmp_path)}, "check": True, "capture_output": True}

    command = ["install", "--no-deps", "--no-build-isolation", "--no-index", "--ignore-installed"]
    subprocess.run([*pip, *command, *options, clone], **ways)

    assert (packages / HOOK.name).read_text() == HOOK.read_text()
    asked = "import sys; print('nbckpt.llm.startup_hook' in sys.modules)"
    for variable, is_loaded in (({}, b"False"), ({"NBCKPT_PARENT": "/nowhere:00:1"}, b"True")):
        ran = subprocess.run([pip[0], "-c", asked], env=variable, capture_output=True, check=True)
        assert (ran.stdout.strip(), ran.stderr) == (is_loaded, b"")

    subprocess.run([*pip, "uninstall", "--yes", "nbckpt"], **ways)
    assert not (packages / HOOK.name).exists()
    shutil.rmtree(clone)
