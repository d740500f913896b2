"""The folder on disk: `store.Store` is its door; `FORMAT.md` says what every byte means."""
