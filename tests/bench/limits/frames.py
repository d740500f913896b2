"""Data frames and other large values: a column changed, and cells that only read one.

Each has a figure of cloudpickle, which would write all of the value at each cell, taken between the
runs of the cells, and is to be compared with that.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

import cloudpickle

from tests.bench.figures import Figure, absences
from tests.bench.floors import PYTHON, pickle_of
from tests.bench.measures import timed
from tests.bench.shells import Notebook

READ_AT_MOST = 0.5
"""Times cloudpickle of the value that a cell may cost that only reads it."""

STORED_AT_MOST = 1.075
"""Times what must be stored: the frames once, and each column that was changed."""

N_FRAMES, N_COLUMNS, FLOAT_BYTES = 10, 10, 8

READ = {
    "pandas column of objects": """
import numpy as np, pandas as pd
texts = pd.Series([f"text {{i}} of a row" for i in range({n})], dtype=object)
value = pd.DataFrame({{"s": texts, "x": np.arange({n} * 1.0)}})
del texts""",
    "NumPy array of objects": """
import numpy as np
value = np.array([f"text {{i}} of a row" for i in range({n})], dtype=object)""",
    "polars frame": """
import numpy as np, polars as pl
value = pl.DataFrame({{f"c{{i}}": np.random.default_rng(i).random(2 * {n}) for i in range(10)}})""",
    "xgboost model": """
import numpy as np, xgboost
x = np.random.default_rng(0).random(({n} // 100, 40))
value = xgboost.XGBClassifier(n_estimators=100, n_jobs=2).fit(x, x.sum(1) > 20)
del x""",
}
"""What a value is, and a cell that makes one of some size."""

PACKAGES = {
    "pandas column of objects": ["numpy", "pandas"],
    "NumPy array of objects": ["numpy"],
    "polars frame": ["numpy", "polars"],
    "xgboost model": ["numpy", "xgboost"],
}
"""What each of these cells imports."""


def one_column(folder: Path, quick: bool) -> list[Figure]:
    """One column changed of each of ten frames, and all that is stored in the end."""
    import numpy as np

    rows = 10_000 if quick else 100_000
    column = pickle_of("one column", np.random.default_rng(0).standard_normal(rows))
    notebook = Notebook(folder)
    notebook.run("import numpy as np, pandas as pd\ncolumns = [f'c{i}' for i in range(10)]")
    for n in range(N_FRAMES):
        values = f"np.random.default_rng({n}).standard_normal(({rows}, {N_COLUMNS}))"
        notebook.run(f"df{n} = pd.DataFrame({values}, columns=columns)")
    changed, pickled, trivial = [], [], []
    for n in range(N_FRAMES):
        cell = f"df{n}['c{n}'] = df{n}['c{n}'] * 2"
        changed.append(notebook.run(cell).around_s)
        frame = notebook.shell.user_ns[f"df{n}"]
        pickled.append(timed(lambda frame=frame: cloudpickle.dumps(frame)))
        notebook.wait()
        trivial.append(notebook.run(f"k = {n}").around_s)
        notebook.wait()
    needed = FLOAT_BYTES * rows * N_FRAMES * (N_COLUMNS + 1)
    name = f"{N_FRAMES} frames of {rows:,} rows"
    return [
        Figure(f"one column changed of one of {name}", "s", changed, floor=column),
        Figure("cloudpickle of that frame", "s", pickled),
        Figure(f"a trivial cell beside {name}", "s", trivial, floor=PYTHON),
        Figure(
            f"stored of {name} and a changed column of each / their bytes",
            "x",
            [notebook.stored_bytes() / needed],
            None if quick else STORED_AT_MOST,
        ),
    ]


def only_read(folder: Path, quick: bool) -> list[Figure]:
    """A cell that reads a large value, which stays as it is."""
    count, runs = (20_000, 3) if quick else (500_000, 7)
    notebook = Notebook(folder)
    figures = []
    for name, cell in READ.items():
        label = f"a cell that only reads a {name}"
        if absent := absences(label, PACKAGES[name]):
            figures += absent
            continue
        notebook.run(cell.format(n=count))
        notebook.run("k = id(value)")  # idle, nbckpt looks once at what it has kept
        read, pickled = [], []
        for n in range(runs):
            notebook.wait()
            read.append(notebook.run(f"k = id(value), {n}").around_s)
            value = notebook.shell.user_ns["value"]
            pickled.append(timed(lambda value=value: cloudpickle.dumps(value)))
            del value
        ratio = median(read) / median(pickled)
        figures += [
            Figure(label, "s", read, floor=PYTHON),
            Figure(f"cloudpickle of the {name}", "s", pickled),
            Figure(
                f"that cell / cloudpickle, {name}", "x", [ratio], None if quick else READ_AT_MOST
            ),
        ]
    return figures
