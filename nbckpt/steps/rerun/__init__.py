"""Rerun: the recorded cells after a checkpoint once more, on a branch of their own."""
