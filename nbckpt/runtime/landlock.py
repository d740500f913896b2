"""Landlock: a Linux kernel keeps this process from acting outside, whatever library tries [1]_.

References
----------
.. [1] https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import ctypes
import struct

_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_ASKS_VERSION = 1
_NO_NEW_PRIVILEGES = 38
LEAST_VERSION = 4  # the first that knows of connections
_READS = 1 << 2 | 1 << 3  # a file, a folder: the only access that stays
_ACCESS = {4: (1 << 15) - 1, 5: (1 << 16) - 1}
_CONNECTS = 1 << 0 | 1 << 1
_SIGNALS = 1 << 0 | 1 << 1


def landlock_version() -> int:
    """Version of Landlock that the kernel knows; 0 if none."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        return max(0, int(libc.syscall(_CREATE_RULESET, None, 0, _ASKS_VERSION)))
    except (OSError, AttributeError):
        return 0


def confine() -> bool:
    """Have the kernel refuse all that would be seen outside; False where it cannot."""
    version = landlock_version()
    if version < LEAST_VERSION:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    handled = _ACCESS[min(version, 5)] & ~_READS
    attributes = struct.pack("<QQQ", handled, _CONNECTS, _SIGNALS)[: 24 if version > 5 else 16]
    rules = libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    if rules < 0 or libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        return False
    return bool(libc.syscall(_RESTRICT_SELF, rules, 0) == 0)
