"""Tensors of torch whose graphs lead nowhere, or to what variables hold no more.

Their cells compute them again before code follows them back.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping

from nbckpt.fingerprint.referents import held_by


class TornGraphs:
    """The variables that have such graphs.

    Parameters
    ----------
    namespace
        The live variables.
    """

    def __init__(self, namespace: Mapping[str, object]) -> None:
        self._namespace = namespace
        self._parted: dict[str, object] = {}  # what leads to values that are gone

    def replaces(self, names: Collection[str], stay: Iterable[str]) -> None:
        """Take note that some variables are about to get other values, while others `stay`."""
        if "torch" not in sys.modules:
            return
        from nbckpt.fingerprint.keys import gradients

        going = [name for name in names if name in self._namespace]
        leaves_of = gradients.leaves_of_each(stay, self._namespace) if going else {}
        lost = held_by([self._namespace[n] for n in going], self._namespace) if leaves_of else {}
        for name, leaves in leaves_of.items():
            held = held_by(leaves, self._namespace)
            if lost is None or held is None or not lost.keys().isdisjoint(held):
                self._parted[name] = self._namespace[name]

    def goes_back(self, standing: Callable[[], Mapping[str, object]]) -> None:
        """Take note that variables are those of an earlier moment again.

        What has followed a graph back since has freed what that held. Where `standing` says that
        graphs have hooks nothing is looked at: that would call them.
        """
        if "torch" not in sys.modules or standing().get("graph hooks"):
            return
        from nbckpt.fingerprint.keys import gradients

        for name in gradients.with_freed_graph(self._namespace):
            self._parted[name] = self._namespace[name]

    def among(self, names: Collection[str]) -> set[str]:
        """Those of some variables with such graphs."""
        parted = [n for n, value in self._parted.items() if self._namespace.get(n) is value]
        self._parted = {n: self._parted[n] for n in parted}
        found = {name for name in names if name in self._parted}
        if _has_left_graphs():
            from nbckpt.fingerprint.keys import gradients

            found |= gradients.without_graph(names, self._namespace)
        return found

    def __bool__(self) -> bool:
        return bool(self._parted) or _has_left_graphs()


def _has_left_graphs() -> bool:
    """True where restored tensors of torch may have no graph that goes back to others."""
    tensors = sys.modules.get("nbckpt.codecs.tensors")
    return tensors is not None and tensors.has_left_graphs()
