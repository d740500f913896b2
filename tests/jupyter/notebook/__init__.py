"""What is told of a notebook's cells."""
