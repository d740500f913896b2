"""The TypeScript of the timeline: its types, style, unit tests, and its way into the package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from labextension.hatch_build import BUILT, build, is_current, node_version, sources_digest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "labextension"

needs_node = pytest.mark.skipif(
    bool(os.environ.get("NBCKPT_NO_NODE")) and not shutil.which("node"),
    reason="NBCKPT_NO_NODE is set",
)


@pytest.fixture(scope="module")
def npm() -> str:
    """npm, with the packages of the lock file in place."""
    found = shutil.which("npm")
    assert found, "install Node 20 or newer, or set NBCKPT_NO_NODE=1 to go without these tests"
    if not all((SOURCE / "node_modules" / name).exists() for name in ("typescript", "eslint")):
        subprocess.run([found, "ci"], cwd=SOURCE, check=True, capture_output=True, timeout=280)
    return found


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources in a folder of their own, without what npm puts there."""
    ignored = shutil.ignore_patterns("node_modules", "lib", "__pycache__")
    return Path(shutil.copytree(SOURCE, tmp_path / "labextension", ignore=ignored))


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


@needs_node
def test_the_built_file_names_the_sources_it_was_made_from(npm: str) -> None:
    assert build(SOURCE, ROOT / BUILT) == ""

    assert is_current(SOURCE, ROOT / BUILT)
    written = (ROOT / BUILT).read_text(encoding="utf-8")
    assert "export{" in written
    assert "import(" not in written, "one file, and nothing that it fetches"
    assert "eval(" not in written
    assert len(written) < 120_000


def test_any_change_of_a_source_makes_the_built_file_old(copy: Path, tmp_path: Path) -> None:
    built = tmp_path / "timeline.js"
    built.write_text(f"// sources {sources_digest(copy)}\nexport default {{}};\n")
    assert is_current(copy, built)

    tests = copy / "src" / "__tests__" / "layout.test.ts"
    tests.write_text(tests.read_text() + "\n")
    assert is_current(copy, built)
    style = copy / "src" / "timeline" / "style.css"
    style.write_text(style.read_text() + "\n")

    assert not is_current(copy, built)


def test_a_current_file_needs_no_node(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = tmp_path / "timeline.js"
    built.write_text(f"// sources {sources_digest(copy)}\n")
    monkeypatch.setenv("PATH", str(tmp_path))

    assert build(copy, built) == ""


def test_without_node_the_reason_is_told(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    refusal = build(copy, tmp_path / "timeline.js")

    assert refusal == "Node 20 or newer is not installed"


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

    assert node_version(str(node)) == 18
    assert build(copy, tmp_path / "timeline.js") == f"{node} is older than Node 20"


def test_a_registry_that_cannot_be_reached_is_told_with_npms_own_words(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "node", "echo v20.1.0")
    program(tmp_path, "npm", "echo something; echo 'npm error network refused' >&2; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")

    refusal = build(copy, tmp_path / "timeline.js")

    assert refusal == "npm did not succeed (npm error network refused)"


@pytest.mark.parametrize("strict", ["0", "1"])
def test_a_wheel_without_node_carries_python_alone_or_fails_where_that_is_asked(
    tmp_path: Path, strict: str
) -> None:
    clone = tracked_files(tmp_path / "clone")
    done = wheel(clone, tmp_path, {"PATH": str(tmp_path), "NBCKPT_REQUIRE_LABEXTENSION": strict})

    if strict == "1":
        assert done.returncode != 0
        assert (
            "installed without %timeline: Node 20 or newer is not installed"
            in done.stdout + done.stderr
        )
        return
    assert done.returncode == 0, done.stdout + done.stderr
    assert "installed without %timeline" in done.stdout + done.stderr
    assert not any("timeline.js" in name for name in contents(tmp_path))


@needs_node
def test_wheel_and_sdist_carry_the_built_file_once(npm: str, tmp_path: Path) -> None:
    clone = tracked_files(tmp_path / "clone")
    assert build(SOURCE, ROOT / BUILT) == ""
    (clone / BUILT).parent.mkdir(parents=True)
    shutil.copy(ROOT / BUILT, clone / BUILT)

    done = wheel(clone, tmp_path, {"PATH": str(tmp_path)})

    assert done.returncode == 0, done.stdout + done.stderr
    for names in (contents(tmp_path), in_sdist(tmp_path)):
        assert [name for name in names if "timeline.js" in name] == [BUILT.as_posix()]
    assert not any("node_modules" in name for name in in_sdist(tmp_path))


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
