"""Fitted models: parameters by name, and what fitting made of them.

scikit-learn's estimators, PyTorch's modules, the boosters of XGBoost and LightGBM.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from nbckpt.reports.diff import arrays, nested_values, texts
from nbckpt.reports.diff.details import (
    Detail,
    Limits,
    Row,
    same,
)
from nbckpt.reports.diff.value_texts import told, told_apart
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.text.describe import type_name_of
from nbckpt.text.units import count_text
from nbckpt.types.adapter import Missing


def detail(before: Any, after: Any, limits: Limits) -> Detail | None:
    """Differences between two models of one type; None for other values."""
    if type_name_of(before) != type_name_of(after):
        return None
    if _is_module(before) and _is_module(after):
        return _of_modules(before, after, limits)
    if _is_booster(before) and _is_booster(after):
        return _of_boosters(before, after, limits)
    if _is_estimator(before) and _is_estimator(after):
        return _of_estimators(before, after, limits)
    return None


def _class(module: str, name: str) -> Any:
    return getattr(sys.modules.get(module), name, ())


def _is_module(value: object) -> bool:
    return isinstance(value, _class("torch.nn", "Module"))


def _is_booster(value: object) -> bool:
    kinds = _class("xgboost.core", "Booster"), _class("lightgbm.basic", "Booster")
    return any(isinstance(value, kind) for kind in kinds)


def _is_estimator(value: object) -> bool:
    return isinstance(value, _class("sklearn.base", "BaseEstimator"))


# -- PyTorch


def _of_modules(before: Any, after: Any, limits: Limits) -> Detail:
    old, new = before.state_dict(), after.state_dict()
    rows = [*_of_states(old, new, limits)]
    rows += _of_settings(dict(_settings(before)), dict(_settings(after)), limits)
    names = [n for n in old if n in new]
    n_weights = sum(r.path[1:] in old or r.path[1:] in new for r in rows)
    parts = [f"{n_weights} of {count_text(len(names), 'parameter')} changed"] * bool(n_weights)
    n_others = len(rows) - n_weights
    parts += [f"{count_text(n_others, 'setting')} changed"] * bool(n_others)
    return _detail(rows, "; ".join(parts), limits)


def _of_states(old: Any, new: Any, limits: Limits) -> Iterator[Row]:
    for name in [*old, *(n for n in new if n not in old)]:
        one, other = old.get(name, Missing), new.get(name, Missing)
        if one is Missing or other is Missing:
            yield Row(f".{name}", *("" if v is Missing else _shape(v) for v in (one, other)))
        else:
            found = arrays.detail(one, other, limits)
            if found is None or not found.is_same:
                how = found.summary if found else "cannot be compared"
                yield Row(f".{name}", _shape(one), f"{_shape(other)}: {how}")


def _shape(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if shape is None:
        return told(value)
    return f"{str(value.dtype).removeprefix('torch.')} {' x '.join(map(str, shape)) or 'scalar'}"


def _settings(module: Any) -> Iterator[tuple[str, object]]:
    """The plain attributes of a module and of those inside it, and what they are."""
    for path, part in module.named_modules():
        at = f".{path}" if path else ""
        yield f"{at} type" if at else "type", type_name_of(part)
        for name, value in vars(part).items():
            if not name.startswith("_") and isinstance(value, int | float | str | tuple):
                yield f"{at}.{name}", value


def _of_settings(old: dict[str, Any], new: dict[str, Any], limits: Limits) -> Iterator[Row]:
    for path in [*old, *(p for p in new if p not in old)]:
        one, other = old.get(path, Missing), new.get(path, Missing)
        if one is Missing or other is Missing:
            yield Row(path, *("" if v is Missing else told(v) for v in (one, other)))
        elif not nested_values.are_equal(one, other):
            yield Row(path, *told_apart(one, other, limits.characters))


# -- boosters


def _of_boosters(before: Any, after: Any, limits: Limits) -> Detail:
    if hasattr(before, "save_config"):  # XGBoost
        old, new = (_xgboost_told(b) for b in (before, after))
        is_same = bytes(before.save_raw("ubj")) == bytes(after.save_raw("ubj"))
    else:
        old, new = (_lightgbm_told(b) for b in (before, after))
        is_same = before.model_to_string() == after.model_to_string()
        if is_same:  # its text names the parameters; a restored booster knows them from there
            return same("model")
    found = nested_values.Walk(limits).run(old, new)
    rows = [*found.rows] if is_same else [*found.rows, Row("trees", "", "other trees")]
    return _detail(rows, "" if is_same else "other trees", limits, found.count - len(found.rows))


def _xgboost_told(booster: Any) -> dict[str, object]:
    config = json.loads(booster.save_config()).get("learner", {})
    return {"rounds": booster.num_boosted_rounds(), "config": config}


def _lightgbm_told(booster: Any) -> dict[str, object]:
    return {"rounds": booster.current_iteration(), "params": dict(booster.params)}


# -- scikit-learn

_SCORES = frozenset({"score", "scores", "loss", "inertia", "likelihood", "bound", "iter"})
"""Words in the names of attributes that say how well a fit went, or how long it took."""


def _of_estimators(before: Any, after: Any, limits: Limits) -> Detail:
    rows: list[Row] = []
    n_params = n_fitted = 0
    old, new = _parts(before), _parts(after)
    for name in [*old, *(n for n in new if n not in old)]:
        at = f".{name}" if name else ""
        one, other = old.get(name), new.get(name)
        if one is None or other is None:
            rows.append(Row(at, *("" if v is None else told(v) for v in (one, other))))
            n_params += 1
            continue
        params = list(_of_settings(_params(one, at), _params(other, at), limits))
        fitted = list(_of_fitted(_fitted(one), _fitted(other), at, limits))
        rows += [*params, *fitted]
        n_params, n_fitted = n_params + len(params), n_fitted + len(fitted)
    parts = [f"{count_text(n_params, 'parameter')} changed"] * bool(n_params)
    parts += [f"{count_text(n_fitted, 'fitted attribute')} changed"] * bool(n_fitted)
    return _detail(rows, "; ".join(parts), limits)


def _parts(model: Any) -> dict[str, Any]:
    """The estimator, and those among its parameters, by name; those of a pipeline too."""
    params = _params_of(model, deep=True)
    return {"": model, **{str(n): v for n, v in params.items() if _is_estimator(v)}}


def _params_of(model: Any, *, deep: bool = False) -> dict[str, Any]:
    try:
        params: dict[str, Any] = model.get_params(deep=deep)
    except user_code_errors():  # an estimator of the user's, with a constructor of its own ways
        return {}
    return params


def _params(model: Any, at: str) -> dict[str, Any]:
    params = _params_of(model).items()
    return {f"{at}.{n}": v for n, v in params if not _holds_estimators(v)}


def _holds_estimators(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_holds_estimators, value))
    return _is_estimator(value)


def _fitted(model: Any) -> dict[str, Any]:
    """Attributes that fitting made: all that are not parameters; how well it went comes first."""
    params = _params_of(model)
    names = sorted((n for n in vars(model) if n not in params), key=_is_no_score)
    return {name: vars(model)[name] for name in names}


def _is_no_score(name: str) -> bool:
    return not any(part in _SCORES for part in name.strip("_").split("_"))


def _of_fitted(old: dict[str, Any], new: dict[str, Any], at: str, limits: Limits) -> Iterator[Row]:
    for name in [*old, *(n for n in new if n not in old)]:
        one, other = old.get(name, Missing), new.get(name, Missing)
        path = f"{at}.{name}"
        if one is Missing or other is Missing:
            yield Row(path, *("" if v is Missing else told(v) for v in (one, other)))
            continue
        found = _part_detail(one, other, limits)
        if found is None or found.is_same:
            continue
        if found.kind in ("value", "text"):
            yield Row(path, *told_apart(one, other, limits.characters))
        else:
            yield Row(path, _kind(one), f"{_kind(other)}: {found.summary}")


def _kind(value: Any) -> str:
    """An array's type and shape; of anything else its type."""
    return _shape(value) if hasattr(value, "dtype") else type_name_of(value)


def _part_detail(one: Any, other: Any, limits: Limits) -> Detail | None:
    """Differences between two parts of a model; None if they are equal."""
    for family in (arrays.detail, detail, texts.detail, nested_values.detail):
        if found := family(one, other, limits):
            return found
    if nested_values.are_equal(one, other):
        return None
    return Detail("value", f"{told(one)} → {told(other)}")


def _detail(rows: list[Row], summary: str, limits: Limits, more: int = 0) -> Detail:
    if not rows and not summary and not more:
        return same("model")
    shown = tuple(rows[: limits.rows])
    told_of = summary or f"{count_text(len(rows), 'setting')} changed"
    return Detail("model", told_of, shown, more=more + len(rows) - len(shown))
