"""Namespace to manifest and back: what changed, what shares objects, what a cell did unseen."""
