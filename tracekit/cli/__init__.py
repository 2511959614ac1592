"""The tracekit command: one file per verb."""
