"""Values that pickle refuses, or that spoil what stands beside them."""

from __future__ import annotations

from tests.bench.traps.trap import Trap

SQLITE = "import sqlite3\ncon = sqlite3.connect(':memory:')"

TRAPS = [
    Trap(
        "generator",
        ["def gen():\n    yield from range(10)\ng = gen(); first = next(g)"],
        ["second = next(g)"],
        "next(g) == 1",
    ),
    Trap("iterator", ["it = iter([1, 2, 3]); _ = next(it)"], ["next(it)"], "list(it) == [2, 3]"),
    Trap("map", ["m = map(str, [1, 2, 3]); _ = next(m)"], ["list(m)"], "list(m) == ['2', '3']"),
    Trap(
        "zip-and-enumerate",
        ["z = zip([1, 2, 3], enumerate('abc')); _ = next(z)"],
        ["next(z)"],
        "next(z) == (2, (1, 'b'))",
    ),
    Trap(
        "count",
        ["import itertools\nc = itertools.count(5); _ = next(c)"],
        ["next(c)"],
        "next(c) == 6",
    ),
    Trap(
        "file-position",
        ["_ = open('v.txt', 'w').write('a\\nb\\nc\\n')\nf = open('v.txt'); _ = f.readline()"],
        ["f.readline()"],
        "f.readline() == 'b\\n'",
    ),
    Trap(
        "hash-object",
        ["import hashlib\nh = hashlib.sha256()", "h.update(b'a')"],
        ["h.update(b'b')"],
        "h.hexdigest() == hashlib.sha256(b'a').hexdigest()",
    ),
    Trap(
        "sqlite-memory",
        [SQLITE, "_ = con.execute('create table t(a)')"],
        ["_ = con.execute('insert into t values (1)')"],
        "con.execute('select count(*) from t').fetchone()[0] == 0",
    ),
    Trap(
        "sqlite-rows",
        [
            SQLITE
            + "\n_ = con.execute('create table t(a)')\n_ = con.execute('insert into t values (1)')"
        ],
        ["_ = con.execute('delete from t'); con.commit()"],
        "con.execute('select a from t').fetchall() == [(1,)]",
    ),
    Trap(
        "duckdb-memory",
        ["import duckdb\ndb = duckdb.connect()\n_ = db.execute('create table t as select 1 a')"],
        ["_ = db.execute('insert into t values (2)')"],
        "db.execute('select a from t').fetchall() == [(1,)]",
    ),
    Trap(
        "lock-neighbour",
        ["import threading\nlk = threading.Lock(); n = 1"],
        ["n = 2"],
        "n == 1 and lk.acquire(False)",
    ),
    Trap(
        "lock-inside",
        [
            "import threading\nclass Q:\n    def __init__(self):\n"
            "        self.lock = threading.Lock(); self.items = [1]",
            "q = Q()",
        ],
        ["q.items.append(2)"],
        "q.items == [1] and q.lock.acquire(False)",
    ),
    Trap(
        "socket-neighbour",
        ["import socket\ns = socket.socket(); n = [1]"],
        ["n.append(2); s.close()"],
        "n == [1]",
    ),
    Trap(
        "refused-holder",
        [
            "class Bad:\n    def __reduce_ex__(self, p):\n        raise TypeError('no')\n"
            "shared = [1]; bad = Bad(); bad.held = shared"
        ],
        ["bad.held.append(2)"],
        "shared == [1]",
    ),
    Trap(
        "load-raises",
        [
            "class Half:\n    def __init__(self):\n        self.z = 1\n"
            "    def __setstate__(self, s):\n        raise RuntimeError('no')",
            "half = Half(); n = 1",
        ],
        ["n = 2; half.z = 2"],
        "n == 1",
    ),
    Trap(
        "attributes-raise",
        [
            "class Bomb:\n    def __getattr__(self, name):\n        raise RuntimeError(name)\n"
            "bomb = Bomb(); n = [1]"
        ],
        ["n.append(2)"],
        "n == [1]",
    ),
    Trap(
        "equality-raises",
        [
            "class Odd:\n    def __eq__(self, other):\n        raise ValueError\n"
            "    __hash__ = None\n    def __bool__(self):\n        raise ValueError\n"
            "xs = [Odd(), 1]"
        ],
        ["xs.append(2)"],
        "len(xs) == 2 and isinstance(xs[0], Odd)",
    ),
    Trap(
        "match-neighbour",
        ["import re\nm = re.match('a', 'abc'); n = [1]"],
        ["n.append(m.group())"],
        "n == [1]",
    ),
    Trap(
        "exception",
        ["try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    err = e"],
        ["err = None"],
        "type(err) is ZeroDivisionError and str(err) == 'division by zero'",
    ),
]
