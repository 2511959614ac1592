"""Synthetic Kineto traces of LLM serving with the exact truth beside them."""
