"""Model calls of processes that a step starts are recorded there, by whatever way it starts them."""

from __future__ import annotations

import asyncio
import ctypes
import multiprocessing.spawn
import os
import re
import shutil
import site
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.launcher import launch_kernel

from nbckpt.config.budget_rule import BudgetRule
from nbckpt.llm import current, scope
from nbckpt.llm.child_processes import call_server
from nbckpt.llm.seams.process_starts import VARIABLE
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.storage.store import Store
from nbckpt.testing import Provider
from tests import kernels
from tests.kernels import Kernel
from tests.llm import child_asks
from tests.llm.asking import failures_of, records_of
from tests.llm.hooked import packages_in, python_in
from tests.llm.surviving import survived

pytestmark = pytest.mark.slow

SCRIPT = child_asks.__file__
DEAR = f"{child_asks.MODEL}=0/100000"


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A Python with the hook, and one without."""
    folder = tmp_path_factory.mktemp("environments")
    return {
        name: python_in(folder / name, has_hook=name == "hooked") for name in ("hooked", "bare")
    }


@pytest.fixture(autouse=True)
def _hooked(environments: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have children be started as by a notebook that runs where nbckpt is installed."""
    before = multiprocessing.spawn.get_executable()
    run_in(environments["hooked"], monkeypatch)
    yield
    multiprocessing.set_executable(before)


def run_in(python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be as in another environment, of which only the children are."""
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(site, "PREFIXES", [str(python.parents[1])])
    multiprocessing.set_executable(str(python))


@contextmanager
def opened(folder: Path) -> Iterator[Session]:
    """A session as after a restart."""
    store = Store.open(folder)
    session = current_session.begin(Session(store, {"__name__": "__main__"}, notebook="test"))
    yield session
    current_session.end()
    store.close()


def wait_until(is_so: Callable[[], object], timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def budget(usd: float) -> None:
    recorder = current.recorder()
    assert recorder is not None
    recorder.budget.set(BudgetRule(usd))


def in_flight() -> int:
    """The calls for which the budget has put something aside."""
    recorder = current.recorder()
    assert recorder is not None
    return len(recorder.budget._reserved)


def news(session: Session) -> list[str]:
    return list(session.writes.news)


def by_pool(way: str, prompts: Sequence[str], method: str = "spawn") -> list[str]:
    with multiprocessing.get_context(method).Pool(2) as pool:
        return pool.map(child_asks.WAYS[way], prompts, chunksize=1)


def by_fork_server(way: str, prompts: Sequence[str]) -> list[str]:
    return by_pool(way, prompts, "forkserver")


def by_executor(way: str, prompts: Sequence[str]) -> list[str]:
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(child_asks.WAYS[way], prompts))


def by_loky(way: str, prompts: Sequence[str]) -> list[str]:
    import joblib

    calls = (joblib.delayed(child_asks.WAYS[way])(prompt) for prompt in prompts)
    return list(joblib.Parallel(2)(calls))


def by_command(way: str, prompts: Sequence[str], **options: Any) -> list[str]:
    command = [sys.executable, SCRIPT, way, *prompts]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options)
    return done.stdout.splitlines()


def by_command_with_environment(way: str, prompts: Sequence[str]) -> list[str]:
    return by_command(way, prompts, env=dict(os.environ))


def by_shell(way: str, prompts: Sequence[str]) -> list[str]:
    command = f"{sys.executable} {SCRIPT} {way} {' '.join(prompts)}"
    return subprocess.check_output(command, shell=True, text=True).splitlines()


def by_task(way: str, prompts: Sequence[str]) -> list[str]:
    async def run() -> bytes:
        command = [sys.executable, SCRIPT, way, *prompts]
        process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
        return (await process.communicate())[0]

    return asyncio.run(run()).decode().splitlines()


def by_terminal(way: str, prompts: Sequence[str]) -> list[str]:
    import pexpect

    said, status = pexpect.run(
        f"{sys.executable} {SCRIPT} {way} {' '.join(prompts)}", withexitstatus=True, timeout=60
    )
    assert status == 0
    return said.decode().splitlines()


def by_system(way: str, prompts: Sequence[str]) -> list[str]:
    with tempfile.NamedTemporaryFile() as file:
        os.system(f"{sys.executable} {SCRIPT} {way} {' '.join(prompts)} > {file.name}")
        return Path(file.name).read_text().splitlines()


Start = Callable[[str, Sequence[str]], list[str]]
STARTS: list[Start] = [
    *(by_pool, by_fork_server, by_executor, by_loky),
    *(by_command, by_command_with_environment, by_shell, by_task, by_terminal, by_system),
]


def started(start: Start, way: str, prompts: Sequence[str]) -> list[str]:
    """The answers of children that one step starts."""
    try:
        with scope.entered("step"):
            return start(way, prompts)
    finally:
        end_pools()


def end_pools() -> None:
    """End what lives on for the next step."""
    if (loky := sys.modules.get("joblib.externals.loky")) is not None:
        loky.get_reusable_executor().shutdown(wait=True)
    if (module := sys.modules.get("multiprocessing.forkserver")) is not None:
        module._forkserver._stop()


@pytest.mark.parametrize("start", STARTS)
def test_calls_of_a_process_are_recorded_and_replayed(
    start: Start, provider: Provider, folder: Path
) -> None:
    prompts = ["one", "two", "same", "same", "same"]
    with opened(folder) as session:
        first = started(start, "by_openai", prompts)
        records = records_of(session)
        assert news(session) == []
    provider.stop()
    with opened(folder) as session:
        again = started(start, "by_openai", prompts)

    assert len(set(first)) == 5
    assert {record["step"] for record in records} == {"step"}
    assert len(records) == 5
    # Which worker gets which of equal ones depends on which comes first.
    assert (again[:2], sorted(again)) == (first[:2], sorted(first))


@pytest.mark.parametrize(
    "way", ["by_httpx", "by_requests", "by_aiohttp", "by_stream", "by_tasks", "after_a_fork"]
)
def test_each_library_records_in_a_process(way: str, provider: Provider, folder: Path) -> None:
    with opened(folder) as session:
        first = started(by_command, way, ["one", "same", "same"])
        assert {record["state"] for record in records_of(session)} == {"done"}
        paid = provider.answered
        assert news(session) == []
    provider.stop()
    with opened(folder):
        assert started(by_command, way, ["one", "same", "same"]) == first

    assert len(set(first)) == 3
    assert paid == {"by_tasks": 60, "after_a_fork": 6}.get(way, 3)


def test_a_pool_that_lives_on_records_under_the_step_that_runs(
    provider: Provider, recorded: Session
) -> None:
    with scope.entered("one"):
        by_loky("by_httpx", ["a", "b"])
    with scope.entered("two"):
        by_loky("by_httpx", ["c", "d"])
        with scope.recording("off"):
            by_loky("by_httpx", ["e", "f"])
    by_loky("by_httpx", ["g", "h"])
    end_pools()

    steps = [record["step"] for record in records_of(recorded)]
    assert steps == ["one", "one", "two", "two"]
    assert provider.answered == 8


def test_a_block_holds_for_a_process_that_was_started_before_it(
    provider: Provider, recorded: Session
) -> None:
    with scope.entered("step"), multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.map(child_asks.by_httpx, ["a"])
        with scope.recording("off"):
            pool.map(child_asks.by_httpx, ["b"])
        pool.map(child_asks.by_httpx, ["c"])

    assert len(records_of(recorded)) == 2
    assert provider.answered == 3


def test_a_process_of_a_step_that_was_left_is_of_the_step_around_it(
    provider: Provider, recorded: Session
) -> None:
    command = [sys.executable, "-c", f"input()\nexec(open({SCRIPT!r}).read())", "by_httpx", "hi"]
    with scope.entered("outer"):
        with scope.entered("inner"):
            process = subprocess.Popen(command, stdin=subprocess.PIPE)
        process.communicate(b"\n")

    assert [record["step"] for record in records_of(recorded)] == ["outer"]


def test_blocks_hold_in_processes(provider: Provider, recorded: Session) -> None:
    with scope.entered("step"):
        with scope.recording("off"):
            by_command("by_httpx", ["a"])
        by_command("off", ["b"])
        with scope.recording(tags=["mine"]):
            by_command("by_httpx", ["c"])

    (record,) = records_of(recorded)
    assert record["tags"] == ["mine"]
    assert provider.answered == 3


def test_a_call_that_was_not_recorded_is_stopped_in_a_process_too(
    provider: Provider, recorded: Session
) -> None:
    with scope.entered("step"), scope.recording("only"):
        assert by_command("to_the_end", ["a"]) == ["ReplayError"]

    assert provider.answered == 0


def test_equal_calls_of_processes_in_flight_share_an_answer(
    provider: Provider, recorded: Session
) -> None:
    provider.slow(first_s=1.5)
    with scope.entered("step"), scope.recording(coalesce=True):
        answers = by_pool("by_httpx", ["same", "same"])

    assert (len(set(answers)), provider.answered) == (1, 1)


@pytest.mark.parametrize("way", ["in_threads", "in_tasks"])
def test_equal_calls_of_one_process_share_an_answer(
    way: str, provider: Provider, recorded: Session
) -> None:
    provider.slow(first_s=1.0)
    with scope.entered("step"), scope.recording(coalesce=True):
        (answers,) = by_command(way, ["same"])

    assert (len(set(answers.split("|"))), provider.answered) == (1, 1)


def test_no_process_passes_the_budget(
    provider: Provider, recorded: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recorded.settings = replace(recorded.settings, prices=DEAR)
    budget(40.0)
    with scope.entered("step"):
        ends = by_pool("to_the_end", ["a", "b"])

    paid = [record["cost_usd"] for record in records_of(recorded)]
    assert ends == ["BudgetError", "BudgetError"]
    assert len(paid) == provider.answered > 5
    assert sum(paid) <= 40
    assert not in_flight()


def test_a_process_that_is_killed_gives_back_what_it_put_aside(
    provider: Provider, recorded: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recorded.settings = replace(recorded.settings, prices=DEAR)
    budget(40.0)
    provider.slow(first_s=30)
    with scope.entered("step"):
        process = subprocess.Popen([sys.executable, SCRIPT, "slowly", "a"])
        wait_until(lambda: provider.stats()["in_flight"] == 1)
        assert in_flight() == 1
        process.kill()
        process.wait()
        wait_until(lambda: failures_of(recorded))

    assert failures_of(recorded) == ["the process that asked has ended"]
    assert in_flight() == 0
    assert records_of(recorded) == []


def test_a_process_outside_of_steps_is_told_nothing(recorded: Session) -> None:
    command = [sys.executable, "-c", f"import os; print({VARIABLE!r} in os.environ)"]
    environment = dict(os.environ)

    outside = subprocess.check_output(command)
    with scope.entered("step"):
        inside = subprocess.check_output(command)
        with pytest.raises(FileNotFoundError):
            subprocess.run(["./no-such-program"], check=False)
        with pytest.raises(TypeError):
            subprocess.run(command, no_such_option=1)  # type: ignore[call-overload]
        assert dict(os.environ) == environment
        assert subprocess.check_output("env", env={}).count(VARIABLE.encode()) == 1

    assert (outside.strip(), inside.strip()) == (b"False", b"True")


def test_a_command_may_be_an_iterator(recorded: Session, capfd: pytest.CaptureFixture[str]) -> None:
    with scope.entered("step"):
        process = subprocess.Popen(word for word in [sys.executable, "-c", "print(1)"])
        done = subprocess.run(map(str, ["echo", 2]), capture_output=True, text=True, check=True)  # type: ignore[call-overload]

    assert process.wait() == 0
    assert done.stdout == "2\n"
    assert "defect" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("options", [{"args": None}, {"args": ["true"], "env": [("A", "1")]}])
def test_a_wrong_command_raises_what_it_raises_without_nbckpt(
    options: dict[str, Any], recorded: Session, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises((TypeError, AttributeError)) as without:
        subprocess.Popen(**options)
    with scope.entered("step"), pytest.raises(without.type, match=re.escape(str(without.value))):
        subprocess.Popen(**options)

    assert "defect" not in "".join(capfd.readouterr())


def test_what_threads_start_is_not_seen_in_the_environment_of_others(recorded: Session) -> None:
    seen, is_over = set(), threading.Event()

    def look() -> None:
        while not is_over.is_set():
            seen.add(VARIABLE in dict(os.environ))

    with scope.entered("step"):
        looking = threading.Thread(target=look)
        looking.start()
        for _ in range(20):
            subprocess.run(["true"], check=True)
            os.system("true")
        is_over.set()
        looking.join()

    assert seen == {False}
    assert subprocess.run(["printenv", VARIABLE], capture_output=True, check=False).stdout == b""


@pytest.mark.skipif(sys.platform == "win32", reason="the C library of Windows has its own")
def test_a_command_has_the_whole_environment_that_it_has_without_nbckpt(recorded: Session) -> None:
    libc = ctypes.CDLL(None)
    command = ["env", "-u", VARIABLE, "-0"]
    put = {b"NBCKPT_PUT": "\N{SNOWMAN}".encode(), b"NBCKPT_C": b"\xff=", b"NBCKPT_EMPTY": b""}
    os.putenv("NBCKPT_PUT", put[b"NBCKPT_PUT"])
    for name in (b"NBCKPT_C", b"NBCKPT_EMPTY"):
        libc.setenv(name, put[name], 1)
    os.environ["NBCKPT_UNSET"] = "1"
    libc.unsetenv(b"NBCKPT_UNSET")
    try:
        without = subprocess.check_output(command)
        with scope.entered("step"):
            within = subprocess.check_output(command)
    finally:
        for name in (*put, b"NBCKPT_UNSET"):
            os.unsetenv(name)
        del os.environ["NBCKPT_UNSET"]

    assert sorted(within.split(b"\0")) == sorted(without.split(b"\0"))
    assert {b"=".join(pair) for pair in put.items()} <= set(within.split(b"\0"))
    assert b"NBCKPT_UNSET" not in within


def test_commands_of_a_shell_run_beside_each_other(recorded: Session, tmp_path: Path) -> None:
    meet = "touch {0}; for n in $(seq 500); do test -e {1} && exit 0; sleep 0.01; done; exit 1"
    one, other = tmp_path / "one", tmp_path / "other"

    with scope.entered("step"), ThreadPoolExecutor(2) as threads:
        places = [scope.here()] * 2
        started = [
            threads.submit(scope.called_at, place, os.system, meet.format(*paths))
            for place, paths in zip(places, [(one, other), (other, one)], strict=True)
        ]

    assert [future.result() for future in started] == [0, 0]


def test_a_process_ends_as_without_nbckpt(provider: Provider, recorded: Session) -> None:
    def ran(source: str) -> tuple[int, bytes, bytes]:
        command = [sys.executable, "-W", "error", "-c", source]
        done = subprocess.run(command, capture_output=True, check=False)
        return done.returncode, done.stdout, done.stderr

    sources = [
        "pass",
        "import httpx, os\nhttpx.get(os.environ['OPENAI_BASE_URL'] + '/models')\n1 / 0",
        "import sys; sys.exit(3)",
        "import sys; print(sorted(m for m in sys.modules if m.startswith('http')))",
        "import os; os.kill(os.getpid(), 9)",
    ]
    before = [ran(source) for source in sources]
    with scope.entered("step"):
        after = [ran(source) for source in sources]

    assert after == before
    assert before[1][0] == 1
    assert b"ZeroDivisionError" in before[1][2]


@pytest.mark.parametrize("value", ["", "nonsense", "/nowhere:00ff:1", "a:b:c"])
def test_a_variable_that_names_no_parent_breaks_nothing(value: str, provider: Provider) -> None:
    ways = {"env": {**os.environ, VARIABLE: value}, "capture_output": True, "text": True}

    done = subprocess.run([sys.executable, SCRIPT, "by_httpx", "a"], check=False, **ways)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Answer 1")


def test_the_hook_without_nbckpt_is_silent(environments: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "alone"
    python = python_in(folder, has_hook=True)
    (packages_in(folder) / "a.pth").unlink()

    done = subprocess.run(
        [python, "-c", "print(1)"], env={VARIABLE: "a:00:1"}, capture_output=True, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"1\n", b"")


def test_the_socket_goes_with_the_session_and_lets_nobody_else_in(
    provider: Provider, folder: Path
) -> None:
    from multiprocessing import AuthenticationError
    from multiprocessing.connection import Client

    with opened(folder) as session, scope.entered("step"):
        by_command("by_httpx", ["a"])
        address = call_server.server().address_for(scope.here())
        place = Path(address.socket)
        assert place.parent.stat().st_mode & 0o777 == 0o700
        with pytest.raises((AuthenticationError, EOFError)):
            Client(address.socket, authkey=b"another")
        by_command("by_httpx", ["b"])
        assert len(records_of(session)) == 2
    wait_until(lambda: not place.parent.exists())
    wait_until(lambda: not [t for t in threading.enumerate() if "nbckpt-child" in t.name])


def test_what_killed_processes_have_left_is_removed(
    recorded: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    folders = [Path(tempfile.mkdtemp(prefix="nbckpt-calls-")) for _ in range(3)]
    sockets = [socket.socket(socket.AF_UNIX) for _ in folders]
    for folder, end in zip(folders, sockets, strict=True):
        end.bind(str(folder / "socket"))
    sockets[0].listen()
    for folder in folders[:2]:
        os.utime(folder / "socket", (0, 0))

    with scope.entered("step"):
        subprocess.run(["true"], check=True)

    assert [folder.exists() for folder in folders] == [True, False, True]
    for folder, end in zip(folders, sockets, strict=True):
        end.close()
        shutil.rmtree(folder, ignore_errors=True)


def test_a_process_goes_on_when_its_parent_is_gone(
    provider: Provider, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with opened(folder) as session, scope.entered("step"):
        process = subprocess.Popen(
            [sys.executable, SCRIPT, "to_the_end", "a"], stdout=subprocess.PIPE
        )
        wait_until(lambda: provider.answered > 2)
        assert records_of(session)
    before = provider.answered
    wait_until(lambda: provider.answered > before + 3)
    Path("stop").touch()

    said, _ = process.communicate(timeout=30)
    assert said.decode().strip().startswith("Answer")
    assert process.returncode == 0
    texts = Path("answers").read_text().splitlines()
    assert len(set(texts)) == len(texts) == provider.answered


def told(way: str) -> str:
    return f"works in processes of its own ({way}): what they ask of models is NOT recorded"


@pytest.mark.parametrize(
    ("start", "way"), [(by_pool, "spawn"), (by_loky, "loky"), (by_command, "python")]
)
def test_where_the_hook_is_not_installed_it_is_told_once(
    start: Start,
    way: str,
    provider: Provider,
    recorded: Session,
    environments: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_in(environments["bare"], monkeypatch)
    for _ in range(2):
        started(start, "by_httpx", ["a"])

    (text,) = news(recorded)
    assert f"step 'step' {told(way)}" in text
    assert records_of(recorded) == []


@pytest.mark.parametrize(
    ("words", "way"),
    [
        (["{other}/python3.12", "x.py"], "python3.12"),
        (["{here}3.99", "x.py"], "python3.99"),
        (["{other}/uv", "run", "x.py"], "uv"),
        ("STAGE=test {other}/python3 x.py && true", "python3"),
        (["bash", "-c", "{other}/python x.py"], "python"),
        (["{here}", "-IS", "-c", "pass"], "python"),
        (["{here}", "-I", "-c", "pass"], ""),
        (["{here}", "-c", "pass", "-S"], ""),
        (["{other}/git", "status"], ""),
        ("{here} -c pass", ""),
    ],
)
def test_a_python_that_does_not_look_for_its_parent_is_told(
    words: list[str] | str, way: str, provider: Provider, recorded: Session, tmp_path: Path
) -> None:
    for name in ("python", "python3", "python3.12", "uv", "git"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    Path(f"{sys.executable}3.99").unlink(missing_ok=True)
    Path(f"{sys.executable}3.99").symlink_to(tmp_path / "python")
    named = {"other": tmp_path, "here": sys.executable}
    command: Any = [w.format(**named) for w in words] if isinstance(words, list) else ""
    with scope.entered("step"):
        if command:
            subprocess.run(command, check=True)
        else:
            subprocess.run(str(words).format(**named), shell=True, check=True)

    texts = [text.partition(", and paid")[0] for text in news(recorded)]
    assert texts == ([f"step 'step' {told(way)}"] if way else [])


def test_a_fork_server_that_was_there_before_is_told_of(
    provider: Provider, recorded: Session
) -> None:
    by_fork_server("by_httpx", ["a"])
    with scope.entered("step"):
        by_fork_server("by_httpx", ["b"])
    end_pools()
    with scope.entered("step"):
        by_fork_server("by_httpx", ["c"])
        by_fork_server("by_httpx", ["d"])
    end_pools()

    (text,) = news(recorded)
    assert told("forkserver") in text
    assert len(records_of(recorded)) == 2


CELL = """%%checkpoint answers
import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from tests.llm.child_asks import by_httpx
with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
    answers = list(pool.map(by_httpx, [f"Document {n}" for n in range(20)]))
"""


def test_a_killed_kernel_pays_again_for_what_its_processes_had_at_most(
    tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "launch", launch_kernel)
    provider.slow(first_s=0.05)
    kills = 2
    begin = ["%load_ext nbckpt"]
    with survived(tmp_path, provider, begin, CELL, kills=kills, answers=5) as kernel:
        assert kernel.value("len(set(answers))") == "20"

    # Two that were asked, and three that the pool had handed out: its processes outlive the kernel.
    assert 20 <= provider.answered <= 20 + kills * 5


def test_commands_of_a_notebook_record(
    tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "launch", launch_kernel)
    ask = f"{sys.executable} {SCRIPT} by_httpx"
    cell = f"%%checkpoint asked\n!{ask} one\nsaid = !{ask} two\nget_ipython().system('{ask} three')"
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        first = kernel.run(f"{cell}\nraise ValueError")
        environment = kernel.value("'NBCKPT_PARENT' in __import__('os').environ")
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        again = kernel.run(cell)

    assert environment == "False"
    assert again.ok, again.error
    assert again.stdout == first.stdout
    assert first.stdout.count("Answer") == 2
    assert provider.answered == 3
