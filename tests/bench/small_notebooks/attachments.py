"""What a notebook attaches to modules, classes and registries that are not its own."""

from __future__ import annotations

from tests.bench.small_notebooks.notebook import Category, SmallNotebook

ATTACHMENTS = Category("attachments")

ATTACHED = {
    "module-attribute": ("import numpy as np", "np.small = {}", "y = np.small"),
    "module-function-replaced": ("import math", "math.small_sqrt = lambda x: x * {}", "y = math.small_sqrt(2)"),
    "function-of-library-wrapped": ("import json\nreal = getattr(json, 'small_real', json.dumps); json.small_real = real", "json.dumps = lambda *a, **k: real(*a, **k) + '#{}'", "y = json.dumps([1]); json.dumps = real"),
    "class-method": ("import pandas as pd", "pd.DataFrame.small = lambda self: {}", "y = pd.DataFrame().small()"),
    "class-property": ("import pandas as pd", "pd.Series.small = property(lambda self: {})", "y = pd.Series([1]).small"),
    "setattr-call": ("import argparse", "setattr(argparse.Namespace, 'small', {})", "y = argparse.Namespace().small"),
    "frame-accessor": ("import pandas as pd", "@pd.api.extensions.register_dataframe_accessor('small')\nclass Small:\n    def __init__(self, df): self.df = df\n    def total(self): return {}", "y = pd.DataFrame({'a': [1]}).small.total()"),
    "series-accessor": ("import pandas as pd", "@pd.api.extensions.register_series_accessor('small')\nclass Small:\n    def __init__(self, s): self.s = s\n    def total(self): return {}", "y = pd.Series([1]).small.total()"),
    "polars-namespace": ("import polars as pl", "@pl.api.register_expr_namespace('small')\nclass Small:\n    def __init__(self, e): self.e = e\n    def times(self): return self.e * {}", "y = pl.DataFrame({'a': [1]}).select(pl.col('a').small.times()).item()"),
    "singledispatch-library": ("from pprint import pformat\nimport functools, types\nclass P: pass", "import pkgutil\npkgutil.get_importer.small = {}", "y = pkgutil.get_importer.small"),
    "singledispatch-register": ("import functools\n@functools.singledispatch\ndef show(x): return 0", "@show.register\ndef _int(x: int): return {}", "y = show(5)"),
    "copyreg": ("import copyreg, copy\nclass P: pass", "copyreg.pickle(P, lambda p: (int, ({},)))", "y = copy.copy(P())"),
    "abc-register": ("import collections.abc\nclass P: pass", "k = {}\nif k == 2: collections.abc.Sequence.register(P)", "y = isinstance(P(), collections.abc.Sequence)"),
    "sqlite-adapter": ("import sqlite3\nclass P: pass", "sqlite3.register_adapter(P, lambda p: {})", "y = sqlite3.connect(':memory:').execute('select ?', (P(),)).fetchone()"),
    "sqlite-converter": ("import sqlite3", "sqlite3.register_converter('small', lambda b: int(b) * {})", "y = sqlite3.connect(':memory:', detect_types=sqlite3.PARSE_COLNAMES).execute('select 3 as \"a [small]\"').fetchone()"),
    "builtins": ("import builtins", "builtins.small = {}", "y = small"),
    "builtins-replaced": ("import builtins\nreal_len = builtins.len", "builtins.small_len = lambda x: real_len(x) * {}", "y = small_len([1])"),
    "sys-modules": ("import sys, types", "m = types.ModuleType('small_made'); m.K = {}; sys.modules['small_made'] = m", "import small_made\ny = small_made.K"),
    "import-hook": ("import sys, importlib.util, importlib.abc\nsys.modules.pop('small_found', None)", "class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):\n    def find_spec(self, name, path, target=None):\n        return importlib.util.spec_from_loader(name, self) if name == 'small_found' else None\n    def create_module(self, spec): return None\n    def exec_module(self, m): m.K = {}\nsys.meta_path[:] = [f for f in sys.meta_path if type(f).__name__ != 'Finder']\nsys.meta_path.append(Finder())", "import small_found\ny = small_found.K"),
    "subclass-registry": ("import json", "class Enc(json.JSONEncoder):\n    def default(self, o): return {}", "y = json.dumps(object(), cls=json.JSONEncoder.__subclasses__()[-1])"),
    "subclasses-of-own": ("class Base: pass", "class One(Base):\n    k = {}", "y = [c.k for c in Base.__subclasses__()][-1]"),
    "init-subclass-registry": ("class Base:\n    known = {{}}\n    def __init_subclass__(cls, **k): Base.known[cls.__name__] = cls", "class One(Base):\n    k = {}", "y = Base.known['One'].k"),
    "decorator-registry": ("STEPS = {{}}\ndef step(f):\n    STEPS[f.__name__] = f\n    return f", "@step\ndef go(): return {}", "y = STEPS['go']()"),
    "atexit": ("import atexit", "def bye(k={}): return k\natexit.unregister(bye); atexit.register(bye)", "y = bye()"),
    "matplotlib-colormap": ("import matplotlib as mpl\nfrom matplotlib.colors import ListedColormap", "mpl.colormaps.register(ListedColormap([(0.{}, 0, 0)]), name='small', force=True)", "y = mpl.colormaps['small'](0)[0]"),
    "matplotlib-scale": ("import matplotlib.units as mu\nclass P: pass", "class Conv(mu.ConversionInterface):\n    k = {}\nmu.registry[P] = Conv()", "y = mu.registry[P].k"),
    "cycler-property": ("from matplotlib import rcsetup", "rcsetup.small = {}", "y = rcsetup.small"),
    "numpy-function-patched": ("import numpy as np", "np.linalg.small_norm = lambda a: float(np.sum(a)) * {}", "y = np.linalg.small_norm(np.ones(3))"),
    "enum-missing": ("import enum\nclass E(enum.Enum):\n    A = 1", "E._missing_ = classmethod(lambda cls, v: cls.A if {} == 2 else None)", "try:\n    y = E(5).name\nexcept ValueError:\n    y = 'none'"),
    "warning-registry": ("import warnings", "warnings.small = {}", "y = warnings.small"),
    "ipython-magic": ("from IPython.core.magic import register_line_magic", "@register_line_magic\ndef small(line): return {}", "y = %small"),
    "ipython-cell-magic": ("from IPython.core.magic import register_cell_magic", "@register_cell_magic\ndef small(line, cell): get_ipython().user_ns['y'] = {}", "%%small\nx"),
    "ipython-event": ("log = []", "def hook(*a): log.append({})\nget_ipython().events.register('pre_run_cell', hook)", "get_ipython().events.unregister('pre_run_cell', hook); y = log[-1]"),
    "ipython-alias": ("x = 1", "%alias small echo {}", "out = %small\ny = 1"),
    "ipython-macro": ("x = 1", "get_ipython().define_macro('small', 'y = {}')", "get_ipython().run_cell(small.value);"),
    "ipython-transformer": ("k = 0", "def put(lines): return [l.replace('SMALL_VALUE', '{}') for l in lines]\nt = get_ipython().input_transformers_post\nt[:] = [put]", "y = SMALL_VALUE; get_ipython().input_transformers_post[:] = []"),
    "ipython-user-ns": ("x = 1", "get_ipython().user_ns['pushed'] = {}", "y = pushed"),
    "ipython-push": ("x = 1", "get_ipython().push({{'pushed': {}}})", "y = pushed"),
    "ipython-hooks": ("x = 1", "get_ipython().small = {}", "y = get_ipython().small"),
    "html-formatter": ("class P: pass", "get_ipython().display_formatter.formatters['text/html'].for_type(P, lambda o: '<b>{}</b>')", "P()"),
    "repr-patched": ("import fractions\nreal = fractions.Fraction.__repr__", "fractions.Fraction.__repr__ = lambda self: 'F{}'", "y = repr(fractions.Fraction(1)); fractions.Fraction.__repr__ = real"),
    "tqdm-patched": ("import tqdm", "tqdm.tqdm.monitor_interval = {}", "y = tqdm.tqdm.monitor_interval"),
    "class-cell-of-instance": ("import types\nns = types.SimpleNamespace()", "ns.go = lambda: {}", "y = ns.go()"),
    "type-of-library-instance": ("import logging\nlog = logging.getLogger('small')", "log.small = {}", "y = log.small"),
    "logging-class": ("import logging", "class L(logging.Logger):\n    k = {}\nlogging.setLoggerClass(L)", "y = getattr(logging.getLoggerClass(), 'k', None); logging.setLoggerClass(logging.Logger)"),
    "urllib-opener": ("import urllib.request", "o = urllib.request.build_opener(); o.addheaders = [('k', '{}')]; urllib.request.install_opener(o)", "y = urllib.request._opener.addheaders"),
    "default-of-function": ("import textwrap\ndef f(k=0): return k", "f.__defaults__ = ({},)", "y = f()"),
    "attribute-of-function": ("def f(): return f.k", "f.k = {}", "y = f()"),
    "code-of-function": ("def f(): return 0\ndef g1(): return 1\ndef g2(): return 2", "f.__code__ = g{}.__code__", "y = f()"),
    "method-of-own-class": ("class C: pass\nc = C()", "C.go = lambda self: {}", "y = c.go()"),
    "base-of-own-class": ("class A1:\n    k = 1\nclass A2:\n    k = 2\nclass C(A1): pass", "C.__bases__ = (A{},)", "y = C().k"),
    "networkx-backend": ("import networkx as nx\nG = nx.path_graph(3)", "nx.Graph.small = {}", "y = G.small"),
    "sympy-class": ("import sympy", "sympy.Symbol.small = {}", "y = sympy.Symbol('x').small"),
    "sklearn-estimator": ("from sklearn.linear_model import LinearRegression", "LinearRegression.small = lambda self: {}", "y = LinearRegression().small()"),
    "torch-module-hook": ("import torch\nm = torch.nn.Identity()", "h = m.register_forward_hook(lambda mod, a, out: out * {})", "y = m(torch.ones(1)).item(); m._forward_hooks.clear()"),
    "torch-library-class": ("import torch", "torch.nn.Linear.small = {}", "y = torch.nn.Linear(1, 1).small"),
}  # fmt: skip
"""What comes before, the statement that attaches 1 or 2, and what depends on it."""

for _name, (_before, _statement, _use) in ATTACHED.items():
    _before = _before.replace("{{", "{").replace("}}", "}")
    _old, _new = _statement.format(1), _statement.format(2)
    _probe = "globals().get('y')"
    ATTACHMENTS.add(
        SmallNotebook(
            "attachments", f"edited-{_name}", (_before, _old, _use), (_before, _new, _use), _probe
        )
    )
    ATTACHMENTS.add(
        SmallNotebook(
            "attachments",
            f"brought-back-{_name}",
            (_before, _old, "x = 1", _use),
            (_before, _old, "x = 1", _use if _use.startswith("%%") else f"edited = 1\n{_use}"),
            _probe,
        )
    )

_UNDONE = {
    "attribute-deleted": (
        "import numpy as np\nnp.small = 1",
        "x = 1",
        "del np.small",
        "y = hasattr(np, 'small')",
    ),
    "key-removed": (
        "import os\nos.environ['SMALL_K'] = '1'",
        "x = 1",
        "os.environ.pop('SMALL_K')",
        "y = 'SMALL_K' in os.environ",
    ),
    "statement-removed": (
        "import pandas as pd",
        "pd.DataFrame.small = lambda self: 1",
        "x = 1\nif hasattr(pd.DataFrame, 'small'): del pd.DataFrame.small",
        "y = hasattr(pd.DataFrame, 'small')",
    ),
    "method-removed": (
        "class C:\n    def f(self): return 1\nc = C()",
        "x = 1",
        "del C.f",
        "y = hasattr(c, 'f')",
    ),
    "registration-removed": (
        "import functools\n@functools.singledispatch\ndef show(x): return 0",
        "@show.register\ndef _int(x: int): return 1",
        "x = 1",
        "y = show(5)",
    ),
}
for _name, (_before, _one, _two, _use) in _UNDONE.items():
    ATTACHMENTS.add(
        SmallNotebook("attachments", _name, (_before, _one, _use), (_before, _two, _use))
    )
