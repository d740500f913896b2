"""All of `nbckpt.storage` asks one object for what it wants of the file system."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import nbckpt.storage

FOLDER = Path(nbckpt.storage.__file__).parent
SEAM = FOLDER / "file_calls.py"
OF_THE_PROCESS = {"PathLike", "cpu_count", "fspath", "getpid", "register_at_fork"}
OF_THE_PROCESS |= {
    "PRIO_PROCESS",
    "stat_result",
    "environ",
    "geteuid",
    "getuid",
    "setpriority",
    "sysconf",
    "urandom",
}
METHODS = {
    *("chmod", "exists", "glob", "hardlink_to", "is_dir", "is_file", "is_symlink", "iterdir"),
    *("lstat", "mkdir", "read_bytes", "read_text", "rename", "rglob", "rmdir", "stat"),
    *("symlink_to", "touch", "unlink", "write_bytes", "write_text"),
}
OTHERS = {"journal_lines.read_text"}
"""They only have such a name."""


def calls_of_the_file_system(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            yield from (f"import {n}" for n in names if n in ("shutil", "tempfile", "glob"))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module, name = node.value.id, node.attr
            if module == "os" and name not in OF_THE_PROCESS and not name.startswith("O_"):
                yield f"os.{name}"
            if module == "fcntl" and not name.startswith("LOCK_"):
                yield f"fcntl.{name}"
        if isinstance(node, ast.Call):
            function = ast.unparse(node.func)
            name = function.rpartition(".")[2]
            if function in ("open", "io.open", "io.FileIO") or (
                "." in function
                and (name in METHODS or function.endswith("path.open"))
                and function not in OTHERS
                and not function.startswith("file_calls.files.")
            ):
                yield f"{function}()"


@pytest.mark.parametrize(
    "path", [p for p in sorted(FOLDER.glob("*.py")) if p != SEAM], ids=lambda path: path.stem
)
def test_a_room_of_the_storage_asks_the_seam_alone_for_files(path: Path) -> None:
    assert list(calls_of_the_file_system(path.read_text())) == []


@pytest.mark.parametrize(
    "line",
    ["open('x')", "os.replace(a, b)", "fcntl.flock(fd, 1)", "path.unlink()", "import shutil"],
)
def test_calls_around_the_seam_are_found(line: str) -> None:
    assert list(calls_of_the_file_system(line))
