"""Kept values, built apart from any namespace: to be looked at."""

from __future__ import annotations

from nbckpt.codecs.loading import Loading, decode
from nbckpt.errors import RestoreError
from nbckpt.model import Manifest
from nbckpt.storage.store import Store


class Values:
    """Builds variables of a manifest, with the definitions that they need.

    Attributes
    ----------
    namespace
        What was built, and the globals of its functions.
    """

    def __init__(self, store: Store, manifest: Manifest) -> None:
        self.namespace: dict[str, object] = {"__builtins__": __builtins__, "__name__": "__main__"}
        self._store = store
        self._manifest = manifest

    def build(self, name: str) -> object:
        """The value that a variable had, which is nobody else's.

        Raises
        ------
        RestoreError
            If the manifest lacks it, or what it needs.
        NotFoundError, FormatError
            If the store lacks its bytes, or they are damaged.
        Exception
            Whatever the values' own code raises while they are built.
        """
        if name not in self.namespace:
            variable = self._manifest.get(name)
            if variable is None:
                message = f"it needs {name!r}, which its checkpoint does not hold"
                raise RestoreError(message)
            parts = self._store.get_blob(variable.blob)
            self.namespace |= decode(parts, Loading(self.namespace, self.build))
        return self.namespace[name]
