"""Process state that a notebook changed: an input of the cells below, an effect of its cell."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.capture.observation import notebooks
from tests.capture.observation.kernels import MARK, run

pytestmark = pytest.mark.sampled(7)

NUMBERS = "import numpy as np, pandas as pd"
LARGE = ("joblib", "sympy")

SETTINGS = {
    "environment": ("import os; os.environ['STATE_K'] = '{}'", "os.environ['STATE_K']", "ab"),
    "environment of children": ("import os; os.putenv('STATE_K', '{}')",
                                "os.popen('echo $STATE_K').read()", "ab"),
    "recursion limit": ("sys.setrecursionlimit({})", "sys.getrecursionlimit()", [3100, 3200]),
    "garbage": ("gc.set_threshold({})", "gc.get_threshold()[0]", [701, 702]),
    "digits": ("sys.set_int_max_str_digits({})", "sys.get_int_max_str_digits()", [5000, 6000]),
    "csv": ("import csv; csv.field_size_limit({})", "csv.field_size_limit()", [999, 9999]),
    "calendar": ("import calendar; calendar.setfirstweekday({})", "calendar.weekheader(2)", [2, 6]),
    "level name": ("import logging; logging.addLevelName(25, '{}')", "logging.getLevelName(25)",
                   ["ONE", "TWO"]),
    "start method": ("import multiprocessing as mp; mp.set_start_method('{}', force=True)",
                     "mp.get_start_method()", ["fork", "spawn"]),
    "timeout": ("import socket; socket.setdefaulttimeout({})", "socket.getdefaulttimeout()", [5, 6]),
    "arguments": ("sys.argv[1:] = ['--k', '{}']",
                  "parser.parse_args().k", "ab"),
    "umask": ("os.umask({})", "os.umask(os.umask(0o22)) or os.umask(0o22)", [0o27, 0o77]),
    "locale": ("import locale; locale.setlocale(locale.LC_ALL, '{}')",
               "locale.setlocale(locale.LC_ALL)", ["C", "C.UTF-8"]),
    "decimal": ("from decimal import *; getcontext().prec = {}", "str(Decimal(1) / 3)", [4, 6]),
    "numpy errors": ("np.seterr(divide='{}')", "np.geterr()['divide']", ["ignore", "raise"]),
    "numpy printing": ("np.set_printoptions(precision={})", "str(np.array([1 / 3]))", [2, 4]),
    "pandas": ("pd.options.display.precision = {}", "str(pd.Series([1 / 3]))", [2, 4]),
    "pandas format": ("pd.set_option('display.float_format', '{{:.{}f}}'.format)",
                      "str(pd.Series([1 / 3]))", [2, 4]),
    "sympy": ("sympy.printing.printer.Printer.set_global_settings(use_unicode={})",
              "sympy.pretty(sympy.sqrt(2))", [True, False]),
    "joblib": ("import joblib; joblib.parallel_config(n_jobs={}).__enter__();",
               "joblib.effective_n_jobs(joblib.parallel.get_active_backend()[1])", [1, 2]),
    "logging": ("import logging; logging.getLogger('a.b').setLevel({})",
                "logging.getLogger('a.b').isEnabledFor(20)", [10, 30]),
    "warnings": ("import warnings; warnings.filterwarnings('{}', message='zzz')",
                 "[f[0] for f in warnings.filters if f[1] and f[1].pattern == 'zzz']",
                 ["ignore", "error"]),
    "context variable": ("cv.set({})", "cv.get()", [1, 2]),
    "shell": ("get_ipython().state_k = {}", "get_ipython().state_k", [1, 2]),
    "list on the shell": ("get_ipython().state_k = [{}]", "get_ipython().state_k[0]", [1, 2]),
    "logger": ("import logging; logging.getLogger('a.b').state_k = {}",
               "logging.getLogger('a.b').state_k", [1, 2]),
    "xmode": ("%xmode {}", "get_ipython().InteractiveTB.mode", ["Plain", "Minimal"]),
    "precision": ("%precision {}", "get_ipython().display_formatter.formatters['text/plain'](1/3)",
                  [2, 4]),
}  # fmt: skip
"""Of each kind: a cell that sets it, what depends on it, and two values."""

SETUP = (
    f"import argparse, contextvars, gc, joblib, os, sympy, sys\n{NUMBERS}\n"
    "cv = contextvars.ContextVar('cv', default=0)\n"
    "parser = argparse.ArgumentParser(); _k = parser.add_argument('--k')"
)


FILTER = "warnings.filterwarnings('{}', message=MESSAGE)"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("above", "setting"),
    [("import colorsys, wave", FILTER), ("", f"import colorsys, wave\n{FILTER}")],
    ids=["before", "in the same cell"],
)
def test_a_filter_is_no_imports_because_something_was_imported(
    tmp_path: Path, above: str, setting: str
) -> None:
    use = "y = [f[0] for f in warnings.filters if f[1] and f[1].pattern == 'zzz']"
    cells = [f"import warnings\n{above}", "MESSAGE = 'zz' + 'z'", setting.format("error"), use]
    edited = [*cells[:2], setting.format("ignore"), use]
    run(tmp_path, cells, "y", mode="skip")

    again = run(tmp_path, cells, "y", mode="skip")
    answer = run(tmp_path, edited, "y", mode="skip")

    assert (again.value, again.restored) == (["error"], [0, 1, 2, 3])
    assert (answer.value, answer.restored) == (["ignore"], [0, 1])


@pytest.mark.slow
@pytest.mark.parametrize("kind", SETTINGS)
def test_a_setting_that_was_edited_is_seen_by_the_cells_below(tmp_path: Path, kind: str) -> None:
    setting, use, (one, other) = SETTINGS[kind]
    first, edited = ([SETUP, setting.format(v), f"{MARK}y = {use}"] for v in (one, other))
    plain = run(tmp_path / "plain", edited, "y", mode="plain", loaded=LARGE).value

    for mode in ("", "skip"):
        run(tmp_path / f"kept {mode}", first, "y", mode=mode, loaded=LARGE)
        answer = run(tmp_path / f"kept {mode}", edited, "y", mode=mode, loaded=LARGE)

        assert (mode, answer.value, answer.errors) == (mode, plain, [])


@pytest.mark.slow
@pytest.mark.parametrize("kind", SETTINGS)
def test_a_restored_cell_sets_what_it_has_set(tmp_path: Path, kind: str) -> None:
    setting, use, (_, value) = SETTINGS[kind]
    cells = [SETUP, f"{MARK}{setting.format(value)}\nk = 1", f"{MARK}y = {use}"]
    plain = run(tmp_path / "plain", cells, f"(y, {use})", mode="plain", loaded=LARGE)
    run(tmp_path, cells, "y", loaded=LARGE)

    answer = run(tmp_path, cells, f"(y, {use})", loaded=LARGE)

    assert answer.value == plain.value
    assert answer.restored == [1, 2]
    assert "set: " in answer.said


@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.parametrize("mode", ["", "skip"])
@pytest.mark.parametrize(
    ("setting", "use"),
    [
        (
            "duckdb.sql(\"set default_order = '{}'\")",
            "duckdb.sql('from (values (1), (2)) t(a) order by a').fetchall()",
        ),
        (
            "duckdb.sql(\"set variable v = '{}'\")",
            "duckdb.sql(\"select getvariable('v')\").fetchall()",
        ),
    ],
)
def test_a_setting_of_the_default_database_is_seen_by_the_cells_below(
    tmp_path: Path, setting: str, use: str, mode: str
) -> None:
    first, edited = (
        ["import duckdb", setting.format(v), f"{MARK}y = {use}"] for v in ("asc", "desc")
    )
    run(tmp_path, first, "y", mode=mode)

    answer = run(tmp_path, edited, "y", mode=mode)

    assert answer.value == run(tmp_path / "plain", edited, "y", mode="plain").value
    assert answer.errors == []


@pytest.mark.slow
def test_what_an_import_sets_is_no_reason_to_run(tmp_path: Path) -> None:
    cells = ["print('first')", "import sklearn.linear_model, matplotlib.pyplot", "print('last')"]

    answer = run(tmp_path, cells, "1", mode="skip", rounds=2)

    assert answer.restored == [0, 1, 2], answer.said


@pytest.mark.slow
@pytest.mark.parametrize("together", [True, False])
def test_what_a_library_puts_into_the_environment_as_it_is_called_is_no_import_s(
    tmp_path: Path, together: bool
) -> None:
    """The first look at a setting of polars imports more of it."""
    load, setting = "import polars as pl", "pl.Config.set_fmt_str_lengths({})"
    first = [f"{load}; {setting}"] if together else [load, setting]
    cells = [*first, "y = str(pl.Series(['abcdefghijkl']))"]
    run(tmp_path, [c.format(5) for c in cells], "y", mode="skip")

    edited = [c.format(9) for c in cells]
    answer = run(tmp_path, edited, "y", mode="skip")

    assert "abcdefghi…" in answer.value


@pytest.mark.slow
def test_a_seed_that_no_checkpoint_holds_has_the_cells_run_that_draw(tmp_path: Path) -> None:
    cells = [
        "import polars as pl",
        "pl.set_random_seed({})",
        "y = pl.Series(range(99)).sample(3).to_list()",
    ]
    folder = tmp_path / "notebook"
    folder.mkdir()
    notebooks.run(folder, [c.format(1) for c in cells])  # polars' threads end in forked processes
    edited = [c.format(2) for c in cells]

    ran = notebooks.run(folder, edited)

    plain = [sys.executable, "-c", "\n".join([*edited, "print(y)"])]
    assert ran[2].value == subprocess.check_output(plain, text=True).strip()
    assert [cell.restored for cell in ran] == [True, False, False]


LOGGED = (
    "import logging, io\nbuf = io.StringIO(); lg = logging.getLogger('se')\n"
    "lg.propagate = False; lg.addHandler(logging.StreamHandler(buf))",
    "lg.warning('a')",
)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["", "skip"])
def test_a_logger_writes_to_the_stream_that_the_notebook_holds(tmp_path: Path, mode: str) -> None:
    cells = [MARK + cell for cell in (*LOGGED, "y = buf.getvalue()")]
    run(tmp_path, cells, "y", mode=mode)

    edited = [*cells[:2], f"{MARK}lg.warning('b'); y = buf.getvalue()"]
    answer = run(tmp_path, edited, "y", mode=mode)

    assert answer.value == "a\nb\n"


@pytest.mark.parametrize(
    "change",
    [
        "lg.handlers = [logging.StreamHandler(buf)]\n"
        "lg.handlers[0].setFormatter(logging.Formatter('{}%(message)s'))",
        "lg.handlers[0].setFormatter(logging.Formatter('{}%(message)s'))",
        "lg.handlers[0].addFilter(lambda r: setattr(r, 'msg', '{}x') or True)",
        "lg.addFilter(lambda r: setattr(r, 'msg', '{}x') or True)",
    ],
)
@pytest.mark.parametrize("mode", ["", "skip"])
def test_a_handler_s_format_and_filters_are_seen_by_the_cells_below(
    tmp_path: Path, change: str, mode: str
) -> None:
    first, edited = (
        [LOGGED[0], change.format(v), f"{MARK}lg.warning('x'); y = buf.getvalue()"] for v in "AB"
    )
    run(tmp_path, first, "y", mode=mode)

    answer = run(tmp_path, edited, "y", mode=mode)

    assert answer.value == "Bx\n"


def test_going_back_gives_a_handler_its_format_again(tmp_path: Path) -> None:
    text = "lg.handlers[0].setFormatter(logging.Formatter('{}%(message)s'))"
    cells = [LOGGED[0], f"%%checkpoint one\n{text.format('A')}", text.format("B")]

    answer = run(tmp_path, [*cells, "%rewind one", "lg.warning('x')"], "buf.getvalue()")

    assert answer.value == "Ax\n"


@pytest.mark.slow
def test_what_a_logger_writes_to_a_file_is_an_effect_of_its_cell(tmp_path: Path) -> None:
    cells = [
        "import logging\nlg = logging.getLogger('sd'); lg.propagate = False\n"
        "hd = logging.FileHandler('lg.txt', mode='w'); lg.addHandler(hd)",
        "lg.warning('a')",
        "k = 1",
        "hd.close(); y = open('lg.txt').read()",
    ]
    run(tmp_path, cells, "y", mode="skip")

    answer = run(tmp_path, cells, "y", mode="skip")

    assert answer.value == "a\n"
    assert 2 in answer.restored


def test_a_logger_writes_to_the_stream_that_a_rewind_brought_back(tmp_path: Path) -> None:
    cells = [f"%%checkpoint one\n{LOGGED[0]}", "lg.warning('a')", "%rewind one", "lg.warning('b')"]

    answer = run(tmp_path, cells, "buf.getvalue()")

    assert answer.value == "b\n"


HOOKS = {
    "a stream of a logger": (
        "import io, logging\nlog = logging.getLogger('se'); log.propagate = False\nb = io.StringIO()",
        "log.addHandler(logging.StreamHandler(b))",
        "log.warning('1')",
        "b.getvalue(), log.handlers[0].stream is b",
        ("1\n", True),
    ),
    "a method that filters": (
        "import logging\nlog = logging.getLogger('se'); log.addHandler(logging.NullHandler())\n"
        "class F:\n    n = 0\n    def check(self, record): self.n += 1; return True\nf = F()",
        "log.addFilter(f.check)",
        "log.warning('1')",
        "f.n, log.filters[0].__self__ is f",
        (1, True),
    ),
    "an object that NumPy calls": (
        "import numpy as np\nclass E:\n    def __init__(self): self.n = 0\n"
        "    def write(self, text): self.n += 1\ne = E()",
        "np.seterrcall(e); np.seterr(all='log');",
        "a = np.array([1.0]) / 0",
        "e.n, np.geterrcall() is e",
        (1, True),
    ),
    "an object that shows warnings": (
        "import warnings; warnings.simplefilter('always')\nclass W:\n"
        "    def __init__(self): self.n = 0\n    def __call__(self, *a, **k): self.n += 1\nw = W()",
        "warnings.showwarning = w",
        "warnings.warn('1')",
        "w.n, warnings.showwarning is w",
        (1, True),
    ),
    "a method that handles a signal": (
        "import signal\nclass S:\n    n = 0\n    def on(self, *a): self.n += 1\ns = S()",
        "signal.signal(signal.SIGUSR1, s.on);",
        "signal.raise_signal(signal.SIGUSR1)",
        "s.n, signal.getsignal(signal.SIGUSR1).__self__ is s",
        (1, True),
    ),
    "a transformer of the shell": (
        "import ast\nclass T(ast.NodeTransformer):\n    n = 0\n"
        "    def visit_Set(self, node): self.n += 1; return node\nt = T()",
        "get_ipython().ast_transformers.append(t)",
        "{1}",
        "t.n, any(each is t for each in get_ipython().ast_transformers)",
        (1, True),
    ),
}
"""What is made, how it is attached, what calls it, what is asked, and the answer."""


@pytest.mark.parametrize("hook", HOOKS)
def test_after_rewinds_a_hook_is_the_object_that_the_notebook_holds(
    tmp_path: Path, hook: str
) -> None:
    make, attach, call, ask, wanted = HOOKS[hook]
    steps = [f"%%checkpoint {n}\n{c}" for n, c in zip("abc", (make, attach, call), strict=True)]
    note = (
        "import nbckpt; nbckpt.NOTED = {c.name: c.id for c in "
        "nbckpt.steps.current_session.session().timeline.checkpoints.values()}; del nbckpt"
    )
    go = "get_ipython().run_line_magic('rewind', __import__('nbckpt').NOTED[{!r}])"
    moves = [note, *map(go.format, "abcab"), call]

    answer = run(tmp_path, [*steps, *moves], ask)

    assert answer.errors == []
    assert tuple(answer.value) == wanted


@pytest.mark.slow
def test_a_sum_is_restored_where_only_tables_are_shown_otherwise(tmp_path: Path) -> None:
    options = "pd.set_option('display.precision', {})"
    cells = [NUMBERS, options.format(3), f"{MARK}s = pd.Series([1, 2]).sum()", f"{MARK}print(s)"]
    run(tmp_path, cells, "1")

    answer = run(tmp_path, [cells[0], options.format(4), *cells[2:]], "1")

    assert answer.restored == [2]


def test_a_folder_of_modules_is_there_before_values_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "statelib.py").write_text("class K:\n    v = 5\n")
    cells = ["import sys; sys.path.append('src')", "import statelib\nk = statelib.K()"]
    run(tmp_path, cells, "k.v", mode="skip")

    resumed = run(tmp_path, ["%resume"], "(k.v, 'src' in sys.path)")

    assert resumed.value == [5, True]
    assert "sys.path src" in resumed.said


def test_going_back_puts_back_what_was_set_since(tmp_path: Path) -> None:
    cells = [
        "import os, sys\nos.mkdir('sub')\nos.environ['STATE_K'] = '1'\nos.chdir('sub')",
        f"{MARK}x = 1",
        "del os.environ['STATE_K']\nos.environ['STATE_L'] = '2'\nos.chdir('..')\n"
        "sys.path.insert(0, 'later')",
        "%rewind c1",
    ]
    ask = (
        "(os.environ.get('STATE_K'), os.environ.get('STATE_L'), os.path.basename(os.getcwd()),"
        " 'later' in sys.path)"
    )

    assert run(tmp_path, cells, ask).value == ["1", None, "sub", False]
    assert run(tmp_path, ["%resume"], f"[__import__('os'), {ask}][1]").value[:3] == [
        *("1", None, "sub")
    ]


def test_a_rewind_of_nothing_but_state_can_be_undone(tmp_path: Path) -> None:
    cells = [
        f"{MARK}import os\nos.environ['STATE_K'] = '1'",
        "os.environ['STATE_K'] = '2'",
        "%rewind c0",
        "seen = os.environ['STATE_K']\nprint(seen)",
        "%rewind -",
    ]

    answer = run(tmp_path, cells, "os.environ['STATE_K']")

    assert "\n1\n" in answer.said
    assert answer.value == "2"


def test_a_secret_is_not_written_and_its_cell_runs(tmp_path: Path) -> None:
    secret = "s3cr3t-value-of-a-key"
    cells = [f"{MARK}import os\nos.environ['STATE_API_KEY'] = 's3cr3t' + '-value-of-a-key'"]
    run(tmp_path, cells, "1")

    again = run(tmp_path, cells, "os.environ['STATE_API_KEY']")
    resumed = run(tmp_path, ["%resume", "%rewind c0"], "os.environ.get('STATE_API_KEY')")

    assert again.value == secret
    assert again.restored == []
    assert resumed.value is None
    assert resumed.said.count("NOT environment STATE_API_KEY") == 1
    stored = (p.read_bytes() for p in (tmp_path / ".nbckpt").rglob("*") if p.is_file())
    assert not any(secret.encode() in data for data in stored)


def test_a_function_that_cannot_be_set_makes_its_cell_run(tmp_path: Path) -> None:
    cells = [f"{MARK}import signal\n_ = signal.signal(signal.SIGUSR1, lambda *a: None)"]
    run(tmp_path, cells, "1")

    answer = run(tmp_path, cells, "callable(signal.getsignal(signal.SIGUSR1))")

    assert answer.value is True
    assert answer.restored == []
    assert "it sets signal SIGUSR1, which cannot be set from a record" in answer.said


HANDLED = [
    f"{MARK}hits = []\ndef on(*_): hits.append(1)",
    f"{MARK}import signal\n_ = signal.signal(signal.SIGUSR1, on)",
    f"{MARK}k = 1",
]
RAISED = "[signal.raise_signal(signal.SIGUSR1), signal.getsignal(signal.SIGUSR1) is on, hits][1:]"


@pytest.mark.parametrize("mode", ["", "skip"])
def test_a_handler_that_is_a_variable_comes_back_with_it(tmp_path: Path, mode: str) -> None:
    run(tmp_path, HANDLED, "1", mode=mode)

    resumed = run(tmp_path, ["%resume", "import signal"], RAISED, mode=mode)
    answer = run(tmp_path, HANDLED, RAISED, mode=mode)

    assert resumed.value == [True, [1]]
    assert answer.value == [True, [1]]
    assert answer.restored == [0, 1, 2], answer.said


@pytest.mark.slow
def test_a_handler_whose_function_is_another_now_stays_the_one_that_was_set(
    tmp_path: Path,
) -> None:
    other = "def on(*_): hits.append(2)"
    run(tmp_path, [*HANDLED, other], "1")

    answer = run(tmp_path, [*HANDLED, other], RAISED)

    assert answer.value == [False, [1]]


def test_a_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    run(tmp_path, ["import os; os.mkdir('sub'); os.chdir('sub')", f"{MARK}x = 1"], "1")
    (tmp_path / "sub").rmdir()

    answer = run(tmp_path, ["%resume"], "x")

    assert answer.value == 1
    assert "NOT working folder" in answer.said


def test_setting_the_same_again_is_no_reason_to_run(tmp_path: Path) -> None:
    cells = [f"{MARK}import pandas as pd\npd.set_option('display.precision', 3)\nprint(1)"]

    answer = run(tmp_path, cells, "1", rounds=2)

    assert answer.restored == [0]


def test_a_counter_in_the_environment_goes_on(tmp_path: Path) -> None:
    cells = [f"{MARK}import os\nos.environ['N'] = str(int(os.environ.get('N', 0)) + 1)"]

    assert run(tmp_path, cells, "os.environ['N']", rounds=3).value == "3"


def test_magics_hold_after_a_restored_cell(tmp_path: Path) -> None:
    # Without `%matplotlib`, which a shell that is no kernel refuses where pyplot is loaded already.
    cells = [f"{MARK}%precision 3\n%alias hi echo hi\n%env STATE_K=1\nx = 1"]
    ask = (
        "(get_ipython().display_formatter.formatters['text/plain'].float_format,"
        " 'hi' in dict(get_ipython().alias_manager.aliases),"
        " __import__('os').environ['STATE_K'])"
    )
    first = run(tmp_path, cells, ask)

    again = run(tmp_path, cells, ask)

    assert again.restored == [0], again.said
    assert again.value == first.value
    assert first.value == ["%.3f", True, "1"]


@pytest.mark.slow
def test_a_style_is_named_in_one_word(tmp_path: Path) -> None:
    cells = [f"{MARK}import matplotlib.pyplot as plt\nplt.style.use('ggplot')"]
    run(tmp_path, cells, "1")

    answer = run(tmp_path, cells, "plt.rcParams['axes.facecolor']")

    assert answer.value == "#E5E5E5"
    assert "settings)" in answer.said


def test_a_cell_that_changes_nothing_records_nothing(tmp_path: Path) -> None:
    run(tmp_path, [f"{MARK}x = 1"], "1")

    journals = (tmp_path / ".nbckpt").rglob("*.jsonl")
    records = [json.loads(line) for p in journals for line in p.read_text().splitlines()]

    assert [r.get("observed") for r in records if r.get("kind") == "checkpoint"] == [None]


READS = {
    "pandas": ("import pandas as pd", "pd.set_option('display.float_format', lambda x: f'{x:.{k}f}')",
               "str(pd.Series([1.2345]))"),
    "pandas, a function": ("import pandas as pd\ndef shown(x): return str(k)",
                           "pd.set_option('display.float_format', shown)", "str(pd.Series([1.2345]))"),
    "numpy": ("import numpy as np", "np.set_printoptions(formatter={'float_kind': lambda x: f'{x:.{k}f}'})",
              "str(np.array([1.2345]))"),
    "numpy errors": ("import numpy as np\nlog = []", "def h(*a): log.append(k)\nnp.seterrcall(h)\n"
                     "np.seterr(divide='call');", "[np.array([1.]) / 0, *log][1:]"),
    "filter": ("import io, logging\nb = io.StringIO(); lg = logging.getLogger('z'); lg.propagate = False\n"
               "lg.addHandler(logging.StreamHandler(b))", "lg.addFilter(lambda r: str(k) in r.msg);",
               "lg.warning('1') or lg.warning('2') or b.getvalue()"),
    "formatter": ("import io, logging\nclass F(logging.Formatter):\n"
                  "    def format(self, r): return f'{k} {r.msg}'\n"
                  "b = io.StringIO(); lg = logging.getLogger('z'); lg.propagate = False",
                  "hd = logging.StreamHandler(b); hd.setFormatter(F()); lg.addHandler(hd)",
                  "lg.warning('a') or b.getvalue()"),
}  # fmt: skip
"""Of each: a library, code of the notebook in its settings that reads `k`, and what calls it."""


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["", "skip"])
@pytest.mark.parametrize("kind", READS)
def test_what_the_code_in_a_setting_reads_counts(tmp_path: Path, kind: str, mode: str) -> None:
    setup, setting, use = READS[kind]
    one, other = ([setup, f"k = {k}", setting, f"{MARK}y = {use}"] for k in (1, 2))
    run(tmp_path, one, "y", mode=mode)

    answer = run(tmp_path, other, "y", mode=mode)

    assert answer.value == run(tmp_path / "plain", other, "y", mode="plain").value
    assert answer.errors == []


def test_a_cell_below_code_in_a_setting_is_restored_while_that_reads_the_same(
    tmp_path: Path,
) -> None:
    setup, setting, use = READS["pandas"]
    cells = [setup, "k = 2", setting, f"{MARK}y = {use}"]
    first = run(tmp_path, cells, "y")

    again = run(tmp_path, cells, "y")

    assert (again.value, again.restored) == (first.value, [3])


def test_what_a_name_was_bound_to_before_makes_no_step_depend_on_a_setting(tmp_path: Path) -> None:
    shows = "class Shows:\n    def text(self): return f'{self.k}'\nv, k = Shows(), 2"
    cells = ["import numpy as np\nnp.set_printoptions(precision=3)", shows, "v = k + 1"]
    run(tmp_path, cells, "v", mode="skip")

    again = run(tmp_path, cells, "v", mode="skip")

    assert again.restored == [0, 1, 2]


@pytest.mark.slow
def test_a_filter_whose_message_is_made_on_the_spot_is_seen(tmp_path: Path) -> None:
    use = "def f(t):\n    try: warnings.warn(t)\n    except UserWarning: return 1\n    return 0"
    one = "warnings.filterwarnings('error', message='foo')"
    cells = ["import warnings", one, use, "y = f('bar')"]
    other = f"{one}\nwarnings.filterwarnings('error', message='ba' + 'r')"
    run(tmp_path, cells, "y", mode="skip")

    answer = run(tmp_path, ["import warnings", other, use, "y = f('bar')"], "y", mode="skip")

    assert (answer.value, answer.errors) == (1, [])


@pytest.mark.slow
def test_a_shell_without_figures_has_no_formats_of_them(tmp_path: Path) -> None:
    rc = "plt.rc('figure', figsize=(5, 5))"
    cells = [f"import matplotlib; matplotlib.use('agg')\nimport matplotlib.pyplot as plt\n{rc}"]
    cells += ["x = 1", "f = plt.figure()", "ax = f.subplots()"]
    run(tmp_path, cells, "x", mode="skip")

    assert run(tmp_path, cells, "x", mode="skip").restored == [0, 1, 2, 3]


@pytest.mark.slow
def test_a_librarys_enumerated_value_is_set_again(tmp_path: Path) -> None:
    rc = "from matplotlib import pyplot as plt\nplt.rcParams['lines.solid_capstyle'] = 'round'"
    cells = [
        "import matplotlib; matplotlib.use('agg')",
        rc,
        "y = plt.rcParams['lines.solid_capstyle']",
    ]
    run(tmp_path, cells, "y", mode="skip")

    again = run(
        tmp_path, [*cells[:2], "y = repr(plt.rcParams['lines.solid_capstyle'])"], "y", mode="skip"
    )

    assert again.restored == [0, 1]
    assert again.value == "<CapStyle.round: 'round'>"
