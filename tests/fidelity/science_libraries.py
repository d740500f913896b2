"""Objects of libraries whose own pickles lose something: clients, documents, figures, queues."""

from __future__ import annotations

from tests.fidelity.cases import Case

TITLE = "Clients, documents, figures and what else libraries make"

_PYTHON = (
    Case("`queue.SimpleQueue`", "import queue\nx = queue.SimpleQueue(); x.put(1); x.put([2]); _ = x.get(); x.put(None)",
         check="assert [x.get(), x.get()] == [[2], None] and x.empty()", told=False),
    Case("an empty `queue.SimpleQueue`", "import queue\nx = queue.SimpleQueue()", check="assert x.empty()", told=False,
         part_of="`queue.SimpleQueue`"),
    Case("`multiprocessing.Value` and `Array`",
         "import multiprocessing as mp\nx = (mp.Value('i', 3), mp.Array('d', [1.5, 2]))",
         check="with x[0].get_lock(): x[0].value += 1\nassert x[0].value == 4 and list(x[1]) == [1.5, 2.0]", told=False),
    Case("`csv.reader` that has read some rows",
         "import csv, io\nx = csv.reader(io.StringIO('a;b\\n1;2\\n\"3\\n3\";4\\n'), delimiter=';'); _ = next(x)",
         check="assert (x.line_num, x.dialect.delimiter) == (1, ';') and list(x) == [['1', '2'], ['3\\n3', '4']]",
         told=False),
    Case("`unittest.mock.Mock`", "from unittest.mock import Mock\nx = Mock(spec=['go']); x.go.return_value = 4; _ = x.go(1)",
         check="assert x.go() == 4 and x.go.call_count == 2 and not hasattr(x, 'other')\nx.go.assert_any_call(1)",
         told=False),
    Case("wrappers that hand all on by `__getattr__`",
         "class W:\n    def __init__(self, it): self.it = it\n    def __getattr__(self, n): return getattr(self.it, n)\n"
         "class S(W):\n    __slots__ = ('n',)\nx = [W([1]), W(W({'a': 1}))]; s = S([2]); s.n = 5; x.append(s)",
         check="assert x[0].index(1) == 0 and x[1].get('a') == 1 and x[2].n == 5 and x[2].count(2) == 1"),
    Case("a key that is NaN", "n = float('nan'); x = {n: 'nan', 1: 2}",
         check="n = new['n']\nassert x[n] == 'nan' and len(x) == 2"),
    Case("NaN that are no keys", "x = [float('nan'), float('nan')]", check="assert len(set(x)) == 2 and x[0] is not x[1]"),
    Case("an `OrderedDict` with a NaN among its keys",
         "from collections import OrderedDict\nx = OrderedDict([(1, 2), (float('nan'), 3)])",
         check="assert repr(x) == repr(y) and [*x.values()] == [2, 3]"),
    Case("two keys that are NaN", "x = {float('nan'): 1, float('nan'): 2, -float('nan'): 3}",
         check="import struct\nassert [struct.pack('d', k) for k in x] == [struct.pack('d', k) for k in y] and [*x.values()] == [1, 2, 3]"),
    Case("instances whose `__reduce__` says too little",
         "def make(n): return R(n)\nclass R:\n    def __init__(self, n): self.n = n; self.seen = 0\n"
         "    def __reduce__(self): return make, (self.n,)\nx = R(2); x.seen = 7",
         check="assert (x.n, x.seen) == (2, 7)", told=None),
    Case("`ssl.SSLContext`", "import ssl\nx = [ssl.create_default_context()]\nx[0].minimum_version = ssl.TLSVersion.TLSv1_3",
         check="c, d = x[0], y[0]\nassert c.cert_store_stats() == d.cert_store_stats()\n"
               "assert [getattr(c, n) for n in ('verify_mode', 'check_hostname', 'options', 'minimum_version', 'verify_flags')] == "
               "[getattr(d, n) for n in ('verify_mode', 'check_hostname', 'options', 'minimum_version', 'verify_flags')]\n"
               "assert c.get_ciphers() == d.get_ciphers()",
         note="with a private key it is refused"),
)  # fmt: skip

_NUMPY = (
    Case("`np.frompyfunc`", "import numpy as np\nx = np.frompyfunc(lambda a, b: a + b + k, 2, 1); k = 1",
         check="assert x([1, 2], 3).tolist() == [5, 6] and (x.nin, x.nout) == (2, 1)", told=False),
    Case("`np.broadcast` half used", "import numpy as np\nx = np.broadcast(np.arange(2)[:, None], np.arange(3)); _ = next(x)",
         check="assert (x.shape, x.index) == ((2, 3), 1) and list(x) == [(0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]", told=False),
    Case("`np.load` of an archive", "import numpy as np\nnp.savez('z.npz', a=[1, 2])\nx = np.load('z.npz')",
         check="assert x['a'].tolist() == [1, 2] and x.files == ['a']", outcome="recipe", told=False),
)  # fmt: skip

_LIBRARIES = (
    Case("httpx: a client that was changed",
         "import httpx\nx = httpx.Client(headers={'a': 'b'})\nx.headers['c'] = 'd'; x.timeout = 3.0; x.cookies.set('s', '1')",
         check="assert (x.headers['a'], x.headers['c'], x.timeout.read, x.cookies['s']) == ('b', 'd', 3.0, '1')",
         needs="httpx", told=None),
    Case("httpx: a client that was closed", "import httpx\nx = httpx.Client(); x.close()", check="assert x.is_closed",
         needs="httpx", told=None),
    Case("OpenAI: clients in a dict", "import openai\nx = {k: openai.OpenAI(api_key=k, max_retries=7) for k in 'ab'}",
         check="assert [(c.api_key, c.max_retries) for c in x.values()] == [('a', 7), ('b', 7)]", needs="openai", told=None),
    Case("OpenAI: a copy with other options", "import openai\nx = openai.OpenAI(api_key='k').with_options(max_retries=9)",
         check="assert (x.api_key, x.max_retries) == ('k', 9)", needs="openai", told=None),
    Case("Anthropic: clients in a list", "import anthropic\nx = [anthropic.Anthropic(api_key=k) for k in 'ab']",
         check="assert [c.api_key for c in x] == ['a', 'b']", needs="anthropic", told=None),
    Case("Beautiful Soup: a document and a tag of it",
         "from bs4 import BeautifulSoup\ns = BeautifulSoup('<a><b>x</b><!-- c --></a>', 'html.parser'); x = (s, s.b, s.b.string)",
         check="s, b, t = x\nb.string = 'y'\nassert str(s) == '<a><b>y</b><!-- c --></a>' and b.parent is s.a\n"
               "assert y[2] == t and s.find('b') is b",
         needs="bs4"),
    Case("plotly: a figure, a trace and its layout",
         "import plotly.graph_objects as go\nf = go.Figure(go.Scatter(x=[1, 2], y=[3, 4])); x = (f, f.data[0], f.layout)",
         check="f, t, l = x\nt.name = 'q'; l.title = 'w'\nassert f.data[0] is t and f.data[0].name == 'q' and f.layout.title.text == 'w'\n"
               "y[1].name = 'q'; y[2].title = 'w'\nassert f.to_json() == y[0].to_json()",
         needs="plotly"),
    Case("spaCy: spans, tokens and lexemes",
         "import spacy\nnlp = spacy.blank('en'); d = nlp('One two three'); x = (d, d[0:2], d[1], nlp.vocab['two'])",
         check="d, s, t, l = x\nassert (s.text, t.text, l.text) == ('One two', 'two', 'two') and s.doc is d and t.doc is d",
         needs="spacy", told=None),
    Case("regex: patterns and matches",
         "import regex\np = regex.compile(r'(?<n>\\p{L}+)\\L<ws>', ws=['1', '2']); x = (p, p.search('äb1'))",
         check="p, m = x\nassert p.search('äb2')['n'] == 'äb' and m['n'] == 'äb' and m.re is p", needs="regex", told=None),
    Case("Pillow: what draws on an image",
         "from PIL import Image, ImageDraw\ni = Image.new('RGB', (2, 2)); x = (i, ImageDraw.Draw(i)); x[1].point((0, 0), 'red')",
         check="x[1].point((1, 1), 'red')\nassert [x[0].getpixel(p) for p in [(0, 0), (1, 1), (0, 1)]] == [(255, 0, 0)] * 2 + [(0, 0, 0)]",
         needs="PIL", told=None),
    Case("pydantic: a function under `validate_call`",
         "from pydantic import validate_call\n@validate_call(config={'strict': True})\ndef x(a: int, b: list[int]) -> int: return a + sum(b)",
         check="assert x(1, [2]) == 3\ntry: x('1', [2])\nexcept ValueError as e: assert 'valid integer' in str(e)\nelse: assert False",
         needs="pydantic", told=None),
    Case("msgspec: a struct, an encoder and a decoder",
         "import msgspec\nclass P(msgspec.Struct, tag=True):\n    a: int\n    b: list = []\n"
         "x = (P(1, [2]), msgspec.json.Encoder(), msgspec.json.Decoder(P))",
         check="p, e, d = x\nassert d.decode(e.encode(p)) == p and type(p) is new['P'] and p.b == [2]", needs="msgspec", told=None),
    Case("SQLAlchemy: classes with a relationship",
         "import sqlalchemy as sa\nfrom sqlalchemy import orm\nclass Base(orm.DeclarativeBase): pass\n"
         "class P(Base):\n    __tablename__ = 'p'\n    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)\n"
         "    ks: orm.Mapped[list['K']] = orm.relationship(back_populates='p')\n"
         "class K(Base):\n    __tablename__ = 'k'\n    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)\n"
         "    pid: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey('p.id'))\n"
         "    p: orm.Mapped[P] = orm.relationship(back_populates='ks')\nx = P(id=1, ks=[K(id=2)])",
         check="K = type(x.ks[0])\nassert x.ks[0].p is x\nx.ks.append(K(id=3))\nassert x.ks[1].p is x",
         needs="sqlalchemy", told=None),
    Case("torch: an exported program",
         "import torch\nclass M(torch.nn.Module):\n    def __init__(self): super().__init__(); self.l = torch.nn.Linear(2, 1)\n"
         "    def forward(self, v): return self.l(v)\n_ = torch.manual_seed(0)\nx = torch.export.export(M(), (torch.ones(1, 2),))",
         check="import torch\nassert x.module()(torch.ones(1, 2)).item() == y.module()(torch.ones(1, 2)).item()",
         needs="torch", told=None),
    Case("tqdm: a bar that was begun", "from tqdm import tqdm\nimport io\nx = tqdm(total=10, file=io.StringIO()); _ = x.update(3)",
         check="assert (x.n, x.total) == (3, 10)\nx.update(2)\nassert x.n == 5", needs="tqdm", told=None),
    Case("shapely: prepared geometries", "from shapely.prepared import prep\nfrom shapely.geometry import Point\nx = prep(Point(0, 0).buffer(2))",
         check="assert x.contains(type(x.context.centroid)(1, 1))", needs="shapely", told=None),
    Case("numba: typed lists and dicts",
         "from numba import types\nfrom numba.typed import Dict, List\nd = Dict.empty(types.unicode_type, types.float64); d['a'] = 1.5; x = (List([1, 2]), d)",
         check="assert list(x[0]) == [1, 2] and dict(x[1]) == {'a': 1.5}", needs="numba", told=None),
    Case("pint: quantities of a registry", "import pint\nu = pint.UnitRegistry(); x = 3 * u.meter",
         check="assert (x + 2 * new['u'].meter).magnitude == 5", needs="pint", told=None),
)  # fmt: skip

CASES = (*_PYTHON, *_NUMPY, *_LIBRARIES)
