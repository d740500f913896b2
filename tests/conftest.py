"""Fresh things for tests."""

from __future__ import annotations

import atexit
import builtins
import compileall
import contextlib
import functools
import gc
import importlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from nbckpt.model import Checkpoint
from nbckpt.session.session import Session
from nbckpt.storage.store import Store
from nbckpt.testing import Provider

# The summary is the last word: of what is still open when the interpreter ends nothing is said.
atexit.register(lambda: setattr(sys, "unraisablehook", lambda _: None))

settings.register_profile("quick", max_examples=50, deadline=None)
settings.register_profile(
    "thorough", max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("quick")

VERIFIED: pytest.StashKey[int] = pytest.StashKey()
"""How long the log of `NBCKPT_VERIFY` was when a test began."""

if os.environ.get("NBCKPT_VERIFY", "off") not in ("off", "0", ""):
    # One file for this process and all that its tests start. A test that sets the variable itself
    # has a log of its own.
    os.environ["NBCKPT_VERIFY_LOG"] = str(Path(tempfile.mkdtemp()) / "verify.log")
LOG = Path(os.environ.get("NBCKPT_VERIFY_LOG", os.devnull))


def pytest_configure(config: pytest.Config) -> None:
    """Have bytecode be written: each of the thousands of processes would compile all anew.

    What tests import first is compiled before, by as many processes as there are processors.
    """
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if not hasattr(config, "workerinput"):
        root = Path(__file__).parent
        for folder in (root.parent / "nbckpt", root):
            compileall.compile_dir(folder, quiet=2, workers=2)


_KERNELS = {
    "tests.kernels",
    "tests.kernel_server",
    "tests.running",
    "tests.capture.observation.kernels",
}
"""Modules with which tests start kernels."""


_QUICK_PAGES = "test_sidebar.py"
"""The tests in an application's pages that run with the quick ones, and stand for all."""


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses by the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what they start, and cases beyond the sample of a long list."""
    seen: dict[str, dict[object, int]] = {}
    for item in items:
        folder = item.path.parent.as_posix()
        if folder.endswith(("tests/browser", "tests/jupyter/view")):
            item.add_marker("browser")
        if folder.endswith("tests/browser") and item.path.name != _QUICK_PAGES:
            item.add_marker("slow")
        if (module := getattr(item, "module", None)) is not None and _starts_kernels(module):
            item.add_marker("kernel")
        if (sampled := item.get_closest_marker("sampled")) is not None:
            function = f"{item.path}::{getattr(item, 'originalname', item.name)}"
            places = seen.setdefault(function, {})
            place = places.setdefault(_group_of(item, **sampled.kwargs), len(places))
            if place % sampled.args[0]:
                item.add_marker("exhaustive")


def _group_of(item: pytest.Item, by: str | None = None) -> object:
    """The case, or the value of its parameter `by`: all with that value are in the sample or not."""
    call = getattr(item, "callspec", None)
    return call.params[by] if by is not None and call is not None else item.name


@functools.cache
def _starts_kernels(module: ModuleType) -> bool:
    """True if a test's module uses one of those with which tests start kernels."""
    values = list(vars(module).values())
    homes = {value.__name__ for value in values if isinstance(value, ModuleType)}
    homes |= {str(getattr(value, "__module__", None)) for value in values}
    return not _KERNELS.isdisjoint(homes)


def _freeze() -> None:
    """Look for garbage once, and at what is left of it never again."""
    gc.collect()
    gc.freeze()


def pytest_collection_finish() -> None:
    """Freeze what the tests' modules have imported."""
    _freeze()


def pytest_unconfigure() -> None:
    """Let what was imported end as it always does."""
    gc.unfreeze()


def _log_bytes() -> int:
    return LOG.stat().st_size if LOG.is_file() else 0


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    """Note what was found before the test, and before the fixtures that it is the first to use."""
    item.stash[VERIFIED] = _log_bytes()
    _freeze()  # what earlier tests left is not looked through again
    yield


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """Under `NBCKPT_VERIFY`, fail each test in which a kept or restored value was found wrong."""
    yield
    if _log_bytes() <= item.stash[VERIFIED] or item.get_closest_marker("changes_unseen"):
        return
    with LOG.open() as file:
        file.seek(item.stash[VERIFIED])
        found = [json.loads(line) for line in file]
    lines = [f"{one['path'] or one['name']} {one['step']}: {one['rule']}" for one in found]
    pytest.fail("nbckpt was wrong about\n" + "\n".join(dict.fromkeys(lines)), pytrace=False)


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the user who runs the tests: another user is one with another folder."""
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("home")
        patch.setenv("NBCKPT_HOME", str(home))
        yield home


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """A provider of models that the SDKs' own environment variables name."""
    with Provider() as provider:
        for name, value in provider.environment().items():
            monkeypatch.setenv(name, value)
        yield provider


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> Iterator[None]:
    """Have an interrupt raise `KeyboardInterrupt`: what a shell runs behind it ignores them.

    IPython imports `stack_data` for the first traceback that it shows. Where one comes into that, a
    half of it stays for all later tests.
    """
    with contextlib.suppress(ImportError):  # IPython 7 has none
        importlib.import_module("stack_data")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def understood() -> Iterator[None]:
    """Hold that what a session writes is what its readers expect: they would pass over it.

    What a test gives to a store itself is made up, and not held against anything.
    """
    from nbckpt.session.pending_writes import PendingWrites
    from nbckpt.storage import journal_lines
    from nbckpt.storage.record_shapes import wrong_member
    from nbckpt.timeline.checkpoint_index import Checkpoints

    append, know = PendingWrites.append, Checkpoints.know

    def checked(self: PendingWrites, records: list[dict[str, Any]], **options: Any) -> Any:
        for record in records:
            wrong = wrong_member(json.loads(journal_lines.encode(record) + "}"))
            assert wrong is None, f"{wrong!r} of {record} is not what its readers expect"
        return append(self, records, **options)

    def compared(self: Checkpoints, checkpoint: Checkpoint) -> None:
        decoded = self.as_made(checkpoint.id)
        assert decoded == checkpoint, f"the record of {checkpoint} says {decoded}"
        know(self, checkpoint)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PendingWrites, "append", checked)
        patch.setattr(Checkpoints, "know", compared)
        yield


@pytest.fixture(scope="session", autouse=True)
def beside() -> Iterator[None]:
    """Have the tests' own modules, which are hundreds, not count as modules beside the notebook.

    Each cell looks at what those hold: with all tests loaded, that is most of what a cell takes.
    """
    from nbckpt.capture.observation import followed_tables, ownership

    may_be_users = ownership._may_be_users

    def are_not_tests(top: str) -> bool:
        return top != "tests" and may_be_users(top)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ownership, "_may_be_users", are_not_tests)
        patch.setattr(followed_tables, "_OURS", followed_tables._OURS | {"tests"})
        yield


@pytest.fixture(autouse=True)
def unshown() -> None:
    """Forget what a doctest showed last: where builtins have a `_`, IPython keeps none of its own."""
    vars(builtins).pop("_", None)


@pytest.fixture(autouse=True)
def named(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hold that all of nbckpt's own that goes into a stream has a name there.

    What has none is written by its module, and cannot be read once that moves. What is refused,
    as a shell is, leaves no stream.
    """
    from nbckpt.codecs import stored_names
    from nbckpt.codecs.pickler import NamespacePickler

    reduced, dump = stored_names.reduced, NamespacePickler.dump
    nameless, tried = list[str](), list[str]()

    def checked(obj: Any) -> Any:
        short = reduced(obj)
        if short is None and str(obj.__module__).startswith("nbckpt."):
            tried.append(f"{obj.__module__}:{obj.__qualname__}")
        return short

    def dumped(self: NamespacePickler, obj: object) -> None:
        began = len(tried)
        dump(self, obj)
        nameless.extend(tried[began:])

    monkeypatch.setattr(stored_names, "reduced", checked)
    monkeypatch.setattr(NamespacePickler, "dump", dumped)
    yield
    assert not nameless, f"add {nameless} to nbckpt/codecs/stored_names.py"


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


@pytest.fixture
def auto(shell: Any) -> Any:
    """A shell in which each cell is kept."""
    shell.run_line_magic("nbckpt", "auto on")
    return shell
