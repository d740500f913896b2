"""State of the process that a notebook sets: options, folders, variables of the environment."""

from __future__ import annotations

from tests.bench.small_notebooks.notebook import Category, SmallNotebook

PROCESS_STATE = Category("process state")
edit, unchanged = PROCESS_STATE.edit, PROCESS_STATE.unchanged

SETTINGS = {
    "environ": ("import os", "os.environ['SMALL_K'] = '{}'", "1", "2", "y = os.environ['SMALL_K']"),
    "environ-update": ("import os", "os.environ.update(SMALL_K='{}')", "1", "2", "y = os.getenv('SMALL_K')"),
    "putenv-child": ("import os", "os.putenv('SMALL_K', '{}')", "1", "2", "y = os.popen('echo $SMALL_K').read()"),
    "environ-child": ("import os, subprocess", "os.environ['SMALL_K'] = '{}'", "1", "2", "y = subprocess.run('echo $SMALL_K', shell=True, capture_output=True, text=True).stdout"),
    "env-magic": ("import os", "%env SMALL_K={}", "1", "2", "y = os.environ['SMALL_K']"),
    "chdir": ("import os\nfor d in 'pq': os.makedirs(d, exist_ok=True); open(d + '/f', 'w').write(d)\nhome = os.getcwd()", "os.chdir(home + '/{}')", "p", "q", "y = open('f').read(); os.getcwd()[-1]"),
    "cd-magic": ("import os\nfor d in 'pq': os.makedirs(d, exist_ok=True)\nhome = os.getcwd(); os.chdir(home)", "%cd -q {{home}}/{}", "p", "q", "y = os.path.basename(os.getcwd())"),
    "sys-path": ("import os, sys\nfor d in 'pq':\n    os.makedirs(d, exist_ok=True); open(d + '/smod.py', 'w').write(f'K = {d!r}')\nsys.modules.pop('smod', None); sys.path[:] = [p for p in sys.path if p not in ('p', 'q')]", "sys.path.insert(0, '{}')", "p", "q", "import smod\ny = smod.K"),
    "umask": ("import os", "os.umask(0o{});", "022", "077", "open('u', 'w').close(); y = oct(os.stat('u').st_mode); os.remove('u')"),
    "locale": ("import locale", "locale.setlocale(locale.LC_ALL, '{}');", "C", "C.UTF-8", "y = locale.setlocale(locale.LC_CTYPE)"),
    "recursion": ("import sys", "sys.setrecursionlimit({})", "3000", "3500", "y = sys.getrecursionlimit()"),
    "int-digits": ("import sys", "sys.set_int_max_str_digits({})", "5000", "6000", "y = sys.get_int_max_str_digits()"),
    "switch-interval": ("import sys", "sys.setswitchinterval({})", "0.01", "0.02", "y = sys.getswitchinterval()"),
    "gc": ("import gc", "gc.set_threshold({})", "500", "600", "y = gc.get_threshold()[0]"),
    "decimal": ("import decimal", "decimal.getcontext().prec = {}", "5", "9", "y = decimal.Decimal(1) / 7"),
    "decimal-setcontext": ("from decimal import Context, Decimal, setcontext", "setcontext(Context(prec={}))", "5", "9", "y = Decimal(1) / 7"),
    "mpmath": ("import mpmath", "mpmath.mp.dps = {}", "20", "30", "y = str(mpmath.mpf(1) / 7)"),
    "errstate": ("import numpy as np", "np.seterr(divide='{}');", "ignore", "raise", "try:\n    np.array([1.0]) / 0; y = 'inf'\nexcept FloatingPointError:\n    y = 'raised'"),
    "printoptions": ("import numpy as np", "np.set_printoptions(precision={})", "3", "5", "y = str(np.array([1 / 3]))"),
    "np-random-seed": ("import numpy as np", "np.random.seed({})", "1", "2", "y = np.random.rand()"),
    "random-seed": ("import random", "random.seed({})", "1", "2", "y = random.random()"),
    "torch-seed": ("import torch", "torch.manual_seed({});", "1", "2", "y = torch.rand(1).item()"),
    "torch-dtype": ("import torch", "torch.set_default_dtype(torch.float{})", "32", "64", "y = str(torch.zeros(1).dtype)"),
    "torch-printing": ("import torch", "torch.set_printoptions(precision={})", "2", "6", "y = str(torch.tensor([1 / 3]))"),
    "torch-grad": ("import torch", "torch.set_grad_enabled({});", "True", "False", "y = torch.ones(1, requires_grad=True).mul(2).requires_grad"),
    "pd-option": ("import pandas as pd", "pd.set_option('display.precision', {})", "2", "4", "y = str(pd.Series([1 / 3]))"),
    "pd-attribute": ("import pandas as pd", "pd.options.display.max_rows = {}", "4", "6", "y = repr(pd.Series(range(50)))"),
    "pd-float-format": ("import pandas as pd", "pd.options.display.float_format = '{{:.{}f}}'.format", "2", "4", "y = str(pd.Series([1 / 3]))"),
    "pd-infer-string": ("import pandas as pd", "pd.set_option('future.infer_string', {})", "True", "False", "y = str(pd.Series(['a']).dtype)"),
    "pl-config": ("import polars as pl", "pl.Config.set_tbl_rows({});", "3", "5", "y = str(pl.DataFrame({'a': range(20)}))"),
    "sklearn": ("import sklearn, numpy as np, pandas as pd\nfrom sklearn.preprocessing import StandardScaler", "sklearn.set_config(transform_output='{}')", "default", "pandas", "y = type(StandardScaler().fit_transform(pd.DataFrame({'a': [1.0, 2.0]}))).__name__"),
    "rc-params": ("import matplotlib.pyplot as plt", "plt.rcParams['lines.linewidth'] = {}", "3", "9", "y = plt.Line2D([0], [0]).get_linewidth()"),
    "rc-function": ("import matplotlib as mpl\nimport matplotlib.pyplot as plt", "mpl.rc('lines', linewidth={})", "3", "9", "y = plt.Line2D([0], [0]).get_linewidth()"),
    "style": ("import matplotlib.pyplot as plt", "plt.style.use('{}')", "default", "ggplot", "y = plt.rcParams['axes.facecolor']"),
    "current-figure": ("import matplotlib.pyplot as plt\nplt.close('all')", "plt.figure({});", "3", "9", "y = plt.gcf().number; plt.close('all')"),
    "warnings-filter": ("import warnings", "warnings.simplefilter('{}')", "ignore", "error", "try:\n    warnings.warn('w'); y = 'quiet'\nexcept UserWarning:\n    y = 'raised'"),
    "warnings-showwarning": ("import warnings; warnings.simplefilter('always'); log = []", "warnings.showwarning = lambda m, *a, **k: log.append('{}')", "a", "b", "warnings.warn('w'); y = log[-1]"),
    "logging-level": ("import logging\nlog = logging.getLogger('small')", "log.setLevel({})", "10", "30", "y = log.isEnabledFor(10)"),
    "logging-root": ("import logging\nfor name in ('ipykernel', 'matplotlib'): logging.getLogger(name).setLevel(50)", "logging.basicConfig(level={}, force=True)", "10", "30", "y = logging.getLogger('other').getEffectiveLevel()"),
    "logging-disable": ("import logging; logging.getLogger('small').setLevel(1)", "logging.disable({})", "10", "30", "y = logging.getLogger('small').isEnabledFor(20)"),
    "logging-handler": ("import logging, io\nlog = logging.getLogger('small'); buf = io.StringIO(); log.propagate = False", "log.handlers[:] = [logging.StreamHandler(buf)]; log.handlers[0].setFormatter(logging.Formatter('{}%(message)s'))", "A", "B", "log.warning('x'); y = buf.getvalue().split()[-1]"),
    "logging-level-name": ("import logging", "logging.addLevelName(25, '{}')", "ONE", "TWO", "y = logging.getLevelName(25)"),
    "context-variable": ("import contextvars\ncv = contextvars.ContextVar('cv', default=0)", "cv.set({});", "1", "2", "y = cv.get()"),
    "thread-local": ("import threading\nloc = threading.local()", "loc.k = {}", "1", "2", "y = loc.k"),
    "socket-timeout": ("import socket", "socket.setdefaulttimeout({})", "1", "2", "y = socket.getdefaulttimeout()"),
    "signal": ("import signal\nhits = []", "signal.signal(signal.SIGUSR1, lambda *a: hits.append('{}'));", "a", "b", "signal.raise_signal(signal.SIGUSR1); y = hits[-1]"),
    "timezone": ("import os, time", "os.environ['TZ'] = '{}'; time.tzset()", "UTC", "EST5EDT", "y = time.localtime(0).tm_hour"),
    "csv-dialect": ("import csv, io", "csv.register_dialect('small', delimiter='{}')", ";", "|", "b = io.StringIO(); csv.writer(b, 'small').writerow([1, 2]); y = b.getvalue()"),
    "csv-field-size": ("import csv", "csv.field_size_limit({});", "999", "9999", "y = csv.field_size_limit()"),
    "mimetypes": ("import mimetypes", "mimetypes.add_type('x/{}', '.small')", "a", "b", "y = mimetypes.guess_type('a.small')[0]"),
    "codecs-error": ("import codecs", "codecs.register_error('small', lambda e: ('{}', e.end))", "a", "b", "y = 'é'.encode('ascii', 'small')"),
    "ast-interactivity": ("ip = get_ipython()", "ip.ast_node_interactivity = '{}'", "last_expr", "all", "1\n2"),
    "precision-magic": ("z = 1 / 3", "%precision {}", "3", "6", "z"),
    "xmode": ("ip = get_ipython()", "%xmode {}", "Plain", "Minimal", "y = ip.InteractiveTB.mode"),
    "ip-formatter": ("class P: pass", "get_ipython().display_formatter.formatters['text/plain'].for_type(P, lambda o, p, c: p.text('{}'))", "a", "b", "P()"),
    "displayhook": ("import sys\nplainhook = sys.displayhook", "def hook(v): sys.stdout.write('{}%s' % v)\nsys.displayhook = hook", "<", ">", "y = sys.displayhook.__name__, sys.displayhook.__code__.co_consts[1]; sys.displayhook = plainhook"),
    "stdout-replaced": ("import sys, io\nreal = sys.stdout", "sys.stdout = io.StringIO('{}')", "a", "b", "y = sys.stdout.getvalue(); sys.stdout = real"),
    "duckdb-setting": ("import duckdb", "duckdb.sql(\"set default_order = '{}'\")", "asc", "desc", "y = duckdb.sql('select * from (values (1), (2)) t(a) order by a').fetchall()"),
    "sympy-assumptions": ("import sympy\nfrom sympy.core.parameters import global_parameters", "global_parameters.evaluate = {}", "True", "False", "y = str(sympy.Add(1, 1)); global_parameters.evaluate = True"),
    "sympy-printing": ("import sympy", "sympy.init_printing(use_unicode={}, use_latex=False)", "True", "False", "sympy.sqrt(2)"),
    "joblib-backend": ("import joblib", "ctx = joblib.parallel_config(n_jobs={}); ctx.__enter__();", "1", "2", "y = joblib.effective_n_jobs(None) if False else joblib.parallel.get_active_backend()[1]"),
    "statsmodels-warn": ("import random", "random.setstate(random.Random({}).getstate())", "1", "2", "y = random.random()"),
    "profile-hook": ("import sys", "sys.setprofile(None); sys.small_flag = {}", "1", "2", "y = sys.small_flag"),
    "excepthook": ("import sys", "sys.unraisablehook = lambda a, k={}: k", "1", "2", "y = sys.unraisablehook(0)"),
    "default-executor": ("import multiprocessing", "multiprocessing.set_start_method('{}', force=True)", "spawn", "fork", "y = multiprocessing.get_start_method()"),
    "tempdir": ("import tempfile, os\nfor d in 'pq': os.makedirs(d, exist_ok=True)", "tempfile.tempdir = os.path.abspath('{}')", "p", "q", "y = os.path.basename(tempfile.gettempdir()); tempfile.tempdir = None"),
    "asyncio-debug": ("import asyncio", "asyncio.get_event_loop().set_debug({})", "True", "False", "y = asyncio.get_event_loop().get_debug(); asyncio.get_event_loop().set_debug(False)"),
    "plt-interactive": ("import matplotlib.pyplot as plt", "plt.{}()", "ion", "ioff", "y = plt.isinteractive(); plt.ion()"),
    "pprint-options": ("from IPython.lib import pretty", "pretty.MAX_SEQ_LENGTH = {}", "5", "9", "list(range(20))"),
}  # fmt: skip
"""What comes before, the statement, its two values, and what depends on it."""

for _name, (_before, _statement, _one, _two, _use) in SETTINGS.items():
    _old, _new = _statement.format(_one), _statement.format(_two)
    PROCESS_STATE.setting(f"edited-{_name}", _before, _old, _new, _use, "globals().get('y')")
    if not _statement.startswith("%"):
        _function = "def configure():\n    " + "\n    ".join(_old.rstrip(";").splitlines())
        _other = "def configure():\n    " + "\n    ".join(_new.rstrip(";").splitlines())
        PROCESS_STATE.add(
            SmallNotebook(
                "process state",
                f"in-function-{_name}",
                (_before, _function, "configure()", _use),
                (_before, _other, "configure()", _use),
                "globals().get('y')",
            )
        )
    # Set once, then much else, then read by an edited cell: what a resume has to bring back.
    PROCESS_STATE.add(
        SmallNotebook(
            "process state",
            f"brought-back-{_name}",
            (_before, _old, "x = 1", _use),
            (_before, _old, "x = 1", f"edited = 1\n{_use}"),
            "globals().get('y')",
        )
    )

unchanged(
    "src-on-path",
    "import os\nos.makedirs('src', exist_ok=True); open('src/slib.py', 'w').write('def f():\\n    return 7\\n')\n---\nimport sys\nsys.path.append('src')\n---\nimport slib\n---\ny = slib.f()",
)
unchanged(
    "options-of-many",
    "import numpy as np, pandas as pd\nnp.set_printoptions(suppress=True); pd.set_option('display.width', 40)\n---\na = np.array([1e-9, 1.0])\n---\nprint(a)\ny = str(a)",
)
edit(
    "sum-under-display-option",
    "import pandas as pd\ns = pd.Series([1, 2])\n---\npd.set_option('display.precision', 3)\n---\ny = int(s.sum())",
    "precision', 3",
    "precision', 5",
    is_last_affected=False,
)
edit(
    "sum-under-warnings",
    "import warnings\ns = [1, 2]\n---\nwarnings.simplefilter('ignore')\n---\ny = sum(s)",
    "'ignore'",
    "'default'",
    is_last_affected=False,
)
edit(
    "sum-under-rc",
    "import matplotlib.pyplot as plt\ns = [1, 2]\n---\nplt.rcParams['lines.linewidth'] = 3\n---\ny = sum(s)",
    "= 3",
    "= 5",
    is_last_affected=False,
)
