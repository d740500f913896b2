"""What nbckpt costs and saves: ``python -m tests.bench [--quick]`` writes ``RESULTS.md``."""
