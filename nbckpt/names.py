"""Which names of a namespace are the user's."""

from __future__ import annotations

import functools
import re

_IPYTHON = re.compile(r"_+|_i{1,3}|_i?\d+|_[iod]h|__\w+__|In|Out|exit|quit|get_ipython")


@functools.cache
def is_user_name(name: str) -> bool:
    """Whether `name` is the user's, not IPython's history or Python's own."""
    return _IPYTHON.fullmatch(name) is None
