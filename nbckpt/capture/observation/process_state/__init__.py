"""Process state that a notebook changed: an input of the cells below, an effect of its cell.

What differs from the baseline was changed by the notebook: from the documented defaults of a
library, else from what was there when the session began. Each kind has a cheap *read* and a *set*;
others add theirs with `register`.
"""

from nbckpt.capture.observation.process_state.facet import ProcessState, unsettable
from nbckpt.capture.observation.process_state.kinds import Change, Kind
from nbckpt.capture.observation.process_state.registry import kinds_for, register

__all__ = ["Change", "Kind", "ProcessState", "kinds_for", "register", "unsettable"]
