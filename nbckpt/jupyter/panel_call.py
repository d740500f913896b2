"""The call of a verb by a page or a widget."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from nbckpt.jupyter.cells import Cells
from nbckpt.session.session import Session
from nbckpt.verbs.calls import Call


class PanelCall(Call):
    """A call by a page or a widget.

    Attributes
    ----------
    request
        The members of the request, as they came from outside.
    """

    through = "sidebar"

    def __init__(
        self, arguments: Namespace, request: Mapping[str, Any], cells: Cells, session: Session
    ) -> None:
        super().__init__(arguments)
        self.request = request
        self.cells = cells
        self._session = session

    @property
    def session(self) -> Session:
        """The notebook's."""
        return self._session

    def tell(self, text: str) -> None:
        """Say nothing: a page has its answer alone."""

    def warn(self, text: str) -> None:
        """Say nothing: a page has its answer alone."""
