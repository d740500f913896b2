"""Files that a notebook writes, reads, lists and looks at, by Python, C, Rust and child processes."""

from __future__ import annotations

from tests.bench.small_notebooks.file_formats import FORMATS
from tests.bench.small_notebooks.notebook import Category, SmallNotebook, cells_of

FILES = Category("files")
edit, unchanged, outside = FILES.edit, FILES.unchanged, FILES.outside

#: The writer's value is edited: what reads the file must see the new one.
for _name, (_make, _write, _read) in FORMATS.items():
    _text = f"{_make}\n---\n{_write}\n---\n{_read}"
    _first, _second = (cells_of(_text.replace("VALUE", value)) for value in "39")
    FILES.add(SmallNotebook("files", f"written-{_name}", _first, _second))

_READERS = (
    "text", "json", "pickle", "sqlite", "npy", "to-csv", "to-parquet", "pl-csv", "pl-scan",
    "arrow-parquet", "duckdb-parquet", "torch", "bang-read", "subprocess-read", "image", "mmap",
    "exec-file", "memmap", "listdir", "exists",
)  # fmt: skip
#: Another program writes the file between the two runs.
for _name in _READERS:
    _make, _write, _read = FORMATS[_name]
    _imports = "\n".join(line for line in _make.splitlines() if line.startswith(("import", "from")))
    _before, _after = (f"{_make}\n{_write}".replace("VALUE", value) for value in "39")
    _once = "import os\nif not os.path.exists('there'):\n    " + _before.replace("\n", "\n    ")
    _cells = (f"{_once}\n    open('there', 'w').close()", _imports or "x = 1", _read)
    FILES.add(SmallNotebook("files", f"outside-{_name}", _cells, _cells, outside=_after))

#: How the path reaches the reader.
_PATHS = {
    "function": "def read(p):\n    return open(p).read()\n---\ny = read('f.txt')",
    "variable": "path = 'f.txt'\n---\ny = open(path).read()",
    "path-object": "from pathlib import Path\npath = Path('f.txt')\n---\ny = path.read_text()",
    "joined": "import os\nfolder, name = '.', 'f.txt'\n---\ny = open(os.path.join(folder, name)).read()",
    "f-string": "stem = 'f'\n---\ny = open(f'{stem}.txt').read()",
    "dict-value": "config = {'paths': {'in': 'f.txt'}}\n---\ny = open(config['paths']['in']).read()",
    "attribute": "class Config:\n    path = 'f.txt'\n---\ny = open(Config.path).read()",
    "default-argument": "def read(p='f.txt'):\n    with open(p) as f:\n        return f.read()\n---\ny = read()",
    "method": "class Reader:\n    def __init__(self, p): self.p = p\n    def read(self): return open(self.p).read()\nr = Reader('f.txt')\n---\ny = r.read()",
    "environment": "import os\nos.environ['SMALL_PATH'] = 'f.txt'\n---\ny = open(os.environ['SMALL_PATH']).read()",
    "absolute": "import os\npath = os.path.abspath('f.txt')\n---\ny = open(path).read()",
    "alias-of-open": "o = open\n---\ny = o('f.txt').read()",
    "io-open": "import io\n---\ny = io.open('f.txt').read()",
    "thread": "from concurrent.futures import ThreadPoolExecutor\ndef read(p): return open(p).read()\n---\nwith ThreadPoolExecutor(2) as pool:\n    y = list(pool.map(read, ['f.txt']))",
    "generator": "def lines(p):\n    with open(p) as f:\n        yield from f\n---\ny = list(lines('f.txt'))",
    "glob-loop": "import glob\n---\ny = [open(p).read() for p in sorted(glob.glob('*.txt'))]",
    "lambda-default": "read = lambda p='f.txt': open(p).read()\n---\ny = read()",
    "partial": "from functools import partial\nread = partial(open, 'f.txt')\n---\ny = read().read()",
    "coroutine": "async def read():\n    return open('f.txt').read()\n---\ny = await read()",
    "chdir": "import os\nos.makedirs('sub', exist_ok=True)\n---\nos.chdir('sub')\ny = open('../f.txt').read()\nos.chdir('..')",
}  # fmt: skip
for _name, _text in _PATHS.items():
    outside(f"path-{_name}", _text, "open('f.txt', 'w').write('second')", files={"f.txt": "one"})

_WRITEFILE = "%%writefile cfg.py\nK = 3\n---\nns = {}\nexec(open('cfg.py').read(), ns)\ny = ns['K']"
edit("writefile-magic", _WRITEFILE, "K = 3", "K = 9")
edit(
    "writefile-import",
    "%%writefile wmod.py\nK = 3\n---\nimport wmod\ny = wmod.K",
    "K = 3",
    "K = 33",
)
edit(
    "writefile-append",
    "%%writefile -a notes.txt\none\n---\ny = open('notes.txt').read().split()[-1]",
    "one",
    "two",
)
edit("bash-writes", "%%bash\necho 3 > b.txt\n---\ny = open('b.txt').read()", "echo 3", "echo 9")
edit(
    "sh-script",
    "%%sh\nprintf 3 > b.txt\n---\nz = 1\n---\ny = open('b.txt').read() * z",
    "printf 3",
    "printf 9",
)
outside(
    "bash-reads",
    "x = 1\n---\n%%bash --out y\ncat f.txt",
    "open('f.txt', 'w').write('2')",
    files={"f.txt": "1"},
)
outside(
    "same-size-and-time",
    "x = 1\n---\ny = open('f.txt').read()",
    "import os\ns = os.stat('f.txt'); open('f.txt', 'w').write('2'); os.utime('f.txt', ns=(s.st_atime_ns, s.st_mtime_ns))",
    files={"f.txt": "1"},
)
outside(
    "touched-only",
    "x = 1\n---\ny = open('f.txt').read()",
    "import os; os.utime('f.txt', (1, 1))",
    files={"f.txt": "1"},
)
outside(
    "output-deleted",
    "x = 1\n---\nopen('out.txt', 'w').write('made');\n---\nimport os\ny = os.path.exists('out.txt')",
    "import os; os.remove('out.txt')",
)
outside(
    "output-changed",
    "x = 1\n---\nopen('out.txt', 'w').write('made');\n---\ny = open('out.txt').read()",
    "open('out.txt', 'w').write('other')",
)
outside(
    "helper-module-edited",
    "import hm\n---\ny = hm.f()",
    "open('hm.py', 'w').write('def f():\\n    return 222\\n')",
    files={"hm.py": "def f():\n    return 1\n"},
)
outside(
    "helper-of-helper-edited",
    "from hm import f\n---\ny = f()",
    "open('hm2.py', 'w').write('K = 222\\n')",
    files={"hm.py": "from hm2 import K\ndef f():\n    return K\n", "hm2.py": "K = 1\n"},
)
outside(
    "package-data",
    "import pk\n---\ny = pk.read()",
    "open('pk/data.txt', 'w').write('second')",
    files={
        "pk/__init__.py": "from importlib.resources import files\ndef read():\n    return files('pk').joinpath('data.txt').read_text()\n",
        "pk/data.txt": "one",
    },
)
outside(
    "module-reads-at-import",
    "import hm\n---\ny = hm.K",
    "open('k.txt', 'w').write('second')",
    files={"hm.py": "K = open('k.txt').read()\n", "k.txt": "one"},
)
outside(
    "missing-then-there",
    "import os\n---\ntry:\n    y = open('opt.txt').read()\nexcept FileNotFoundError:\n    y = 'default'",
    "open('opt.txt', 'w').write('given')",
)
outside(
    "dotenv",
    "x = 1\n---\ny = dict(l.split('=') for l in open('.env').read().split())",
    "open('.env', 'w').write('K=2')",
    files={".env": "K=1"},
)
outside(
    "lines-seeked",
    "x = 1\n---\nwith open('f.txt') as f:\n    f.seek(3); y = f.read()",
    "open('f.txt', 'w').write('000222')",
    files={"f.txt": "000111"},
)
unchanged(
    "appended-log",
    "with open('log.txt', 'w') as f:\n    f.write('a')\n---\nwith open('log.txt', 'a') as f:\n    f.write('b')\n---\ny = open('log.txt').read()",
)
unchanged(
    "temporary-folder",
    "import tempfile, os\nd = tempfile.mkdtemp()\n---\nopen(os.path.join(d, 'a'), 'w').write('1');\n---\ny = os.listdir(d)",
)
unchanged(
    "temporary-file-object",
    "import tempfile\nt = tempfile.NamedTemporaryFile('w+')\n---\nt.write('abc'); t.flush()\n---\nt.seek(0); y = t.read()",
)
unchanged(
    "cache-on-disk",
    "import os, json\ndef cached(k):\n    if not os.path.exists('c.json'):\n        json.dump({k: 1}, open('c.json', 'w'))\n    return json.load(open('c.json'))[k]\n---\ny = cached('a')\n---\nz = cached('a')",
    "(y, z)",
)
unchanged(
    "read-then-removed",
    "open('t.txt', 'w').write('1');\n---\ny = open('t.txt').read()\n---\nimport os\nos.remove('t.txt')\n---\nz = os.path.exists('t.txt')",
    "(y, z)",
)
unchanged(
    "plain-read",
    "open('t.csv', 'w').write('a\\n1\\n2\\n');\n---\nimport pandas as pd\ndf = pd.read_csv('t.csv')\n---\ny = df.a.sum()",
)
unchanged(
    "parquet-round",
    "import pandas as pd\npd.DataFrame({'a': [1]}).to_parquet('t.parquet')\n---\ndf = pd.read_parquet('t.parquet')\n---\ny = df.a.sum()",
)
