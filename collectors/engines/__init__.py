"""The engines that can be captured: one file each, and one line in `registry`.

vllm           with vllm_installed (what this version knows; vllm_probe runs in its Python),
               vllm_profiler (its switch), vllm_scopes (its plugin, vllm_plugin/)
sglang         SGLang
torch_run      any script, with torch_hook/, which runs in it
served         what command lines of servers have in common
"""
