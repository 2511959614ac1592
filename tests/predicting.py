"""Inputs of the report `whatif`, written by hand, and its rows."""

import json

from database import dicts

EXPERTS = {"experts": 384, "active_experts": 8}
PARTS = {
    "gemm_ns": 2e6,
    "moe_gemm_ns": 2e6,
    "all_reduce_ns": 6e6,
    "attention_ns": 1e6,
    "rest_ns": 0,
}
BASELINE = PARTS | {
    "step_ns": 12e6,
    "requests": 1,
    "k": 0,
    "tokens": 1,
    "draft_ns": 0,
    "sample_ns": 0.2e6,
    "other_ns": 0.3e6,
    "idle_ns": 0.5e6,
    "all_reduces": 100,
    "message_bytes": 14_336,
}
SPECULATIVE = BASELINE | {
    "step_ns": 17.1e6,
    "k": 3,
    "tokens": 4,
    "moe_gemm_ns": 5e6,
    "all_reduce_ns": 6.6e6,
    "attention_ns": 1.3e6,
    "draft_ns": 1.2e6,
}
DRAFTS = {"draft_step_ns": 0.3e6, "draft_token_ns": 0.3e6}


def row(subject, name, value, place=None, kind="measured", error=None):
    told = {"subject": subject, "input": name, "place": place, "value": value}
    return told | {"kind": kind, "error": error, "source": ""}


def known(subject, values, kind="measured"):
    return [row(subject, name, value, kind=kind) for name, value in values.items()]


def rates(*values, beyond=None, drafts=None):
    rows = [row("position", "acceptance", rate, i + 1) for i, rate in enumerate(values)]
    rows += [] if beyond is None else [row("model", "acceptance_beyond", beyond, kind="assumed")]
    return rows + ([] if drafts is None else [row("model", "drafts", drafts)])


def curve(*points):
    return [row("curve", "all_reduce_ns", ns, place) for place, ns in points]


def rows_of(con, *inputs, ks="1,2,3,4", concurrencies="1"):
    told = json.dumps([row for rows in inputs for row in rows])
    found = dicts(con, "whatif", inputs=told, ks=ks, concurrencies=concurrencies)
    return {(row["concurrency"], row["k"]): row for row in found}


def by_k(con, *inputs, **asked):
    return {k: row for (_, k), row in rows_of(con, *inputs, **asked).items()}
