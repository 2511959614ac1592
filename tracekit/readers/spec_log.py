"""What engines log about drafts, to table `spec_sample`, one row per line.

    INFO 07-09 03:15:05 [metrics.py:82] SpecDecoding metrics: Draft acceptance rate: 61.1%, Mean
        acceptance length: 2.26, Accepted: 58 tokens, Drafted: 95 tokens, Per-position acceptance
        rate: 0.696, 0.370, 0.196
    (APIServer pid=7) INFO 11-29 12:03:32 [metrics.py:120] SpecDecoding metrics: Mean acceptance
        length: 2.26, Accepted throughput: 22.34 tokens/s, Drafted throughput: 36.58 tokens/s,
        Accepted: 58 tokens, Drafted: 95 tokens, Per-position acceptance rate: 0.696, 0.370, 0.196,
        Avg Draft acceptance rate: 61.1%
    [2026-01-02 03:04:05 DP1 TP0] Decode batch, #running-req: 4, #token: 1999, token usage: 0.01,
        accept len: 3.05, accept rate: 0.68, cuda graph: True, gen throughput (token/s): ...

each on one line. Source: vLLM 0.8 to 0.10.1 write the first form (before 0.8.5 without mean and
positions), 0.10.2 to 0.33 the second; SGLang the third, with the rate from 0.5.5. Diffusion models
have `DiffusionDecoding metrics:`, which is not read.

0.8.5 leaves the bonus token out of the mean, 0.9 has it in, in the same words: the rates of the
positions add up to accepted tokens per draft, so the line itself tells.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import ceil, floor

import duckdb

from tracekit.readers.accounts import tell
from tracekit.readers.folder import InputFile
from tracekit.readers.log_lines import Bad, engine_before, lines_of
from tracekit.readers.rows import Value, insert
from tracekit.readers.windows import Windows

_OF_MEAN = 0.005 + 1e-9
_OF_RATE = 0.0005 + 1e-9
"""What two and three decimals leave open."""

_EXACT_ENOUGH = 0.01

_VLLM_SIGN = b"SpecDecoding metrics: "
_VLLM = re.compile(
    rb"SpecDecoding metrics: (?:Draft acceptance rate: (?:nan|[\d.]{1,6})%, )?"
    rb"(?:Mean acceptance length: (?P<mean>\d{1,4}\.\d\d), )?"
    rb"(?:(?:Accepted|Drafted) throughput: [\d.]{1,20} tokens/s, ){0,2}"
    rb"Accepted: (?P<accepted>\d{1,15}) tokens, Drafted: (?P<drafted>\d{1,15}) tokens"
    rb"(?:, Per-position acceptance rate: (?P<rates>[01]\.\d{3}(?:, [01]\.\d{3}){0,999}))?"
)
_SGLANG_BATCH = b"Decode batch"
_SGLANG_SIGN = b", accept len: "
_SGLANG = re.compile(
    rb"Decode batch(?:\.| ?\[\d{1,12}\])?,? #running-req: (?P<running>\d{1,9}), "
    rb"(?:(?!Decode batch).){0,1000}?"
    rb"(?<=, )accept len: (?P<mean>\d{1,4}\.\d\d), "
    rb"(?:accept rate: (?P<rate>\d\.\d\d), |(?!accept rate))"
)
_SGLANG_ENGINE = re.compile(rb"\[\d{4}-\d\d-\d\d [\d:.,]{8,15}(?: DP(\d{1,5})\b)?")


@dataclass(frozen=True, slots=True)
class Sample:
    """One line, in the terms of table `spec_sample`."""

    dp: int
    engine: str
    acceptance_rate: float | None
    mean_acceptance_length: float | None
    n_drafted: int | None = None
    n_accepted: int | None = None
    drafts: int | None = None
    position_rates: list[float] | None = None
    n_running: int | None = None


def read_acceptance(
    con: duckdb.DuckDBPyConnection,
    files: Sequence[tuple[int, InputFile]],
    windows: Windows,
    *,
    run: str,
) -> None:
    """Fill `spec_sample` from logs; lines that are cut or garbled go to `ledger`."""
    for file_id, file in files:
        found: list[dict[str, Value]] = []
        bad = Bad()
        for line_at, line in lines_of(file.path):
            n_signs = _n_signs(line)
            samples = _samples(line) if n_signs else []
            if len(samples) < n_signs:
                bad.add(line_at, line)
            window = windows.of_line(file_id, line_at)
            found += (_row(run, file_id, window, line_at, sample) for sample in samples)
        insert(con, "spec_sample", found)
        tell(con, run, file_id, "line on drafts not understood", bad.count, bad.example)


def _row(
    run: str, file_id: int, window: str | None, line_at: int, sample: Sample
) -> dict[str, Value]:
    place = {"run": run, "file_id": file_id, "window_name": window, "at_byte": line_at}
    return {**place, **asdict(sample)}


def _n_signs(line: bytes) -> int:
    of_sglang = line.count(_SGLANG_SIGN) if _SGLANG_BATCH in line else 0
    return line.count(_VLLM_SIGN) + of_sglang


def _samples(line: bytes) -> list[Sample]:
    found = [_of_vllm(match, line) for match in _VLLM.finditer(line)]
    found += [_of_sglang(match, line) for match in _SGLANG.finditer(line)]
    return [sample for sample in found if sample is not None]


def _of_vllm(match: re.Match[bytes], line: bytes) -> Sample | None:
    """What the line tells; None where its figures do not agree: it is cut."""
    accepted, drafted = int(match["accepted"]), int(match["drafted"])
    rates = [float(rate) for rate in match["rates"].split(b", ")] if match["rates"] else []
    mean = _with_bonus(float(match["mean"]), rates) if match["mean"] and rates else None
    is_whole = (mean is not None) == bool(match["mean"] or rates)
    if accepted > drafted or not is_whole:
        return None
    return Sample(
        dp=engine_before(line, match.start()),
        engine="vllm",
        acceptance_rate=accepted / drafted if drafted else None,
        mean_acceptance_length=mean,
        n_drafted=drafted,
        n_accepted=accepted,
        drafts=None if mean is None else _drafts(accepted, drafted, mean, rates),
        position_rates=rates or None,
    )


def _with_bonus(mean: float, rates: Sequence[float]) -> float | None:
    """`mean` with the bonus token; None where the rates fit it neither with nor without."""
    tokens = sum(rates)
    for bonus in (1, 0):
        if abs(mean - bonus - tokens) <= _OF_MEAN + _OF_RATE * len(rates):
            return mean + (1 - bonus)
    return None


def _drafts(accepted: int, drafted: int, mean: float, rates: Sequence[float]) -> int | None:
    """Drafts: accepted / (mean - 1), and accepted / sum of the rates, within their digits.

    Of what these leave open: drafts of full length where they fit, else the nearest to the rates;
    None where it is more than 1 %.
    """
    per_draft = [(mean - 1, _OF_MEAN), (sum(rates), _OF_RATE * len(rates))]
    low = max(ceil(accepted / (each + left)) for each, left in per_draft)
    high = min(
        floor(accepted / (each - left)) if each > left else drafted for each, left in per_draft
    )
    full, rest = divmod(drafted, len(rates))
    low, high = max(low, full + (rest > 0)), min(high, drafted)
    if low > high or high - low > _EXACT_ENOUGH * low:
        return None
    return full if low == full and not rest else min(max(round(accepted / sum(rates)), low), high)


def _of_sglang(match: re.Match[bytes], line: bytes) -> Sample | None:
    engines = _SGLANG_ENGINE.findall(line, 0, match.start())
    rate, mean = match["rate"], float(match["mean"])
    if mean < 1 or (rate is not None and float(rate) > 1):
        return None
    return Sample(
        dp=int(engines[-1] or 0) if engines else 0,
        engine="sglang",
        acceptance_rate=None if rate is None else float(rate),
        mean_acceptance_length=mean,
        n_running=int(match["running"]),
    )
