"""Reads thousands of blobs that nobody meant, and ends with an error if one of them did anything.

A process of its own: an audit hook cannot be taken out again. It watches what Python tells of:
code that is run, modules, files, processes and sockets.
"""

from __future__ import annotations

import random
import struct
import sys
import time
from collections import Counter

from nbckpt.codecs import plain
from nbckpt.errors import FormatError, UntrustedError
from tests.codecs.plain import test_hostile, test_plain
from tests.codecs.plain.blobs import (
    BUILD,
    EMPTY_TUPLE,
    NEWOBJ,
    REDUCE,
    STACK_GLOBAL,
    TUPLE1,
    TUPLE2,
    blob,
    call,
    data,
    named,
    number,
    parts_of,
    raw,
    several,
    text,
)  # fmt: skip

FORBIDDEN = (
    "exec", "compile", "code.__new__", "function.__new__", "import", "open", "os.", "subprocess.",
    "socket.", "shutil.", "ctypes.", "marshal.", "pickle.", "glob.", "pty.", "mmap.", "webbrowser.",
)  # fmt: skip
OF_ZONES = ("zoneinfo", "tzdata")
"""A time zone is read from the system's files, or from the package that has them."""

_watched: list[bool] = []


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if not _watched or not event.startswith(FORBIDDEN):
        return
    if any(name in str(arguments) for name in OF_ZONES):
        return
    if event == "import" and arguments[0] in sys.modules:
        return
    print(f"a blob made Python do: {event} {arguments!r}", file=sys.stderr)
    sys.stderr.flush()
    __import__("os")._exit(13)


def _seeds() -> list[bytes]:
    """Streams that are right, to be made wrong, and that are wrong already."""
    values = [*test_plain.STANDARD[:38], *test_plain.ARRAYS, *test_plain.SCALARS]
    values += [*test_plain.FRAMES[:-1], *test_plain.INDEXES, *test_plain.COLUMNS]
    values += [test_plain.torch.arange(3.0), test_plain.pl.DataFrame({"a": [1], "b": ["x"]})]
    streams = [b"".join(map(bytes, parts_of(value)))[8:] for value in values]
    wrong = [*test_hostile.CALLS.values(), *test_hostile.STATES.values()]
    wrong += list(test_hostile.FORGED.values())
    return [*streams, *(bytes(blob(pushed)[0])[8:] for pushed in wrong)]


def _opcodes(rng: random.Random, names: list[tuple[str, str]]) -> bytes:
    """Opcodes in no order, with arguments that they can have."""
    known = (
        lambda: named(*rng.choice(names)),
        lambda: call(*rng.choice(names), *(number(rng.randrange(-9, 99)) for _ in range(2))),
        lambda: number(rng.choice((0, 1, -1, 8, 1 << 40, 1 << 63))),
        lambda: text(rng.choice(("a", "f8", "O8", "C", "_unpickle", "os", "system"))),
        lambda: data(rng.randbytes(rng.choice((0, 8, 64)))),
        lambda: several(*(number(rng.randrange(9)) for _ in range(rng.randrange(9)))),
        lambda: rng.choice((REDUCE, BUILD, NEWOBJ, STACK_GLOBAL, TUPLE1, TUPLE2, EMPTY_TUPLE)),
        lambda: b"h" + bytes([rng.randrange(12)]),
        lambda: bytes([rng.choice(sorted(test_hostile.WRITTEN))]),
        lambda: rng.randbytes(1),
    )  # fmt: skip
    return b"".join(rng.choice(known)() for _ in range(rng.randrange(2, 40)))


def _changed(rng: random.Random, stream: bytes) -> bytes:
    """A stream with some bytes that are others, more or fewer."""
    held = bytearray(stream)
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(held) + 1)
        match rng.randrange(5):
            case 0 if at < len(held):
                held[at] = rng.randrange(256)
            case 1:
                del held[at : at + rng.randrange(1, 9)]
            case 2:
                held[at:at] = rng.randbytes(rng.randrange(1, 9))
            case 3:
                held[at : at + 4] = struct.pack("<i", rng.choice((-1, 0, 1 << 30, 7)))
            case _:
                start = rng.randrange(len(held) + 1)
                held[at:at] = held[start : start + rng.randrange(1, 40)]
    return bytes(held)


def main(seed: int, seconds: float) -> None:
    """Read blobs for so many seconds, and print what became of them."""
    rng, seeds, ends = random.Random(seed), _seeds(), Counter[str]()
    for stream in seeds:  # what they need is imported before anybody watches
        _read(stream)
    _read(bytes(blob(test_hostile.zone("No/Where"))[0])[8:])  # has Python look for it everywhere
    import nbckpt.fingerprint.values.views  # noqa: F401  # for memory with more dimensions
    from nbckpt.codecs.plain import builtin, names

    tables = [builtin.TABLE, *(room() for room in names._ROOMS.values())]
    known = [name for table in tables for name in table]
    known += [("os", "system"), ("builtins", "eval"), ("numpy", "load"), ("functools", "partial")]
    sys.addaudithook(_watch)
    _watched.append(True)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for _ in range(50):
            made = _changed(rng, rng.choice(seeds)) if rng.random() < 0.7 else _opcodes(rng, known)
            ends[_read(made)] += 1
    _watched.clear()
    print(dict(ends))


def _read(stream: bytes) -> str:
    began = time.monotonic()
    try:
        plain.load(raw(stream, [bytes(64)]))
    except (UntrustedError, FormatError) as error:
        end = type(error).__name__
    else:
        end = "restored"
    if time.monotonic() - began > 20:
        print(f"it took too long: {stream!r}", file=sys.stderr)
        sys.exit(14)
    return end


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
