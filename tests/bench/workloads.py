"""The notebooks that are timed: fixed lists of cells, with fixed seeds.

Scales: `s` takes seconds, `m` is the everyday size, `l` has gigabytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SCALES = ("s", "m", "l")


@dataclass(frozen=True, slots=True)
class Workload:
    """One notebook.

    Attributes
    ----------
    setup
        Cells at its beginning that only load or make the data.
    invariants
        Expressions over the variables that hold in every state that is gone back to.
    preloads
        Modules that a fresh process imports before its time is taken, as a user's first cell does.
    """

    name: str
    about: str
    setup: tuple[str, ...]
    work: tuple[str, ...]
    invariants: tuple[str, ...] = ()
    preloads: tuple[str, ...] = ("numpy", "pandas")

    @property
    def cells(self) -> tuple[str, ...]:
        """All of them."""
        return self.setup + self.work

    def targets(self) -> dict[str, int]:
        """Cells to go to, in this order."""
        last, begin = len(self.cells) - 1, len(self.setup)
        half = begin + (last - begin) // 2
        return {"undo one": last - 1, "half way": half, "to the setup": begin - 1, "last": last}


def pandas_wide(scale: str) -> Workload:
    """Wide frames, of which a cell touches a column."""
    rows = {"s": 1_000, "m": 100_000, "l": 1_000_000}[scale]
    begin = (
        "import numpy as np, pandas as pd\nrng = np.random.default_rng(0)\n"
        "cols = [f'c{i}' for i in range(10)]"
    )
    frame = f"pd.DataFrame(rng.standard_normal(({rows}, 10)), columns=cols)"
    work = (
        "df0['c0'] = df0['c0'] * 2",
        "df1['new'] = df1['c1'] + df1['c2']",
        "summary = df2.describe()",
        "df3.loc[df3['c3'] < 0, 'c3'] = 0.0",
        "top = df4.nlargest(100, 'c4')",
        "df5 = df5.drop(columns=['c5'])",
        "df6['bucket'] = pd.cut(df6['c6'], 5, labels=False)",
        "agg = df6.groupby('bucket')['c0'].mean()",
        "df7.iloc[0, 0] = 42.0",
        "df8['c8'] = df8['c8'].clip(-1, 1)",
        "joined = df0.head(1000).join(df1.head(1000)['new'])",
        "means = {k: float(v['c1'].mean()) for k, v in {'df0': df0, 'df9': df9}.items()}",
    )
    about = f"10 frames of {rows:,} x 10 float64; a cell touches one column or one frame"
    return Workload("pandas", about, (begin, *(f"df{i} = {frame}" for i in range(10))), work)


def sklearn_fit(scale: str) -> Workload:
    """Models that are fitted one after the other."""
    rows = {"s": 300, "m": 5_000, "l": 20_000}[scale]
    trees = {"s": 10, "m": 100, "l": 200}[scale]
    setup = (
        "import numpy as np\nfrom sklearn.datasets import make_classification\nX, y = "
        f"make_classification(n_samples={rows}, n_features=40, n_informative=12, random_state=0)",
        "from sklearn.model_selection import train_test_split\n"
        "X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)",
    )
    work = (
        "from sklearn.preprocessing import StandardScaler\nscaler = StandardScaler().fit(X_train)",
        "Xs_train, Xs_test = scaler.transform(X_train), scaler.transform(X_test)",
        "from sklearn.linear_model import LogisticRegression\n"
        "logreg = LogisticRegression(max_iter=500).fit(Xs_train, y_train)",
        "scores = {'logreg': logreg.score(Xs_test, y_test)}",
        "from sklearn.decomposition import PCA\npca = PCA(10, random_state=0).fit(Xs_train)",
        "from sklearn.ensemble import RandomForestClassifier\n"
        f"forest = RandomForestClassifier({trees}, random_state=0).fit(X_train, y_train)",
        "scores['forest'] = forest.score(X_test, y_test)",
        "from sklearn.cluster import KMeans\n"
        "kmeans = KMeans(8, n_init=3, random_state=0).fit(Xs_train)",
        "from sklearn.pipeline import make_pipeline\npipe = make_pipeline(StandardScaler(), "
        "PCA(10, random_state=0), LogisticRegression(max_iter=500)).fit(X_train, y_train)",
        "scores['pipe'] = pipe.score(X_test, y_test)",
        "from sklearn.neighbors import KNeighborsClassifier\n"
        "knn = KNeighborsClassifier().fit(Xs_train, y_train)",
        "importances = np.argsort(forest.feature_importances_)[::-1]",
        "logreg.set_params(C=0.1).fit(Xs_train, y_train)",
        "best = max(scores, key=scores.get)",
    )
    about = f"{rows:,} x 40; scaler, linear, forest of {trees}, PCA, k-means, pipeline, neighbours"
    preloads = ("numpy", "pandas", "sklearn.ensemble")
    return Workload("sklearn", about, setup, work, preloads=preloads)


def small_objects(scale: str) -> Workload:
    """Large graphs of small objects, of which one changes."""
    count = {"s": 1_000, "m": 100_000, "l": 1_000_000}[scale]
    setup = (
        f"table = {{i: (i, str(i), i * 0.5) for i in range({count})}}",
        f"rows = [{{'id': i, 'tag': f't{{i % 97}}'}} for i in range({count})]",
    )
    work = [
        cell
        for i in range(4)
        for cell in (
            f"table[{i * 7}] = ('changed', {i})",
            f"rows[{i * 11}]['tag'] = 'edited{i}'",
            f"count{i} = len(table)",
        )
    ]
    about = f"a dict and a list of {count:,} small objects each; a cell changes one entry"
    return Workload("small-objects", about, setup, tuple(work))


def numpy_big(scale: str) -> Workload:
    """Large arrays that cells read, or change in place."""
    count = {"s": 10_000, "m": 2_000_000, "l": 16_000_000}[scale]
    array = "np.random.default_rng({0}).standard_normal({1})"
    setup = tuple(f"a{i} = {array.format(i, count)}" for i in range(8))
    work = (
        "a0[0] = 1.0",
        "s = float(a1.sum())",
        "a2[123] = 7.0",
        "t = a3[:10].copy()",
        "a4 *= 1.0001",
        "u = float(a5.max())",
        "a0[1] = 2.0",
        "w = [float(a6[0]), float(a7[0])]",
    )
    about = f"8 arrays, {count * 64 / 1e9:.2f} GB in all; a cell reads one or changes an element"
    return Workload("numpy", about, ("import numpy as np", *setup), work)


def llm_log(scale: str) -> Workload:
    """A conversation that grows by a message in each cell."""
    count = {"s": 30, "m": 400, "l": 2_000}[scale]
    setup = (
        "import random\n_rng = random.Random(0)\n"
        "def fake_reply(i):\n"
        "    r = random.Random(i)\n"
        "    words = ['alpha', 'beta', 'gamma', 'delta', 'token', 'model']\n"
        "    return ' '.join(r.choice(words) + str(r.randrange(1000)) for _ in range(120))\n"
        "messages = [{'role': 'system', 'content': 'You are a careful analyst.'}]\n"
        "usage = {'calls': 0, 'tokens': 0}"
    )
    work = tuple(
        f"messages.append({{'role': 'assistant', 'content': fake_reply({i}), "
        f"'meta': {{'id': {i}, 'model': 'm', 'logprobs': [0.1, 0.2, 0.3]}}}})\n"
        "usage['calls'] += 1; usage['tokens'] += 240"
        for i in range(count)
    )
    return Workload(
        "llm", f"a list of messages of 1 kB; {count:,} cells append one", (setup,), work
    )


def shared_refs(scale: str) -> Workload:
    """A model and its optimiser that share arrays; lists that hold each other."""
    count = {"s": 100, "m": 200_000, "l": 2_000_000}[scale]
    setup = (
        "import numpy as np\n"
        "class Layer:\n    def __init__(self, n, seed):\n"
        "        self.w = np.random.default_rng(seed).standard_normal(n)\n"
        "class Model:\n    def __init__(self, n):\n"
        "        self.layers = [Layer(n, s) for s in range(4)]\n"
        "    def parameters(self):\n        return [l.w for l in self.layers]\n"
        "class Adam:\n    def __init__(self, params):\n        self.params = params\n"
        "        self.m = [np.zeros_like(p) for p in params]\n        self.t = 0\n"
        "    def step(self):\n        self.t += 1\n"
        "        for p, m in zip(self.params, self.m):\n"
        "            m *= 0.9; m += 0.01 * p; p -= 0.001 * m",
        f"model = Model({count})\nopt = Adam(model.parameters())",
        "a = [1, 2, 3]\nb = [a, {'a': a}]\nc = {'b': b, 'first': model.layers[0]}",
    )
    loss = "float(sum((p ** 2).mean() for p in model.parameters()))"
    work = [c for i in range(6) for c in ("opt.step()", f"a.append({i})", f"loss{i} = {loss}")]
    invariants = (
        "b[0] is a",
        "b[1]['a'] is a",
        "c['b'] is b",
        "c['first'] is model.layers[0]",
        "all(p is l.w for p, l in zip(opt.params, model.layers))",
        "isinstance(model, Model)",
    )
    about = f"lists that hold each other; model and optimiser share 4 arrays of {count:,} float64"
    return Workload("shared-refs", about, setup, tuple(work), invariants)


WORKLOADS: dict[str, Callable[[str], Workload]] = {
    "pandas": pandas_wide,
    "numpy": numpy_big,
    "sklearn": sklearn_fit,
    "llm": llm_log,
    "shared-refs": shared_refs,
    "small-objects": small_objects,
}


def from_notebook(path: Path) -> Workload:
    """A real notebook's code cells, without those that need a screen, run in its own folder."""
    place = str(path.resolve().parent)
    setup = f"import os, matplotlib; matplotlib.use('agg'); os.chdir({place!r})"
    sources = [c["source"] for c in json.loads(path.read_text())["cells"] if _is_code(c)]
    cells = [_without_screens("".join(source)) for source in sources]
    work = tuple(cell for cell in cells if cell.strip())
    return Workload(path.stem, f"{path.name}: {len(work)} cells", (setup,), work)


def workload_named(name: str, scale: str) -> Workload:
    """One of `WORKLOADS`, or a notebook by its path."""
    if name.endswith(".ipynb"):
        return from_notebook(Path(name))
    return WORKLOADS[name](scale)


def _is_code(cell: dict[str, str]) -> bool:
    return cell["cell_type"] == "code"


def _without_screens(source: str) -> str:
    screens = ("%matplotlib", "%pylab")
    return "\n".join(x for x in source.splitlines() if not x.lstrip().startswith(screens))
