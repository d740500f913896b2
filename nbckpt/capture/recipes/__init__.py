"""Statements of the notebook that make a value again that has no bytes, and when one is enough."""
