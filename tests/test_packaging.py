"""What ends up in a release: built from a copy, so that nothing stale in the checkout can help."""

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS = {
    folder: name.replace(".", "/")
    for name, folder in PYPROJECT["tool"]["setuptools"]["package-dir"].items()
}
SHIPPED = {".py", ".sql", ".toml", ".tsv", ".typed", ".jinja", ".svg", ".css"}


def source_files():
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            is_plugin = path.parent.suffix == ".dist-info"  # makes vLLM find tracekit's plugin
            if path.suffix in SHIPPED or path.name == "py.typed" or is_plugin:
                yield path.relative_to(ROOT)


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    copy = tmp_path_factory.mktemp("release") / "source"
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, copy)
    # Without flags, build makes the sdist first and the wheel from it.
    command = [sys.executable, "-m", "build", "--no-isolation", str(copy)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return copy / "dist"


def test_the_wheel_holds_every_source_file_and_nothing_outside_the_package(dist):
    (wheel,) = dist.glob("*.whl")
    own = f"{wheel.name.split('-py3')[0]}.dist-info/"
    names = {name for name in zipfile.ZipFile(wheel).namelist() if not name.startswith(own)}
    expected = {Path(FOLDERS[path.parts[0]], *path.parts[1:]).as_posix() for path in source_files()}
    assert names == expected


def test_the_sdist_holds_every_source_file(dist):
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {path.as_posix() for path in source_files()} <= names


def test_an_installed_wheel_reads_traces(dist, tmp_path):
    (wheel,) = dist.glob("*.whl")
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", site, wheel], check=True)
    done = subprocess.run(
        [site / "bin" / "tracekit", "ingest", ROOT / "sample_traces" / "vllm_cpu_tp2_draft"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
    )
    assert "2 ranks" in done.stdout, done.stderr


def test_the_distribution_is_not_the_other_tracekit_of_pypi(dist):
    (wheel,) = dist.glob("*.whl")
    assert wheel.name.startswith("tracekit_llm-")


def test_a_core_install_asks_for_no_heavy_package():
    heavy = {"torch", "vllm", "streamlit", "pandas", "pyarrow", "polars", "numpy"}
    names = {
        requirement.split(">")[0].split("[")[0]
        for requirement in PYPROJECT["project"]["dependencies"]
    }
    assert names.isdisjoint(heavy)
