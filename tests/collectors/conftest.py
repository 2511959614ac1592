import fake_sglang
import pytest
from fake_tools import FakeTools
from fake_vllm.install import install


@pytest.fixture(scope="session")
def vllm(tmp_path_factory):
    """Path of `vllm` of a version of the stand-in; each is installed once."""
    made = {}

    def path(version="0.32.0"):
        if version not in made:
            made[version] = install(tmp_path_factory.mktemp("env") / version, version)
        return made[version]

    return path


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """A folder that has the stand-in for SGLang, as a module and as a command."""
    return fake_sglang.install(tmp_path_factory.mktemp("sglang"))


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """A PATH of tools that the test puts there, and no others."""
    folder = tmp_path / "tools"
    folder.mkdir()
    found = FakeTools(folder)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("PIDS", str(found.pids))
    monkeypatch.setenv("FIELDS", "clocks_event_reasons.active")
    return found
