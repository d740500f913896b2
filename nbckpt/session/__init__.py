"""A live namespace on one branch of one store: its position, its moves, its writes."""
