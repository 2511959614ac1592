"""Wrap a serving run and write raw files into a run folder; never parse them."""
