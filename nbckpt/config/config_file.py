"""A store's `config.json`: its members, settings in it that do not count, and writing one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Protocol

from nbckpt.config.setting_kinds import ENVIRONMENT_KINDS, NAMES, OF_ANYBODY, STORE_KINDS
from nbckpt.config.settings import FILE, Settings, variable_of, with_setting
from nbckpt.digests import digest_of_json
from nbckpt.errors import TRUST_IT, StoreError, UntrustedError, UsageError

SUM = "sum"
SUM_DIGITS = 16


class ConfigFile(Protocol):
    """The `config.json` of a store, which alone touches it."""

    def text(self) -> str | None:
        """Content of the file; None if there is none."""

    def is_own(self, text: str) -> bool:
        """True if this user has written it, or vouched for it."""

    def write(self, text: str) -> None:
        """Replace the file as a whole."""


class KeepsConfig(Protocol):
    """A store with its `config.json`."""

    @property
    def cipher(self) -> object | None:
        """Cipher that the store is encrypted with; None if it is plain."""

    @property
    def config(self) -> ConfigFile:
        """The file."""


def _sum_of(members: dict[str, object]) -> str:
    return digest_of_json(members)[:SUM_DIGITS]  # type: ignore[arg-type]  # it came from JSON


def members_of(stored: str | None) -> dict[str, object]:
    """The members of the file; one with a sum is as it was written, or it does not count."""
    if stored is None:
        return {}
    try:
        members = json.loads(stored)
    except ValueError as error:
        message = f"{FILE} cannot be read, and nothing of it counts: {error}"
        raise UsageError(message) from error
    if not isinstance(members, dict):
        message = f'{FILE} cannot be read, and nothing of it counts: write {{"auto": "on"}}'
        raise UsageError(message)
    if (own := members.pop(SUM, None)) is not None and own != _sum_of(members):
        message = (
            f"{FILE} is damaged, or was edited by hand, and nothing of it counts: take its"
            f" {SUM!r} away if all in it is as it should be"
        )
        raise UsageError(message)
    return members


def text_of(value: object) -> str:
    """The text that a member means, as it would be typed."""
    return value if isinstance(value, str) else json.dumps(value)


def doubted_in(store: KeepsConfig) -> tuple[str, ...]:
    """Settings in the `config.json` of a store that do not count, each as `name=value`."""
    try:
        stored = store.config.text()
        members = {} if stored is None or store.config.is_own(stored) else members_of(stored)
    except (StoreError, UsageError):  # then nothing of it counts
        return ()
    return tuple(f"{name}={text_of(members[name])}" for name in untrusted_names(members))


def untrusted_names(members: Mapping[str, object]) -> list[str]:
    """Settings among the members that do not count if somebody else wrote them."""
    return [name for name in members if name in STORE_KINDS and name not in OF_ANYBODY]


def write_setting(store: KeepsConfig, name: str, text: str) -> None:
    """Have the store remember a setting for all who open it; an empty `text` forgets it.

    Raises
    ------
    UsageError
        If there is no such setting, it cannot be `text`, or `config.json` is damaged.
    UntrustedError
        If that has settings of somebody else's, which would count as the user's own then.
    StoreError
        If the disk refuses.
    """
    if name in ENVIRONMENT_KINDS:
        message = (
            f"{name} is no setting of a store: set {variable_of(name)}, and for a store that is"
            " there `nbckpt rekey`"
        )
        raise UsageError(message)
    if name not in STORE_KINDS:
        message = f"{name}: there is no such setting; there are {', '.join(NAMES)}"
        raise UsageError(message)
    if doubted := doubted_in(store):
        message = (
            f"{name}: {FILE} was not written by you, or by hand, and says {', '.join(doubted)}:"
            f" {TRUST_IT}; or delete the file"
        )
        raise UntrustedError(message)
    members = members_of(store.config.text())
    members.pop(name, None)
    if text.strip():
        with_setting(Settings(), name, text, name)
        members[name] = _number_or_text(text.strip())
    store.config.write(json.dumps({**members, SUM: _sum_of(members)}, indent=2) + "\n")


def _number_or_text(text: str) -> object:
    """The JSON value of a setting: a number where it is written as one."""
    try:
        number = json.loads(text)
    except ValueError:
        return text
    return number if type(number) in {int, float} else text
