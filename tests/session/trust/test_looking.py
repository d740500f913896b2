"""Who looks at what somebody else wrote reads no more of it, and shows no more, than is well."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nbckpt.cli import main
from nbckpt.config.settings_sources import settings_from, with_stored
from nbckpt.reports.timeline_rows import outputs_of
from nbckpt.session.history.recorded_outputs import notebook_outputs
from nbckpt.session.session import Session
from nbckpt.storage.store import Store
from nbckpt.timeline.checkpoint_records import checkpoint_record


def test_the_name_of_a_setting_steers_no_terminal() -> None:
    settings = with_stored(settings_from({}), '{"\\u001b]0;title\\u0007\\u009b": 1}')

    (problem,) = settings.problems
    assert "is no setting" in problem
    assert not set("\x1b\x07\x9b") & set(problem)


@pytest.mark.parametrize(
    "forged",
    [b"[" * 100_000, b"{{", b'{"a": 1}', b"[1, null]", b'[{"stream": "stdin", "text": "x"}]',
     b'[{"stream": "stdout", "text": 5}]', b'[{"display": [1]}]', b'[{"result": {}, "metadata": 5}]'],
    ids=str,
)  # fmt: skip
def test_outputs_that_are_none_are_told_as_damaged(
    tmp_path: Path, forged: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store.open(tmp_path / "s")
    made = Session(store, {"x": 1}).checkpoint("made")
    other = replace(made, id="f" * 20, name="forged", outputs=store.put_blob([forged]))
    head = {"kind": "head", "branch": "forged", "checkpoint": other.id, "at": other.created_at}
    store.append([checkpoint_record(other), head]).result()

    (told,) = outputs_of(store, other)
    assert "damaged" in str(told)
    assert notebook_outputs(store, other, 1) is None
    store.close()
    where = ["--store", str(tmp_path / "s")]
    assert main(["show", "forged", *where]) == 3
    assert main(["diff", "made", "forged", *where]) == 0
    out, err = capsys.readouterr()
    assert "damaged" in err
    assert "damaged" in out
