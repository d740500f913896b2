"""Contents of the records of a store: cells that ran, their outputs, their costs, summaries."""
