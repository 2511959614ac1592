"""Dialects about collectives: who waits for whom, on which clocks, and what tells their size."""

from __future__ import annotations

from generator.model import Model
from generator.profiling import Size
from generator.run import Run
from generator.v1_options import Straggler, V1Options
from generator.vllm_runs import one, v1_run

TP8 = Model(all_reduce="ar_custom_8", transfer_us=34.4)
STRAGGLERS = {
    1: Straggler(3, "device"),
    2: Straggler(6, "host"),
    4: Straggler(1, "device"),
    5: Straggler(0, "host"),
}


def ranks8_common_clock(size: Size) -> Run:
    """Eight ranks on one clock, full graphs; in some steps one rank's host or device is late."""
    options = V1Options(model=TP8, stragglers=STRAGGLERS)
    return v1_run("ranks8_common_clock", size, options, one, 8, 6)
