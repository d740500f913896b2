"""Cells that raise half-way, and what is left of what they did."""

from __future__ import annotations

from tests.bench.small_notebooks.notebook import Category, SmallNotebook

EXCEPTIONS = Category("exceptions")
add = EXCEPTIONS.unchanged

add("list-half-filled", "a = []\n---\na.append(1); 1 / 0; a.append(2)\n---\ny = a")
add("variable-half-bound", "a = 0\n---\na = 1; 1 / 0; a = 2\n---\ny = a")
add("new-variable", "x = 0\n---\nnew = 5; 1 / 0\n---\ny = new")
add(
    "loop-stopped",
    "a = []\n---\nfor i in range(5):\n    a.append(i)\n    if i == 2: raise ValueError\n---\ny = a, i",
)
add(
    "file-half-written",
    "x = 0\n---\nf = open('h.txt', 'w'); f.write('a'); f.flush(); 1 / 0\n---\nf.close(); y = open('h.txt').read()",
)
add(
    "frame-half-changed",
    "import pandas as pd\ndf = pd.DataFrame({'a': [1]})\n---\ndf['b'] = 2; df['c'] = df['nothing']\n---\ny = list(df)",
)
add(
    "array-half-changed",
    "import numpy as np\na = np.zeros(3)\n---\na[0] = 1; a[5] = 1\n---\ny = a.tolist()",
)
add("function-redefined", "def f(): return 1\n---\ndef f(): return 2\n1 / 0\n---\ny = f()")
add("class-half-patched", "class C: pass\n---\nC.k = 1; 1 / 0\n---\ny = C.k")
add("deleted-then-raised", "a = 1\n---\ndel a; 1 / 0\n---\ny = 'a' in globals()")
add(
    "option-then-raised",
    "import pandas as pd\n---\npd.set_option('display.precision', 3); 1 / 0\n---\ny = pd.get_option('display.precision')",
)
add(
    "seed-then-raised",
    "import random\n---\nrandom.seed(1); random.random(); 1 / 0\n---\ny = random.random()",
)
add("generator-advanced", "it = iter([1, 2, 3])\n---\nnext(it); 1 / 0\n---\ny = next(it)")
add("in-function", "a = []\ndef f(): a.append(1); raise KeyError('k')\n---\nf()\n---\ny = a")
add(
    "nested-call",
    "a = []\ndef g(): a.append(2); raise KeyError\ndef f():\n    a.append(1); g()\n---\nf()\n---\ny = a",
)
add(
    "recursion-error",
    "a = []\ndef f(n):\n    a.append(n); f(n + 1)\n---\ntry:\n    f(0)\nexcept RecursionError:\n    pass\ny = len(a) > 100",
)
add("syntax-error", "a = 1\n---\na = 2; def\n---\ny = a")
add("indentation-error", "a = 1\n---\nif a:\na = 2\n---\ny = a")
add("name-error", "a = 1\n---\na = 2\nundefined_name\n---\ny = a")
add("import-error", "a = 1\n---\na = 2\nimport small_not_there\n---\ny = a")
add("assertion", "a = 1\n---\na += 1; assert a == 1\n---\ny = a")
add(
    "system-exit",
    "a = 1\n---\na = 2\ntry:\n    raise SystemExit\nexcept SystemExit:\n    pass\n---\ny = a",
)
add("keyboard-interrupt", "a = [0]\n---\na.append(1); raise KeyboardInterrupt\n---\ny = a")
add(
    "real-interrupt",
    "a = [0]\n---\nimport signal\na.append(1); signal.raise_signal(signal.SIGINT)\na.append(2)\n---\ny = a",
)
add("stop-iteration", "it = iter([])\n---\na = 1; next(it)\n---\ny = a")
add(
    "exception-group",
    "a = []\n---\na.append(1); raise ExceptionGroup('g', [ValueError(), KeyError()])\n---\ny = a",
)
add("own-exception", "class E(Exception): pass\n---\na = 1; raise E('x')\n---\ny = a")
add(
    "exception-chained",
    "a = 0\n---\ntry:\n    1 / 0\nexcept ZeroDivisionError as e:\n    a = 1; raise ValueError('v') from e\n---\ny = a",
)
add("finally-ran", "a = []\n---\ntry:\n    1 / 0\nfinally:\n    a.append('f')\n---\ny = a")
add(
    "exception-kept",
    "x = 1\n---\ntry:\n    1 / 0\nexcept ZeroDivisionError as e:\n    err = e\n---\ny = repr(err)",
)
add(
    "traceback-locals",
    "def f():\n    inner = 7; 1 / 0\n---\ntry:\n    f()\nexcept ZeroDivisionError as e:\n    tb = e.__traceback__\n---\ny = tb.tb_next.tb_frame.f_locals['inner']",
)
add(
    "async-raises",
    "import asyncio\na = []\n---\na.append(1); await asyncio.sleep(0); raise ValueError\n---\ny = a",
)
add(
    "thread-raises",
    "import threading\na = []\ndef w(): a.append(1); raise ValueError\n---\nimport threading as th\nth.excepthook = lambda x: None\nt = th.Thread(target=w); t.start(); t.join(); del t\n---\ny = a",
)
add("magic-raises", "a = 1\n---\na = 2\n%nosuchmagic\n---\ny = a")
add(
    "bash-raises", "a = 1\n---\n%%bash\necho x > half.txt; exit 3\n---\ny = open('half.txt').read()"
)
add(
    "raises-then-same-succeeds",
    "import os\n---\nif not os.path.exists('once'):\n    open('once', 'w').close(); raise ValueError\ny = 5\n---\nz = 1",
    "globals().get('y')",
)
add("display-then-raises", "x = 1\n---\ndisplay(1); 1 / 0\n---\ny = x")
add(
    "repr-raises-late",
    "class P:\n    def __repr__(s): raise ValueError\na = []\n---\na.append(1); P()\n---\ny = a",
)
add("oom-like", "a = 1\n---\na = 2; raise MemoryError\n---\ny = a")
add(
    "unraisable",
    "class D:\n    def __del__(s): raise ValueError\nd = D()\n---\nd = None\n---\ny = d",
)

_MENDED = {
    "cell-mended": ("a = []", "a.append(1); 1 / 0", "a.append(1)", "y = a"),
    "cell-broken": ("a = []", "a.append(1)", "a.append(1); 1 / 0", "y = a"),
    "cause-mended": ("d = 0", "d = 0; a = 1", "d = 2; a = 1", "try:\n    y = a / d\nexcept ZeroDivisionError:\n    y = 'zero'"),
    "raise-kind-edited": ("a = []", "def f(): raise ValueError", "def f(): raise KeyError", "try:\n    f()\nexcept ValueError:\n    y = 'v'\nexcept KeyError:\n    y = 'k'"),
    "caught-more": ("ERR = (ValueError,)", "ERR = (ValueError,)", "ERR = (ValueError, KeyError)", "try:\n    {}['k']\nexcept ERR:\n    y = 'caught'\nexcept KeyError:\n    y = 'not'"),
    "half-way-value": ("a = 0", "a = 1; int('x'); a = 9", "a = 2; int('x'); a = 9", "y = a"),
    "half-way-list": ("a = []", "for i in [1, 0]:\n    a.append(1 / i)", "for i in [2, 0]:\n    a.append(1 / i)", "y = a"),
    "half-way-function": ("def f(): return 0", "def f(): return 1\nint('x')", "def f(): return 2\nint('x')", "y = f()"),
    "half-way-attribute": ("class C: pass\nc = C()", "c.k = 1; int('x')", "c.k = 2; int('x')", "y = c.k"),
    "half-way-file": ("x = 1", "open('hw', 'w').write('1'); int('x')", "open('hw', 'w').write('2'); int('x')", "y = open('hw').read()"),
    "half-way-option": ("import numpy as np", "np.set_printoptions(precision=3); int('x')", "np.set_printoptions(precision=5); int('x')", "y = str(np.array([1 / 3]))"),
    "half-way-environ": ("import os", "os.environ['SMALL_H'] = '1'; int('x')", "os.environ['SMALL_H'] = '2'; int('x')", "y = os.environ['SMALL_H']"),
}  # fmt: skip
for _name, (_before, _first, _second, _use) in _MENDED.items():
    EXCEPTIONS.add(
        SmallNotebook(
            "exceptions", f"edited-{_name}", (_before, _first, _use), (_before, _second, _use)
        )
    )
