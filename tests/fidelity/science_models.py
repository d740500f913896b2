"""XGBoost, LightGBM, statsmodels and spaCy."""

from __future__ import annotations

from tests.fidelity.cases import Case

TITLE = "XGBoost, LightGBM, statsmodels, spaCy"

_DATA = """
import numpy as np
X = np.random.default_rng(0).random((60, 4))
y = (X[:, 0] > X[:, 1]).astype(int)
"""

_XGB = _DATA + "import xgboost as xgb\n"
_LGB = _DATA + "import lightgbm as lgb\n"
_SM = _DATA + "import statsmodels.api as sm\n"

_PREDICTS = "same(x.predict(new['X']), y.predict(old['X']))"

_BOOSTING = (
    Case(
        "`xgboost.Booster`",
        _XGB + "x = xgb.train({'max_depth': 2, 'nthread': 1}, xgb.DMatrix(X, y), 3)\n"
        "x.set_attr(mine='kept')",
        check="import xgboost as xgb\nsame(x, y)\nassert x.attr('mine') == 'kept'\n"
        "same(x.predict(xgb.DMatrix(new['X'])), y.predict(xgb.DMatrix(old['X'])))",
        needs="xgboost",
    ),
    *(
        Case(
            f"`xgboost.{name}`",
            f"{_XGB}x = xgb.{name}(n_estimators=3, n_jobs=1).fit(X, y)",
            check=f"{_PREDICTS}\nsame(x.get_params(), y.get_params())\n"
            "same(x.get_booster(), y.get_booster())",
            needs="xgboost sklearn",
        )
        for name in ("XGBClassifier", "XGBRegressor", "XGBRFClassifier", "XGBRFRegressor")
    ),
    Case(
        "`xgboost.XGBRanker`",
        f"{_XGB}x = xgb.XGBRanker(n_estimators=3, n_jobs=1).fit(X, y, qid=np.repeat([0, 1, 2], 20))",
        check=_PREDICTS,
        needs="xgboost sklearn",
    ),
    Case(
        "`xgboost.DMatrix`",
        _XGB + "x = xgb.DMatrix(X, y)",
        outcome="recipe",
        check="same(x.get_label(), y.get_label())\n"
        "same(x.get_data().toarray(), y.get_data().toarray())",
        told=False,
        needs="xgboost",
    ),
    Case(
        "`lightgbm.Booster`",
        _LGB
        + "x = lgb.train({'num_leaves': 4, 'verbose': -1, 'num_threads': 1}, lgb.Dataset(X, y), 3)",
        check=f"same(x, y)\n{_PREDICTS}",
        needs="lightgbm",
    ),
    *(
        Case(
            f"`lightgbm.{name}`",
            f"{_LGB}x = lgb.{name}(n_estimators=3, n_jobs=1, verbose=-1).fit(X, y)",
            check=f"{_PREDICTS}\nsame(x.get_params(), y.get_params())\nsame(x.booster_, y.booster_)",
            needs="lightgbm sklearn",
        )
        for name in ("LGBMClassifier", "LGBMRegressor")
    ),
    Case(
        "`lightgbm.Dataset`",
        _LGB + "x = lgb.Dataset(X, y)",
        check="same(x.data, y.data)\nsame(x.label, y.label)",
        needs="lightgbm",
    ),
)

_RESULTS = {
    "OLS": "sm.OLS(y, sm.add_constant(X)).fit()",
    "WLS": "sm.WLS(y, X, weights=np.arange(1., 61)).fit()",
    "Logit": "sm.Logit(y, X).fit(disp=0)",
    "GLM": "sm.GLM(y, X, family=sm.families.Poisson()).fit()",
    "RLM": "sm.RLM(y, X).fit()",
    "mixed": "sm.MixedLM(X[:, 0], X[:, 1:], np.repeat([0, 1, 2], 20)).fit()",
}

_STATISTICS = (
    *(
        Case(
            f"results of {name}",
            f"{_SM}x = {source}",
            check="same(x.params, y.params)\nsame(x.cov_params(), y.cov_params())\n"
            "same(x.fittedvalues, y.fittedvalues)\n"
            "strip = lambda t: '\\n'.join(l for l in t.splitlines() if 'Time:' not in l and 'Date:' not in l)\n"
            "assert strip(x.summary().as_text()) == strip(y.summary().as_text())",
            needs="statsmodels",
        )
        for name, source in _RESULTS.items()
    ),
    Case(
        "results of a formula",
        _SM + "import pandas as pd\nimport statsmodels.formula.api as smf\n"
        "frame = pd.DataFrame(X, columns=list('abcd')).assign(k=list('uvw') * 20)\n"
        "x = smf.ols('a ~ b + np.log(c + 1) + C(k)', frame).fit()",
        check="same(x.params, y.params)\nsame(x.predict(new['frame']), y.predict(old['frame']))",
        needs="statsmodels pandas",
    ),
    Case(
        "results of ARIMA",
        _SM + "from statsmodels.tsa.arima.model import ARIMA\n"
        "x = ARIMA(np.cumsum(X[:, 0]), order=(1, 1, 0)).fit()",
        check="same(x.params, y.params)\nsame(x.forecast(3), y.forecast(3))",
        needs="statsmodels",
    ),
)

_LANGUAGE = (
    Case(
        "spaCy: a blank pipeline",
        "import spacy\nx = spacy.blank('en')\nx.add_pipe('sentencizer')",
        check="assert x.pipe_names == y.pipe_names\n"
        "a, b = (nlp('A cat sat. A dog ran.') for nlp in (x, y))\n"
        "assert [t.text for t in a] == [t.text for t in b]\n"
        "assert [s.text for s in a.sents] == [s.text for s in b.sents]",
        told=None,
        needs="spacy",
    ),
    Case(
        "spaCy: a pipeline with rules",
        "import spacy\nx = spacy.blank('de')\n"
        "x.add_pipe('entity_ruler').add_patterns([{'label': 'ORT', 'pattern': 'Bonn'}])",
        check="a, b = (nlp('Er wohnt in Bonn.') for nlp in (x, y))\n"
        "assert [(e.text, e.label_) for e in a.ents] == [(e.text, e.label_) for e in b.ents]"
        " == [('Bonn', 'ORT')]",
        told=None,
        needs="spacy",
    ),
    Case(
        "spaCy: a document",
        "import spacy\nx = spacy.blank('en')('A cat sat on the mat.')\nx.user_data['mine'] = [1]",
        check="assert x.text == y.text and x.user_data == y.user_data\n"
        "assert [t.text for t in x] == [t.text for t in y]\n"
        "same(x.to_array(['ORTH', 'SPACY']), y.to_array(['ORTH', 'SPACY']))",
        told=None,
        needs="spacy",
    ),
)

CASES = (*_BOOSTING, *_STATISTICS, *_LANGUAGE)
