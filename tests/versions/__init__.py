"""The fidelity and trap suites on the lowest and the newest versions of what nbckpt stands on."""
