"""Code of the notebook that a library calls by itself: handlers, filters, hooks, callbacks."""

from __future__ import annotations

from tests.bench.small_notebooks.notebook import Category

HELD_CODE = Category("held code")
edit, unchanged = HELD_CODE.edit, HELD_CODE.unchanged

_LOG = (
    "import io, logging\nlog = logging.getLogger('small'); log.propagate = False; log.setLevel(10)"
)
_KEEPER = """class Keeper(logging.Handler):
    def __init__(self, kept):
        super().__init__(); self.kept = kept
    def emit(self, record):
        self.kept.append(record.getMessage())"""
_COUNTER = """class Counting(logging.Filter):
    def __init__(self):
        super().__init__(); self.n = 0
    def filter(self, record):
        self.n += 1; return True"""

unchanged(
    "stream-handler",
    f"{_LOG}\nbuf = io.StringIO(); h = logging.StreamHandler(buf)\n---\nlog.addHandler(h)\n---\nlog.info('one')\n---\nlog.info('two')\ny = log.handlers == [h], buf.getvalue()",
)
edit(
    "stream-handler-last-edited",
    f"{_LOG}\nbuf = io.StringIO(); h = logging.StreamHandler(buf)\n---\nlog.addHandler(h)\n---\nlog.info('one')\n---\nlog.info('two')\ny = log.handlers == [h], buf.getvalue()",
    "'two'",
    "'three'",
)
edit(
    "stream-handler-attached-late",
    f"{_LOG}\nbuf = io.StringIO(); h = logging.StreamHandler(buf)\nlog.addHandler(h)\n---\nx = 1\n---\nlog.info('one')\n---\nx = 2\nlog.info('two')\n---\nlog.info('three')\ny = log.handlers == [h], buf.getvalue()",
    "x = 1",
    "x = 5",
)
unchanged(
    "filter-with-state",
    f"import logging\n{_COUNTER}\n---\nlog = logging.getLogger('small'); log.propagate = False; log.addHandler(logging.NullHandler())\n---\nf = Counting(); log.addFilter(f)\n---\nlog.warning('a')\n---\nlog.warning('b')\ny = f.n, log.filters == [f]",
)
edit(
    "filter-with-state-edited",
    f"import logging\n{_COUNTER}\n---\nlog = logging.getLogger('small'); log.propagate = False; log.addHandler(logging.NullHandler())\n---\nf = Counting(); log.addFilter(f)\n---\nlog.warning('a')\n---\nlog.warning('b')\ny = f.n, log.filters == [f]",
    "warning('a')",
    "warning('a'); log.warning('c')",
)
unchanged(
    "handler-that-keeps",
    f"{_LOG}\n{_KEEPER}\n---\nlines = []\nlog.addHandler(Keeper(lines))\n---\nlog.info('one')\n---\nlog.info('two')\ny = list(lines)",
)
edit(
    "handler-that-keeps-edited",
    f"{_LOG}\n{_KEEPER}\n---\nlines = []\nlog.addHandler(Keeper(lines))\n---\nlog.info('one')\n---\nlog.info('two')\n---\ny = list(lines)",
    "info('one')",
    "info('ONE')",
)
unchanged(
    "handler-in-a-dictionary",
    f"{_LOG}\n{_KEEPER}\n---\nd = {{'lines': []}}\nlog.addHandler(Keeper(d['lines']))\n---\nlog.info('one')\n---\ny = len(d['lines'])\n---\nlog.info('two')\n---\ny = y, list(d['lines'])",
)
unchanged(
    "handler-that-counts-a-global",
    f"{_LOG}\nn = 0\nclass H(logging.Handler):\n    def emit(self, record):\n        global n; n += 1\n---\nh = H(); log.addHandler(h)\n---\nlog.info('one')\n---\nlog.info('two')\ny = n",
)
edit(
    "filter-that-reads-a-global",
    f"{_LOG}\nwords = ['a']; lines = io.StringIO(); log.addHandler(logging.StreamHandler(lines))\n---\nlog.addFilter(lambda record: record.getMessage() in words)\n---\nlog.info('a'); log.info('b')\n---\ny = lines.getvalue()",
    "words = ['a']",
    "words = ['b']",
)
edit(
    "filter-whose-list-grows",
    f"{_LOG}\nwords = ['a']; lines = io.StringIO(); log.addHandler(logging.StreamHandler(lines))\n---\nlog.addFilter(lambda record: record.getMessage() in words)\n---\nwords.append('c')\n---\nlog.info('a'); log.info('b'); log.info('c')\n---\ny = lines.getvalue()",
    "append('c')",
    "append('b')",
)
edit(
    "formatter-that-reads-a-global",
    f"{_LOG}\nmark = '<'; lines = io.StringIO(); h = logging.StreamHandler(lines); log.addHandler(h)\nclass Marked(logging.Formatter):\n    def format(self, record):\n        return mark + record.getMessage()\n---\nh.setFormatter(Marked())\n---\nlog.info('a')\n---\ny = lines.getvalue()",
    "mark = '<'",
    "mark = '>'",
)
unchanged(
    "logged-by-a-function",
    f"{_LOG}\n{_KEEPER}\nlines = []; h = Keeper(lines)\ndef work(n):\n    log.info('n %d', n); return n * 2\n---\nlog.addHandler(h)\n---\na = work(1)\n---\nb = work(2)\ny = a, b, lines, h.kept is lines, log.handlers == [h]",
)
unchanged(
    "logged-by-a-library",
    "import asyncio, logging\nlines = []\nclass Keeper(logging.Handler):\n    def emit(self, record): lines.append(record.getMessage()[:10])\nlogging.getLogger('concurrent.futures').addHandler(Keeper()); logging.getLogger('concurrent.futures').propagate = False\nimport concurrent.futures as cf\n---\nf = cf.Future(); f.set_result(1); f.add_done_callback(lambda f: 1 / 0)\n---\ny = list(lines)",
)
edit(
    "handler-removed",
    f"{_LOG}\nbuf = io.StringIO(); h = logging.StreamHandler(buf); log.addHandler(h)\n---\nlog.info('one')\n---\nlog.removeHandler(h)\nlog.addHandler(logging.NullHandler())\n---\nlog.info('two')\n---\ny = buf.getvalue(), len(log.handlers)",
    "'one'",
    "'uno'",
)
unchanged(
    "null-handler",
    "import logging\nlog = logging.getLogger('small'); log.propagate = False\n---\nlog.addHandler(logging.NullHandler())\n---\nx = 1\n---\ny = [type(h).__name__ for h in log.handlers]; log.warning('quiet')",
)
unchanged(
    "root-attribute",
    "import logging\n---\nlogging.getLogger().tag = 'a'\n---\nlogging.getLogger().tag += 'b'\n---\ny = logging.root.tag",
)
edit(
    "root-attribute-edited",
    "import logging\n---\nlogging.getLogger().tag = 'a'\n---\nx = 1\n---\ny = logging.root.tag",
    "'a'",
    "'b'",
)
unchanged(
    "logger-class",
    "import logging\nclass Loud(logging.Logger):\n    def loud(self, text): return text.upper()\n---\nlogging.setLoggerClass(Loud); log = logging.getLogger('small.loud'); logging.setLoggerClass(logging.Logger)\n---\nlog.setLevel(10); log.tag = 3\n---\nlogging.getLogger('small.loud').tag = 4\n---\ny = type(log).__name__, log.level, log.tag, log.loud('x'), log is logging.getLogger('small.loud')",
)
edit(
    "stream-of-the-first-edited",
    f"{_LOG}\nbuf = io.StringIO(); log.addHandler(logging.StreamHandler(buf))\n---\nlog.info('one')\n---\nlog.info('two')\n---\ny = buf.getvalue()",
    "'one'",
    "'uno'",
)
unchanged(
    "handler-of-its-own-list",
    f"{_LOG}\n{_KEEPER}\nlog.addHandler(Keeper([]))\n---\nlog.info('one')\n---\nlog.info('two')\n---\ny = list(log.handlers[0].kept)",
)
edit(
    "handler-of-its-own-list-edited",
    f"{_LOG}\n{_KEEPER}\nlog.addHandler(Keeper([]))\n---\nlog.info('one')\n---\nlog.info('two')\n---\ny = list(log.handlers[0].kept)",
    "'one'",
    "'uno'",
)
edit(
    "stream-of-no-name",
    f"{_LOG}\nlog.addHandler(logging.StreamHandler(io.StringIO()))\n---\nlog.info('one')\n---\nlog.info('two')\n---\ny = log.handlers[0].stream.getvalue()",
    "'one'",
    "'uno'",
)
unchanged(
    "plain-handler-with-a-name",
    "import logging\nlog = logging.getLogger('small'); log.propagate = False\n---\nh = logging.StreamHandler(); log.addHandler(h)\n---\nx = 1\n---\nlog.removeHandler(h); y = len(log.handlers)",
)
edit(
    "plain-handler-with-a-name-edited",
    "import logging\nlog = logging.getLogger('small'); log.propagate = False\n---\nh = logging.StreamHandler(); log.addHandler(h)\n---\nx = 1\n---\nlog.removeHandler(h); y = len(log.handlers), x",
    "x = 1",
    "x = 2",
)
edit(
    "handler-bound-again",
    f"{_LOG}\nbuf = io.StringIO()\n---\nh = logging.StreamHandler(buf); log.addHandler(h)\n---\nh = logging.StreamHandler(buf)\n---\nlog.addHandler(h)\n---\nlog.info('one'); y = buf.getvalue(), len(log.handlers)",
    "'one'",
    "'uno'",
)
unchanged(
    "method-as-filter",
    f"{_LOG}\nclass Seen:\n    def __init__(self): self.n = 0\n    def check(self, record): self.n += 1; return True\ns = Seen(); log.addHandler(logging.NullHandler())\n---\nlog.addFilter(s.check)\n---\nlog.info('one')\n---\nlog.info('two')\ny = s.n, log.filters[0].__self__ is s",
)
unchanged(
    "function-as-hook",
    "import warnings; warnings.simplefilter('always'); seen = []\n---\ndef hook(m, *a, **k): seen.append(str(m))\nwarnings.showwarning = hook\n---\nwarnings.warn('one')\n---\nwarnings.warn('two')\ny = list(seen)",
)
unchanged(
    "logger-of-own-attributes",
    "import logging\nlog = logging.getLogger('small')\n---\nlog.seen = [1]\n---\nlog.seen.append(2)\n---\ny = log.seen",
)
unchanged(
    "adapter",
    f"{_LOG}\nbuf = io.StringIO(); log.addHandler(logging.StreamHandler(buf))\n---\nad = logging.LoggerAdapter(log, {{'k': 1}})\n---\nad.info('one')\n---\nad.logger.info('two')\ny = buf.getvalue(), ad.logger is log",
)
unchanged(
    "memory-handler",
    f"{_LOG}\nimport logging.handlers\nbuf = io.StringIO(); m = logging.handlers.MemoryHandler(2, target=logging.StreamHandler(buf)); log.addHandler(m)\n---\nlog.info('one')\n---\nlog.info('two')\n---\nlog.info('three')\ny = buf.getvalue(), len(m.buffer)",
)
unchanged(
    "queue-handler",
    f"{_LOG}\nimport logging.handlers, queue\nq = queue.SimpleQueue(); log.addHandler(logging.handlers.QueueHandler(q))\n---\nlog.info('one')\n---\nlog.info('two')\n---\ny = q.qsize(), q.get().getMessage()",
)
unchanged(
    "logging-to-a-file",
    "import logging\nlog = logging.getLogger('small'); log.propagate = False; log.setLevel(10)\nh = logging.FileHandler('small.log', mode='w'); log.addHandler(h)\n---\nlog.info('one')\n---\nlog.info('two')\n---\nh.flush(); y = open('small.log').read()",
)
unchanged(
    "warnings-shown-by-the-notebook",
    "import warnings; warnings.simplefilter('always'); seen = []\n---\nwarnings.showwarning = lambda m, *a, **k: seen.append(str(m))\n---\nwarnings.warn('one')\n---\nwarnings.warn('two')\ny = list(seen)",
)
edit(
    "warnings-shown-by-the-notebook-edited",
    "import warnings; warnings.simplefilter('always'); seen = []\n---\nwarnings.showwarning = lambda m, *a, **k: seen.append(str(m))\n---\nwarnings.warn('one')\n---\nwarnings.warn('two')\n---\ny = list(seen)",
    "'one'",
    "'uno'",
)
unchanged(
    "warning-in-a-library",
    "import warnings; warnings.simplefilter('always'); seen = []\nimport numpy as np\n---\nwarnings.showwarning = lambda m, *a, **k: seen.append(str(m))\n---\na = np.log(np.array([0.0]))\n---\nb = np.array([1.0]) / 0\n---\ny = list(seen)",
)
unchanged(
    "numpy-error-call",
    "import numpy as np\nseen = []\n---\nnp.seterrcall(lambda kind, flag: seen.append(kind)); np.seterr(all='call');\n---\na = np.array([1.0]) / 0\n---\nb = np.log(np.array([0.0]))\ny = list(seen)",
)
unchanged(
    "signal-that-appends",
    "import signal\nhits = []\n---\nsignal.signal(signal.SIGUSR1, lambda *a: hits.append(1));\n---\nsignal.raise_signal(signal.SIGUSR1)\n---\nsignal.raise_signal(signal.SIGUSR1)\ny = len(hits)",
)
unchanged(
    "hook-after-each-cell",
    "ran = []\n---\nget_ipython().events.register('post_run_cell', lambda result: ran.append(result.execution_count))\n---\na = 1\n---\nb = a + 1\n---\ny = len(ran)",
)
unchanged(
    "formatter-that-counts",
    "class P: pass\nshown = []\n---\nget_ipython().display_formatter.formatters['text/plain'].for_type(P, lambda o, p, c: (shown.append(1), p.text('P')))\n---\nP()\n---\nP()\n---\ny = len(shown)",
)
unchanged(
    "trace-of-attribute-sets",
    "seen = []\nclass Base:\n    def __init_subclass__(cls, **k): seen.append(cls.__name__)\n---\nclass A(Base): pass\n---\nclass B(Base): pass\n---\ny = list(seen)",
)
unchanged(
    "converter-that-counts",
    "import sqlite3\nseen = []\nclass P:\n    def __init__(self, x): self.x = x\ndb = sqlite3.connect(':memory:')\n---\nsqlite3.register_adapter(P, lambda p: (seen.append(p.x), p.x)[1])\n---\na = db.execute('select ?', (P(1),)).fetchone()\n---\nb = db.execute('select ?', (P(2),)).fetchone()\ny = a, b, seen",
)

# -- where what a hook holds lies ---------------------------------------------------------------

_QUIET = f"{_LOG}; log.addHandler(logging.NullHandler())"
_TWICE = "log.info('a')\n---\nlog.info('b')\ny = list(seen)"
_WHERE = {
    "closure": "def make(l):\n    def inner(r): return l.append(r.getMessage()) or True\n    return inner\n---\nlog.addFilter(make(seen))",
    "default": "x = 1\n---\nlog.addFilter(lambda r, seen=seen: seen.append(r.getMessage()) or True)",
    "keyword-default": "def flt(r, *, seen=seen): return seen.append(r.getMessage()) or True\n---\nlog.addFilter(flt)",
    "partial": "import functools\ndef flt(seen, r): return seen.append(r.getMessage()) or True\n---\nlog.addFilter(functools.partial(flt, seen))",
    "bound-builtin": "class F:\n    def __init__(self, add): self.add = add\n    def filter(self, r): self.add(r.getMessage()); return True\n---\nlog.addFilter(F(seen.append))",
    "tuple": "class F:\n    def __init__(self, *a): self.a = a\n    def filter(self, r): self.a[0].append(r.getMessage()); return True\n---\nlog.addFilter(F(seen))",
    "slots": "class F:\n    __slots__ = ('l',)\n    def __init__(self, l): self.l = l\n    def filter(self, r): self.l.append(r.getMessage()); return True\n---\nlog.addFilter(F(seen))",
    "deque": "from collections import deque\nclass F:\n    def __init__(self, d): self.d = d\n    def filter(self, r): self.d[0].append(r.getMessage()); return True\n---\nlog.addFilter(F(deque([seen])))",
}  # fmt: skip
for _name, _cells in _WHERE.items():
    unchanged(f"held-in-{_name}", f"{_QUIET}; seen = []\n---\n{_cells}\n---\n{_TWICE}")
unchanged(
    "state-of-a-class",
    f"{_QUIET}\nclass C:\n    n = 0\n    def filter(self, r): type(self).n += 1; return True\n---\nlog.addFilter(C())\n---\nlog.info('a')\n---\nlog.info('b')\ny = C.n",
)
edit(
    "state-of-a-function",
    f"{_QUIET}\ndef f(r): f.n += 1; return True\nf.n = 0\n---\nlog.addFilter(f)\n---\nlog.info('a')\n---\nlog.removeFilter(f); log.info('b'); y = f.n, len(log.filters)",
    "info('b')",
    "info('c')",
)
for _name, _say in {
    "function": "def fit(x): lg.info('fit'); return x",
    "method": "class M:\n    out = lg\n    def fit(self, x): self.out.info('fit'); return x\nfit = M().fit",
    "container": "d = {'x': lg}\ndef fit(x): d['x'].info('fit'); return x",
    "bound": "say = lg.info\ndef fit(x): say('fit'); return x",
    "partial": "import functools\nsay = functools.partial(lg.info, 'fit')\ndef fit(x): say(); return x",
}.items():
    edit(
        f"level-under-a-{_name}",
        f"import io, logging\nlg = logging.getLogger('small'); lg.propagate = False\n{_KEEPER}\nseen = []; lg.addHandler(Keeper(seen))\n---\nlg.setLevel(10)\n---\n{_say}\n---\na = fit(2)\n---\ny = list(seen)",
        "setLevel(10)",
        "setLevel(50)",
    )
edit(
    "renamed-handler",
    f"{_LOG}\n{_KEEPER}\nh = Keeper([]); k = Keeper([])\n---\nlog.addHandler(h)\n---\ng = h\n---\ndel h\n---\nlog.info('a')\ny = len(log.handlers), g.kept, k.kept",
    "log.addHandler(h)",
    "log.addHandler(h); log.addHandler(k)",
)
unchanged(
    "swapped-handlers",
    f"{_LOG}\n{_KEEPER}\na = Keeper([]); b = Keeper([])\n---\nlog.addHandler(a)\n---\na, b = b, a\n---\nlog.info('x')\ny = a.kept, b.kept, log.handlers == [b]",
)
edit(
    "captured-warnings",
    "import io, logging, warnings; warnings.simplefilter('always')\nbuf = io.StringIO(); w = logging.getLogger('py.warnings'); w.propagate = False; w.addHandler(logging.StreamHandler(buf))\n---\nlogging.captureWarnings(False)\n---\nwarnings.warn_explicit('one', UserWarning, 'f.py', 1)\n---\nlogging.captureWarnings(False); y = 'one' in buf.getvalue()",
    "logging.captureWarnings(False)\n---",
    "logging.captureWarnings(True)\n---",
)
unchanged(
    "exceptions-handled",
    "seen = []\ndef handler(self, kind, error, trace, tb_offset=None): seen.append(str(error))\n---\nget_ipython().set_custom_exc((KeyError,), handler)\n---\nx = 1\n---\ny = get_ipython().custom_exceptions, get_ipython().CustomTB is not None; get_ipython().set_custom_exc((), None)",
)
edit(
    "filter-of-warnings-under-a-hook",
    "import warnings, numpy as np\nseen = []; warnings.showwarning = lambda m, *a, **k: seen.append(str(m)[:6])\n---\nwarnings.simplefilter('always')\n---\na = np.array([1.0]) / 0\n---\ny = list(seen)",
    "'always'",
    "'ignore'",
)
unchanged(
    "method-shows-warnings",
    "import warnings; warnings.simplefilter('always')\nclass W:\n    def __init__(self): self.seen = []\n    def show(self, m, *a, **k): self.seen.append(str(m))\n---\nw = W(); warnings.showwarning = w.show\n---\nwarnings.warn('one')\n---\nwarnings.warn('two')\ny = list(w.seen)",
)

# -- parts that another one takes the place of --------------------------------------------------

_KEPT = {
    "item-bound-anew": ("n = {'l': [1]}; string.kept = n['l']", "n['l'] = [3]", "n['l']"),
    "first-taken-away": ("n = [[1], [2]]; string.kept = n[0]", "n.pop(0);", "n[0]"),
    "one-put-before": ("n = [[1], [2]]; string.kept = n[0]", "n.insert(0, [0])", "n[1]"),
    "sorted": ("n = [[2], [1]]; string.kept = n[0]", "n.sort()", "n[1]"),
    "swapped": ("n = {'a': [1], 'b': [2]}; string.kept = n['a']", "n['a'], n['b'] = n['b'], n['a']", "n['b']"),
    "attribute-bound-anew": ("class M: pass\nn = M(); n.x = [1]; string.kept = n.x", "n.x = [3]", "n.x"),
    "part-changed": ("n = {'l': [1]}; string.kept = n['l']", "n['l'].append(2)", "n['l']"),
}  # fmt: skip
for _name, (_make, _change, _part) in _KEPT.items():
    unchanged(
        f"library-keeps-a-part-{_name}",
        f"import string\n{_make}\n---\n{_change}\n---\ny = string.kept, string.kept is {_part}",
    )
unchanged(
    "filter-before-another",
    f"{_QUIET}\n{_COUNTER}\nfs = [Counting()]\n---\nlog.addFilter(fs[0])\n---\nfs.insert(0, Counting())\n---\nlog.info('a')\n---\ny = [f.n for f in fs], log.filters[0] is fs[1]",
)
unchanged(
    "handler-in-a-dictionary-replaced-there",
    f"{_LOG}\n{_KEEPER}\nhs = {{'h': Keeper([])}}\n---\nlog.addHandler(hs['h'])\n---\nhs['h'] = Keeper([0])\n---\nlog.info('a')\n---\ny = hs['h'].kept, log.handlers[0].kept",
)
