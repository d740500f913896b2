"""The notebook's own code that torch calls while it follows a graph: hooks, and custom functions.

``loss.backward()`` names none of them, and a graph holds them where Python cannot look. So a cell
that registers hooks of tensors runs again in each kernel; while there are any, or a class of the
notebook is a `torch.autograd.Function`, a cell that follows a graph may read and change all.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from nbckpt.digests import Json, digest_of
from nbckpt.keys.gradients import follows_graphs
from nbckpt.observation.names import all_values
from nbckpt.observation.observer import Ran
from nbckpt.observation.ownership import is_users
from nbckpt.observation.stores import words_reached

_REGISTERING = frozenset(
    {"register_hook", "register_multi_grad_hook", "register_post_accumulate_grad_hook",
     "register_prehook"}
)  # fmt: skip
"""Names by which code registers hooks of tensors and graphs; those of modules are parts of them."""

_ANOTHER = "hooks of tensors were registered by other code then, and it may call them"


class _Window(NamedTuple):
    """How many hooks there were when a step began, and the names of the variables."""

    registered: int
    there: frozenset[str]


class GraphHooks:
    """The facet of what following a graph calls.

    Parameters
    ----------
    namespace
        The live variables.
    touch
        Is told which variables may have changed unseen; None for any.

    Attributes
    ----------
    unset
        That a move went to where there were hooks, and the code to run for them.
    """

    name = "hooks"
    unset: tuple[str, ...] = ()

    def __init__(
        self,
        namespace: Mapping[str, object],
        touch: Callable[[frozenset[str] | None], object],
    ) -> None:
        self._namespace = namespace
        self._touch = touch
        self._registering: list[str] = []  # the code of cells that did
        self._registered = _registered()

    def cell_begins(self, tree: ast.Module) -> None:  # noqa: ARG002
        """Count the hooks."""
        self._registered = _registered()

    def cell_ends(self, tree: ast.Module) -> None:
        """Take note of code that registered hooks, and of what code that calls some may change."""
        if not tree.body or "torch" not in sys.modules:
            return
        if self._registered != _registered() and _registers(tree, self._namespace):
            self._registering.append(ast.unparse(tree))
        self._registered = _registered()
        if (self._registering or _has_functions()) and _follows(tree, self._namespace):
            self._touch(None)

    def open(self) -> object:
        """A window; it knows how many hooks there were before."""
        return _Window(_registered(), frozenset(self._namespace))

    def discard(self, window: object) -> None:
        """Nothing: a window is not told of anything."""

    def close(self, window: object, ran: Ran) -> Json:
        """Whether the step registered hooks; if it may have called any, all that they may read."""
        assert isinstance(window, _Window)
        record: dict[str, Json] = {}
        if window.registered != _registered() and _registers(ran.tree, ran.namespace):
            record["registers"] = True
        if not (self._registering or _has_functions()) or not _follows(ran.tree, ran.namespace):
            return record or None
        self._touch(None)
        return {**record, "called": self._told(), "all": all_values(ran, window.there)}

    def restored(self, observed: Json) -> Sequence[str]:  # noqa: ARG002
        """Nothing."""
        return ()

    def difference(self, observed: Json, ran: Ran) -> str | None:
        """Why the step has to run: for hooks that it registers or calls, or for what they read."""
        then: Any = observed or {}
        if "registers" in then:
            return "it registers hooks of tensors, which are no part of their values"
        if "torch" not in sys.modules or ("called" not in then and not self._registering):
            return None
        if "called" not in then:
            return _ANOTHER if _follows(ran.tree, ran.namespace) else None
        if then["called"] != self._told():
            return _ANOTHER
        now = all_values(ran, frozenset(ran.namespace))
        for name in sorted({*then["all"], *now}):
            if then["all"].get(name) != now.get(name):
                return f"variable {name!r} changed, and what it calls on its graph may read any"
        return None

    def standing(self) -> Json:
        """The code that registered hooks so far."""
        return [*self._registering] or None

    def go_to(self, standing: Json) -> Sequence[str]:
        """Say which hooks there were, if they are not all there now."""
        wanted = standing if type(standing) is list else []
        lines = [str(code).partition("\n")[0] for code in wanted if code not in self._registering]
        self.unset = tuple(
            f"hooks of tensors: run the cell that registers them, `{line}`" for line in lines
        )
        return ()

    def _told(self) -> str:
        return digest_of("\0".join(self._registering))[:32]


def _registered() -> int:
    """How many hooks have been registered in this process, on whatever torch has them for."""
    hooks = sys.modules.get("torch.utils.hooks")
    number = getattr(getattr(hooks, "RemovableHandle", None), "next_id", 0)
    return number if type(number) is int else 0


def _has_functions() -> bool:
    """Whether the notebook, or a module beside it, defines functions that have own gradients."""
    functions = sys.modules.get("torch.autograd.function")
    base: Any = getattr(functions, "Function", None)
    return base is not None and any(is_users(cls, {}) for cls in type.__subclasses__(base))


def _registers(tree: ast.Module, namespace: Mapping[str, object]) -> bool:
    return not _REGISTERING.isdisjoint(words_reached(tree, namespace))


def _follows(tree: ast.Module, namespace: Mapping[str, object]) -> bool:
    words = words_reached(tree, namespace)
    return follows_graphs(words, words & namespace.keys(), namespace)
