"""Where texts stand in a store, whatever it is packed in."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet as pq

from nbckpt.errors import NbckptError
from nbckpt.storage.store import Store


def holding(folder: Path, *secrets: str) -> set[str]:
    """Where one of some texts stands in a store: its files as they are, and its blobs unpacked."""
    forms = [f for s in secrets for f in (s.encode(), s.encode("utf-16-le"), s.encode("utf-32-le"))]

    def is_in(data: bytes) -> bool:
        return any(form in data for form in forms)

    files = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    found = {p.name for p, data in files.items() if is_in(data)}
    tables = [p for p in files if p.suffix == ".parquet"]
    found |= {p.name for p in tables if is_in(repr(pq.read_table(p).to_pylist()).encode())}
    store = Store.open(folder, create=False)
    for digest in {
        d.decode() for data in files.values() for d in re.findall(rb"[0-9a-f]{64}", data)
    }:
        try:
            parts = store.get_blob(digest)
        except NbckptError:
            continue  # the digest of a value or a request
        if is_in(b"".join(map(bytes, parts))):
            found.add(digest)
    store.close()
    return found
