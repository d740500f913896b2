"""What was found out about variables for the last keys, as long as nobody has changed them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from nbckpt.digests import Digest
from nbckpt.model import Manifest
from nbckpt.values import Examined


class _Entry(NamedTuple):
    """What was found, and the blob and the identity that the variable had then."""

    blob: Digest
    identity: int
    examined: Examined


@dataclass
class ExaminedVariables:
    """Remembers the digests of variables: an untouched one is walked for one key, not for each."""

    _entries: dict[str, _Entry] = field(default_factory=dict)

    def current(self, settled: Manifest, namespace: Mapping[str, object]) -> dict[str, Examined]:
        """What is still true of the variables that are as they were kept: `settled`."""
        return {
            name: entry.examined
            for name, entry in self._entries.items()
            if name in settled
            and settled[name].blob == entry.blob
            and id(namespace[name]) == entry.identity
        }

    def learn(
        self, examined: Mapping[str, Examined], settled: Manifest, namespace: Mapping[str, object]
    ) -> None:
        """Remember what was found about variables; of those that are not settled, nothing."""
        self._entries = {
            name: _Entry(settled[name].blob, id(namespace[name]), found)
            for name, found in examined.items()
            if name in settled
        }
