"""The notebook's own code that torch calls while it follows a graph: hooks, and custom functions.

``loss.backward()`` names none of them, and a graph holds them where Python cannot look. So a cell
that registers hooks of tensors runs again in each kernel; while there are any, or a class of the
notebook is a `torch.autograd.Function`, a cell that follows a graph may read and change all.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any, NamedTuple

from nbckpt.digests import Digest, Json, digest_of
from nbckpt.keys.gradients import follows_graphs
from nbckpt.observation.names import all_values
from nbckpt.observation.observer import Ran
from nbckpt.observation.ownership import is_users, modules_beside
from nbckpt.observation.stores import words_reached
from nbckpt.values.modules import loaded

_REGISTERING = frozenset(
    {"register_hook", "register_multi_grad_hook", "register_post_accumulate_grad_hook",
     "register_prehook", "register_step_post_hook", "register_step_pre_hook"}
)  # fmt: skip
"""Names by which code registers hooks of tensors, graphs and optimizers.

Those of modules are parts of them, and kept.
"""

_STEP = "step"
"""The method of optimizers that calls their hooks."""

_SAVING = "saved_tensors_hooks"
_RECOMPUTING = "torch.utils.checkpoint"
"""What has functions called for the tensors of the graphs that are made under it, or by it."""

_OTHER_HOOKS = "hooks of tensors were registered by other code then, and it may call them"


class _Window(NamedTuple):
    """What there was when a step began.

    Attributes
    ----------
    registered
        How many hooks had been registered.
    there
        The names of the variables.
    modules
        Place in a module beside the notebook → digest of its value, if anything may be called.
    """

    registered: int
    there: frozenset[str]
    modules: dict[str, Digest]


class GraphHooks:
    """The facet of what following a graph calls.

    A step's record has `registers` if it registered hooks. If it may have called any, it has
    `hooks`, a digest of the code that registered them, and digests of what they may have read:
    `all` variables, and the values of `modules`, which `set` says it changed.

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

    name = "graph hooks"
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
        words = words_reached(tree, self._namespace)
        if self._may_call(words):
            self._touch(None)
        if _registers(words, self._namespace, self._registered):
            self._registering.append(ast.unparse(tree))
        self._registered = _registered()

    def open(self) -> object:
        """A window; it knows what there was before."""
        modules = _values_of_modules() if self._registering or _has_own_classes() else {}
        return _Window(_registered(), frozenset(self._namespace), modules)

    def discard(self, window: object) -> None:
        """Nothing: a window is not told of anything."""

    def close(self, window: object, ran: Ran) -> Json:
        """Whether the step registered hooks; if it may have called any, what they may have read."""
        assert isinstance(window, _Window)
        if "torch" not in sys.modules:
            return None
        record: dict[str, Json] = {}
        words = words_reached(ran.tree, ran.namespace)
        if _registers(words, ran.namespace, window.registered):
            record["registers"] = True
        if self._may_call(words):
            self._touch(None)
            record["hooks"] = self._digest()
            record["all"] = all_values(ran, window.there)
            record["modules"] = dict(window.modules)
            record["set"] = window.modules != _values_of_modules()
        return record or None

    def restored(self, observed: Json) -> Sequence[str]:  # noqa: ARG002
        """Nothing is set: a step that registers hooks, or sets what is in modules, runs."""
        return ()

    def difference(self, observed: Json, ran: Ran) -> str | None:
        """Why the step has to run: for hooks that it registers or calls, or for what they read."""
        then: Any = observed or {}
        if "registers" in then:
            return "it registers hooks of tensors, which are no part of their values"
        if "torch" not in sys.modules or ("hooks" not in then and not self._registering):
            return None
        if "hooks" not in then:
            words = words_reached(ran.tree, ran.namespace)
            return _OTHER_HOOKS if self._may_call(words) else None
        if then["hooks"] != self._digest():
            return _OTHER_HOOKS
        if then["set"]:
            return "what it calls on its graph changed modules beside the notebook"
        now = {**all_values(ran, frozenset(ran.namespace)), **_values_of_modules()}
        before = {**then["all"], **then["modules"]}
        for name in sorted({*before, *now}):
            if before.get(name) != now.get(name):
                return f"{name!r} changed, and what it calls on its graph may read it"
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

    def _may_call(self, words: frozenset[str]) -> bool:
        """True if code with these words follows graphs, or steps, and something is called then."""
        if not self._registering and not _has_own_classes():
            return False
        names = words & self._namespace.keys()
        return _STEP in words or follows_graphs(words, names, self._namespace)

    def _digest(self) -> str:
        return digest_of("\0".join(self._registering))[:32]


def _registered() -> int:
    """How many hooks have been registered in this process, on whatever torch has them for."""
    hooks = sys.modules.get("torch.utils.hooks")
    number = getattr(getattr(hooks, "RemovableHandle", None), "next_id", 0)
    return number if type(number) is int else 0


def _has_own_classes() -> bool:
    """Whether the notebook, or a module beside it, derives from what torch calls on a graph."""
    functions, graphs = map(sys.modules.get, ("torch.autograd.function", "torch.autograd.graph"))
    bases = [getattr(functions, "Function", None), getattr(graphs, _SAVING, None)]
    return any(is_users(cls, {}) for base in bases if base for cls in _derived(base))


def _derived(cls: type) -> Iterator[type]:
    below: list[type] = type.__subclasses__(cls)
    for derived in below:
        yield derived
        yield from _derived(derived)


def _registers(words: frozenset[str], namespace: Mapping[str, object], before: int) -> bool:
    """True if code registered hooks since there were `before`, or has graphs call functions."""
    if _registered() != before and not _REGISTERING.isdisjoint(words):
        return True
    if _SAVING in words or {"utils", "checkpoint"} <= words:
        return True
    named = (namespace.get(word) for word in words)
    return any(type(v) is FunctionType and v.__module__ == _RECOMPUTING for v in named)


def _values_of_modules() -> dict[str, Digest]:
    return {place: it for name in modules_beside() for place, it in loaded(name).values.items()}
