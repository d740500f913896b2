"""A kernel with the part of a page that draws widgets: their models, by what the kernel says."""

from __future__ import annotations

import queue
import time
from typing import Any

from tests.kernels import Kernel, Ran

VIEW = "application/vnd.jupyter.widget-view+json"

_MODEL = "IPY_MODEL_"
_OUTPUTS = {"stream", "display_data", "execute_result", "error"}


class PagedKernel(Kernel):
    """A `Kernel` whose front end follows widgets, and fills output widgets, as JupyterLab does.

    Attributes
    ----------
    models
        The state of each model by its id, of those that are there.
    """

    def _start(self) -> None:
        super()._start()
        self.models: dict[str, dict[str, Any]] = {}
        self._to_clear: set[str] = set()
        take = self.client.get_iopub_msg

        def get(**options: Any) -> dict[str, Any]:
            message = take(**options)
            self._follow(message)
            return message

        self.client.get_iopub_msg = get  # type: ignore[method-assign]

    def settle(self, quiet_s: float = 0.03) -> None:
        """Follow what the kernel says after a cell, until it is silent."""
        while True:
            try:
                self.client.get_iopub_msg(timeout=quiet_s)
            except queue.Empty:
                return

    def views(self, ran: Ran) -> list[Any]:
        """What the page draws for the widgets that a cell showed."""
        return [self._tree(f"{_MODEL}{model_id}") for model_id in self.ids(ran)]

    def ids(self, ran: Ran) -> list[str]:
        """The widgets that a cell showed."""
        return [d["data"][VIEW]["model_id"] for d in ran.displays if VIEW in d["data"]]

    def move(self, model_id: str, **state: object) -> None:
        """Have the user of the page change a widget."""
        self.models[model_id].update(state)
        self._tell(model_id, state)
        time.sleep(0.05)

    def _follow(self, message: dict[str, Any]) -> None:
        content, kind = message["content"], message["msg_type"]
        if kind == "comm_open" and content["target_name"] == "jupyter.widget":
            self.models[content["comm_id"]] = dict(content["data"].get("state", {}))
        elif kind == "comm_msg" and content["data"].get("method") == "update":
            self.models.get(content["comm_id"], {}).update(content["data"]["state"])
        elif kind == "comm_close":
            self.models.pop(content["comm_id"], None)
        elif kind in {*_OUTPUTS, "clear_output"}:
            request = message["parent_header"].get("msg_id")
            for model_id, model in reversed(self.models.items()):
                if request and model.get("msg_id") == request:
                    self._capture(model_id, model, kind, content)
                    break

    def _capture(
        self, model_id: str, model: dict[str, Any], kind: str, content: dict[str, Any]
    ) -> None:
        held = [] if model_id in self._to_clear else list(model.get("outputs") or ())
        if kind == "clear_output":
            if content.get("wait"):
                self._to_clear.add(model_id)
                return
            held = []
        self._to_clear.discard(model_id)
        if kind == "stream" and held and held[-1].get("name") == content["name"]:
            held[-1] = {**held[-1], "text": held[-1]["text"] + content["text"]}
        elif kind in _OUTPUTS:
            members = {
                n: v for n, v in content.items() if n not in ("transient", "execution_count")
            }
            held.append({"output_type": kind, **members})
        model["outputs"] = held
        self._tell(model_id, {"outputs": held})

    def _tell(self, model_id: str, state: dict[str, Any]) -> None:
        data = {"method": "update", "state": state, "buffer_paths": []}
        message = self.client.session.msg("comm_msg", {"comm_id": model_id, "data": data})
        self.client.shell_channel.send(message)

    def _tree(self, value: Any) -> Any:
        """A model's state with those of the models in it; one that is not there is a text."""
        if isinstance(value, list):
            return [self._tree(v) for v in value]
        if isinstance(value, dict):
            return {n: self._tree(v) for n, v in value.items() if v not in (None, [], {}, "")}
        if not isinstance(value, str) or not value.startswith(_MODEL):
            return value
        name = value.removeprefix(_MODEL)
        if name not in self.models:
            return "no such model"
        state = {n: v for n, v in self.models[name].items() if n != "msg_id"}
        return self._tree(state)
