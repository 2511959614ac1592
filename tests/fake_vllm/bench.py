"""`vllm bench serve ...`: a load from another program."""

import argparse
import json
import sys
import urllib.request


def bench(words):
    """Sends requests, one after the other."""
    parser = argparse.ArgumentParser("vllm bench serve", allow_abbrev=False)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--num-prompts", type=int, default=1000)
    options = parser.parse_args(words)
    body = {"model": options.model, "prompt": "a b", "max_tokens": 6, "ignore_eos": True}
    for _ in range(options.num_prompts):
        request = urllib.request.Request(f"{options.base_url}/v1/completions")
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, json.dumps(body).encode()) as answer:
            answer.read()
    sys.stdout.write(f"Successful requests: {options.num_prompts}\n")
