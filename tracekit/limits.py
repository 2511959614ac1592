"""What an ingest may take unless it is told otherwise."""

DEFAULT_MEMORY = "280MB"
"""DuckDB's memory: a 1 GB trace peaks at 1.2 times that of a 250 MB one; with 300 MB at 1.33."""
