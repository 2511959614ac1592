"""What an ingest may take unless it is told otherwise."""

DEFAULT_MEMORY = "300MB"
"""DuckDB's memory: a 1 GB trace peaks at 1.25 times that of a 250 MB one; with 350 MB at 1.35."""
