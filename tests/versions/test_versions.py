"""The fidelity and trap suites in paranoid mode, on the lowest and the newest versions."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.running import SOURCE
from tests.versions.environments import LONGEST_S, first_of
from tests.versions.table import (
    COLAB,
    COLAB_PYTHONS,
    LOWEST,
    LOWEST_PYTHON,
    NEWEST,
    NEWEST_PYTHONS,
    NOTEBOOK_TOOLS,
    NOTEBOOKS,
    OWN,
    TOOLS,
    UNTESTED,
)

MANY = 1000
"""Tests of the suites that pass in any environment; a hundred more may need newer packages."""


@pytest.fixture(scope="module")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where environments stay between runs."""
    cache = getattr(request.config, "cache", None)
    return tmp_path_factory.mktemp("versions") if cache is None else Path(cache.mkdir("versions"))


@pytest.mark.versions
@pytest.mark.timeout(2 * LONGEST_S)
def test_the_lowest_versions_keep_all_values_and_fall_into_no_trap(folder: Path) -> None:
    pins = [f"{name}=={version}" for name, version in LOWEST.items()]

    done = first_of(folder, [LOWEST_PYTHON], [*pins, *TOOLS]).paranoid()

    needs = _needs_of_skipped(done)
    without = {need for need in needs if not need.startswith("Python ") and ">=" not in need}
    assert without <= {*UNTESTED, "spacy"}


@pytest.mark.versions
@pytest.mark.timeout(2 * LONGEST_S)
def test_the_newest_versions_keep_all_values_and_fall_into_no_trap(folder: Path) -> None:
    environment = first_of(folder, NEWEST_PYTHONS, [*NEWEST, *TOOLS], is_renewed=True)

    done = environment.paranoid()

    assert _needs_of_skipped(done) <= UNTESTED


@pytest.mark.versions
@pytest.mark.timeout(2 * LONGEST_S)
def test_notebooks_on_the_stack_of_colab(folder: Path) -> None:
    pins = [f"{name}=={version}" for name, version in COLAB.items()]
    stack = first_of(folder, COLAB_PYTHONS, [*pins, *NOTEBOOK_TOOLS, *TOOLS, *OWN])

    done = stack.notebooks(NOTEBOOKS)

    assert done.returncode == 0, f"{done.stdout[-12_000:]}\n{done.stderr[-3000:]}"


@pytest.mark.versions
def test_it_is_installed_there_without_changing_what_is_there(folder: Path) -> None:
    pins = [f"{name}=={version}" for name, version in COLAB.items()]
    stack = first_of(folder, COLAB_PYTHONS, [*pins, "rich", "setuptools"])

    more = stack.would_install(_project()["dependencies"])

    assert more.keys().isdisjoint(map(canonicalize_name, COLAB))
    assert more.keys() >= {"blake3", "pyfastcdc"}


def _needs_of_skipped(done: subprocess.CompletedProcess[str]) -> set[str]:
    """What the skipped tests of a run need, in which all the others passed."""
    assert done.returncode == 0, f"{done.stdout[-12_000:]}\n{done.stderr[-3000:]}"
    passed = re.search(r"(\d+) passed", done.stdout.splitlines()[-1])
    assert passed, done.stdout[-1000:]
    assert int(passed[1]) >= MANY
    skipped = re.findall(r"^SKIPPED .*?: (.*)$", done.stdout, re.MULTILINE)
    assert all(reason.startswith("needs ") for reason in skipped), skipped
    return {reason.removeprefix("needs ") for reason in skipped}


def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads(Path(SOURCE, "pyproject.toml").read_text())["project"]
    return project


def _bounds(requirements: list[str]) -> dict[str, Version]:
    """Distribution → its lower bound, of those that have one."""
    parsed = map(Requirement, requirements)
    return {
        canonicalize_name(one.name): Version(specifier.version)
        for one in parsed
        for specifier in one.specifier
        if specifier.operator == ">="
    }


def test_the_lowest_versions_are_the_lower_bounds_of_the_project() -> None:
    project = _project()
    extras = [one for extra in project["optional-dependencies"].values() for one in extra]
    bounds = _bounds(project["dependencies"] + extras)
    lowest = {canonicalize_name(name): Version(version) for name, version in LOWEST.items()}

    both = bounds.keys() & lowest.keys()

    assert {name: lowest[name] for name in both} == {name: bounds[name] for name in both}


def test_each_dependency_of_the_project_is_tested_at_its_lower_bound() -> None:
    project = _project()

    assert _bounds(project["dependencies"]).keys() <= LOWEST.keys()
    assert project["requires-python"] == f">={LOWEST_PYTHON}"
