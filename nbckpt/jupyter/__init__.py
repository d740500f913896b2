"""The notebook's side: only this package knows IPython."""
