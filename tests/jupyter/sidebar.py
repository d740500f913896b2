"""A page beside a notebook, as JupyterLab is one: comms, a subshell for requests, writes."""

from __future__ import annotations

import itertools
import json
import queue
import time
from collections.abc import Callable
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient

from tests.kernels import Kernel

_numbers = itertools.count()


class Page:
    """One browser tab: a client of its own, which sees all that the kernel publishes."""

    def __init__(self, kernel: Kernel, *, has_subshell: bool = True) -> None:
        self.client = BlockingKernelClient()
        self.client.load_connection_info(kernel._manager.get_connection_info())
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        self.events: list[dict[str, Any]] = []
        self.opened: list[dict[str, Any]] = []
        self.closed: list[str] = []
        self.marks: dict[str, Any] = {}
        self._answers: dict[Any, dict[str, Any]] = {}
        self._subshell = self._new_subshell() if has_subshell else None
        self._comm = ""

    def close(self) -> None:
        """Go, as a tab that is closed."""
        self._send("comm_close", {"comm_id": self._comm, "data": {}})
        self.client.stop_channels()

    def _new_subshell(self) -> str:
        message = self.client.session.msg("create_subshell_request", {})
        self.client.control_channel.send(message)
        while True:
            reply = self.client.get_control_msg(timeout=10)
            if reply["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                return str(reply["content"]["subshell_id"])

    def open(self) -> None:
        """Open the comm for requests."""
        self._comm = f"nbckpt-asks-{next(_numbers)}"
        content = {"comm_id": self._comm, "target_name": "nbckpt", "data": {}}
        self._send("comm_open", content)

    def hello(self) -> dict[str, Any]:
        """Open the comm, and have the first answer."""
        self.open()
        answer: dict[str, Any] = self.ask("hello")["result"]
        self.marks = answer["marks"]
        return answer

    def _send(self, kind: str, content: dict[str, Any]) -> None:
        message = self.client.session.msg(kind, content)
        if self._subshell is not None:
            message["header"]["subshell_id"] = self._subshell
        self.client.shell_channel.send(message)

    # -- what the kernel publishes

    def pump(self, timeout_s: float = 0.05) -> bool:
        """Take in one message; whether there was one."""
        try:
            message = self.client.get_iopub_msg(timeout=timeout_s)
        except queue.Empty:
            return False
        content = message["content"]
        match message["msg_type"]:
            case "comm_open":
                self.opened.append(content)
            case "comm_close":
                self.closed.append(content["comm_id"])
            case "comm_msg" if content["comm_id"] == self._comm:
                self._answers[content["data"].get("id")] = content["data"]
            case "comm_msg" if content["data"].get("event"):
                self.events.append(content["data"])
                self.marks = content["data"].get("marks", self.marks)
        return True

    def until(self, is_so: Callable[[], object], timeout_s: float = 15) -> None:
        """Take in what comes until something is so."""
        deadline = time.monotonic() + timeout_s
        while not is_so():
            assert time.monotonic() < deadline, f"not so; the last events: {self.events[-3:]}"
            self.pump()

    def named(self, event: str) -> list[dict[str, Any]]:
        """The events of one name."""
        return [e for e in self.events if e["event"] == event]

    # -- what the page asks

    def send(self, data: Any) -> None:
        """Send anything over the comm for requests."""
        self._send("comm_msg", {"comm_id": self._comm, "data": data})

    def ask(self, op: str, timeout_s: float = 15, **args: Any) -> dict[str, Any]:
        """The answer to a request."""
        number = f"n{next(_numbers)}"
        self.send({"id": number, "op": op, "args": args})
        self.until(lambda: number in self._answers, timeout_s)
        return self._answers.pop(number)

    def result(self, op: str, **args: Any) -> Any:
        """The result of a request that succeeds."""
        answer = self.ask(op, **args)
        assert answer["ok"], answer
        return answer["result"]

    def write(self, op: str, **args: Any) -> dict[str, Any]:
        """The answer to a write."""
        return self.evaluate(f"written({op!r}, {json.dumps(args)!r})")

    def evaluate(self, call: str) -> dict[str, Any]:
        """The JSON of a call of the module's, by an `execute_request` of no code."""
        reply = self.execute("", call)
        answer: dict[str, Any] = reply["user_expressions"]["nbckpt"]["data"]["application/json"]
        return answer

    def execute(self, code: str, call: str = "") -> dict[str, Any]:
        """The content of the reply to a silent request."""
        return self.reply(self.send_execute(code, call))

    def send_execute(self, code: str, call: str = "") -> str:
        """Ask for a silent request; its id."""
        module = "__import__('nbckpt.jupyter.page_writes', fromlist=['written'])"
        content = {
            "code": code,
            "silent": True,
            "store_history": False,
            "allow_stdin": False,
            "user_expressions": {"nbckpt": f"{module}.{call}"} if call else {},
        }
        message = self.client.session.msg("execute_request", content)
        self.client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def reply(self, request: str) -> dict[str, Any]:
        """The content of the reply to a request."""
        while True:
            reply = self.client.get_shell_msg(timeout=60)
            if reply["parent_header"].get("msg_id") == request:
                content: dict[str, Any] = reply["content"]
                return content
