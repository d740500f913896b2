"""The live namespace between checkpoints: what may have changed, what is absent, what is stale."""
