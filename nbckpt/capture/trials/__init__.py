"""Trials that what is kept comes back as it is, made at once, in a copy of the process.

A library may write down less than there is of its objects, or what it cannot read again. That
shows when a value is restored, and then it is too late. So what is kept for the first time, by the
types inside, is loaded again at once, where nothing can be harmed by it, and compared with what is
live: with all that can be seen of it, and with the value's digest. What differs is refused.
"""

from nbckpt.capture.trials.trials import Trials

__all__ = ["Trials"]
