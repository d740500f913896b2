"""The TypeScript of the timeline: its types, style, unit tests, and its way into the package."""

from __future__ import annotations

import gzip
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import nbckpt
from labextension.hatch_build import (
    BUILT,
    SHARED,
    SIDEBAR,
    build,
    is_current,
    node_version,
    sources_digest,
)
from tests import node_packages
from tests.node_packages import SOURCE

pytestmark = pytest.mark.tools

ROOT = Path(__file__).parent.parent

needs_node = pytest.mark.skipif(
    bool(os.environ.get("NBCKPT_NO_NODE")) and not shutil.which("node"),
    reason="NBCKPT_NO_NODE is set",
)


@pytest.fixture(scope="module")
def npm() -> str:
    """npm, with the packages of the lock file in place."""
    return node_packages.npm()


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources in a folder of their own, without what npm puts there."""
    ignored = shutil.ignore_patterns("node_modules", "lib", "__pycache__")
    (tmp_path / "nbckpt").mkdir()
    shutil.copy(ROOT / "nbckpt" / "version.py", tmp_path / "nbckpt")
    return Path(shutil.copytree(SOURCE, tmp_path / "labextension", ignore=ignored))


def as_if_built(copy: Path) -> Path:
    """What a build of `copy` leaves beside it, but for its content; the widget's file."""
    (copy.parent / SIDEBAR).mkdir()
    (copy.parent / SIDEBAR / "package.json").write_text("{}")
    built = copy.parent / BUILT
    built.parent.mkdir(parents=True)
    built.write_text(f"// sources {sources_digest(copy)}\nexport default {{}};\n")
    return built


@pytest.mark.slow
@needs_node
@pytest.mark.parametrize("script", ["types", "lint", "format:check", "test"])
def test_the_script_is_content(npm: str, script: str) -> None:
    done = subprocess.run(
        [npm, "run", "--silent", script],
        cwd=SOURCE,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@needs_node
def test_the_built_file_names_the_sources_it_was_made_from(npm: str) -> None:
    assert build(SOURCE, ROOT) == ""

    assert is_current(SOURCE, ROOT)
    written = (ROOT / BUILT).read_text(encoding="utf-8")
    assert "export{" in written
    assert "import(" not in written, "one file, and nothing that it fetches"
    assert "eval(" not in written
    assert len(written) < 120_000


@pytest.mark.parametrize(
    "source",
    ["src/timeline/style.css", "schema/plugin.json", "style/base.css", "../nbckpt/version.py"],
)
def test_any_change_of_a_source_makes_the_built_files_old(copy: Path, source: str) -> None:
    as_if_built(copy)
    assert is_current(copy, copy.parent)

    tests = copy / "src" / "__tests__" / "layout.test.ts"
    tests.write_text(tests.read_text() + "\n")
    assert is_current(copy, copy.parent)
    changed = copy / source
    changed.write_text(changed.read_text() + "\n")

    assert not is_current(copy, copy.parent)


def test_a_widget_without_its_sidebar_is_not_enough(copy: Path) -> None:
    as_if_built(copy)

    shutil.rmtree(copy.parent / SIDEBAR)

    assert not is_current(copy, copy.parent)


def test_a_current_file_needs_no_node(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_if_built(copy)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert build(copy, tmp_path) == ""


def test_without_node_the_reason_is_told(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    refusal = build(copy, tmp_path)

    assert refusal == "Node 20.19 or newer is not installed"


def program(folder: Path, name: str, body: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_an_old_node_is_refused(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = program(tmp_path, "node", "echo v18.19.0")
    program(tmp_path, "npm", "exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))

    assert node_version(str(node)) == (18, 19)
    assert build(copy, tmp_path) == f"{node} is older than Node 20.19"


def test_a_registry_that_cannot_be_reached_is_told_with_npms_own_words(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "node", "echo v20.19.0")
    program(tmp_path, "npm", "echo something; echo 'npm error network refused' >&2; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")

    refusal = build(copy, tmp_path)

    assert refusal == "npm did not succeed (npm error network refused)"


@pytest.mark.slow
@pytest.mark.parametrize("strict", ["0", "1"])
def test_a_wheel_without_node_carries_python_alone_or_fails_where_that_is_asked(
    tmp_path: Path, strict: str
) -> None:
    clone = tracked_files(tmp_path / "clone")
    done = wheel(clone, tmp_path, {"PATH": str(tmp_path), "NBCKPT_REQUIRE_LABEXTENSION": strict})

    if strict == "1":
        assert done.returncode != 0
        assert (
            "installed without %timeline and sidebar: Node 20.19 or newer is not installed"
            in done.stdout + done.stderr
        )
        return
    assert done.returncode == 0, done.stdout + done.stderr
    assert "installed without %timeline" in done.stdout + done.stderr
    assert not any("timeline.js" in name or SHARED in name for name in contents(tmp_path))


@pytest.mark.slow
@needs_node
def test_wheels_and_sdist_carry_what_was_built_once(npm: str, tmp_path: Path) -> None:
    clone = tracked_files(tmp_path / "clone")
    assert build(SOURCE, ROOT) == ""
    (clone / BUILT).parent.mkdir(parents=True)
    shutil.copy(ROOT / BUILT, clone / BUILT)
    shutil.copytree(ROOT / SIDEBAR, clone / SIDEBAR)

    done = wheel(clone, tmp_path, {"PATH": str(tmp_path)})

    assert done.returncode == 0, done.stdout + done.stderr
    for names in (contents(tmp_path), in_sdist(tmp_path)):
        assert [name for name in names if "timeline.js" in name] == [BUILT.as_posix()]
    assert below("/data/" + SHARED, contents(tmp_path)) == on_disk(ROOT / SIDEBAR)
    assert below(f"{SIDEBAR}", in_sdist(tmp_path)) == on_disk(ROOT / SIDEBAR)
    assert not any("node_modules" in name for name in in_sdist(tmp_path))


@needs_node
def test_an_editable_installation_shows_the_sidebar_too() -> None:
    installed = [str(path) for path in importlib.metadata.files("nbckpt") or []]

    assert "package.json" in below(SHARED, installed), "run `pip install -e .` with Node on PATH"


@needs_node
def test_the_page_fetches_less_than_200_kb_for_the_sidebar(npm: str) -> None:
    assert build(SOURCE, ROOT) == ""

    scripts = (ROOT / SIDEBAR / "static").glob("*.js")

    assert 3_000 < sum(len(gzip.compress(path.read_bytes())) for path in scripts) < 200_000


@needs_node
def test_the_sidebar_tells_its_version_and_how_to_remove_it(npm: str) -> None:
    assert build(SOURCE, ROOT) == ""

    package = json.loads((ROOT / SIDEBAR / "package.json").read_text())
    installed = json.loads((ROOT / SIDEBAR / "install.json").read_text())

    assert (package["name"], package["version"]) == ("nbckpt", nbckpt.__version__)
    assert package["jupyterlab"]["_build"]["extension"] == "./extension"
    assert installed["packageName"] == "nbckpt"


def test_nothing_that_is_generated_is_in_git() -> None:
    generated = ["nbckpt/labextension", "nbckpt/jupyter/static", "labextension/lib"]
    listed = ["git", "ls-files", "--", *generated, "labextension/node_modules"]

    done = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout == ""


def test_the_lock_file_names_no_registry() -> None:
    packages = json.loads((SOURCE / "package-lock.json").read_text())["packages"]

    assert len(packages) > 100
    assert not [name for name, package in packages.items() if "resolved" in package]


def wheel(
    clone: Path, target: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Build sdist and wheel of `clone` into `target` as pip does, where `environment` says."""
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(target)],
        cwd=clone,
        env={"HOME": str(target), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def contents(target: Path) -> list[str]:
    """Names of the files in the one wheel of `target`."""
    (path,) = target.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def in_sdist(target: Path) -> list[str]:
    """Names of the files in the one sdist of `target`, from its root."""
    (path,) = target.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        return [name.partition("/")[2] for name in archive.getnames()]


def below(folder: str, names: list[str]) -> list[str]:
    """Those of `names` that are in `folder`, as seen from there."""
    found = [name.partition(f"{folder}/")[2] for name in names]
    return sorted(name for name in found if name)


def on_disk(folder: Path) -> list[str]:
    """Names of all files in `folder`, as seen from there."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path.relative_to(folder).as_posix() for path in paths)


def tracked_files(target: Path) -> Path:
    """What git knows of the working tree, as a fresh clone has it."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.split("\0"):
        if name and (ROOT / name).exists() and not name.startswith(("tests/", "notebooks/")):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    (target / "notebooks").mkdir()
    shutil.copy(ROOT / "notebooks/quickstart.ipynb", target / "notebooks")
    return target
