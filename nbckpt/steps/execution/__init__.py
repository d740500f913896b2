"""One execution of a step: what was asked for, the namespace before it, its calls and its loops.

Nothing here begins or ends a step, so that all who restore, keep and follow one may know of it.
"""
