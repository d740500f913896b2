"""Who looks at what somebody else wrote reads no more of it, and shows no more, than is well."""

from __future__ import annotations

from pathlib import Path

from nbckpt.config import settings_from, with_stored
from nbckpt.locked import LOOKED_INTO_BYTES, why_locked
from nbckpt.model import Variable
from nbckpt.storage.store import Store


def test_a_value_that_is_larger_than_its_record_says_is_not_looked_into(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "s")
    blob = store.put_blob([bytes(LOOKED_INTO_BYTES + 1)])

    told = why_locked(store, Variable("x", blob, blob, "str", 10, group=("x",), trusted=False))

    assert told == "is large, and was not looked into"
    store.close()


def test_the_name_of_a_setting_steers_no_terminal() -> None:
    settings = with_stored(settings_from({}), '{"\\u001b]0;title\\u0007\\u009b": 1}')

    (problem,) = settings.problems
    assert "is no setting" in problem
    assert not set("\x1b\x07\x9b") & set(problem)
