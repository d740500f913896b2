"""What lives in a process: exceptions, weak references, tasks, threads, files, connections."""

from __future__ import annotations

from tests.fidelity.cases import Case

TITLE = "Python: exceptions, references, tasks, files, connections"

_EXCEPTIONS = (
    Case(
        "exceptions with traceback, cause and notes",
        """
def inner(n):
    raise ValueError("bad", n)
def outer():
    try:
        inner(5)
    except ValueError as error:
        raise KeyError("outer") from error
try:
    outer()
except KeyError as error:
    x = error
    x.add_note("a note")
    x.extra = [1]
""",
        check="""
import traceback
same(x, y)
assert str(x.__cause__) == "('bad', 5)" and x.__suppress_context__ and x.__notes__ == ["a note"]
lines = lambda e: [(f.name, f.lineno, f.line) for f in traceback.extract_tb(e.__traceback__)]
assert lines(x) == lines(y) and lines(x.__cause__) == lines(y.__cause__)
assert [f.name for f in traceback.extract_tb(x.__cause__.__traceback__)] == ["outer", "inner"]
assert isinstance(x.__cause__, ValueError)
text = "".join(traceback.format_exception(x))
assert "direct cause" in text and "a note" in text and 'raise KeyError("outer") from error' in text
""",
        note="frames of the traceback hold no variables",
    ),
    Case("exceptions of a library, with traceback",
         "import json\ntry: json.loads('{')\nexcept ValueError as error: x = error",
         check="same(x, y)\nassert (x.msg, x.pos, x.doc) == (y.msg, y.pos, y.doc)",
         part_of="exceptions with traceback, cause and notes"),
    Case("built-in exceptions with members of their own",
         "x = [FileNotFoundError(2, 'no', 'f.txt'), OSError(13, 'denied', 'a', None, 'b'), UnicodeDecodeError('ascii', b'\\xff', 0, 1, 'r'),\n"
         "     SyntaxError('s', ('f', 3, 4, 'line')), ImportError('i', name='n', path='p'), StopIteration(5), SystemExit(3), KeyError('k'), KeyboardInterrupt()]\n"
         "try: None.nothing\nexcept AttributeError as error: x.append(error)",
         check="same([repr(e) for e in x], [repr(e) for e in y])\n"
               "for a, b in zip(x, y): same([getattr(a, n, None) for n in ('errno', 'filename', 'filename2', 'object', 'start', 'reason', 'lineno', 'offset', 'text', 'name', 'path', 'value', 'code')],\n"
               "                            [getattr(b, n, None) for n in ('errno', 'filename', 'filename2', 'object', 'start', 'reason', 'lineno', 'offset', 'text', 'name', 'path', 'value', 'code')])"),
    Case("exception groups", "x = ExceptionGroup('g', [ValueError(1), ExceptionGroup('h', [TypeError(2)])])",
         check="same(x, y)\nassert x.exceptions[1].exceptions[0].args == (2,)\nassert x.subgroup(TypeError)"),
    Case("exceptions with an `__init__` or `__reduce__` of their own",
         """
class E(Exception):
    def __init__(self, response, *, code): self.response, self.code = response, code
    def __str__(self): return f"{self.code}: {self.response}"
class R(Exception):
    def __init__(self, a, b): super().__init__(a); self.b = b
    def __reduce__(self): return R, (self.args[0], self.b), {"b": 2}
class O(OSError):
    def __init__(self, where): super().__init__(5, "io", where); self.where = where
class S(Exception):
    __slots__ = ("kept",)
def raised(error):
    try: raise error from ZeroDivisionError()
    except Exception as e: return e
x = [raised(E({"a": 1}, code=4)), raised(R(1, 2)), O("here"), S(1)]
x[3].kept = [5]
""",
         check="same([str(e) for e in x], [str(e) for e in y])\nassert x[0].response == {'a': 1} and x[1].b == 2 and x[2].where == x[2].filename == 'here'\n"
               "assert x[3].kept == [5] and type(x[0].__cause__) is ZeroDivisionError is type(x[1].__cause__)"),
    Case("`warnings`, `traceback.TracebackException`",
         "import traceback\ntry: 1 / 0\nexcept Exception as e: x = traceback.TracebackException.from_exception(e)",
         check="assert list(x.format_exception_only()) == ['ZeroDivisionError: division by zero\\n']"),
)  # fmt: skip

_REFERENCES = (
    Case("`weakref.ref`",
         "import weakref\nclass A: pass\na = A()\na.me = weakref.ref(a)\nx = weakref.ref(a)",
         check="assert x() is new['a'] and new['a'].me() is new['a'] and x is new['a'].me",
         note="alive if what it refers to is held by a variable that is kept"),
    Case("`weakref.ref` of what is gone", "import weakref\nclass A: pass\nx = weakref.ref(A())", check="assert x() is None and type(x) is type(y)"),
    Case("`weakref.proxy`", "import weakref\nclass A:\n    n = 5\na = A()\nx = weakref.proxy(a)",
         check="assert type(x) is type(y) and x.n == 5\nnew['a'].n = 6\nassert x.n == 6\ndel new['a'].n"),
    Case("`WeakValueDictionary`, `WeakKeyDictionary`, `WeakSet`",
         "import weakref\nclass A:\n    def __init__(self, n): self.n = n\nkept = [A(1), A(2)]\n"
         "x = [weakref.WeakValueDictionary(zip('ab', kept)), weakref.WeakKeyDictionary({kept[0]: [1]}), weakref.WeakSet(kept)]",
         check="assert x[0]['b'] is new['kept'][1] and x[1][new['kept'][0]] == [1] and set(x[2]) == set(new['kept'])\n"
               "assert [type(v) for v in x] == [type(v) for v in y] and len(x[0]) == 2"),
    Case("`weakref.WeakMethod`, `weakref.finalize`",
         "import weakref\nclass A:\n    def f(self): return 7\na = A()\nx = weakref.WeakMethod(a.f)",
         check="assert x()() == 7 and x().__self__ is new['a']"),
    Case("trees with weak links to the parent",
         """
import weakref
class Node:
    def __init__(self, parent=None):
        self.parent, self.children = parent and weakref.ref(parent), []
        if parent: parent.children.append(self)
x = Node()
leaf = Node(Node(x))
""",
         check="assert x.children[0].parent() is x and new['leaf'].parent().parent() is x and x.children[0].children == [new['leaf']]"),
)  # fmt: skip

_RUNNING = (
    Case("`asyncio` locks, events, queues",
         "import asyncio\nx = [asyncio.Lock(), asyncio.Event(), asyncio.Queue(5), asyncio.Semaphore(2), asyncio.Condition()]\nx[1].set()\nx[2].put_nowait('a')",
         check="import asyncio\nassert [type(a) for a in x] == [type(b) for b in y] and x[1].is_set() and not x[0].locked() and x[3]._value == 2\n"
               "async def use():\n    async with x[0]: return await x[2].get()\nassert asyncio.run(use()) == 'a'\nx[2].put_nowait('a')"),
    Case("`asyncio` tasks and futures that are done",
         "import asyncio\nasync def work(): return [5]\nasync def main():\n    t = asyncio.ensure_future(work())\n    await t\n    return t\nx = asyncio.run(main())",
         outcome="refused", reason="belongs to an event loop: keep its result"),
    Case("`asyncio` tasks that run", "import asyncio\nloop = asyncio.new_event_loop()\nasync def w(): await asyncio.sleep(9)\nx = loop.create_task(w())\nasyncio.events.beyond_this_case = x",
         outcome="refused", reason="belongs to an event loop", part_of="`asyncio` tasks"),
    Case("event loops", "import asyncio\nx = asyncio.new_event_loop()", outcome="refused", reason="it is an event loop of this process"),
    Case("coroutines", "async def f(n): return n\nx = f(5)", outcome="recipe",
         check="import asyncio\nassert asyncio.run(x) == 5\ny.close()", note="one that has not begun"),
    Case("generators that have not begun", "def g(n):\n    while n: yield n; n -= 1\nx = g(3)", outcome="recipe", check="assert list(x) == [3, 2, 1]"),
    Case("generators that have begun and only compute", "def g(n):\n    while n: yield n; n -= 1\nx = g(3)\nfirst = next(x)", outcome="recipe", check="assert list(x) == [2, 1]",
         note="from their arguments and builtins; the new one is asked as often"),
    Case("other generators that have begun", "def g(n):\n    while n: yield n; print(end=''); n -= 1\nx = g(3)\nnext(x)", outcome="refused", reason="keep what it gives, in a list"),
    Case("generators that have ended", "def g(): yield 1\nx = g()\nlist(x)", check="assert list(x) == [] and x.__name__ == 'g' and x.gi_frame is None"),
    Case("generator expressions", "x = (n * 2 for n in range(3))", outcome="refused", reason="keep what it gives, in a list"),
    Case("locks and events of `threading`",
         "import threading as t\nx = [t.Lock(), t.RLock(), t.Event(), t.Condition(), t.Semaphore(3), t.BoundedSemaphore(2), t.Barrier(2), t.local()]\nx[0].acquire()\nx[2].set()\nx[7].n = 1",
         check="assert x[0].locked() and x[2].is_set() and x[4]._value == 3 and x[7].n == 1 and [type(a) for a in x] == [type(b) for b in y]\n"
               "with x[1], x[3], x[4]: pass\nx[6].abort()"),
    Case("threads that have not begun", "import threading\ndef f(n): out.append(n)\nout = []\nx = threading.Thread(target=f, args=(5,), name='t', daemon=True)",
         check="assert x.name == 't' and x.daemon and not x.is_alive()\nx.start()\nx.join()\nassert new['out'] == [5]\nnew['out'].clear()"),
    Case("threads that run", "import threading\nx = threading.Thread(target=threading.Event().wait, daemon=True)\nx.start()", outcome="refused", reason="running thread"),
    Case("threads that have ended", "import threading\nx = threading.Thread(target=int, name='t')\nx.start()\nx.join()",
         check="assert not x.is_alive() and x.name == 't' and x.ident == x.ident"),
    Case("executors", "from concurrent.futures import ThreadPoolExecutor as P\nx = P(max_workers=3, thread_name_prefix='w')\nx.submit(int).result()",
         outcome="recipe", check="assert x.submit(lambda: 5).result() == 5 and x._max_workers == 3\nx.shutdown()"),
    Case("`concurrent.futures.Future`, done", "from concurrent.futures import Future\nx = Future()\nx.set_result([1])",
         check="assert x.done() and x.result() == [1]"),
    Case("`concurrent.futures.Future`, pending", "from concurrent.futures import ThreadPoolExecutor as P\nimport threading\nx = P(1).submit(threading.Event().wait, 60)",
         outcome="refused", reason="still to come"),
    Case("processes that run", "import subprocess, sys\nx = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(20)'])", outcome="refused", reason="running process"),
    Case("processes that have ended", "import subprocess, sys\nx = subprocess.Popen([sys.executable, '-c', 'raise SystemExit(3)'])\nx.wait()",
         check="assert x.returncode == 3 and x.poll() == 3 and x.args == y.args and x.pid == x.pid"),
    Case("`subprocess.CompletedProcess`", "import subprocess\nx = subprocess.run(['true'], capture_output=True, text=True)"),
    Case("`multiprocessing` locks, queues, pools", "import multiprocessing as m\nx = m.Queue()", outcome="refused", reason="shared between processes"),
)  # fmt: skip

_FILES = (
    Case("files open to read", "open('a.txt', 'w').write('one\\ntwo\\n')\nx = open('a.txt')\nx.readline()", outcome="recipe",
         check="assert (x.name, x.mode, x.encoding, x.tell()) == (y.name, y.mode, y.encoding, 4) and x.read() == 'two\\n'\nx.seek(4)"),
    Case("files open to write", "x = open('b.txt', 'w')\nx.write('text')\nx.flush()", outcome="refused", reason="it is an open file"),
    Case("files that are closed", "with open('c.txt', 'w') as x: x.write('a')", check="assert x.closed and x.name == 'c.txt' and x.mode == 'w' and type(x) is type(y)"),
    Case("`io.StringIO`, `io.BytesIO`", "import io\nx = [io.StringIO('one\\ntwo'), io.BytesIO(b'abc'), io.StringIO()]\nx[0].readline()\nx[1].seek(2)\nx[2].close()",
         check="assert x[0].read() == 'two' and x[1].read() == b'c' and x[2].closed and x[0].getvalue() == 'one\\ntwo'\nx[0].seek(4)\nx[1].seek(2)"),
    Case("`io.TextIOWrapper` over `BytesIO`", "import io\nx = io.TextIOWrapper(io.BytesIO(b'text'))", outcome="refused", reason="open file"),
    Case("`tempfile`", "import tempfile\nx = tempfile.NamedTemporaryFile()", outcome="refused", reason="it is an open file"),
    Case("`tempfile.TemporaryDirectory`", "import tempfile\nx = tempfile.TemporaryDirectory()", outcome="refused", reason="a temporary directory"),
    Case("`zipfile.ZipFile`, `tarfile.TarFile`",
         "import zipfile\nwith zipfile.ZipFile('z.zip', 'w') as z: z.writestr('n', 'text')\nx = zipfile.ZipFile('z.zip')", outcome="recipe",
         check="assert x.read('n') == b'text'"),
    Case("`tarfile`", "import tarfile\nwith tarfile.open('t.tar', 'w') as t: pass\nx = tarfile.open('t.tar')", outcome="refused", reason="open file"),
    Case("`mmap`", "import mmap\nx = mmap.mmap(-1, 4096)", outcome="refused", reason="keep bytes(…) of it"),
    Case("`os.DirEntry`, `os.stat_result`", "import os\nx = os.stat('/')", check="assert tuple(x) == tuple(y) and type(x) is type(y) and x.st_mode == y.st_mode"),
    Case("`sys.stdout`, `sys.stdin`", "import sys\nx = [sys.stdout, sys.stderr]", check="import sys\nassert [type(f).__name__ for f in x] == [type(f).__name__ for f in y]", part_of="`sys.stdout`"),
    Case("sockets that are connected", "import socket\nx, other = socket.socketpair()", outcome="refused", reason="it is a socket of this process"),
    Case("sockets that are not connected", "import socket\nx = socket.socket(socket.AF_INET, socket.SOCK_STREAM)", outcome="recipe",
         check="assert (x.family, x.type) == (y.family, y.type) and x.fileno() != -1", told=False),
    Case("`csv.writer`", "import csv, io\nx = csv.writer(io.StringIO())", outcome="refused", reason="it writes to a file of this process"),
)  # fmt: skip

_CONNECTIONS = (
    Case("`sqlite3` connections to a file",
         "import sqlite3, pathlib\npathlib.Path('d.db').unlink(missing_ok=True)\nwith sqlite3.connect('d.db') as c:\n    _ = c.execute('create table t (a)')\n    _ = c.execute('insert into t values (5)')\nc.close()\ndel c\n"
         "x = sqlite3.connect('d.db')\nx.row_factory = sqlite3.Row", outcome="recipe",
         check="assert x.execute('select a from t').fetchone()['a'] == 5"),
    Case("`sqlite3` connections to memory",
         "import sqlite3\nx = sqlite3.connect(':memory:')\n_ = x.executescript('create table t (a); pragma foreign_keys = 1; insert into t values (5)')\nx.row_factory = sqlite3.Row", outcome="recipe",
         check="assert x.execute('select a from t').fetchone()['a'] == 5 and x.execute('pragma foreign_keys').fetchone()[0] == 1 and not x.in_transaction",
         note="with all of the database and its settings; not `total_changes`"),
    Case("`sqlite3` connections to memory, in a transaction",
         "import sqlite3\nx = sqlite3.connect(':memory:')\n_ = x.execute('create table t (a)')\n_ = x.execute('insert into t values (5)')", outcome="recipe",
         check="assert x.in_transaction and x.execute('select a from t').fetchall() == [(5,)]\nx.rollback()\nassert x.execute('select a from t').fetchall() == []\n_ = x.execute('insert into t values (5)')", told=False,
         note="a rollback undoes the same rows; of at most 64 MB, without triggers and foreign keys that act"),
    Case("`sqlite3` connections to memory, with functions", "import sqlite3\nx = sqlite3.connect(':memory:')\nx.create_function('f', 1, len)", outcome="refused", reason="its function 'f' would be lost", told=False),
    Case("`sqlite3` in a transaction", "import sqlite3\nx = sqlite3.connect('e.db')\n_ = x.execute('create table if not exists t (a)')\n_ = x.execute('insert into t values (1)')",
         outcome="refused", reason="commit it first"),
    Case("`sqlite3.Row`, cursors", "import sqlite3\nc = sqlite3.connect(':memory:')\nx = c.execute('select 1 as a')", outcome="refused", reason="keep its rows"),
    Case("DuckDB connections to a file", "import duckdb\nx = duckdb.connect('d.duckdb')\n_ = x.execute('create or replace table t as select 5 as a')",
         outcome="recipe", check="assert x.execute('select a from t').fetchone() == (5,)", told=False, needs="duckdb"),
    Case("DuckDB connections to memory", "import duckdb\nx = duckdb.connect()\n_ = x.execute('create table t as select 5')",
         outcome="refused", reason="its tables are in memory only: keep them in a file", needs="duckdb"),
    Case("DuckDB relations", "import duckdb\nx = duckdb.sql('select 1')", outcome="refused", reason="keep its rows", needs="duckdb"),
    Case("`requests.Session`",
         "import requests\nx = requests.Session()\nx.headers['X'] = 'y'\nx.cookies.set('c', '1')\nx.auth = ('u', 'p')\nx.verify = False",
         check="assert x.headers == y.headers and x.cookies.get('c') == '1' and x.auth == ('u', 'p') and x.verify is False and set(x.adapters) == set(y.adapters)",
         needs="requests"),
    Case("`requests.Response`", "import requests\nx = requests.Response()\nx.status_code, x._content, x.encoding = 200, b'{\"a\": 1}', 'utf-8'",
         check="assert x.json() == {'a': 1} and x.status_code == 200", needs="requests"),
    Case("`httpx.Client`",
         "import httpx\nx = httpx.Client(headers={'X': 'y'}, timeout=5, base_url='http://localhost')", outcome="recipe",
         check="assert x.headers['X'] == 'y' and x.timeout == y.timeout and x.base_url == y.base_url and not x.is_closed", needs="httpx"),
    Case("`httpx.AsyncClient`", "import httpx\nx = httpx.AsyncClient(timeout=3)", outcome="recipe", check="assert x.timeout == y.timeout", needs="httpx"),
    Case("`httpx.Response`", "import httpx\nx = httpx.Response(200, json={'a': 1}, request=httpx.Request('GET', 'http://x'))",
         check="assert x.json() == {'a': 1} and x.request.url == y.request.url", needs="httpx"),
    Case("OpenAI clients", "import openai\nx = openai.OpenAI(api_key='k', base_url='http://localhost:1/v1', max_retries=5)", outcome="recipe",
         check="assert x.api_key == 'k' and x.max_retries == 5 and x.base_url == y.base_url and x.chat.completions", needs="openai"),
    Case("OpenAI answers",
         "from openai.types.chat import ChatCompletion\nx = ChatCompletion.model_validate({'id': 'i', 'object': 'chat.completion', 'created': 1, 'model': 'm', 'choices': [{'index': 0, 'finish_reason': 'stop', 'message': {'role': 'assistant', 'content': 'hi'}}]})",
         check="assert x == y and x.choices[0].message.content == 'hi' and x.model_dump() == y.model_dump()", needs="openai"),
    Case("Anthropic clients", "import anthropic\nx = anthropic.Anthropic(api_key='k', max_retries=5)", outcome="recipe",
         check="assert x.api_key == 'k' and x.max_retries == 5 and x.messages", needs="anthropic"),
    Case("Anthropic answers",
         "from anthropic.types import Message\nx = Message.model_validate({'id': 'i', 'type': 'message', 'role': 'assistant', 'model': 'm', 'content': [{'type': 'text', 'text': 'hi'}], 'stop_reason': 'end_turn', 'stop_sequence': None, 'usage': {'input_tokens': 1, 'output_tokens': 2}})",
         check="assert x == y and x.content[0].text == 'hi'", needs="anthropic"),
    Case("clients inside of the notebook's own objects",
         "import openai\nclient = openai.OpenAI(api_key='k')\nclass Agent:\n    def __init__(self, client): self.client, self.history = client, ['hi']\nx = Agent(client)",
         check="assert x.client is new['client'] and x.history == ['hi'] and x.client.api_key == 'k'", needs="openai",
         note="the client by its recipe"),
)  # fmt: skip

CASES = (*_EXCEPTIONS, *_REFERENCES, *_RUNNING, *_FILES, *_CONNECTIONS)
