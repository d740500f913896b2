"""Where a part is cut into chunks: every 256 KiB, or where its own bytes say so.

Notes
-----
A buffer is cut evenly, so that a chunk lies on whole pages and can be mapped. A stream is cut by
FastCDC 2020 [1]_: what is inserted, appended or taken out moves no boundary but those beside it,
and all other chunks are the ones that the store has. The boundaries are part of what names a
blob, so the parameters below belong to the format.

References
----------
.. [1] Xia et al., "The Design of Fast Content-Defined Chunking for Data Deduplication Based
   Storage Systems", IEEE TPDS 31(9), 2020.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nbckpt.storage.index_frames import Name
from nbckpt.storage.packs import CHUNK_BYTES

STREAM_MIN_BYTES = 1024
STREAM_MEAN_BYTES = 4096
STREAM_MAX_BYTES = 16384

GROUP_MASK = 0x0F
"""A group of names ends after one whose first byte has none of these bits: 16 on average."""
GROUP_MAX_NAMES = 64


def evenly(view: memoryview) -> Iterator[memoryview]:
    """The chunks of a buffer: 256 KiB each, the last one shorter."""
    for start in range(0, len(view), CHUNK_BYTES):
        yield view[start : start + CHUNK_BYTES]


def by_content(stream: memoryview) -> Iterator[memoryview]:
    """The chunks of a stream: some 4 KiB each, none above 16 KiB."""
    if len(stream) <= STREAM_MIN_BYTES:  # most variables: do not even import the cutter
        if stream:
            yield stream
        return
    from pyfastcdc import FastCDC

    cutter = FastCDC(
        STREAM_MEAN_BYTES,
        min_size=STREAM_MIN_BYTES,
        max_size=STREAM_MAX_BYTES,
        normalized_chunking=1,
        seed=0,
    )
    for chunk in cutter.cut_buf(stream):
        yield stream[chunk.offset : chunk.offset + chunk.length]


def in_groups(names: Sequence[Name]) -> Iterator[Sequence[Name]]:
    """The same names in the same order, cut where the names say so.

    A changed chunk then costs one group; the groups beside it are the ones that the store has.
    """
    start = 0
    for i, name in enumerate(names, 1):
        if not name[0] & GROUP_MASK or i - start == GROUP_MAX_NAMES:
            yield names[start:i]
            start = i
    if start < len(names):
        yield names[start:]
