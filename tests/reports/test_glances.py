"""What a cell showed, at a glance: small, of its most telling output, and made once."""

from __future__ import annotations

import base64
import io
import random
from typing import Any

import pandas as pd
import pytest
from PIL import Image

from nbckpt.jupyter.shell import attached
from nbckpt.jupyter.views import Views
from nbckpt.reports import glances
from nbckpt.reports.glances import MOST_BYTES, SIDE_PX, glance_of, thumbnail
from tests.notebooks import run


def png(width: int, height: int, seed: int | None = None) -> str:
    """A PNG in base64: of one colour, or of noise."""
    image = Image.new("RGB", (width, height), "navy")
    if seed is not None:
        image = Image.frombytes(
            "RGB", (width, height), random.Random(seed).randbytes(3 * width * height)
        )
    made = io.BytesIO()
    image.save(made, "PNG")
    return base64.b64encode(made.getvalue()).decode()


def test_a_picture_becomes_a_thumbnail_of_a_few_kilobytes() -> None:
    for encoded in (png(640, 480), png(640, 480, seed=0), png(3000, 20, seed=1), png(9, 9)):
        small = thumbnail(encoded)

        assert small is not None
        raw = base64.b64decode(small)
        assert len(raw) <= MOST_BYTES
        assert max(Image.open(io.BytesIO(raw)).size) <= SIDE_PX


@pytest.mark.parametrize("encoded", ["", "aGVsbG8=", "é", png(9, 9)[:40]])
def test_what_is_no_picture_has_none(encoded: str) -> None:
    assert thumbnail(encoded) is None


def test_a_huge_picture_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glances, "MOST_PIXELS", 100)

    assert thumbnail(png(11, 11)) is None


FRAME = pd.DataFrame({"x": range(70), "long": "a text that is longer", "z": 1.5, "more": 0})
TABLE = {"result": {"text/html": FRAME._repr_html_(), "text/plain": repr(FRAME)}}  # type: ignore[operator]
PICTURE = {"display": {"image/png": png(20, 10), "text/plain": "<Figure 20x10>"}}
CHART = {
    "result": {
        "application/vnd.vegalite.v6.json": {"title": {"text": "by day"}},
        "text/plain": "<VegaLite 6 object>\n\nIf you see this message, see\nhttps://…",
    }
}
LINES = {"stream": "stdout", "text": "first\n\x1b[31mlast\x1b[0m  \n\n"}


@pytest.mark.parametrize(
    ("outputs", "kind", "text"),
    [
        ([], None, ""),
        ([LINES], "text", "last"),
        ([LINES, TABLE], "table", "[70 rows x 4 columns]"),
        ([PICTURE, TABLE, LINES], "image", "<Figure 20x10>"),
        ([{"result": {"text/plain": "0.93"}}], "text", "0.93"),
        ([{"result": {"text/html": "<b>no table</b>", "text/plain": "x"}}], "text", "x"),
        ([{"display": {"image/png": "damaged"}}, LINES], "text", "last"),
        ([CHART], "text", "chart: by day"),
        ([{"display": {"application/vnd.vega.v5+json": {}}}], "text", "chart"),
        ([{"display": {"application/vnd.bokehjs_exec.v0+json": ""}}], "text", "Bokeh plot"),
    ],
)
def test_the_most_telling_output_counts(
    outputs: list[dict[str, Any]], kind: str | None, text: str
) -> None:
    glance = glance_of(outputs)

    assert (glance and glance["kind"]) == kind
    assert glance is None or glance["text"] == text


def test_a_table_is_told_by_its_first_cells() -> None:
    glance = glance_of([TABLE])

    assert glance is not None
    assert glance["rows"][:2] == [["", "x", "long", "z"], ["0", "0", "a text that ", "1.5"]]
    assert len(glance["rows"]) == 4


def test_a_page_is_given_those_that_it_asks_for(shell: Any) -> None:
    run(shell, "%%checkpoint one\nprint('said')")
    run(shell, "%%checkpoint two\nx = 1")
    views = Views.of(attached(shell).cells)
    rows = {row["name"]: row for row in views.now()[0].rows}
    ids = [rows["one"]["id"], rows["two"]["id"], "unknown", 5]

    answer = views.panel.answer("glances", {"ids": ids})

    assert [rows[name]["has_outputs"] for name in ("one", "two")] == [True, False]
    assert answer["result"] == {ids[0]: {"kind": "text", "text": "said"}, ids[1]: None}
    assert not views.panel.answer("glances", {"ids": "all"})["ok"]


def test_what_is_no_html_is_no_table() -> None:
    odd = {"result": {"text/html": "<table><tr><td>a<![foo[ b ]]></td></tr>", "text/plain": "x"}}

    glance = glance_of([odd])

    assert glance is not None
    assert glance["text"] == "x"


def test_tables_within_and_scripts_tell_nothing() -> None:
    html = (
        "<TABLE><tr><td>a<table><tr><td>inner</td></tr></table>b</td><td>c</td></tr>"
        "<tr><td><script>alert(1)</script>d</td></tr></TABLE><table><tr><td>late</td></tr></table>"
    )

    glance = glance_of([{"result": {"text/html": html, "text/plain": "x"}}])

    assert glance is not None
    assert glance["rows"] == [["ab", "c"], ["d"]]
