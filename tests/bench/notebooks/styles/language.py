"""Styles of notebooks that show and use the language: classes, closures, iteration, text."""

from __future__ import annotations

LANGUAGE = {
    "string_processing": """
text = '''the quick brown fox
jumps over the lazy dog
the end'''
---
words = text.split()
len(words), sorted(set(words))[:4]
---
from collections import Counter
counts = Counter(words)
counts.most_common(2)
---
titled = [w.title() for w in words]
print(" ".join(titled))
---
table = str.maketrans("aeiou", "*****")
text.translate(table).splitlines()
---
for line in text.splitlines():
    print(f"{line:>30}|{len(line):03d}")
---
caesar = "".join(chr((ord(c) - 97 + 3) % 26 + 97) if c.isalpha() else c for c in text)
caesar[:20]
---
n = 0
for w in words:
    n += len(w)
n
---
n += 1
f"{n=}"
""",
    "classes_and_dataclasses": """
from dataclasses import dataclass, field, replace
from enum import Enum
---
class Kind(Enum):
    CREDIT = 1
    DEBIT = 2

@dataclass
class Entry:
    amount: float
    kind: Kind = Kind.CREDIT

@dataclass
class Account:
    owner: str
    entries: list[Entry] = field(default_factory=list)

    @property
    def balance(self):
        return sum(e.amount if e.kind is Kind.CREDIT else -e.amount for e in self.entries)
---
account = Account("ann")
account.entries.append(Entry(10.0))
account
---
account.entries.append(Entry(4.0, Kind.DEBIT))
account.balance
---
class Savings(Account):
    rate = 0.02

    def __repr__(self):
        return f"<Savings {self.owner} {super().balance}>"

    def grow(self):
        self.entries.append(Entry(self.balance * self.rate))
        return self

savings = Savings("bob", [Entry(100.0)])
savings.grow()
---
Savings.rate = 0.1
savings.grow().balance
---
copy = replace(account, owner="eve")
copy.entries is account.entries
---
isinstance(savings, Account), savings.entries[0].kind is Kind.CREDIT
""",
    "async_calls": """
import asyncio
log = []
---
async def fetch(n):
    await asyncio.sleep(0.001 * n)
    log.append(n)
    return n * n
---
await fetch(3)
---
results = await asyncio.gather(*(fetch(n) for n in range(4)))
results
---
async def numbers():
    for n in range(3):
        await asyncio.sleep(0)
        yield n

[n async for n in numbers()]
---
queue = asyncio.Queue()
await queue.put("a")
---
await queue.get()
---
task = asyncio.create_task(fetch(9))
---
await task
---
async with asyncio.timeout(1):
    print(await fetch(1))
---
sorted(log)
""",
    "generators": """
def naturals():
    n = 0
    while True:
        yield n
        n += 1

stream = naturals()
---
[next(stream) for _ in range(3)]
---
next(stream)
---
def averager():
    total, count, mean = 0.0, 0, None
    while True:
        value = yield mean
        total, count = total + value, count + 1
        mean = total / count

mean = averager()
next(mean)
---
mean.send(10)
---
mean.send(20)
---
squares = (n * n for n in range(10))
sum(squares)
---
def flat(items):
    for item in items:
        if isinstance(item, list):
            yield from flat(item)
        else:
            yield item

list(flat([1, [2, [3, 4]], 5]))
---
next(stream)
""",
    "closures_and_decorators": """
import functools
calls = []
---
def logged(label):
    def decorate(f):
        @functools.wraps(f)
        def wrapper(*args):
            calls.append((label, args))
            return f(*args)
        return wrapper
    return decorate
---
@logged("add")
def add(a, b):
    return a + b

add(1, 2)
---
def counter(start=0):
    count = start

    def step(by=1):
        nonlocal count
        count += by
        return count
    return step

step = counter()
step(), step()
---
step(10)
---
adders = [lambda x, n=n: x + n for n in range(3)]
[f(10) for f in adders]
---
double = functools.partial(lambda a, b: a * b, 2)
double(21)
---
calls
---
compose = lambda *fs: functools.reduce(lambda f, g: lambda x: f(g(x)), fs)
compose(step, double)(1)
""",
    "simulation": """
import random
random.seed(42)
---
class Walker:
    def __init__(self):
        self.x = 0
        self.path = [0]

    def step(self):
        self.x += random.choice((-1, 1))
        self.path.append(self.x)

walker = Walker()
---
for _ in range(100):
    walker.step()
walker.x
---
ends = []
for _ in range(50):
    w = Walker()
    for _ in range(20):
        w.step()
    ends.append(w.x)
sum(ends) / len(ends)
---
import numpy as np
np.random.seed(1)
inside = (np.random.rand(10_000, 2) ** 2).sum(axis=1) < 1
4 * inside.mean()
---
rng = np.random.default_rng(3)
population = rng.normal(100, 15, 1000)
---
sample = rng.choice(population, 30)
sample.mean().round(6)
---
random.random(), np.random.rand(), rng.random()
""",
    "recursion_and_memo": """
from functools import cache, lru_cache
---
@cache
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

fib(80)
---
fib.cache_info().currsize
---
memo = {}

def ways(n, coins=(1, 5, 10)):
    if n == 0:
        return 1
    if n < 0 or not coins:
        return 0
    key = (n, coins)
    if key not in memo:
        memo[key] = ways(n - coins[-1], coins) + ways(n, coins[:-1])
    return memo[key]

ways(50)
---
len(memo)
---
def hanoi(n, a="a", b="b", c="c"):
    return [] if n == 0 else hanoi(n - 1, a, c, b) + [(a, c)] + hanoi(n - 1, b, a, c)

len(hanoi(6))
---
def permutations(items):
    if len(items) < 2:
        yield tuple(items)
    for i, item in enumerate(items):
        for rest in permutations(items[:i] + items[i + 1:]) if len(items) > 1 else ():
            yield (item, *rest)

len(list(permutations([1, 2, 3, 4])))
---
fib(100) % 1000
""",
    "regular_expressions": """
import re
log = '''2024-01-05 INFO start
2024-01-06 WARN disk 91%
2024-01-07 ERROR disk full'''
---
line = re.compile(r"(?P<day>\\d{4}-\\d\\d-\\d\\d) (?P<level>[A-Z]+) (?P<text>.*)")
rows = [m.groupdict() for m in line.finditer(log)]
rows
---
[m for r in rows if (m := re.search(r"\\d+%", r["text"]))][0]
---
levels = {r["level"] for r in rows}
sorted(levels)
---
re.sub(r"disk (\\w+)", lambda m: f"<{m[1].upper()}>", log).splitlines()[-1]
---
tokens = re.split(r"\\W+", log)
len(tokens)
---
matches = re.finditer(r"\\w+", log)
next(matches).group()
---
next(matches).group()
""",
    "datetimes": """
from datetime import date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo
start = datetime(2024, 2, 28, 22, 30, tzinfo=timezone.utc)
---
start + timedelta(days=1, hours=3)
---
start.astimezone(ZoneInfo("Europe/Oslo")).isoformat()
---
days = [date(2024, 1, 1) + timedelta(days=7 * i) for i in range(5)]
[d.strftime("%d %b") for d in days]
---
import pandas as pd
index = pd.date_range(start, periods=4, freq="6h")
index.tz_convert("Asia/Tokyo")
---
import calendar
print(calendar.month(2024, 2))
---
ages = {d: (date(2024, 3, 1) - d).days for d in days}
max(ages.values())
---
parsed = datetime.strptime("05/03/24", "%d/%m/%y")
parsed.weekday()
""",
    "iteration_tools": """
import itertools as it
import operator
---
list(it.combinations("abc", 2))
---
rows = sorted([("b", 2), ("a", 1), ("b", 3)])
{k: [v for _, v in g] for k, g in it.groupby(rows, key=operator.itemgetter(0))}
---
running = it.accumulate([1, 2, 3, 4], operator.mul)
next(running), next(running)
---
list(running)
---
first, second = it.tee(iter(range(5)))
next(first)
---
list(second), list(first)
---
counter = it.count(10, 5)
[next(counter) for _ in range(3)]
---
next(counter)
---
from collections import ChainMap, defaultdict, deque
window = deque(maxlen=3)
sums = []
for n in range(6):
    window.append(n)
    sums.append(sum(window))
sums
---
groups = defaultdict(list)
for n in range(10):
    groups[n % 3].append(n)
dict(groups)
---
settings = ChainMap({"a": 1}, {"a": 0, "b": 2})
settings["b"], settings["a"]
""",
}
"""Cells by the style's name, a line ``---`` between two."""
