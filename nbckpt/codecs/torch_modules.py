"""Modules and optimisers that PyTorch's own pickling refuses, or loses parts of."""

from __future__ import annotations

import functools
import io
import sys
import warnings
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

from nbckpt.fingerprint.values.reducing import beside, reduction_of

_EXPORTED = ("torch.export.exported_program", "ExportedProgram")


def reducer_for(kind: type) -> Callable[[object, Any], Any] | None:
    """The reducer for modules and optimisers of type `kind`; None for anything else."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "jit"):
        return None
    if issubclass(kind, torch.jit.ScriptModule | torch.jit.ScriptFunction):
        return _reduce_script
    parametrize = sys.modules.get("torch.nn.utils.parametrize")
    if parametrize and issubclass(kind, torch.nn.Module) and _is_parametrised(kind):
        return _reduce_parametrised
    if (kind.__module__, kind.__name__) == _EXPORTED:
        return _reduce_exported
    lightning = sys.modules.get("lightning.pytorch") or sys.modules.get("pytorch_lightning")
    if lightning is not None and issubclass(kind, getattr(lightning, "LightningModule", ())):
        return _reduce_lightning
    optimiser = torch.optim.Optimizer
    if issubclass(kind, optimiser) and kind.__getstate__ is optimiser.__getstate__:
        return _reduce_optimiser
    return None


def _reduce_exported(_: object, program: Any) -> Any:
    """A program as `torch.export` writes it: what tells the shapes in it is no attribute."""
    torch: Any = sys.modules["torch"]
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    return load_exported, (buffer.getvalue(),)


def load_exported(data: bytes) -> Any:
    """An exported program."""
    import torch

    with warnings.catch_warnings():  # torch 2.4 says that a part is loaded by pickle
        warnings.simplefilter("ignore", FutureWarning)
        return torch.export.load(io.BytesIO(data))


def _reduce_lightning(pickler: Any, module: Any) -> Any:
    """A module with the trainer that it is attached to, where the notebook has it, too.

    Its own pickle leaves the trainer out, and cannot run what asks for it.
    """
    trainer = vars(module).get("_trainer")
    held = pickler.scope.namespace.values()
    if trainer is None or not any(value is trainer for value in held):
        return NotImplemented
    return beside(reduction_of(module, 5), module, ("_trainer",))


def _is_parametrised(kind: type) -> bool:
    is_injected = kind.__name__ == f"Parametrized{kind.__bases__[0].__name__}"
    return is_injected and kind.__module__ == "torch.nn.utils.parametrize"


def _reduce_script(_: object, module: Any) -> Any:
    """A scripted or traced module by torch's own format."""
    torch = sys.modules["torch"]
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it would have users export, which they can still do
        torch.jit.save(module, file)
    return script_from, (file.getvalue(),)


def script_from(data: bytes) -> Any:
    """A scripted module or function."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.load(io.BytesIO(data))


def _reduce_parametrised(_: object, module: Any) -> Any:
    """A module with weight norm or the like: torch makes a class for each such module."""
    return bare_module, (type(module).__bases__[0],), vars(module), None, None, parametrise


def bare_module(kind: Any) -> Any:
    """A module that is still to be filled."""
    return kind.__new__(kind)


def parametrise(module: Any, members: dict[str, Any]) -> None:
    """Fill a module, and give it the class whose properties compute its weights."""
    from torch.nn.utils import parametrize

    vars(module).update(members)
    inject: Any = parametrize
    inject._inject_new_class(module)  # noqa: SLF001  # `register_parametrization` calls these
    for name in members["_modules"]["parametrizations"].keys():  # noqa: SIM118  # not a dict
        inject._inject_property(module, name)  # noqa: SLF001


def _reduce_optimiser(_: object, optimiser: Any) -> Any:
    """An optimiser with all it has; torch forgets its hooks, and what LBFGS needs for a step."""
    members = dict(vars(optimiser))
    is_watched = hasattr(members.get("step"), _WATCHED)
    if is_watched:
        del members["step"]
    return bare_optimiser, (type(optimiser), is_watched), members, None, None, fill_optimiser


_WATCHED = "_wrapped_by_lr_sched"
"""Mark that a schedule puts on the `step` of its optimiser, to know if it was called."""


def bare_optimiser(kind: Any, is_watched: bool) -> Any:
    """An optimiser that is still to be filled."""
    optimiser = kind.__new__(kind)
    if is_watched:
        optimiser.step = _watched(optimiser)
    return optimiser


def _watched(optimiser: Any) -> Any:
    """The optimiser's `step` as a schedule wraps it."""
    step, reference = type(optimiser).step, weakref.ref(optimiser)

    @functools.wraps(step)
    def watched(*args: Any, **options: Any) -> Any:
        owner: Any = reference()
        owner._opt_called = True  # noqa: SLF001  # the schedule asks for it
        return step(owner, *args, **options)

    setattr(watched, _WATCHED, True)
    return watched


def fill_optimiser(optimiser: Any, members: dict[str, Any]) -> None:
    """Give an optimiser what it had, and its class the hooks around `step`."""
    vars(optimiser).update(members)
    optimiser._patch_step_function()  # noqa: SLF001  # as its own `__setstate__` does


def reduce_compiled(function: FunctionType) -> Any:
    """A function under `torch.compile` as the function and the compiler's settings; else None."""
    original = getattr(function, "_torchdynamo_orig_callable", None)
    if original is None or original is function:
        return None
    for cell in function.__closure__ or ():
        context = cell.cell_contents
        if type(context).__module__ == "torch._dynamo.eval_frame":
            return compiled_from, (context, original)
    return None


def compiled_from(context: Any, function: Any) -> Any:
    """`function`, to be compiled when it is called."""
    return context(function)
