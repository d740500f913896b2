"""Matplotlib's switches for drawing, and the place where its figures go."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from nbckpt.capture.observation.process_state.kinds import Change, Kind
from nbckpt.digests import Json


class Drawing(Kind):
    """Drawing switched on or off, and pyplot's backend: loading it, for a figure, switches it on.

    Nothing takes a backend away again.
    """

    name = "pyplot"
    module = "matplotlib"
    reach = "interactivity"
    is_told = False

    def read(self, module: Any) -> dict[str, Any]:
        return {"backend": _is_backend_loaded(), "interactive": _is_interactive(module)}

    def defaults(self, module: Any) -> Mapping[str, Any]:
        return {"backend": False, "interactive": dict.get(module.rcParamsOrig, "interactive")}

    def put(self, module: Any, change: Change) -> None:
        is_on = change.values.get("interactive", _is_interactive(module))
        if change.values.get("backend"):
            from matplotlib import pyplot as plt

            plt._get_backend_mod()  # noqa: SLF001  # what a figure calls
        module.rcParams["interactive"] = is_on  # loading it switches it on


class Showing(Kind):
    """That a figure is shown below its cell: it follows from drawing and backend, as `Drawing` has.

    The first figure loads the backend, and is shown even if drawing was switched off before.
    """

    name = "figures shown"
    module = "matplotlib"
    reach = "drawing"
    is_told = False

    def read(self, module: Any) -> dict[str, Any]:
        is_inline = "inline" in str(dict.get(module.rcParams, "backend"))
        return {"": not (is_inline and _is_backend_loaded()) or _is_interactive(module)}

    def defaults(self, module: Any) -> Mapping[str, Any]:  # noqa: ARG002
        return {"": True}

    def put(self, module: Any, change: Change) -> None:
        """Do nothing: it follows."""


class Plotting(Kind):
    """`rcParams` of matplotlib, which styles and themes set, too."""

    name = "matplotlib"
    module = "matplotlib"
    reach = "drawing"
    setters = r"rcParams|rc|rcdefaults|use|set_theme|set_style|set_context|set_palette|set|figsize"
    _NOT = ("backend", "backend_fallback", "interactive")

    def __init__(self) -> None:
        self._raw: dict[str, Any] = {}

    def read(self, module: Any) -> dict[str, Any]:
        params = dict.items(module.rcParams)  # the public getter resolves the backend
        self._raw = {k: list(v) if type(v) is list else v for k, v in params}
        return {k: v for k, v in self._raw.items() if k not in self._NOT}

    def is_same(self, module: Any, items: dict[str, Any]) -> bool:  # noqa: ARG002
        return bool(dict.__eq__(module.rcParams, self._raw))

    def defaults(self, module: Any) -> Mapping[str, Any]:
        found = dict.items(module.rcParamsOrig)
        return {k: v for k, v in found if k not in self._NOT}

    def put(self, module: Any, change: Change) -> None:
        for name, value in change.values.items():
            module.rcParams[name] = value

    def encoded(self, item: str, value: Any) -> Json:
        if type(value).__name__ == "Cycler":
            return {"cycler": super().encoded(item, value.by_key())}
        return super().encoded(item, value)

    def decoded(self, item: str, value: Json) -> Any:
        found = super().decoded(item, value)
        if item == "axes.prop_cycle" and isinstance(found, dict):
            return sys.modules["cycler"].cycler(**found["cycler"])
        return found


class Backend(Kind):
    """The backend of matplotlib, and the formats of figures inside a notebook."""

    name = "figures"
    module = "matplotlib"
    reach = "drawing"
    setters = r"use|switch_backend|matplotlib|pylab|set_matplotlib_formats|config"

    def read(self, module: Any) -> dict[str, Any]:
        backend = dict.__getitem__(module.rcParams, "backend")
        found: dict[str, Any] = {"backend": backend.lower() if isinstance(backend, str) else None}
        if "matplotlib.figure" in sys.modules and (formatters := _formatters()):
            figure = sys.modules["matplotlib.figure"].Figure
            printers = ((f.type_printers.get(figure), f) for f in formatters)
            if formats := [_format(p, f) for p, f in printers if p is not None]:
                found["formats"] = formats  # none, before and after it is imported
        return found

    def defaults(self, module: Any) -> Mapping[str, Any] | None:
        was = os.environ.get("MPLBACKEND") or dict.__getitem__(module.rcParamsOrig, "backend")
        # One that is found because a figure is drawn is found again.
        return {**self.read(module), "backend": was.lower() if isinstance(was, str) else None}

    def changed(self, items: Mapping[str, Any], baseline: Mapping[str, Any]) -> dict[str, Any]:
        found = super().changed(items, baseline)
        is_inline = "inline" in str(items["backend"]) and not baseline.get("formats")
        if is_inline and found.get("formats") == ["png"]:
            del found["formats"]  # they come with the backend
        return found

    def put(self, module: Any, change: Change) -> None:
        shell = _shell()
        if backend := change.values.get("backend"):
            if "inline" in backend and shell is not None:
                shell.enable_matplotlib("inline")
            else:
                module.use(backend)
        if (formats := change.values.get("formats")) and shell is not None:
            sys.modules["IPython.core.pylabtools"].select_figure_formats(shell, formats)

    def text(self, item: str) -> str:
        return "matplotlib backend" if item == "backend" else "figure formats"


def _is_interactive(matplotlib: Any) -> bool:
    return bool(dict.get(matplotlib.rcParams, "interactive"))


def _is_backend_loaded() -> bool:
    return getattr(sys.modules.get("matplotlib.pyplot"), "_backend_mod", None) is not None


_OF_MIME = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/svg+xml": "svg",
    "application/pdf": "pdf",
}


def _shell() -> Any:
    module: Any = sys.modules.get("IPython.core.interactiveshell")
    return module.InteractiveShell._instance if module is not None else None  # noqa: SLF001


def _formatters() -> list[Any]:
    shell = _shell()
    return list(shell.display_formatter.formatters.values()) if shell is not None else []


def _format(printer: Any, formatter: Any) -> str:
    function = getattr(printer, "func", printer)
    if getattr(function, "__name__", "") == "retina_figure":
        return "retina"
    mime = str(formatter.format_type)
    return _OF_MIME.get(mime, mime)
