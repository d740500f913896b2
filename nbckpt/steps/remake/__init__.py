"""Variables that could not be kept, made again by the cells that made them, when needed."""
