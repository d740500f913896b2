"""Files that a notebook writes, reads, lists and looks at, by Python, C, Rust and child processes."""

from __future__ import annotations

from tests.bench.small_notebooks.notebook import Category, SmallNotebook, cells_of

FILES = Category("files")
edit, unchanged, outside = FILES.edit, FILES.unchanged, FILES.outside

_FRAME = "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2, VALUE]})"
_ARRAY = "import numpy as np\na = np.array([1.0, 2.0, VALUE])"
_POLARS = "import polars as pl\ndf = pl.DataFrame({'a': [1, 2, VALUE]})"

FORMATS = {
    "text": ("v = VALUE", "open('f.txt', 'w').write(str(v))", "y = open('f.txt').read()"),
    "path-text": (
        "from pathlib import Path\nv = VALUE",
        "Path('f.txt').write_text(str(v));",
        "y = Path('f.txt').read_text()",
    ),
    "bytes": (
        "v = VALUE",
        "with open('f.bin', 'wb') as f:\n    f.write(bytes([v]))",
        "with open('f.bin', 'rb') as f:\n    y = f.read()",
    ),
    "json": (
        "import json\nv = {'k': VALUE}",
        "with open('f.json', 'w') as f:\n    json.dump(v, f)",
        "with open('f.json') as f:\n    y = json.load(f)",
    ),
    "csv-module": (
        "import csv\nv = VALUE",
        "with open('f.csv', 'w', newline='') as f:\n    csv.writer(f).writerows([['a'], [v]])",
        "with open('f.csv', newline='') as f:\n    y = list(csv.DictReader(f))",
    ),
    "pickle": (
        "import pickle\nv = [VALUE]",
        "with open('f.pkl', 'wb') as f:\n    pickle.dump(v, f)",
        "with open('f.pkl', 'rb') as f:\n    y = pickle.load(f)",
    ),
    "shelve": (
        "import shelve\nv = VALUE",
        "with shelve.open('f') as s:\n    s['k'] = v",
        "with shelve.open('f', flag='r') as s:\n    y = s['k']",
    ),
    "sqlite": (
        "import sqlite3\nv = VALUE",
        "con = sqlite3.connect('f.db')\ncon.execute('drop table if exists t')\n"
        "con.execute('create table t (a)'); con.execute('insert into t values (?)', (v,))\n"
        "con.commit(); con.close(); del con",
        "con = sqlite3.connect('f.db'); y = con.execute('select a from t').fetchall()\n"
        "con.close(); del con",
    ),
    "gzip": (
        "import gzip\nv = VALUE",
        "with gzip.open('f.gz', 'wt') as f:\n    f.write(str(v))",
        "with gzip.open('f.gz', 'rt') as f:\n    y = f.read()",
    ),
    "zip": (
        "import zipfile\nv = VALUE",
        "with zipfile.ZipFile('f.zip', 'w') as z:\n    z.writestr('a', str(v))",
        "with zipfile.ZipFile('f.zip') as z:\n    y = z.read('a')",
    ),
    "config": (
        "import configparser\nv = VALUE",
        "c = configparser.ConfigParser(); c['s'] = {'k': str(v)}\nwith open('f.ini', 'w') as f:\n    c.write(f)",
        "c2 = configparser.ConfigParser(); _r = c2.read('f.ini'); y = c2['s']['k']",
    ),
    "os-level": (
        "import os\nv = VALUE",
        "fd = os.open('f.txt', os.O_CREAT | os.O_WRONLY | os.O_TRUNC); os.write(fd, str(v).encode()); os.close(fd)",
        "fd = os.open('f.txt', os.O_RDONLY); y = os.read(fd, 9); os.close(fd)",
    ),
    "mmap": (
        "import mmap\nv = VALUE",
        "open('f.bin', 'wb').write(bytes([v] * 4096));",
        "with open('f.bin', 'rb') as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as m:\n    y = m[0]",
    ),
    "npy": (_ARRAY, "np.save('f.npy', a)", "y = np.load('f.npy').tolist()"),
    "npz": (_ARRAY, "np.savez('f.npz', a=a)", "y = np.load('f.npz')['a'].tolist()"),
    "savetxt": (_ARRAY, "np.savetxt('f.txt', a)", "y = np.loadtxt('f.txt').tolist()"),
    "tofile": (_ARRAY, "a.tofile('f.raw')", "y = np.fromfile('f.raw').tolist()"),
    "memmap": (
        _ARRAY,
        "m = np.memmap('f.raw', dtype=float, mode='w+', shape=3); m[:] = a; m.flush(); del m",
        "y = np.memmap('f.raw', dtype=float, mode='r', shape=3).tolist()",
    ),
    "to-csv": (_FRAME, "df.to_csv('f.csv', index=False)", "y = pd.read_csv('f.csv').a.sum()"),
    "to-json": (_FRAME, "df.to_json('f.json')", "y = pd.read_json('f.json').a.sum()"),
    "to-pickle": (_FRAME, "df.to_pickle('f.pkl')", "y = pd.read_pickle('f.pkl').a.sum()"),
    "to-parquet": (_FRAME, "df.to_parquet('f.parquet')", "y = pd.read_parquet('f.parquet').a.sum()"),
    "to-feather": (_FRAME, "df.to_feather('f.feather')", "y = pd.read_feather('f.feather').a.sum()"),
    "to-html": (_FRAME, "df.to_html('f.html')", "y = open('f.html').read().count('>9<')"),
    "pl-csv": (_POLARS, "df.write_csv('f.csv')", "y = pl.read_csv('f.csv')['a'].sum()"),
    "pl-parquet": (_POLARS, "df.write_parquet('f.parquet')", "y = pl.read_parquet('f.parquet')['a'].sum()"),
    "pl-scan": (_POLARS, "df.write_parquet('f.parquet')", "y = pl.scan_parquet('f.parquet').collect()['a'].sum()"),
    "pl-ndjson": (_POLARS, "df.write_ndjson('f.jsonl')", "y = pl.read_ndjson('f.jsonl')['a'].sum()"),
    "arrow-parquet": (
        "import pyarrow as pa, pyarrow.parquet as pq\nt = pa.table({'a': [1, VALUE]})",
        "pq.write_table(t, 'f.parquet')",
        "y = pq.read_table('f.parquet')['a'].to_pylist()",
    ),
    "arrow-csv": (
        "import pyarrow as pa, pyarrow.csv as pc\nt = pa.table({'a': [1, VALUE]})",
        "pc.write_csv(t, 'f.csv')",
        "y = pc.read_csv('f.csv')['a'].to_pylist()",
    ),
    "arrow-dataset": (
        "import pyarrow as pa, pyarrow.dataset as ds\nt = pa.table({'a': [1, VALUE]})",
        "ds.write_dataset(t, 'd', format='parquet', existing_data_behavior='overwrite_or_ignore')",
        "y = ds.dataset('d').to_table()['a'].to_pylist()",
    ),
    "duckdb-parquet": (
        _FRAME + "\nimport duckdb",
        "df.to_parquet('f.parquet')",
        "y = duckdb.sql(\"select sum(a) from 'f.parquet'\").fetchone()",
    ),
    "duckdb-csv-glob": (
        _FRAME + "\nimport duckdb",
        "df.to_csv('part-1.csv', index=False)",
        "y = duckdb.sql(\"select sum(a) from read_csv('part-*.csv')\").fetchone()",
    ),
    "duckdb-copy": (
        "import duckdb\nv = VALUE",
        "duckdb.sql(f\"copy (select {v} as a) to 'f.parquet'\")",
        "y = duckdb.sql(\"from 'f.parquet'\").fetchall()",
    ),
    "torch": (
        "import torch\nt = torch.tensor([1.0, VALUE])",
        "torch.save(t, 'f.pt')",
        "y = torch.load('f.pt').tolist()",
    ),
    "joblib": ("import joblib\nv = [VALUE]", "joblib.dump(v, 'f.joblib');", "y = joblib.load('f.joblib')"),
    "yaml": (
        "import yaml\nv = {'k': VALUE}",
        "with open('f.yaml', 'w') as f:\n    yaml.safe_dump(v, f)",
        "y = yaml.safe_load(open('f.yaml'))",
    ),
    "image": (
        "from PIL import Image\nv = VALUE",
        "Image.new('L', (2, 2), v).save('f.png')",
        "y = Image.open('f.png').getpixel((0, 0))",
    ),
    "imread": (
        "import matplotlib.pyplot as plt, numpy as np\nv = VALUE",
        "plt.imsave('f.png', np.full((2, 2), v), vmin=0, vmax=9)",
        "y = float(plt.imread('f.png').sum())",
    ),
    "graphml": (
        "import networkx as nx\nG = nx.path_graph(VALUE)",
        "nx.write_edgelist(G, 'f.txt')",
        "y = nx.read_edgelist('f.txt').number_of_nodes()",
    ),
    "xgboost-text": (
        _FRAME, "df.to_csv('f.tsv', sep='\\t', index=False)", "import csv\ny = [r for r in csv.reader(open('f.tsv'), delimiter='\\t')]",
    ),
    "shell-write": ("v = VALUE", "!echo {v} > f.txt", "y = open('f.txt').read()"),
    "shell-read": ("v = VALUE", "open('f.txt', 'w').write(str(v));", "y = list(get_ipython().getoutput('cat f.txt'))"),
    "bang-read": ("v = VALUE", "open('f.txt', 'w').write(str(v));", "out = !cat f.txt\ny = list(out)"),
    "subprocess-read": (
        "import subprocess\nv = VALUE",
        "open('f.txt', 'w').write(str(v));",
        "y = subprocess.run(['cat', 'f.txt'], capture_output=True, text=True).stdout",
    ),
    "import-module": (
        "import importlib, sys\nv = VALUE",
        "open('helper_mod.py', 'w').write(f'K = {v}  ' + '#' * v);",
        "importlib.invalidate_caches(); sys.modules.pop('helper_mod', None)\nimport helper_mod\ny = helper_mod.K",
    ),
    "run-script": ("v = VALUE", "open('s.py', 'w').write(f'y = {v}');", "%run s.py"),
    "exec-file": ("v = VALUE", "open('s.py', 'w').write(f'y = {v}');", "exec(open('s.py').read())"),
    "listdir": ("import os\nv = VALUE", "os.makedirs('d', exist_ok=True); open(f'd/{v}', 'w').close()", "y = sorted(os.listdir('d'))[-1]"),
    "glob": ("import glob, os\nv = VALUE", "os.makedirs('d', exist_ok=True); open(f'd/{v}.txt', 'w').close()", "y = sorted(glob.glob('d/*.txt'))[-1]"),
    "iterdir": ("from pathlib import Path\nv = VALUE", "Path('d').mkdir(exist_ok=True); Path(f'd/{v}').touch()", "y = sorted(p.name for p in Path('d').iterdir())[-1]"),
    "exists": ("import os\nv = VALUE", "open(f'm{v}', 'w').close()", "y = os.path.exists('m9')"),
    "size": ("import os\nv = VALUE", "open('f', 'w').write('x' * v);", "y = os.path.getsize('f')"),
    "stat": ("from pathlib import Path\nv = VALUE", "Path('f').write_text('x' * v);", "y = Path('f').stat().st_size"),
    "mode": ("import os\nv = VALUE", "open('f', 'w').close(); os.chmod('f', 0o600 + v)", "y = os.stat('f').st_mode"),
    "symlink": ("import os\nv = VALUE", "for n in (3, 9): open(f't{n}', 'w').write(str(n))\nif os.path.lexists('l'): os.remove('l')\nos.symlink(f't{v}', 'l')", "y = open('l').read()"),
    "walk": ("import os\nv = VALUE", "os.makedirs(f'd/{v}', exist_ok=True)", "y = sorted(d for d, _, _ in os.walk('d'))[-1]"),
    "append": ("v = VALUE", "with open('f', 'a') as f:\n    f.write(str(v))", "y = open('f').read()[-1]"),
    "removed": ("import os\nv = VALUE", "open('m', 'w').close()\nif v == 9: os.remove('m')", "y = os.path.exists('m')"),
    "renamed": ("import os\nv = VALUE", "for n in (3, 9): open(f't{n}', 'w').write(str(n))\nos.replace(f't{v}', 'now')", "y = open('now').read()"),
    "copied": ("import shutil\nv = VALUE", "open('f', 'w').write(str(v)); shutil.copy('f', 'g')", "y = open('g').read()"),
    "tarfile": ("import tarfile, io\nv = VALUE", "with tarfile.open('f.tar', 'w') as t:\n    i = tarfile.TarInfo('a'); i.size = 1; t.addfile(i, io.BytesIO(str(v).encode()))", "with tarfile.open('f.tar') as t:\n    y = t.extractfile('a').read()"),
    "fileinput": ("import fileinput\nv = VALUE", "open('f', 'w').write(str(v));", "y = list(fileinput.input('f'))"),
    "linecache": ("import linecache\nv = VALUE", "open('f', 'w').write(str(v));", "linecache.clearcache(); y = linecache.getline('f', 1)"),
    "codecs-open": ("import codecs\nv = VALUE", "open('f', 'w').write(str(v));", "y = codecs.open('f').read()" ),
    "genfromtxt": (_ARRAY, "np.savetxt('f.csv', a, delimiter=',')", "y = np.genfromtxt('f.csv').tolist()"),
    "savemat": ("import scipy.io, numpy as np\nv = VALUE", "scipy.io.savemat('f.mat', {'a': np.array([v])})", "y = scipy.io.loadmat('f.mat')['a'].tolist()"),
    "sparse": ("import scipy.sparse as sp\nv = VALUE", "sp.save_npz('f.npz', sp.csr_matrix([[v]]))", "y = sp.load_npz('f.npz').toarray().tolist()"),
    "tomllib": ("import tomllib\nv = VALUE", "open('f.toml', 'w').write(f'a = {v}');", "with open('f.toml', 'rb') as f:\n    y = tomllib.load(f)"),
    "xml": ("import xml.etree.ElementTree as ET\nv = VALUE", "ET.ElementTree(ET.Element('a', k=str(v))).write('f.xml')", "y = ET.parse('f.xml').getroot().get('k')"),
}
"""What makes a value, what writes it, what reads it; 3 in the first version, 9 in the second."""

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
}
for _name, _text in _PATHS.items():
    outside(f"path-{_name}", _text, "open('f.txt', 'w').write('second')", files={"f.txt": "one"})

_WRITEFILE = "%%writefile cfg.py\nK = 3\n---\nns = {}\nexec(open('cfg.py').read(), ns)\ny = ns['K']"
edit("writefile-magic", _WRITEFILE, "K = 3", "K = 9")
edit("writefile-import", "%%writefile wmod.py\nK = 3\n---\nimport wmod\ny = wmod.K", "K = 3", "K = 33")
edit("writefile-append", "%%writefile -a notes.txt\none\n---\ny = open('notes.txt').read().split()[-1]", "one", "two")
edit("bash-writes", "%%bash\necho 3 > b.txt\n---\ny = open('b.txt').read()", "echo 3", "echo 9")
edit("sh-script", "%%sh\nprintf 3 > b.txt\n---\nz = 1\n---\ny = open('b.txt').read() * z", "printf 3", "printf 9")
outside("bash-reads", "x = 1\n---\n%%bash --out y\ncat f.txt", "open('f.txt', 'w').write('2')", files={"f.txt": "1"})
outside("same-size-and-time", "x = 1\n---\ny = open('f.txt').read()", "import os\ns = os.stat('f.txt'); open('f.txt', 'w').write('2'); os.utime('f.txt', ns=(s.st_atime_ns, s.st_mtime_ns))", files={"f.txt": "1"})
outside("touched-only", "x = 1\n---\ny = open('f.txt').read()", "import os; os.utime('f.txt', (1, 1))", files={"f.txt": "1"})
outside("output-deleted", "x = 1\n---\nopen('out.txt', 'w').write('made');\n---\nimport os\ny = os.path.exists('out.txt')", "import os; os.remove('out.txt')")
outside("output-changed", "x = 1\n---\nopen('out.txt', 'w').write('made');\n---\ny = open('out.txt').read()", "open('out.txt', 'w').write('other')")
outside("helper-module-edited", "import hm\n---\ny = hm.f()", "open('hm.py', 'w').write('def f():\\n    return 222\\n')", files={"hm.py": "def f():\n    return 1\n"})
outside("helper-of-helper-edited", "from hm import f\n---\ny = f()", "open('hm2.py', 'w').write('K = 222\\n')", files={"hm.py": "from hm2 import K\ndef f():\n    return K\n", "hm2.py": "K = 1\n"})
outside("package-data", "import pk\n---\ny = pk.read()", "open('pk/data.txt', 'w').write('second')", files={"pk/__init__.py": "from importlib.resources import files\ndef read():\n    return files('pk').joinpath('data.txt').read_text()\n", "pk/data.txt": "one"})
outside("module-reads-at-import", "import hm\n---\ny = hm.K", "open('k.txt', 'w').write('second')", files={"hm.py": "K = open('k.txt').read()\n", "k.txt": "one"})
outside("missing-then-there", "import os\n---\ntry:\n    y = open('opt.txt').read()\nexcept FileNotFoundError:\n    y = 'default'", "open('opt.txt', 'w').write('given')")
outside("dotenv", "x = 1\n---\ny = dict(l.split('=') for l in open('.env').read().split())", "open('.env', 'w').write('K=2')", files={".env": "K=1"})
outside("lines-seeked", "x = 1\n---\nwith open('f.txt') as f:\n    f.seek(3); y = f.read()", "open('f.txt', 'w').write('000222')", files={"f.txt": "000111"})
unchanged("appended-log", "with open('log.txt', 'w') as f:\n    f.write('a')\n---\nwith open('log.txt', 'a') as f:\n    f.write('b')\n---\ny = open('log.txt').read()")
unchanged("temporary-folder", "import tempfile, os\nd = tempfile.mkdtemp()\n---\nopen(os.path.join(d, 'a'), 'w').write('1');\n---\ny = os.listdir(d)")
unchanged("temporary-file-object", "import tempfile\nt = tempfile.NamedTemporaryFile('w+')\n---\nt.write('abc'); t.flush()\n---\nt.seek(0); y = t.read()")
unchanged("cache-on-disk", "import os, json\ndef cached(k):\n    if not os.path.exists('c.json'):\n        json.dump({k: 1}, open('c.json', 'w'))\n    return json.load(open('c.json'))[k]\n---\ny = cached('a')\n---\nz = cached('a')", "(y, z)")
unchanged("read-then-removed", "open('t.txt', 'w').write('1');\n---\ny = open('t.txt').read()\n---\nimport os\nos.remove('t.txt')\n---\nz = os.path.exists('t.txt')", "(y, z)")
unchanged("plain-read", "open('t.csv', 'w').write('a\\n1\\n2\\n');\n---\nimport pandas as pd\ndf = pd.read_csv('t.csv')\n---\ny = df.a.sum()")
unchanged("parquet-round", "import pandas as pd\npd.DataFrame({'a': [1]}).to_parquet('t.parquet')\n---\ndf = pd.read_parquet('t.parquet')\n---\ny = df.a.sum()")
