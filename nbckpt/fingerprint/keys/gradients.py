"""The tensors of torch whose gradients a result sets: ``loss.backward()`` names none of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from operator import methodcaller
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from nbckpt.fingerprint.values.holding import TooManyError, inside_of
from nbckpt.fingerprint.values.homes import home_of_named, is_named
from nbckpt.runtime.user_code_errors import user_code_errors

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
    if _torch() is None:
        return []
    try:
        nodes = _graph_of(_tensors_in([namespace.get(n) for n in names], most), most)
        return _leaves_among(nodes, _keeping_gradients(namespace, most)) if nodes else []
    except TooManyError:
        return None


def leaves_of_each(
    names: Iterable[str], namespace: Mapping[str, object]
) -> dict[str, list[object]]:
    """As `leaves_of`, for each variable that has a graph, however much there is to look at."""
    if _torch() is None:
        return {}
    graphs = {n: _graph_of(_tensors_in([namespace.get(n)])) for n in names}
    graphs = {name: nodes for name, nodes in graphs.items() if nodes}
    others = _keeping_gradients(namespace) if graphs else []
    return {name: _leaves_among(nodes, others) for name, nodes in graphs.items()}


def _leaves_among(nodes: Mapping[int, Any], others: Iterable[Any]) -> list[object]:
    leaves = [leaf for n in nodes.values() if (leaf := getattr(n, "variable", None)) is not None]
    return leaves + [t for t in others if id(t.grad_fn) in nodes]


def _keeping_gradients(namespace: Mapping[str, object], most: int = ALL) -> list[Any]:
    """The tensors of variables that were computed, and keep their gradients all the same."""
    tensors = _tensors_in(list(namespace.values()), most)
    return [t for t in tensors if not t.is_leaf and t.retains_grad]


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
        tensors = _tensors_in([value])
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
    if _torch() is None:
        return set()
    found = set()
    for name in names:
        graph = _graph_of(_tensors_in([namespace.get(name)]))
        if any(node.name() == NOT_KEPT for node in graph.values()):
            found.add(name)
    return found


def with_freed_graph(namespace: Mapping[str, object]) -> set[str]:
    """The variables whose graph was followed back already, and holds no tensors any more."""
    if _torch() is None:
        return set()
    graphs = {n: _graph_of(_tensors_in([value])) for n, value in list(namespace.items())}
    is_freed: dict[int, bool] = {}
    for nodes in graphs.values():
        for key, node in nodes.items():
            if key not in is_freed:
                is_freed[key] = _is_freed(node)
    return {name for name, nodes in graphs.items() if any(is_freed[key] for key in nodes)}


def _is_freed(node: Any) -> bool:
    for name in dir(node):
        if name.startswith("_saved_") or name == "saved_tensors":
            try:
                getattr(node, name)
            except user_code_errors() as error:  # another says that it was changed, say
                if "freed" in str(error):
                    return True
    return False


def is_following(values: Iterable[object], namespace: Mapping[str, object]) -> bool:
    """True if one of some values, or what they hold, follows graphs, whatever it is called."""
    return any(_follows(value, namespace) for value in inside_of(values, _is_called))


def _follows(value: Any, namespace: Mapping[str, object]) -> bool:
    if type(value) is methodcaller:
        return value.__reduce__()[1][0] in FOLLOWING
    if type(value) in _CALLED and value.__name__ in FOLLOWING:
        return True
    return is_named(value, namespace) and is_of_autograd(home_of_named(value, namespace))


def _is_called(kind: type) -> bool:
    return kind in _CALLED or kind is methodcaller or issubclass(kind, type | ModuleType)


def is_of_autograd(home: str) -> bool:
    """True for the home of a module, function or class of torch that computes gradients."""
    return home.startswith("torch.autograd")


def _graph_of(tensors: Iterable[Any], most: int = ALL) -> dict[int, Any]:
    """The nodes that some tensors were computed by: id → node."""
    nodes: list[Any] = [tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None]
    seen: dict[int, Any] = {}
    while nodes:
        node = nodes.pop()
        if id(node) in seen:
            continue
        seen[id(node)] = node
        if len(seen) > most:
            raise TooManyError
        nodes.extend(before for before, _ in node.next_functions if before is not None)
    return seen


def _tensors_in(values: Iterable[object], most: int = ALL) -> list[Any]:
    """The tensors among some values, and inside of what holds them."""
    tensor = _torch().Tensor
    return list(inside_of(values, lambda kind: issubclass(kind, tensor), most))
