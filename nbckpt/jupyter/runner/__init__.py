"""`nbckpt run`: a notebook without a front end, its kernel, parameters and progress."""
