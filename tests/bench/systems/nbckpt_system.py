"""nbckpt, as a user has it: `%load_ext nbckpt` and `%nbckpt auto on`."""

from __future__ import annotations

import os
from typing import Any

from tests.bench.shells import COMPLAINTS
from tests.bench.systems.base import System


class Nbckpt(System):
    """It follows the shell itself; a state is found again by its checkpoint's id."""

    name = "nbckpt"
    packages = ("nbckpt",)
    modules = (
        "nbckpt.jupyter.shell",
        "nbckpt.jupyter.guards",
        "nbckpt.steps.restore.effects",
        "cloudpickle",
    )
    complaints = COMPLAINTS

    def start(self, shell: Any) -> None:
        super().start(shell)
        os.environ["NBCKPT_STORE"] = str(self.folder / "store")
        shell.run_line_magic("load_ext", "nbckpt")
        shell.run_line_magic("nbckpt", "auto on")
        from nbckpt.steps import current_session

        self.session = current_session.session()
        self.ids: dict[str, str] = self.read_note("ids.json", {})

    def mark(self, cell: int) -> None:
        position = self.session.position.id
        if position is not None:
            self.ids[str(cell)] = position

    def finish(self) -> None:
        self.session.wait()
        self.write_note("ids.json", self.ids)

    def restore(self, cell: int) -> None:
        moved = self.session.rewind(self.ids[str(cell)])
        self.failed = [str(refusal) for refusal in moved.failed]
