"""What nbckpt costs and saves, beside what else there is: ``python -m tests.bench``.

All of it writes ``RESULTS.md``; ``--quick`` and any part print their tables. Systems that are not
installed are named as such, so a user needs none of them.
"""
