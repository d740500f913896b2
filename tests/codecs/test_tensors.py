"""Tensors, modules and optimisers of PyTorch."""

from __future__ import annotations

import pytest

from tests.codecs.test_round_trips import round_trip
from tests.notebooks import define

torch = pytest.importorskip("torch")


def test_a_tensor_comes_back_equal_and_writable() -> None:
    namespace = define("import torch\nt = torch.arange(20000.).reshape(100, 200)")

    back = round_trip(namespace, "t")
    back["t"][0, 0] = 5

    assert torch.equal(back["t"][1:], namespace["t"][1:])
    assert namespace["t"][0, 0] == 0


def test_views_of_a_tensor_share_its_storage_again() -> None:
    namespace = define("import torch\nt = torch.zeros(20000)\nv = t[5:10]\nm = t.view(100, 200).T")

    back = round_trip(namespace, "t", "v", "m")
    back["v"][0] = 3

    assert back["t"][5] == 3
    assert back["m"][5, 0] == 3
    assert back["m"].stride() == namespace["m"].stride()


@pytest.mark.slow
def test_tied_weights_stay_tied_and_the_optimiser_holds_the_models_parameters() -> None:
    namespace = define(
        "import torch\n"
        "model = torch.nn.Sequential(torch.nn.Linear(60, 60), torch.nn.Linear(60, 60))\n"
        "model[1].weight = model[0].weight\n"
        "opt = torch.optim.Adam(model.parameters())\n"
        "model(torch.ones(60)).sum().backward()\nopt.step()"
    )

    back = round_trip(namespace, "model", "opt")

    assert back["model"][1].weight is back["model"][0].weight
    assert back["opt"].param_groups[0]["params"][0] is back["model"][0].weight
    weight = namespace["model"][0].weight
    assert torch.equal(back["model"][0].weight, weight)
    assert torch.equal(back["model"][0].weight.grad, weight.grad)
    back["opt"].step()


def test_a_generator_goes_on_where_it_was() -> None:
    namespace = define("import torch\ng = torch.Generator()\n_ = g.manual_seed(3)")

    back = round_trip(namespace, "g")

    assert torch.equal(torch.rand(3, generator=back["g"]), torch.rand(3, generator=namespace["g"]))


@pytest.mark.parametrize(
    "expression",
    ["torch.zeros(0)", "torch.tensor(3)", "torch.eye(3).to_sparse()", "torch.ones(3, dtype=torch.bfloat16)",
     "torch.ones(3, dtype=torch.complex64)", "torch.tensor([True, False])"],
)  # fmt: skip
def test_tensors_of_every_kind_come_back_equal(expression: str) -> None:
    namespace = define(f"import torch\nx = {expression}")

    back = round_trip(namespace, "x")

    assert back["x"].dtype == namespace["x"].dtype
    assert back["x"].layout == namespace["x"].layout
    assert torch.equal(back["x"].to_dense(), namespace["x"].to_dense())


def test_a_schedule_still_knows_whether_its_optimiser_has_taken_a_step() -> None:
    namespace = define(
        "import torch\n"
        "model = torch.nn.Linear(2, 2)\n"
        "opt = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "schedule = torch.optim.lr_scheduler.StepLR(opt, 1)"
    )

    back = namespace
    for _ in range(2):  # what was restored is kept as well as what was made
        back = round_trip(back, "model", "opt", "schedule")
    back["opt"].step()
    back["schedule"].step()  # it warns if it believes that no step was taken

    assert back["opt"].param_groups[0]["lr"] == pytest.approx(0.01)
    assert "step" in vars(back["opt"])
