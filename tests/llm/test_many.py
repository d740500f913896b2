"""A store of a hundred thousand recordings opens at once, and replays at once.

In a process of its own, so that its memory is its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nbckpt.digests import digest_of
from nbckpt.storage.store import Store
from nbckpt.timeline.recordings import recording_record
from tests.llm.test_records import ONE
from tests.running import environment

MANY = 100_000
SESSIONS = 5
AT_ONCE = 100
"""Records that are written together: each is a line all the same."""
HEADERS = [(f"x-of-the-provider-{n}", "abcdefgh" * 4) for n in range(12)]

LOOK = """
import json, sys, time
from pathlib import Path
from nbckpt.digests import digest_of
from nbckpt.llm.record_lookup import RecordLookup
from nbckpt.session.session import Session
from nbckpt.storage.store import Store

def resident_mb():
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) / 1024

def replay(n):
    began = time.perf_counter()
    record = lookup.find((f"step-{n // 500}", digest_of(str(n)), 0))
    store.get_blob(record["blob"], of=record)
    return time.perf_counter() - began

before, began = resident_mb(), time.process_time()
store = Store.open(Path(sys.argv[1]))
session = Session(store, {})
opened, grown = time.process_time() - began, resident_mb() - before
lookup = RecordLookup(session, "recording")
began = time.process_time()
replay(54_321)
first = time.process_time() - began
others = sorted(replay(n) for n in range(7, 100_000, 997))
print(json.dumps([opened, grown, first, others[len(others) // 2]]))
"""


def fill(path: Path, count: int) -> None:
    """Make a store as sessions leave it that ask a model one question after the other."""
    for session in range(SESSIONS):
        store, records = Store.open(path), []
        for n in range(session * count // SESSIONS, (session + 1) * count // SESSIONS):
            text = digest_of(str(n)) * 12
            blob = store.put_blob([text.encode(), memoryview(f"{n} {text}".encode())])
            one = ONE._replace(
                id=f"{n:020x}",
                step=f"step-{n // 500}",
                request=digest_of(str(n)),
                occurrence=0,
                blob=blob,
                headers=HEADERS,
                created_at=1.7e9 + n,
                summary=text[:200],
            )
            records.append(recording_record(one))
            if len(records) == AT_ONCE:
                store.append(records).result()
                records = []
        store.append(records).result()
        store.close()


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is told by Linux")
def test_a_hundred_thousand_recordings_are_no_burden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fdatasync", lambda fd: None)  # 100,000 of them take minutes
    fill(tmp_path / "store", MANY)

    command = [sys.executable, "-c", LOOK, str(tmp_path / "store")]
    told = subprocess.run(command, capture_output=True, check=True, env=environment())
    opened_s, grown_mb, first_s, further_s = json.loads(told.stdout)

    print(f"{opened_s:.2f} s, {grown_mb:.0f} MB, {first_s:.3f} s, {further_s * 1e3:.3f} ms")
    assert opened_s < 2.5  # of the processor; 0.9 s on a machine at rest, 6 s when all is decoded
    assert grown_mb < 150
    assert first_s < 0.3
    assert further_s < 0.0003
