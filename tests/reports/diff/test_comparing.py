"""Two checkpoints side by side, or one and what is live, in real sessions and shells."""

from __future__ import annotations

import html.parser
import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbckpt.errors import CheckpointNotFoundError
from nbckpt.reports.diff import Difference, Limits, compare
from nbckpt.session.session import Session
from nbckpt.storage.store import Store

BUILT: list[str] = []
"""Names of values of `Noted` that were built from a store."""


class Noted:
    def __init__(self, name: str, x: int) -> None:
        self.name, self.x = name, x

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        BUILT.append(self.name)


class Unreadable:
    def __init__(self, x: int) -> None:
        self.x = x

    def __setstate__(self, state: dict[str, Any]) -> None:
        if self.x_may_not_be_read:
            raise ValueError("<script>not today</script>")
        self.__dict__.update(state)

    x_may_not_be_read = False


class Unkeepable:
    def __reduce__(self) -> Any:
        raise TypeError("it is of this process")


def two(session: Session, before: dict[str, object], after: dict[str, object]) -> Difference:
    """The difference of two checkpoints, `a` and `b`, that hold these variables."""
    for name, values in (("a", before), ("b", after)):
        for gone in session.workspace.tracker.user_names():
            del session.namespace[gone]
        session.namespace.update(values)
        session.checkpoint(name)
    return compare(session, "a", "b")


def statuses(difference: Difference) -> dict[str, str]:
    return {v.name: v.status for v in difference.variables}


def test_variables_are_added_removed_changed_or_the_same(session: Session) -> None:
    found = two(session, {"k": 1, "lr": 0.1, "old": "x"}, {"k": 1, "lr": 0.2, "new": [1]})

    assert statuses(found) == {"lr": "changed", "new": "added", "old": "removed"}
    assert found.same == 1
    assert found.text().splitlines()[3:] == [
        "variables: 1 added, 1 removed, 1 changed, 1 same",
        "",
        "~ lr  float, " + found.text().split("~ lr  float, ")[1].splitlines()[0],
        "    0.1 → 0.2 (+0.1, +100 %)",
        "+ new  list 1, " + found.text().split("+ new  list 1, ")[1].splitlines()[0],
        "    [1]",
        "- old  str 1, " + found.text().split("- old  str 1, ")[1].splitlines()[0],
        "    'x'",
    ]


def test_what_is_the_same_is_not_loaded(session: Session) -> None:
    BUILT.clear()

    two(session, {"p": Noted("p", 1), "q": Noted("q", 1)}, {"p": Noted("p", 2), "q": Noted("q", 1)})

    assert BUILT == ["p", "p"]


@pytest.mark.slow
def test_variables_that_lie_in_one_blob_are_loaded_once(session: Session) -> None:
    BUILT.clear()
    before, after = Noted("shared", 1), Noted("shared", 2)

    found = two(session, {"p": [before], "q": [before]}, {"p": [after], "q": [after]})

    assert statuses(found) == {"p": "changed", "q": "changed"}
    assert BUILT == ["shared", "shared"]


def test_equal_values_of_other_bytes_are_the_same_and_it_says_so(session: Session) -> None:
    before, after = ["ab"] * 2, ["ab", "".join("ab")]

    found = two(session, {"config": before}, {"config": after})

    assert statuses(found) == {"config": "same"}
    assert found.variables[0].detail is not None
    assert found.variables[0].detail.summary == "same value"
    assert found.same == 1


def test_without_a_second_what_is_live_and_unsaved_is_compared(session: Session) -> None:
    session.namespace.update(x=[1, 2], y=1)
    session.checkpoint("a")
    before = session.namespace["x"]
    session.namespace["x"].append(3)  # type: ignore[attr-defined]

    found = compare(session, "a")

    assert found.b.id == ""
    assert statuses(found) == {"x": "changed"}
    assert session.namespace["x"] is before
    assert [c.name for c in session.history()] == ["a"]
    assert "'now' is what is live and not kept yet" in found.text()
    session.checkpoint("b")
    assert statuses(compare(session, "a", "b")) == {"x": "changed"}


def test_without_a_second_and_nothing_unsaved_the_position_is_compared(session: Session) -> None:
    session.namespace["x"] = 1
    session.checkpoint("a")
    session.namespace["x"] = 2
    newer = session.checkpoint("b")

    assert compare(session, "a").b.name == "b"
    session.rewind("a")
    assert compare(session, newer.id).b.name == "a"


def test_another_process_compares_with_the_head(session: Session, store: Store) -> None:
    session.namespace["x"] = 1
    session.checkpoint("a")
    session.namespace["x"] = 2
    session.checkpoint("b", sync=True)
    other = Session(Store.open(store.path), {"__name__": "__main__"}, notebook="test")

    found = compare(other, "a")

    assert (found.b.name, statuses(found)) == ("b", {"x": "changed"})
    other.store.close()


def test_a_reference_that_means_nothing_is_an_error(session: Session) -> None:
    session.checkpoint("a")

    with pytest.raises(CheckpointNotFoundError, match="nowhere"):
        compare(session, "a", "nowhere")


def test_one_value_that_cannot_be_built_costs_nothing_but_itself(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    two(session, {"bad": Unreadable(1), "good": 1}, {"bad": Unreadable(2), "good": 2})
    monkeypatch.setattr(Unreadable, "x_may_not_be_read", True)

    found = compare(session, "a", "b")

    kinds = {v.name: v.detail.kind for v in found.variables if v.detail}
    assert kinds == {"bad": "unreadable", "good": "value"}
    assert "not today" in found.text()
    assert "<script>" not in found._repr_html_()


def test_a_damaged_value_is_unreadable_and_the_rest_is_told(session: Session) -> None:
    noise = np.random.default_rng(0)
    session.namespace.update(x=noise.random(50_000), k=1)
    session.checkpoint("a")
    session.namespace.update(x=noise.random(50_000), k=2)
    session.checkpoint("b", sync=True)
    path = session.store.path
    session.store.close()
    for pack in sorted(path.glob("packs/*")):
        data = bytearray(pack.read_bytes())
        data[len(data) // 4] ^= 0xFF
        pack.write_bytes(data)
    other = Session(Store.open(path), {"__name__": "__main__"}, notebook="test")

    found = compare(other, "a", "b")

    assert {v.name: v.detail.kind for v in found.variables if v.detail}["k"] == "value"
    assert statuses(found) == {"k": "changed", "x": "changed"}
    other.store.close()


def test_what_one_side_could_not_keep_is_not_called_added(session: Session) -> None:
    found = two(session, {"x": Unkeepable(), "k": 1}, {"x": 3, "k": 1})

    assert statuses(found) == {"x": "changed"}
    assert found.variables[0].detail is not None
    assert found.variables[0].detail.kind == "unreadable"
    assert found.variables[0].detail.summary.startswith("not kept at 'a': ")
    nowhere = two(session, {"x": Unkeepable()}, {"x": Unkeepable()})
    assert statuses(nowhere) == {}
    assert any(remark.startswith("x is not kept at 'a'") for remark in nowhere.remarks)


def test_after_its_time_a_comparison_only_says_what_differs(session: Session) -> None:
    two(session, {"x": 1}, {"x": 2})

    found = compare(session, "a", "b", limits=Limits(total_s=-1))

    assert statuses(found) == {"x": "changed"}
    assert "not looked into" in found.text()


@pytest.mark.slow
def test_a_large_pickle_is_not_loaded(session: Session) -> None:
    BUILT.clear()
    two(session, {"x": Noted("x", 1)}, {"x": Noted("x", 2)})
    BUILT.clear()

    found = compare(session, "a", "b", limits=Limits(loaded_bytes=10))

    assert "would have to be loaded" in found.text()
    assert BUILT == []


@pytest.mark.slow
def test_arrays_are_compared_without_a_copy_of_either(session: Session) -> None:
    session.namespace["x"] = np.zeros(8_000_000)
    session.checkpoint("a")
    session.namespace["x"] = np.ones(8_000_000)
    session.checkpoint("b", sync=True)
    tracemalloc.start()

    found = compare(session, "a", "b")

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "8,000,000 of 8,000,000 elements differ" in found.text()
    assert peak < 32_000_000


@pytest.mark.slow
def test_the_record_is_small_and_has_its_members(session: Session) -> None:
    found = two(
        session,
        {"x": list(range(100_000)), "text": "a\nb", "gone": 1},
        {"x": [-1 - i for i in range(100_000)], "text": "a\nc", "new": 2},
    )

    record = json.loads(json.dumps(found.as_record()))

    assert len(json.dumps(record)) < 10_000
    assert record.keys() == {"a", "b", "variables", "code", "outputs", "same", "remarks"}
    sides = {"id", "name", "branch", "created_at", "duration_s", "cost_usd"}
    assert record["a"].keys() == record["b"].keys() == sides
    assert record["code"].keys() == record["outputs"].keys() == {"lines"}
    by_name = {v["name"]: v for v in record["variables"]}
    assert by_name["new"]["a"] is None
    assert by_name["gone"]["b"] is None
    assert by_name["x"]["a"].keys() == {"type_name", "shape", "size_bytes", "preview"}
    detail = by_name["x"]["detail"]
    assert detail.keys() == {"kind", "summary", "rows", "lines", "more"}
    assert detail["rows"][0] == ["x[0]", "0", "-1"]
    assert detail["more"] > 90_000
    assert by_name["text"]["detail"]["lines"][1] == {"sign": "-", "text": "b"}


def test_both_values_are_told_in_numbers_where_that_is_wanted(session: Session) -> None:
    two(session, {"x": [1.0, 2.0], "n": 1, "gone": [1]}, {"x": [1.0, 4.0], "n": 2, "new": [1]})

    found = compare(session, "a", "b", limits=Limits(facts=True)).as_record()["variables"]
    without = compare(session, "a", "b").as_record()["variables"]

    facts: Any = {v["name"]: v["facts"] for v in json.loads(json.dumps(found))}
    assert [(one["series"], one["number"]) for one in facts["x"]] == [
        ([1.0, 2.0], 1.5),
        ([1.0, 4.0], 2.5),
    ]
    assert facts["n"] is facts["gone"] is facts["new"] is None
    assert not any(v["facts"] for v in json.loads(json.dumps(without)))


def test_text_is_no_wider_than_asked(session: Session) -> None:
    found = two(session, {"x": {"k" * 200: "v" * 300}}, {"x": {"k" * 200: "w" * 300}})

    assert max(map(len, found.text(60).splitlines())) <= 60


class _Tags(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


EVIL = "<script>alert('1')</script><img src=x onerror=alert(2)>"


@pytest.mark.slow
def test_nothing_of_the_users_becomes_markup(shell: Any) -> None:
    for i in (1, 2):
        source = f"""%%checkpoint step{i}
import pandas as pd, numpy as np
{"x = 0" if i == 1 else "x = 1"}  # {EVIL}
Evil = type({EVIL!r}, (), {{"__repr__": lambda self: {EVIL!r}}})
evil = Evil(); evil.y = {i}
text = {EVIL + str(i)!r}
lines = {EVIL!r} + chr(10) + str({i})
tree = {{{EVIL!r}: {i}, "k": [{(EVIL + str(i))!r}]}}
frame = pd.DataFrame({{{EVIL!r}: [{(EVIL + str(i))!r}]}})
array = np.array([{(EVIL + str(i))!r}])
print({(EVIL + str(i))!r})
"""
        shell.run_cell(source).raise_error()
    from nbckpt.steps import current_session

    found = compare(current_session.session(), "step1", "step2")

    tags = _Tags()
    tags.feed(found._repr_html_())
    allowed = {
        "div",
        "style",
        "span",
        "code",
        "details",
        "summary",
        "table",
        "tr",
        "td",
        "th",
        "pre",
        "b",
    }
    assert tags.seen <= allowed
    assert EVIL in tags.text
    assert {"text", "lines", "tree", "frame", "array", "x"} <= set(statuses(found))


@pytest.mark.slow
def test_code_and_outputs_of_two_cells_are_compared(shell: Any) -> None:
    shell.run_cell("%%checkpoint train\nlr = 0.1\nprint('accuracy 0.91')").raise_error()
    shell.run_cell("%%checkpoint again\nlr = 0.2\nprint('accuracy 0.93')").raise_error()
    from nbckpt.steps import current_session

    found = compare(current_session.session(), "train", "again")

    assert [(line.sign, line.text) for line in found.outputs] == [
        ("-", "accuracy 0.91"),
        ("+", "accuracy 0.93"),
    ]
    assert ("-", "lr = 0.1") in found.code
    assert ("+", "lr = 0.2") in found.code


@pytest.mark.slow
def test_functions_and_classes_are_compared_by_their_source(shell: Any) -> None:
    first = """%%checkpoint one
import functools
rate = 1
def f(x):
    return x + 1
def g(x):
    return x
class Model:
    depth = 2
    def fit(self):
        return self.depth
@functools.lru_cache
def cached(x):
    return x
h = lambda x: x
"""
    shell.run_cell(first).raise_error()
    second = first.replace("one", "two").replace("x + 1", "x + 2").replace("depth = 2", "depth = 3")
    second = second.replace("lambda x: x", "lambda x: x * 2").replace(
        "rate = 1", "rate = 1  # kept"
    )
    shell.run_cell(second).raise_error()
    from nbckpt.steps import current_session

    found = compare(current_session.session(), "one", "two")

    details = {v.name: v.detail for v in found.variables}
    assert statuses(found) == {
        "Model": "changed",
        "cached": "same",
        "f": "changed",
        "g": "same",
        "h": "changed",
    }
    assert details["f"] is not None
    assert [(line.sign, line.text) for line in details["f"].lines] == [
        (" ", "def f(x):"),
        ("-", "    return x + 1"),
        ("+", "    return x + 2"),
    ]


@pytest.mark.slow
def test_what_a_statement_makes_again_is_not_made_for_a_comparison(shell: Any) -> None:
    Path("made.txt").write_text("0")
    shell.run_cell("%%checkpoint one\nfile = open('made.txt')\nk = 1").raise_error()
    shell.run_cell(
        "%%checkpoint two\nfile.close(); file = open('made.txt', 'rb')\nk = 2"
    ).raise_error()
    from nbckpt.steps import current_session

    found = compare(current_session.session(), "one", "two")

    details = {v.name: v.detail for v in found.variables}
    assert details["file"] is not None
    assert details["file"].kind == "unreadable"
    assert "its statement makes it again" in details["file"].summary
    shell.run_cell("file.close()")


@pytest.mark.slow
def test_instances_of_a_class_of_the_notebook_are_compared_by_attributes(shell: Any) -> None:
    shell.run_cell(
        "%%checkpoint one\nimport dataclasses\n@dataclasses.dataclass\nclass Config:\n"
        "    lr: float\n    seen: set\nconfig = Config(0.1, {1})"
    ).raise_error()
    shell.run_cell("%%checkpoint two\nconfig = Config(0.2, {1, 2})").raise_error()
    from nbckpt.steps import current_session

    found = compare(current_session.session(), "one", "two")

    assert found.variables[0].detail is not None
    assert [tuple(row) for row in found.variables[0].detail.rows] == [
        ("config.lr", "0.1", "0.2"),
        ("config.seen{2}", "", "2"),
    ]


@pytest.mark.slow
def test_what_a_cached_function_has_kept_is_compared(shell: Any) -> None:
    cell = "%%checkpoint one\nimport functools\n@functools.cache\ndef f(x):\n    return [x]\nf(1)"
    shell.run_cell(cell).raise_error()
    shell.run_cell("%%checkpoint two\nf(2)").raise_error()
    from nbckpt.steps import current_session

    found = compare(current_session.session(), "one", "two")

    (detail,) = (v.detail for v in found.variables if v.name == "f")
    assert detail is not None
    assert detail.summary == "the same code; it has kept 1 → 2 answers"
