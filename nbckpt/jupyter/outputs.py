"""Outputs of a cell: recorded while it runs, shown again when it is restored."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from nbckpt.capture.observation.shown_widgets import VIEW
from nbckpt.digests import Json
from nbckpt.jupyter import descriptors, output_widgets, widget_states

MAX_CHARACTERS = 20_000_000
"""Of a cell's outputs together; past that the rest is not recorded, and the last one says so."""

Output = dict[str, Any]

_OF_A_PAGE = re.compile(r"(?:.*\W)?No such comm(?: target registered)?: .*\n?")
"""Logged by Jupyter's package `comm` when a page asks for what went; no cell has said it."""
_SUBSHELL = "subshell-"
"""The names of the threads on which ipykernel answers a page beside the cell begin so."""


class _Tee:
    """A text stream that also notes what is written to it."""

    def __init__(self, stream: Any, note: Callable[[str], None]) -> None:
        self._stream = stream
        self._note = note

    def write(self, text: str) -> int:
        self._note(text)
        written = self._stream.write(text)
        return len(text) if written is None else written

    def writelines(self, lines: Sequence[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Recorder:
    """Notes the outputs of one cell, from `start` to `stop`.

    Attributes
    ----------
    values
        The value that the cell ended with, if there is one.
    is_live
        Whether it showed what only its code can show again.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._outputs: list[Output] = []
        self._size = 0
        self._to_clear: set[str] = set()  # ids of widgets; empty text for the cell's own outputs
        self._is_in_result = False
        self._undo: list[Callable[[], None]] = []
        self.values: list[object] = []
        self.is_live = False
        self._watched: list[Any] = []
        self._held: dict[str, object] = {}
        self._thread = threading.current_thread()

    def start(self) -> None:
        """Begin to note stdout, stderr, display data, the result, and errors that are shown."""
        for name in ("stdout", "stderr"):
            if name == "stdout" or sys.stderr is not sys.stdout:  # what goes to both comes once
                self._tee(name)
        publisher, hook = self._shell.display_pub, self._shell.displayhook
        # A terminal's publisher writes what it is given to stdout: that is not text beside it.
        self._wrap(publisher, "publish", self._note_display, is_silent=True)
        self._wrap(publisher, "clear_output", self._note_clear, is_silent=True)
        self._wrap(self._shell, "_showtraceback", self._note_error, is_silent=True)
        # A terminal's hook writes the result to stdout: that is the result, not text beside it.
        # What the value's own code prints, while it is formatted in between, is text.
        for name in ("write_output_prompt", "finish_displayhook"):
            self._wrap(hook, name, lambda: None, is_silent=True)
        self._wrap(hook, "write_format_data", self._note_result, is_silent=True)
        self._wrap(hook, "update_user_ns", self._note_value)

    def stop(self) -> list[Json]:
        """Stop; the outputs as JSON, in the order in which they came."""
        descriptors.drain(self._watched)
        while self._undo:
            self._undo.pop()()
        self._outputs += [
            {"clear": "next", "into": into} for into in sorted(self._to_clear) if into
        ]
        for output in self._outputs:
            self._note_widget(output)
            into = output.get("into")
            if into and output_widgets.holds(into) is not self._held[into]:
                output["is_held"] = True  # a page has answered while the cell ran
        return [_joined(output) for output in self._outputs]

    def _note_widget(self, output: Output) -> None:
        """Note the state in which a widget is left, or that only its cell can show it again."""
        data = output.get("display") or output.get("update") or output.get("result") or {}
        if VIEW not in data:
            return
        states = widget_states.states_of(data)
        if states is None or not self._has_room(len(str(states))):
            self.is_live = True
        else:
            output["widgets"] = _plain(states)

    def _tee(self, name: str) -> None:
        stream = getattr(sys, name)
        if descriptors.is_watched(stream):  # what child processes and C code print comes there
            self._watched.append(stream)
        if hasattr(stream, "__dict__"):  # a notebook may hold the stream, and compare it
            self._wrap(stream, "write", lambda text: self._note_text(name, text))
            return
        tee = _Tee(stream, lambda text: self._note_text(name, text))
        setattr(sys, name, tee)

        def undo() -> None:
            # Only if nobody put another stream over it meanwhile.
            if getattr(sys, name) is tee:
                setattr(sys, name, stream)

        self._undo.append(undo)

    def _wrap(
        self, owner: Any, name: str, note: Callable[..., None], *, is_silent: bool = False
    ) -> None:
        """Have calls noted; what one prints itself is not, if it `is_silent`."""
        original = getattr(owner, name)
        own = vars(owner).get(name)

        def call(*args: Any, **kwargs: Any) -> Any:
            note(*args, **kwargs)
            if not is_silent:
                return original(*args, **kwargs)
            before, self._is_in_result = self._is_in_result, True
            try:
                return original(*args, **kwargs)
            finally:
                self._is_in_result = before

        def undo() -> None:
            if own is None and name in vars(owner):
                delattr(owner, name)
            else:  # an owner that stands for another has it there
                setattr(owner, name, original if own is None else own)

        setattr(owner, name, call)
        self._undo.append(undo)

    def _note_text(self, name: str, text: str) -> None:
        if self._is_in_result or (name == "stderr" and _OF_A_PAGE.fullmatch(text)):
            return
        if self._answers_a_page():
            return
        self._clear_if_due()
        last = self._outputs[-1] if self._outputs else None
        if not self._has_room(len(text)):
            return
        into = self._into()
        if last is not None and last.get("stream") == name and last.get("into") == into.get("into"):
            last["text"].append(text)  # joined in the end: to join each time would be quadratic
        else:
            self._outputs.append({"stream": name, "text": [text], **into})

    def _note_display(
        self, data: dict[str, Any], metadata: Any = None, *_: Any, **more: Any
    ) -> None:
        if "nbckpt" in (metadata or {}) or self._answers_a_page():
            return
        self._clear_if_due()
        display_id = (more.get("transient") or {}).get("display_id")
        shown = {"metadata": _plain(metadata or {}), "id": display_id}
        if not more.get("update"):
            self._add({"display": _plain(data), **shown})
            return
        own = [o for o in self._outputs if display_id is not None and o.get("id") == display_id]
        for output in own:
            kind = "display" if "display" in output else "update"
            output.update({kind: _plain(data), **shown})
        if not own:
            self._add({"update": _plain(data), **shown})  # of what another cell showed

    def _note_result(self, data: dict[str, Any], metadata: Any = None) -> None:
        self._clear_if_due()
        self._add({"result": _plain(data), "metadata": _plain(metadata or {})})

    def _note_error(self, kind: Any, error: Any, lines: Sequence[str]) -> None:
        name = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
        told = {"error": name, "text": str(error), "traceback": [str(line) for line in lines]}
        self._add(told)

    def _note_value(self, value: object) -> None:
        self.values = [value]

    def _note_clear(self, wait: bool = False) -> None:
        self._to_clear.add(self._into().get("into", ""))
        if not wait:
            self._clear_if_due()

    def _clear_if_due(self) -> None:
        """Forget what was shown till now where that is cleared now.

        A widget that captures may hold what earlier cells showed: to clear that is an output, too.
        """
        if not self._to_clear:
            return
        into = self._into().get("into", "")
        if into not in self._to_clear:
            return
        self._to_clear.remove(into)
        self._outputs = [o for o in self._outputs if o.get("into", "") != into]
        if into:
            self._outputs.append({"clear": "now", "into": into})
        self._size = sum(map(_size_of, self._outputs))

    def _add(self, output: Output) -> None:
        if self._has_room(_size_of(output)):
            self._outputs.append({**output, **self._into()})

    def _has_room(self, size: int) -> bool:
        if self._size > MAX_CHARACTERS:
            return False
        self._size += size
        if self._size > MAX_CHARACTERS:
            text = f"… nbckpt keeps {MAX_CHARACTERS:,} characters of a cell's output\n"
            self._outputs.append({"stream": "stderr", "text": [text]})
            return False
        return True

    def _answers_a_page(self) -> bool:
        """True of what another message's code shows: the page does not add it to the cell."""
        current = threading.current_thread()
        if current is self._thread or not current.name.startswith(_SUBSHELL):
            return False
        return not output_widgets.capturing()

    def _into(self) -> dict[str, str]:
        """The widget that takes what is shown now, if there is one, as a member of an output."""
        model_id = output_widgets.capturing()
        if not model_id:
            return {}
        if model_id not in self._held:
            self._held[model_id] = output_widgets.holds(model_id)
        return {"into": model_id}


def _size_of(output: Output) -> int:
    return sum(len(v) if isinstance(v, str) else len(str(v)) for v in output.values())


def _joined(output: Output) -> Json:
    return {**output, "text": "".join(output["text"])} if "stream" in output else output


def show(
    shell: InteractiveShell,
    outputs: Sequence[Any],
    value_of: Callable[[Any], object],
    live_ids: Mapping[str, str],
) -> None:
    """Show recorded outputs again, as the current cell's.

    Parameters
    ----------
    value_of
        Gives the result of the cell from what was kept of it.
    live_ids
        The ids of widgets that were shown → those that take their place now.
    """
    for recorded in outputs:
        output = widget_states.of_live_one(recorded, live_ids)
        if "into" not in output:
            _show_one(shell, output, value_of)
            continue
        with output_widgets.showing_in(live_ids.get(output["into"], output["into"])) as is_there:
            if is_there and not output.get("is_held"):
                _show_one(shell, output, value_of)


def _show_one(shell: InteractiveShell, output: Any, value_of: Callable[[Any], object]) -> None:
    if "widgets" in output:
        widget_states.show(output["widgets"])
    if "stream" in output:
        getattr(sys, output["stream"]).write(output["text"])
    elif "clear" in output:
        shell.display_pub.clear_output(wait=output["clear"] == "next")
    elif "display" in output or "update" in output:
        _publish(shell, output)
    elif "error" in output:
        kind = type(str(output["error"]), (Exception,), {})
        shell._showtraceback(kind, kind(output["text"]), output["traceback"])  # noqa: SLF001
    else:
        hook = shell.displayhook
        if "result" in output:
            hook.start_displayhook()
            hook.write_output_prompt()
            hook.write_format_data(output["result"], output["metadata"])
            hook.finish_displayhook()
        hook.update_user_ns(value_of(output.get("value") or {}))


def _publish(shell: InteractiveShell, output: Output) -> None:
    """Show again what has a name to be updated by, under that name."""
    named = {"display_id": output["id"]} if output.get("id") else {}
    is_update = "update" in output
    data = output["update"] if is_update else output["display"]
    shell.display_pub.publish(data, output["metadata"], transient=named, update=is_update)


def _plain(value: Any) -> Any:
    """`value` as JSON: images as base64 text, anything else as its text."""
    from base64 import b64encode

    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    return value if isinstance(value, str | int | float | bool | None) else str(value)
