"""A notebook whose kernel is killed at random instants, until it has run to its end.

The long form (``pytest -m long tests/steps/test_kill.py``) kills 200 times.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from nbckpt.storage.check import check
from nbckpt.storage.store import Store
from nbckpt.timeline.timeline import Timeline
from tests.kernels import Kernel, KernelDiedError

RAN = "open('effects.txt', 'a').write('{name}\\n')\n"

CELLS = {
    "setup": "import random, numpy as np, pandas as pd\nrandom.seed(3); np.random.seed(3)",
    "load": "from sklearn.datasets import load_wine\nwine = load_wine(as_frame=True)\n"
    "df = wine.frame\nnames = list(wine.target_names)",
    "helpers": "class Score:\n    def __init__(self, value, of):\n        self.value, self.of = value, of\n"
    "    def better(self, other):\n        return self.value > other.value\n"
    "def share(frame, column):\n    return frame[column] / frame[column].sum()",
    "clean": "df['share'] = share(df, 'alcohol')\ndf = df[df['ash'] > 1.5].reset_index(drop=True)",
    "split": "from sklearn.model_selection import train_test_split\n"
    "X, y = df.drop(columns='target'), df['target']\n"
    "X_train, X_test, y_train, y_test = train_test_split(X, y)",
    "scale": "from sklearn.preprocessing import StandardScaler\nscaler = StandardScaler()\n"
    "scaled = scaler.fit_transform(X_train)\nfirst = scaled[:5]",
    "fit": "from sklearn.linear_model import LogisticRegression\n"
    "model = LogisticRegression(max_iter=500).fit(scaled, y_train)",
    "forest": "from sklearn.ensemble import RandomForestClassifier\n"
    "forest = RandomForestClassifier(20).fit(scaled, y_train)\nmodels = {'line': model, 'forest': forest}",
    "score": "scores = {n: Score(m.score(scaler.transform(X_test), y_test), m)\n"
    "          for n, m in models.items()}\nbest = max(scores, key=lambda n: scores[n].value)",
    "words": "words = [w for n in names for w in (n * 3).split('_')]\n"
    "index = {}\nfor i, w in enumerate(words):\n    index.setdefault(w, []).append(i)\nindex['all'] = index",
    "draw": "drawn = [random.random() for _ in range(3)] + list(np.random.rand(3))",
    "report": "lines = [f'{n}: {s.value:.3f}' for n, s in scores.items()]\nprint('\\n'.join(lines))",
}

STATE = """
import hashlib as _h, pickle as _p
def _state():
    parts = [df, names, X_train, scaled, first, model.coef_, forest.predict_proba(scaled), best,
             sorted((n, s.value) for n, s in scores.items()), words, sorted(index), drawn, lines]
    flat = [p.to_numpy().tobytes() + str(list(p.dtypes)).encode() if hasattr(p, 'dtypes') else
            p.tobytes() if hasattr(p, 'tobytes') else repr(p).encode() for p in parts]
    links = [models['line'] is model, scores['line'].of is model, index['all'] is index,
             np.shares_memory(first, scaled), isinstance(scores['line'], Score)]
    return _h.sha256(b'|'.join(flat)).hexdigest()[:16], links
"""


def cell(name: str) -> str:
    """A checkpointed cell that leaves a trace in a file when it really runs."""
    return f"%%checkpoint {name}\n" + RAN.format(name=name) + CELLS[name]


@dataclass
class Run:
    """One notebook from its beginning to its end, over as many kernels as it takes."""

    folder: Path
    finished: dict[str, int] = field(default_factory=dict)
    kills: int = 0

    def effects(self) -> Counter[str]:
        path = self.folder / "effects.txt"
        return Counter(path.read_text().split()) if path.exists() else Counter()

    def attempt(self, kill_after_s: float | None) -> str | None:
        """Run all cells; the final state, or None if the kernel was killed on the way."""
        with Kernel(self.folder) as kernel:
            kernel.run("%load_ext nbckpt")
            timer = threading.Timer(kill_after_s or 1e9, kernel.kill)
            timer.daemon = True
            timer.start()
            try:
                for name in CELLS:
                    ran = kernel.run(cell(name), cell_id=f"id-{name}")
                    assert ran.ok, ran.error
                    assert "NOT kept" not in ran.stderr, ran.stderr
                    self.finished.setdefault(name, self.effects()[name])
                timer.cancel()
                kernel.run(STATE)
                return kernel.value("_state()")
            except KernelDiedError:
                self.kills += 1
                return None
            finally:
                timer.cancel()

    def check(self) -> None:
        """What must hold after every death."""
        store = Store.open(self.folder / ".nbckpt", create=False)
        timeline = Timeline()
        for record in store.refresh():
            timeline.apply(record)
        for name in self.finished:
            assert any(c.state == "done" for c in timeline.named(name)), f"{name} is lost"
        assert check(store.path).ok, check(store.path).problems
        store.close()
        effects = self.effects()
        again = {n: effects[n] for n, count in self.finished.items() if effects[n] != count}
        assert not again, f"finished cells ran again: {again}"


def kill_until_done(folder: Path, chance: random.Random, span_s: float) -> tuple[str, int]:
    """The state at the end of a notebook that was killed on its way, and how often."""
    folder.mkdir()
    run = Run(folder)
    while True:
        # Longer from death to death: on a machine that has become slower it must end as well.
        state = run.attempt(chance.uniform(0, span_s * (1 + run.kills / 5)))
        run.check()
        if state is not None:
            return state, run.kills


def undisturbed(folder: Path) -> tuple[str, float]:
    """The state of a run that nobody killed, and how long its cells took."""
    folder.mkdir()
    began = time.monotonic()
    state = Run(folder).attempt(None)
    assert state is not None
    return state, time.monotonic() - began - 1.5


def killed_at_least(times: int, folder: Path, seed: int) -> None:
    expected, span_s = undisturbed(folder / "undisturbed")
    chance, kills, runs = random.Random(seed), 0, 0
    while kills < times:
        state, more = kill_until_done(folder / f"run-{runs}", chance, span_s)
        assert state == expected
        kills, runs = kills + more, runs + 1
        print(f"{kills} kills in {runs} notebooks")


@pytest.mark.slow
def test_a_killed_notebook_ends_like_an_undisturbed_one(tmp_path: Path) -> None:
    killed_at_least(6, tmp_path, seed=20)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_notebook_killed_two_hundred_times_ends_like_an_undisturbed_one(tmp_path: Path) -> None:
    killed_at_least(200, tmp_path, seed=21)
