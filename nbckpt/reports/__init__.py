"""Content of a store, as text for people.

The command line and the notebook's magics print these texts.
"""
