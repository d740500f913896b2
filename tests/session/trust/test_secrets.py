"""Secrets of the environment, keys and passwords: none of them stands anywhere in a store."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbckpt.steps import current_session
from nbckpt.testing import Provider
from tests.notebooks import restart, run
from tests.running import environment as environment_of_tests
from tests.session.trust.holding import holding

KEY = "MY_API_KEY"
VALUE = "zq8f-Lk2vN0xTe5uWb7c"
PASSWORD = "correct-horse-battery"

_PLOT = "import io, matplotlib; matplotlib.use('agg')\nimport matplotlib.pyplot as plt\n"
PLACES = {
    "a variable": "x = S",
    "an annotated variable": "x: str = S",
    "bytes": "x = S.encode()",
    "a longer text": "x = f'Bearer {S}'",
    "twice in a text": "x = f'{S}:{S}@host'",
    "a list": "x = [1, S]",
    "a tuple": "x = (S, {'a': S})",
    "a set": "x = {S}",
    "a dict's value": "x = {'Authorization': f'Bearer {S}'}",
    "a dict's key": "x = {S: 1}",
    "a nested dict": "x = {'a': [{'b': {'c': S}}]}",
    "an instance": "class A: pass\nx = A(); x.k = S",
    "a slot": "class B:\n    __slots__ = ('k',)\nx = B(); x.k = S",
    "a dataclass": "import dataclasses\n@dataclasses.dataclass\nclass D:\n    k: str\nx = D(S)",
    "a named tuple": "from collections import namedtuple\nT = namedtuple('T', 'k')\nx = T(S)",
    "a class": "class x:\n    k = S",
    "a default": "def x(k=S): return k",
    "a closure": "def outer(k):\n    def f(): return k\n    return f\nx = outer(S)",
    "a partial": "import functools\nx = functools.partial(print, S)",
    "an array": "import numpy as np\nx = np.array([S, 'b'])",
    "an array of objects": "import numpy as np\nx = np.array([S, 1], dtype=object)",
    "a frame": "import pandas as pd\nx = pd.DataFrame({'a': [S, 'b'], 'n': [1, 2]})",
    "a table": "import pyarrow as pa\nx = pa.table({'a': [S]})",
    "a path": "import pathlib\nx = pathlib.Path('a') / S",
    "an error": "x = ValueError(S)",
    "a deque": "from collections import deque\nx = deque([S])",
    "a long list": "x = [S] * 5000",
    "a long text": "x = 'a ' * 50_000 + S",
    "an output": "x = 1\nprint(S)",
    "a result": "x = 1\nS",
    "a result's part": "x = 1\n{'k': [S]}",
    "shown": "from IPython.display import HTML, display\nx = 1\ndisplay(HTML(f'<b>{S}</b>'))",
    "a result of a step": "import nbckpt\n@nbckpt.step\ndef f(): return [S]\nx = len(f())",
    "an argument of a step": "import nbckpt\n@nbckpt.step\ndef g(k): return len(k)\nx = g(S)",
    "items of a map": "import nbckpt\ndef h(k): return k + 'x'\nx = len(nbckpt.map(h, [S, S]))",
    "a loop": "import nbckpt\nx = []\nfor k in nbckpt.track([S, 'b']): x.append(k)",
    "the environment": "import os\nos.environ['OTHER_TOKEN'] = S + '9'\nx = 1",
    "the command line": "import sys\nsys.argv.append(S)\nx = 1",
    "a client": "import openai\nx = openai.OpenAI(api_key=S)",
    "an HTTP client": "import httpx\nx = httpx.Client(headers={'x-api-key': S})",
    "a header in base64": "import base64\n"
    "x = {'Authorization': 'Basic ' + base64.b64encode(f'me:{S}'.encode()).decode()}",
    "a database's address": "x = f'postgresql://me:{S}@db:5432/x'",
    "arguments of a tool": "import json\n"
    "x = {'tool_calls': [{'function': {'arguments': json.dumps({'k': S})}}]}",
    "a secret of pydantic": "import pydantic\nx = pydantic.SecretStr(S)",
    "a default of settings": "import pydantic\nclass M(pydantic.BaseModel):\n"
    "    k: pydantic.SecretStr = pydantic.SecretStr(S)\nx = M()",
    "a docstring": "def x(): return 1\nx.__doc__ = f'Asks with {S}.'",
    "an error's note": "x = ValueError('a'); x.add_note(S)",
    "a group of errors": "x = ExceptionGroup('a', [ValueError(S)])",
    "an error's cause": "try:\n    try: raise KeyError(S)\n"
    "    except KeyError as e: raise ValueError('b') from e\nexcept ValueError as e: x = e",
    "a printed traceback": "import traceback\nx = 1\ntry: raise ValueError(S)\n"
    "except ValueError: traceback.print_exc()",
    "a log": "import logging\nx = 1\nlogging.warning(S)",
    "the magic of the environment": "%env OTHER_TOKEN={S}9\nx = 1",
    "a process's arguments": "import subprocess, sys\n"
    "x = subprocess.run([sys.executable, '-c', 'import sys; print(sys.argv[1])', S, S + '*'],"
    " capture_output=True, text=True).stdout",
    "a shell's command": "x = !echo {S}",
    "a figure's title": f"{_PLOT}x, axes = plt.subplots(); axes.set_title(S); plt.close(x)",
    "a drawing's text": f"{_PLOT}from IPython.display import SVG, display\n"
    "f, axes = plt.subplots(); axes.set_title(S); b = io.StringIO()\n"
    "f.savefig(b, format='svg', metadata={'Title': S, 'Date': None}); plt.close(f)\n"
    "del f, axes\nx = 1\ndisplay(SVG(b.getvalue()))",
    "a picture's metadata": f"{_PLOT}from IPython.display import Image, display\n"
    "f, axes = plt.subplots(); b = io.BytesIO()\n"
    "f.savefig(b, format='png', metadata={'Title': S}); plt.close(f)\n"
    "del f, axes\nx = 1\ndisplay(Image(b.getvalue()))",
    "markdown": "from IPython.display import Markdown, display\nx = 1\n"
    "display(Markdown(f'|a|\\n|-|\\n|{S}|'))",
    "JSON": "from IPython.display import JSON, display\nx = 1\ndisplay(JSON({'k': [S]}))",
    "a widget": "import ipywidgets\nx = ipywidgets.Password(value=S)",
    "a column": "import pandas as pd\nx = pd.DataFrame({S: [1]})",
    "an index": "import pandas as pd\nx = pd.Series([1], index=[S])",
    "a category": "import pandas as pd\nx = pd.Series([S, S, 'b']).astype('category')",
    "an enumeration": "import enum\nclass x(enum.Enum):\n    a = S",
    "a pattern": "import re\nx = re.compile(S)",
    "a bytearray": "x = bytearray(S.encode())",
    "an array of bytes": "import numpy as np\nx = np.frombuffer(S.encode(), dtype=np.uint8).copy()",
    "an iterator": "x = iter([S, 'b'])",
    "a cache": "import functools\n@functools.cache\ndef x(k): return k\nx(S)",
    "a file of settings": "import configparser\nx = configparser.ConfigParser()\nx['a'] = {'k': S}",
    "a namespace": "import types\nx = types.SimpleNamespace(k=S)",
}


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, VALUE)
    monkeypatch.setenv("DB_PASSWORD", PASSWORD)
    monkeypatch.setenv("OTHER_TOKEN", "to be set")


@pytest.mark.parametrize("source", PLACES.values(), ids=PLACES)
def test_a_secret_of_the_environment_is_written_nowhere_and_is_there_again(
    shell: Any, source: str
) -> None:
    before = f"import os\nS = os.environ[{KEY!r}]"
    cell = f"%%checkpoint place\n{source}"
    look = "y = repr(x)"
    run(shell, before)
    run(shell, cell)
    run(shell, look)
    shown = re.sub("0x[0-9a-f]+", "", shell.user_ns["y"])
    current_session.session().checkpoint("end")
    current_session.session().wait()
    restart(shell)
    for again in (before, cell, look):
        run(shell, again)

    assert re.sub("0x[0-9a-f]+", "", shell.user_ns["y"]) == shown
    current_session.session().wait()
    assert holding(Path(".nbckpt"), VALUE) == set()


@pytest.mark.slow
def test_of_a_session_with_a_secret_in_each_place_none_is_written(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = [f"{VALUE}-{n}" for n in range(len(PLACES))]
    cells = ["import os"]
    for n, (secret, source) in enumerate(zip(secrets, PLACES.values(), strict=True)):
        monkeypatch.setenv(f"SERVICE_{n}_API_KEY", secret)
        read = f"S = os.environ['SERVICE_{n}_API_KEY']"
        cells += [read, f"%%checkpoint place-{n}\n{source}\nx_{n} = x"]
    for _ in range(2):
        shell.run_line_magic("nbckpt", "auto on")
        for cell in cells:
            run(shell, cell)
        current_session.session().wait()
        restart(shell)

    assert holding(Path(".nbckpt"), "SERVICE_3_API_KEY")
    assert holding(Path(".nbckpt"), *secrets) == set()


def test_an_error_with_a_secret_is_written_without_it(shell: Any) -> None:
    for source in (
        f"%%checkpoint a\nimport os\nraise ValueError(os.environ[{KEY!r}])",
        "import nbckpt\n@nbckpt.step\ndef f(k): raise ValueError(k)",
        f"%%checkpoint b\nf(os.environ[{KEY!r}])",
    ):
        shell.run_cell(source, store_history=True)
    current_session.session().wait()

    assert holding(Path(".nbckpt"), VALUE) == set()


LITERALS = {
    "a key": ("k = 'sk-proj-Zq8fLk2vN0xTe5uWb7cYd'", "a key of a model's provider"),
    "in a call": ("d = dict(token='ghp_" + "a1B2" * 9 + "')", "a key of GitHub"),
    "a URL": ("u = 'postgresql://me:pa55word@host/db'", "a URL with a password"),
    "a password": ("password = 'hunter2222'", "a secret, as 'password' says,"),
    "a dict": ("c = {'api_key': 'a1b2c3d4e5'}", "a secret, as 'api_key' says,"),
    "a private key": (
        "p = '-----BEGIN PRIVATE KEY-----\\nMIIEabcdef\\n-----END PRIVATE KEY-----'",
        "a private key",
    ),
}


@pytest.mark.parametrize(("source", "what"), LITERALS.values(), ids=LITERALS)
def test_a_literal_is_told_once_is_in_no_value_and_is_made_again_by_its_cell(
    shell: Any, capsys: pytest.CaptureFixture[str], source: str, what: str
) -> None:
    name = source.partition(" ")[0]
    run(shell, f"%%checkpoint a\n{source}\nn = 1")
    told = capsys.readouterr().out
    assert (
        f"this cell's text holds {'what looks like ' * (what[-1] != ',')}{what} in line 2" in told
    )
    run(shell, f"%%checkpoint a\n{source}\nn = 2")
    assert "this cell's text" not in capsys.readouterr().out
    value = shell.user_ns[name]
    secret = value if isinstance(value, str) else next(iter(value.values()))
    session = current_session.session()
    session.wait()
    (journal,) = Path(".nbckpt", "journal").iterdir()
    assert holding(Path(".nbckpt"), secret) <= {journal.name}  # the cell's text
    assert '"preview"' in journal.read_text()
    restart(shell)
    run(shell, "%resume")
    run(shell, f"again = {name}")

    assert shell.user_ns["again"] == value
    assert shell.user_ns["n"] == 2


NAMED = {
    "bytes": "x = {'a': b'sk-proj-Zq8fLk2vN0xTe5uWb7cYd'}",
    "named bytes": "x = {'password': b'hunter2222'}",
    "a slot": "class A:\n    __slots__ = ('api_key',)\nx = A(); x.api_key = 'hunter2222'",
    "a mapping": "import collections\nx = collections.UserDict(password='hunter2222')",
    "a chain": "import collections\nx = collections.ChainMap({}, {'password': 'hunter2222'})",
    "a bytearray": "x = {'password': bytearray(b'hunter2222')}",
    "a deque": "import collections\nx = collections.deque([{'password': 'hunter2222'}])",
    "a set": "x = {('a', frozenset({'sk-proj-Zq8fLk2vN0xTe5uWb7cYd'}))}",
    "pydantic's": "import pydantic\nx = {'k': pydantic.SecretStr('hunter2222')}",
    "pydantic's bytes": "import pydantic\nx = [pydantic.SecretBytes(b'hunter2222')]",
    "a model": "import pydantic\nclass M(pydantic.BaseModel):\n    k: pydantic.SecretStr\n"
    "x = M(k='hunter2222')",
    "settings": "import dataclasses\n@dataclasses.dataclass(slots=True)\nclass D:\n"
    "    secret_key: str\nx = [D('hunter2222')]",
}


@pytest.mark.parametrize("source", NAMED.values(), ids=NAMED)
def test_what_says_that_it_is_a_secret_is_refused_wherever_it_is(shell: Any, source: str) -> None:
    run(shell, f"%%checkpoint a\nlet = 1\n{source}")
    session = current_session.session()
    session.wait()

    refused = {r.variable: r.reason for r in session.get("a").refused}
    assert "secrets are not written" in refused["x"]
    assert len(holding(Path(".nbckpt"), "hunter2222", "Zq8fLk2vN0xTe5uWb7cYd")) <= 1  # the cell


HARMLESS = {
    "tokens": "x = {'pad_token': '[PAD]12345', 'key': 'abcd1234', 'token': 'word1234'}",
    "a schema": "x = {'properties': {'password': {'type': 'string'}, 'api_key': {}}}",
    "a path": "x = {'client_secret': '/run/secrets/client1'}",
    "columns": "import pandas as pd\nx = pd.DataFrame({'password': ['a1b2c3d4e5'], 'b': [1]})",
    "a text": "x = 'my key is sk-proj-Zq8fLk2vN0xTe5uWb7cYd, they said'",
    "words": "x = 'task-force-one-of-many-in-the-field'",
    "a URL": "x = 'https://example.org/a:b@c'",
    "a job": "x = ['sk-en-parallel-corpus-2023-v1', 'ASIAGGKLMNPQRSTVWYAC', 'http://a:80,me@x.org']",
    "types of columns": "x = {'password': 'category', 'secret': '${DB_PASSWORD}'}",
    "a module's holder": "import sqlite3\nclass A: pass\nx = A(); x.lib = sqlite3; x.dsn = 'memory'",
    "a module": "import http.client\nx = {'api_key': None, 'm': http.client}",
    "a client": "import openai\nx = openai.OpenAI(api_key='k')",
    "pydantic's": "import pydantic\nx = [pydantic.SecretStr('none'), pydantic.SecretStr('EMPTY')]",
}


@pytest.mark.parametrize("source", HARMLESS.values(), ids=HARMLESS)
def test_what_is_no_secret_is_kept(shell: Any, source: str) -> None:
    run(shell, f"%%checkpoint a\n{source}")

    assert "x" in current_session.session().timeline.manifest(
        current_session.session().position.id or ""
    )


def test_a_key_that_was_changed_is_the_new_one_and_one_that_is_gone_is_named(
    shell: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, f"%%checkpoint a\nimport os\nk = 'Bearer ' + os.environ[{KEY!r}]")
    current_session.session().wait()
    monkeypatch.setenv(KEY, "another-key-1234567")
    restart(shell)
    run(shell, "%resume")
    assert shell.user_ns["k"] == "Bearer another-key-1234567"
    capsys.readouterr()

    current_session.session().wait()
    monkeypatch.delenv(KEY)
    restart(shell)
    run(shell, "%resume")
    said = capsys.readouterr()
    assert "k" not in shell.user_ns
    assert f"{KEY} of the environment, which is not set here: set it first" in said.out + said.err


def test_a_request_holds_no_key_in_any_field(shell: Any, provider: Provider) -> None:
    shell.user_ns["url"] = provider.url
    body = (
        "{'model': 'm', 'messages': [{'role': 'user', 'content': 'hi'}], 'tools': [{'type': 'mcp',"
        " 'server_url': 'https://u:urlpass77@h/x', 'authorization': 'opaque1234value',"
        " 'headers': {'Authorization': 'Bearer other5678value'}}], 'api_key': 'field9012value'}"
    )
    run(
        shell,
        "%%checkpoint a\nimport httpx\n"
        f"x = httpx.post(f'{{url}}/v1/chat/completions', json={body}).status_code",
    )
    session = current_session.session()
    session.wait()
    session.refresh()
    (record,) = session.store.records("recording")
    text = b"".join(map(bytes, session.store.get_blob(record["blob"]))).decode()

    assert "hi" in text
    for secret in ("urlpass77", "opaque1234value", "other5678value", "field9012value"):
        assert secret not in text


def test_what_a_model_gives_back_of_a_secret_is_not_written(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = {"type": "function", "function": {"name": "send", "arguments": {"key": VALUE}}}
    with Provider(answer=lambda _: json.dumps({"tool_calls": [called], "said": VALUE})) as provider:
        for name, value in provider.environment().items():
            monkeypatch.setenv(name, value)
        for source in (
            "import json, openai, os\nclient = openai.OpenAI()",
            "%%checkpoint ask\nsaid = [{'role': 'user', 'content': 'hi'}]\n"
            "a = client.chat.completions.create(model='m', messages=said)\n"
            "called = json.loads(a.choices[0].message.content)['tool_calls']\na",
            "%%checkpoint stream\nparts = [e.choices[0].delta.content or '' for e in"
            " client.chat.completions.create(model='m', messages=said, stream=True)]\n"
            "text = ''.join(parts)",
        ):
            assert shell.run_cell(source, store_history=True).success
        assert shell.user_ns["called"] == [called]
        assert VALUE in shell.user_ns["text"]
        current_session.session().wait()

    assert holding(Path(".nbckpt"), VALUE) == set()


def test_a_search_finds_what_stands_in_cells_and_data_and_names_no_secret(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, "%%checkpoint clean\nx = 1")
    current_session.session().wait()
    capsys.readouterr()
    run(shell, "%nbckpt check --secrets")
    assert capsys.readouterr().out == "no secrets found\n"

    key = "sk-proj-Zq8fLk2vN0xTe5uWb7cYd"
    run(shell, f"%%checkpoint a\nk = {key!r}\ntext = 'they said ' + k + ' is the key'")
    current_session.session().wait()
    done = subprocess.run(
        [sys.executable, "-m", "nbckpt", "check", "--secrets", "--json"],
        env={**environment_of_tests(), "ANY_TOKEN": "they1said"},
        capture_output=True,
        text=True,
    )

    told = json.loads(done.stdout)
    assert done.returncode == 3, done.stderr
    assert not told["ok"]
    assert {(one["where"].partition(" (")[0], one["what"]) for one in told["secrets"]} >= {
        ("the text of the cell of checkpoint 'a'", "a key of a model's provider"),
        ("variable 'text' of checkpoint 'a'", "a key of a model's provider"),
    }
    assert key not in done.stdout


@pytest.mark.parametrize(
    ("name", "value", "other"),
    [
        ("TOKENIZER_MODEL", "gpt-4o-mini", "gpt-5-mini-x1"),
        ("SECRETS_MANAGER_REGION", "us-east-1", "eu-west-1"),
        ("POSTGRES_PASSWORD", "postgres", "n3w-pass-word"),
        ("PARTITION_KEY", "customer_id1", "customer_id2"),
    ],
)
def test_a_word_of_the_environment_is_no_secret_and_stays_what_it_was(
    shell: Any, monkeypatch: pytest.MonkeyPatch, name: str, value: str, other: str
) -> None:
    monkeypatch.setenv(name, value)
    run(shell, f"%%checkpoint a\nx = [{{'model': {value!r}, {value!r}: 'in use: {value}'}}]")
    was = repr(shell.user_ns["x"])
    current_session.session().wait()
    monkeypatch.setenv(name, other)
    restart(shell)
    run(shell, "%resume")

    assert repr(shell.user_ns["x"]) == was


def test_a_header_with_a_secret_is_kept_by_its_name(shell: Any) -> None:
    made = f"{{'Authorization': 'Bearer ' + os.environ[{KEY!r}]}}"
    run(shell, f"%%checkpoint a\nimport os\nx = {made}")
    session = current_session.session()

    assert "x" in session.timeline.manifest(session.position.id or "")


SEEN = {
    "taken out": f"import os\nx = os.environ.pop({KEY!r})",
    "in a file": "import pathlib\nx = pathlib.Path('key').read_text()",
    "in a URL": "import os, urllib.parse\n"
    "x = urllib.parse.urlparse(os.environ['DATABASE_URL']).password",
    "in another environment": f"import os\nos.environ = dict(os.environ)\nx = os.environ[{KEY!r}]",
    "in a drawing": "import os\nx = 1\nfrom IPython.display import SVG, display\n"
    f"display(SVG('<svg><text>' + os.environ[{KEY!r}] + '</text></svg>'))",
}


@pytest.mark.parametrize("source", SEEN.values(), ids=SEEN)
def test_a_secret_that_was_there_once_is_written_nowhere(
    shell: Any, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    monkeypatch.setattr(os, "environ", os.environ)
    password = "Zk29xQ7vLm41tR"
    key = "sk-proj-Zq8fLk2vN0xTe5uWb7cYd"
    monkeypatch.setenv("DATABASE_URL", f"postgresql://me:{password}@host/db")
    Path("key").write_text(f"{key}\n")
    restart(shell)
    run(shell, f"%%checkpoint a\n{source}")
    run(shell, "%%checkpoint b\ny = [x]")
    current_session.session().wait()

    assert holding(Path(".nbckpt"), VALUE, password, key) == set()
