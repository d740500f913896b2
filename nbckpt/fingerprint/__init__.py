"""Digests that are equal in every process: of code, of values, and the key of a step."""
