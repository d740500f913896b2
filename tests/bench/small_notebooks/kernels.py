"""A kernel inside the process that runs a small notebook, and the document that its cells make."""

from __future__ import annotations

import asyncio
import contextvars
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Output = dict[str, Any]
CellRecord = dict[str, Any]

_VARYING = re.compile(
    r"0x[0-9a-fA-F]+|IPY_MODEL_\w+|model_id='?\w+'?|(?<=\bid=)\d{6,}|tmp\w{8}"
    r'|[^"\s]*ipykernel_\d+/\d+\.py", line \d+|<nbckpt \w+>", line \d+|\b\d{6,}\.py(?=, line)'
    r"|\d+(\.\d+)?(e\+\d+)? [mn\u00b5\u03bcu]?s\b|(?:%%checkpoint|#) c\d"
)
"""Addresses, models' ids, names of temporary files and of cells' code, durations, marks."""


class _NoThread:
    """Stands for the thread of a kernel's channel, which a cell that awaits is asked for."""

    parent_thread = None

    def __init__(self, stream: Any) -> None:
        self.manager = self
        self._stream = stream

    def get_subshell_to_shell_channel_socket(self, subshell_id: str | None) -> Any:
        return self._stream


class InProcessKernel:
    """Runs cells as a kernel does, with its messages, and keeps the notebook's document."""

    def __init__(self) -> None:
        from ipykernel.inprocess.manager import InProcessKernelManager
        from traitlets.config import Config

        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        self._context = contextvars.copy_context()
        config = Config({"HistoryManager": {"enabled": False, "hist_file": ":memory:"}})
        manager = InProcessKernelManager(config=config)
        manager.start_kernel()
        self._client = manager.client()
        self._client.start_channels()
        self._kernel: Any = manager.kernel
        self._kernel.shell_channel_thread = _NoThread(self._kernel.shell_stream)
        self.shell: Any = manager.kernel.shell
        self.records: list[CellRecord] = []

    def prepare(self, source: str) -> None:
        """Run what is no cell of the notebook: it gets no number and shows nothing."""
        self._execute(source, "", silent=True)
        self._client.iopub_channel.get_msgs()

    def run(self, source: str, cell_id: str) -> None:
        """Run a cell; its record says what it showed, and whether it was restored."""
        before = self._latest_step()
        self._execute(source, cell_id, silent=False)
        record: CellRecord = {"id": cell_id, "outputs": [], "error": "", "said": []}
        self.records.append(record)
        clear = False
        for message in self._client.iopub_channel.get_msgs():
            clear = self._take(record, message["msg_type"], message["content"], clear)
        step = self._latest_step()
        record["restored"] = step is not None and step is not before and not step.todo
        record["why"] = list(step.why) if step is not None and step is not before else []

    def probe(self, expression: str) -> str:
        """The `repr` of an expression's value in the notebook's namespace."""
        try:
            return repr(eval(expression, self.shell.user_ns))
        except BaseException as error:
            return f"raises {type(error).__name__}: {error}"[:300]

    def document(self) -> list[CellRecord]:
        """What a page shows now, cell by cell, with what varies between two runs masked."""
        return [
            {**record, "outputs": [_shown(output) for output in record["outputs"]]}
            for record in self.records
        ]

    def _execute(self, source: str, cell_id: str, *, silent: bool) -> None:
        content = {
            "code": source,
            "silent": silent,
            "store_history": not silent,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": False,
        }
        message = self._client.session.msg("execute_request", content)
        message["metadata"] = {"cellId": cell_id}
        stream = self._kernel.shell_stream
        self._client.session.send(stream, message)
        parts = stream.recv_multipart()
        # What a cell sets in the context is there in the next one, as in a kernel of its own.
        handled = self._kernel.dispatch_shell(parts)
        self._loop.run_until_complete(self._loop.create_task(handled, context=self._context))
        stream.recv_multipart()

    def _take(self, record: CellRecord, kind: str, content: Mapping[str, Any], clear: bool) -> bool:
        outputs = record["outputs"]
        if kind == "clear_output":
            if content.get("wait"):
                return True
            outputs.clear()
            return False
        if kind not in ("stream", "display_data", "execute_result", "error", "update_display_data"):
            return clear
        if "nbckpt" in content.get("metadata", {}):
            record["said"].append(content["data"].get("text/plain", ""))
            return clear
        if kind == "update_display_data":
            self._update(content)
            return clear
        if clear:
            outputs.clear()
        if kind == "stream" and (said := _without_notices(content["text"], record)) is not None:
            if (
                outputs
                and outputs[-1]["kind"] == "stream"
                and outputs[-1]["name"] == content["name"]
            ):
                outputs[-1]["text"] += said
            elif said:
                outputs.append({"kind": "stream", "name": content["name"], "text": said})
        elif kind == "error":
            record["error"] = masked(f"{content['ename']}: {content['evalue']}")[:300]
        elif kind != "stream":
            outputs.append({"kind": kind, **content})
        return False

    def _update(self, content: Mapping[str, Any]) -> None:
        """Show something else wherever a display has an id."""
        wanted = content["transient"]["display_id"]
        for output in (o for record in self.records for o in record["outputs"]):
            if output.get("transient", {}).get("display_id") == wanted:
                output["data"] = content["data"]

    def _latest_step(self) -> Any:
        """The latest step of nbckpt's, if nbckpt follows the cells."""
        for callback in self.shell.events.callbacks["post_run_cell"]:
            owner = getattr(callback, "__self__", None)
            if type(owner).__module__ == "nbckpt.jupyter.cells":
                return owner.steps.latest
        return None


def _without_notices(text: str, record: CellRecord) -> str:
    """A stream's text without the lines that nbckpt writes; these are noted."""
    lines = text.splitlines(keepends=True)
    notices = [line for line in lines if line.startswith("nbckpt: ")]
    record["said"] += notices
    return "".join(line for line in lines if line not in notices)


def _shown(output: Output) -> Output:
    if output["kind"] == "stream":
        return {"kind": "stream", "name": output["name"], "text": masked(output["text"])}
    data = {kind: _shown_data(kind, value) for kind, value in sorted(output["data"].items())}
    return {"kind": output["kind"], "data": data}


def _shown_data(kind: str, value: Any) -> str:
    if kind.startswith("image/") and kind != "image/svg+xml":
        return hashlib.sha256(str(value).encode()).hexdigest()[:12]
    if kind in ("image/svg+xml", "application/vnd.jupyter.widget-view+json"):
        return kind
    return masked(value if isinstance(value, str) else repr(value))


def masked(text: str) -> str:
    """A text without what differs between two plain runs."""
    return _VARYING.sub("…", text)


def load(kernel: InProcessKernel, mode: str, store: Path) -> None:
    """Have nbckpt follow the kernel's cells."""
    kernel.prepare("get_ipython().run_line_magic('load_ext', 'nbckpt')")
    if mode == "skip":
        kernel.prepare("get_ipython().run_line_magic('nbckpt', 'auto skip')")
