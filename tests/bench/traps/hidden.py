"""Changes by code that the cell does not show: exec, magics, callbacks, threads, tasks, dice."""

from __future__ import annotations

from tests.bench.traps.trap import SHARED, Trap

LIST = "xs = [1]"
NOTED = "log = []\ndef note(x):\n    log.append(x)\n    return x"

TRAPS = [
    Trap("exec", [LIST], ["exec('xs.append(2); y = 1')"], "xs == [1] and 'y' not in globals()"),
    Trap("eval", [LIST], ["eval('xs.append(2)')"], "xs == [1]"),
    Trap(
        "compiled",
        [LIST, "code = 'xs.append(2)'"],
        ["exec(compile(code, 'c', 'exec'))"],
        "xs == [1]",
    ),
    Trap("globals-update", ["x = 1"], ["globals().update(x=5)"], "x == 1"),
    Trap(
        "locals",
        [LIST],
        ["locals()['xs'].append(2); locals()['y'] = 1"],
        "xs == [1] and 'y' not in globals()",
    ),
    Trap("vars", [LIST], ["vars()['xs'].append(2)"], "xs == [1]"),
    Trap("main-module", [LIST], ["import __main__\n__main__.xs.append(2)"], "xs == [1]"),
    Trap(
        "main-by-name",
        [LIST],
        ["import sys\nsys.modules['__main__'].xs.append(2)"],
        "xs == [1]",
    ),
    Trap("shell-namespace", [LIST], ["get_ipython().user_ns['xs'].append(2)"], "xs == [1]"),
    Trap("frame", [LIST], ["import sys\nsys._getframe().f_globals['xs'].append(2)"], "xs == [1]"),
    Trap(
        "garbage-collector",
        ["xs = ['only here']"],
        [
            "import gc\nfor o in gc.get_objects():\n"
            "    if type(o) is list and o[:1] == ['only here']:\n        o.append(2)\ndel o"
        ],
        "xs == ['only here']",
    ),
    Trap("magic-line", ["%time x = [1]"], ["%time x.append(2)"], "x == [1]"),
    Trap("magic-cell", [LIST], ["%%capture out\nxs.append(2)"], "xs == [1]"),
    Trap(
        "magic-run",
        [LIST, "_ = open('script.py', 'w').write('xs.append(2)')"],
        ["%run -i script.py"],
        "xs == [1]",
    ),
    Trap(
        "magic-of-ones-own",
        [
            LIST,
            "from IPython.core.magic import register_line_magic\n"
            "@register_line_magic\ndef grow(line):\n    xs.append(2)",
        ],
        ["%grow"],
        "xs == [1]",
    ),
    Trap("callback-of-sorted", [NOTED], ["_ = sorted([2, 1], key=note)"], "log == []"),
    Trap(
        "callback-of-a-frame",
        [SHARED, NOTED, "s = pd.Series([1, 2])"],
        ["_ = s.map(note)"],
        "log == []",
    ),
    Trap("callback-of-a-lazy-map", [NOTED, "m = map(note, [1, 2])"], ["next(m)"], "log == []"),
    Trap(
        "property",
        ["log = []\nclass P:\n    @property\n    def x(self):\n        log.append(1)", "p = P()"],
        ["p.x"],
        "log == []",
    ),
    Trap(
        "operator",
        ["log = []\nclass A:\n    def __add__(self, o):\n        log.append(1)", "a = A()"],
        ["a + 1"],
        "log == []",
    ),
    Trap(
        "context",
        [
            "log = []\nclass C:\n    def __enter__(self):\n        log.append(1)\n"
            "    def __exit__(self, *e):\n        pass",
            "c = C()",
        ],
        ["with c:\n    pass"],
        "log == []",
    ),
    Trap(
        "finaliser",
        ["log = []\nclass D:\n    def __del__(self):\n        log.append(1)", "d = [D()]"],
        ["d.clear()"],
        "log == [] and len(d) == 1",
    ),
    Trap(
        "callback-between-cells",
        [
            "xs = []\ndef tick(info):\n    xs.append(1)\n"
            "get_ipython().events.register('pre_run_cell', tick)",
            "one = 1",
            "two = 2",
        ],
        ["get_ipython().events.unregister('pre_run_cell', tick)", "xs.append(9)"],
        "xs == [1, 1]",
    ),
    Trap(
        "thread-joined",
        [
            "import threading, time\nxs = [0]\ndef work():\n    time.sleep(0.1); xs.append(1)",
            "t = threading.Thread(target=work); t.start()",
            "t.join()",
        ],
        ["xs.append(9)"],
        "xs == [0, 1]",
    ),
    Trap(
        "thread-between-cells",
        [
            "import threading, time\nxs = [0]\ndef work():\n    time.sleep(0.05); xs.append(1)",
            "threading.Thread(target=work).start()",
            "later = 1",
        ],
        ["xs.append(9)"],
        "xs == [0, 1]",
        pause_s=0.25,
    ),
    Trap(
        "thread-in-an-array",
        [
            SHARED + ", threading, time",
            "a = np.zeros(1_000_000)\ndef work():\n    time.sleep(0.05); a[5] = 1",
            "threading.Timer(0, work).start()",
            "later = 1",
        ],
        ["a[6] = 9"],
        "a[5] == 1 and a.sum() == 1",
        pause_s=0.25,
    ),
    Trap(
        "task-between-cells",
        [
            "import asyncio\nxs = [0]\nasync def work():\n"
            "    await asyncio.sleep(0.01); xs.append(1)",
            "task = asyncio.create_task(work())\nawait asyncio.sleep(0)",
            "await asyncio.sleep(0.05)",
        ],
        ["xs.append(9)"],
        "xs == [0, 1]",
    ),
    Trap(
        "top-await",
        ["import asyncio\nv = 1"],
        ["await asyncio.sleep(0)\nv = 2"],
        "v == 1",
    ),
    Trap(
        "numpy-dice",
        [SHARED, "np.random.seed(0); r = np.random.rand()"],
        ["s = np.random.rand()"],
        "abs(t - 0.7151893663724195) < 1e-12",
        after=("t = np.random.rand()",),
    ),
    Trap(
        "python-dice",
        ["import random\nrandom.seed(0); r = random.random()"],
        ["s = random.random()"],
        "abs(t - 0.7579544029403025) < 1e-12",
        after=("t = random.random()",),
    ),
    Trap(
        "dice-of-ones-own",
        ["import random\ndice = random.Random(3); _ = dice.random()"],
        ["dice.random()"],
        "dice.random() == [r.random() for r in [random.Random(3)] for _ in 'ab'][1]",
    ),
]
