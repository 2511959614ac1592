"""What `tracekit doctor` finds, on machines made of stand-ins."""

import json
import os
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from fake_tools import FAILING, GARBAGE, HANGING, NVIDIA_SMI

from tracekit.cli import main
from tracekit.collectors.context.gpu import sample_query
from tracekit.collectors.context.memory import MemoryRoom
from tracekit.collectors.doctor import gpus as doctor_gpus
from tracekit.collectors.doctor import system as doctor_system
from tracekit.collectors.doctor.gpus import gpu_findings
from tracekit.collectors.doctor.system import clock_read_ns, system_findings
from tracekit.collectors.process import tool


@pytest.fixture(autouse=True)
def _asks_anew():
    sample_query.cache_clear()


@pytest.fixture
def call(monkeypatch, tmp_path):
    def run(*words):
        monkeypatch.setenv("COLUMNS", "80")
        result = CliRunner().invoke(main, ["doctor", "--out", str(tmp_path), *words])
        assert result.exit_code == 0, result.output
        return result

    return run


def found(findings):
    return {finding.topic: finding for finding in findings}


def driver(root, admin_only, capabilities="0000000000000000"):
    (root / "proc/driver/nvidia").mkdir(parents=True)
    (root / "proc/self").mkdir()
    params = f"ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: {admin_only}\n"
    (root / "proc/driver/nvidia/params").write_text(params)
    (root / "proc/self/status").write_text(f"Name:\tx\nCapEff:\t{capabilities}\n")
    return root


def test_a_machine_with_nothing_says_what_to_do(tools, call):
    result = call()
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "vLLM          missing no vllm on PATH" in lines
    assert "GPU           missing neither nvidia-smi, amd-smi nor rocm-smi is here" in lines
    assert sum(line.lstrip().startswith("-> ") for line in lines) >= 4
    assert "Next:" not in lines


def test_every_finding_that_is_not_ok_has_a_remedy(tools, call):
    tools.put("nvidia-smi", FAILING)
    findings = json.loads(call("--format", "json").stdout)
    assert [list(finding) for finding in findings] == [
        ["topic", "state", "found", "remedy"] for _ in findings
    ]
    assert {finding["state"] for finding in findings} <= {"ok", "warning", "missing"}
    assert all(finding["remedy"] for finding in findings if finding["state"] != "ok")
    assert not any(finding["remedy"] for finding in findings if finding["state"] == "ok")


def test_csv(tools, call):
    assert call("--format", "csv").stdout.startswith("topic,state,found,remedy\nvLLM,missing,")


@pytest.mark.parametrize(
    ("version", "state", "text"),
    [
        ("0.10.2", "warning", "profiler by VLLM_TORCH_PROFILER_DIR; no log of each step"),
        ("0.14.1", "warning", "profiler by --profiler-config; no emitted tokens per step"),
        ("0.32.0", "ok", "profiler by --profiler-config; time and emitted tokens of each step"),
    ],
)
def test_each_generation_of_vllm_has_its_switch(vllm, call, monkeypatch, version, state, text):
    folder = vllm(version).parent
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    first = json.loads(call("--format", "json").stdout)[0]
    assert (first["topic"], first["state"]) == ("vLLM", state)
    assert first["found"].startswith(version)
    assert text in first["found"]
    assert "tracekit capture --run NAME -- vllm serve MODEL" in call().stdout


def test_a_broken_vllm_is_told(tools, call):
    tools.put("vllm", "exit 1")
    first = json.loads(call("--format", "json").stdout)[0]
    assert first["state"] == "warning"
    assert "cannot say which vLLM it has" in first["found"]


def test_gpus_that_can_be_traced(tools, tmp_path):
    tools.put("nvidia-smi", NVIDIA_SMI)
    gpus = found(gpu_findings(driver(tmp_path, admin_only=0)))
    assert {finding.state for finding in gpus.values()} == {"ok"}
    assert gpus["GPU"].found == "2 x NVIDIA H100, driver 550.54"
    assert set(gpus) == {"GPU", "GPU samples", "GPU tracing"}


@pytest.mark.parametrize(
    ("capabilities", "state"),
    [("0000000000000000", "warning"), ("0000004000000000", "ok"), ("0000000000200000", "ok")],
)
def test_a_driver_that_lets_administrators_profile_only(tools, tmp_path, capabilities, state):
    tools.put("nvidia-smi", NVIDIA_SMI)
    gpus = found(gpu_findings(driver(tmp_path, 1, capabilities)))
    assert gpus["GPU tracing"].state == state
    assert ("NVreg_RestrictProfiling" in str(gpus["GPU tracing"].remedy)) == (state != "ok")


@pytest.mark.parametrize(
    ("script", "text"),
    [
        (FAILING, "nvidia-smi: exit code 18: Failed to initialize NVML"),
        (HANGING, "nvidia-smi: no answer in 0.3 s"),
        (GARBAGE, "nvidia-smi names no GPU"),
        ("echo 'NVIDIA H100, 550.54, Disabled'", "persistence mode off"),
    ],
)
def test_a_driver_that_is_not_well(tools, tmp_path, monkeypatch, script, text):
    monkeypatch.setattr(doctor_gpus, "ask", lambda words: tool.ask(words, timeout_s=0.3))
    tools.put("nvidia-smi", script)
    first = next(gpu_findings(tmp_path))
    assert first.state == "warning"
    assert text in first.found
    assert first.remedy


def test_gpus_of_amd(tools, tmp_path):
    tools.put("rocm-smi", "echo fine")
    (only,) = gpu_findings(tmp_path)
    assert only.state == "ok"
    assert "rocm-smi" in only.found


def test_little_memory_and_little_disk(tmp_path, monkeypatch):
    room = MemoryRoom("/sys/fs/cgroup/memory.max", 16 * 10**9, 10**9)
    monkeypatch.setattr(doctor_system, "memory_room", lambda: room)
    usage = SimpleNamespace(free=64 * 10**6)
    monkeypatch.setattr(doctor_system.shutil, "disk_usage", lambda _: usage)
    findings = found(system_findings(tmp_path))
    assert findings["memory"].found == "1.0 of 16.0 GB left (/sys/fs/cgroup/memory.max)"
    assert "--shm-size" in findings["shared memory"].remedy
    assert "make room" in findings["run folders"].remedy
    topics = {topic for topic, finding in findings.items() if finding.state == "warning"}
    assert {"memory", "shared memory", "run folders"} <= topics


def test_runs_go_to_a_folder_that_is_yet_to_be(tmp_path):
    assert found(system_findings(tmp_path / "a" / "b"))["run folders"].state != "missing"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written():
    finding = found(system_findings(doctor_system.Path("/proc/self/runs")))["run folders"]
    assert finding.state == "missing"
    assert "--out DIR" in finding.remedy


def test_a_slow_clock_is_told(tmp_path, monkeypatch):
    assert clock_read_ns() > 0
    monkeypatch.setattr(doctor_system, "clock_read_ns", lambda: 900.0)
    monkeypatch.setattr(doctor_system, "clock_source", lambda: "hpet")
    finding = found(system_findings(tmp_path))["clock"]
    assert finding.found == "hpet, 900 ns a read"
    assert "clocksource=tsc" in finding.remedy


def test_few_open_files_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor_system.resource, "getrlimit", lambda _: (1024, 4096))
    finding = found(system_findings(tmp_path))["limits"]
    assert finding.state == "warning"
    assert finding.found.startswith("1,024 open files")


@pytest.mark.parametrize(
    ("content", "state", "text"),
    [(None, "ok", "runs.db: 0 runs"), (b"no database", "warning", "not a DuckDB database")],
)
def test_the_database_that_captures_go_to(tools, call, tmp_path, content, state, text):
    db = tmp_path / "runs.db"
    if content:
        db.write_bytes(content)
    *_, last = json.loads(call("--db", str(db), "--format", "json").stdout)
    assert (last["topic"], last["state"]) == ("database", state)
    assert text in last["found"]
