"""Earlier results and inputs: `_`, `__`, `Out`, `In`, and what IPython keeps of them."""

from __future__ import annotations

from tests.bench.small_notebooks.notebook import Category

HISTORY = Category("history")
add, edit = HISTORY.unchanged, HISTORY.edit

add("underscore", "21 * 2\n---\ny = _ + 1")
add("underscore-shown", "21 * 2\n---\n_ + 1\n---\ny = _")
add("two-underscores", "1\n---\n2\n---\ny = _, __")
add("three-underscores", "1\n---\n2\n---\n3\n---\ny = _, __, ___")
add("underscore-number", "21 * 2\n---\ny = _1")
add("out-item", "21 * 2\n---\ny = Out[1]")
add("out-get", "21 * 2\n---\ny = Out.get(1)")
add("out-keys", "21 * 2\n---\nx = 1\n---\ny = sorted(Out)")
add("out-frame", "import pandas as pd\npd.DataFrame({'a': [1, 2]})\n---\ny = int(_.a.sum())")
add("out-array", "import numpy as np\nnp.arange(4)\n---\ny = _.tolist()")
add("out-same-object", "x = [1]\nx\n---\ny = _ is x, Out[1] is x")
add("out-mutated", "x = [1]\nx\n---\nx.append(2)\n---\ny = Out[1]")
add(
    "out-own-instance",
    "class C:\n    def __repr__(s): return 'C()'\nC()\n---\ny = isinstance(_, C)",
)
add("out-generator", "(i for i in range(3))\n---\ny = list(_)")
add("out-file", "open('o.txt', 'w')\n---\n_.write('x'); _.close(); y = open('o.txt').read()")
add("out-lambda", "lambda a: a + 1\n---\ny = _(1)")
add("out-none", "None\n---\ny = Out.get(1, 'nothing')")
add("out-quiet", "5;\n---\ny = Out.get(1, 'nothing')")
add("out-quiet-underscore", "4\n---\n5;\n---\ny = _")
add("out-large", "list(range(1000))\n---\ny = sum(_)")
add(
    "out-figure",
    "import matplotlib.pyplot as plt\nfig = plt.figure(); plt.close(fig)\nfig\n---\ny = _ is fig",
)
add("out-polars", "import polars as pl\npl.DataFrame({'a': [1]})\n---\ny = _['a'].sum()")
add("out-tensor", "import torch\ntorch.ones(2)\n---\ny = _.sum().item()")
add("out-sympy", "import sympy\nsympy.Symbol('x') + 1\n---\ny = str(_ * 2)")
add("out-in-function", "def last(): return get_ipython().user_ns['_']\n7\n---\n8\n---\ny = last()")
add("binary-of-underscore", "10\n---\nbin(_)\n---\ny = __, _")
add("chain", "2\n---\n_ * 3\n---\n_ * 4\n---\ny = _")
add("underscore-assigned", "_ = 5\n---\n6\n---\ny = _")
add("underscore-as-variable", "a, _ = 1, 2\n---\ny = _")
add("underscore-in-loop", "for _ in range(3):\n    pass\n---\ny = _")
add("underscore-gettext", "import gettext\n_ = gettext.gettext\n---\ny = _('a')")
add("in-item", "x = 1\n---\ny = In[1].splitlines()[-1]")
add("in-last", "x = 1\n---\ny = _i.splitlines()[-1]")
add("in-second", "x = 1\n---\nz = 2\n---\ny = _ii.splitlines()[-1]")
add("in-number", "x = 1\n---\ny = _i1.splitlines()[-1]")
add("in-length", "x = 1\n---\ny = len(In)")
add("execution-count", "x = 1\n---\ny = get_ipython().execution_count")
add(
    "history-manager",
    "x = 1\n---\ny = get_ipython().history_manager.input_hist_raw[-2].splitlines()[-1]",
)
add("history-magic", "x = 1\n---\n%history -n 1\ny = 1")
add("macro", "x = 1\n---\n%macro -q again 1\n---\nx = 5\n---\nagain\ny = x")
add("recall", "x = 1\n---\n%recall 1\ny = 1")
add("store-magic", "x = [1]\n---\n%store x\n---\ndel x\n---\n%store -r x\ny = x")
add("capture", "%%capture cap\nprint('a')\n---\ny = cap.stdout")
add("capture-shown", "%%capture cap\nprint('a'); display(3)\n---\ncap.show()\ny = len(cap.outputs)")
add(
    "last-traceback",
    "try:\n    1 / 0\nexcept ZeroDivisionError:\n    import traceback; text = traceback.format_exc(limit=0)\n---\ny = text.splitlines()[-1]",
)
add("sys-last-value", "1 / 0\n---\nimport sys\ny = type(sys.last_value).__name__")
add("exit-code", "!false\n---\ny = _exit_code")
add("bash-exit", "%%bash --err e --out o\necho a; echo b >&2\n---\ny = o, e")
add("directory-history", "%cd -q .\n---\ny = len(_dh) > 0")
add("dunder-session", "x = 1\n---\ny = '_oh' in globals(), _oh is Out")
add("name-mangled-doc", "'''text'''\n---\ny = _")
edit("edited-shown", "20 + 1\n---\ny = _ * 2", "20 + 1", "20 + 2")
edit("edited-out", "20 + 1\n---\nz = 5\n---\ny = Out[1] * 2", "20 + 1", "20 + 2")
edit("edited-now-quiet", "3\n---\n20 + 1\n---\ny = _", "20 + 1", "x = 20 + 1")
edit("edited-in", "x = 1 + 1\n---\ny = In[1]", "1 + 1", "1 + 2")
edit("edited-in-comment", "x = 1  # one\n---\ny = In[1]", "# one", "# two")
edit("edited-captured", "%%capture cap\nprint('a')\n---\ny = cap.stdout", "'a'", "'b'")
edit("edited-exit-code", "!true\n---\ny = _exit_code", "!true", "!false")
edit("edited-lambda-shown", "lambda: 1\n---\ny = _()", "lambda: 1", "lambda: 2")
