"""Work on a whole store, as people ask for it: prune, export, settings, trust."""
