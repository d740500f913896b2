"""What is asked of a model, and where it stands among equal questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from nbckpt.digests import Digest
from nbckpt.llm import providers
from nbckpt.llm.form_fields import fields_in_form
from nbckpt.llm.http_request import HttpRequest
from nbckpt.llm.occurrence import Occurrence
from nbckpt.llm.providers import Endpoint
from nbckpt.llm.recordings_index import Asking
from nbckpt.llm.request_keys import Canonical
from nbckpt.llm.scope import Mode
from nbckpt.llm.step_scope import Scope


class Question(NamedTuple):
    """A request, its endpoint, and its occurrence number among equal requests of the step.

    Attributes
    ----------
    tags
        Of its recording.
    ttl_s
        Maximum age in seconds of a recording that answers it; None: any age.
    mode
        ``record`` if it is to be paid in any case.
    """

    asked: HttpRequest
    endpoint: Endpoint
    body: Canonical
    request: Digest
    scope: Scope
    occurrence: Occurrence
    tags: tuple[str, ...] = ()
    ttl_s: float | None = None
    mode: Mode = "replay"

    @property
    def members(self) -> Mapping[str, Any]:
        """Members of the JSON object that is asked, or fields of the form, by name."""
        return fields_in_form(self.asked.body) if self.body.members is None else self.body.members

    @property
    def model(self) -> str:
        """The model that is asked; empty if the request does not say."""
        return providers.model_of(self.endpoint, self.members)

    @property
    def asking(self) -> Asking:
        """Key of its recordings: step, request and occurrence number."""
        return self.scope.step, self.request, self.occurrence.number

    def give_back(self) -> None:
        """Have the next equal request, a retry, stand in its place."""
        if self.endpoint.kind.is_read:  # all equal ones have one place
            return
        within = self.scope
        self.occurrence.give_back(self.request, within, within.around or within)
