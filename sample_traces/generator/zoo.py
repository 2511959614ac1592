"""Every implementation of collectives, launched eagerly by a vLLM that records shapes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from generator.batch import Batch
from generator.kernels import work
from generator.machine import Machine
from generator.model import ELEMENT_BYTES, HIDDEN, VOCABULARY
from generator.rank import Rank
from generator.v1 import V1Runner
from generator.v1_options import V1Options

ALL, EXPERTS, FIRST_HALF, SECOND_HALF = ("3", ""), ("5", "expert_parallel"), ("7", ""), ("8", "")
"""Process groups of torch.distributed: (name, description)."""


class Zoo(V1Runner):
    """V1 whose forward pass is a row of collectives, each behind a GEMM."""

    def __init__(self, machine: Machine, options: V1Options) -> None:
        super().__init__(machine, options)
        self._seq: Counter[str] = Counter()

    def _forward(self, number: int, batch: Batch) -> None:
        n, rows = len(self.m.ranks), batch.tokens
        self._shaped("ar_custom_8", 30.0, rows)
        self._shaped("ar_custom2_8", 44.0, 24 * rows)
        self._shaped("ar_nccl", 58.0, 40 * rows)
        self._shaped("ar_multimem", 21.0, 20 * rows, op="symm_mem::multimem_all_reduce_")
        fused = "vllm::flashinfer_trtllm_fused_allreduce_norm"
        self._shaped("ar_flashinfer", 16.0, rows, op=fused)
        self._shaped("ar_mnnvl", 24.0, 28 * rows, op=fused)
        self.m.launch(work("ar_mnnvl_tail", 3.1))
        self._shaped("ar_symmetric", 26.0, 36 * rows, op="vllm::all_reduce_symmetric_with_copy")
        self._shaped("ag_nccl", 33.0, rows, VOCABULARY // n, op="vllm::all_gather", times=n)
        self._shaped("rs_nccl", 29.0, n * rows, op="vllm::reduce_scatter")
        self._told("allreduce", "ar_nccl", 61.0, (48 * rows * HIDDEN,) * 2, ALL)
        self._told("_allgather_base", "ag_nccl", 31.0, (rows * HIDDEN, n * rows * HIDDEN), EXPERTS)
        scattered = n * rows * HIDDEN, rows * HIDDEN
        self._told("_reduce_scatter_base", "rs_nccl", 30.0, scattered, EXPERTS)
        self._halves(rows)
        self._behind_gemm()
        self.m.launch(work("ep_dispatch", 38.0))
        self._behind_gemm()
        self.m.launch(work("ep_combine", 42.0))
        self.m.launch(work("ar_nccl", 20.0))

    def _behind_gemm(self) -> None:
        self.m.launch(work("gemm_o", 9.0), op="aten::mm")

    def _shaped(
        self,
        key: str,
        us: float,
        rows: int,
        columns: int = HIDDEN,
        *,
        op: str = "vllm::all_reduce",
        times: int = 1,
    ) -> None:
        """A call of which the operator's shape tells the size: its input, `times` over."""
        nbytes = rows * columns * ELEMENT_BYTES * times
        self._behind_gemm()
        self.m.launch(work(key, us, nbytes=nbytes, shape=(rows, columns)), op=op)

    def _told(
        self, name: str, key: str, us: float, counts: tuple[int, int], group: tuple[str, str]
    ) -> None:
        """A call of torch.distributed, whose args tell all of it."""
        ranks = self.m.active
        args = _args(name, counts, group, self._seq[group[0]], ranks)
        item = work(key, us, nbytes=max(counts) * ELEMENT_BYTES, args=args)
        item = replace(item, comm=group[1] or group[0], seq=self._seq[group[0]])
        self._seq[group[0]] += 1
        self._behind_gemm()
        with self.m.scope(f"nccl:{name}"), self.m.host_op(f"c10d::{name}_"):
            self.m.launch(item, op="record_param_comms")

    def _halves(self, rows: int) -> None:
        """The same AllReduce in each half of the ranks: two groups, two calls."""
        ranks = self.m.ranks
        half = len(ranks) // 2
        halves = (FIRST_HALF, ranks[:half]), (SECOND_HALF, ranks[half:])
        for group, members in halves if half else ():
            with self.m.only(members):
                self._told("allreduce", "ar_nccl", 40.0, (rows * HIDDEN,) * 2, group)


class RocmZoo(Zoo):
    """The same with what AMD's cards run."""

    def _forward(self, number: int, batch: Batch) -> None:
        rows = batch.tokens
        self._shaped("ar_quick", 36.0, 160 * rows)
        self._shaped("ar_aiter", 19.0, rows, op="vllm::rocm_aiter_fused_allreduce_rmsnorm")
        self.m.launch(work("ar_aiter_tail", 2.8))
        self._told("allreduce", "ar_rccl", 64.0, (48 * rows * HIDDEN,) * 2, ALL)
        self._behind_gemm()


def _args(
    name: str, counts: tuple[int, int], group: tuple[str, str], seq: int, ranks: Sequence[Rank]
) -> str:
    members = str([rank.rank for rank in ranks])
    return (
        f', "Collective name": "{name}", "In msg nelems": {counts[0]}, '
        f'"Out msg nelems": {counts[1]}, "Group size": {len(ranks)}, "dtype": "BFloat16", '
        f'"In split size": "[]", "Out split size": "[]", "Process Group Name": "{group[0]}", '
        f'"Process Group Description": "{group[1] or "undefined"}", '
        f'"Process Group Ranks": "{members}", "Seq": {seq}'
    )
