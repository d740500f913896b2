"""Random notebooks, run with nbckpt and in plain IPython: the same variables, the same outputs.

The oracle knows none of nbckpt's rules. It runs the cells that led to a moment, one after another
in an empty namespace, and everything that can be told of both namespaces is compared.

    python -m tests.random_programs --programs 100000 --seed 1 --minutes 60 --jobs 2
"""
