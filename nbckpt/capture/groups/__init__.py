"""Variables that share objects, written together: one group is one blob."""
