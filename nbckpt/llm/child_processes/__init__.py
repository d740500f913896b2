"""Model calls of processes that a step has started: each asks the recorder of its parent.

A process gets one variable of the environment, which names a socket of its parent, the key to it
and the step. With it, the line of `nbckpt.pth` has the seams of the process ask there: what is
known of samples, budgets, equal calls in flight and durability is known in one process alone.
"""
