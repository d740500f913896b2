"""What cannot be pickled: made again by the statement that made it, or named and left alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nbckpt
from tests.kernels import Kernel, Ran

pytestmark = pytest.mark.sampled(4)

SETUP = """
import httpx, requests, socket, sqlite3, subprocess, threading
def count_to(n):
    for number in range(1, n + 1):
        yield number
seen = []
def noting(n):
    for number in range(n):
        seen.append(number)
        yield number
class Agent:
    def __init__(self, client):
        self.client = client
"""

MADE = """%%checkpoint made
text = open("lines.txt")
first = text.readline()
numbers = count_to(3)
begun = count_to(3); _first = next(begun)
lock = threading.Lock()
plug = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
base = sqlite3.connect("rows.db")
client = httpx.Client(base_url="http://example.invalid/v1", timeout=7.0, headers={"x-of": "test"})
web = requests.Session()
agent = Agent(client)
toolbox = {"web": web, "agents": [agent]}
plain = {"answer": 42}
"""

REFUSED = """%%checkpoint refused
used = noting(3); _first = next(used)
used_alone = noting(3)
_second = next(used_alone)
memory = sqlite3.connect("file::memory:", uri=True)
here, there = socket.socketpair()
server = socket.create_server(("127.0.0.1", 0))
dialled = socket.create_connection(server.getsockname())
written = open("written.txt", "w")
_count = written.write("precious")
written.flush()
child = subprocess.Popen(["sh", "-c", "echo started >> started.txt; sleep 60"])
kept = [1, 2, 3]
"""

NAMED = ("used", "used_alone", "memory", "here", "there", "server", "dialled", "written", "child")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the notebook is, with the file and the database that it reads."""
    import sqlite3

    folder = tmp_path_factory.mktemp("recipes")
    (folder / "lines.txt").write_text("one\ntwo\nthree\n")
    base = sqlite3.connect(folder / "rows.db")
    base.execute("create table rows (n integer)")
    base.execute("insert into rows values (7)")
    base.commit()
    base.close()
    return folder


@pytest.fixture(scope="module")
def outcomes(folder: Path) -> dict[str, Ran]:
    """What was said when the two cells were checkpointed, by a kernel that was then killed."""
    with Kernel(folder) as kernel:
        for source in ("%load_ext nbckpt", SETUP):
            ran = kernel.run(source)
            assert ran.ok, ran.error
        outcomes = {"made": kernel.run(MADE, "made"), "refused": kernel.run(REFUSED, "refused")}
        kernel.run("child.kill(); _ = child.wait()")
        kernel.kill()
    return outcomes


@pytest.fixture(scope="module")
def resumed(folder: Path, outcomes: dict[str, Ran]) -> Iterator[Kernel]:
    """The next kernel, after `%resume`."""
    with Kernel(folder) as kernel:
        kernel.run("%load_ext nbckpt")
        ran = kernel.run("%resume")
        assert ran.ok, ran.error
        yield kernel


@pytest.mark.slow
def test_a_cell_of_clients_files_and_connections_is_kept_whole(outcomes: dict[str, Ran]) -> None:
    ran = outcomes["made"]

    assert ran.ok, ran.error
    assert ran.stderr == ""
    assert ran.notices == []


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("plain", "{'answer': 42}"),
        ("first", r"'one\n'"),
        ("text.read()", r"'two\nthree\n'"),
        ("list(numbers)", "[1, 2, 3]"),
        ("list(begun)", "[2, 3]"),
        ("lock.acquire(blocking=False)", "True"),
        ("(plug.family.name, plug.fileno() > 0)", "('AF_INET', True)"),
        ("base.execute('select n from rows').fetchall()", "[(7,)]"),
        ("(str(client.base_url), client.timeout.read, client.headers['x-of'])",
         "('http://example.invalid/v1/', 7.0, 'test')"),
        ("(type(web).__name__, web.headers['Accept'])", "('Session', '*/*')"),
        ("agent.client is client", "True"),
        ("toolbox['web'] is web and toolbox['agents'][0] is agent", "True"),
        ("type(agent) is Agent", "True"),
    ],
)  # fmt: skip
def test_what_was_made_works_after_the_kernel_was_killed(
    resumed: Kernel, expression: str, value: str
) -> None:
    assert resumed.value(expression) == value


def test_a_client_that_came_back_sends_its_requests(resumed: Kernel) -> None:
    resumed.run(
        "import http.server\n"
        "class Answer(http.server.BaseHTTPRequestHandler):\n"
        "    def do_GET(self):\n"
        "        self.send_response(200); self.end_headers()\n"
        "        self.wfile.write(self.headers['x-of'].encode())\n"
        "    def log_message(self, *_): pass\n"
        "server_ = http.server.HTTPServer(('127.0.0.1', 0), Answer)\n"
        "threading.Thread(target=server_.serve_forever, daemon=True).start()"
    )

    answer = resumed.value(
        "(client.get(f'http://127.0.0.1:{server_.server_port}/').text, "
        "web.get(f'http://127.0.0.1:{server_.server_port}/', headers={'x-of': 'web'}).text)"
    )

    assert answer == "('test', 'web')"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("used", "`used = noting(3)` "),
        ("used_alone", "`used_alone = noting(3)` "),
        ("memory", "its rows are in memory only"),
        ("here", "`here, there = socket.socketpair()`"),
        ("there", "`here, there = socket.socketpair()`"),
        ("server", "socket.create_server"),
        ("dialled", "socket.create_connection"),
        ("written", "open('written.txt', 'w')"),
        ("child", "it is a running process"),
        ("child", "`child = subprocess.Popen("),
    ],
)
def test_what_cannot_be_made_again_is_named_with_its_statement_or_its_reason(
    outcomes: dict[str, Ran], name: str, reason: str
) -> None:
    [notice] = outcomes["refused"].notices
    told = dict(
        part.split(": ", 1) for part in notice.removeprefix("nbckpt: not kept: ").split("; ")
    )

    assert reason in told[name]


def test_only_what_cannot_be_made_again_is_refused(outcomes: dict[str, Ran]) -> None:
    [display] = [d for d in outcomes["refused"].displays if "nbckpt" in d["metadata"]]

    assert outcomes["refused"].ok
    assert sorted(display["metadata"]["nbckpt"]["refused"]) == sorted(NAMED)


def test_what_was_kept_beside_it_comes_back(resumed: Kernel) -> None:
    assert resumed.value("kept") == "[1, 2, 3]"
    assert resumed.value(f"[n for n in {NAMED} if n in globals()]") == "[]"


@pytest.mark.slow
def test_the_resume_names_what_was_not_kept(folder: Path, outcomes: dict[str, Ran]) -> None:
    with Kernel(folder) as kernel:
        kernel.run("%load_ext nbckpt")

        said = "\n".join(kernel.run("%resume").notices)

    for name in NAMED:
        assert f"not kept there: {name}:" in said


@pytest.mark.slow
def test_nothing_outside_is_touched_by_going_back(folder: Path, resumed: Kernel) -> None:
    written = (folder / "written.txt").read_text()
    assert resumed.run("%rewind made").ok
    assert resumed.run("%rewind -").ok

    assert (written, (folder / "written.txt").read_text()) == ("precious", "precious")
    assert (folder / "started.txt").read_text() == "started\n"
    assert (folder / "lines.txt").read_text() == "one\ntwo\nthree\n"


CAME_BACK = {
    "bytes": ("handle = open('data.bin', 'rb')\n_ = handle.read(3)", "handle.read()", "b'def'"),
    "text": (
        "handle = open('data.bin', mode='r', encoding='ascii')\n_ = handle.read(3)",
        "(handle.read(), handle.encoding, handle.name)",
        "('def', 'ascii', 'data.bin')",
    ),
    "path in a variable": ("path = 'data.bin'\nhandle = open(path)", "handle.read(2)", "'ab'"),
    "mode in a variable": (
        "mode = 'rb'\nhandle = open('data.bin', mode)",
        "handle.read(2)",
        "b'ab'",
    ),
    "generator with arguments": (
        "def pages(k=1):\n    yield k\n    yield k + 1\nhandle = pages(k=5)",
        "list(handle)",
        "[5, 6]",
    ),
    "reentrant lock": (
        "import threading\nhandle = threading.RLock()",
        "handle.acquire(blocking=False)",
        "True",
    ),
    "asynchronous client": (
        "import httpx\nhandle = httpx.AsyncClient(base_url='http://example.invalid')",
        "str(handle.base_url)",
        "'http://example.invalid'",
    ),
    "client with spread options": (
        "import httpx\nhow = {'base_url': 'http://example.invalid'}\nhandle = httpx.Client(**how)",
        "str(handle.base_url)",
        "'http://example.invalid'",
    ),
    "generator in use": (
        "def work(xs, k=2):\n    i = 0\n    for x in sorted(xs):\n        i = i + k\n"
        "        yield i, x\nsource = [3, 1, 2]\nhandle = work(source); _ = next(handle)",
        "list(handle)",
        "[(4, 2), (6, 3)]",
    ),
    "nested generators of builtins": (
        "def work(n):\n    yield from zip(range(n), map(str, range(n)))\n"
        "handle = work(3); _ = [next(handle), next(handle)]",
        "list(handle)",
        "[(2, '2')]",
    ),
    "memory": (
        "import sqlite3\npath = ':memory:'\nhandle = sqlite3.connect(path, isolation_level=None)\n"
        "_ = handle.executescript('create table t (a primary key); create view v as select a from t;"
        "pragma foreign_keys=1; pragma user_version=7; insert into t values (1), (null)')\n"
        "handle.row_factory = sqlite3.Row",
        "([r['a'] for r in handle.execute('select a from v')], handle.isolation_level,"
        " handle.execute('pragma foreign_keys').fetchone()[0], handle.in_transaction)",
        "([1, None], None, 1, False)",
    ),
    "memory without anything": (
        "import sqlite3\nhandle = sqlite3.connect(database=':memory:')",
        "handle.execute('select * from sqlite_master').fetchall()",
        "[]",
    ),
    "memory in a transaction": (
        "import sqlite3\nhandle = sqlite3.connect(':memory:')\n"
        "_ = handle.execute('create table t (id integer primary key autoincrement, a)')\n"
        "_ = handle.execute('insert into t (a) values (1)'); handle.commit()\n"
        "_ = handle.execute('insert into t (a) values (?)', ('zero\\0 \\'',))\n"
        "_ = handle.execute('update t set a = 1e999 where id = 1')",
        "(handle.in_transaction, handle.execute('select * from t').fetchall(), handle.rollback(),"
        " handle.in_transaction, handle.execute('select * from t').fetchall())",
        '(True, [(1, inf), (2, "zero\\x00 \'")], None, False, [(1, 1)])',
    ),
    "database with named rows": (
        "import sqlite3\nhandle = sqlite3.connect('new.db')\nhandle.row_factory = sqlite3.Row",
        "handle.execute('select 1 as one').fetchone()['one']",
        "1",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("made", "use", "expected"), CAME_BACK.values(), ids=CAME_BACK)
def test_a_rewind_in_the_same_kernel_makes_it_again(
    shell: Any, made: str, use: str, expected: str
) -> None:
    Path("data.bin").write_text("abcdef")
    assert shell.run_cell(f"%%checkpoint made\n{made}", store_history=True).success
    old = shell.user_ns["handle"]
    shell.run_cell("handle = 'gone'", store_history=True)

    rewound = shell.run_cell("%rewind made", store_history=True)

    new = shell.user_ns["handle"]
    found = repr(eval(use, shell.user_ns))
    for each in (old, new):
        getattr(each, "close", int)()
    assert rewound.success
    assert type(new) is type(old)
    assert new is not old
    assert found == expected


TOO_MUCH = {
    "append": "handle = open('out.txt', 'a')",
    "mode in a variable": "handle = open('out.txt', mode)",
    "mode in a keyword": "handle = open('out.txt', mode=mode)",
    "mode in an expression": "handle = open('out.txt', 'w' + '')",
    "mode in a tuple": "handle = open(*('out.txt', 'w'))",
    "mode in a dict": "handle = open(**{'file': 'out.txt', 'mode': 'w'})",
    "mode in a dict of the notebook": "how = {'mode': 'w'}\nhandle = open('out.txt', **how)",
    "raw file": "import io\nhandle = io.FileIO('out.txt', mode)",
    "mode in a list": "how = ['out.txt', 'r']\nhandle = open(*how)\nhow[1] = 'w'",
    "mode that changed": "how = {}\nhandle = open('out.txt', **how)\nhow['mode'] = 'w'",
    "archive": "import zipfile\nhandle = zipfile.ZipFile('out.txt', mode)",
    "another open": "import io\nhandle = io.open('out.txt', 'w')",
    "method": "import pathlib\nhandle = pathlib.Path('out.txt').open('w')",
    "choice": "handle = open('in.txt') if counted else open('out.txt', 'w')",
    "descriptor": "import os\nhandle = os.fdopen(os.open('out.txt', os.O_RDWR), 'r+')",
    "generator in use": "def work():\n    counted.append(1)\n    yield 1\n"
    "handle = work(); _ = next(handle)",
    "generator over an iterator": "source = iter([1, 2, 3])\n"
    "def work(xs):\n    for x in xs:\n        yield x\nhandle = work(source); _ = next(handle)",
    "generator that was told something": "def work():\n    n = 0\n    while True:\n"
    "        n = yield n\nhandle = work(); _ = next(handle); _ = handle.send(5)",
    "generator that takes long": "def work():\n    n = 0\n    while n < 10_000_000:\n"
    "        n = n + 1\n    yield n\nhandle = work(); _ = next(handle)",
    "hash": "import hashlib\nhandle = hashlib.sha256(b'a')",
    "hash fed by a call": "import hashlib\nhandle = hashlib.md5()\n"
    "handle.update((counted.append(1), b'a')[1])",
    "function": "def opened():\n    counted.append(1)\n    return open('in.txt')\n"
    "handle = opened()",
    "class": "class Door:\n    def __init__(self):\n        counted.append(1)\n"
    "        self.f = open('in.txt')\nhandle = Door()",
    "side effect": "handle = open((counted.append(1), 'in.txt')[1])",
    "assignment inside": "handle = open(name := 'in.txt')",
    "memory with a function": "import sqlite3\nhandle = sqlite3.connect(':memory:')\n"
    "handle.create_function('note', 1, counted.append)",
    "memory that is watched": "import sqlite3\nhandle = sqlite3.connect(':memory:')\n"
    "handle.set_trace_callback(counted.append)",
    "memory and a file": "import sqlite3\nhandle = sqlite3.connect(':memory:')\n"
    "_ = handle.execute('attach \"side.db\" as side')",
    "memory in another class": "import sqlite3\nclass C(sqlite3.Connection):\n"
    "    pass\nhandle = sqlite3.connect(':memory:', factory=C)",
    "tables in a transaction": "import sqlite3\nhandle = sqlite3.connect(':memory:')\n"
    "_ = handle.execute('begin'); _ = handle.execute('create table t (a)')",
    "memory by address": "import sqlite3\nhandle = sqlite3.connect('file::memory:', uri=True)",
    "transaction": "import sqlite3\nhandle = sqlite3.connect('t.db')\n"
    "_ = handle.execute('create table t (a)'); _ = handle.execute('insert into t values (1)')",
    "duckdb in memory": "import duckdb\npath = ':memory:'\nhandle = duckdb.connect(path)",
    "thread": "import threading\ngo = threading.Event()\n"
    "handle = threading.Thread(target=go.wait, daemon=True); handle.start(); _ = counted.append(1)",
    "pending result": "import concurrent.futures, threading\ngo = threading.Event()\n"
    "pool = concurrent.futures.ThreadPoolExecutor(1)\nhandle = pool.submit(go.wait)",
}


@pytest.mark.parametrize("statement", TOO_MUCH.values(), ids=TOO_MUCH)
def test_a_statement_that_may_do_more_than_build_is_never_run_again(
    shell: Any, capsys: pytest.CaptureFixture[str], statement: str
) -> None:
    Path("in.txt").write_text("input")
    Path("out.txt").write_text("before")
    shell.run_cell("counted = []; mode = 'w'", store_history=True)
    capsys.readouterr()

    made = shell.run_cell(f"%%checkpoint made\n{statement}\ngood = 1", store_history=True)
    said = capsys.readouterr().out
    handle, counted = shell.user_ns.pop("handle"), list(shell.user_ns["counted"])
    if (go := shell.user_ns.get("go")) is not None:
        go.set()
        getattr(handle, "join", getattr(handle, "result", int))()
    getattr(getattr(handle, "f", handle), "close", int)()
    Path("out.txt").write_text("precious")
    rewound = shell.run_cell("%rewind made", store_history=True)

    assert made.success
    assert rewound.success
    assert "not kept: handle: " in said
    assert Path("out.txt").read_text() == "precious"
    assert shell.user_ns["counted"] == counted
    assert "handle" not in shell.user_ns
    assert shell.user_ns["good"] == 1


def test_what_is_over_is_kept_as_the_value_that_it_is(shell: Any) -> None:
    shell.run_cell(
        "%%checkpoint made\nimport concurrent.futures, subprocess\n"
        "child = subprocess.Popen(['true']); _ = child.wait()\n"
        "answer = concurrent.futures.Future(); answer.set_result(42)",
        store_history=True,
    )

    values: Any = nbckpt.get("made").values

    assert (values["child"].returncode, values["answer"].result()) == (0, 42)


@pytest.mark.slow
@pytest.mark.parametrize("made", ["open('data.bin')", "httpx.Client(timeout=7.0)"])
def test_what_came_back_is_kept_again_by_the_statement_that_made_it(
    tmp_path: Path, made: str
) -> None:
    (tmp_path / "data.bin").write_text("abcdef")
    cells = ["%resume", "%%checkpoint one\nx = 1", "%%checkpoint two\ny = str(handle)"]

    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt\nimport httpx")
        assert kernel.run(f"handle = {made}").ok
        assert kernel.run("%%checkpoint zero\nz = 0").ok
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        ran = [kernel.run(cell) for cell in cells]
        log = kernel.run("%nbckpt log").stdout
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        resumed = kernel.run("%resume")
        alive = kernel.run("handle.read() if hasattr(handle, 'read') else handle.timeout.read")

    assert all(each.ok for each in ran)
    assert not any("not kept" in notice for each in [*ran, resumed] for notice in each.notices)
    assert alive.result in ("'abcdef'", "7.0"), alive.error
    (line,) = [line for line in log.splitlines() if "  one  " in line]
    assert "handle" not in line


@pytest.mark.slow
def test_a_connection_that_came_back_is_kept_again(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt\nimport sqlite3")
        assert kernel.run("base = sqlite3.connect('rows.db')").ok
        assert kernel.run("%%checkpoint zero\nz = 0").ok
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        ran = [kernel.run(cell) for cell in ("%resume", "%%checkpoint one\nx = 1")]
        kernel.run("%%checkpoint two\nbase = sqlite3.connect('other.db')")
        gone_back = kernel.run("%rewind one")
        back = kernel.run("%%checkpoint three\ny = base.execute('pragma database_list').fetchall()")
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        resumed = kernel.run("%resume")
        file = kernel.run("base.execute('pragma database_list').fetchall()[0][2]")

    notices = [n for each in (*ran, gone_back, back, resumed) for n in each.notices]
    assert not any("not kept" in notice for notice in notices), notices
    assert file.result.strip("'").endswith("rows.db"), file.error


def test_a_coroutine_that_was_not_awaited_is_told_how_to_be(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("async def work():\n    return 1")
    shell.run_cell("%%checkpoint made\nresults = [work()]", store_history=True)
    told = "".join(capsys.readouterr())
    shell.run_cell("results.pop().close()")

    assert "was not awaited: write `await` before it" in told


def test_a_file_that_is_read_line_by_line_is_named(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("lines.txt").write_text("a\nb\n")

    shell.run_cell("%%checkpoint c\nlines = open('lines.txt'); first = next(lines)").raise_error()

    shell.user_ns["lines"].close()
    told = "".join(capsys.readouterr())
    assert "where it stands cannot be told" in told
    assert "defect" not in told


@pytest.mark.slow
def test_a_function_without_a_module_is_a_function_as_any_other(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("def f(): return 1\nf.__module__ = None").raise_error()

    shell.run_cell("%%checkpoint c\ny = f()").raise_error()

    assert "defect" not in "".join(capsys.readouterr())
