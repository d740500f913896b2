"""Uses the public API as a typed caller would; mypy reads it, nothing runs it."""
