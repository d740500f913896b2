"""How values of scientific packages are compared."""
