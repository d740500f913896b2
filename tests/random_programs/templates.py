"""Statements of which random notebooks are made."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

IMPORTS = {
    "collections": "import collections", "copy": "import copy", "functools": "import functools",
    "itertools": "import itertools", "math": "import math", "operator": "import operator",
    "random": "import random", "re": "import re", "np": "import numpy as np",
    "pd": "import pandas as pd", "suppress": "from contextlib import suppress",
    "dataclass": "from dataclasses import dataclass, field", "Enum": "from enum import Enum",
}  # fmt: skip
"""Names that templates use, and the statements that bind them."""

NAMES = {
    "int": ("n", "m", "k"), "float": ("x", "y"), "str": ("s", "t"), "list": ("a", "b", "c"),
    "nest": ("rows", "cols"), "dict": ("d", "e"), "set": ("u",), "tuple": ("p", "q"),
    "arr": ("v", "w", "z"), "mat": ("M", "N"), "frame": ("df", "dg"), "series": ("ss", "st"),
    "func": ("f", "g"), "inc": ("inc", "dec"), "cls": ("A", "B"), "obj": ("o", "r"),
    "it": ("it", "jt"), "gen": ("gen",), "push": ("push",), "counter": ("counter",),
    "deque": ("dq",), "dd": ("dd",), "partial": ("pt",), "record": ("rec",), "enum": ("E",),
    "named": ("nq",), "exc": ("err",), "bytes": ("ba",), "memory": ("mem",),
    "cached": ("cached",), "groups": ("groups",), "box": ("box",), "odd": ("odd",),
}  # fmt: skip

_TEXTS = """
## numbers
<=int> = <e>
<=int> = <int> + <n>
<int> += <e>
<int> += 1
<int> *= 3
<=int> = <int>
<=int> = 1000 + <e>
for i in range(<n>):
    <int> += i
for i in range(50):
    <int> += <e>
for word in ['abcdef'] * 100:
    <int> += len(word)
for item in <list>:
    <int> += item
for i, item in enumerate(<list>):
    <int> += i * item
left = list('abc')
| while left and 1000 < <int> and left.pop():
    <int> -= 777
if <int> > <n>:
    <=int> = <n>
| else:
    <=str> = 'other'
<=int> = sum(<list>)
<=int> = len(<any>) if hasattr(<any>, '__len__') else -1
<=float> = <e> / 7
<=float> = math.sqrt(abs(<e>))
<float> += 0.5
<float> *= 1.1
for i in range(<n>):
    <=float> = 7 / (i + 50.5)
for i in range(20):
    <float> = <float> * 0.9 + i
<=float> = <float>
<=float> = float(np.mean(<list> or [0]))
## texts
<=str> = 'abc'
<=str> = f'{<e>}-{<str>}'[:20]
<str> += 'x'
for letter in 'abc':
    <str> = letter + <str>[:8]
<=str> = <str>.upper()
<=str> = re.sub('a', 'b', <str>)
## lists
<=list> = [<n>, <n>, <e>]
<=list> = []
<=list> = <list>
<=list> = list(<list>)
<=list> = <list>[:3]
<=list> = [<e>] + <list>[-3:]
<=list> = [item * 2 for item in <list>][:9]
<=list> = sorted(<list>)
<list>.append(<e>)
<list>[0] = <e>
<list>[:] = [<n>]
<list> += [<e>]
<list>.extend(range(<e> % 4))
<list>.pop()
<list>.sort()
del <list>[0]
<=list>, <=list> = <list>, <list>
for i in range(3):
    <=list> = [i, *<list>][:6]
for item in <list>[:]:
    if item > 3:
        <list>.remove(item)
<=nest> = [<list>, <list>]
<=nest> = [[<n>], [<n>]]
<=nest> = [[0]] * 3
<=nest> = copy.deepcopy(<nest>)
<=nest> = list(<nest>)
<nest>[0].append(<e>)
<nest>.append(<list>)
<=list> = <nest>[0]
for row in <nest>:
    row.append(<n>)
<=nest> = <nest>
## containers
<=dict> = {'one': <e>, 'list': <list>}
<=dict> = {i: i * <n> for i in range(3)}
<=dict> = <dict>
<=dict> = dict(<dict>)
<dict>['new'] = <e>
<dict>['new'] = <any>
<dict>.pop('one', None)
<dict>.update(one=<e>)
<=list> = <dict>['list']
<dict>['list'].append(<e>)
<dict>.setdefault('more', []).append(<e>)
for key in list(<dict>):
    <dict>[key] = (key, <dict>[key])[1]
<=set> = {<n>, <e>}
<set>.add(<e>)
<set> |= {<n>}
<=set> = <set>
<=tuple> = (<list>, <e>)
<=tuple> = (<any>, <any>)
<=list> = <tuple>[0]
<tuple>[0].append(<e>)
<=any1> = <tuple>[0]
## arrays
<=arr> = np.arange(4) * <e>
<=arr> = np.zeros(3)
<=arr> = np.array(<list>)
<=arr> = <arr>
<=arr> = <arr>[:]
<=arr> = <arr>[1:]
<=arr> = <arr>[::2]
<=arr> = <arr>.copy()
<=arr> = <arr> * 2
<=arr> = <arr>[<arr> > 0]
<arr>[0] = <e>
<arr>[:] = <n>
<arr> += <e>
<arr> += 1
np.add(<arr>, 1, out=<arr>)
<arr>.sort()
<arr>[0] += <e>
for i in range(len(<arr>)):
    <arr>[i] += i
<=mat> = np.arange(6).reshape(2, 3)
<=mat> = <mat>.T
<=mat> = <mat>
<=arr> = <mat>[0]
<=arr> = <mat>[:, 1]
<=arr> = <mat>.ravel()
<mat>[0, 1] = <e>
<mat> -= 1
<=mat> = <mat> @ <mat>.T
<=nest> = [<arr>, <arr>]
<=dict> = {'list': [1], 'arr': <arr>}
<=int> = int(<arr>.sum())
<=float> = <arr>.mean()
## tables
<=frame> = pd.DataFrame({'a': [1, 2, 3], 'b': [<n>, <e>, 5]})
<=frame> = pd.DataFrame({'a': range(4), 'b': list('xyxy')})
<=frame> = <frame>
<=frame> = <frame>.copy()
<=frame> = <frame>[<frame>['a'] > 1]
<=frame> = <frame>.assign(c=<e>)
<=frame> = <frame>.sort_values('a', ascending=False)
<frame>['c'] = <e>
<frame>['a'] += 1
<frame>.loc[0, 'a'] = <e>
<frame>.drop(columns='b', inplace=True, errors='ignore')
<frame>.attrs['note'] = <e>
<frame>.index = range(10, 10 + len(<frame>))
<=series> = <frame>['a']
<=series> = pd.Series([1, 2, <e>])
<=series> = <series>
<=series> = <series>.cumsum()
<series>[0] = <e>
<series> *= 2
<series>.name = 'named'
<=arr> = <series>.to_numpy().copy()
<=frame> = <frame>.groupby('b').sum(numeric_only=True).reset_index()
<=groups> = <frame>.groupby('a')
<=int> = int(<frame>['a'].sum())
<=int> = <groups>.ngroups
<=dict> = dict(zip(<frame>['a'].tolist(), itertools.count()))
## functions
def <=func>(x):
    return x + <n>
def <=func>(x):
    return x + <int>
def <=func>(x, more=<list>):
    more.append(x)
    return len(more)
def <=func>(x):
    global <int>
    <int> += x
    return <int>
def <=func>(x):
    <list>.append(x)
    return x
def <=func>(x):
    return <func>(x) + 1
<=func> = lambda x: x * <n>
<=func> = lambda x: x + len(<list>)
<=func> = <func>
<func>.calls = <e>
<func>.calls = getattr(<func>, 'calls', 0) + 1
<=int> = <func>(<n>)
<func>(<e>)
<=list> = [<func>(i) for i in range(2)]
<=list> = list(map(<func>, range(2)))
<=partial> = functools.partial(<func>, <n>)
<=int> = <partial>()
def outer():
    count = <n>
    def inner():
        nonlocal count
        count += 1
        return count
    return inner
| <=inc> = outer()
def pair():
    held = [<n>]
    return (lambda: held), (lambda: held.append(len(held)))
| <=inc>, <=inc> = pair()
<=inc> = <inc>
<=int> = len(str(<inc>()))
<inc>()
<=push> = <list>.append
<push>(<e>)
<=push> = <list>.copy().append
def <=func>(x, held=<any>):
    return x
## classes
class <=cls>:
    total = <n>
    items = []
    def __init__(self, v=0):
        self.v = v
    def add(self, x):
        self.v = self.v + x if isinstance(self.v, int) else x
        type(self).total += 1
        return self
class <=cls>(<cls>):
    more = <e>
@dataclass
| class <=cls>:
    v: int = <n>
    items: list = field(default_factory=list)
class <=cls>:
    __slots__ = ('v', 'held')
    def __init__(self, v=0):
        self.v = v
<=obj> = <cls>()
<=obj> = <cls>(<e>)
<=obj> = <obj>
<=obj> = copy.copy(<obj>)
<obj>.v = <e>
<obj>.held = <any>
<obj>.v = <list>
<obj>.items.append(<e>)
<cls>.total = <e>
<cls>.items = <list>
<cls>.extra = lambda self: <n>
<=cls> = <cls>
<=int> = int(isinstance(<obj>, <cls>))
<obj>.add(<n>)
<=push> = <obj>.add
def <=func>(x, o=<obj>):
    return x + (1 if isinstance(o, <cls>) else 0)
<=nest> = [<obj>, [<obj>]]
<=list> = [getattr(<obj>, 'v', 0)]
## iterators
<=it> = iter(<list>)
<=it> = iter([1, 2, 3])
<=it> = <it>
<=it> = zip(<list>, range(9))
<=it> = enumerate(<list>)
<=it> = itertools.islice(itertools.count(<n>), 9)
<=it> = itertools.chain(<list>, <list>)
<=it> = map(str, <list>)
<=int> = next(<it>, 0) or 0
print(next(<it>, 'end'))
<=gen> = (i ** 2 for i in range(<n>))
<=gen> = (i for i in <list>)
def numbers(end):
    for i in range(end):
        yield i
| <=gen> = numbers(<n>)
<=gen> = iter([<n>, 2])
<=int> = next(<gen>, 0)
<=list> = list(itertools.islice(<gen>, 3))
<=int> = sum(itertools.islice(<gen>, 5))
<=odd> = lambda: (yield <n>)
<=odd> = (i for i in iter(<list>))
<=odd> = iter(<dict>.items())
<=odd> = <list>.__iter__()
<=odd> = open('/dev/null')
<=odd> = re.finditer('a', 'banana')
<=odd> = memoryview(bytearray(b'xyz'))
<=int> = <e>; <=odd> = <int>
## library
<=counter> = collections.Counter('banana')
<counter>.update('ban')
<counter>['n'] += <e>
<=dict> = dict(<counter>)
<=deque> = collections.deque(<list>, maxlen=4)
<deque>.append(<e>)
<deque>.rotate(1)
<=deque> = <deque>
<=dd> = collections.defaultdict(list)
<dd>['k'].append(<e>)
<dd>['a'] = <list>
<=list> = <dd>['k']
<=named> = collections.namedtuple('Point', 'x y')(<e>, <list>)
<=list> = <named>.y
<=named> = <named>._replace(x=<e>)
<=box> = [<named>, <named>]
<=obj> = type('Made', (), {'v': <n>})()
<=obj> = type(<obj>)()
<=cls> = type(<obj>)
def factory():
    class Local:
        def __init__(self, v=<n>):
            self.v = v
    return Local(), Local(<n>)
| <=obj>, <=obj> = factory()
<=int> = int(type(<obj>) is type(<obj>))
<=int> = int(isinstance(<named>, type(<named>)))
def <=func>(x, o=<obj>, p=<any>):
    return int(isinstance(o, type(<obj>))) + x
def <=func>(x, *, o=<obj>):
    return int(type(o) is type(<obj>)) + x
<=record> = [{'id': i, 'tags': <list>} for i in range(2)]
<record>[0]['tags'].append(<e>)
<record>.append(<record>[0])
<=box> = [0]; <=box>.append(<box>)
<=box> = {'self': <any>}
<box>['self'] = <box>
<=box> = (<list>, <list>, <any>)
class <=enum>(Enum):
    ONE = 1
    TWO = <n>
<=int> = <enum>.ONE.value
<=dict> = {<enum>.ONE: <list>, 'list': <list>}
## memory
<=bytes> = bytearray(b'abcd')
<bytes>[0] = <n> % 256
<bytes> += b'x'
<=memory> = memoryview(<bytes>)
<memory>[1] = <n> % 256
<=arr> = np.frombuffer(<bytes>, dtype=np.uint8)
@functools.lru_cache
| def <=cached>(x):
    return x + <n>
<=int> = <cached>(<n>)
## errors
try:
    <=int> = <list>[<n>]
| except IndexError as problem:
    <=exc> = problem
try:
    <=int> = <e>
    raise KeyError(<n>)
| except KeyError:
    <=list> = [<n>]
| finally:
    <=float> = <e> / 3
with suppress(Exception):
    <=int> = <list>[<n>]
    <=str> = 'reached'
with suppress(ZeroDivisionError):
    <list>.append(<n>)
    <=int> = 1 // (<int> % 2)
    <=list> = [<int>]
<list>.append(<n>); raise ValueError(<e>)
<=int> = <n>; <=list> = [<int>]; 1 / 0
assert <int> != <n>, <int>
for i in range(3):
    if i == 2:
        raise StopIteration
    <int> += i
<list>[99]
## names
del <any>
del <list>
<=int> = <n> if '<list>' in globals() else <e>
globals()['<list>'].append(<n>)
exec('<int> += 1')
<=int> = eval('<int> + 1')
vars()['<int>'] = <e>
[<list>.append(i) for i in range(2)]
list(map(<list>.append, range(2)))
setattr(<obj>, 'v', <e>)
<=list> = [i for i in <list> if (<int> := i)]
match <list>:
    case [first, *rest]:
        <=int> = first
    case _:
        <=list> = [<n>]
(lambda held: held.append(<n>))(<list>)
<=int> = functools.reduce(operator.add, <list>, 0)
random.seed(<n>); np.random.seed(<n>)
<=any1> = <any>
<=any1> = copy.copy(<any>)
<=any1> = copy.deepcopy(<any>)
<=any1> = [<any>]
<=list> = random.Random(<n>).sample(range(9), 3)
<=arr> = np.random.default_rng(<n>).integers(0, 9, 3)
<=odd> = np.random.default_rng(<n>)
<=arr> = <odd>.integers(0, 9, 3) if hasattr(<odd>, 'integers') else np.ones(2)
<=odd> = random.Random(<n>)
<=float> = <odd>.random() if hasattr(<odd>, 'random') else 0.5
"""
"""One statement a line, below its topic; lines that are indented, or begin with a bar, belong to the statement above."""

NAMES["any1"] = ("a", "d", "o", "v", "p", "keep")


class Template(NamedTuple):
    """A statement with holes.

    Attributes
    ----------
    topic
        What it is about.
    needs
        Kinds of variables that must be there.
    """

    topic: str
    text: str
    needs: frozenset[str]

    def unbinds(self, text: str) -> list[str]:
        """The names that the filled text deletes."""
        return re.findall(r"^del (\w+)$", text)


def imports_for(texts: Iterable[str]) -> str:
    """What has to be imported, as one statement a line."""
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    return "\n".join(text for name, text in IMPORTS.items() if name in words)


def _templates() -> list[Template]:
    found: list[list[str]] = []
    topic = ""
    for line in _TEXTS.strip().splitlines():
        if line.startswith("## "):
            topic = line.removeprefix("## ")
        elif line.startswith((" ", "| ")):
            found[-1][1] += "\n" + line.removeprefix("| ")
        else:
            found.append([topic, line])
    return [Template(t, x, frozenset(re.findall(r"<(\w+)>", x))) for t, x in found]


TEMPLATES = _templates()
TOPICS = sorted({template.topic for template in TEMPLATES})
