"""Functions of the notebook that IPython calls (magics, callbacks, error handlers), and aliases."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from nbckpt.capture.observation.process_state.kinds import ABSENT, Change
from nbckpt.capture.observation.process_state.shell import OfShell
from nbckpt.capture.observation.process_state.state_json import described
from nbckpt.digests import Json

_ON_ERRORS = "exception handler"


class Hooks(OfShell):
    """Aliases; magics, event callbacks and transformers that are functions of the notebook."""

    name = "shell"
    setters = "alias"
    acts_between_cells = True

    def __init__(self) -> None:
        self._copy: Any = None

    def of(self, shell: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._copy = _copied(shell)
        for kind, magics in shell.magics_manager.magics.items():
            for name, magic in list(magics.items()):
                if type(magic).__name__ == "Alias":
                    found[f"alias {name}"] = str(magic.cmd)
                elif getattr(magic, "__module__", None) == "__main__":
                    found[f"{kind} magic {name}"] = magic
        for event, callbacks in shell.events.callbacks.items():
            for place, callback in enumerate(c for c in callbacks if _is_of_notebook(c)):
                found[f"{event} callback {place}"] = callback
        found["matplotlib gui"] = shell.active_eventloop
        if shell.custom_exceptions:
            found[_ON_ERRORS] = (shell.custom_exceptions, _shows_errors(shell))
        return found

    def is_same(self, module: Any, items: dict[str, Any]) -> bool:
        shell = module.InteractiveShell._instance  # noqa: SLF001
        if shell is None:
            return not items
        magics, callbacks, loop, errors = self._copy
        return bool(
            shell.magics_manager.magics == magics
            and shell.events.callbacks == callbacks
            and shell.active_eventloop == loop
            and (shell.custom_exceptions, shell.CustomTB) == errors
        )

    def put_in(self, shell: Any, change: Change) -> None:
        for item in change.gone:
            if item.startswith("alias "):
                shell.alias_manager.undefine_alias(item.partition(" ")[2])
            elif " callback " in item and item in change.baseline:
                continue
            elif item == _ON_ERRORS:
                shell.set_custom_exc((), None)
            elif " magic " in item:
                kind, _, name = item.split(" ")
                shell.magics_manager.magics[kind].pop(name, None)
            elif " callback " in item:
                event = item.partition(" ")[0]
                own = [c for c in shell.events.callbacks[event] if _is_of_notebook(c)]
                for callback in own[int(item.rpartition(" ")[2]) :]:
                    shell.events.unregister(event, callback)
        for item, value in change.values.items():
            if item.startswith("alias "):
                shell.alias_manager.define_alias(item.partition(" ")[2], value)
            elif " magic " in item:
                kind, _, name = item.split(" ")
                shell.magics_manager.magics[kind][name] = value
            elif " callback " in item:
                event, _, place = item.partition(" callback ")
                own = [c for c in shell.events.callbacks[event] if _is_of_notebook(c)]
                if int(place) < len(own):
                    callbacks = shell.events.callbacks[event]
                    callbacks[callbacks.index(own[int(place)])] = value
                else:
                    shell.events.register(event, value)
            elif item == _ON_ERRORS:
                shell.set_custom_exc(*value)
            else:
                shell.enable_gui(value)

    def reach_of(self, item: str) -> str:
        return "" if " callback " in item or item == _ON_ERRORS else "magics"

    def encoded(self, item: str, value: Any) -> Json:
        if value is ABSENT or not callable(value):
            return super().encoded(item, value)
        return {"$": "other", "v": described(value)}


def _copied(shell: Any) -> Any:
    magics = {kind: dict(table) for kind, table in shell.magics_manager.magics.items()}
    callbacks = {event: list(some) for event, some in shell.events.callbacks.items()}
    return magics, callbacks, shell.active_eventloop, (shell.custom_exceptions, shell.CustomTB)


def _shows_errors(shell: Any) -> Any:
    """The function that shows errors instead of the shell, which has it in one of its own."""
    wrapped: Any = getattr(shell.CustomTB, "__func__", None)
    names = wrapped.__code__.co_freevars if type(wrapped) is FunctionType else ()
    return wrapped.__closure__[names.index("handler")].cell_contents if "handler" in names else None


def _is_of_notebook(callback: Any) -> bool:
    return getattr(callback, "__module__", None) == "__main__"
