"""A front end's side of the timeline widget: its comm messages, sent and awaited by hand."""

from __future__ import annotations

import queue
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.kernels import Kernel

Message = dict[str, Any]


class Front:
    """Shows `%timeline` of a kernel, and notes all that the kernel publishes.

    Attributes
    ----------
    state
        The widget's model, as the kernel's messages have left it.
    updates
        The parts of it that came in each message, after the first.
    errors
        What it was told that answers no request.
    came
        The numbers of the messages that were said to have come.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.published: list[Message] = []
        self.state: dict[str, Any] = {}
        self.updates: list[dict[str, Any]] = []
        self.answers: list[Message] = []
        self.errors: list[str] = []
        self.came: list[int] = []
        self.comm_id = ""
        self.subshell: str | None = None
        self._number = 0

    def open(self, folder: Path, cell_id: str | None = None) -> None:
        """Run `%timeline`; what it would draw with does not matter here."""
        code = folder / "timeline.js"
        code.write_text("export default { render() {} };")
        self.run(
            "import pathlib, nbckpt.jupyter.widget\n"
            f"nbckpt.jupyter.widget.CODE = pathlib.Path({str(code)!r})\n"
            "nbckpt.jupyter.widget.show(get_ipython()._nbckpt_extension.cells)",
            cell_id,
        )
        assert self.comm_id, "no widget was shown"

    def use_subshell(self) -> None:
        """Send the widget's messages to a subshell, as JupyterLab does."""
        client = self.kernel.client
        info = client.kernel_info(reply=True, timeout=30)["content"]
        if "kernel subshells" not in info.get("supported_features", ()):
            pytest.skip("this ipykernel has no subshells")
        request = client.session.msg("create_subshell_request", {})
        client.control_channel.send(request)
        while True:
            reply = client.get_control_msg(timeout=10)
            if reply["parent_header"].get("msg_id") == request["header"]["msg_id"]:
                self.subshell = reply["content"]["subshell_id"]
                return

    def run(self, source: str, cell_id: str | None = None) -> None:
        """Run a cell to its end."""
        self.finish(self.kernel.send(source, cell_id))

    def begin(self, source: str) -> str:
        """Send a cell and wait until it is shown to run; the id of the request.

        A cell before it may be shown still: what is asked then would come before this one.
        """
        request = self.kernel.send(source)
        line = source.splitlines()[0]
        self.wait(lambda: (self.state["status"]["busy"] or {}).get("name") == line)
        return request

    def finish(self, request: str) -> None:
        """Wait until a cell has ended; it must end well."""
        replies = self.kernel.client
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            reply = replies.get_shell_msg(timeout=60)
            if reply["parent_header"].get("msg_id") == request:
                assert reply["content"]["status"] == "ok", reply["content"]
                self.wait(lambda: self._is_idle(request))
                return

    def _is_idle(self, request: str) -> bool:
        return any(
            m["msg_type"] == "status"
            and m["content"]["execution_state"] == "idle"
            and m["parent_header"].get("msg_id") == request
            for m in self.published
        )

    def text(self) -> str:
        """All that was printed so far."""
        streams = (m["content"]["text"] for m in self.published if m["msg_type"] == "stream")
        return "".join(streams)

    def ask(self, op: str, **args: Any) -> int:
        """Send a request; its number."""
        self._number += 1
        content = {"id": self._number, "op": op, "args": args}
        self.send({"method": "custom", "content": content})
        return self._number

    def send(self, data: dict[str, Any], kind: str = "comm_msg") -> None:
        """Send a message over the widget's comm."""
        client = self.kernel.client
        message = client.session.msg(kind, {"comm_id": self.comm_id, "data": data})
        message["header"]["subshell_id"] = self.subshell
        if self.subshell is None:
            del message["header"]["subshell_id"]
        client.shell_channel.send(message)

    def answer(self, number: int, timeout_s: float = 30) -> Message:
        """The answer to a request, when it is there."""

        def found() -> Message | None:
            return next((a for a in self.answers if a["id"] == number and "ok" in a), None)

        self.wait(lambda: found() is not None, timeout_s)
        answer = found()
        assert answer is not None
        return answer

    def call(self, op: str, **args: Any) -> Any:
        """The result of a request that must succeed."""
        answer = self.answer(self.ask(op, **args))
        assert answer["ok"], answer
        return answer["result"]

    def waits(self, number: int) -> bool:
        """Whether the kernel has said that a request waits."""
        return any(a["id"] == number and "waits" in a for a in self.answers)

    def wait(self, is_there: Callable[[], object], timeout_s: float = 30) -> None:
        """Take what the kernel publishes until something is there."""
        deadline = time.monotonic() + timeout_s
        while not is_there():
            if time.monotonic() > deadline:
                message = f"not there after {timeout_s} s; printed: {self.text()}"
                raise TimeoutError(message)
            self.take(0.05)

    def take(self, timeout_s: float) -> None:
        """Take in one message, if one comes."""
        try:
            message = self.kernel.client.get_iopub_msg(timeout=timeout_s)
        except queue.Empty:
            return
        self.published.append(message)
        content = message["content"]
        if message["msg_type"] == "comm_open":
            state = content["data"].get("state", {})
            if state.get("_model_name") == "AnyModel":
                self.comm_id, self.state = content["comm_id"], dict(state)
        elif message["msg_type"] == "comm_msg" and content["comm_id"] == self.comm_id:
            self._heard(content["data"])

    def _heard(self, data: dict[str, Any]) -> None:
        if data["method"] == "update":
            self.updates.append(data["state"])
            self.state |= data["state"]
        elif data["method"] == "custom" and "came" in data["content"]:
            self.came.append(data["content"]["came"])
        elif data["method"] == "custom" and "id" not in data["content"]:
            self.errors.append(data["content"]["error"])
        elif data["method"] == "custom":
            self.answers.append(data["content"])

    @property
    def names(self) -> list[str]:
        """Names of the checkpoints that are shown, oldest first."""
        return [row["name"] for row in self.state["rows"]]

    def id_of(self, name: str) -> str:
        """Id of the newest checkpoint of a name."""
        return str(next(r["id"] for r in reversed(self.state["rows"]) if r["name"] == name))


def new_id() -> str:
    """A cell id, as front ends make them."""
    return uuid.uuid4().hex[:8]
