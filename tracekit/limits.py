"""What an ingest may take unless it is told otherwise."""

DEFAULT_MEMORY = "350MB"
"""DuckDB's memory: with 500 MB a 1 GB trace peaks at 1.5 times the memory of a 250 MB one."""
