"""The wire formats, one module per provider's API; `routes` knows which path speaks which."""
