"""Measures how fast this machine's collectives can be: `tracekit bench allreduce`.

sizes       message sizes and bursts as a user writes them
plan        what is to be measured, and whether it fits
allreduce   runs it into a run folder: starts the ranks, or is one of them
torch_probe runs in the user's Python: what its torch can do
worker/     runs there too: measures
"""
