"""The tensors of torch whose gradients a result sets: ``loss.backward()`` names none of them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

FEW = 64
"""Elements of a container that is looked into."""

MANY = 10_000
"""Nodes of a graph that are looked at."""


def leaves_of(names: Iterable[str], namespace: Mapping[str, object]) -> list[object] | None:
    """Tensors that variables, or what small containers of them hold, were computed from.

    None if there are too many to find them all.
    """
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "Tensor"):
        return []
    nodes = [
        tensor.grad_fn
        for name in names
        for tensor in _tensors_in(namespace.get(name), torch.Tensor)
        if tensor.grad_fn is not None
    ]
    seen: dict[int, object] = {}
    leaves: list[object] = []
    while nodes:
        node: Any = nodes.pop()
        if id(node) in seen:
            continue
        seen[id(node)] = node
        if len(seen) > MANY:
            return None
        if (leaf := getattr(node, "variable", None)) is not None:
            leaves.append(leaf)
        nodes.extend(before for before, _ in node.next_functions if before is not None)
    return leaves


def _tensors_in(value: Any, kind: type) -> Iterator[Any]:
    if issubclass(type(value), kind):
        yield value
    elif type(value) in (list, tuple, dict) and len(value) <= FEW:
        for part in value.values() if type(value) is dict else value:
            if issubclass(type(part), kind):
                yield part
