"""Two notebooks of a folder that load nbckpt before either has a checkpoint."""

from __future__ import annotations

from pathlib import Path

from nbckpt.session.session import Session
from nbckpt.storage.store import Store


def opened(path: Path, notebook: str, **names: object) -> Session:
    return Session(Store.open(path), dict(names), notebook=notebook)


def test_each_is_on_a_branch_of_its_own(tmp_path: Path) -> None:
    one, other = opened(tmp_path / "s", "a.ipynb"), opened(tmp_path / "s", "b.ipynb")
    assert (one.position.branch, other.position.branch) == ("main", "main")
    one.namespace["x"], other.namespace["y"] = 1, 2

    one.checkpoint("first", sync=True)
    other.checkpoint("first", sync=True)

    assert (one.position.branch, other.position.branch) == ("main", "b.ipynb")
    again = opened(tmp_path / "s", "a.ipynb")
    again.resume()
    assert ("x" in again.namespace, "y" in again.namespace) == (True, False)


def test_one_resumes_its_own_where_both_came_at_once(tmp_path: Path) -> None:
    one, other = opened(tmp_path / "s", "a.ipynb", x=1), opened(tmp_path / "s", "b.ipynb", y=2)
    other.follower.refresh = one.follower.refresh = lambda: None  # type: ignore[method-assign]
    one.checkpoint("first", sync=True)
    other.checkpoint("first", sync=True)
    assert (one.position.branch, other.position.branch) == ("main", "main")

    again = opened(tmp_path / "s", "a.ipynb")
    again.resume()

    assert ("x" in again.namespace, "y" in again.namespace) == (True, False)
    assert again.position.branch == "a.ipynb"
    other_again = opened(tmp_path / "s", "b.ipynb")
    other_again.resume()
    assert ("x" in other_again.namespace, "y" in other_again.namespace) == (False, True)


def test_a_branch_that_was_asked_for_is_brought_whoever_made_it(tmp_path: Path) -> None:
    opened(tmp_path / "s", "a.ipynb", x=1).checkpoint("first", sync=True)

    other = opened(tmp_path / "s", "b.ipynb")
    other.resume("main")

    assert other.namespace["x"] == 1
