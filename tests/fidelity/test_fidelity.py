"""Each case of the suite, in one process and across two; and the table that says what holds."""

from __future__ import annotations

import fcntl
import json
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from tests.fidelity import running
from tests.fidelity.cases import Case, cases_of, modules
from tests.fidelity.table import TABLE, table

PARAMETERS = [
    pytest.param(module, case, id=f"{module}-{case.name}")
    for module in modules()
    for case in cases_of(module).values()
]


@pytest.fixture(scope="session")
def found(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], running.Found]]:
    """What came of a module's cases. Two modules run at a time, each of them once."""
    base = tmp_path_factory.getbasetemp()
    is_worker = hasattr(request.config, "workerinput")
    shared = base.parent / "fidelity" if is_worker else base / "fidelity"
    calls = (getattr(item, "callspec", None) for item in request.session.items)
    wanted = {
        call.params["module"] for call in calls if call and call.params.keys() >= {"module", "case"}
    }
    with ThreadPoolExecutor(1 if is_worker else 2) as pool:
        futures = {} if is_worker else {m: pool.submit(_run, m, shared) for m in sorted(wanted)}

        @cache
        def of(module: str) -> running.Found:
            return futures[module].result() if module in futures else _run(module, shared)

        yield of
        pool.shutdown(cancel_futures=True)


def _run(module: str, shared: Path) -> running.Found:
    """Run a module's cases, or read what another worker of this run found."""
    shared.mkdir(parents=True, exist_ok=True)
    with (shared / f"{module}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = shared / f"{module}.json"
        if not done.exists():
            found = running.run(module, shared / module)
            done.write_text(json.dumps([found.problems, sorted(found.ran)]))
        problems, ran = json.loads(done.read_text())
        return running.Found(problems, frozenset(ran))


@pytest.mark.sampled(8, by="module")
@pytest.mark.parametrize(("module", "case"), PARAMETERS)
def test_the_table_is_true(found: Callable[[str], running.Found], module: str, case: Case) -> None:
    if case.missing:
        pytest.skip(f"needs {case.missing}")

    problem = found(module).problem_of(case.name)

    assert not problem, problem


def test_the_table_is_current() -> None:
    assert TABLE.read_text() == table(), "run `python -m tests.fidelity`"


@pytest.mark.slow
def test_a_wrong_value_is_found_wrong() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = running.run("broken", Path(folder))

    assert "in one process: x: attributes" in found.problem_of("forgets a member")
    assert "in a second process: x: bits" in found.problem_of("differs in a second process")
    assert "its digest is another" in found.problem_of("has no digest of its own")
    assert "the refusal says" in found.problem_of("is refused for another reason")
    assert "ended with" in found.problem_of("dies")
    assert found.problem_of("is right") == ""
