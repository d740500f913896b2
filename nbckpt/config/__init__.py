"""Settings, and the sizes, durations, prices and hosts that people type in them."""
