"""The random generators' states as variables; encoded only when one has moved on."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, field

from nbckpt.fingerprint import random_generators
from nbckpt.model import Variable
from nbckpt.storage.store import Store


@dataclass(eq=False, repr=False)
class Generators:
    """Looks at the generators around each cell, nearly all of which draw no number."""

    store: Store
    _latest: dict[str, tuple[object, Variable]] = field(default_factory=dict)
    _memory: dict[str, bytes] = field(default_factory=dict)

    def look(self) -> dict[str, Variable]:
        """The state of each generator that is there now.

        Raises
        ------
        StoreError
            If a new state cannot be written.
        """
        memory = random_generators.memory()
        still = {n for n, m in memory.items() if n in self._latest and self._memory.get(n) == m}
        for name, state in random_generators.states(without=still).items():
            latest = self._latest.get(name)
            if latest is None or not random_generators.is_same(state, latest[0]):
                self._latest[name] = (state, self._kept(name, state))
        self._memory = memory
        return {name: variable for name, (_, variable) in self._latest.items()}

    def forget_lost(self, is_lost: Callable[[Variable], bool]) -> None:
        """Write those again, at the next look, whose bytes the store has no more."""
        latest = self._latest.items()
        self._latest = {n: (state, v) for n, (state, v) in latest if not is_lost(v)}

    def forget(self, names: Container[str]) -> None:
        """Write the states of `names` again at the next look."""
        self._latest = {n: known for n, known in self._latest.items() if n not in names}

    def _kept(self, name: str, state: object) -> Variable:
        # Not before something is kept: it is most of what encodes any value.
        from nbckpt.codecs.encode import encode
        from nbckpt.codecs.pickler import Scope
        from nbckpt.storage.blobs import size_of_parts

        parts = encode({name: state}, Scope({}), with_shares=False).parts
        blob = self.store.put_blob(parts)
        size = size_of_parts(parts)
        return Variable(name, blob, blob, "random state", size, group=(name,))
