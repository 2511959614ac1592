"""Makes an environment that holds one version of the stand-in."""

import sys
import textwrap
import venv
from pathlib import Path

from fake_vllm.generations import Generation

TORCH = {"0.10": "2.8.0", "0.11": "2.8.0", "0.12": "2.9.0", "0.13": "2.9.0", "0.14": "2.9.1"}


def install(folder, version):
    """Path of `vllm` in a new environment under `folder`."""
    venv.EnvBuilder(symlinks=True).create(folder)
    python = Path(folder) / "bin" / "python"
    (site,) = Path(folder).glob("lib/python*/site-packages")
    (site / "fake_vllm.pth").write_text(f"{Path(__file__).parents[1]}\n")
    _write_package(site, Generation(version))
    _write_metadata(site, "vllm", version)
    _write_metadata(site, "torch", TORCH.get(version.rpartition(".")[0], "2.10.0"))
    script = python.with_name("vllm")
    script.write_text(
        f"#!{python}\nimport sys\nfrom vllm.entrypoints.cli.main import main\n\nsys.exit(main())\n"
    )
    script.chmod(0o755)
    return script


def _write_metadata(site, name, version):
    folder = site / f"{name}-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (folder / "RECORD").write_text(f"{name}/__init__.py,,\n")


def _write_package(site, generation):
    """A `vllm` whose version, variables and profiler keys can be read or imported."""
    version = generation.version
    files = {
        "__init__.py": "from vllm.version import __version__",
        "version.py": f"__version__ = {version!r}",
        "_version.py": f"version = __version__ = {version!r}",
        "envs.py": _environment_source(generation),
        "config/__init__.py": "",
        "config/observability.py": _observability_source(generation),
        "entrypoints/__init__.py": "",
        "entrypoints/cli/__init__.py": "",
        "entrypoints/cli/main.py": f"""
            from fake_vllm import main as fake

            def main():
                return fake.main({version!r})
        """,
        "entrypoints/openai/__init__.py": "",
        "entrypoints/openai/api_server.py": f"""
            import sys
            from fake_vllm import main as fake

            if __name__ == "__main__":
                fake.serve({version!r}, sys.argv[1:])
        """,
    }
    if generation.keys:
        files["config/profiler.py"] = _profiler_source(generation)
        files["config/__init__.py"] = "from vllm.config.profiler import ProfilerConfig"
    for name, text in files.items():
        path = site / "vllm" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip() + "\n")


def _environment_source(generation):
    names = [*generation.environment, "VLLM_CUSTOM_SCOPES_FOR_PROFILING", "VLLM_PLUGINS"]
    entries = "\n".join(f'    "{name}": lambda: os.getenv("{name}"),' for name in names)
    return f"import os\n\nenvironment_variables = {{\n{entries}\n}}"


def _profiler_source(generation):
    fields = (f"    {key}: object = {default!r}" for key, default in generation.keys.items())
    lines = ["from dataclasses import dataclass", "", "", "@dataclass", "class ProfilerConfig:"]
    return "\n".join([*lines, *fields])


def _observability_source(generation):
    lines = [
        "from dataclasses import dataclass",
        "",
        "",
        "@dataclass",
        "class ObservabilityConfig:",
    ]
    lines.append("    otlp_traces_endpoint: str | None = None")
    if generation.has_iteration_log:
        lines.append("    enable_logging_iteration_details: bool = False")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(f"{install(*sys.argv[1:3])}\n")
