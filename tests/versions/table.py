"""The versions that are tested beside those of the test environment: change them here."""

from __future__ import annotations

LOWEST_PYTHON = "3.11"

LOWEST = {
    # What nbckpt needs: the lower bounds of pyproject.toml.
    "anywidget": "0.9.0",
    "blake3": "1.0.0",
    "cloudpickle": "3.1.0",
    "dill": "0.3.8",
    "duckdb": "1.3.0",
    "ipykernel": "6.17.0",
    "ipython": "7.34.0",
    "ipywidgets": "7.7.0",
    "nbclient": "0.10.0",
    "nbformat": "5.10.0",
    "pyarrow": "18.0.0",
    "pyfastcdc": "0.3.1",
    "rich": "13.0.0",
    "zstandard": "0.23.0",
    # Its extras.
    "cryptography": "42.0.0",
    "genai-prices": "0.1.0",
    "jupyterlab": "4.2.0",
    "keyring": "24.0.0",
    "matplotlib": "3.9.0",
    "opentelemetry-api": "1.30.0",
    "pandas": "2.2.0",
    "scikit-learn": "1.5.0",
    # What the cases use, as low as the rest of the table lets it be.
    "anthropic": "0.40.0",
    "beautifulsoup4": "4.12.0",
    "httpx": "0.27.0",
    "lightgbm": "4.5.0",
    "msgspec": "0.19.0",
    "networkx": "3.4.0",
    "numpy": "1.26.4",
    "openai": "1.60.0",
    "pillow": "11.0.0",
    "plotly": "6.0.0",
    "polars": "1.20.0",
    "pydantic": "2.10.0",
    "requests": "2.32.2",
    "sqlalchemy": "2.0.0",
    "statsmodels": "0.14.0",
    "sympy": "1.13.0",
    "torch": "2.4.0",
    "tqdm": "4.66.0",
    "xgboost-cpu": "3.0.0",
    # What these have below them, and whose newest versions they do not know.
    "pyparsing": "3.1.0",
    "python-dateutil": "2.8.2",
    "scipy": "1.13.0",
}
"""Distribution → version. spaCy is none of them: none goes with such a pydantic."""

COLAB = {
    "anywidget": "0.9.21",
    "cloudpickle": "3.1.2",
    "dill": "0.3.8",
    "duckdb": "1.3.2",
    "ipykernel": "6.17.1",
    "ipython": "7.34.0",
    "ipywidgets": "7.7.1",
    "nbclient": "0.10.4",
    "numpy": "2.1.3",
    "pandas": "2.2.3",
    "pyarrow": "18.1.0",
    "traitlets": "5.7.1",
    "zstandard": "0.25.0",
}
"""Versions on Colab, and on Kaggle with it: googlecolab/backend-info, `pip-freeze.txt`, 2026-08-19."""

COLAB_PYTHONS = ("3.13", "3.12", "3.11")

NOTEBOOKS = (
    *("tests/jupyter/test_magics.py", "tests/jupyter/test_completion.py"),
    *("tests/jupyter/test_cells.py", "tests/jupyter/test_loading.py"),
    *("tests/jupyter/test_widget.py", "tests/jupyter/test_going_back.py"),
    *("tests/jupyter/test_rerunning.py", "tests/jupyter/notebook"),
    *("tests/steps/test_blocks.py", "tests/steps/test_steps.py", "tests/steps/test_recovery.py"),
    *("tests/steps/loops", "tests/steps/test_kill.py", "tests/llm/test_replay.py"),
)
"""Suites of what notebooks do: magics, steps, kills and resumes, recordings, the widget."""

OWN = ("blake3", "pyfastcdc")
"""Requirements of nbckpt that Colab has not."""

NOTEBOOK_TOOLS = ("anthropic", "matplotlib", "openai", "rich", "scikit-learn", "sympy")
"""Packages that these suites use beside `TOOLS`."""

NEWEST_PYTHONS = ("3.14", "3.13", "3.12")
"""The first of these that is installed here, and for which all of `NEWEST` is published."""

NEWEST = (*LOWEST, "spacy")
"""Distributions, each in the newest version that the package index has."""

TOOLS = ("hypothesis", "pytest", "pytest-timeout", "pytest-xdist", "regex")
"""What the suites run with, in any version."""

UNTESTED = frozenset({"numba", "pint", "shapely"})
"""Packages of cases that are not installed, as in the test environment."""
