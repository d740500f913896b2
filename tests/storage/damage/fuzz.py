"""Feed readers with bytes that nobody wrote: ``python -m tests.storage.damage.fuzz --minutes 10``.

With atheris installed, its coverage leads the way; without it, seeds made on the fly are mutated at
random. What a reader raises beside the documented errors is a finding, and so is what takes long, or
much memory.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from nbckpt.config.settings import Settings
from nbckpt.config.settings_sources import with_stored
from nbckpt.errors import NbckptError
from nbckpt.llm.bodies import events_in, has_broken_event
from nbckpt.llm.usage import usage_of
from nbckpt.storage.blobs import decode_root
from nbckpt.storage.chunk_forms import Expander
from nbckpt.storage.chunk_search import salvaged
from nbckpt.storage.ciphers import Cipher
from nbckpt.storage.counted_records import CHECKPOINT, blobs_named
from nbckpt.storage.folder import read_mark
from nbckpt.storage.frame_entries import Entries
from nbckpt.storage.index_frames import Place, raw_frame
from nbckpt.storage.journal_lines import read_text
from nbckpt.storage.line_signatures import Signer
from nbckpt.storage.packs import find_frames, header_problem
from nbckpt.storage.rewriting import folded
from nbckpt.storage.sealed_lines import SealedSigner
from nbckpt.storage.store import Store
from nbckpt.storage.unlocking import unlocked
from nbckpt.storage.user import User
from nbckpt.storage.views import COLUMNS, arrow_view
from nbckpt.text.content_encodings import decoded
from nbckpt.timeline.checkpoint_records import checkpoint_from
from nbckpt.timeline.recordings import RECORDING, recording_from
from tests.storage.damage.everything import make_everything
from tests.storage.damage.mutating import mutated
from tests.storage.damage.reading import find_all

SLOW_S = 5.0
"""So much of the processor a run may take: a disk that others use stands still for half a minute."""
LONGEST_S = 120.0
"""So long a run may last: one that never ended would be told of by nobody."""
MOST_MIB = 512
"""By so much a run may have the process grow beyond all that it ever had."""
CIPHER = Cipher(bytes(32))
Target = Callable[[bytes, Path], None]


def read_line(data: bytes, _folder: Path) -> None:
    """A line of a journal as it is, and what it says with a checksum that is right."""
    signer = Signer()
    signer.open(data)
    body = data.partition(b',"n":')[0].decode(errors="replace").replace("\n", " ")
    opened = signer.open(signer.line(body, 3, is_own=False)[:-1])
    if opened is None:
        return
    try:
        record = read_text(opened[0], trusted=False)
    except ValueError:  # it names a file as no store does
        return
    if record is None:
        return
    list(blobs_named(record))
    if record["kind"] == CHECKPOINT:
        checkpoint = checkpoint_from(record)
        for name in checkpoint.changed:
            repr(checkpoint.changed[name])
    if record["kind"] == RECORDING:
        recording_from(record)
    timeline = folded([record])
    for i in timeline.checkpoints:
        timeline.manifest(i)


def read_sealed_line(data: bytes, _folder: Path) -> None:
    """A line of an encrypted store."""
    SealedSigner("0-a", CIPHER, None, ()).open(data)


def read_pack(data: bytes, _folder: Path) -> None:
    """A pack with its index frames, whole and damaged, and the chunks that they name."""
    fd = os.memfd_create("pack")
    try:
        os.pwrite(fd, data, 0)
        header_problem(fd)
        expander = Expander(None)
        for frame in find_frames(fd, "p"):
            for name, place in frame.chunks:
                expander.bytes_of(place, os.pread(fd, min(place.length, 1 << 20), 0), name)
        for name, place in salvaged(fd, "p", 0):
            expander.bytes_of(place, os.pread(fd, place.length, place.offset), name)
        for cipher in (None, CIPHER):
            raw = raw_frame(lambda length, at: os.pread(fd, length, at), 64, "p", cipher)
            if raw is not None:
                entries = Entries("p", raw.entries)
                for (name,) in entries.names():
                    entries.place(name)
    finally:
        os.close(fd)


def read_tree(data: bytes, _folder: Path) -> None:
    """The root of a blob."""
    decode_root(data)


def read_chunk(data: bytes, _folder: Path) -> None:
    """A chunk in a form that its entry says."""
    if len(data) < 4:
        return
    size = int.from_bytes(data[1:4], "little")
    place = Place("p", 64, len(data) - 4, data[0], size)
    for cipher in (None, CIPHER):
        Expander(cipher).bytes_of(place, data[4:], bytes(32))


def read_body(data: bytes, _folder: Path) -> None:
    """What a model answered: JSON, or server-sent events, in any encoding."""
    for encoding in ("", "gzip", "deflate", "zstd", "br"):
        body = decoded(data, encoding)
        if body is not None and len(body) < 1 << 20:
            has_broken_event(body)
            usage_of(list(events_in(body)))


def read_config(data: bytes, _folder: Path) -> None:
    """`config.json`."""
    with_stored(Settings(), data.decode(errors="replace"))


def read_format(data: bytes, folder: Path) -> None:
    """`format.json`, with an envelope."""
    (folder / "format.json").write_bytes(data)
    mark = read_mark(folder)
    if mark is not None:
        unlocked(folder, mark, "env:NBCKPT_NO_SUCH_KEY")


def read_vouches(data: bytes, folder: Path) -> None:
    """A file of the user's that says which lines he trusts."""
    home = Path(os.environ["NBCKPT_HOME"])
    (home / "trusted").mkdir(exist_ok=True, mode=0o700)
    (home / "trusted" / "0-a").write_bytes(data)
    User().vouches("0-a")


def read_journal(data: bytes, folder: Path) -> None:
    """A store whose journal holds these lines, each with a checksum that is right."""
    store = folder / "store"
    (store / "journal").mkdir(parents=True, exist_ok=True)
    (store / "format.json").write_text('{"nbckpt": 1}')
    signer = Signer()
    bodies = [line.partition(b',"n":')[0] for line in data.split(b"\n")][:40]
    lines = [signer.line(b.decode(errors="replace"), n, is_own=False) for n, b in enumerate(bodies)]
    (store / "journal" / "0-a.jsonl").write_bytes(b"".join(lines))
    find_all(store)
    opened = Store.open(store, create=False)
    timeline = folded(opened.refresh())
    for view in COLUMNS:
        arrow_view(view, opened, timeline)
    opened.close()


TARGETS: tuple[Target, ...] = (
    *(read_line, read_line, read_sealed_line, read_pack, read_tree, read_chunk, read_body),
    *(read_config, read_format, read_vouches, read_journal),
)
BODIES = (
    b'{"usage": {"prompt_tokens": 3, "completion_tokens": 4}, "choices": []}',
    b'data: {"type": "message_start", "message": {"usage": {"input_tokens": 7}}}\n\ndata: [DONE]\n\n',
)


def seeds(folder: Path) -> dict[str, list[bytes]]:
    """What the readers are made for, by their names."""
    path = folder / "seed"
    make_everything(path)
    journals = [p.read_bytes() for p in (path / "journal").glob("*.jsonl")]
    lines = [line for journal in journals for line in journal.splitlines()]
    packs = [p.read_bytes() for p in (path / "packs").glob("*.pack")]
    chunks: list[bytes] = []
    for file in (path / "packs").glob("*.pack"):
        fd = os.open(file, os.O_RDONLY)
        for frame in find_frames(fd, file.stem):
            for _, p in frame.chunks[:20]:
                head = bytes([p.codec]) + min(p.size, 0xFFFFFF).to_bytes(3, "little")
                chunks.append(head + os.pread(fd, min(p.length, 4096), p.offset))
        os.close(fd)
    sealed = SealedSigner("0-a", CIPHER, None, ())
    roots = [chunk[4:] for chunk in chunks if chunk[4:8] == b"NBTR"]
    config = (path / "config.json").read_bytes()
    envelope = {
        "cipher": "AES-256-GCM",
        "key": "a",
        "source": "file",
        "data": "b",
        "wrapped": "A" * 80,
    }
    return {
        "read_line": lines,
        "read_sealed_line": [sealed.line('{"kind":"drop"', 0)[:-1], *lines[:3]],
        "read_pack": [pack[-6000:] for pack in packs] + [bytes(64) + p[-4096:] for p in packs],
        "read_tree": roots,
        "read_chunk": chunks,
        "read_body": list(BODIES),
        "read_config": [config],
        "read_format": [b'{"nbckpt": 1}', json.dumps({"nbckpt": 1, "encryption": envelope}).encode()],
        "read_vouches": [bytes(64)],
        "read_journal": journals,
    }  # fmt: skip


class NeverEndsError(BaseException):
    """A run was ended that might have gone on for ever; no reader catches it."""


def _give_up(*_: object) -> None:
    raise NeverEndsError


def _peak_mib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


class Findings:
    """What went wrong, once each."""

    def __init__(self) -> None:
        self.by_place: dict[str, str] = {}
        self.runs: Counter[str] = Counter()
        self.slowest: dict[str, float] = {}

    def run(self, target: Target, data: bytes, folder: Path) -> None:
        """One try."""
        name = target.__name__
        began, busy, peak = time.perf_counter(), time.process_time(), _peak_mib()
        before = signal.signal(signal.SIGALRM, _give_up)
        # Again and again: where interrupts are held back, the third one comes through.
        others, _ = signal.setitimer(signal.ITIMER_REAL, LONGEST_S, LONGEST_S)
        try:
            target(data, folder)
        except NbckptError:
            pass
        except NeverEndsError as error:
            where = traceback.extract_tb(error.__traceback__)[-2]  # the last is `_give_up`
            place = f"{name}: never ends at {Path(where.filename).name}:{where.lineno}"
            self.by_place[place] = repr(data[:300])
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{name}: {type(error).__name__} at {Path(where.filename).name}:{where.lineno}"
            if place not in self.by_place:
                self.by_place[place] = f"{error}"[:200] + f" <- {data[:300]!r}"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            if others:  # a test's own limit goes on
                left = max(0.001, others - (time.perf_counter() - began))
                signal.setitimer(signal.ITIMER_REAL, left)
        grown = _peak_mib() - peak
        if grown > MOST_MIB:
            self.by_place[f"{name}: took {grown} MiB"] = repr(data[:300])
        took = time.process_time() - busy
        self.runs[name] += 1
        self.slowest[name] = max(took, self.slowest.get(name, 0.0))
        if took > SLOW_S:
            self.by_place[f"{name}: took {took:.1f} s"] = repr(data[:300])

    def text(self) -> str:
        """For people."""
        runs = ", ".join(f"{name} {count:,}" for name, count in sorted(self.runs.items()))
        slowest = max(self.slowest.values(), default=0.0)
        total = sum(self.runs.values())
        told = [f"{total:,} runs ({runs}); slowest {slowest:.2f} s; {_peak_mib()} MiB"]
        return "\n".join([*told, *(f"{p}\n    {d}" for p, d in self.by_place.items())])


def fuzz(folder: Path, minutes: float, seed: int = 0, runs: int | None = None) -> Findings:
    """Try random mutations for so long, or so many."""
    rng, findings, corpus = random.Random(seed), Findings(), seeds(folder)
    every = [one for several in corpus.values() for one in several]
    for target in _turns(minutes, runs):
        own = corpus[target.__name__]
        if not own:
            continue
        first = rng.choice(own)
        data = mutated(rng, first, own if rng.random() < 0.7 else every)
        findings.run(target, data, folder)
    return findings


def _turns(minutes: float, runs: int | None) -> Iterator[Target]:
    until, n = time.monotonic() + minutes * 60, 0
    while time.monotonic() < until and (runs is None or n < runs):
        # The last is a hundred times slower than the others.
        yield TARGETS[n % (len(TARGETS) - 1)] if n % 100 else TARGETS[-1]
        n += 1


def fuzz_by_coverage(folder: Path, minutes: float) -> None:
    """Have atheris look for new paths; it ends the process."""
    import atheris

    corpus, findings = seeds(folder), Findings()
    inputs = folder / "corpus"
    inputs.mkdir()
    names = [target.__name__ for target in TARGETS]
    for n, target in enumerate(TARGETS):
        for k, data in enumerate(corpus[names[n]][:50]):
            (inputs / f"{target.__name__}-{n}-{k}").write_bytes(bytes([n]) + data[:8000])
    until = time.monotonic() + minutes * 60

    def one(data: bytes) -> None:
        if data:
            findings.run(TARGETS[data[0] % (len(TARGETS) - 1)], data[1:], folder)
        if time.monotonic() > until:
            print(findings.text(), flush=True)
            os._exit(1 if findings.by_place else 0)

    atheris.instrument_all()
    options = [sys.argv[0], str(inputs), "-max_len=8192", "-rss_limit_mb=4096", "-verbosity=1"]
    atheris.Setup(options, one)
    atheris.Fuzz()


def main(arguments: Mapping[str, Any]) -> int:
    """The fuzzer as a program."""
    folder = Path(tempfile.mkdtemp(prefix="nbckpt-fuzz-"))
    os.environ["NBCKPT_HOME"] = str(folder / "home")
    try:
        if arguments["coverage"]:
            fuzz_by_coverage(folder, arguments["minutes"])
        findings = fuzz(folder, arguments["minutes"], arguments["seed"])
        print(findings.text())
        return 1 if findings.by_place else 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--coverage", action="store_true", help="with atheris")
    raise SystemExit(main(vars(parser.parse_args())))
