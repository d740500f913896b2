"""Where libraries keep what is registered with them, beside attributes of modules and classes."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

TABLES: Mapping[str, Mapping[str, str]] = {
    "matplotlib": {"matplotlib.colormaps": "matplotlib:colormaps._cmaps"},
    "matplotlib.colors": {
        "matplotlib.color_sequences": "matplotlib:color_sequences._color_sequences"
    },
    "matplotlib.units": {"matplotlib.units.registry": "matplotlib.units:registry"},
    "matplotlib.projections": {
        "matplotlib.projections": "matplotlib.projections:projection_registry._all_projection_types"
    },
    "pint": {"pint.application_registry": "pint:application_registry.__dict__"},
}
"""Module → name of a registry in it → where its dict is found."""

LISTS = (
    "sys:meta_path",
    "sys:path_hooks",
    "gc:callbacks",
    "pandas.core.dtypes.base:_registry.dtypes",
)
"""Where lists are found that hold what was registered."""

_OF_PYTHON = frozenset({"dispatch_table", "_extension_registry", "adapters", "converters"})
_FRONT_ENDS = frozenset(
    {"IPython", "ipykernel", "ipywidgets", "traitlets", "jupyter_client", "zmq", "tornado", "comm",
     "debugpy", "pydevd", "prompt_toolkit", "pygments", "jedi", "parso", "nbckpt", "pytest",
     "_pytest", "hypothesis", "pluggy", "coverage", "cloudpickle", "dill", "joblib", "numba"}
)  # fmt: skip
KEPT_ELSEWHERE = frozenset(
    {"sys", "os", "builtins", "warnings", "logging", "locale", "decimal", "gc", "abc", "importlib",
     "threading", "asyncio", "random", *_FRONT_ENDS}
)  # fmt: skip
"""Libraries whose state other facets know, or that change what they hold all the time."""

STATE_IS_KNOWN = frozenset(
    {"calendar", "joblib", "matplotlib", "mpmath", "multiprocessing", "numpy", "pandas", "polars",
     "seaborn", "sklearn", "sympy", "torch", *KEPT_ELSEWHERE}
)  # fmt: skip
"""Libraries whose settings are process state."""

_BOOKKEEPING = re.compile(
    r"cache|memo|active|live|seen|weak|refs|track|pool|lock|stack|current|instances|annotations"
    r"|counter|warn|_parameters|globals|pending|running|_member_map_|_value2member_map_|_hashable_"
    r"|_field_defaults|model_fields",
    re.IGNORECASE,
)
_MANY = 5_000


def is_registry(module: str, name: str, table: Any) -> bool:
    """True if a dict of a module or class may hold what others register."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return name in _OF_PYTHON
    if top in _FRONT_ENDS or (name.startswith("__") and name.endswith("__")):
        return False
    return dict.__len__(table) <= _MANY and not is_bookkeeping(name)


@lru_cache(maxsize=4096)
def is_bookkeeping(name: str) -> bool:
    """True if a name is one under which a library keeps what it needs itself, as caches are."""
    return _BOOKKEEPING.search(name) is not None


def found_at(place: str) -> Any:
    """Object at ``module:attribute.attribute``; None if there is none."""
    module, _, path = place.partition(":")
    value: Any = sys.modules.get(module)
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def shell_lists(namespace: Mapping[str, object]) -> dict[str, Any]:
    """The lists in which the notebook's shell keeps what cells register."""
    shell = shell_of(namespace)
    if shell is None:
        return {}
    events = getattr(getattr(shell, "events", None), "callbacks", {})
    found = {f"IPython.events.{name}": items for name, items in events.items()}
    for name in ("input_transformers_cleanup", "input_transformers_post", "ast_transformers"):
        found[f"IPython.{name}"] = getattr(shell, name, None)
    return found


def shell_tables(namespace: Mapping[str, object]) -> dict[str, dict[Any, Any]]:
    """The dicts in which the notebook's shell keeps what cells register."""
    shell = shell_of(namespace)
    magics = getattr(getattr(shell, "magics_manager", None), "magics", {})
    found = {f"IPython.{kind}_magics": table for kind, table in magics.items()}
    formatters = getattr(getattr(shell, "display_formatter", None), "formatters", {})
    for mime, formatter in formatters.items():
        for name in ("singleton_printers", "type_printers", "deferred_printers"):
            found[f"IPython.formatters[{mime}].{name}"] = getattr(formatter, name, {})
    return {owner: table for owner, table in found.items() if isinstance(table, dict)}


def shell_of(namespace: Mapping[str, object]) -> Any:
    """The shell that runs the notebook, if one does."""
    ask = namespace.get("get_ipython")
    if not str(getattr(ask, "__module__", "")).startswith("IPython."):
        return None
    return ask()  # type: ignore[operator]
