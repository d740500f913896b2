"""The cells whose store of format 1 lies beside this module, as it was first written.

``python -m tests.storage.golden_store`` makes it anew. That is right for a new format alone: what
this store holds, every later nbckpt has to read.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden_store.zip"

CELLS = {
    "plain": """
import datetime, decimal, fractions, pathlib, uuid, zoneinfo
numbers = {"a": 1, "b": 2.5, "c": 3 + 4j, "big": 1 << 200, "nan": float("nan")}
texts = ["a", "\\u00e9\\ud800", b"bytes", bytearray(b"more"), None, True, ...]
loop = [1]
loop.append(loop)
same = [loop, numbers, numbers]
when = datetime.datetime(2026, 3, 29, 2, 30, fold=1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
others = (decimal.Decimal("1.10"), fractions.Fraction(1, 3), pathlib.PurePosixPath("a/b"),
          uuid.UUID(int=7), range(3, 9, 2), slice(1, 2), frozenset({1, 2}))
""",
    "library": """
import array, collections, contextvars, csv, enum, functools, io, itertools, queue, re, threading
import types, typing, weakref
counts = collections.Counter("abba")
ordered = collections.OrderedDict(b=1, a=2)
recent = collections.deque([1, 2, 3], maxlen=3)
groups = collections.defaultdict(list, {1: [2]})
lock, again = threading.Lock(), threading.RLock()
lock.acquire()
waiting = queue.SimpleQueue()
waiting.put("first")
found = re.search("b(.)", "abc")
memory = memoryview(bytearray(b"abcdef"))[1:4]
going = iter([1, 2, 3])
next(going)
pairs = zip([1, 2], "ab")
keys = numbers.keys()
walking = iter({"x": 1, "y": 2}.items())
next(walking)
rows = csv.reader(io.StringIO("a,b\\nc,d\\n"))
next(rows)
buffer = io.StringIO("text")
buffer.read(1)
variable = contextvars.ContextVar("variable", default=5)
space = types.SimpleNamespace(a=1)
doubles = array.array("d", [1.5])
T = typing.TypeVar("T", bound=int)
event = threading.Event()
event.set()
local = threading.local()
local.x = 1
""",
    "own": """
import dataclasses
class Color(enum.Enum):
    RED = 1
@dataclasses.dataclass
class Point:
    x: int
    y: int = 2
    def moved(self, by):
        return Point(self.x + by, self.y)
class Base:
    n_made = 0
    __slots__ = ("a", "__weakref__")
    def __init__(self, a):
        self.a = a
        type(self).n_made += 1
class Child(Base):
    def __init__(self, a):
        super().__init__(a)
point, child = Point(1), Child([1])
child.more = point
weak = weakref.ref(child)
held = weakref.WeakValueDictionary({"child": child})
step = 10
def counter():
    n = 0
    def count():
        nonlocal n
        n += step
        return n
    return count
count = counter()
count()
@functools.lru_cache(maxsize=3)
def square(x):
    return x * x
square(2), square(3)
partial = functools.partial(square, 4)
method = point.moved
def generate():
    for i in range(5):
        yield i
generator = generate()
next(generator)
error = ValueError("wrong", 3)
error.add_note("a note")
error.__cause__ = KeyError("cause")
""",
    "arrays": """
import numpy as np, pandas as pd
table = np.arange(12.0).reshape(3, 4)
view, column = table[1:], table[:, 2]
fortran = np.asfortranarray(np.arange(6).reshape(2, 3))
records = np.array([(1, "a"), (2, "b")], dtype=[("n", "i4"), ("s", "U1")])
read_only = np.arange(3)
read_only.flags.writeable = False
objects = np.array([point, None, "text"], dtype=object)
masked = np.ma.masked_array([1, 2, 3], mask=[0, 1, 0])
random = np.random.default_rng(5)
random.random()
times = np.array(["2026-01-01", "NaT"], dtype="M8[D]")
frame = pd.DataFrame({
    "n": [1, 2, 3], "x": [0.5, None, 2.5], "s": ["a", None, "c"],
    "t": pd.to_datetime(["2026-01-01", None, "2026-01-03"], utc=True),
    "c": pd.Categorical(["u", "v", "u"]), "i": pd.array([1, None, 3], dtype="Int64"),
}, index=pd.Index(["a", "b", "c"], name="key"))
series = frame["n"]
""",
}
"""Name of each checkpoint → its cell."""


def make() -> None:
    """Write the store anew."""
    from IPython.core.interactiveshell import InteractiveShell

    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / ".nbckpt"
        os.environ |= {"NBCKPT_HOME": f"{folder}/home", "NBCKPT_STORE": str(store)}
        shell = InteractiveShell.instance()
        shell.run_cell("%load_ext nbckpt").raise_error()
        for name, cell in CELLS.items():
            shell.run_cell(f"%%checkpoint {name}\n{cell}", store_history=True).raise_error()
        shell.run_cell("%fork plain aside step=3").raise_error()
        shell.run_cell("%switch main").raise_error()
        shell.run_cell("%nbckpt tag arrays golden").raise_error()
        shell.run_cell("%unload_ext nbckpt").raise_error()
        with zipfile.ZipFile(GOLDEN, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for file in sorted(store.rglob("*")):
                if file.is_file():
                    archive.write(file, file.relative_to(store))


if __name__ == "__main__":
    make()
