"""How calls come to be seen: libraries that come early, late, twice, or are not as they were."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import httpx2
import pytest

from nbckpt.llm import current, scope, seams
from nbckpt.llm.seams import httpx as seam
from nbckpt.session.session import Session
from nbckpt.testing import Provider
from tests.jupyter.test_cells import run
from tests.llm.asking import body, post, records_of
from tests.running import environment


def python(code: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**environment(), "STORE": str(folder / "store")},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


OPEN = "import nbckpt, os, sys\nnbckpt.open(os.environ['STORE'], globals())\n"


@pytest.mark.slow
def test_opening_a_store_imports_no_http_library(tmp_path: Path) -> None:
    loaded = python(f"{OPEN}print(*sys.modules)", tmp_path).split()

    assert set(loaded).isdisjoint(
        {"httpx", "httpx2", "aiohttp", "requests", "urllib3", "json.tool"}
    )
    assert set(loaded).isdisjoint({"nbckpt.llm.recorder", "nbckpt.llm.seams.httpx"})


@pytest.mark.slow
@pytest.mark.parametrize("library", ["httpx", "httpx2"])
def test_a_library_is_patched_as_soon_as_it_is_imported(library: str, tmp_path: Path) -> None:
    told = python(
        f"{OPEN}import {library} as library\nfrom importlib.resources import files\n"
        "print(library.Client._send_single_request.is_nbckpts_own,"
        " 'exec_module' in vars(library.__spec__.loader), files(library).is_dir())",
        tmp_path,
    )

    assert told == "True False True"


@pytest.mark.slow
def test_a_library_that_is_not_installed_is_not_found(tmp_path: Path) -> None:
    told = python(
        f"import nbckpt.llm.seams as seams\nseams.SEAMS['no_such_library'] = 'x'\n{OPEN}"
        "try:\n    import no_such_library\nexcept ModuleNotFoundError as error:\n    print(error)",
        tmp_path,
    )

    assert told == "No module named 'no_such_library'"


def test_a_library_without_the_private_name_is_told_once_by_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module: Any = ModuleType("httpx")
    module.Client = module.AsyncClient = type("Client", (), {})
    module.__version__ = "9.9"
    monkeypatch.setattr(seams, "missed", [])

    with pytest.warns(
        UserWarning, match=r"through httpx 9.9 are NOT recorded: Client has no _send"
    ):
        seams._patch(module)
    seams._patch(module)

    assert len(seams.missed) == 1


def test_what_is_patched_twice_calls_once_and_can_be_as_it_was(
    provider: Provider, recorded: Session
) -> None:
    seam.patch(httpx)
    with scope.entered("step"):
        post(provider.url, body())
    assert len(records_of(recorded)) == 1

    seams.uninstall()
    try:
        assert not hasattr(httpx.Client._send_single_request, "original")
        assert not hasattr(httpx2.AsyncClient._send_single_request, "original")
        with scope.entered("step"):
            post(provider.url, body())
        assert provider.answered == 2
    finally:
        seams.install()


def test_a_call_inside_another_library_is_recorded_once(
    provider: Provider, recorded: Session
) -> None:
    class Through(httpx.BaseTransport):
        """One library standing on another, as openai over aiohttp does."""

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            with httpx2.Client() as inner:
                content = request.read()
                headers = {"content-type": request.headers["content-type"]}
                answer = inner.post(str(request.url), content=content, headers=headers)
                return httpx.Response(answer.status_code, json=answer.json())

    url = f"{provider.url}/v1/chat/completions"
    with scope.entered("step"), httpx.Client(transport=Through()) as client:
        for _ in range(2):
            client.post(url, json=body())

    assert [r["occurrence"] for r in records_of(recorded)] == [0, 1]


def test_without_a_session_everything_goes_through(provider: Provider, recorded: Session) -> None:
    current.end()
    with scope.entered("step"):
        post(provider.url, body())

    assert provider.answered == 1
    assert records_of(recorded) == []


@pytest.mark.slow
def test_the_magic_switches_recording_off_and_on(
    shell: Any, provider: Provider, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = f"import httpx\na = httpx.post('{provider.url}/v1/chat/completions', json={body()!r}).text\n"
    run(shell, f"%%checkpoint ask\n{ask}raise ValueError")
    run(shell, "%nbckpt record off")
    run(shell, f"%%checkpoint ask\n{ask}raise ValueError")
    assert provider.answered == 2
    capsys.readouterr()

    run(shell, "%nbckpt record on")
    run(shell, f"%%checkpoint ask\n{ask}")

    assert provider.answered == 2
    assert (
        "recorded: on, in cells that are kept; seen so far: 2 of openai" in capsys.readouterr().out
    )


def test_a_mode_that_is_none_is_refused() -> None:
    with pytest.raises(Exception, match="no mode 'never' of recording: it is one of replay, "):
        scope.recording("never").__enter__()  # type: ignore[arg-type]
