"""The notebook's own code that torch calls while it follows a graph: hooks, and custom functions.

``loss.backward()`` names none of them, and a graph holds them where Python cannot look. So a cell
that registers hooks of tensors runs again in each kernel; while there are any, or a class of the
notebook is a `torch.autograd.Function`, a cell that follows a graph may read and change all.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from nbckpt.capture.observation.indirect_names import all_values
from nbckpt.capture.observation.observer import Ran
from nbckpt.capture.observation.ownership import is_users, modules_beside
from nbckpt.capture.observation.reachable_code import Reached, reached, words_beside
from nbckpt.capture.observation.words_of_code import words_of_all, words_of_tree
from nbckpt.digests import Digest, Json, digest_of
from nbckpt.fingerprint.keys.gradients import FOLLOWING, is_following
from nbckpt.fingerprint.values.modules import loaded

_CALLED_BY = {
    "register_hook": "", "register_multi_grad_hook": "",
    "register_post_accumulate_grad_hook": "", "register_prehook": "",
    "register_step_pre_hook": "step", "register_step_post_hook": "step",
    "register_state_dict_pre_hook": "state_dict", "register_state_dict_post_hook": "state_dict",
    "register_load_state_dict_pre_hook": "load_state_dict",
    "register_load_state_dict_post_hook": "load_state_dict",
}  # fmt: skip
"""Names by which code registers hooks of tensors, graphs and optimizers → what calls these.

Where that is empty it is code that follows a graph. Hooks of modules are parts of them, and kept.
"""

_SAVING = "saved_tensors_hooks"
_RECOMPUTING = "torch.utils.checkpoint"
"""Module that has functions called for the tensors of graphs that are made under it, or by it."""

_OTHER_HOOKS = "hooks of tensors were registered by other code then, and it may call them"


class _Window(NamedTuple):
    """State when a step began.

    Attributes
    ----------
    registered
        Number of hooks that had been registered.
    there
        The names of the variables.
    modules
        Place in a module beside the notebook → digest of its value, if anything may be called.
    """

    registered: int
    there: Sequence[str]
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
        self._calling: set[str] = set()  # methods that call what they registered
        self._registered = _registered()
        self._ended: tuple[ast.Module, Reached] | None = None

    def cell_begins(self, tree: ast.Module) -> None:  # noqa: ARG002
        """Count the hooks."""
        self._registered = _registered()
        self._ended = None

    def cell_ends(self, tree: ast.Module) -> None:
        """Take note of code that registered hooks, and of what code that calls some may change."""
        if not tree.body or not self._matters(tree, self._registered):
            return
        code = self._reached_by(tree)
        if self._may_call(code):
            self._touch(None)
        if _registers(code, self._registered):
            self._registering.append(ast.unparse(tree))
            self._calling |= {_CALLED_BY[w] for w in code.words & _CALLED_BY.keys()} - {""}
        self._registered = _registered()

    def open(self) -> object:
        """A window; it knows what there was before."""
        modules = _values_of_modules() if self._registering or _has_own_classes() else {}
        return _Window(_registered(), list(self._namespace), modules)

    def discard(self, window: object) -> None:
        """Nothing: a window is not told of anything."""

    def close(self, window: object, ran: Ran) -> Json:
        """Record of a step that registers hooks, or of values that hooks it may call can read."""
        assert isinstance(window, _Window)
        if not self._matters(ran.tree, window.registered):
            return None
        record: dict[str, Json] = {}
        code = self._reached_by(ran.tree)
        if _registers(code, window.registered):
            record["registers"] = True
        if self._may_call(code):
            self._touch(None)
            record["hooks"] = self._digest()
            record["all"] = all_values(ran, frozenset(window.there))
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
            code = reached(ran.tree, ran.namespace)
            return _OTHER_HOOKS if self._may_call(code) else None
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

    def _matters(self, tree: ast.Module, before: int) -> bool:
        """True if it is worth the time to look for what a cell reaches."""
        if "torch" not in sys.modules:
            return False
        if self._registering or _registered() != before or _has_own_classes():
            return True
        words = words_of_tree(tree) | words_of_all(self._namespace) | words_beside()
        return not words.isdisjoint((_SAVING, "checkpoint"))

    def _reached_by(self, tree: ast.Module) -> Reached:
        """The reach of the cell that has just ended."""
        if self._ended is None or self._ended[0] is not tree:
            self._ended = tree, reached(tree, self._namespace)
        return self._ended[1]

    def _may_call(self, code: Reached) -> bool:
        """True if code follows graphs, or has its hooks called otherwise, and there are any."""
        if not self._registering and not _has_own_classes():
            return False
        return not self._calling.isdisjoint(code.words) or follows_graphs(code, self._namespace)

    def _digest(self) -> str:
        return digest_of("\0".join(self._registering))[:32]


def follows_graphs(code: Reached, namespace: Mapping[str, object]) -> bool:
    """True if code may ask for gradients: by its own words, or by what its names stand for."""
    return not FOLLOWING.isdisjoint(code.words) or is_following(code.named(), namespace)


def _registered() -> int:
    """Number of hooks registered in this process, on any object that torch has them for."""
    hooks = sys.modules.get("torch.utils.hooks")
    number = getattr(getattr(hooks, "RemovableHandle", None), "next_id", 0)
    return number if type(number) is int else 0


def _has_own_classes() -> bool:
    """True if the notebook, or a module beside it, derives from what torch calls on a graph."""
    functions, graphs = map(sys.modules.get, ("torch.autograd.function", "torch.autograd.graph"))
    bases = [getattr(functions, "Function", None), getattr(graphs, _SAVING, None)]
    return any(is_users(cls, {}) for base in bases if base for cls in _derived(base))


def _derived(cls: type) -> Iterator[type]:
    below: list[type] = type.__subclasses__(cls)
    for derived in below:
        yield derived
        yield from _derived(derived)


def _registers(code: Reached, before: int) -> bool:
    """True if code registered hooks since there were `before`, or has graphs call functions."""
    if _registered() != before and not code.words.isdisjoint(_CALLED_BY):
        return True
    return (
        _SAVING in code.words
        or "utils.checkpoint" in code.dotted
        or any(map(_redoes, code.named()))
    )


def _redoes(value: object) -> bool:
    """True for what calls a function again as a graph is followed, and for its module."""
    if type(value) is ModuleType:
        return value.__name__ == _RECOMPUTING
    return type(value) is FunctionType and value.__module__ == _RECOMPUTING


def _values_of_modules() -> dict[str, Digest]:
    return {place: it for name in modules_beside() for place, it in loaded(name).values.items()}
