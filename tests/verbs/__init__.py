"""Declarations of verbs, and the doors that are made from them."""
