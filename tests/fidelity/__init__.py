"""The fidelity suite: what each type of value is worth after it went through a store.

`cases` says what a case is, `science_*` and `python_*` hold them, `batch` runs those of one module
in two processes, `compare` compares, and ``python -m tests.fidelity`` writes `FIDELITY.md`.
"""
