"""A provider in a process of its own: ``python -m nbckpt.testing.provider --port 0``.

It prints its address and serves until it is ended, so that a kernel can be killed while the
provider lives and counts. ``GET /_stats`` tells the counts, ``GET /_requests`` what was asked,
``POST /_reset`` begins anew. Faults are asked for by markers in prompts.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading

from nbckpt.errors import UsageError
from nbckpt.testing.offline import Provider


def main(argv: list[str] | None = None) -> int:
    """Serve until SIGINT or SIGTERM; the process's exit status."""
    parser = argparse.ArgumentParser(prog="python -m nbckpt.testing.provider", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    parser.add_argument("--first", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--between", type=float, default=0.0, help="seconds between chunks")
    asked = parser.parse_args(argv)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    try:
        provider = Provider(port=asked.port).start()
    except UsageError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    provider.slow(first_s=asked.first, between_s=asked.between)
    sys.stdout.write(f"{provider.url}\n")
    sys.stdout.flush()
    ended.wait()
    provider.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
