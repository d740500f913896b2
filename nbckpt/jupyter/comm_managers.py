"""The comms of whatever kernel this is.

Kernels have them from the package `comm`; ipykernel before 6.21 has its own, which hear nothing of
what that package opens.
"""

from __future__ import annotations

import sys
from typing import Any


def comm_manager() -> Any:
    """The manager of the kernel's comms."""
    old = _of_old_kernel()
    if old is not None:
        return old
    from comm import get_comm_manager  # a kernel has it

    return get_comm_manager()


def create_comm(**options: Any) -> Any:
    """A comm that is open; the options are those of `comm.create_comm`."""
    if _of_old_kernel() is not None:
        from ipykernel.comm import Comm

        make: Any = Comm
        return make(**options)
    from comm import create_comm as create

    return create(**options)


def _of_old_kernel() -> Any:
    """The manager of an ipykernel that does not use the package; None of others."""
    ipykernel = sys.modules.get("ipykernel")
    if getattr(ipykernel, "version_info", (7,))[:2] >= (6, 21):
        return None
    from ipykernel.kernelbase import Kernel

    return getattr(Kernel.instance(), "comm_manager", None) if Kernel.initialized() else None
