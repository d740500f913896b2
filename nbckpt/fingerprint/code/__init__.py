"""Names that a cell can read, bind and touch: told by its text, without a namespace."""

from nbckpt.fingerprint.code.bytecode import (
    Names,
    digest_of_code,
    names_of_code,
    reach_of_all,
)
from nbckpt.fingerprint.code.names_of_cell import names_of_tree
from nbckpt.fingerprint.code.nodes import nodes_of
from nbckpt.fingerprint.code.scopes import digest_of_tree, scripts_of

__all__ = [
    "Names",
    "digest_of_code",
    "digest_of_tree",
    "names_of_code",
    "names_of_tree",
    "nodes_of",
    "reach_of_all",
    "scripts_of",
]
