"""The tensors of torch whose gradients a result sets: ``loss.backward()`` names none of them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

MANY = 10_000
"""Nodes of a graph, and parts of variables, that are looked at."""


def leaves_of(names: Iterable[str], namespace: Mapping[str, object]) -> list[object] | None:
    """Tensors that variables, or what containers of them hold, were computed from.

    Those on the way count that keep their gradients, where variables have them. None if there are
    too many to find them all.
    """
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "Tensor"):
        return []
    tensors = list(islice(_tensors_in([namespace.get(n) for n in names], torch.Tensor), MANY + 1))
    if len(tensors) > MANY:
        return None
    nodes: list[Any] = [tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None]
    if not nodes:
        return []
    seen: dict[int, object] = {}
    leaves: list[object] = []
    while nodes:
        node = nodes.pop()
        if id(node) in seen:
            continue
        seen[id(node)] = node
        if len(seen) > MANY:
            return None
        if (leaf := getattr(node, "variable", None)) is not None:
            leaves.append(leaf)
        nodes.extend(before for before, _ in node.next_functions if before is not None)
    others = _tensors_in(list(namespace.values()), torch.Tensor)
    leaves += [t for t in others if not t.is_leaf and t.retains_grad and id(t.grad_fn) in seen]
    return leaves


def _tensors_in(values: list[Any], kind: type) -> Iterator[Any]:
    """The tensors among some values, and inside of lists, tuples and dicts."""
    seen: set[int] = set()
    waiting = [iter(values)]
    while waiting:
        value = next(waiting[-1], waiting)
        if value is waiting:
            waiting.pop()
        elif issubclass(type(value), kind):
            yield value
        elif type(value) in (list, tuple, dict) and id(value) not in seen and len(seen) <= MANY:
            seen.add(id(value))
            waiting.append(iter([*value.values()] if type(value) is dict else [*value]))
