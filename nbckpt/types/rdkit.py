"""RDKit: molecules with their properties."""

from __future__ import annotations

import sys
from typing import Any

from nbckpt.types.adapter import TypeAdapter


def _reduce_molecule(molecule: Any) -> Any:
    """A molecule of RDKit with its properties, which its own pickle leaves out."""
    options = sys.modules["rdkit.Chem.rdchem"].PropertyPickleOptions
    return type(molecule), (molecule.ToBinary(int(options.AllProps)),)


ADAPTERS = (
    TypeAdapter(
        ("rdkit.Chem.rdchem:Mol", "rdkit.Chem.rdchem:RWMol"), exact=True, reduce=_reduce_molecule
    ),
)
