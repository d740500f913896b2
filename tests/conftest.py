"""Fresh things for tests."""

from __future__ import annotations

import atexit
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from nbckpt.session import Session
from nbckpt.storage.store import Store

# The summary is the last word: of what is still open when the interpreter ends nothing is said.
atexit.register(lambda: setattr(sys, "unraisablehook", lambda _: None))

settings.register_profile("quick", max_examples=50, deadline=None)
settings.register_profile(
    "thorough", max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("quick")


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the user who runs the tests: another user is one with another folder."""
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("home")
        patch.setenv("NBCKPT_HOME", str(home))
        yield home


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> Iterator[None]:
    """Have an interrupt raise `KeyboardInterrupt`: what a shell runs behind it ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A new store."""
    store = Store.open(tmp_path / ".nbckpt")
    yield store
    store.close()


@pytest.fixture
def session(store: Store) -> Session:
    """A session on a new store, with an empty namespace."""
    return Session(store, {"__name__": "__main__"}, notebook="test")


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A real IPython shell with nbckpt loaded, its store beside it."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    from nbckpt.jupyter.shell import unload

    monkeypatch.setenv("NBCKPT_STORE", str(tmp_path / ".nbckpt"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / ".ipython"))
    monkeypatch.chdir(tmp_path)
    main, hook, sys_path = sys.modules["__main__"], sys.displayhook, list(sys.path)
    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "nocolor"
    shell = InteractiveShell.instance(config=config)
    shell.run_line_magic("load_ext", "nbckpt")
    yield shell
    unload(shell)
    shell.atexit_operations()
    atexit.unregister(shell.atexit_operations)
    InteractiveShell.clear_instance()
    sys.modules["__main__"], sys.displayhook, sys.path[:] = main, hook, sys_path
