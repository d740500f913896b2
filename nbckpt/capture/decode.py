"""Kept values, built apart from any namespace: to be compared."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from nbckpt.codecs.loading import Loading, decode
from nbckpt.errors import FormatError, RestoreError
from nbckpt.fingerprint.values.destructors import let_go
from nbckpt.model import Manifest, Variable
from nbckpt.storage.store import Store


def mates_of(variable: Variable, manifest: Manifest) -> tuple[str, ...]:
    """The names that are in a variable's blob, its own first.

    Where somebody else has written which they are, those that the manifest has there as well.
    """
    if variable.trusted:
        return variable.group or (variable.name,)
    where = variable.blob, False
    there = {n: (v.blob, v.trusted) for n in variable.group if (v := manifest.get(n))}
    return variable.name, *(n for n in there if n != variable.name and there[n] == where)


def own_values(
    values: Mapping[str, object], variable: Variable, manifest: Manifest
) -> dict[str, object]:
    """Of the values in a blob, those that are a variable's and its group's.

    Where somebody else has written it, it may hold other names, and values for them.

    Raises
    ------
    FormatError
        If the variable is not among them.
    """
    if variable.trusted:
        return dict(values)
    mates = mates_of(variable, manifest)
    if variable.name not in values:
        message = f"its bytes hold no variable {variable.name!r}"
        raise FormatError(message)
    return {n: v for n, v in values.items() if n in mates}


class Values:
    """Builds variables of a manifest, with the definitions that they need.

    With it goes what it built: whatever is to stay is taken out of `namespace`.

    Attributes
    ----------
    namespace
        What was built, and the globals of its functions.
    """

    def __init__(self, store: Store, manifest: Manifest) -> None:
        self.namespace: dict[str, object] = {"__builtins__": __builtins__, "__name__": "__main__"}
        self._store = store
        self._manifest = manifest
        self._has_built = False

    def __del__(self) -> None:
        if self._has_built:
            with suppress(Exception):  # as the process ends, all of it may be gone
                let_go(self.namespace)

    def build(self, name: str) -> object:
        """The value that a variable had, which is nobody else's.

        Raises
        ------
        RestoreError
            If the manifest lacks it, or what it needs.
        NotFoundError, FormatError
            If the store lacks its bytes, or they are damaged.
        UntrustedError
            If it is more than plain data, and not trusted.
        Exception
            Whatever the values' own code raises while they are built.
        """
        if name not in self.namespace:
            variable = self._manifest.get(name)
            if variable is None:
                message = f"it needs {name!r}, which its checkpoint does not hold"
                raise RestoreError(message)
            parts = self._store.get_blob(variable.blob, trusted=variable.trusted)
            loading = Loading(self.namespace, self.build, is_silent=True)
            self._has_built = True
            values = decode(parts, loading, trusted=variable.trusted)
            self.namespace |= own_values(values, variable, self._manifest)
        return self.namespace[name]
