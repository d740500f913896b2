"""Tensors on CUDA devices, and what becomes of them where there is none."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from nbckpt.codecs import storages
from nbckpt.codecs.storages import storage_from
from nbckpt.codecs.tensors import generator_from, tensor_from
from nbckpt.session.session import Session

torch = pytest.importorskip("torch")

has_cuda = torch.cuda.is_available()
needs_cuda = pytest.mark.skipif(not has_cuda, reason="needs a CUDA device")
needs_none = pytest.mark.skipif(has_cuda, reason="needs a machine without a CUDA device")


class OnDevice:
    """Is written as a tensor on a device is, whether the device is here or not."""

    def __init__(self, values: Any, device: str) -> None:
        self.values, self.device = values, device

    def __reduce__(self) -> Any:
        storage = _Storage(self.values, self.device)
        layout = (0, tuple(self.values.shape), self.values.stride())
        bits = (False, False, False)
        return tensor_from, ("parameter", storage, self.values.dtype, layout, True, bits)


class _Storage:
    def __init__(self, values: Any, device: str) -> None:
        self.values, self.device = values, device

    def __reduce__(self) -> Any:
        data = self.values.numpy().view("u1").reshape(-1)
        return storage_from, (pickle.PickleBuffer(data), data.nbytes, self.device)


class GeneratorOnDevice:
    __module__ = "torch.of_a_test"  # no value of torch is tried in a copy

    def __reduce__(self) -> Any:
        return generator_from, ("cuda:0", None)


def brought_back(session: Session, **values: object) -> dict[str, Any]:
    """The variables after they were kept, lost and brought back."""
    session.namespace.update(values)
    session.checkpoint("kept")
    session.namespace.update(dict.fromkeys(values))
    session.rewind("kept")
    return session.namespace


@needs_none
@pytest.mark.parametrize("size", [10, 100_000], ids=["in the stream", "beside it"])
def test_a_tensor_of_a_device_that_is_not_here_comes_back_on_the_cpu_and_says_so(
    session: Session, size: int
) -> None:
    values = torch.randn(size)

    with pytest.warns(
        RuntimeWarning, match="'x' was on cuda:0, which is not here; it is on the CPU"
    ):
        back = brought_back(session, x=OnDevice(values, "cuda:0"))

    assert torch.equal(back["x"], values)
    assert type(back["x"]) is torch.nn.Parameter
    assert back["x"].device.type == "cpu"
    with torch.no_grad():
        back["x"][0] = 5


@needs_none
def test_one_warning_names_all_variables_of_a_device(session: Session) -> None:
    first, second = (OnDevice(torch.ones(3), "cuda:1") for _ in range(2))

    with pytest.warns(RuntimeWarning) as caught:
        brought_back(session, first=first, second=second)

    assert [str(w.message) for w in caught] == [
        "'first', 'second' was on cuda:1, which is not here; it is on the CPU now"
    ]


@needs_none
def test_a_generator_of_a_device_that_is_not_here_begins_anew(session: Session) -> None:
    with pytest.warns(RuntimeWarning, match="'g' was on cuda:0"):
        back = brought_back(session, g=GeneratorOnDevice())

    assert torch.rand(3, generator=back["g"]).shape == (3,)


def test_a_tensor_of_the_cpu_comes_back_without_a_word(session: Session) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        back = brought_back(session, x=OnDevice(torch.ones(5), "cpu"))

    assert back["x"].tolist() == [1] * 5


@pytest.fixture
def training() -> Iterator[tuple[Any, Any]]:
    """A model with tied weights on the device, and its optimiser after a step."""
    model = torch.nn.Sequential(*(torch.nn.Linear(300, 300) for _ in range(2))).cuda()
    model[1].weight = model[0].weight
    opt = torch.optim.Adam(model.parameters())
    model(torch.ones(300, device="cuda")).sum().backward()
    opt.step()
    yield model, opt
    torch.cuda.synchronize()


@needs_cuda
def test_a_model_on_a_device_comes_back_there_tied_to_its_optimiser(
    session: Session, training: tuple[Any, Any]
) -> None:
    model, opt = training
    weight = model[0].weight.detach().clone()

    back = brought_back(session, model=model, opt=opt)

    assert back["model"][0].weight is back["model"][1].weight
    assert back["model"][0].weight.device == weight.device
    assert torch.equal(back["model"][0].weight, weight)
    assert back["opt"].param_groups[0]["params"][0] is back["model"][0].weight
    back["opt"].step()


@needs_cuda
def test_the_copy_is_of_what_was_queued_before_it() -> None:
    tensor = torch.zeros(1 << 24, device="cuda")
    for _ in range(50):
        tensor += 1  # still being computed when the copy is asked for

    ref = storages.StorageRef(tensor.untyped_storage())
    ref.__reduce__()
    storages.finish([ref])

    host = torch.empty(0).set_(ref.host)
    assert host.is_pinned()
    assert bool((host == 50).all())


@needs_cuda
def test_views_on_a_device_share_its_memory_again(session: Session) -> None:
    whole = torch.arange(9000.0, device="cuda")

    back = brought_back(session, whole=whole, part=whole[10:20])
    back["part"][0] = -1

    assert back["whole"][10] == -1
