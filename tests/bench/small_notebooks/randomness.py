"""Random numbers: the same are drawn again after a restore."""

from __future__ import annotations

from tests.bench.small_notebooks.notebook import Category

RANDOMNESS = Category("randomness")

GENERATORS = {
    "random": ("import random\nrandom.seed(1)", "random.random()"),
    "random-instance": ("import random\nr = random.Random(1)", "r.random()"),
    "random-shuffle": ("import random\nrandom.seed(1); xs = list(range(9))", "(random.shuffle(xs), xs[0])[1]"),
    "random-choice": ("import random\nrandom.seed(1)", "random.choice('abcdef')"),
    "random-gauss": ("import random\nrandom.seed(1)", "random.gauss(0, 1)"),
    "random-from-import": ("from random import seed, randint\nseed(1)", "randint(0, 10 ** 9)"),
    "numpy-legacy": ("import numpy as np\nnp.random.seed(1)", "np.random.rand()"),
    "numpy-legacy-normal": ("import numpy as np\nnp.random.seed(1)", "np.random.normal()"),
    "numpy-legacy-from": ("from numpy.random import seed, rand\nseed(1)", "rand()"),
    "numpy-random-state": ("import numpy as np\nr = np.random.RandomState(1)", "r.rand()"),
    "numpy-generator": ("import numpy as np\nr = np.random.default_rng(1)", "r.random()"),
    "numpy-spawned": ("import numpy as np\nr = np.random.default_rng(1)", "r.spawn(1)[0].random()"),
    "numpy-bit-generator": ("import numpy as np\nb = np.random.PCG64(1); r = np.random.Generator(b)", "(b.advance(1), r.random())[1]"),
    "numpy-seed-sequence": ("import numpy as np\ns = np.random.SeedSequence(1)", "int(s.spawn(1)[0].generate_state(1)[0])"),
    "scipy-distribution": ("import numpy as np, scipy.stats as st\nnp.random.seed(1)", "float(st.norm.rvs())"),
    "pandas-sample": ("import numpy as np, pandas as pd\nnp.random.seed(1); df = pd.DataFrame({'a': range(99)})", "int(df.sample(1).a.iloc[0])"),
    "polars-sample": ("import polars as pl\npl.set_random_seed(1); df = pl.DataFrame({'a': range(99)})", "df.sample(1)['a'].item()"),
    "sklearn-split": ("import numpy as np\nfrom sklearn.model_selection import train_test_split\nnp.random.seed(1)", "int(train_test_split(range(99))[0][0])"),
    "sklearn-random-state": ("import numpy as np\nfrom sklearn.utils import check_random_state\nr = check_random_state(1)", "float(r.rand())"),
    "torch": ("import torch\n_t = torch.manual_seed(1)", "torch.rand(1).item()"),
    "torch-generator": ("import torch\ng = torch.Generator().manual_seed(1)", "torch.rand(1, generator=g).item()"),
    "torch-init": ("import torch\n_t = torch.manual_seed(1)", "torch.nn.Linear(1, 1).weight.item()"),
    "torch-dropout": ("import torch\n_t = torch.manual_seed(1)", "torch.nn.functional.dropout(torch.ones(50)).sum().item()"),
    "torch-permutation": ("import torch\n_t = torch.manual_seed(1)", "torch.randperm(99)[0].item()"),
    "networkx": ("import random, networkx as nx\nrandom.seed(1)", "sorted(nx.gnp_random_graph(6, 0.5).edges)[0]"),
    "sympy": ("import random, sympy\nfrom sympy.core import random as sr\nsr.seed(1)", "sr.random()"),
    "in-class": ("import random\nclass Dice:\n    def __init__(s): s.r = random.Random(1)\n    def roll(s): return s.r.randint(1, 10 ** 6)\nd = Dice()", "d.roll()"),
    "in-closure": ("import random\ndef mk():\n    r = random.Random(1)\n    return lambda: r.random()\nf = mk()", "f()"),
    "in-generator": ("import random\ndef g():\n    r = random.Random(1)\n    while True: yield r.random()\nit = g()", "next(it)"),
    "in-function": ("import random\nrandom.seed(1)\ndef f(): return random.random()", "f()"),
    "state-kept": ("import random\nrandom.seed(1); st = random.getstate()", "(random.random(), random.setstate(st), random.random())"),
    "numpy-state-kept": ("import numpy as np\nnp.random.seed(1); st = np.random.get_state()", "(np.random.rand(), np.random.set_state(st), np.random.rand())"),
    "tempfile-names-free": ("import random\nrandom.seed(1)", "random.getrandbits(64)"),
    "duckdb": ("import duckdb\ncon = duckdb.connect()\n_c = con.execute('select setseed(0.5)')", "con.execute('select random()').fetchone()[0]"),
}  # fmt: skip
for _name, (_seed, _draw) in GENERATORS.items():
    _cells = f"{_seed}\n---\na = {_draw}\n---\nb = {_draw}"
    RANDOMNESS.unchanged(f"unchanged-{_name}", f"{_cells}\n---\ny = {_draw}", "(a, b, y)")
    RANDOMNESS.edit(
        f"drawn-after-{_name}",
        f"{_cells}\n---\nedit = 1\ny = {_draw}",
        "edit = 1",
        "edit = 2",
        "(a, b, y)",
    )
    RANDOMNESS.edit(
        f"more-drawn-{_name}",
        f"{_seed}\n---\na = {_draw}\n---\ny = {_draw}",
        f"a = {_draw}",
        f"a = {_draw}; a = {_draw}",
        "(a, y)",
    )
