"""Wrap a serving run and write raw files into a run folder; never parse them.

What is where, each using only what stands above it:

secrets/       the one door: what is written of arguments, environment, answers and logs
run_folder     paths of a run folder, and run.json; recording keeps run.json true at every moment
options        what a user asks for; report is how a capture tells what it does
process/       a command and all it starts, its log, signals, tools of the system
context/       machine, versions, GPUs, memory, models: what a later reader wants to know of a run
load/          what runs against a server in each window
engine         what a capture has to know of an engine; engines/ has one file for each
window         the load once, with the profiler or without; trace_files brings the traces
capture        what every capture does; start captures a command, attach a server that runs
profile        `with tracekit.profile(folder):`
doctor/        what can be captured on this machine
"""
