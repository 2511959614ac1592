"""What `tracekit bench` runs in the Python that has torch: a process per rank, and their launcher.

The modules here run where tracekit and what it depends on are not: they use the standard library,
torch and the recorder of engines/torch_hook alone, and find each other by their bare names.
"""
