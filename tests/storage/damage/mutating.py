"""Seeds for readers, with some things wrong in them."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any


def mutated(rng: random.Random, seed: bytes, others: Sequence[bytes]) -> bytes:
    """A seed with some things wrong: bits, pieces, numbers, JSON values, parts of others."""
    data = bytearray(seed)
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(8):
            case 0 if data:
                data[at % len(data)] ^= 1 << rng.randrange(8)
            case 1:
                del data[at : at + rng.randrange(1, 64)]
            case 2:
                data[at:at] = rng.randbytes(rng.randrange(1, 16))
            case 3:
                other = rng.choice(others)
                start = rng.randrange(len(other) + 1)
                data[at : at + rng.randrange(32)] = other[start : start + rng.randrange(200)]
            case 4:
                data[at : at + 8] = rng.choice((0, 1, 255, 1 << 31, (1 << 63) - 1)).to_bytes(
                    8, "little"
                )
            case 5:
                data[:] = _with_another_value(rng, bytes(data))
            case 6:
                data[at:] = b""
            case _:
                data[at:at] = bytes(data[at : at + rng.randrange(64)]) * rng.randrange(1, 5)
    return bytes(data[: 1 << 20])


ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 1e308, 1 << 70, "", "x" * 3000, "\ud800", "../../x", [], {}, [[]]),
    *({"a": 1}, ["a", 1, None], {"blob": "0"}, float("nan")),
)


def _with_another_value(rng: random.Random, line: bytes) -> bytes:
    """A line of a journal with one member replaced, taken away, or doubled elsewhere."""
    lines = line.split(b"\n")
    n = rng.randrange(len(lines))
    try:
        record = dict(json.loads(lines[n]))
        names = list(record)
        name = rng.choice(names)
    except (ValueError, TypeError, IndexError, RecursionError):
        return line
    match rng.randrange(4):
        case 0:
            del record[name]
        case 1:
            record[name] = record[rng.choice(names)]
        case 2 if isinstance(record[name], list) and record[name]:
            inner = rng.choice(record[name])
            if isinstance(inner, dict) and inner:
                inner[rng.choice(list(inner))] = rng.choice(ODD)
        case _:
            record[name] = rng.choice(ODD)
    lines[n] = json.dumps(record, separators=(",", ":")).encode("utf-8", "surrogatepass")
    return b"\n".join(lines)
