"""Programs that a capture runs, and what ends it.

job            a command and all it starts; table finds those, masked_log is what they print
tool           asks nvidia-smi and its like, which may hang
signals        Ctrl-C and SIGTERM, while something runs that has to be ended first
"""
