"""Kept values, built apart from any namespace: to be compared."""

from __future__ import annotations

from contextlib import suppress

from nbckpt.capture.trust_gate import require_trusted_value
from nbckpt.codecs.loading import Loading, decode
from nbckpt.errors import RestoreError
from nbckpt.fingerprint.values.destructors import let_go
from nbckpt.model import Manifest
from nbckpt.storage.store import Store


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
            If it is not trusted.
        Exception
            Whatever the values' own code raises while they are built.
        """
        if name not in self.namespace:
            variable = self._manifest.get(name)
            if variable is None:
                message = f"it needs {name!r}, which its checkpoint does not hold"
                raise RestoreError(message)
            require_trusted_value(variable)
            parts = self._store.get_blob(variable.blob)
            loading = Loading(self.namespace, self.build, is_silent=True)
            self._has_built = True
            self.namespace |= decode(parts, loading, trusted=variable.trusted)
        return self.namespace[name]
