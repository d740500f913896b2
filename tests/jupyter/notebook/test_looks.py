"""How the cells of a notebook looked at a checkpoint."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import nbformat
import pytest

from nbckpt.jupyter.notebook.looks import MOST_DISPLAYS, displays_of, page_at
from nbckpt.session.history.recorded_outputs import notebook_outputs
from nbckpt.session.session import Session
from tests.jupyter.notebook.cells import Notebook


def test_each_cell_looks_as_it_did_then(shell: Any) -> None:
    notebook = Notebook(shell)
    notebook.run(plain="k = 1", load="%%checkpoint load\nprint('one')\nk")
    notebook.run(load="%%checkpoint load\nprint('two')\nk + 1", train="%%checkpoint train\nt = 1")
    notebook.run(late="u = 1")

    first = page_at(notebook.session, notebook.session.get("load@1"))
    last = page_at(notebook.session, notebook.session.get("train"))

    looks = {cell["cell_id"]: cell for cell in first["cells"]}
    assert looks["plain"]["outputs"] is None
    assert looks["load"]["source"].endswith("print('one')\nk")
    # A terminal's shell writes an empty line beside the result.
    assert looks["load"]["outputs"][1]["data"] == {"text/plain": "1"}
    assert looks["load"]["outputs"][0] == {
        "output_type": "stream",
        "name": "stdout",
        "text": "one\n",
    }
    assert first["later"] == ["train", "late"]
    assert {c["cell_id"]: c["outputs"] for c in last["cells"]}["train"] == []
    assert last["later"] == ["late"]


def test_outputs_are_those_of_a_notebooks_file(shell: Any) -> None:
    notebook = Notebook(shell)
    shown = "from IPython.display import HTML, display\nimport sys\nprint('x', file=sys.stderr)"
    notebook.run(show=f"%%checkpoint show\n{shown}\ndisplay(HTML('<b>1</b>'))\n42")

    [cell] = page_at(notebook.session, notebook.session.get("show"))["cells"]

    made = nbformat.v4.new_notebook()
    made.cells.append(
        nbformat.v4.new_code_cell(cell["source"], outputs=cell["outputs"], execution_count=1)
    )
    nbformat.validate(nbformat.from_dict(made))
    told = {output["output_type"]: output for output in cell["outputs"]}
    assert told["display_data"]["data"]["text/html"] == "<b>1</b>"
    assert told["execute_result"]["data"]["text/plain"] == "42"
    assert cell["outputs"][0] == {"output_type": "stream", "name": "stderr", "text": "x\n"}


def test_displays_are_what_is_more_than_text_and_pictures(shell: Any) -> None:
    notebook = Notebook(shell)
    code = "from IPython.display import HTML, display\nprint('text')\nfor i in range(20):"
    notebook.run(show=f"%%checkpoint show\n{code} display(HTML(f'<b>{{i}}</b>'))\n42")
    checkpoint = notebook.session.get("show")

    found = displays_of(notebook.session, checkpoint)

    html = [output["data"]["text/html"] for output in found]
    assert html == [f"<b>{i}</b>" for i in range(MOST_DISPLAYS)]
    assert displays_of(notebook.session, replace(checkpoint, trusted=False)) == []


def test_outputs_that_are_lost_are_not_told_as_none(session: Session) -> None:
    checkpoint = replace(session.checkpoint("a"), outputs="0" * 64)

    assert notebook_outputs(session.store, checkpoint, 1) is None


FORGED: list[tuple[object, object]] = [
    ([{"display": {"text/html": "<script>", "text/plain": "t"}}], {"text/plain": "t"}),
    ([{"display": {"image/png": "aGk=", "image/svg+xml": "<svg>"}}], {"image/png": "aGk="}),
    ([{"result": {"application/javascript": "x()", "text/plain": ["a"]}}], {"text/plain": "['a']"}),
    ([{"result": {"image/png": ["no text"]}, "metadata": {"image/png": {"unconfined": 1}}}], {}),
]


def test_forged_outputs_of_no_known_form_are_told_as_lost(session: Session) -> None:
    blob = session.store.put_blob([json.dumps([{"display": "no mapping"}]).encode()])
    strange = replace(session.checkpoint("a"), outputs=blob, trusted=False)

    assert notebook_outputs(session.store, strange, 1) is None


@pytest.mark.parametrize(("written", "shown"), FORGED)
def test_of_outputs_that_are_not_trusted_text_and_pictures_are_shown(
    session: Session, written: object, shown: dict[str, str]
) -> None:
    blob = session.store.put_blob([json.dumps(written).encode()])
    strange = replace(session.checkpoint("a"), outputs=blob, trusted=False)

    outputs = notebook_outputs(session.store, strange, 1)

    assert outputs is not None
    hidden = {"text/plain": "(not shown: this store is not trusted)"}
    assert outputs.shown[0]["data"] == {**hidden, **shown}
    assert outputs.shown[0]["metadata"] == {}


@pytest.mark.parametrize("written", [b"no json", b"5", b'["text"]', b"{}"])
def test_outputs_that_are_none_are_lost(session: Session, written: bytes) -> None:
    blob = session.store.put_blob([written])
    strange = replace(session.checkpoint("a"), outputs=blob, trusted=False)

    assert notebook_outputs(session.store, strange, 1) is None
