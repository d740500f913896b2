"""Observation: inputs and effects of a cell that its text does not show.

A cell's key is predicted from its text. Files, process state, attributes set on libraries and
names looked up by other means escape that prediction. They are observed while the cell runs, are
recorded with its checkpoint, and are compared before the checkpoint is restored (a *verifying
trace* [1]_: the recorded dependencies decide, not the predicted ones).

References
----------
.. [1] Mokhov, Mitchell, Peyton Jones, "Build Systems à la Carte", ICFP 2018, section 4.2.2.
"""

from nbckpt.capture.observation.facets import early_facet, later_facets
from nbckpt.capture.observation.observer import Facet, Observer, Ran

__all__ = ["Facet", "Observer", "Ran", "early_facet", "later_facets"]
