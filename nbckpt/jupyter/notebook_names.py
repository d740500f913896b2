"""Which notebook a shell is of, where whoever started it tells.

Jupyter's server names it in ``JPY_SESSION_NAME``. VS Code binds a variable before the first
cell, papermill one among its parameters when it is asked to, and Databricks has a function. Colab,
Kaggle and nbclient tell a kernel nothing: there ``NBCKPT_NOTEBOOK`` does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any
from urllib.parse import unquote

VARIABLE = "NBCKPT_NOTEBOOK"
_OF_A_SERVER = "JPY_SESSION_NAME"
_BOUND = ("__vsc_ipynb_file__", "PAPERMILL_INPUT_PATH", "PAPERMILL_OUTPUT_PATH")


def notebook_of(namespace: Mapping[str, object]) -> str:
    """The name of the notebook whose variables these are, without its ending; empty if unknown."""
    told = [os.environ.get(VARIABLE), *map(namespace.get, _BOUND), os.environ.get(_OF_A_SERVER)]
    paths = [path for path in told if isinstance(path, str) and path]
    path = paths[0] if paths else _in_databricks(namespace)
    return PurePath(unquote(path) if "://" in path else path).stem


def _in_databricks(namespace: Mapping[str, object]) -> str:
    """The path of a notebook of Databricks; empty elsewhere."""
    if not os.environ.get("DATABRICKS_RUNTIME_VERSION"):
        return ""
    tools: Any = namespace.get("dbutils")
    try:
        context = tools.notebook.entry_point.getDbutils().notebook().getContext()
        return str(context.notebookPath().get())
    except Exception:  # of a job's, or another version's: then the name is unknown
        return ""
