"""Names that a cell has certainly bound by each point: as they are loaded, bound and defined.

Notes
-----
The walk follows the order in which a cell runs, so that a name which the cell has certainly bound
by then is not an input. Certainly: a loop's body may run zero times, a branch may not be taken,
and a `try` may stop anywhere; what only these bind may still be read from before. The body of
``with`` may stop half-way unless its manager is known to let every exception pass (`managers`).

The body of a function that the cell defines runs when it is called, and it can only be called
after its name was loaded; so what it reads counts from there.
"""

from __future__ import annotations

from nbckpt.fingerprint.code.bytecode import (
    NOTHING,
    TOUCHES_ALL,
    Names,
    mangled,
    mangled_names,
    reach_of_all,
    union,
)


class Flow:
    """State at one point of a cell, while it is walked in the order in which it runs.

    `bound` holds what is certainly bound at this point; `in_class` is true directly inside a
    class body, whose names are its own, and `owner` is the name of the class. `ran` holds, for
    each function of the cell that may have run, what was bound then.
    """

    def __init__(self, defined: frozenset[str]) -> None:
        self.defined = defined - {"get_ipython"}
        self.reads: set[str] = set()
        self.binds: set[str] = set()
        self.loads: set[str] = set()
        self.imports: set[str] = set()
        self.before: dict[str, frozenset[str]] = {}
        self.deferred: dict[str, Names] = {}
        self.bound: set[str] = set()
        self.outer: set[str] = set()
        self.in_class = False
        self.owner = ""
        self.forward: set[str] = set()
        self.magics: set[str] = set()
        self.methods: list[Names] = []
        self.ran: dict[str, frozenset[str]] = {}
        self.n_loops = 0
        self.reason = ""

    def load(self, name: str, *, from_function: bool = False) -> None:
        """`name` is looked up at this point."""
        name = mangled(name, self.owner)
        self.loads.add(name)
        bound = self.outer if from_function and self.in_class else self.bound
        now = frozenset(self.outer if self.in_class else self.bound)
        self.before[name] = self.before.get(name, now) & now
        if name in self.deferred and not self.has_run(name, now):
            self.ran[name] = self.ran.get(name, now) & now
            self.run_later(self.deferred[name])
        if name in bound:
            return
        self.reads.add(name)
        if name in TOUCHES_ALL and name not in self.defined and name not in self.deferred:
            self.touch_all(name if name == "__main__" else f"{name}()")

    def has_run(self, name: str, bound: frozenset[str]) -> bool:
        """True if a function of the cell has run when no more than `bound` was bound."""
        return name in self.ran and self.ran[name] <= bound

    def bind(self, name: str) -> None:
        """`name` is certainly bound from here on."""
        name = mangled(name, self.owner)
        self.bound.add(name)
        if not self.in_class:
            self.binds.add(name)

    def touch_all(self, construct: str) -> None:
        """From here on anything can have happened, because of `construct`."""
        self.reason = self.reason or construct

    def run_later(self, names: Names) -> None:
        """The body of a function may run from here on."""
        self.binds |= names.binds
        self.imports |= names.imports
        self.forward |= names.forward
        for name in sorted(names.loads):
            self.load(name, from_function=True)
        if reason := reach_of_all(names, self.bound | self.defined | self.deferred.keys()):
            self.touch_all(reason)

    def define(self, name: str, names: Names, *, escapes: bool) -> None:
        """A function or class `name` is defined; it `escapes` when others may call it at once.

        In a loop, what stands before it in the text runs after it too.
        """
        names = mangled_names(names, self.owner)
        self.loads |= names.loads
        self.binds |= names.binds
        self.ran.clear()  # what ran already may call this one when it runs again
        if escapes or self.n_loops:
            self.run_later(names)
        if self.in_class:
            self.methods.append(names)
        else:
            self.deferred[name] = union([names, self.deferred.get(name, NOTHING)])
        self.bind(name)
