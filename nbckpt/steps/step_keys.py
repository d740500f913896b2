"""The keys of a step: the one that it begins with, and those that it has later on."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nbckpt.digests import Digest
from nbckpt.fingerprint.user_names import Own
from nbckpt.model import Key
from nbckpt.session import known_keys
from nbckpt.steps.remake import makers

if TYPE_CHECKING:
    from nbckpt.fingerprint.keys import Inputs
    from nbckpt.session.session import Session
    from nbckpt.steps.execution.step_request import Request


class StepKeys(Own):
    """Makes the keys of one step."""

    def __init__(self, session: Session, request: Request, tree: ast.Module) -> None:
        self._session = session
        self._request = request
        self._tree = tree
        self._is_told = True  # nothing that the key counts is beyond telling
        self._can_import = True

    def at_first(self, *, is_known: bool) -> Key:
        """The key with which it begins; `is_known` if it may have begun like this before."""
        session, request = self._session, self._request
        lacking = makers.lacking(session)
        if is_known and not request.deps:
            name, selection = request.name, request.selection
            known = known_keys.known_key(session, name, self._tree, selection, lacking)
            if known is not None and session.workspace.audit.mode == "off":
                return known
            if known is not None:
                session.workspace.audit.compare_keys(request.name, known, self.now(lacking))
        return self.now(lacking)

    def now(self, lacking: Mapping[str, Digest] | None = None) -> Key:
        """Its key, made of the values that are there."""
        request = self._request
        return self._session.workspace.key_of(
            self._tree, request.selection, request.deps, lacking, self._note_met
        )

    def start_of(self, key: Key) -> str:
        """Token of the variables with which it begins; empty if these are not all that counts."""
        if not self._is_told:
            return ""
        return known_keys.start_of(self._session, key, can_import=self._can_import)

    def _note_met(self, inputs: Inputs) -> None:
        self._is_told, self._can_import = not inputs.is_untold, inputs.can_import
