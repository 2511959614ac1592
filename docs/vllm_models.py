"""Writes tracekit/draft_check/vllm_models.tsv: the models that a vLLM knows, and for what.

    python docs/vllm_models.py SITE_PACKAGES/vllm

Reads the syntax trees of the package: nothing is imported, so any Python will do.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

TABLE = Path(__file__).resolve().parents[1] / "tracekit" / "draft_check" / "vllm_models.tsv"
REGISTRIES = {
    "_TEXT_GENERATION_MODELS": "model",
    "_MULTIMODAL_MODELS": "model",
    "_TRANSFORMERS_SUPPORTED_MODELS": "model",
    "_SPECULATIVE_DECODING_MODELS": "drafter",
}


def table(package: Path) -> str:
    """The rows: architecture, `model` or `drafter`, and `eagle3` where a target supports it."""
    classes = _bases(package)
    rows = [
        f"{architecture}\t{use}\t{'eagle3' if _has_eagle3(name, classes) else ''}\n"
        for architecture, use, name in sorted(_registered(package))
    ]
    return "architecture\tuse\tsupports\n" + "".join(rows)


def _registered(package: Path) -> Iterator[tuple[str, str, str]]:
    """Architectures with their use and the name of the class that serves them."""
    tree = ast.parse((package / "model_executor" / "models" / "registry.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            use = REGISTRIES.get(ast.unparse(node.targets[0]))
            for key, value in zip(node.value.keys, node.value.values, strict=True):
                if use and key is not None:
                    _, name = ast.literal_eval(value)
                    yield ast.literal_eval(key), use, name


def _bases(package: Path) -> dict[str, set[str]]:
    """Names of the classes that each class of a model is made from."""
    found: dict[str, set[str]] = {}
    paths = [*package.glob("model_executor/models/**/*.py"), *package.glob("models/**/*.py")]
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                names = {ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases}
                found.setdefault(node.name, set()).update(names)
    return found


def _has_eagle3(name: str, classes: dict[str, set[str]], seen: tuple[str, ...] = ()) -> bool:
    bases = classes.get(name, set()) - set(seen)
    return "SupportsEagle3" in bases or any(
        _has_eagle3(base, classes, (*seen, name)) for base in bases
    )


if __name__ == "__main__":
    TABLE.write_text(table(Path(sys.argv[1])))
