"""Names in streams are those of a table, which a move of a module does not change."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbckpt
from nbckpt import errors
from nbckpt.codecs.encode import encode
from nbckpt.codecs.loading import Loading, decode
from nbckpt.codecs.pickler import Scope
from nbckpt.codecs.stored_names import STORED, reduced, stored
from nbckpt.errors import FormatError
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.storage.store import Store
from tests.codecs.names import names_in

PINNED = Path(__file__).parent / "stored_names.txt"
FORMAT = Path(nbckpt.__file__).parent / "storage" / "FORMAT.md"


def back(value: object) -> Any:
    parts = [memoryview(part) for part in encode({"x": value}, Scope({})).parts]
    return decode(parts, Loading({}, str), trusted=True)["x"]


def arguments_of(name: str) -> str:
    """What streams may pass to the function or class of a name; nothing where they pass nothing.

    A function of `import nbckpt` is named there, and not called.
    """
    obj: Any = stored(name)
    if name in nbckpt.__all__ or issubclass(obj if isinstance(obj, type) else object, Exception):
        return ""
    parameters = inspect.signature(obj).parameters.values()
    none = inspect.Parameter.empty
    return " ".join(
        f"{p.replace(annotation=none, default=none)!s}{'' if p.default is none else '?'}"
        for p in parameters
    )


def test_no_name_is_another_than_when_it_was_first_written() -> None:
    pinned = PINNED.read_text().splitlines()

    assert [f"{name} {arguments_of(name)}".strip() for name in sorted(STORED)] == pinned, (
        "a name that is gone, and one that takes other arguments, makes stores unreadable; "
        f"a new one belongs into {PINNED.name}, and so do arguments with defaults that are added"
    )


def test_the_table_imports_no_module_before_a_name_is_asked_for() -> None:
    look = "import sys, nbckpt.codecs.stored_names; print(*sys.modules)"

    ran = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    imported = set(ran.stdout.split())

    assert "nbckpt.codecs.stored_names" in imported
    assert imported & {target.split(":")[0] for target in STORED.values()} == {"nbckpt.errors"}


@pytest.mark.parametrize("name", STORED)
def test_a_name_leads_to_what_is_written_under_it(name: str) -> None:
    assert reduced(stored(name)) == (stored, (name,))


def test_the_specification_lists_each_name_once() -> None:
    section = FORMAT.read_text().partition("## Names in streams")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    together = re.search(r"The others are (.*?)\.\n", section, re.DOTALL)
    assert together is not None

    assert sorted([*listed, *re.findall(r"`(\w+)`", together[1])]) == sorted(STORED)


def test_all_that_a_notebook_imports_from_nbckpt_has_a_name() -> None:
    public = {name: getattr(nbckpt, name) for name in nbckpt.__all__}
    testing = importlib.import_module("nbckpt.testing")
    public |= {name: getattr(testing, name) for name in testing.__all__}
    public |= {n: e for n, e in vars(errors).items() if inspect.isclass(e)}

    nameless = [
        name
        for name, value in public.items()
        if inspect.isfunction(value) or inspect.isclass(value)
        if reduced(value) != (stored, (name,))
    ]

    assert nameless == []


def test_what_nbckpt_returns_is_kept_without_a_path_into_nbckpt(tmp_path: Path) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    session = Session(Store.open(tmp_path / "s"), namespace, notebook="n")
    namespace["x"] = [1]
    first = session.checkpoint("one")
    namespace["x"] = [2]
    session.checkpoint("two")
    current_session.begin(session)
    try:
        namespace.update(
            moved=nbckpt.rewind("one"),
            diff=nbckpt.diff("one", "two"),
            history=nbckpt.history(),
            of_variable=nbckpt.history("x"),
            untrusted=nbckpt.trust(),
            pruned=nbckpt.prune(keep_last=100),
            exported=nbckpt.export("one", tmp_path / "out"),
            files=nbckpt.export("one", tmp_path / "files", portable=True),
            folded=Session(Store.open(tmp_path / "s"), {}).get(first.id),
            functions=[nbckpt.rewind, nbckpt.map, nbckpt.step],
            error=errors.BudgetError("no more"),
        )
        kept = session.checkpoint("results")
        manifest = session.timeline.manifest(kept.id)
        names = [names_in(session.store.get_blob(v.blob)) for v in manifest.values()]
        results = dict(namespace)
        for name in manifest.keys() & namespace.keys():
            namespace[name] = None
        moved = session.rewind(kept.id)
    finally:
        current_session.end()
        session.store.close()

    assert kept.refused == moved.failed == ()
    assert [found.paths for found in names if found.paths] == []
    assert {
        "MoveResult",
        "Checkpoint",
        "Variables",
        "Pruned",
        "Exported",
        "ExportedFiles",
        "BudgetError",
        "rewind",
    } <= (frozenset().union(*(found.stored for found in names)))
    assert namespace["moved"] == results["moved"]
    assert namespace["folded"] == results["folded"]
    assert namespace["functions"] == results["functions"]


@pytest.mark.parametrize("text", ["nbckpt", "stored", "array"])
def test_a_text_that_is_a_name_as_well_changes_no_byte(text: str) -> None:
    of_another_process = text.encode().decode()

    same, other = (
        encode({"x": [np.arange(3), one]}, Scope({})).parts for one in (text, of_another_process)
    )

    assert [bytes(part) for part in same] == [bytes(part) for part in other]
    assert back([np.arange(3), text])[1] == text


def test_a_name_of_a_newer_nbckpt_says_so() -> None:
    with pytest.raises(FormatError, match="'array_of_qubits', which a newer nbckpt has: upgrade"):
        stored("array_of_qubits")


def test_a_variable_with_a_name_of_a_newer_nbckpt_is_left_out_with_that_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace: dict[str, Any] = {"array": np.arange(3), "text": "kept"}
    session = Session(Store.open(tmp_path / "s"), namespace, notebook="n")
    kept = session.checkpoint("one")
    namespace.update(array=None, text=None)
    session.checkpoint("two")
    monkeypatch.delitem(STORED, "array")

    moved = session.rewind(kept.id)
    session.store.close()

    assert namespace["text"] == "kept"
    (failed,) = moved.failed
    assert failed.variable == "array"
    assert "it names 'array', which a newer nbckpt has: upgrade nbckpt" in str(failed)


@pytest.mark.parametrize(
    "name", ["os:system", "system", "nbckpt.verbs.moving:rewind", "", None, []]
)
def test_nothing_else_is_found_by_a_name(name: Any) -> None:
    with pytest.raises(FormatError):
        stored(name)


def test_what_only_says_that_it_is_of_nbckpt_is_written_by_value() -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec("class Cell:\n    pass", namespace)
    namespace["Cell"].__module__ = "nbckpt.model"

    assert reduced(namespace["Cell"]) is None
