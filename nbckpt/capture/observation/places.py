"""Files that count: the user's, not those of Python, of libraries, of the system, or nbckpt's."""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any

from nbckpt.fingerprint.values.homes import is_user_file
from nbckpt.version import PACKAGE

_SYSTEM = ("/proc", "/sys", "/dev", "/run", "/etc", "/usr", "/lib", "/lib64", "/bin", "/sbin")
_HOME_CACHES = (
    *(".cache", ".config", ".local", ".ipython", ".jupyter", ".matplotlib", ".nv", ".triton"),
    *(".keras", ".npm", ".mamba", ".conda", "Library"),
)
_VARIABLES = ("NBCKPT_HOME", "IPYTHONDIR", "MPLCONFIGDIR", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR")
_PARTS = (
    *("/site-packages/", "/dist-packages/", "/__pycache__/", "/.ipynb_checkpoints/"),
    *("/.nbckpt/", "/nltk_data/"),
)


class Places:
    """The folder of a notebook, and the folders whose files are not its inputs.

    Parameters
    ----------
    root
        The working folder in which the session began: paths in it are kept relative to it.
    own
        Folders of nbckpt's.
    """

    def __init__(self, root: str, own: tuple[str, ...] = ()) -> None:
        self.root = os.path.abspath(root)  # noqa: PTH100  # `resolve` would follow links
        self._own = own
        self._counts: dict[str, bool] = {}

    @cached_property
    def _left_out(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Folders left out inside the root, and outside it."""
        kinds = ("stdlib", "platstdlib", "purelib", "platlib")
        libraries = [*map(sysconfig.get_path, kinds), str(PACKAGE), sys.prefix, sys.base_prefix]
        named = [os.environ[name] for name in _VARIABLES if os.environ.get(name)]
        home = os.path.expanduser("~")  # noqa: PTH111  # texts all the way
        caches = [os.path.join(home, name) for name in _HOME_CACHES]  # noqa: PTH118
        anywhere = [*self._own, *libraries, *named, *caches]
        outside = [*anywhere, *_SYSTEM, tempfile.gettempdir()]
        root = f"{self.root}/"
        inside = [f for f in _folders(anywhere) if f.startswith(root) and f != root]
        return tuple(inside), _folders(outside)

    def counts(self, path: str) -> bool:
        """True if an absolute path may be an input or effect of a cell."""
        folder = path.rpartition("/")[0]
        known = self._counts.get(folder)
        if known is None:
            if len(self._counts) > 10_000:
                self._counts.clear()
            known = self._counts[folder] = self._folder_counts(f"{folder}/")
        return known

    def _folder_counts(self, folder: str) -> bool:
        inside, outside = self._left_out
        if any(part in folder for part in _PARTS):
            return False
        is_inside = folder.startswith(f"{self.root}/")
        return not folder.startswith(inside if is_inside else outside)

    def short(self, path: str) -> str:
        """A path as it is kept: relative to the root if it lies in it."""
        root = f"{self.root}/"
        if path == self.root:
            return "."
        return path.removeprefix(root)

    def full(self, path: str) -> str:
        """The absolute path of what `short` gave."""
        return os.path.normpath(os.path.join(self.root, path))  # noqa: PTH118


def _folders(paths: list[str]) -> tuple[str, ...]:
    """Paths as they are written and as they are behind links, each with a slash at its end."""
    found = {p for path in paths for p in (os.path.abspath(path), os.path.realpath(path))}  # noqa: PTH100
    return tuple(sorted(f"{path.rstrip('/')}/" for path in found if path.strip("/")))


def text_of(path: object) -> str | None:
    """A path as a text; None for what is none."""
    try:
        found: Any = os.fspath(path)  # type: ignore[call-overload]
        return os.fsdecode(found)
    except (TypeError, ValueError):
        return None


def joined(folder: str, path: object) -> str | None:
    """The whole path of what is named in a folder; None for what names no file."""
    text = text_of(path)
    if not text or "\0" in text or text.startswith((":memory:", "file:", "<")):
        return None
    whole = text if text[0] == "/" else f"{folder}/{text}"
    if "./" in whole or "//" in whole or whole[-1] in "./" or os.sep != "/":
        return os.path.normpath(os.path.join(folder, text))  # noqa: PTH118
    return whole


def is_made(path: str) -> bool:
    """True if a file that code names lies in a temporary folder, not among those of the system.

    The kernel's own, by which a front end finds it, is in its arguments and another for each.
    """
    is_own = "/.nbckpt/" in path or path in _after_f(sys.orig_argv)
    return path.startswith(_temporary()) and not is_own


def _after_f(arguments: list[str]) -> list[str]:
    """Arguments after ``-f`` in a command line: with Jupyter, the connection file."""
    return [after for before, after in pairwise(arguments) if before == "-f"]


def _temporary() -> tuple[str, ...]:
    folder = tempfile.gettempdir()
    return f"{folder}/", f"{os.path.realpath(folder)}/"


def working_folder() -> str:
    """The working folder; the root if it was deleted."""
    try:
        return os.getcwd()  # noqa: PTH109  # texts all the way
    except OSError:  # it was deleted
        return "/"


def source_of(path: object) -> str | None:
    """The user's source file behind what the import system opens; None for a library's."""
    text = text_of(path)
    if text and text.endswith(".pyc"):
        try:
            text = importlib.util.source_from_cache(text)
        except ValueError:
            return None
    return text if text and is_user_file(text) else None


def loaded_user_files() -> Iterator[str]:
    """The files of the user's modules that are loaded."""
    for name, module in list(sys.modules.items()):
        if name == "__main__":
            continue
        file = getattr(module, "__dict__", {}).get("__file__")
        if isinstance(file, str) and file.endswith(".py") and is_user_file(file):
            yield file
