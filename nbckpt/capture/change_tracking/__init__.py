"""Variables that may have changed since the last look, told by code that ran and by identity."""
