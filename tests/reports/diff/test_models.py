"""What is told of two models: parameters by name, and what fitting made of them."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbckpt.reports.diff.details import Detail, Limits
from nbckpt.reports.diff.families import detail
from tests.running import environment

X = np.arange(8.0).reshape(8, 1)
Y = [0, 0, 1, 1, 0, 1, 0, 1]


def told(before: object, after: object) -> Detail:
    found = detail(before, after, Limits())
    assert found.kind == "model"
    return found


def paths(found: Detail) -> set[str]:
    return {row.path for row in found.rows}


@pytest.mark.slow
def test_of_an_estimator_parameters_and_fitted_attributes_are_told() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    before = linear_model.LogisticRegression(C=1.0).fit(X, Y)
    after = linear_model.LogisticRegression(C=9.0).fit(X, Y)

    found = told(before, after)

    assert {".C", ".coef_", ".intercept_"} <= paths(found)
    assert next(row for row in found.rows if row.path == ".C")[1:] == ("1.0", "9.0")
    assert "largest difference" in next(r.after for r in found.rows if r.path == ".coef_")
    assert told(before, copy.deepcopy(before)).is_same
    assert ".coef_" in paths(told(linear_model.LogisticRegression(), after))


@pytest.mark.slow
def test_how_well_a_fit_went_is_told_before_all_that_it_made() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    many, half = np.arange(200.0).reshape(-1, 1), np.arange(200) // 50 % 2
    before, after = (
        ensemble.RandomForestClassifier(60, max_depth=d, oob_score=True, random_state=0).fit(
            many, half
        )
        for d in (1, 3)
    )

    found = told(before, after)

    fitted = [row.path for row in found.rows if row.path.endswith("_")]
    assert found.rows[0] == (".max_depth", "1", "3")
    assert fitted[:1] == [".oob_score_"]


@pytest.mark.slow
def test_the_steps_of_a_pipeline_are_looked_into() -> None:
    pipeline = pytest.importorskip("sklearn.pipeline")
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import StandardScaler

    before = pipeline.make_pipeline(StandardScaler(), Ridge(alpha=1.0)).fit(X, Y)
    after = pipeline.make_pipeline(StandardScaler(), Ridge(alpha=5.0)).fit(X, Y)

    found = told(before, after)

    assert {".ridge.alpha", ".ridge.coef_"} <= paths(found)
    assert told(before, copy.deepcopy(before)).is_same


def test_the_trees_of_a_forest_are_looked_into() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    before = ensemble.RandomForestClassifier(3, random_state=0).fit(X, Y)
    after = copy.deepcopy(before)

    assert told(before, after).is_same
    after.estimators_[1].tree_.threshold[:] += 1
    assert paths(told(before, after)) == {".estimators_"}


def test_of_a_module_parameters_and_settings_are_told() -> None:
    torch = pytest.importorskip("torch")
    before = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Dropout(0.5))
    after = copy.deepcopy(before)
    assert told(before, after).is_same
    with torch.no_grad():
        after[0].weight[1, 2] += 3
    after[1].p = 0.1

    found = told(before, after)

    assert found.summary == "1 of 2 parameters changed; 1 setting changed"
    weight, p = found.rows
    assert weight.path == ".0.weight"
    assert "1 of 6 elements differ (16.7 %), largest difference 3 at [1, 2]" in weight.after
    assert tuple(p) == (".1.p", "0.5", "0.1")


@pytest.mark.parametrize(
    ("package", "name"), [("xgboost", "XGBClassifier"), ("lightgbm", "LGBMClassifier")]
)
def test_boosters_are_told_by_parameters_and_trees(package: str, name: str) -> None:
    module: Any = pytest.importorskip(package)
    quiet = {"verbose": -1, "min_child_samples": 1} if package == "lightgbm" else {}
    before = getattr(module, name)(n_estimators=3, **quiet).fit(X, Y)
    after = getattr(module, name)(n_estimators=5, **quiet).fit(X, Y)

    assert {".n_estimators", "._Booster"} <= paths(told(before, after))
    boosters = [getattr(m, "get_booster", lambda m=m: m.booster_)() for m in (before, after)]
    assert "['rounds']" in paths(told(*boosters))
    assert told(before, copy.deepcopy(before)).is_same


@pytest.mark.slow
def test_comparing_plain_values_imports_no_heavy_package(tmp_path: Path) -> None:
    code = f"""
import sys, nbckpt
from nbckpt.reports.diff import compare
x = {{"lr": 0.1, "name": "a b c", "n": [1, 2]}}
session = nbckpt.open({str(tmp_path / "s")!r}, globals())
session.checkpoint("a")
x["lr"] = 0.2
found = compare(session, "a")
assert "x['lr']" in found.text() and found._repr_html_() and found.as_record()
print(*sorted({{"numpy", "pandas", "polars", "pyarrow", "torch", "sklearn", "IPython"}} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment()
    )

    assert done.stdout.strip() == ""
