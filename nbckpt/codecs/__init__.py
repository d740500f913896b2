"""One value ↔ bytes. Only this package pickles.

`encode` splits values into one pickle stream and the large buffers beside it, without copying
them; `decode` puts them together again. What the C pickler cannot do alone is in its own module:
arrays and their views, tensors and their storages, functions and classes of the notebook, locks.
"""
