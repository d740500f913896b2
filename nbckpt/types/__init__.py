"""Types of libraries: what nbckpt cannot find out by itself about them, one module a library.

A `TypeAdapter` says how values of a class are pickled, digested, described, compared and exported.
nbckpt's own stand in the modules of this package. Those of other packages are found by the entry
point group ``nbckpt.types``; the name of an entry point is the library whose classes it speaks of.
"""

from nbckpt.types.adapter import Missing, Pair, RefusalError, TypeAdapter, paired

__all__ = ["Missing", "Pair", "RefusalError", "TypeAdapter", "paired"]
