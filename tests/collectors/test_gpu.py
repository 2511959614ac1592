"""Samples of GPUs, by a stand-in for nvidia-smi."""

import time

import pytest
from fake_tools import FAILING, HANGING, NVIDIA_SMI

from tracekit.collectors.context import gpu
from tracekit.collectors.context.gpu import GpuSampler, sample_query
from tracekit.collectors.process import tool


@pytest.fixture(autouse=True)
def _asks_anew():
    sample_query.cache_clear()


@pytest.fixture
def out(tmp_path):
    return tmp_path / "unprofiled.csv"


def wait_for_rows(out):
    while out.read_text().count("\n") < 3:
        time.sleep(0.01)


def test_rows_are_written_as_nvidia_smi_says_them_in_utc(tools, out):
    tools.put("nvidia-smi", NVIDIA_SMI)
    with GpuSampler(out) as sampler:
        wait_for_rows(out)
        assert tools.is_running()
    assert not tools.is_running()
    assert sampler.problem is None
    asked, *rows = out.read_text().splitlines()
    assert "clocks_event_reasons.active,pcie.link.gen.current" in asked
    assert rows[0] == "2026/01/02 03:04:05.678 UTC, 0"


def test_an_older_driver_is_asked_in_its_words(tools, monkeypatch):
    monkeypatch.setenv("FIELDS", "clocks_throttle_reasons.active")
    tools.put("nvidia-smi", NVIDIA_SMI)
    query, problem = sample_query(str(tools.folder))
    assert "clocks_throttle_reasons.active" in query
    assert problem is None


def test_an_error_in_the_window_ends_nvidia_smi_too(tools, out):
    tools.put("nvidia-smi", NVIDIA_SMI)

    def fail():
        with GpuSampler(out):
            wait_for_rows(out)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert not tools.is_running()


def test_without_nvidia_smi_there_is_no_file_and_no_complaint(tools, out):
    with GpuSampler(out) as sampler:
        pass
    assert sampler.problem is None
    assert not out.exists()


def test_a_driver_that_fails_is_told(tools, out):
    tools.put("nvidia-smi", FAILING)
    with GpuSampler(out) as sampler:
        pass
    assert sampler.problem.startswith("nvidia-smi: exit code 18: Failed to initialize NVML")
    assert not out.exists()


def test_a_driver_that_hangs_is_asked_once(tools, out, monkeypatch):
    monkeypatch.setattr(gpu, "ask", lambda command: tool.ask(command, timeout_s=0.3))
    tools.put("nvidia-smi", f"echo x >> {tools.folder}/asked; {HANGING}")
    for _ in range(2):
        with GpuSampler(out) as sampler:
            pass
        assert sampler.problem == "nvidia-smi: no answer in 0.3 s"
    assert (tools.folder / "asked").read_text() == "x\n"
    assert not tools.is_running()


def test_an_end_while_sampling_is_told(tools, out):
    tools.put("nvidia-smi", 'case "$*" in *"-l 1") exit 15 ;; esac; echo a')
    with GpuSampler(out) as sampler:
        sampler._process.wait()
    assert sampler.problem == "nvidia-smi: ended with exit code 15 while it sampled"
    assert not out.exists()


def test_one_that_ignores_sigterm_is_killed(tools, out, monkeypatch):
    monkeypatch.setattr(gpu, "_GRACE_S", 0.1)
    tools.put("nvidia-smi", "trap '' TERM\n" + NVIDIA_SMI)
    with GpuSampler(out):
        wait_for_rows(out)
    assert not tools.is_running()
