"""What goes wrong is said in a sentence that names it, and costs nothing else."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nbckpt.storage.check import check
from nbckpt.storage.folder import FORMAT
from nbckpt.storage.store import Store
from tests.kernels import Kernel, Ran
from tests.mounts import mounted
from tests.running import environment

MARK = b"a sentence that stands nowhere else: "
PRECIOUS = (
    f"%%checkpoint precious\ntext = {MARK.decode()!r} * 8000\nother = [1, 2]\n"
    "with open('ran', 'a') as file:\n    _ = file.write('x')"
)


def nbckpt(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line, in `folder`."""
    command = [sys.executable, "-m", "nbckpt", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=60
    )


def is_whole(folder: Path) -> bool:
    store = Store.open(folder / ".nbckpt", create=False)
    report = check(store.path)
    store.close()
    return report.ok


def plain(ran: Ran) -> str:
    """All that a cell said, without colours."""
    said = "\n".join([*ran.notices, ran.stdout, ran.stderr, ran.error])
    return re.sub(r"\x1b\[[\d;]*m", "", said)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose store holds the checkpoints `start` and `precious`, made by a kernel."""
    folder = tmp_path_factory.mktemp("made")
    with Kernel(folder) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run("%%checkpoint start\nbegun = True")
        assert kernel.run(PRECIOUS).ok
    return folder


@pytest.fixture
def kept(made: Path, tmp_path: Path) -> Path:
    """A copy of `made`."""
    return shutil.copytree(made, tmp_path / "kept")


# -- what was typed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["show", "preciuos"], "preciuos"),
        (["show", "~9"], "~9"),
        (["sql", "selct 1"], "selct"),
        (["sql", "select * from variable('nope')"], "nope"),
        (["log", "--store", "nowhere"], "there is no store at"),
        (["frobnicate"], "frobnicate"),
        (["run", "nowhere.ipynb"], "nowhere.ipynb"),
    ],
)
def test_a_mistake_on_the_command_line_is_named_and_exits_with_2(
    kept: Path, typed: list[str], told: str
) -> None:
    done = nbckpt(kept, *typed)

    assert done.returncode == 2, done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert is_whole(kept)


@pytest.mark.slow
def test_what_a_notebook_asks_for_and_does_not_exist_is_named(kept: Path) -> None:
    with Kernel(kept) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run("%resume")

        rewound = kernel.run("%rewind preciuos")
        cell = kernel.run("%%checkpoint next --vars othr\nother = 5")

        assert not rewound.ok
        assert "preciuos" in plain(rewound)
        assert "did you mean 'precious'" in plain(rewound)
        assert not cell.ok
        assert "no variable 'othr'" in plain(cell)
        assert kernel.value("other") == "[1, 2]"
    assert is_whole(kept)


# -- a store that cannot be read


@pytest.mark.slow
def test_a_store_of_a_newer_nbckpt_is_left_alone(kept: Path) -> None:
    mark = kept / ".nbckpt" / "format.json"
    written = mark.read_text()
    mark.write_text(json.dumps({"nbckpt": 99}))

    command = nbckpt(kept, "log")
    with Kernel(kept) as kernel:
        loaded = kernel.run("%load_ext nbckpt")
        cell = kernel.run("x = 1\nx")
    mark.write_text(written)

    assert command.returncode == 3
    for said in (command.stderr, plain(loaded)):
        assert f"store format 99, newer than {FORMAT}: upgrade nbckpt" in said
    assert not loaded.ok
    assert cell.result == "1"
    assert is_whole(kept)


@pytest.mark.slow
def test_a_store_from_before_1_0_is_named_when_nbckpt_is_loaded(tmp_path: Path) -> None:
    store = tmp_path / ".nbckpt"
    (store / "journal").mkdir(parents=True)
    (store / "format.json").write_text('{"format": 4}')

    with Kernel(tmp_path) as kernel:
        loaded = kernel.run("%load_ext nbckpt")
        cell = kernel.run("x = 1\nx")

    assert f"{store} is a store from before nbckpt 1.0 (format 4)" in plain(loaded)
    assert "name another store with NBCKPT_STORE" in plain(loaded)
    assert "Traceback" not in plain(loaded)
    assert not loaded.ok
    assert cell.result == "1"
    assert sorted(p.name for p in store.rglob("*")) == ["format.json", "journal"]


@pytest.mark.slow
def test_no_call_of_a_notebook_reads_or_writes_a_store_from_before_1_0(tmp_path: Path) -> None:
    former = tmp_path / "former"
    (former / "journal").mkdir(parents=True)
    (former / "format.json").write_text('{"format": 4}')

    with Kernel(tmp_path) as kernel:
        assert kernel.run("%load_ext nbckpt\nimport nbckpt").ok
        assert kernel.run("%%checkpoint one\nx = 1").ok
        opened = kernel.run("nbckpt.open('former')")
        trusted = kernel.run("nbckpt.trust('former')")
        exported = kernel.run("%nbckpt export one former")
        still = kernel.run("x")

    for said in map(plain, (opened, trusted)):
        assert f"{former} is a store from before nbckpt 1.0 (format 4)" in said
        assert "Traceback" not in said
    assert "is not empty" in plain(exported)
    assert still.result == "1"
    assert sorted(p.name for p in former.rglob("*")) == ["format.json", "journal"]


@pytest.mark.slow
def test_a_store_that_is_a_file_is_named_with_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "store"
    file.write_text("mine")

    command = nbckpt(tmp_path, "log", "--store", str(file))
    with Kernel(tmp_path, store=file) as kernel:
        loaded = kernel.run("%load_ext nbckpt")
        cell = kernel.run("x = 1\nx")

    assert command.returncode == 2
    for said in (command.stderr, plain(loaded)):
        assert "is a file, not a folder: name another store with NBCKPT_STORE" in " ".join(
            said.split()
        )
    assert cell.result == "1"
    assert file.read_text() == "mine"


def damage(folder: Path) -> None:
    """Flip bytes in the middle of the stored text."""
    hit = 0
    for pack in (folder / ".nbckpt" / "packs").glob("*.pack"):
        data = bytearray(pack.read_bytes())
        if (start := data.find(MARK * 3)) >= 0:
            data[start + 100 : start + 108] = b"\xff" * 8
            pack.write_bytes(data)
            hit += 1
    assert hit == 1


@pytest.mark.slow
def test_a_cell_whose_checkpoint_is_damaged_runs_again_and_says_why(kept: Path) -> None:
    damage(kept)

    with Kernel(kept) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run("%%checkpoint start\nbegun = True")
        ran = kernel.run(PRECIOUS)

        assert ran.ok
        assert "'precious' runs: " in plain(ran)
        assert "damaged" in plain(ran)
        assert "text" in plain(ran)
        assert kernel.value("text[:8]") == "'a senten'"
    assert (kept / "ran").read_text() == "xx"


@pytest.mark.slow
def test_a_damaged_head_is_not_resumed_and_a_rewind_to_it_brings_back_the_rest(kept: Path) -> None:
    damage(kept)

    with Kernel(kept) as kernel:
        kernel.run("%load_ext nbckpt")
        resumed = kernel.run("%resume")
        rewound = kernel.run("%rewind precious")

        assert rewound.ok
        assert kernel.value("(begun, other)") == "(True, [1, 2])"
        assert kernel.value("'text' in globals()") == "False"
    assert not resumed.ok
    assert "'precious' cannot be resumed, nothing was changed: 'text' is damaged" in plain(resumed)
    assert "%resume --fallback takes it" in plain(resumed)
    assert "not restored: text: str did not come back" in plain(rewound)


@pytest.mark.slow
def test_the_check_names_what_is_damaged_and_exits_with_3(kept: Path) -> None:
    whole = nbckpt(kept, "check")
    damage(kept)

    damaged = nbckpt(kept, "check")

    assert whole.returncode == 0, whole.stdout
    assert damaged.returncode == 3
    assert "damaged" in damaged.stdout
    assert "precious" in damaged.stdout
    assert "text" in damaged.stdout


# -- a disk that refuses


@pytest.mark.slow
def test_on_a_read_only_disk_cells_run_and_say_once_each_that_they_were_not_kept(
    kept: Path,
) -> None:
    with mounted(kept / "ro", "--bind", str(kept / ".nbckpt")) as store:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(store)], check=True)
        with Kernel(kept, store=store) as kernel:
            loaded = kernel.run("%load_ext nbckpt")
            restored = kernel.run("%%checkpoint start\nbegun = True")
            cell = kernel.run("%%checkpoint new\nx = 41\nx + 1")
            value = kernel.value("(begun, x)")

    assert loaded.ok, loaded.error
    assert restored.ok
    assert cell.result == "42"
    assert value == "(True, 41)"
    assert cell.stderr.startswith("nbckpt: ")
    assert "read-only file system" in cell.stderr
    assert len(cell.stderr.splitlines()) == 1
    assert is_whole(kept)


def test_without_a_store_to_be_made_cells_run_as_if_nbckpt_were_not_there(tmp_path: Path) -> None:
    with (
        mounted(tmp_path / "ro", "-t", "tmpfs", "-o", "ro", "tmpfs") as disk,
        Kernel(tmp_path, store=disk / "store") as kernel,
    ):
        loaded = kernel.run("%load_ext nbckpt")
        cell = kernel.run("x = 41\nx + 1")

    assert not loaded.ok
    assert "cannot be written: read-only file system" in plain(loaded)
    assert cell.result == "42"


@pytest.mark.slow
def test_on_a_full_disk_the_result_stands_and_later_cells_are_kept(tmp_path: Path) -> None:
    with mounted(tmp_path / "small", "-t", "tmpfs", "-o", "size=2m", "tmpfs") as disk:
        with Kernel(tmp_path, store=disk / ".nbckpt") as kernel:
            kernel.run("%load_ext nbckpt")
            first = kernel.run("%%checkpoint first\nfirst = 1")
            full = kernel.run("%%checkpoint big\nimport os\nbig = os.urandom(4_000_000)\nlen(big)")
            kernel.run("%%checkpoint tidy\nbig = len(big)")
            later = kernel.run("%%checkpoint later\nlater = [3]")
        packs = sum(p.stat().st_size for p in (disk / ".nbckpt" / "packs").iterdir())
        with Kernel(tmp_path, store=disk / ".nbckpt") as kernel:
            kernel.run("%load_ext nbckpt")
            resumed = kernel.run("%resume")
            values = kernel.value("(first, big, later)")
        store = Store.open(disk / ".nbckpt", create=False)
        report = check(store.path)
        store.close()

    assert first.stderr == ""
    assert full.ok
    assert full.result == "4000000"
    assert "checkpoint 'big' was NOT kept: " in full.stderr
    assert "the disk is full" in full.stderr
    assert later.stderr == ""
    assert packs < 100_000  # what was refused gave its room back
    assert resumed.ok
    assert values == "(1, 4000000, [3])"
    assert report.ok, report.problems
