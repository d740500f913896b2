"""Names that cells have taken: two `%%checkpoint` cells of one name would restore each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbckpt.errors import UsageError
from nbckpt.model import Cell

if TYPE_CHECKING:
    from nbckpt.jupyter.notebook.identities import Identities
    from nbckpt.session.session import Session
    from nbckpt.steps.execution.step_request import Request


class CellNames:
    """The names of the marked cells of one session.

    Attributes
    ----------
    identities
        What pages told of the notebook's cells; None as long as none did.
    """

    identities: Identities | None = None

    def __init__(self, session: Session) -> None:
        self._session = session
        self._owners: dict[str, tuple[str, str]] = {}

    def take(self, request: Request, cell: Cell) -> None:
        """Note that `cell` has the name that it asks for.

        Raises
        ------
        UsageError
            If something else has it.
        """
        if request.name in self._session.timeline.branches:
            message = f"{request.name!r} is the name of a branch: give this cell another name"
            raise UsageError(message)
        cell_id = cell.cell_id or ""
        owner = self._owners.get(request.name)
        if owner is not None and not request.rerun and self._is_another(owner[0], cell_id):
            message = (
                f"{request.name!r} is the name of another cell, {owner[1]}: give this one a name "
                "of its own (or, if that cell is gone, take it with --rerun once)"
            )
            raise UsageError(message)
        if cell_id:
            count = cell.execution_count
            self._owners[request.name] = (
                cell_id,
                "a hidden one" if count is None else f"In [{count}]",
            )

    def _is_another(self, owner: str, cell_id: str) -> bool:
        """True if a name is that of another cell, which is still there as far as is known."""
        if not cell_id or owner == cell_id:
            return False
        return self.identities is None or not self.identities.has_gone(owner, where=cell_id)
