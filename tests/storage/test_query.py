"""SQL sees records and tables as they are; what is wrong with a query is said in one line."""

from __future__ import annotations

import threading
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbckpt.errors import CheckpointNotFoundError, UsageError, VariableNotFoundError
from nbckpt.model import Cell, Checkpoint, Key, Variable
from nbckpt.storage.query import Place, _with_tables, relation
from nbckpt.storage.store import Store
from nbckpt.storage.views import COLUMNS
from nbckpt.timeline.checkpoint_records import checkpoint_record
from nbckpt.timeline.timeline import Timeline

FRAMES = {"a" * 64: pd.DataFrame({"x": [1, 2]}), "b" * 64: pd.DataFrame({"x": [10, 20]})}


def variable(name: str, value: str, type_name: str = "DataFrame") -> Variable:
    return Variable(name, value, value, type_name, 100, "2 x 1")


@pytest.fixture
def timeline(store: Store) -> Timeline:
    """Two checkpoints: `df` is a table in both, `n` none, `late` not written."""
    first = Checkpoint(
        "01aaaaaa", None, "load", "main", "s1", "nb", 1.5, 0.25, Cell("df = …\ud800", 3, "c1"),
        key=Key("c" * 64), changed={"df": variable("df", "a" * 64)}, tags=("good",), note="first",
    )  # fmt: skip
    second = Checkpoint(
        "01bbbbbb", "01aaaaaa", "embed", "main", "s1", "nb", 2.5, 0.5, Cell("df *= 10"),
        changed={
            "df": variable("df", "b" * 64),
            "n": variable("n", "d" * 64, "int"),
            "late": variable("late", "e" * 64),
            "odd": variable("odd", "f" * 64),
        },
    )  # fmt: skip
    records = [checkpoint_record(first), checkpoint_record(second)]
    records.append({"kind": "head", "branch": "main", "checkpoint": "01bbbbbb", "at": 2.5})
    records.append({"kind": "tag", "checkpoint": "01aaaaaa", "tag": "later", "at": 2.6})
    records.append({"kind": "event", "event": "ran", "at": 3.0, "took_s": 1.5, "done": 7})
    for digest, frame in FRAMES.items():
        info = store.tables.put(digest, "df", frame)
        records.append({"kind": "table", "at": 3.0, "value": digest, **info})
    refused = {"file": None, "exact": False, "reason": "'odd': Parquet cannot hold it"}
    records.append({"kind": "table", "at": 3.0, "value": "f" * 64, **refused})
    store.append(records).result()
    timeline = Timeline()
    for record in store.refresh():
        timeline.apply(record)
    return timeline


def ask(store: Store, timeline: Timeline, sql: str) -> list[tuple[object, ...]]:
    return relation(store, timeline, sql).fetchall()


def test_checkpoints_are_rows(store: Store, timeline: Timeline) -> None:
    sql = """select id, parent, name, state, epoch(created_at), duration_s, source,
             execution_count, key is null, n_changed, size_bytes, tags, note
             from checkpoints order by id"""

    rows = ask(store, timeline, sql)

    assert rows == [
        ("01aaaaaa", None, "load", "done", 1.5, 0.25, "df = …?", 3, False, 1, 100,
         ["good", "later"], "first"),
        ("01bbbbbb", "01aaaaaa", "embed", "done", 2.5, 0.5, "df *= 10", None, True, 4, 400,
         [], ""),
    ]  # fmt: skip


def test_what_variables_share_counts_once(store: Store) -> None:
    shared = {name: variable(name, "a" * 64) for name in ("x", "y")}
    timeline = Timeline()
    one = Checkpoint(
        "01aaaaaa", None, "load", "main", "s1", "nb", 1.5, 0.25, Cell("y = x = []"),
        changed={**shared, "z": variable("z", "b" * 64)},
    )  # fmt: skip
    timeline.apply(checkpoint_record(one))

    assert ask(store, timeline, "select n_changed, size_bytes from checkpoints") == [(3, 200)]


def test_times_reach_python(store: Store, timeline: Timeline) -> None:
    (first, _) = ask(store, timeline, "select created_at from checkpoints order by 1")

    assert str(first[0]) == "1970-01-01 00:00:01.500000"


def test_variables_branches_and_events_are_rows(store: Store, timeline: Timeline) -> None:
    variables = ask(
        store, timeline, "select checkpoint_name, name, shape, recipe from variables where name='n'"
    )
    branches = ask(store, timeline, "select * from branches")
    events = ask(store, timeline, "select event, took_s, saved_s, detail from events")

    assert variables == [("embed", "n", "2 x 1", False)]
    assert branches == [("main", "01bbbbbb")]
    assert events == [("ran", 1.5, None, '{"done": 7}')]


def test_recordings_and_steps_are_empty_tables(store: Store, timeline: Timeline) -> None:
    sql = "select model, sum(cost_usd), sum(input_tokens) from recordings group by 1"

    assert ask(store, timeline, sql) == []
    assert ask(store, timeline, "from steps") == []


def test_show_tables_lists_them_all(store: Store, timeline: Timeline) -> None:
    names = [name for (name,) in ask(store, timeline, "show tables")]

    assert names == sorted(COLUMNS)
    assert {"checkpoints", "recordings", "prices", "approvals", "variables"} <= {*names}


@pytest.mark.parametrize(
    ("call", "total"),
    [
        ("variable('df')", 30),
        ("variable('df', 'load')", 3),
        ("VARIABLE ( 'df' ,'01aaaaaa' )", 3),
        ("variable('df', '~1') as variable", 3),
        ("variable('df', /* variable('n') */ 'main')", 30),
    ],
)
def test_a_table_variable_is_a_table(
    store: Store, timeline: Timeline, call: str, total: int
) -> None:
    sql = f"select sum(x), 'it''s variable(''n'')' from {call} -- variable('n')"

    assert ask(store, timeline, sql) == [(total, "it's variable('n')")]


def test_a_folder_with_signs_of_patterns_is_itself(tmp_path: Path) -> None:
    digest = "a" * 64
    for folder, x in (("d[v]", 1), ("dv", 99)):
        store = Store.open(tmp_path / folder / ".nbckpt")
        checkpoint = Checkpoint(
            "01aaaaaa", None, "load", "main", "s1", "nb", 1.5, 0.25, Cell("df = …", 3, "c1"),
            changed={"df": variable("df", digest)},
        )  # fmt: skip
        info = store.tables.put(digest, "df", pd.DataFrame({"x": [x]}))
        records = [
            checkpoint_record(checkpoint),
            {"kind": "head", "branch": "main", "checkpoint": "01aaaaaa", "at": 2.5},
            {"kind": "table", "at": 3.0, "value": digest, **info},
        ]
        store.append(records).result()
        timeline = Timeline()
        for record in store.refresh():
            timeline.apply(record)

        assert ask(store, timeline, "select x from variable('df')") == [(x,)]
        store.close()


def test_two_states_of_one_table_are_compared(store: Store, timeline: Timeline) -> None:
    sql = """select 'é', count(*) from variable('df', 'load') a
             join variable('df', 'embed') b on b.x = a.x * 10"""

    assert ask(store, timeline, sql) == [("é", 2)]


def test_a_reference_is_read_from_where_the_session_is(store: Store, timeline: Timeline) -> None:
    here = Place(here="01aaaaaa", before="01bbbbbb")

    newest = relation(store, timeline, "select sum(x) from variable('df')", place=here)
    before = relation(store, timeline, "select sum(x) from variable('df', '-')", place=here)

    assert newest.fetchall() == [(3,)]
    assert before.fetchall() == [(30,)]


@pytest.mark.parametrize(
    ("sql", "error", "told"),
    [
        ("from variable('n')", UsageError, "'n' has no Parquet file in "),
        ("from variable('late')", UsageError, "'late' has no Parquet file in "),
        ("from variable('odd')", UsageError, "'odd' cannot be queried: 'odd': Parquet"),
        ("from variable('dff')", VariableNotFoundError, "no checkpoint has a variable 'dff'"),
        ("from variable('n', 'load')", VariableNotFoundError, "'load' has no variable 'n'"),
        ("from variable('df', 'lod')", CheckpointNotFoundError, "did you mean 'load'"),
        ("from variable(df)", UsageError, r"write variable\('NAME'\)"),
        ("from variable('a', 'b', 'c')", UsageError, r"write variable\('NAME'\)"),
        ("from variable('a'", UsageError, r"write variable\('NAME'\)"),
        ("from variable(", UsageError, r"write variable\('NAME'\)"),
        ("selec 1", UsageError, 'syntax error at or near "selec"'),
        ("from nowhere", UsageError, "Table with name nowhere does not exist"),
        ("select 'abc", UsageError, "unterminated"),
        ("", UsageError, "gives no table"),
    ],
)
def test_what_is_wrong_with_a_query_is_said_in_one_line(
    store: Store, timeline: Timeline, sql: str, error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told) as caught:
        relation(store, timeline, sql)

    assert "\n" not in str(caught.value)


def test_a_table_whose_file_is_gone_is_told(store: Store, timeline: Timeline) -> None:
    (store.tables.folder / f"{'b' * 64}.parquet").unlink()

    with pytest.raises(UsageError, match="'df' has no Parquet file in "):
        relation(store, timeline, "from variable('df')")


def test_threads_ask_at_the_same_time(store: Store, timeline: Timeline) -> None:
    answers: list[list[tuple[object, ...]]] = []
    threads = [
        threading.Thread(
            target=lambda: answers.append(ask(store, timeline, "select sum(x) from variable('df')"))
        )
        for _ in range(8)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == [[(30,)]] * 8


def test_an_earlier_answer_does_not_change(store: Store, timeline: Timeline) -> None:
    earlier = relation(store, timeline, "select count(*) from checkpoints")
    third = Checkpoint("01cccccc", "01bbbbbb", "x", "main", "s", "n", 3.0, 1.0, Cell(""))
    timeline.apply(checkpoint_record(third))

    later = relation(store, timeline, "select count(*) from checkpoints")

    assert (earlier.fetchall(), later.fetchall()) == ([(2,)], [(3,)])


STRINGS = ["'", "''", '"', "'df'", "$$", "é"]
OTHERS = ["select", "variable", "(", ")", ",", "--", "/*", "*/", ".", ";", " ", "\n"]
pieces = st.lists(st.sampled_from([*STRINGS, *OTHERS]), max_size=12).map("".join)


@given(pieces)
def test_rewriting_changes_calls_only(sql: str) -> None:
    try:
        text = _with_tables(sql.encode(), {"variable": 2}, lambda *_: "FILE").decode()
    except UsageError:
        return

    assert (text == sql) == ("FILE" not in text)
