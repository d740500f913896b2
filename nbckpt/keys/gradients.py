"""The tensors of torch whose gradients a result sets: ``loss.backward()`` names none of them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from nbckpt.values.plain import ATOMS

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
    tensors, is_all = _tensors_in([namespace.get(n) for n in names], torch.Tensor)
    if tensors and not is_all:
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
    others, is_all = _tensors_in(list(namespace.values()), torch.Tensor)
    if not is_all:
        return None
    leaves += [t for t in others if not t.is_leaf and t.retains_grad and id(t.grad_fn) in seen]
    return leaves


def _tensors_in(values: list[Any], kind: type) -> tuple[list[Any], bool]:
    """The tensors among some values and inside of lists, tuples and dicts; whether these are all.

    A list that begins with many numbers is taken to be one of numbers alone.
    """
    tensors: list[Any] = []
    seen: set[int] = set()
    waiting, is_all = list(values), True
    while waiting and is_all:
        value = waiting.pop()
        kind_of_value = type(value)
        if issubclass(kind_of_value, kind):
            tensors.append(value)
        elif kind_of_value in (list, tuple, dict) and id(value) not in seen:
            seen.add(id(value))  # a variable holds it
            parts: Any = value.values() if kind_of_value is dict else value
            inside = [part for part in islice(parts, MANY) if type(part) not in ATOMS]
            waiting += inside
            is_all = len(waiting) + len(seen) <= MANY and (not inside or len(value) <= MANY)
    return tensors, is_all
