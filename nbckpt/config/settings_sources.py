"""Sources of settings: the environment, then the store's `config.json`; the environment wins."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from nbckpt.config.config_file import KeepsConfig, members_of, text_of, untrusted_names
from nbckpt.config.setting_kinds import ENVIRONMENT_KINDS, NAMES
from nbckpt.config.settings import FILE, Settings, variable_of, with_setting
from nbckpt.errors import TRUST_IT, StoreError, UsageError

STORE_VARIABLE = "NBCKPT_STORE"
VERIFY_LOG_VARIABLE = "NBCKPT_VERIFY_LOG"


def settings_from(environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings that the environment asks for.

    Raises
    ------
    UsageError
        If a variable holds what it cannot mean.
    """
    settings = Settings()
    if store := environ.get(STORE_VARIABLE):
        origins = {"store": STORE_VARIABLE}
        settings = replace(settings, store=Path(store).expanduser(), origins=origins)
    for name in (*NAMES, *ENVIRONMENT_KINDS):
        if text := environ.get(variable_of(name)):
            settings = with_setting(settings, name, text, variable_of(name))
    return settings


def verify_log(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The file that differences are written to which the setting `verify` finds; None: to none."""
    path = environ.get(VERIFY_LOG_VARIABLE)
    return Path(path) if path else None


def encryption_from(environ: Mapping[str, str] = os.environ) -> str:
    """The setting `encryption`, as the environment has it.

    Raises
    ------
    UsageError
        If it cannot be that.
    """
    name = "encryption"
    text = environ.get(variable_of(name))
    return with_setting(Settings(), name, text, variable_of(name)).encryption if text else ""


def key_in_environment(variable: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """Value of an environment variable that the setting `encryption` names; None if unset."""
    return environ.get(variable)


def with_stored(settings: Settings, stored: str | None, *, trusted: bool = True) -> Settings:
    """`settings` with what a store's `config.json` says where the environment is silent.

    Whoever edits the file by hand errs now and then: what cannot be read is left out, and
    `problems` says so.

    Parameters
    ----------
    stored
        Text of the file; None if there is none.
    trusted
        Whether the user wrote it, or vouched for it; else only what is `OF_ANYBODY` counts.
    """
    try:
        members = members_of(stored)
    except UsageError as problem:
        return replace(settings, problems=(*settings.problems, str(problem)))
    if not trusted and (names := untrusted_names(members)):
        members = {name: value for name, value in members.items() if name not in names}
        do = "does" if len(names) == 1 else "do"
        message = (
            f"{FILE} was not written by you, or by hand: {', '.join(names)} in it {do} not count:"
            f" {TRUST_IT}"
        )
        settings = replace(settings, problems=(*settings.problems, message))
    for name, value in members.items():
        if name in settings.origins:
            continue
        try:
            settings = with_setting(settings, name, text_of(value), FILE)
        except UsageError as problem:
            message = f"{problem}; it is left out"
            settings = replace(settings, problems=(*settings.problems, message))
    return settings


def settings_of(store: KeepsConfig, settings: Settings | None = None) -> Settings:
    """The settings that hold for a store: the environment's, then the store's own."""
    settings = settings or settings_from()
    if settings.encryption and store.cipher is None:
        message = (
            f"{variable_of('encryption')} is set, and this store is not encrypted: `nbckpt rekey`,"
            " with no kernel on it, encrypts it"
        )
        settings = replace(settings, problems=(*settings.problems, message))
    try:
        stored = store.config.text()
    except StoreError as problem:  # the store itself may be well
        return replace(settings, problems=(*settings.problems, str(problem)))
    return with_stored(settings, stored, trusted=stored is None or store.config.is_own(stored))
