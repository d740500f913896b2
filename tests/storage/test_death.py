"""A session killed at any instant leaves what it was told is durable, and nothing half there."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from nbckpt.storage.check import check
from nbckpt.storage.store import Store

WRITER = textwrap.dedent("""
    import json, os, random, sys
    from pathlib import Path
    from nbckpt.storage.store import Store

    path, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    store = Store.open(path)
    rng = random.Random(name)
    for n in range(count):
        data = bytearray(rng.randbytes(rng.choice([10, 90_000, 700_000])))
        digest = store.put_blob([b"stream %d" % n, data])
        records = [
            {"kind": "checkpoint", "id": f"{name}-{n}", "name": f"step {n}", "created_at": n + 0.5,
             "changed": [{"name": "x", "blob": digest}]},
            {"kind": "head", "branch": name, "checkpoint": f"{name}-{n}", "at": n + 0.5},
        ]
        store.append(records).result()
        print(json.dumps([n, digest]), flush=True)
    store.close()
""")


def start_writer(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(count)],
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_twenty_kills_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "s"
    Store.open(path).close()
    rng = random.Random(7)
    acknowledged: dict[str, str] = {}

    for turn in range(20):
        writer = start_writer(path, f"w{turn}", 10_000)
        assert writer.stdout is not None
        first = writer.stdout.readline()
        time.sleep(rng.uniform(0, 0.12))
        os.kill(writer.pid, signal.SIGKILL)
        lines = [first, *writer.communicate()[0].splitlines(keepends=True)]
        for line in lines:
            if line.endswith("\n"):
                n, digest = json.loads(line)
                acknowledged[f"w{turn}-{n}"] = digest

    store = Store.open(path)
    checkpoints = {r["id"]: r for r in store.refresh() if r["kind"] == "checkpoint"}
    assert len(acknowledged) >= 20
    assert acknowledged.keys() <= checkpoints.keys()
    for checkpoint_id, digest in acknowledged.items():
        assert checkpoints[checkpoint_id]["changed"][0]["blob"] == digest
        assert bytes(store.get_blob(digest)[0]) == b"stream %d" % int(checkpoint_id.split("-")[1])
    report = check(store.path)
    assert report.ok, report.problems
    assert store.damages == []
    store.close()


def test_two_writers_and_a_reader_lose_nothing_and_never_see_half_a_thing(tmp_path: Path) -> None:
    path = tmp_path / "s"
    writers = [start_writer(path, name, 60) for name in ("one", "other")]
    while not (path / "format.json").exists():
        time.sleep(0.01)
    reader = Store.open(path, create=False)
    seen: list[str] = []
    slowest_s = 0.0

    while True:
        running = any(writer.poll() is None for writer in writers)
        began = time.perf_counter()
        records = reader.refresh()
        slowest_s = max(slowest_s, time.perf_counter() - began)
        for record in records:
            if record["kind"] == "checkpoint":
                seen.append(record["id"])
                assert reader.blobs.has(record["changed"][0]["blob"])
                reader.get_blob(record["changed"][0]["blob"])
            else:
                assert record["checkpoint"] in seen
        if not running:
            break

    assert [writer.wait() for writer in writers] == [0, 0]
    assert sorted(seen) == sorted(f"{name}-{n}" for name in ("one", "other") for n in range(60))
    assert reader.damages == []
    assert check(reader.path).problems == ()
    assert slowest_s < 5
    for writer in writers:
        writer.communicate()
    reader.close()


@pytest.mark.slow
def test_two_processes_make_one_store_at_once(tmp_path: Path) -> None:
    for turn in range(5):
        path = tmp_path / f"s{turn}"

        writers = [start_writer(path, name, 1) for name in ("a", "b", "c")]
        codes = [writer.communicate() and writer.returncode for writer in writers]
        store = Store.open(path, create=False)

        assert codes == [0, 0, 0]
        assert len([r for r in store.refresh() if r["kind"] == "checkpoint"]) == 3
        assert sorted(p.name for p in path.iterdir()) == sorted(
            [
                ".gitignore",
                "format.copy.json",
                "format.json",
                "history",
                "journal",
                "locks",
                "packs",
                "tables",
            ]
        )
        store.close()
