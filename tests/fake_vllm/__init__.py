"""A stand-in for `vllm serve` of several generations, without torch: standard library alone.

`install.install(folder, version)` makes an environment whose `bin/vllm` is this program and whose
`vllm` package can be asked what that version has. It takes the arguments, environment variables
and profiler keys of that version and no others, runs one process per rank, streams completions,
counts as vLLM counts, and writes the trace files of that version.

FAKE_VLLM in its environment is a comma-separated list of what goes wrong: `faults.py`.
"""
