import pytest
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
