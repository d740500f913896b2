"""How one variable came to be what it is: each step that changed it, and what it was then."""

from nbckpt.reports.variable_history.history import VariableHistory, history_of

__all__ = ["VariableHistory", "history_of"]
