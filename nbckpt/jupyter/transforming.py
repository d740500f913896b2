"""The AST transformer that IPython calls for each cell."""

from __future__ import annotations

import ast
import traceback

from IPython.core.error import InputRejected

from nbckpt.jupyter import marking, notices
from nbckpt.jupyter.cells import Cells
from nbckpt.jupyter.comms import Comms
from nbckpt.runtime.user_code_errors import user_code_errors


class Transformer(ast.NodeTransformer):
    """The AST transformer that IPython calls; hands each cell to `Cells`."""

    def __init__(self, cells: Cells, comms: Comms) -> None:
        self._cells = cells
        self._comms = comms

    def visit(self, node: ast.AST) -> ast.AST:
        """Return the part of the cell that is left to run."""
        if not isinstance(node, ast.Module):
            return node
        try:
            if marking.loads_nbckpt(node):
                self._comms.announce()  # IPython itself says that it is there, and no more
            return self._cells.visit(node)
        except InputRejected:
            raise
        except user_code_errors():  # a hook's error never breaks the user's cell
            notices.warn("this cell runs without a checkpoint, by a defect in nbckpt:")
            traceback.print_exc()
            return node
