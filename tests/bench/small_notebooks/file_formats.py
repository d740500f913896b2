"""Ways to write a value into a file and to read it again."""

from __future__ import annotations

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
        "y = duckdb.sql(\"select sum(a) from 'f.parquet'\").fetchall()",
    ),
    "duckdb-csv-glob": (
        _FRAME + "\nimport duckdb",
        "df.to_csv('part-1.csv', index=False)",
        "y = duckdb.sql(\"select sum(a) from read_csv('part-*.csv')\").fetchall()",
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
}  # fmt: skip
"""What makes a value, what writes it, what reads it; 3 in the first version, 9 in the second."""
