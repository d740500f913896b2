"""The tensors of torch whose gradients a result sets: ``loss.backward()`` names none of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from nbckpt.values.holding import parts_of
from nbckpt.values.homes import home_of_named, is_named
from nbckpt.values.plain import ATOMS

MANY = 10_000
"""Nodes of a graph, and parts of variables, that are looked at for a cell's key."""

ALL = sys.maxsize
"""For that to have no bound."""

NOT_KEPT = "GraphNotKeptBackward"
"""The node that stands for the graph of a restored tensor (`codecs.tensors`)."""

FOLLOWING = frozenset({"backward", "autograd"})
"""Names by which code follows a graph back."""

_CALLED = (FunctionType, MethodType, BuiltinFunctionType)


def _torch() -> Any:
    """The library, if it is loaded as a whole: before that there is no tensor."""
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "Tensor") else None


def leaves_of(
    names: Iterable[str], namespace: Mapping[str, object], most: int = MANY
) -> list[object] | None:
    """Tensors that variables, or what containers of them hold, were computed from.

    Those on the way count that keep their gradients, where variables have them. None if there are
    more than `most` nodes or parts to look at.
    """
    torch = _torch()
    if torch is None:
        return []
    tensors, is_all = _tensors_in([namespace.get(n) for n in names], torch.Tensor, most)
    if tensors and not is_all:
        return None
    if all(tensor.grad_fn is None for tensor in tensors):
        return []
    nodes = _graph_of(tensors, most)
    if nodes is None:
        return None
    leaves = [leaf for n in nodes.values() if (leaf := getattr(n, "variable", None)) is not None]
    others, is_all = _tensors_in(list(namespace.values()), torch.Tensor, most)
    if not is_all:
        return None
    leaves += [t for t in others if not t.is_leaf and t.retains_grad and id(t.grad_fn) in nodes]
    return leaves


def holding_gradients(names: Iterable[str], namespace: Mapping[str, object]) -> set[str]:
    """Those of some variables that a gradient may be added to, whatever it was computed from.

    A restored tensor has lost its graph: by that a cell would depend on other variables than when
    it ran.
    """
    torch = _torch()
    if torch is None:
        return set()
    modules = getattr(getattr(torch, "nn", None), "Module", ())
    found = set()
    for name in names:
        value = namespace.get(name)
        tensors, _ = _tensors_in([value], torch.Tensor)
        has_own = any(t.requires_grad and (t.is_leaf or t.retains_grad) for t in tensors)
        if has_own or issubclass(type(value), modules):
            found.add(name)
    return found


def alike_but_gradients(values: Mapping[str, object], others: Mapping[str, object]) -> list[str]:
    """The names of tensors and modules that are the same in both, gradients left out."""
    torch = _torch()
    if torch is None:
        return []
    return [n for n, value in values.items() if _is_same(value, others.get(n), torch)]


def lend_gradients(pairs: Iterable[tuple[object, object]]) -> Callable[[], None]:
    """Give tensors and modules the gradients of others that are the same; what takes them back."""
    own = []
    for value, other in pairs:
        for leaf, its in zip(_leaves_in(value), _leaves_in(other), strict=True):
            own.append((leaf, leaf.grad))
            leaf.grad = its.grad

    def take_back() -> None:
        for leaf, gradient in own:
            leaf.grad = gradient

    return take_back


def _leaves_in(value: Any) -> list[Any]:
    parameters = getattr(value, "parameters", None)
    return [t for t in (parameters() if parameters else [value]) if t.is_leaf]


def _is_same(value: Any, other: Any, torch: Any) -> bool:
    if type(value) is not type(other):
        return False
    if issubclass(type(value), torch.Tensor):
        about = [(t.dtype, t.device, t.layout, t.requires_grad, t.is_leaf) for t in (value, other)]
        is_like = about[0] == about[1] and value.layout is torch.strided and not value.is_meta
        return is_like and bool(torch.equal(value, other))
    if not issubclass(type(value), torch.nn.Module):
        return False
    state, others = value.state_dict(), other.state_dict()
    if state.keys() != others.keys() or value.training != other.training:
        return False
    return all(_is_same(state[n], others[n], torch) for n in state)


def without_graph(names: Iterable[str], namespace: Mapping[str, object]) -> set[str]:
    """Those of some variables whose graph, or a part of it, was not kept."""
    torch = _torch()
    if torch is None:
        return set()
    found = set()
    for name in names:
        tensors, _ = _tensors_in([namespace.get(name)], torch.Tensor, ALL)
        if any(node.name() == NOT_KEPT for node in (_graph_of(tensors, ALL) or {}).values()):
            found.add(name)
    return found


def is_following(value: Any, namespace: Mapping[str, object]) -> bool:
    """True for what follows graphs under whatever name it is called."""
    if type(value) in _CALLED and value.__name__ in FOLLOWING:
        return True
    return is_named(value, namespace) and is_of_autograd(home_of_named(value, namespace))


def is_of_autograd(home: str) -> bool:
    """True for the home of a module, function or class of torch that computes gradients."""
    return home.startswith("torch.autograd")


def _graph_of(tensors: Iterable[Any], most: int = MANY) -> dict[int, Any] | None:
    """The nodes that some tensors were computed by: id → node; None if there are too many."""
    nodes: list[Any] = [tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None]
    seen: dict[int, Any] = {}
    while nodes:
        node = nodes.pop()
        if id(node) in seen:
            continue
        seen[id(node)] = node
        if len(seen) > most:
            return None
        nodes.extend(before for before, _ in node.next_functions if before is not None)
    return seen


def _tensors_in(values: list[Any], kind: type, most: int = MANY) -> tuple[list[Any], bool]:
    """The tensors among some values and inside of containers; whether these are all.

    Containers are lists, tuples and dicts, what derives from them, data classes, and instances of
    the notebook's classes. A list that begins with many numbers is taken to be one of numbers.
    """
    tensors: list[Any] = []
    seen: set[int] = set()
    waiting, is_all = list(values), True
    while waiting and is_all:
        value = waiting.pop()
        kind_of_value = type(value)
        if issubclass(kind_of_value, kind):
            tensors.append(value)
        elif kind_of_value not in ATOMS and id(value) not in seen:
            for parts in parts_of(value):
                seen.add(id(value))  # a variable holds it
                looked_at = islice(parts, most)
                inside = [part for part in looked_at if type(part) not in ATOMS]
                waiting += inside
                is_all = len(waiting) + len(seen) <= most and (not inside or len(parts) <= most)
    return tensors, is_all
