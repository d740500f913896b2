"""Automatic checkpoints: the cells that wait for the next one, and when it comes."""
