"""The command line and the profiler settings, as strict as each version is."""

import argparse
import json
import os
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """A server's arguments; `profiler` has every ProfilerConfig field, or is None when off."""

    model: str
    served: str
    host: str
    port: int
    tensor_parallel: int
    max_model_len: int
    api_keys: tuple[str, ...]
    n_draft_tokens: int
    speculative: dict | None
    logs_iterations: bool
    profiler: dict | None
    given: dict


def parse(words, generation):
    """Settings of `vllm serve WORDS`; exits with 2 on an argument that the version lacks."""
    words, dotted = _split_dotted(words)
    parser = _parser(generation)
    options = parser.parse_args(words)
    model = options.model or options.model_tag
    if model is None:
        parser.error("the following arguments are required: model_tag")
    speculative = json.loads(options.speculative_config) if options.speculative_config else None
    given = {key: value for key, value in vars(options).items() if value not in (None, False, [])}
    return Settings(
        model=model,
        served=options.served_model_name[0] if options.served_model_name else model,
        host=options.host,
        port=options.port,
        tensor_parallel=options.tensor_parallel_size,
        max_model_len=options.max_model_len,
        api_keys=tuple(options.api_key or filter(None, [os.environ.get("VLLM_API_KEY")])),
        n_draft_tokens=(speculative or {}).get("num_speculative_tokens", 0),
        speculative=speculative,
        logs_iterations=getattr(options, "enable_logging_iteration_details", False),
        profiler=_profiler(generation, getattr(options, "profiler_config", None), dotted),
        given=given,
    )


def _parser(generation):
    parser = argparse.ArgumentParser("vllm serve", allow_abbrev=False)
    parser.add_argument("model_tag", nargs="?")
    parser.add_argument("--model")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--tensor-parallel-size", "-tp", type=int, default=1)
    parser.add_argument("--max-model-len", type=int, default=4096)
    parser.add_argument("--max-num-seqs", type=int)
    parser.add_argument("--dtype")
    parser.add_argument("--served-model-name", nargs="+")
    parser.add_argument("--api-key", nargs="*")
    parser.add_argument("--hf-token")
    parser.add_argument("--tokenizer")
    parser.add_argument("--speculative-config")
    parser.add_argument("--enforce-eager", action="store_true")
    if generation.has_iteration_log:
        parser.add_argument("--enable-logging-iteration-details", action="store_true")
    if generation.keys:
        parser.add_argument("--profiler-config")
    return parser


def _split_dotted(words):
    """The words without `--profiler-config.key=value`, and those keys."""
    kept, dotted, words = [], {}, list(words)
    while words:
        word = words.pop(0)
        if not word.startswith("--profiler-config."):
            kept.append(word)
            continue
        name, equals, value = word.removeprefix("--profiler-config.").partition("=")
        dotted[name] = _plain(value if equals else words.pop(0))
    return kept, dotted


def _profiler(generation, config, dotted):
    given = json.loads(config) if config else {}
    given |= dotted
    for key in given.keys() - (generation.keys or {}):
        _invalid(key, given[key])
    said = {
        key: _plain(os.environ[name])
        for name, key in generation.environment.items()
        if name in os.environ
    }
    settings = {**generation.defaults, **said, **given}
    has_env = "VLLM_TORCH_PROFILER_DIR" in os.environ and "torch_profiler_dir" in said
    if settings["profiler"] is None and not has_env:
        return None
    if not settings["torch_profiler_dir"]:
        _invalid("torch_profiler_dir", "")
    return settings


def _plain(value):
    """A value of the command line or the environment as JSON would have it."""
    try:
        return json.loads(value.lower()) if value else value
    except ValueError:
        return value


def _invalid(key, value):
    sys.exit(
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for ProfilerConfig\n"
        f"{key}\n  Unexpected keyword argument [type=unexpected_keyword_argument, "
        f"input_value={value!r}]"
    )
