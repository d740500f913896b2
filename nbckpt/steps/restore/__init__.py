"""A step restored instead of run: which checkpoint may stand for it, and what its effects bind."""
