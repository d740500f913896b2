"""Every estimator of scikit-learn, fitted to a small data set that suits it."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np

_TEXTS = ["the cat sat", "on the mat", "a dog", "dogs and cats sat down"] * 3

_ARGUMENTS: dict[str, dict[str, Any]] = {
    "CountVectorizer": {},
    "FeatureHasher": {"n_features": 8, "input_type": "string"},
    "GaussianRandomProjection": {"n_components": 2},
    "HashingVectorizer": {"n_features": 16},
    "SparseCoder": {"dictionary": np.eye(5)},
    "SparseRandomProjection": {"n_components": 2},
    "PatchExtractor": {"patch_size": (2, 2)},
    "BernoulliRBM": {"n_components": 2, "n_iter": 2},
    "SpectralBiclustering": {"n_clusters": 2, "n_init": 1},
    "SpectralCoclustering": {"n_clusters": 2, "n_init": 1},
}


def fitted(name: str) -> Any:
    """An estimator of the class `name`, fitted."""
    from sklearn.utils import all_estimators  # type: ignore[import-untyped]

    made = made_by(dict(all_estimators())[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _without_chance(_fit(made))


def _without_chance(made: Any) -> Any:
    """A fitted estimator without what is another in each process: times, and an `id`."""
    for name, values in getattr(made, "cv_results_", {}).items():
        if name.endswith("_time"):
            values[:] = 0
    made.__dict__.update({"refit_time_": 0.0} if hasattr(made, "refit_time_") else {})
    made.__dict__.update({"_stop_words_id": 0} if hasattr(made, "_stop_words_id") else {})
    return made


def made_by(kind: type) -> Any:
    """An estimator of this class, of a size that is quick to fit."""
    if kind.__name__ == "FrozenEstimator":
        from sklearn.linear_model import Ridge  # type: ignore[import-untyped]

        return kind(Ridge().fit(np.eye(5), range(5)))
    known = _ARGUMENTS.get(kind.__name__)
    made = kind(**known) if known is not None else _of_its_tests(kind)
    settings = set(inspect.signature(kind).parameters)
    if kind.__name__ == "TSNE":
        return kind(max_iter=250, perplexity=5, n_components=2, random_state=0, init="random")
    small = {"n_estimators": 3, "max_iter": 5, "random_state": 0, "n_jobs": None, "n_init": 1}
    made.set_params(**{k: v for k, v in small.items() if k in settings & set(made.get_params())})
    return made


def _of_its_tests(kind: type) -> Any:
    """As scikit-learn's own tests make it."""
    try:
        from sklearn.utils._test_common import (  # type: ignore[import-untyped]
            instance_generator,
        )
    except ImportError:
        return _of_older_tests(kind)
    return next(iter(instance_generator._construct_instances(kind)))


def _of_older_tests(kind: type) -> Any:
    """As the tests of scikit-learn 1.5 make it, and what they leave out as those of 1.6 do."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]
    from sklearn.utils import estimator_checks

    scaler, model = ("scaler", StandardScaler()), ("est", LogisticRegression())
    arguments: dict[str, tuple[Any, ...]] = {
        "ColumnTransformer": ([("scaler", StandardScaler(), [0, 1])],),
        "FeatureUnion": ([scaler],),
        "GridSearchCV": (LogisticRegression(), {"C": [0.1, 1.0]}),
        "Pipeline": ([scaler, model],),
        "RandomizedSearchCV": (LogisticRegression(), {"C": [0.1, 1.0]}),
    }
    if kind.__name__ in arguments:
        return kind(*arguments[kind.__name__])
    return estimator_checks._construct_instance(kind)


def _fit(made: Any) -> Any:
    from sklearn.base import is_regressor  # type: ignore[import-untyped]

    name = type(made).__name__
    random = np.random.default_rng(0)
    X = random.random((40, 5)) + 0.1
    y = (X[:, 0] > X[:, 1]).astype(int)
    special = {
        "CountVectorizer": (_TEXTS,), "TfidfVectorizer": (_TEXTS,), "HashingVectorizer": (_TEXTS,),
        "FeatureHasher": ([["a", "b"], ["c"]],), "DictVectorizer": ([{"a": 1}, {"b": "x"}],),
        "LabelEncoder": (["b", "a", "b"],), "LabelBinarizer": (["b", "a", "c"],),
        "MultiLabelBinarizer": ([["a"], ["a", "b"]],), "IsotonicRegression": (X[:, 0], X[:, 1]),
        "PatchExtractor": (random.random((3, 6, 6)),),
    }  # fmt: skip
    if name in special:
        return made.fit(*special[name])
    is_pairwise, has_several_targets = _tags_of(made)
    if is_pairwise:
        X = X @ X.T
    if has_several_targets:
        y = np.column_stack([y, 1 - y])
    elif is_regressor(made):
        y = X[:, 0] + X[:, 1]
    if name.startswith(("MultiOutput", "MultiTask", "RegressorChain", "ClassifierChain")):
        return made.fit(X, np.column_stack([y, y[::-1]]))
    if name.startswith(("CCA", "PLS")):
        return made.fit(X, X[:, :2])
    return made.fit(X, y)


def _tags_of(made: Any) -> tuple[bool, bool]:
    """Whether an estimator wants distances of pairs, and whether only several targets."""
    if not hasattr(made, "__sklearn_tags__"):  # scikit-learn 1.5
        older = made._get_tags()
        return older["pairwise"], older["multioutput_only"]
    tags = made.__sklearn_tags__()
    target = tags.target_tags
    return tags.input_tags.pairwise, target.multi_output and not target.single_output


def answers(made: Any) -> dict[str, Any]:
    """What a fitted estimator says of a data set, by method."""
    X = np.random.default_rng(1).random((40, 5)) + 0.1
    asked = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method in (
            "predict",
            "predict_proba",
            "decision_function",
            "transform",
            "score_samples",
        ):
            try:
                asked[method] = getattr(made, method)(X)
            except Exception as error:  # it has no such method, or wants other data
                asked[method] = type(error).__name__
    return asked
