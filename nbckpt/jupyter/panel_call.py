"""The call of a verb by a page or a widget."""

from __future__ import annotations

from argparse import Namespace

from nbckpt.jupyter.cells import Cells
from nbckpt.session.session import Session
from nbckpt.verbs.calls import Call


class PanelCall(Call):
    """A call by a page or a widget."""

    through = "sidebar"

    def __init__(self, arguments: Namespace, cells: Cells, session: Session) -> None:
        super().__init__(arguments)
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
