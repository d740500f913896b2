"""What a page beside the notebook hears of questions, and how it answers; in real kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jupyter.sidebar import Page
from tests.kernels import Kernel, KernelDiedError

ASK = "%%checkpoint clean\nok = nbckpt.approve('delete?', ['a', 'b'])\nprint(bool(ok), ok.through)"


def test_a_page_hears_of_a_question_and_answers_it_while_the_cell_waits(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt\nimport nbckpt")
        page = Page(kernel)
        hello = page.hello()
        request = kernel.send(ASK, "c1")
        page.until(lambda: any(e["approvals"] for e in page.named("approvals")))
        page.until(lambda: page.named("approvals")[-1]["approvals"][0]["is_waited_for"])
        (asked,) = page.named("approvals")[-1]["approvals"]
        unclear = page.ask("answer", id=asked["id"], verdict="perhaps")
        also = page.result("hello")["approvals"]
        said = page.result("answer", id=asked["id"], verdict="refuse", text="not now")
        again = page.ask("answer", id=asked["id"], verdict="approve")
        ran = kernel.collect(request)
        page.until(lambda: page.named("approvals")[-1]["approvals"] == [])
        page.close()

    assert hello["approvals"] == []
    told = {"question": "delete?", "preview": "a\nb", "state": "waiting", "step": "clean"}
    assert {**asked, **told, "cell_id": "c1", "is_waited_for": True} == asked
    assert also == [asked]
    assert unclear["error"] == "'perhaps' is no answer: approve, refuse or withdraw"
    assert said["text"].endswith("(sidebar), “not now”: delete?")
    assert "was refused by" in again["error"]
    assert ran.stdout == "False sidebar\n"


@pytest.mark.slow
def test_a_page_answers_what_a_killed_kernel_has_asked(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt\nimport nbckpt")
        page = Page(kernel)
        page.hello()
        request = kernel.send(ASK, "c1")
        page.until(lambda: any(e["approvals"] for e in page.named("approvals")))
        # Pages are told of a question before it is durable; who waits for it begins afterwards.
        page.until(lambda: page.named("approvals")[-1]["approvals"][0]["is_waited_for"])
        kernel.kill()
        try:
            kernel.collect(request)
        except KernelDiedError:
            page.client.stop_channels()
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt\nimport nbckpt")
        page = Page(kernel)
        (asked,) = page.hello()["approvals"]
        page.result("answer", id=asked["id"], verdict="approve")
        ran = kernel.run(ASK, "c1")
        page.close()

    assert not asked["is_waited_for"]
    assert ran.stdout == "True sidebar\n"
