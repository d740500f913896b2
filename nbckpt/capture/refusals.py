"""Refusals of the variables that cannot be kept, as the looks at them found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nbckpt.fingerprint.names import text_of_name
from nbckpt.fingerprint.reachability import reaches
from nbckpt.model import Refusal

_ODD = "globals()[…] made it"


class Refusals(dict[str, Refusal]):
    """Name → refusal of a variable, as of the last look."""

    def renew(
        self, looked_at: set[str], now: Mapping[str, object], namespace: dict[str, object]
    ) -> None:
        """Have what holds, or is held by, something that may have changed count as changed.

        Parameters
        ----------
        looked_at
            Names of what may have changed.
        now
            What the variables hold while they are looked at.
        """
        present = [n for n in looked_at if n in now]
        for name in self.keys() - looked_at:
            if name in now and any(
                reaches(now[n], now[name], namespace) or reaches(now[name], now[n], namespace)
                for n in present
            ):
                self[name] = Refusal(*self[name])

    def listed(self, odd: Iterable[object], now: Mapping[str, object]) -> tuple[Refusal, ...]:
        """All of them, and those of keys that are no name that code can use."""
        return (*self.values(), *(_refusal_of_key(key, now) for key in odd))


def _refusal_of_key(key: object, now: Mapping[str, object]) -> Refusal:
    value = now.get(key)  # type: ignore[call-overload]  # a namespace may have any keys
    why = f"is under a name that no code can use: bind it to another ({_ODD})"
    text = text_of_name(key)
    return Refusal(text, text, type(value).__name__, why)
