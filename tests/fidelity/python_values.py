"""Values of Python's library: times, numbers, texts, records, and what makes them."""

from __future__ import annotations

from tests.fidelity.cases import Case

TITLE = "Python: values of the library"

_TIMES = (
    Case(
        "`datetime`",
        """
import datetime as d
tz = d.timezone(d.timedelta(hours=5, minutes=30), "IST")
x = [d.datetime(2020, 1, 2, 3, 4, 5, 678), d.datetime(2020, 10, 25, 2, 30, fold=1, tzinfo=tz),
     d.date.max, d.time(1, 2, fold=1), d.timedelta(-1, 5, 7), d.timezone.utc, tz, d.datetime.min]
""",
        check="same(x, y)\nassert [getattr(v, 'fold', 0) for v in x] == [0, 1, 0, 1, 0, 0, 0, 0]",
    ),
    Case(
        "`zoneinfo`",
        """
from zoneinfo import ZoneInfo
import datetime as d
x = [ZoneInfo("Europe/Berlin"), d.datetime(2020, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("UTC"))]
""",
        check="assert x[0] is y[0] and x[1] == y[1] and x[1].fold == 1 and x[1].tzinfo is y[1].tzinfo",
    ),
    Case("`time.struct_time`", "import time\nx = time.gmtime(0)", check="assert x == y and x.tm_zone == y.tm_zone"),
    Case("`calendar`", "import calendar\nx = calendar.TextCalendar(6)"),
)  # fmt: skip

_NUMBERS = (
    Case(
        "`decimal.Decimal`",
        "from decimal import Decimal as D\n"
        "x = [D('1.10'), D('-0'), D('NaN123'), D('sNaN'), D('-Infinity'), D(10) ** 40]",
    ),
    Case(
        "`decimal.Context`",
        "import decimal\nx = decimal.Context(prec=5, rounding=decimal.ROUND_UP)\n"
        "x.traps[decimal.Inexact] = True",
        check="same(repr(x), repr(y))",
    ),
    Case("`fractions.Fraction`", "from fractions import Fraction as F\nx = [F(1, 3), F(-10**40, 7)]"),
    Case(
        "`random.Random`",
        "import random\nx = random.Random(5)\nx.gauss(0, 1)",
        check="same(x, y)\nassert x.random() == y.random() and x.gauss(0, 1) == y.gauss(0, 1)",
    ),
    Case("`random.SystemRandom`", "import random\nx = random.SystemRandom()", check="assert 0 <= x.random() < 1 and type(x) is type(y)"),
    Case("`secrets`", "import secrets\nx = [len(secrets.token_hex(8)), secrets.choice]",
         check="assert x[0] == 16 and x[1]('a') == 'a' and type(x[1].__self__) is type(y[1].__self__)"),
    Case("`statistics.NormalDist`", "import statistics\nx = statistics.NormalDist(1, 2)", check="assert x == y"),
)  # fmt: skip

_TEXTS = (
    Case("`re.Pattern`", "import re\nx = [re.compile(r'(?P<y>\\d+)', re.I | re.M), re.compile(b'x')]"),
    Case(
        "`re.Match`",
        "import re\nx = re.search(r'(?P<y>\\d+)-(\\d+)?', 'in 2020-', 0)",
        check="""
for z in (x, y):
    assert (z.group(), z.groups(), z.span("y"), z.groupdict()) == ("2020-", ("2020", None), (3, 7), {"y": "2020"})
    assert (z.string, z.pos, z.endpos, z.lastindex, z.re.pattern) == ("in 2020-", 0, 8, 1, r"(?P<y>\\d+)-(\\d+)?")
""",
    ),
    Case(
        "`re.Match` of a part",
        "import re\nx = re.compile(r'b+').fullmatch('aabbb', 2, 4)",
        check="assert (x.span(), x.pos, x.endpos, x.string) == ((2, 4), 2, 4, 'aabbb')",
        part_of="`re.Match`",
    ),
    Case("`string.Template`", "from string import Template\nx = Template('$a and $b')"),
    Case("`textwrap`, `difflib`", "import textwrap, difflib\nx = [textwrap.TextWrapper(30), difflib.SequenceMatcher(None, 'ab', 'bc').ratio()]"),
    Case("`struct.Struct`", "import struct\nx = struct.Struct('<i4d')", check="assert (x.format, x.size, x.pack(1, 2, 3, 4, 5)) == (y.format, y.size, y.pack(1, 2, 3, 4, 5))"),
    Case("`uuid`, `ipaddress`", "import uuid, ipaddress as i\nx = [uuid.UUID(int=5), i.ip_address('::1'), i.ip_network('10.0.0.0/8'), i.ip_interface('1.2.3.4/24')]"),
    Case(
        "`pathlib`",
        "from pathlib import Path, PurePosixPath, PureWindowsPath\nx = [Path('a/../b'), Path.cwd(),\n"
        "     PureWindowsPath(r'C:\\a'), PurePosixPath('/x'), Path('~')]",
        check="assert x == y and [type(p) for p in x] == [type(p) for p in y]",
    ),
    Case("`urllib.parse`", "from urllib.parse import urlparse, urlsplit\nx = [urlparse('http://u:p@h:1/p?q#f'), urlsplit('//x')]"),
    Case(
        "`email.message`",
        "from email.message import EmailMessage\nx = EmailMessage()\nx['Subject'] = 'a'\n"
        "x.set_content('text')",
        check="same(x.as_string(), y.as_string())",
    ),
    Case(
        "`xml.etree`",
        "import xml.etree.ElementTree as ET\nx = ET.fromstring('<a k=\"1\"><b>t</b>tail</a>')",
        check="same(ET.tostring(x), ET.tostring(y))".replace("ET.", "new['ET']."),
    ),
    Case("`json`, `csv`, `configparser`", "import json, configparser\nx = [json.JSONEncoder(indent=2), configparser.ConfigParser()]\nx[1].read_string('[a]\\nb = 1')", check="assert x[1]['a']['b'] == '1' and x[0].encode([1]) == y[0].encode([1])"),
    Case("hash objects", "import hashlib\nx = hashlib.sha256(b'abc')\nx.update(b'd')", outcome="refused", reason="keep its digest() instead"),
    Case("`hmac`", "import hmac\nx = hmac.new(b'k', b'm', 'sha256')", outcome="refused", reason="keep its digest() instead", part_of="hash objects"),
    Case("`zlib.compressobj`", "import zlib\nx = zlib.compressobj()\nx.compress(b'a')", outcome="refused", reason="keep what it gave"),
)  # fmt: skip

_RECORDS = (
    Case(
        "`enum.Enum`",
        """
from enum import Enum, IntEnum, StrEnum, auto
class Color(Enum):
    RED = 1
    GREEN = "g"
    CRIMSON = 1
    def shout(self): return self.name + "!"
class Level(IntEnum):
    LOW = auto()
    HIGH = auto()
class Word(StrEnum):
    YES = "y"
Animal = Enum("Animal", "CAT DOG")
x = [Color.RED, Color.CRIMSON, Color["GREEN"], Level.HIGH, Word.YES, Animal.DOG, list(Color)]
""",
        check="same(x, y)\nassert x[0] is x[1] is new['Color'].RED and x[0].shout() == 'RED!'",
    ),
    Case(
        "`enum.Flag`",
        """
from enum import Flag, IntFlag, KEEP, auto
class Mode(Flag):
    READ = auto()
    WRITE = auto()
    BOTH = READ | WRITE
class Bits(IntFlag, boundary=KEEP):
    A = 1
x = [Mode.READ, Mode.READ | Mode.WRITE, Mode(0), Bits(9), ~Mode.READ]
""",
        check="same([v.value for v in x], [v.value for v in y])\nassert x[1] is new['Mode'].BOTH",
    ),
    Case("an enum class", "from enum import Enum\nclass x(Enum):\n    A = 1\n    B = [2]"),
    Case("an enum of the library", "import http, re\nx = [http.HTTPStatus.OK, re.I | re.M, re.I]"),
    Case(
        "`dataclasses`",
        """
from dataclasses import dataclass, field, InitVar
from typing import ClassVar
@dataclass(order=True)
class P:
    a: int
    b: list = field(default_factory=list, repr=False)
    K: ClassVar[int] = 3
    i: InitVar[int] = 0
    def __post_init__(self, i): self.c = i
@dataclass(frozen=True, slots=True, kw_only=True)
class Q(object):
    a: int = 1
    p: P = field(default_factory=lambda: P(2))
x = [P(1, [2], 5), Q(a=5), P, Q]
""",
        check="""
import dataclasses
assert repr(x) == repr(y) and x[0] == new["P"](1, [2]) and x[0].c == 5
assert [f.name for f in dataclasses.fields(x[0])] == ["a", "b"] and x[1] == x[3](a=5)
assert dataclasses.replace(x[1], a=7).a == 7 and hash(x[3].__name__)
try: x[1].a = 1
except dataclasses.FrozenInstanceError: pass
else: raise AssertionError("not frozen")
assert x[0] < new["P"](2)
""",
    ),
    Case(
        "`collections.namedtuple`",
        "from collections import namedtuple\nP = namedtuple('P', 'a b', defaults=[5])\nx = [P(1), P([2], 3), P]",
        check="same(x[:2], y[:2])\nassert x[2]._field_defaults == {'b': 5} and x[0].b == 5 and type(x[0]) is x[2]",
    ),
    Case(
        "`typing.NamedTuple`",
        "from typing import NamedTuple\nclass P(NamedTuple):\n    a: int\n    b: str = 'x'\n"
        "    def both(self): return self.b * self.a\nx = P(3)",
        check="same(x, y)\nassert x.both() == 'xxx' and x._replace(a=1).a == 1",
    ),
    Case(
        "`typing.TypedDict`",
        "from typing import TypedDict, Required\nclass T(TypedDict, total=False):\n    a: Required[int]\n    b: str\n"
        "x = [T(a=1), T]",
        check="same(x[0], y[0])\nassert x[1].__required_keys__ == {'a'} and x[1].__total__ is False\n"
              "assert list(x[1].__annotations__) == ['a', 'b']",
    ),
    Case(
        "pydantic models",
        """
from pydantic import BaseModel, Field, PrivateAttr, field_validator, computed_field
class Inner(BaseModel):
    n: int = Field(gt=0)
class Outer(BaseModel):
    name: str
    inner: Inner
    many: list[Inner] = []
    _secret: int = PrivateAttr(default=3)
    @field_validator("name")
    @classmethod
    def strip(cls, value): return value.strip()
    @computed_field
    @property
    def loud(self) -> str: return self.name.upper()
x = Outer(name=" a ", inner=Inner(n=1), many=[{"n": 2}])
x._secret = 9
""",
        check="""
assert x.model_dump() == y.model_dump() and x._secret == 9 and type(x) is new["Outer"]
assert type(x)(name=" b", inner={"n": 4}).loud == "B" and x.model_fields_set == y.model_fields_set
same(type(x).model_json_schema(), type(y).model_json_schema())
try: new["Inner"](n=0)
except ValueError: pass
else: raise AssertionError("does not validate")
""",
        needs="pydantic",
    ),
    Case(
        "pydantic models, generic",
        """
from typing import Generic, TypeVar
from pydantic import BaseModel
T = TypeVar("T")
class Box(BaseModel, Generic[T]):
    item: T
x = Box[int](item=5)
""",
        check="assert x.item == 5 and isinstance(x, new['Box']) and x.model_dump() == {'item': 5}\n"
              "same(type(x).__name__, type(y).__name__)\n"
              "try: type(x)(item='no')\nexcept ValueError: pass\nelse: raise AssertionError('does not validate')",
        needs="pydantic",
    ),
    Case(
        "pydantic dataclasses, `TypeAdapter`, `create_model`",
        """
from pydantic import create_model, TypeAdapter
from pydantic.dataclasses import dataclass
@dataclass
class D:
    n: int
Made = create_model("Made", a=(int, 1))
x = [D("5"), Made(a="3")]
""",
        check="assert x[0].n == 5 and x[1].a == 3 and type(x[1])(a='4').a == 4 and type(x[0])('6').n == 6",
        needs="pydantic",
    ),
    Case("`types.GenericAlias`, `Union`", "import typing as t\nx = [list[int], dict[str, 'A'], int | None, t.Optional[int], t.Callable[[int], str], t.Literal['a'], t.Any]",
         check="assert x == y and repr(x) == repr(y)"),
    Case("`optparse`, `argparse`", "import argparse\nx = argparse.ArgumentParser('p')\nx.add_argument('--n', type=int, default=3)",
         check="assert x.parse_args([]).n == 3 and x.parse_args(['--n', '4']).n == 4"),
    Case("`itertools`", "import itertools as i\nx = [i.count(5, 2), i.cycle([1, 2, 3]), i.repeat('a', 3), i.islice(range(10), 2, 8, 2), i.accumulate([1, 2, 3]),\n     i.product('ab', [1, 2]), i.permutations(range(3), 2), i.combinations('abc', 2), i.zip_longest([1], [2, 3]), i.starmap(pow, [(2, 3)]), i.takewhile(bool, [1, 0]),\n     i.chain([1], [2]), i.compress('abc', [1, 0, 1])]\nfor it in x: next(it)",
         check="import itertools\nfor a, b in zip(x, y, strict=True):\n    assert type(a) is type(b)\n    assert list(itertools.islice(a, 9)) == list(itertools.islice(b, 9))",
         note="where Python itself can copy them: not from 3.14 on"),
    Case("`itertools.tee`", "import itertools as i\na, x = i.tee(range(5))\nnext(x)",
         check="assert list(x) == [1, 2, 3, 4] and list(new['a']) == [0, 1, 2, 3, 4]",
         note="where Python itself can copy them: not from 3.14 on"),
    Case("`itertools.groupby`", "import itertools as i\nx = i.groupby('aabb')\nnext(x)",
         check="assert [(k, list(g)) for k, g in x] == [('b', ['b', 'b'])]",
         note="where Python itself can copy them: not from 3.14 on"),
    Case("iterators", "x = [iter([1, 2, 3]), iter((1, 2)), iter('abc'), iter(range(9)), iter({1: 2, 3: 4}), iter({5}), reversed([1, 2]), zip([1, 2], 'ab'), enumerate('abc', 5), map(str, [1, 2]), filter(None, [0, 1])]\nfor it in x[:4]: next(it)",
         check="assert [list(i) for i in x] == [list(i) for i in y]"),
    Case("`ctypes`", "import ctypes as c\nclass P(c.Structure):\n    _fields_ = [('a', c.c_int), ('b', c.c_double)]\nx = [c.c_int(5), P(1, 2.5), (c.c_int * 3)(1, 2, 3)]",
         check="assert x[0].value == 5 and (x[1].a, x[1].b) == (1, 2.5) and list(x[2]) == [1, 2, 3]"),
    Case("`ctypes` pointers", "import ctypes as c\nx = c.pointer(c.c_int(5))", outcome="refused", reason="pointers"),
    Case("`logging`", "import logging\nx = [logging.getLogger('a.b'), logging.getLogger(), logging.INFO, logging.Formatter('%(message)s')]",
         check="assert x[0] is y[0] and x[1] is y[1]\nsame(x[3]._fmt, y[3]._fmt)"),
    Case("`contextvars`", "import contextvars\nx = contextvars.ContextVar('v', default=[1])\nt = x.set([2])\ndel t",
         check="assert x.name == 'v' and x.get() == [2] and x is not y"),
    Case("`contextvars.Context`", "import contextvars\nx = contextvars.copy_context()", outcome="refused", reason="it is a context of this process"),
)  # fmt: skip

CASES = (*_TIMES, *_NUMBERS, *_TEXTS, *_RECORDS)
