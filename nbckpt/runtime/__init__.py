"""The interpreter and the system: interrupts, time limits, the collector, written pages."""
