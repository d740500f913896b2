"""Functions and classes of the notebook, and what wraps them."""

from __future__ import annotations

from tests.fidelity.cases import Case

TITLE = "Python: functions and classes"

_FUNCTIONS = (
    Case(
        "functions",
        """
factor = 3
def f(a, /, b: int = 1, *args, c=[], d: "str" = None, **rest) -> float:
    "What it does."
    return (a + b) * factor
f.note = {"mine": 1}
x = f
""",
        check="""
same(x, y)
assert x is new["f"] and x(1) == 6 and x.__globals__ is new and x.__doc__ == "What it does."
import inspect
assert inspect.getsource(x) == inspect.getsource(y) and str(inspect.signature(x)) == str(inspect.signature(y))
""",
    ),
    Case("lambdas", "x = [lambda: 1, lambda a, *b: (a, b), (lambda n: lambda: n)(5)]",
         check="same(x, y)\nassert x[2]() == 5"),
    Case(
        "closures that share a cell",
        """
def make():
    n = 0
    def add():
        nonlocal n
        n += 1
        return n
    def get(): return n
    return add, get
x = make()
x[0]()
""",
        check="same(x, y)\nassert x[0]() == 2 and x[1]() == 2 and y[1]() == 1\nx[0].__closure__[0].cell_contents = 1",
    ),
    Case(
        "nested, recursive and mutually recursive functions",
        """
def outer(k):
    def down(n): return n and down(n - 1) + k
    return down
def even(n): return n == 0 or odd(n - 1)
def odd(n): return n != 0 and even(n - 1)
x = [outer(2), even, odd]
""",
        check="same(x, y)\nassert x[0](5) == 10 and x[1](8) and not x[2](8)",
    ),
    Case("a closure over a variable that has no value yet",
         "def make():\n    def f(): return later\n    if False: later = 1\n    return f\nx = make()"),
    Case(
        "generator, async and comprehension functions",
        """
def gen(n):
    yield from range(n)
async def co(): return 5
async def agen():
    yield 1
x = [gen, co, agen]
""",
        check="same(x, y)\nimport asyncio\nassert list(x[0](3)) == [0, 1, 2] and asyncio.run(x[1]()) == 5",
    ),
    Case("decorated functions",
         "import functools\ndef twice(f):\n    @functools.wraps(f)\n    def g(*a): return f(*a) * 2\n    return g\n"
         "@twice\ndef x(a):\n    'doc'\n    return a",
         check="same(x, y)\nassert x(2) == 4 and x.__wrapped__(2) == 2 and x.__name__ == 'x'"),
    Case("functions with attributes and defaults that hold themselves",
         "def x(me=None): return x.calls\nx.calls = [1]\nx.__defaults__ = (x,)"),
    Case("`functools.partial`",
         "import functools as t\ndef f(a, b, c=1): return a, b, c\nx = [t.partial(f, 1, c=2), t.partial(int, base=2), t.partial(t.partial(f, 1), 2)]\n"
         "x[0].note = 'n'",
         check="same(x, y)\nassert x[0](5) == (1, 5, 2) and x[1]('11') == 3"),
    Case("`functools.partialmethod`, `cached_property`, `singledispatchmethod`",
         """
import functools
class C:
    def f(self, a, b): return (a, b)
    g = functools.partialmethod(f, 1)
    @functools.cached_property
    def slow(self): return [1]
    @functools.singledispatchmethod
    def of(self, v): return "any"
    @of.register
    def _(self, v: int): return "int"
x = C()
x.slow.append(2)
""",
         check="assert x.g(2) == (1, 2) and x.slow == [1, 2] and 'slow' in vars(x) and x.of(1) == 'int' and x.of('') == 'any'"),
    Case("`functools.lru_cache`",
         "import functools\n@functools.lru_cache(maxsize=3, typed=True)\ndef x(n):\n    'doc'\n    return [n]\nx(n=1)\nx(2)\nx(3)\nx(2).append(4)\nx.note = 5",
         check="same(x, y)\nassert x.cache_parameters() == {'maxsize': 3, 'typed': True} and x(2) == [2, 4] and x.__doc__ == 'doc' and x.note == 5\nassert x.cache_info().currsize == 3",
         note="with what it remembers; `cache_info` counts hits and misses from the restore on"),
    Case("`functools.cache` of a method",
         "import functools\nclass C:\n    @functools.cache\n    def f(self, n): return n * 2\nx = C()\nx.f(2)",
         check="assert type(x).f.cache_info().currsize == 1 and x.f(3) == 6 and type(x).f.cache_parameters()['maxsize'] is None",
         note="with what it remembers; `cache_info` counts hits and misses from the restore on"),
    Case("`functools.singledispatch`",
         "import functools\n@functools.singledispatch\ndef x(v): return 'any'\n@x.register\ndef _(v: int): return 'int'\n@x.register(list)\ndef of_list(v): return 'list'",
         check="assert [x(''), x(1), x([])] == ['any', 'int', 'list'] and set(x.registry) == set(y.registry)\nassert x(True) == 'int'"),
    Case("`operator`", "import operator as o\nx = [o.itemgetter(1, 'a'), o.attrgetter('a.b'), o.methodcaller('f', 1, k=2), o.add]"),
    Case("builtin functions and methods", "import math, json\nx = [len, print, math.sqrt, json.dumps, [].append, 'a'.join, dict.fromkeys, str.upper, int.__add__, (5).__add__, object.__new__]",
         check="same(x[:4], y[:4])\nassert x[5]('bc') == 'bac' and x[6]('a') == {'a': None} and x[7]('a') == 'A' and x[8](1, 2) == 3 and x[9](1) == 6"),
    Case("a builtin method of a shared object", "rows = [1]\nx = rows.append",
         check="x(2)\nassert new['rows'] == [1, 2]\nnew['rows'].pop()"),
    Case("bound methods",
         "class C:\n    def __init__(self): self.n = 1\n    def f(self): return self.n\n    @classmethod\n    def k(cls): return cls\n    @staticmethod\n    def s(): return 's'\n"
         "c = C()\nx = [c.f, C.k, C.s, C.f]",
         check="same(x, y)\nassert x[0].__self__ is new['c'] and x[1]() is new['C'] and x[2]() == 's' and x[3](new['c']) == 1"),
    Case("code objects", "x = [compile('a = 1', 'f', 'exec'), (lambda q: q + 1).__code__]", check="same(x, y)\nns = {}\nexec(x[0], ns)\nassert ns['a'] == 1"),
    Case("closure cells", "import types\nx = [types.CellType(5), types.CellType()]"),
    Case("modules", "import json, os.path as p, xml.dom.minidom\nx = [json, p, xml.dom.minidom]"),
    Case("a module made by hand", "import types\nx = types.ModuleType('made')\nx.n = 1\nexec('def f(): return n', vars(x))",
         check="assert x.f() == 1 and x.n == 1 and x.__name__ == 'made'"),
    Case("frames", "import sys\nx = sys._getframe()", outcome="refused", reason="it is a frame"),
    Case("tracebacks", "try: 1 / 0\nexcept ZeroDivisionError as e: x = e.__traceback__", outcome="refused", reason="keep the exception", note="inside exceptions they are kept"),
)  # fmt: skip

_CLASSES = (
    Case(
        "classes",
        '''
class Base:
    "Docs."
    kind: str = "b"
    rows = [1]
    def f(self): return 1
    @classmethod
    def make(cls): return cls()
    @staticmethod
    def s(): return "s"
    @property
    def p(self):
        "p docs"
        return self._p
    @p.setter
    def p(self, v): self._p = v
    class Inner:
        n = 5
class x(Base):
    def f(self): return super().f() + 1
    def __init_subclass__(cls, **kw): cls.kw = kw
class Sub(x, a=1): pass
''',
        check="""
same(x, y)
o = x.make()
o.p = 7
assert o.f() == 2 and o.p == 7 and x.s() == "s" and x.Inner().n == 5 and type(o) is x
assert new["Sub"].kw == {"a": 1} and issubclass(new["Sub"], x) and issubclass(x, new["Base"])
""",
    ),
    Case("objects, and what their class says of them",
         "class C:\n    def __init__(self): self.a, self.b = [1], 2\n    def __eq__(self, o): return self.a == o.a\nx = [C(), C()]\nx[0].c = x"),
    Case("`__slots__`",
         "class A: __slots__ = ('a', '__weakref__')\nclass B(A): __slots__ = ['b', '__dict__']\nclass C(B): pass\nx = [A(), B(), C()]\n"
         "x[1].a, x[1].b, x[1].c, x[2].b = 1, [2], 3, x"),
    Case("private slots", "class A:\n    __slots__ = ('__p',)\n    def __init__(self): self.__p = 5\n    def get(self): return self.__p\nx = A()",
         check="same(x, y)\nassert x.get() == 5"),
    Case("`__reduce__`, `__getstate__`, `__getnewargs_ex__`",
         """
class A:
    def __reduce__(self): return A, (), {"made": 1}
class B:
    def __getstate__(self): return {"a": self.a}
    def __setstate__(self, state): self.a, self.set = state["a"], True
class C(tuple):
    def __new__(cls, *, n): return super().__new__(cls, (n,))
    def __getnewargs_ex__(self): return (), {"n": self[0]}
class Missing:
    def __reduce__(self): return "MISSING"
MISSING = Missing()
x = [A(), B(), C(n=4), MISSING]
x[1].a = 3
""",
         check="assert x[0].made == 1 and x[1].a == 3 and x[1].set and x[2] == (4,) and x[3] is new['MISSING']"),
    Case("metaclasses",
         """
class Meta(type):
    registry = []
    def __new__(m, name, bases, ns, tag=None):
        cls = super().__new__(m, name, bases, ns)
        cls.tag = tag
        return cls
    def __call__(cls, *a): return super().__call__(*a)
    def shout(cls): return cls.__name__ + "!"
class x(metaclass=Meta, tag="t"):
    n = 1
""",
         check="same(x, y)\nassert x.shout() == 'x!' and x.tag == 't' and type(x) is new['Meta'] and x().n == 1"),
    Case("abstract classes",
         """
from abc import ABC, abstractmethod
class Shape(ABC):
    @property
    @abstractmethod
    def area(self): ...
class Square(Shape):
    @property
    def area(self): return 4
@Shape.register
class Odd: pass
x = [Shape, Square()]
""",
         check="""
same(x, y)
assert x[1].area == 4 and isinstance(x[1], x[0]) and issubclass(new["Odd"], x[0])
try: x[0]()
except TypeError: pass
else: raise AssertionError("it is abstract")
"""),
    Case("descriptors, `__set_name__`, `__getattr__`, `__class_getitem__`",
         """
class Typed:
    def __init__(self, kind): self.kind = kind
    def __set_name__(self, owner, name): self.name = "_" + name
    def __get__(self, obj, owner=None): return self if obj is None else getattr(obj, self.name)
    def __set__(self, obj, value): setattr(obj, self.name, self.kind(value))
class x:
    n = Typed(int)
    def __getattr__(self, name): return "missing " + name if not name.startswith("_") else object.__getattribute__(self, name)
    def __class_getitem__(cls, item): return (cls, item)
o = x()
o.n = "5"
""",
         check="same(x, y)\nassert new['o'].n == 5 and new['o'].zzz == 'missing zzz' and x[1] == (x, 1) and vars(x)['n'].name == '_n'"),
    Case("properties", "x = property(lambda s: 1, doc='d')", check="same(x, y)"),
    Case("`Generic[T]`",
         """
from typing import Generic, TypeVar, ParamSpec, Callable
T = TypeVar("T", bound="Box")
K = TypeVar("K", int, str)
P = ParamSpec("P")
class Box(Generic[T, K]):
    def __init__(self, item: T): self.item = item
class Ints(Box["Ints", int]): pass
x = [Box(5), Box, Ints(3), Box[Ints, str], T, K]
""",
         check="""
assert x[0].item == 5 and x[2].item == 3 and x[1].__parameters__ == (new["T"], new["K"]) == (x[4], x[5])
assert repr(x[3]) == repr(y[3]) and x[3].__origin__ is x[1] and type(x[2]).__orig_bases__[0].__origin__ is x[1]
assert x[4].__module__ == "__main__" and x[5].__constraints__ == (int, str) and repr(x[4].__bound__) == repr(y[4].__bound__)
assert new["P"].__name__ == "P"
"""),
    Case("`TypeVarTuple`, `NewType`, `Annotated`, `ForwardRef`",
         "import typing as t\nTs = t.TypeVarTuple('Ts')\nId = t.NewType('Id', int)\nclass A(t.Generic[t.Unpack[Ts]]): pass\n"
         "x = [Ts, Id, A, t.Annotated[int, 'm'], t.ForwardRef('A')]",
         check="assert x[0].__name__ == 'Ts' and x[1](5) == 5 and x[1].__supertype__ is int and x[3] == y[3] and x[1].__name__ == 'Id'"),
    Case("type parameters (PEP 695)",
         "class Box[T]:\n    def get(self, a: T) -> T: return a\ndef first[K](a: K) -> K: return a\n"
         "type Pair[V] = tuple[V, V]\nx = [Box(), Box[int], first, Pair]",
         check="assert x[0].get(1) == 1 and x[2](2) == 2 and x[3].__name__ == 'Pair'\n"
               "assert x[1].__origin__ is new['Box'] and x[2].__type_params__[0].__name__ == 'K'",
         since=(3, 12)),
    Case("`Protocol`",
         "from typing import Protocol, runtime_checkable\n@runtime_checkable\nclass x(Protocol):\n    n: int\n    def f(self) -> int: ...\n"
         "class Has:\n    n = 1\n    def f(self): return 1",
         check="assert isinstance(new['Has'](), x) and not isinstance(5, x) and x._is_protocol\n"
               "try: x()\nexcept TypeError: pass\nelse: raise AssertionError('a protocol cannot be made')"),
    Case("classes that hold each other",
         "class A:\n    def other(self): return B\nclass B(A): pass\nA.child = B\nB.friend = A()\nx = [A, B()]",
         check="same(x, y)\nassert x[0].child is type(x[1]) and type(x[1].friend) is x[0]"),
    Case("classes made in functions",
         "def make(n):\n    class Local:\n        k = n\n        def f(self): return self.k, n, __class__\n    return Local\nA, B = make(1), make(2)\nx = [A(), B(), A]",
         check="same(x, y)\nassert x[0].f() == (1, 1, new['A']) and type(x[1]) is new['B'] and type(x[0]) is x[2]"),
    Case("classes and variables that need each other through what they share",
         "rows = [1]\nclass Base: table = rows\nclass Sub(Base): pass\nx = [rows, Sub()]",
         check="same(x, y)\nassert x[0] is new['rows'] is new['Base'].table is x[1].table and type(x[1]) is new['Sub']"),
    Case("classes made by `type`", "x = type('Made', (dict,), {'n': 1, 'f': lambda self: len(self)})\no = x(a=1)",
         check="same(x, y)\nassert new['o'].f() == 1 and type(new['o']) is x"),
    Case("a class changed after it was made", "class x:\n    def f(self): return 1\nx.f = lambda self: 2\nx.added = [1]\nx.__doc__ = 'later'",
         check="same(x, y)\nassert x().f() == 2"),
    Case("subclasses of exceptions",
         "class E(ValueError):\n    def __init__(self, a, *, b): super().__init__(f'{a} {b}'); self.a, self.b = a, b\nx = E(1, b=2)",
         check="same(x, y)\nassert (x.a, x.b, str(x)) == (1, 2, '1 2')"),
)  # fmt: skip

CASES = (*_FUNCTIONS, *_CLASSES)
