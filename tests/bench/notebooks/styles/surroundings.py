"""Styles of notebooks that use what is around them: files, databases, shells, widgets, threads."""

from __future__ import annotations

SURROUNDINGS = {
    "sqlite_database": """
import sqlite3
connection = sqlite3.connect(":memory:")
---
connection.executescript('''
create table people (id integer primary key, name text, born integer);
insert into people (name, born) values ('Ada', 1815), ('Alan', 1912);
''');
---
connection.execute("select count(*) from people").fetchone()
---
rows = [("Grace", 1906), ("Edsger", 1930)]
with connection:
    connection.executemany("insert into people (name, born) values (?, ?)", rows)
---
cursor = connection.execute("select name from people order by born")
cursor.fetchone()
---
cursor.fetchall()
---
import pandas as pd
people = pd.read_sql("select * from people", connection)
people
---
people.born.mean()
---
disk = sqlite3.connect("people.db")
people.to_sql("people", disk, if_exists="replace", index=False)
---
disk.execute("select max(born) from people").fetchone()
---
disk.close()
connection.close()
""",
    "files_and_folders": """
from pathlib import Path
folder = Path("reports")
folder.mkdir(exist_ok=True)
---
for n in range(3):
    (folder / f"r{n}.txt").write_text(f"report {n}\\n" * (n + 1))
---
sorted(p.name for p in folder.glob("*.txt"))
---
sizes = {p.name: p.stat().st_size for p in sorted(folder.iterdir())}
sizes
---
with open(folder / "all.txt", "w") as out:
    for path in sorted(folder.glob("r*.txt")):
        out.write(path.read_text())
---
lines = (folder / "all.txt").read_text().splitlines()
len(lines)
---
import csv, json
with open("table.csv", "w", newline="") as f:
    csv.writer(f).writerows([["a", "b"], [1, 2], [3, 4]])
---
with open("table.csv") as f:
    table = list(csv.DictReader(f))
json.dump(table, open("table.json", "w"))
---
json.loads(Path("table.json").read_text())
---
handle = open("log.txt", "w")
handle.write("begin\\n");
---
handle.write("end\\n")
handle.close()
---
print(Path("log.txt").read_text())
""",
    "written_module": """
%%writefile helpers.py
RATE = 0.25

def tax(amount):
    return amount * RATE
---
import helpers
helpers.tax(100)
---
%%writefile report.py
from helpers import tax

class Report:
    def __init__(self, amounts):
        self.amounts = amounts

    def total(self):
        return sum(a + tax(a) for a in self.amounts)
---
from report import Report
report = Report([1, 2, 3])
report.total()
---
helpers.RATE = 0.5
report.total()
---
%run -i report.py
---
Report([10]).total()
""",
    "shell_commands": """
!printf 'b\\na\\nc\\n' > letters.txt
---
letters = !sort letters.txt
letters
---
%%bash
wc -l < letters.txt
echo done >&2
---
count = 2
!head -n {count} letters.txt
---
import subprocess
subprocess.run(["sort", "-r", "letters.txt"], capture_output=True, text=True).stdout
---
%env GREETING=hello
---
!echo $GREETING
---
import os
os.environ["GREETING"], os.path.exists("letters.txt")
---
%%bash --out shown
cat letters.txt
---
shown.split()
""",
    "widgets": """
import ipywidgets as widgets
slider = widgets.IntSlider(value=3, max=10, description="n")
slider
---
log = []
slider.observe(lambda change: log.append(change["new"]), names="value")
---
slider.value = 7
log
---
text = widgets.Text(value="abc")
box = widgets.VBox([slider, text])
box
---
out = widgets.Output()
with out:
    print("inside")
out
---
@widgets.interact(k=(0, 5))
def show(k=2):
    print(k * 10)
---
link = widgets.jslink((slider, "value"), (widgets.IntProgress(), "value"))
---
choice = widgets.Dropdown(options=["a", "b"], value="b")
choice.value, slider.value
---
text.value += "!"
box.children[1].value
""",
    "logging_setup": """
import logging
import sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(levelname)s %(name)s %(message)s", force=True)
log = logging.getLogger("work")
---
log.info("begin")
log.debug("not shown")
---
log.setLevel(logging.DEBUG)
log.debug("shown")
---
handler = logging.FileHandler("work.log", mode="w")
log.addHandler(handler)
log.warning("to both")
---
handler.flush()
print(open("work.log").read())
---
logging.getLogger("other").error("another")
---
log.removeHandler(handler)
handler.close()
log.handlers
""",
    "rich_display": """
from IPython.display import HTML, JSON, Markdown, clear_output, display
---
HTML("<b>bold</b>")
---
display(Markdown("*text*"), JSON({"a": 1}))
---
class Money:
    def __init__(self, amount):
        self.amount = amount

    def _repr_html_(self):
        return f"<i>{self.amount}</i>"

price = Money(5)
price
---
handle = display("waiting", display_id="state")
---
handle.update("done")
---
for i in range(3):
    clear_output(wait=True)
    print(i)
---
price.amount = 6
[price, Money(7)]
---
display(price, display_id="price");
---
print("\\x1b[32mgreen\\x1b[0m")
---
import warnings
warnings.warn("careful")
""",
    "configuration": """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, default=0.1)
parser.add_argument("--steps", type=int, default=5)
parser.add_argument("--name", default="run")
args = parser.parse_args(["--steps", "8"])
args
---
from types import SimpleNamespace
config = SimpleNamespace(**vars(args), tags=["a"])
config.tags.append("b")
config
---
def train(cfg):
    value = 1.0
    for _ in range(cfg.steps):
        value *= 1 - cfg.rate
    return value

train(config)
---
config.rate = 0.2
train(config)
---
import json
saved = json.dumps(vars(config), sort_keys=True)
saved
---
restored = SimpleNamespace(**json.loads(saved))
restored == config
---
results = {rate: train(SimpleNamespace(steps=3, rate=rate)) for rate in (0.1, 0.5)}
results
""",
    "json_answers": """
import json
answer = '{"items": [{"id": 1, "tags": ["x", "y"], "price": 2.5}, {"id": 2, "tags": [], "price": 4.0}], "next": null}'
---
data = json.loads(answer)
len(data["items"])
---
import pandas as pd
frame = pd.json_normalize(data["items"])
frame
---
def walk(value, path=""):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from walk(item, f"{path}.{key}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from walk(item, f"{path}[{number}]")
    else:
        yield path, value

dict(walk(data))
---
data["items"].append({"id": 3, "tags": ["z"], "price": 1.0})
sum(item["price"] for item in data["items"])
---
by_id = {item["id"]: item for item in data["items"]}
by_id[3]["price"] = 9.0
data["items"][-1]["price"]
---
print(json.dumps(data, indent=1)[:60])
---
from pydantic import BaseModel

class Item(BaseModel):
    id: int
    tags: list[str]
    price: float

items = [Item(**item) for item in data["items"]]
items[0]
---
max(items, key=lambda item: item.price).id
""",
    "threads_and_futures": """
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
lock = threading.Lock()
total = 0
---
def add(n):
    global total
    for _ in range(100):
        with lock:
            total += n

threads = [threading.Thread(target=add, args=(n,)) for n in (1, 2)]
for t in threads:
    t.start()
for t in threads:
    t.join()
total
---
with ThreadPoolExecutor(2) as pool:
    squares = list(pool.map(lambda n: n * n, range(6)))
squares
---
pool = ThreadPoolExecutor(2)
futures = {pool.submit(pow, 2, n): n for n in range(4)}
---
sorted(future.result() for future in as_completed(futures))
---
ready = threading.Event()
found = []

def wait_and_add():
    ready.wait(5)
    found.append(total)

worker = threading.Thread(target=wait_and_add)
worker.start()
---
ready.set()
worker.join()
found
---
import queue
jobs = queue.Queue()
for n in range(3):
    jobs.put(n)
---
taken = []
while not jobs.empty():
    taken.append(jobs.get())
taken
---
pool.shutdown()
total += 1
total
""",
}
"""Cells by the style's name, a line ``---`` between two."""
