"""What ran: from run.json, else from the server's log, else from the traces.

A run folder's run.json is one object. All members but `format` may be left out, others are kept:

    {"format": 1,
     "synthetic": false,                  true where the traces were generated, not recorded
     "status": "complete",                or "failed", then "error" says why in one line
     "engine": {"name": "vllm", "version": "0.32.0"},
     "model": "Qwen/Qwen3-8B",            as the server was given it
     "tensor_parallel": 2,
     "speculative": {"method": "eagle3", "num_speculative_tokens": 3},   null where off
     "command": ["vllm", "serve", ...],   read for what the members above do not say
     "windows": [...]}                    stretches of load (tracekit/readers/windows.py)

A run.json of somebody else's is read too, where it has the command as a list (`command`, `cmd`).
"""

import posixpath
import re
from dataclasses import dataclass
from typing import Any

import duckdb

from tracekit.errors import RunError
from tracekit.readers.folder import InputFile
from tracekit.readers.kind import MAX_JSON_BYTES, load_json, read_text
from tracekit.readers.serve_command import Setup, drafted, setup_of_command
from tracekit.readers.values import count, text
from tracekit.run import RunInput

FORMAT = 1
LOG_BYTES = 4 * 1024 * 1024
"""Start of a server log that is read: engines say what they run with before they load weights."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """What table `run` says before the events are looked at; `context` is the text of run.json."""

    run: str
    source: str
    setup: Setup
    is_synthetic: bool
    status: str | None
    error: str | None
    context: str | None


def describe(con: duckdb.DuckDBPyConnection, inputs: RunInput) -> RunContext:
    """Context of a run whose traces are in table `file` already.

    Raises:
        RunError: run.json is of a later format.
    """
    run_json = run_json_of(inputs)
    said = load_json(run_json.path) or {} if run_json else {}
    _check_format(said, run_json)
    setup = _setup_of_run_json(said)
    for _, log in inputs.of_kind("server_log"):
        setup = setup.or_else(setup_of_log(read_text(log.path, LOG_BYTES)))
    return RunContext(
        run=inputs.name,
        source=inputs.source,
        setup=setup.or_else(_setup_of_traces(con, inputs.name)),
        is_synthetic=said.get("synthetic") is True,
        status=text(said.get("status")),
        error=text(said.get("error")),
        context=read_text(run_json.path, run_json.bytes) if run_json else None,
    )


def insert_run(con: duckdb.DuckDBPyConnection, context: RunContext) -> None:
    """Make the row of table `run`; what only the events tell is left for derive to update."""
    setup = context.setup
    con.execute(
        _INSERT_RUN,
        {
            "run": context.run,
            "source": context.source,
            "engine": setup.engine,
            "engine_version": setup.engine_version,
            "model": setup.model,
            "tensor_parallel": setup.tensor_parallel,
            "speculative_method": setup.speculative_method,
            "num_speculative_tokens": setup.num_speculative_tokens,
            "is_synthetic": context.is_synthetic,
            "status": context.status,
            "error": context.error,
            "context": context.context,
        },
    )


def insert_files(con: duckdb.DuckDBPyConnection, inputs: RunInput) -> None:
    """Add to table `file` what is no trace; the reader of traces has added those."""
    listed = _listed(inputs)
    for file_id, file in enumerate(inputs.others, start=len(inputs.traces)):
        is_context = file.shown in listed or file.path.name.endswith(".profiler_out.txt")
        kind = "context" if file.kind == "other" and is_context else file.kind
        said = read_text(file.path, MAX_JSON_BYTES) if kind == "config" else None
        con.execute(_INSERT_FILE, [inputs.name, file_id, file.shown, kind, file.bytes, said])


def _listed(inputs: RunInput) -> set[str]:
    """Files that run.json lists: what no reader takes of them is written for people."""
    run_json = run_json_of(inputs)
    said = load_json(run_json.path) if run_json else None
    files = _object((said or {}).get("files"))
    folder = posixpath.dirname(run_json.shown) if run_json else ""
    return {posixpath.join(folder, path) for path in files}


def setup_of_log(log: str) -> Setup:
    """What a server log's lines on its configuration say.

    Source: vLLM 0.6.6 to 0.33 (`Initializing a V1 LLM engine (v...) with config: ...`),
    SGLang 0.4 to 0.5.23 (`server_args=ServerArgs(...)`).
    """
    if found := _VLLM.search(log):
        return _setup_of_vllm(*found.groups())
    if found := _SGLANG.search(log):
        return _setup_of_sglang(found[1])
    return Setup()


_VLLM = re.compile(r"Initializing an? (?:V\d )?LLM engine \(v([^)\s]+)\) with config: ([^\n]*)")
_SGLANG = re.compile(r"server_args=ServerArgs\(([^\n]*)")
_INSERT_FILE = """
    INSERT INTO file (run, file_id, path, kind, dp, bytes, metadata)
    VALUES (?, ?, ?, ?, 0, ?, TRY_CAST(? AS JSON))
"""
_INSERT_RUN = """
    INSERT INTO run (run, source, backend, engine, engine_version, model, tensor_parallel,
                     world_size, speculative_method, num_speculative_tokens, is_synthetic,
                     status, error, context)
    SELECT $run, $source, 'unknown', $engine, $engine_version, $model, $tensor_parallel,
        -- Data-parallel engines form one world (MoE) unless they number their ranks alike.
        max(world_size) * CASE WHEN count(DISTINCT world_rank) < count(DISTINCT (dp, rank))
            THEN count(DISTINCT dp) ELSE 1 END,
        $speculative_method, $num_speculative_tokens, $is_synthetic, $status, $error,
        TRY_CAST($context AS JSON)
    FROM (
        SELECT
            dp, rank,
            TRY_CAST(metadata ->> '$.distributedInfo.rank' AS INTEGER) AS world_rank,
            TRY_CAST(metadata ->> '$.distributedInfo.world_size' AS INTEGER) AS world_size
        FROM file
        WHERE run = $run AND kind = 'trace'
    )
"""


def run_json_of(inputs: RunInput) -> InputFile | None:
    """The run.json nearest to the top of the run."""
    found = [file for _, file in inputs.of_kind("run_json")]
    return min(found, key=lambda file: (file.shown.count("/"), file.shown), default=None)


def _check_format(said: dict[str, Any], run_json: InputFile | None) -> None:
    version = said.get("format", FORMAT)
    if run_json and version != FORMAT:
        raise RunError(
            f"{run_json.shown}: format {version!r}, this tracekit reads {FORMAT}; upgrade tracekit"
        )


def _setup_of_run_json(said: dict[str, Any]) -> Setup:
    engine = _object(said.get("engine"))
    drafting = _object(said.get("speculative"))
    members = Setup(
        engine=text(engine.get("name")),
        engine_version=text(engine.get("version")),
        model=text(said.get("model")),
        tensor_parallel=count(said.get("tensor_parallel")),
        speculative_method=text(drafting.get("method")),
        num_speculative_tokens=count(drafting.get("num_speculative_tokens")),
    )
    command = said.get("command", said.get("cmd"))
    words = command if isinstance(command, list) else []
    return members.or_else(setup_of_command([word for word in words if isinstance(word, str)]))


def _setup_of_vllm(version: str, config: str) -> Setup:
    drafting = config.partition("speculative_config=SpeculativeConfig(")[2].partition(")")[0]
    return Setup(
        engine="vllm",
        engine_version=version,
        model=_value("model", config),
        tensor_parallel=count(_value("tensor_parallel_size", config)),
        speculative_method=_value("method", drafting),
        num_speculative_tokens=count(_value("num_spec_tokens", drafting)),
    )


def _setup_of_sglang(arguments: str) -> Setup:
    own = Setup(
        engine="sglang",
        model=_value("model_path", arguments),
        tensor_parallel=count(_value("tp_size", arguments)),
    )
    return own.or_else(
        drafted(
            _value("speculative_algorithm", arguments),
            _value("speculative_num_steps", arguments),
            _value("speculative_num_draft_tokens", arguments),
        )
    )


def _value(name: str, arguments: str) -> str | None:
    """Value of the first `name=` in Python keyword arguments as printed; None for None."""
    found = re.search(rf"(?<!\w){name}=(?:'([^']*)'|([^,)\s]+))", arguments)
    value = found and (found[1] or found[2])
    return None if value == "None" else value


def _setup_of_traces(con: duckdb.DuckDBPyConnection, run: str) -> Setup:
    ((version, is_sglang),) = con.execute(_TRACES, {"run": run}).fetchall()
    if version is not None:
        return Setup(engine="vllm", engine_version=version)
    return Setup(engine="sglang") if is_sglang else Setup()


_TRACES = """
    SELECT max(metadata ->> '$.vllm_version'), bool_or(regexp_matches(path, '-TP-\\d+[-.]'))
    FROM file
    WHERE run = $run AND kind IN ('trace', 'frontend')
"""


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
