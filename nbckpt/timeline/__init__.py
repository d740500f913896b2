"""The graph of checkpoints, folded from journal records. Pure.

Branches, ancestry, references, retention, recordings, approvals.
"""
