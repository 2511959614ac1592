"""Put in front of PYTHONPATH by `tracekit capture --engine torch`: what records in the script.

The modules here run in the user's interpreter, which has torch but neither tracekit nor what it
depends on: they use the standard library and torch alone, and find each other by their bare names.
"""
