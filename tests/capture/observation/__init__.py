"""Observation of what the text of a cell does not show."""
