"""What a later reader wants to know of a run besides its traces.

run            members of run.json on the command and the server
machine        CPU, memory, GPUs, kernel, git; gpu samples clocks and power once a second
system_file    what the kernel tells in /proc and /sys
memory         what is left of it, watched while a capture runs
interpreter    the Python that runs an engine; versions asks it (versions_probe runs there)
model_config   config.json of the models
nccl_log       variables that make NCCL write its log
"""
