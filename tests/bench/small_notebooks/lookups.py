"""Names that a cell looks up by other means than its own text."""

from __future__ import annotations

from tests.bench.small_notebooks.notebook import Category, SmallNotebook

LOOKUPS = Category("lookups")

_DF = "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2, 3]})\n"
_DUCK = "import duckdb, pandas as pd\n"

LOOKED_UP = {
    "eval": ("k = {}", "y = eval('k')"),
    "eval-alias": ("ev = eval; k = {}", "y = ev('k')"),
    "eval-in-list": ("fs = [eval]; k = {}", "y = fs[0]('k')"),
    "eval-in-function": ("ev = eval; k = {}\ndef f(s): return ev(s)", "y = f('k')"),
    "eval-by-getattr": ("import builtins; k = {}", "y = getattr(builtins, 'ev' + 'al')('k')"),
    "eval-compiled": ("k = {}; c = compile('k + 0', 's', 'eval')", "y = eval(c)"),
    "eval-by-map": ("k = {}", "y = list(map(eval, ['k']))"),
    "exec-alias": ("ex = exec; k = {}", "ex('y = k')"),
    "exec-own-globals": ("k = {}; g = globals()", "exec('y = k', g)"),
    "globals-alias": ("g = globals; k = {}", "y = g()['k']"),
    "globals-kept": ("g = globals(); k = {}", "y = g['k']"),
    "globals-built-name": ("k = {}", "y = globals()['k' + '']"),
    "locals": ("k = {}", "y = locals()['k']"),
    "vars": ("k = {}", "y = vars()['k']"),
    "main-module": ("import sys; k = {}", "y = sys.modules['__main__'].k"),
    "main-getattr": ("import sys; k = {}", "y = getattr(sys.modules[__name__], 'k')"),
    "main-imported": ("k = {}", "import __main__\ny = __main__.k"),
    "main-from": ("k = {}", "from __main__ import k as got\ny = got"),
    "main-importlib": ("import importlib; k = {}", "y = importlib.import_module('__main__').k"),
    "frame": ("import sys; k = {}", "y = sys._getframe().f_globals['k']"),
    "frame-in-function": ("import sys; k = {}\ndef get(n): return sys._getframe(1).f_globals[n]", "y = get('k')"),
    "inspect-stack": ("import inspect; k = {}", "y = inspect.currentframe().f_globals['k']"),
    "function-globals": ("def f(): pass\nk = {}", "y = f.__globals__['k']"),
    "get-ipython-user-ns": ("k = {}", "y = get_ipython().user_ns['k']"),
    "get-ipython-alias": ("gi = get_ipython; k = {}", "y = gi().user_ns['k']"),
    "shell-kept": ("ip = get_ipython(); k = {}", "y = ip.user_ns['k']"),
    "shell-ev": ("ip = get_ipython(); k = {}", "y = ip.ev('k')"),
    "shell-ex": ("ip = get_ipython(); k = {}", "ip.ex('y = k')"),
    "shell-run-cell": ("ip = get_ipython(); k = {}", "ip.run_cell('y = k');"),
    "shell-line-magic": ("ip = get_ipython(); k = {}", "ip.run_line_magic('time', 'y = k')"),
    "shell-var-expand": ("ip = get_ipython(); k = {}", "y = ip.var_expand('{{k}}')"),
    "shell-in-function": ("def ns(): return get_ipython().user_ns\nk = {}", "y = ns()['k']"),
    "shell-from-core": ("from IPython import get_ipython as gi2\nk = {}", "y = gi2().user_ns['k']"),
    "bang": ("k = {}", "out = !echo {{k}}\ny = list(out)"),
    "bang-dollar": ("k = {}", "out = !echo $k\ny = list(out)"),
    "bang-double": ("k = {}", "out = get_ipython().getoutput(f'echo {{k}}')\ny = list(out)"),
    "bash-argument": ("k = {}", "%%bash -s {{k}} --out y\necho $1"),
    "timeit-result": ("k = {}", "%time y = k"),
    "cell-capture": ("k = {}", "%%capture cap\nprint(k)\ny = k"),
    "f-string-of-magic": ("k = {}", "%env SMALL_F={{k}}\nimport os\ny = os.environ['SMALL_F']"),
    "dir": ("k{} = 1", "y = sorted(n for n in dir() if n in ('k1', 'k2'))"),
    "dir-test": ("model = {} or None\nif model == 2: del model", "y = 'model' in dir()"),
    "dir-alias": ("d = dir; k{} = 1", "y = sorted(n for n in d() if n in ('k1', 'k2'))"),
    "who-ls": ("k{} = 1", "names = %who_ls int\ny = [n for n in names if n in ('k1', 'k2')]"),
    "globals-iterated": ("k_a = {}", "y = [v for n, v in list(globals().items()) if n.startswith('k_')]"),
    "name-error-caught": ("opt = 1\nif {} == 2: del opt", "try:\n    y = opt\nexcept NameError:\n    y = 'none'"),
    "query-at": (_DF + "k = {}", "y = df.query('a > @k').a.tolist()"),
    "query-bound": (_DF + "q = df.query; k = {}", "y = q('a > @k').a.tolist()"),
    "query-unbound": (_DF + "k = {}", "y = pd.DataFrame.query(df, 'a > @k').a.tolist()"),
    "query-pipe": (_DF + "k = {}", "y = df.pipe(pd.DataFrame.query, 'a > @k').a.tolist()"),
    "query-text-variable": (_DF + "k = {}; text = 'a > @k'", "y = df.query(text).a.tolist()"),
    "query-built-text": (_DF + "k = {}", "y = df.query('a > @' + 'k').a.tolist()"),
    "query-in-function": (_DF + "k = {}\ndef sel(d): return d.query('a > @k', level=1) if False else d[d.a > k]", "y = sel(df).a.tolist()"),
    "eval-frame": (_DF + "k = {}", "y = df.eval('b = a * @k').b.tolist()"),
    "pd-eval": (_DF + "k = {}", "y = pd.eval('df.a * k').tolist()"),
    "duckdb-frame": (_DUCK + "df = pd.DataFrame({{'a': [{}]}})", "y = duckdb.sql('select sum(a) from df').fetchall()"),
    "duckdb-alias": (_DUCK + "sql = duckdb.sql; df = pd.DataFrame({{'a': [{}]}})", "y = sql('select sum(a) from df').fetchall()"),
    "duckdb-connection": (_DUCK + "con = duckdb.connect(); df = pd.DataFrame({{'a': [{}]}})", "y = con.sql('select sum(a) from df').fetchall()"),
    "duckdb-from-text": (_DUCK + "text = 'from ' + 'df'; df = pd.DataFrame({{'a': [{}]}})", "y = duckdb.sql(text).fetchall()"),
    "duckdb-default-table": ("import duckdb\nduckdb.execute('create or replace table small_t as select {} a');", "y = duckdb.sql('from small_t').fetchall()"),
    "duckdb-registered": (_DUCK + "con = duckdb.connect(); con.register('v', pd.DataFrame({{'a': [{}]}}))", "y = con.sql('from v').fetchall()"),
    "duckdb-relation": (_DUCK + "df = pd.DataFrame({{'a': [{}]}}); rel = duckdb.sql('from df')", "y = rel.fetchall()"),
    "polars-sql": ("import polars as pl\ndf = pl.DataFrame({{'a': [{}]}})", "y = pl.sql('select a from df').collect().item()"),
    "polars-sql-context": ("import polars as pl\ndf = pl.DataFrame({{'a': [{}]}})\nctx = pl.SQLContext(df=df)", "y = ctx.execute('select a from df').collect().item()"),
    "patsy-global": ("import patsy, numpy as np\nx = np.arange(3.0); k = {}", "y = float(np.asarray(patsy.dmatrix('x * k' if False else 'I(x * k) - 1')).sum())"),
    "patsy-function": ("import patsy, numpy as np\nx = np.arange(3.0)\ndef tr(v): return v * {}", "y = float(np.asarray(patsy.dmatrix('tr(x) - 1')).sum())"),
    "formula": ("import numpy as np, pandas as pd\nfrom statsmodels.formula.api import ols\nd = pd.DataFrame({{'u': [1.0, 2, 4, 3], 'v': [1.0, 3, 2, 5]}})\ndef tr(v): return v ** {}", "y = round(float(ols('u ~ tr(v)', d).fit().params.iloc[1]), 6)"),
    "import-by-name": ("name = 'mod{}'\nfor n in '12': open(f'mod{{n}}.py', 'w').write(f'K = {{n}}')", "import importlib\ny = importlib.import_module(name).K"),
    "dunder-import": ("name = 'mod{}'\nfor n in '12': open(f'mod{{n}}.py', 'w').write(f'K = {{n}}')", "y = __import__(name).K"),
    "pickle-class": ("import pickle\nclass P:\n    def __setstate__(self, s): self.k = {}\nb = b'\\x80\\x04\\x8c\\x08__main__\\x8c\\x01P\\x93)\\x81}}b.'", "y = pickle.loads(b).k"),
    "pickle-function": ("import pickle\ndef f(): return {}\nb = b'\\x80\\x04\\x8c\\x08__main__\\x8c\\x01f\\x93)R.'", "y = pickle.loads(b)"),
    "method-by-name": ("class C:\n    def go(self): return {}\nc = C(); name = 'go'", "y = getattr(c, name)()"),
    "methodcaller": ("import operator\nclass C:\n    def go(self): return {}\nc = C()", "y = operator.methodcaller('go')(c)"),
    "attrgetter": ("import operator, types\nns = types.SimpleNamespace(a=types.SimpleNamespace(b={}))", "y = operator.attrgetter('ns.a.b')(types.SimpleNamespace(ns=ns))"),
    "string-template": ("from string import Template\nk = {}", "y = Template('$k').substitute(globals())"),
    "format-map": ("k = {}", "y = '{{k}}'.format_map(globals())"),
    "format-star": ("k = {}", "y = '{{k}}'.format(**globals())"),
    "f-string-self": ("k = {}", "y = f'{{k=}}'"),
    "type-hints": ("k = {}\nfrom typing import get_type_hints\ndef f(a: 'Literal[k]'): pass\nfrom typing import Literal", "y = str(get_type_hints(f))"),
    "forward-reference": ("from dataclasses import dataclass\nimport typing\nT = [int, str][{} - 1]\n@dataclass\nclass D:\n    x: 'T'", "y = typing.get_type_hints(D)['x'].__name__"),
    "pydantic-defer": ("from pydantic import BaseModel, ValidationError\nT = [int, str][{} - 1]\nclass M(BaseModel):\n    x: 'T'", "try:\n    y = repr(M(x='7').x)\nexcept ValidationError:\n    y = 'bad'"),
    "timeit-module": ("import timeit; k = {}; got = []", "timeit.timeit('got.append(k)', globals=globals(), number=1); y = got[-1]"),
    "code-interact": ("import code; k = {}", "code.InteractiveInterpreter(globals()).runsource('y = k');"),
    "ast-literal-run": ("import ast; k = {}; tree = ast.parse('y = k')", "exec(compile(tree, 's', 'exec'))"),
    "runpy": ("import runpy; k = {}\nopen('rp.py', 'w').write('y = k')", "y = runpy.run_path('rp.py', {{'k': k}})['y']"),
    "run-interactive": ("k = {}\nopen('ri.py', 'w').write('y = k')", "%run -i ri.py"),
    "load-text": ("k = {}\nopen('lo.py', 'w').write('y = k')", "exec(open('lo.py').read())"),
    "thread-target": ("import threading\nk = {}\ndef work(): globals()['y'] = k", "t = threading.Thread(target=work); t.start(); t.join(); del t"),
    "pool-map": ("from concurrent.futures import ThreadPoolExecutor\nk = {}\ndef work(x): return x * k", "with ThreadPoolExecutor(2) as pool:\n    y = list(pool.map(work, [1, 2]))"),
    "callback-by-partial": ("from functools import partial\nk = {}\ndef work(a, x): return a * x * k\np = partial(work, 2)", "y = list(map(p, [1]))"),
    "apply": (_DF.replace("{", "{{").replace("}", "}}") + "k = {}\ndef tr(v): return v * k", "y = df.a.apply(tr).tolist()"),
    "apply-name": (_DF.replace("{", "{{").replace("}", "}}") + "k = {}\npd.Series.small_tr = lambda s: s.sum() * k", "y = df.a.agg('small_tr') if False else df.a.small_tr()"),
    "custom-magic": ("k = {}\nfrom IPython.core.magic import register_line_magic\n@register_line_magic\ndef small_set(line): get_ipython().user_ns[line] = k", "%small_set y"),
    "module-reads-main": ("open('rm.py', 'w').write('def get():\\n    import __main__\\n    return __main__.k\\n')\nimport rm\nk = {}", "y = rm.get()"),
    "module-reads-frame": ("open('rf.py', 'w').write('import sys\\ndef get(n):\\n    return sys._getframe(1).f_globals[n]\\n')\nimport rf\nk = {}", "y = rf.get('k')"),
    "class-by-subclasses": ("class B: pass\nclass D(B):\n    k = {}", "y = B.__subclasses__()[-1].k"),
    "weakref": ("import weakref\nclass C: pass\nc = C(); c.k = {}; r = weakref.ref(c)", "y = r().k"),
    "gc-objects": ("import gc\nclass Mark:\n    pass\nm = Mark(); m.k = {}", "y = [o.k for o in gc.get_objects() if type(o) is Mark][-1]"),
    "ctypes-id": ("import ctypes\nbox = [{}]; addr = id(box)", "y = ctypes.cast(addr, ctypes.py_object).value"),
}  # fmt: skip
"""What the looked-up name is, with 1 or 2 in it, and the look-up."""


def _filled(text: str, value: int) -> str:
    return (
        text.replace("{{", "\0")
        .replace("}}", "\1")
        .replace("{}", str(value))
        .replace("\0", "{")
        .replace("\1", "}")
    )


for _name, (_made, _use) in LOOKED_UP.items():
    _cells = [("z = 0", _filled(_made, value), _filled(_use, 0)) for value in (1, 2)]
    LOOKUPS.add(SmallNotebook("lookups", _name, *_cells, "globals().get('y')"))
