"""Code that is restored instead of run: cells, blocks, calls, loops, reruns, approvals."""
