"""Frameworks on top of the SDKs: what each asks of a model, recorded and replayed."""
