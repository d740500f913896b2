"""Widgets that a cell showed: what they held when it ended, and the same on the page again.

A variable's widget comes back with its own id, and the page finds it. Of one that no variable
holds the page gets the state, so that it looks as it did.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from nbckpt.capture.observation.shown_widgets import VIEW
from nbckpt.fingerprint.referents import held_by
from nbckpt.fingerprint.values.widgets import callbacks_of, may_hold_widgets
from nbckpt.jupyter.comm_managers import comm_manager, create_comm
from nbckpt.runtime.user_code_errors import user_code_errors, user_code_errors_ignored

_PROTOCOL = "2.1.0"
_models: list[Any] = []  # a comm closes its model on the page when it is dropped


def states_of(data: Mapping[str, Any]) -> dict[str, Any] | None:
    """The state of a shown widget and of all that is in it, by model id; None if not known."""
    module: Any = sys.modules.get("ipywidgets.widgets.widget")
    which = data[VIEW].get("model_id") if isinstance(data.get(VIEW), Mapping) else None
    widget = getattr(module, "_instances", {}).get(which)
    if widget is None:
        return None
    from ipywidgets.embed import dependency_state  # type: ignore[import-untyped]  # as it is

    try:
        states: dict[str, Any] = dependency_state([widget], drop_defaults=False)
    except user_code_errors():  # a widget of another package may lack anything
        return None
    return states


def are_held(
    model_ids: Iterable[str], names: Iterable[str], namespace: Mapping[str, object]
) -> bool:
    """True if variables hold all of these widgets that call functions.

    A page can be given the state of another, but nothing that answers it: only its cell can.
    """
    module: Any = sys.modules.get("ipywidgets.widgets.widget")
    there = getattr(module, "_instances", {})
    calling = {id(there[i]) for i in model_ids if i in there and callbacks_of(there[i])}
    if not calling:
        return True
    holders = may_hold_widgets({n: namespace[n] for n in names})
    held = held_by([namespace[n] for n in holders], namespace)
    return held is not None and calling <= held.keys()


def of_live_one(output: Mapping[str, Any], live_ids: Mapping[str, str]) -> Mapping[str, Any]:
    """A recorded output with the widget in its view that takes the place of the recorded one."""
    kind = next((kind for kind in ("display", "update", "result") if kind in output), "")
    view = output[kind].get(VIEW) if kind else None
    if not isinstance(view, Mapping) or view.get("model_id") not in live_ids:
        return output
    data = {**output[kind], VIEW: {**view, "model_id": live_ids[view["model_id"]]}}
    return {**{name: o for name, o in output.items() if name != "widgets"}, kind: data}


def show(states: Mapping[str, Any]) -> None:
    """Have the page know the models of these states, if nothing else has told it of them."""
    for model_id, model in states.items():
        if model_id in getattr(comm_manager(), "comms", ()):
            continue
        with user_code_errors_ignored():  # a page without widgets shows the text
            buffers = model.get("buffers") or []
            _models.append(
                create_comm(
                    target_name="jupyter.widget",
                    comm_id=model_id,
                    data={
                        "state": {
                            **model["state"],
                            "_model_name": model["model_name"],
                            "_model_module": model["model_module"],
                            "_model_module_version": model["model_module_version"],
                        },
                        "buffer_paths": [buffer["path"] for buffer in buffers],
                    },
                    metadata={"version": _PROTOCOL},
                    buffers=[_bytes_of(buffer) for buffer in buffers],
                )
            )


def _bytes_of(buffer: Mapping[str, str]) -> bytes:
    from base64 import b64decode

    return b64decode(buffer["data"])
