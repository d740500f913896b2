"""The demo: a real kernel, really killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbckpt.cli import main
from nbckpt.cli.demo import notebook_path, require_packages
from nbckpt.errors import UsageError
from nbckpt.storage.check import check
from nbckpt.storage.store import Store
from tests.running import environment, texts_of


@pytest.mark.slow
def test_the_demo_kills_a_kernel_and_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    folder = tmp_path / "demo"

    status = main(["demo", "--keep", str(folder)])

    out = capsys.readouterr().out
    assert status == 0
    assert "$ kill -9 " in out
    assert "with 20 of 40 documents read" in out or "with 21 of 40 documents read" in out
    assert "killed at" in out
    assert "went on at item 2" in out
    assert "documents survived the kernel" in out
    assert f"nbckpt log --store {folder / '.nbckpt'}" in out
    assert texts_of(folder / "quickstart.out.ipynb")["back"] == "True"
    store = Store.open(folder / ".nbckpt", create=False)
    store.refresh()
    assert len(store.records("session")) == 2
    assert check(store.path).ok
    store.close()


def test_the_demo_does_not_touch_a_folder_that_holds_something(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").write_text("mine")

    status = main(["demo", "--keep", str(tmp_path)])

    assert status == 2
    assert "holds something already" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["mine"]


def test_a_missing_package_is_named_with_what_installs_it() -> None:
    require_packages(("json",))
    with pytest.raises(UsageError, match=r'no_such_package: pip install "nbckpt\[demo\]"'):
        require_packages(("json", "no_such_package"))


def test_the_quickstart_is_found() -> None:
    assert notebook_path().is_file()
