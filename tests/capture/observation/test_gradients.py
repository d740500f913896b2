"""Gradients of torch: what `backward()` adds to counts, and lost graphs are computed again."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.capture.observation import kernels

pytest.importorskip("torch")

pytestmark = pytest.mark.sampled(7)

TORCH = ("torch",)
run_passes = partial(kernels.run_passes, loaded=TORCH)

FIRST = """import torch; torch.manual_seed(0)
x = torch.arange(6.).reshape(2, 3)
a, b, c, d, f = (torch.ones(3, requires_grad=True) for _ in range(5))
m = torch.nn.Linear(3, 1)
torch.nn.init.ones_(m.weight)
o = torch.optim.SGD(m.parameters(), lr=0.1)
def go(): lost_c.backward()"""
CELLS = [
    FIRST,
    "hidden = a * x",
    "lost_a = hidden.sum()",
    "(b * 2).sum().backward()\nlost_b = (b * x).sum()",
    "lost_c = (c * x).sum()\nlost_m = m(x).pow(2).mean()\nlost_f = (f * x).sum()",
    "e = torch.ones(3, requires_grad=True)\nlost_e = (e * x).sum()",
    "from torch.autograd import grad\nfrom torch import autograd as ag",
    "n = 5",
    "lost_a.backward()",
    "lost_b.backward()",
    "go()",
    "lost_m.backward()\no.step()",
    "lost_e.backward()",
    "g = grad((d * x).sum(), d)",
    "h = ag.grad(lost_f, f)",
    "y = [t.tolist() for t in (a.grad, b.grad, c.grad, e.grad, *g, *h, m.weight)]",
]
LAST = {
    "cells that follow the graphs": [
        (8, "lost_a.backward(); n = 6"), (9, "lost_b.backward(); n = 6"), (10, "go(); n = 6"),
        (11, "lost_m.backward()\no.step(); n = 6"), (12, "lost_e.backward(); n = 6"),
        (14, "h = ag.grad(lost_f, f); n = 6"),
    ],
    "gradients": [(7, "b.grad = None; c.grad = torch.ones(3)")],
    "a hook": [(7, "n = c.register_hook(lambda gradient: gradient * 2)")],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", LAST)
def test_an_edited_notebook_gets_the_gradients_of_a_run(kind: str, tmp_path: Path) -> None:
    other = list(CELLS)
    for number, cell in LAST[kind]:
        other[number] = cell
    run_passes(tmp_path / "a", CELLS)

    again = run_passes(tmp_path / "a", CELLS)
    got = run_passes(tmp_path / "a", other)

    assert again.restored == list(range(len(CELLS)))
    assert got.value == run_passes(tmp_path / "b", other, plain=True).value, got.said
    assert got.errors == []
    if kind == "cells that follow the graphs":
        assert "'hidden', 'lost_a', whose graph could not be kept, made again by" in got.said


LARGE = {
    "a table beside it": "rows = [[i] for i in range(12_000)]\nlost = (w * 3).sum()",
    "a deep graph": "lost = w * 3\nfor _ in range(12_000): lost = lost + 1e-6\nlost = lost.sum()",
}


@pytest.mark.slow
@pytest.mark.parametrize("what", LARGE)
def test_a_large_notebook_gets_its_graphs_back(what: str, tmp_path: Path) -> None:
    first = "import torch\nw = torch.ones(2, requires_grad=True)"
    cells = [first, LARGE[what], "n = 0", "lost.backward()", "y = w.grad.tolist()"]
    run_passes(tmp_path / "a", cells)

    edited = run_passes(tmp_path / "a", [*cells[:3], "lost.backward()\nn = 1", cells[4]])

    assert (edited.value, edited.errors) == ("[3.0, 3.0]", []), edited.said


HOLDING = {
    "a data class": "@dataclass\nclass Out:\n    loss: object\nout = Out((w * 3).sum())",
    "a named tuple": "Out = namedtuple('Out', 'loss')\nout = Out((w * 3).sum())",
    "a namespace": "out = SimpleNamespace(loss=(w * 3).sum())",
    "an instance": "class Out: pass\nout = Out()\nout.loss = (w * 3).sum()",
    "a kind of dict":
        "class Out(OrderedDict):\n    loss = property(lambda self: self['loss'])\n"
        "out = Out(loss=(w * 3).sum())",
}  # fmt: skip
KINDS = """import torch
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from types import SimpleNamespace
w = torch.ones(2, requires_grad=True)"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", HOLDING)
def test_graphs_are_found_in_what_holds_results(kind: str, tmp_path: Path) -> None:
    cells = [KINDS, HOLDING[kind], "n = 0", "out.loss.backward()", "y = w.grad.tolist()"]
    run_passes(tmp_path / "a", cells)

    follows = run_passes(tmp_path / "a", [*cells[:3], "(2 * out.loss).backward()", cells[4]])
    adds = run_passes(tmp_path / "a", [*cells[:2], "w.grad = torch.ones(2)", *cells[3:]])

    assert (follows.value, adds.value) == ("[6.0, 6.0]", "[4.0, 4.0]"), follows.said + adds.said
    assert follows.errors == adds.errors == []


START = "import torch\nw = torch.tensor([1., 2.], requires_grad=True)\nlog = []\nscale = 3."
DOUBLE = """class Double(torch.autograd.Function):
    @staticmethod
    def forward(context, x): return x * 2
    @staticmethod
    def backward(context, gradient):
        log.append(1)
        return gradient * scale
lost = Double.apply(w).sum()"""
CALLED = {
    "a hook of a leaf": "_ = w.register_hook(lambda g: log.append(1))\nlost = (w * 2).sum()",
    "a hook inside of a graph":
        "h = w * 2\n_ = h.register_hook(lambda g: log.append(1) or g * scale)\nlost = h.sum()",
    "a hook of nothing that is held":
        "h = w * 2\n_ = h.register_hook(lambda g: g * scale)\nlost = h.sum()\ndel h",
    "a hook after a gradient was added":
        "_ = w.register_post_accumulate_grad_hook(lambda p: log.append(1))\nlost = (w * 2).sum()",
    "a hook of a module":
        "m = torch.nn.Linear(2, 1)\n_ = m.weight.data.fill_(1), m.bias.data.fill_(1)\n"
        "_ = m.register_full_backward_hook(lambda *_: log.append(1))\nlost = m(w).sum()",
    "a function with its own gradients": DOUBLE,
    "a hook by a function":
        "def watch(t): return t.register_hook(lambda g: log.append(1))\n_ = watch(w)\n"
        "lost = (w * 2).sum()",
    "hooks of saved tensors":
        "def unpack(t):\n    log.append(1)\n    return t * scale\n"
        "with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack): lost = (w**2).sum()",
    "a checkpoint":
        "from torch.utils.checkpoint import checkpoint\ndef f(t):\n    log.append(1)\n"
        "    return (t * scale).sum()\nlost = checkpoint(f, w, use_reentrant=True)",
    "a function that derives from one that does":
        DOUBLE.replace("autograd.Function", "autograd.function.InplaceFunction"),
}  # fmt: skip
ASKED = ["lost.backward()", "n = 1", "y = w.grad.tolist(), len(log)"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", CALLED)
def test_what_a_graph_calls_of_the_notebook_changes_variables(kind: str, tmp_path: Path) -> None:
    cells = [START, "n = 0", CALLED[kind], *ASKED]
    run_passes(tmp_path / "a", cells)
    plain = run_passes(tmp_path / "b", cells, plain=True).value

    again = run_passes(tmp_path / "a", cells)

    assert again.value == plain, again.said
    assert {0, 1, 3, 4} <= set(again.restored), again.said


BESIDE = """K = 1
seen = []
class Trainer:
    def __init__(self, w): self.w = w
    def fit(self): (self.w * 2).sum().backward()
"""
WITH_MODULE = {
    "a method beside the notebook": ("t = um.Trainer(w)\n_ = w.register_hook(lambda g: log.append(1))",
        "t.fit()", "log"),
    "what a hook sets in a module": ("_ = w.register_hook(lambda g: um.seen.append(1))",
        "(w * 2).sum().backward()", "um.seen"),
    "what a hook reads in a module": ("_ = w.register_hook(lambda g: g * um.K)",
        "(w * 2).sum().backward()", "w.grad.tolist()"),
    "another name": ("_ = w.register_hook(lambda g: log.append(1))\ngo = torch.Tensor.backward",
        "go((w * 2).sum())", "log"),
    "a step of an optimizer":
        ("o = torch.optim.SGD([w])\n_ = o.register_step_post_hook(lambda *_: log.append(1))",
        "o.step()", "log"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", WITH_MODULE)
def test_what_is_called_by_other_means_counts(kind: str, tmp_path: Path) -> None:
    making, using, shown = WITH_MODULE[kind]
    cells = [START + "\nimport um", making, "um.K = 5", using, f"y = {shown}"]

    got = kernels.restored_beside({"um": BESIDE}, cells, tmp_path, TORCH)

    assert 0 in got.restored, got.said


EDITED = {
    "what a hook reads": ("a hook inside of a graph", START, START.replace("3.", "5.")),
    "what a function reads": (
        "a function with its own gradients", START, START.replace("3.", "5."),
    ),
    "a hook": ("a hook of nothing that is held", "g * scale", "g * 7"),
    "one hook more": ("a function with its own gradients", "n = 0",
        "n = w.register_hook(lambda g: log.append(2))"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("what", EDITED)
def test_what_a_graph_calls_of_the_notebook_counts(what: str, tmp_path: Path) -> None:
    kind, old, new = EDITED[what]
    cells = [START, "n = 0", CALLED[kind], *ASKED]
    other = [cell.replace(old, new) for cell in cells]
    run_passes(tmp_path / "a", cells)

    got = run_passes(tmp_path / "a", other)

    assert got.value == run_passes(tmp_path / "b", other, plain=True).value, got.said
    assert got.errors == []


@pytest.mark.slow
def test_what_was_asked_of_a_graph_is_asked_again(tmp_path: Path) -> None:
    cells = [
        "import torch\nw = torch.tensor([1., 2.], requires_grad=True)",
        "kept = w * 2\nhooked = w * 3",
        "kept.retain_grad()",
        "_ = hooked.register_hook(lambda gradient: gradient * 0 + 1)",
        "lost = (kept ** 2 + hooked ** 2).sum()",
        "lost.backward()",
        "y = w.grad.tolist(), kept.grad.tolist()",
    ]
    other = [*cells[:5], "(2 * lost).backward()", cells[6]]
    run_passes(tmp_path / "a", cells)

    got = run_passes(tmp_path / "a", other)

    assert got.value == run_passes(tmp_path / "b", other, plain=True).value, got.said


@pytest.mark.slow
def test_a_graph_that_something_else_holds_a_part_of_is_not_made_again(tmp_path: Path) -> None:
    cells = [
        "import torch\nx = torch.ones(2, 3)",
        "m = torch.nn.Linear(3, 1)\nlost = m(x).sum()",
        "o = torch.optim.SGD(m.parameters(), lr=0.1)",
        "lost.backward()\no.step()",
    ]
    run_passes(tmp_path, cells, probe="0")

    got = run_passes(tmp_path, [*cells[:3], "lost.backward()\no.step(); n = 1"], probe="0")

    assert got.restored == [0, 1, 2]
    assert "run the cells again that make it, and what it was computed from" in got.said
    assert len(got.errors) == 1
    assert "restored without the graph" in got.errors[0]


TRAINER = """\
class Trainer:
    def __init__(self, m, o): self.m, self.o = m, o
    def forward(self, x): self.lost = self.m(x).pow(2).mean()
    def back(self): self.lost.backward(); self.o.step()"""


@pytest.mark.slow
def test_what_holds_a_model_is_made_again_with_it(tmp_path: Path) -> None:
    cells = [
        "import torch\ntorch.manual_seed(0)\nx = torch.ones(2, 3)\nm = torch.nn.Linear(3, 1)\n"
        "o = torch.optim.SGD(m.parameters(), lr=0.1)",
        TRAINER,
        "t = Trainer(m, o)",
        "t.forward(x)",
        "n = 1",
        "t.back()",
        "y = m.weight.tolist(), m.weight.grad.tolist(), t.m is m",
    ]
    run_passes(tmp_path / "a", cells)

    got = run_passes(tmp_path / "a", [*cells[:5], "t.back(); n = 2", cells[6]])

    assert got.value == run_passes(tmp_path / "b", cells, plain=True).value, got.said


@pytest.mark.slow
def test_a_graph_that_was_followed_is_made_again_after_a_rewind(tmp_path: Path) -> None:
    cells = ["import torch\nw = torch.ones(2, requires_grad=True)\nlost = (w**2).sum()", "n = 1",
             "g, = torch.autograd.grad(lost, w)", "y = g.tolist()"]  # fmt: skip

    got = run_passes(tmp_path, [*cells, "%rewind cell-1", *cells[2:3], "y = (2 * g).tolist()"])

    assert got.value == "[4.0, 4.0]", got.said


@pytest.mark.slow
def test_a_rewind_asks_nothing_of_what_graphs_have_saved(tmp_path: Path) -> None:
    cells = [f"{HOOKED}from torch.utils.checkpoint import checkpoint",
             "def f(t):\n    log.append(1)\n    return (t**2).sum()",
             "lost = checkpoint(f, w, use_reentrant=False)", "n = 1", "y = len(log)"]  # fmt: skip

    got = run_passes(tmp_path, [*cells, "%rewind cell-3", "m = 2", "y = len(log)"])

    assert got.value == "1", got.said


CALLABLES = {
    "a partial": "from functools import partial\ngo = partial(torch.autograd.grad, inputs=w)",
    "a method's name": "from operator import methodcaller\ngo = methodcaller('backward')",
    "in a dict": "calls = {1: torch.autograd.grad}\ndef go(lost): calls[1](lost, w)",
}


@pytest.mark.slow
@pytest.mark.parametrize("what", CALLABLES)
def test_what_follows_graphs_is_found_in_what_holds_it(what: str, tmp_path: Path) -> None:
    cells = [f"{HOOKED}{CALLABLES[what]}", "lost = (w * scale).sum()", "n = 1", "go(lost)",
             "y = n"]  # fmt: skip
    run_passes(tmp_path / "a", cells)

    got = run_passes(tmp_path / "a", [*cells[:3], "go(lost * 2)", cells[4]])

    assert got.errors == []
    assert "made again" in got.said


HELPERS = {
    "steps": "def fit(w): (w * 2).sum().backward()\nclass Trainer:\n"
    "    def __init__(self, w): self.w = w\n    def run(self): fit(self.w)",
    "more": "from steps import fit\ndef fit_more(w): fit(w)",
    "most": "import more\ndef fit_most(w): more.fit_more(w)",
    "back": "import backer\ndef go(lost): backer.go(lost)",
    "backer": "def go(lost): lost.backward()",
    "again": "import against\ndef made(f, w): return against.made(f, w)",
    "against": "from torch.utils import checkpoint as c\n"
    "def made(f, w): return c.checkpoint(f, w, use_reentrant=True)",
}
HOOKED = "import torch\nlog = []\nw = torch.ones(2, requires_grad=True)\nscale = 5\n"
REACHING = {
    "an instance in a dict": ("from steps import Trainer\nall = {1: Trainer(w)}", "all[1].run()"),
    "an instance in an instance":
        ("from steps import Trainer\nclass C: pass\nc = C(); c.t = Trainer(w)", "c.t.run()"),
    "a bound method": ("from steps import Trainer\ngo = Trainer(w).run", "go()"),
    "a helper's helper": ("from more import fit_more", "fit_more(w)"),
    "a module's module": ("import most", "most.fit_most(w)"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("what", REACHING)
def test_code_that_follows_graphs_is_reached_by_other_means(what: str, tmp_path: Path) -> None:
    making, calling = REACHING[what]
    hook = "\n_ = w.register_hook(lambda g: log.append(scale) or g * scale)"
    cells = [HOOKED, making + hook, "scale = 5", calling, "y = log, w.grad.tolist()"]

    again = kernels.restored_beside(HELPERS, cells, tmp_path, loaded=TORCH)

    assert 1 not in again.restored


@pytest.mark.slow
def test_a_graph_that_a_helpers_helper_follows_is_made_again(tmp_path: Path) -> None:
    cells = [HOOKED, "lost = (w * scale).sum()", "import back", "back.go(lost); n = 5",
             "y = w.grad.tolist()"]  # fmt: skip

    kernels.restored_beside(HELPERS, cells, tmp_path, loaded=TORCH)


@pytest.mark.slow
def test_functions_that_a_helpers_helper_has_called_again_count(tmp_path: Path) -> None:
    cells = [HOOKED, "import again\ndef f(t):\n    log.append(1)\n    return (t**2).sum() * scale",
             "lost = again.made(f, w)", "n = 5", "lost.backward()",
             "y = len(log), w.grad.tolist()"]  # fmt: skip

    kernels.restored_beside(HELPERS, cells, tmp_path, loaded=TORCH)


def test_names_of_every_day_register_no_hooks(tmp_path: Path) -> None:
    training = "checkpoint = {'w': w}\ntorch.nn.utils.clip_grad_norm_([w], 1)\ny = 1"
    run_passes(tmp_path / "a", [HOOKED, training])

    assert run_passes(tmp_path / "a", [HOOKED, training]).restored == [0, 1]


@pytest.mark.slow
def test_hooks_of_an_optimizers_state_are_called(tmp_path: Path) -> None:
    making = (
        "o = torch.optim.SGD([w])\n_ = o.register_state_dict_post_hook(lambda *_: log.append(n))"
    )
    cells = [f"{HOOKED}n = 0", making, "n = 1", "state = o.state_dict()", "y = [*log]"]
    run_passes(tmp_path / "a", cells)

    again = run_passes(tmp_path / "a", cells)
    edited = run_passes(tmp_path / "a", [*cells[:2], "n = 2", *cells[3:]])

    assert (again.value, edited.value) == ("[1]", "[2]")


@pytest.mark.slow
def test_gradients_get_to_the_tensors_that_variables_hold(tmp_path: Path) -> None:
    cells = [HOOKED, "h = w * 2\nh.retain_grad()\nlost = h.sum()", "n = 1",
             "lost.backward(retain_graph=True)", "lost.backward()",
             "y = h.grad.tolist(), w.grad.tolist()"]  # fmt: skip
    run_passes(tmp_path / "a", cells)

    edited = run_passes(tmp_path / "a", [*cells[:2], "n = 2", *cells[3:]])

    assert edited.value == "([2.0, 2.0], [4.0, 4.0])", edited.said
