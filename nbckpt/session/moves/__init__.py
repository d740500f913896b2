"""Moves of a session: to another checkpoint, to another branch, and back where one fails."""
