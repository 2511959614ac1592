"""Names, shapes and element types of a model's weights: from safetensors headers alone.

Source: the format's README in the safetensors package (0.5): 8 bytes little-endian length of the
header, the header as JSON, then the data.
"""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.draft_check.files import first_bytes, is_there, json_object, parsed_object
from tracekit.errors import ModelError

MAX_HEADER_BYTES = 100_000_000
"""As the format's own reader has it, for one file; here for all files of a folder together."""

INDEX = "model.safetensors.index.json"
_SHARD = re.compile(r"(.*)-(\d{1,9})-of-(\d{1,9})\.safetensors")
_LENGTH_BYTES = 8
_LINE = 64
"""Bytes in which a file shows that it is no weights at all."""

_OTHER = ("*.bin", "*.pt", "*.pth", "*.gguf")
_PACKED = {"U8", "I32", "I64"}
"""Element types of matrices that hold several weights each."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """Element type and shape of one tensor."""

    dtype: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        """The shape: `7,168 x 21,504`."""
        return " x ".join(f"{size:,}" for size in self.shape)

    @property
    def is_packed(self) -> bool:
        """Whether an element holds several weights."""
        return len(self.shape) > 1 and self.dtype in _PACKED


@dataclass(slots=True)
class Weights:
    """Weights of a folder, as far as its headers tell."""

    tensors: dict[str, Tensor] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    """Of the headers, and of the index where a file of it is missing."""

    n_bytes: int = 0
    """Of the data of all tensors in headers."""

    problems: list[str] = field(default_factory=list)
    """Files that are missing or damaged, each with what to do."""

    others: list[str] = field(default_factory=list)
    """Files with weights in formats that are not read."""

    hides_names: bool = False
    """Whether a file that is missing or damaged may have tensors beside the names."""

    @property
    def has_all_names(self) -> bool:
        """Whether the names are those of every tensor."""
        return bool(self.names) and not self.hides_names

    @property
    def is_complete(self) -> bool:
        """Whether the headers tell of every tensor."""
        return bool(self.tensors) and not self.problems

    @property
    def n_parameters(self) -> int | None:
        """Number of weights; None where headers are missing or elements hold several."""
        if not self.is_complete or any(tensor.is_packed for tensor in self.tensors.values()):
            return None
        return sum(math.prod(tensor.shape) for tensor in self.tensors.values())

    def find(self, *endings: str) -> Tensor | None:
        """The tensor of the first ending that is a name, or follows a dot in one."""
        for ending in endings:
            for name, tensor in self.tensors.items():
                if name == ending or name.endswith(f".{ending}"):
                    return tensor
        return None


def read_weights(folder: Path) -> Weights:
    """What the safetensors headers of a folder tell; damage is in `problems`, never raised."""
    weights = Weights()
    weights.others = sorted(path.name for ending in _OTHER for path in folder.glob(ending))
    left = MAX_HEADER_BYTES
    files = _files(folder, weights)
    is_indexed = bool(weights.names)
    for path in files:
        try:
            length, header = _header(path, left)
            _take(path, length, header, weights)
            left -= length
        except ModelError as error:
            weights.problems.append(str(error))
            weights.hides_names |= not is_indexed
    weights.names |= weights.tensors.keys()
    return weights


def _files(folder: Path, weights: Weights) -> list[Path]:
    """Files that vLLM would load: those of the index, else all but duplicates in Mistral's format.

    Source: vllm/model_executor/model_loader/weight_utils.py, filter_duplicate_safetensors_files
    (0.32.0).
    """
    there = sorted(folder.glob("*.safetensors"))
    if not is_there(folder / INDEX):
        plain = [path for path in there if not path.name.startswith("consolidated")]
        _look_for_shards(plain or there, weights)
        return plain or there
    try:
        mapped = json_object(folder / INDEX).get("weight_map")
    except ModelError as error:
        weights.problems.append(str(error))
        _look_for_shards(there, weights)
        return there
    of_names = mapped if isinstance(mapped, dict) else {}
    weights.names = set(of_names)
    wanted = {name for name in of_names.values() if isinstance(name, str)}
    found = [path for path in there if path.name in wanted]
    if missing := len(wanted) - len(found):
        weights.problems.append(
            f"{missing} of {len(wanted)} files of {INDEX} are missing; get them"
        )
    else:
        _look_for_shards(there, weights)
    return found


def _look_for_shards(files: Iterable[Path], weights: Weights) -> None:
    """Names tell how many files there are: `model-00001-of-00002.safetensors`."""
    shards: dict[tuple[str, str], set[str]] = {}
    for path in files:
        if named := _SHARD.fullmatch(path.name):
            shards.setdefault((named[1], named[3]), set()).add(named[2])
    for (stem, total), numbers in shards.items():
        if (missing := int(total) - len(numbers)) > 0:
            what = f"{missing:,} of {int(total):,} files {stem}-...-of-{total}.safetensors"
            weights.problems.append(f"{what} are missing; get them")
            weights.hides_names = True


def _header(path: Path, limit: int) -> tuple[int, dict[str, object]]:
    line = first_bytes(path, _LINE)
    if not line:
        raise ModelError(f"{path.name}: an empty file; download it again")
    length = int.from_bytes(line[:_LENGTH_BYTES], "little")
    if not 2 <= length <= limit:
        raise ModelError(f"{path.name}: a header of {length:,} bytes; download it again")
    data = first_bytes(path, _LENGTH_BYTES + length)[_LENGTH_BYTES:]
    if len(data) < length:
        raise ModelError(f"{path.name}: ends inside its header; download it again")
    return length, parsed_object(path.name, data)


def _take(path: Path, length: int, header: dict[str, object], weights: Weights) -> None:
    n_bytes = 0
    for name, tensor, end in _tensors(path, header):
        weights.tensors[name] = tensor
        n_bytes = max(n_bytes, end)
    weights.n_bytes += n_bytes
    missing = _LENGTH_BYTES + length + n_bytes - path.stat().st_size
    if missing > 0:
        what = f"{missing:,} bytes are missing at its end; download it again"
        weights.problems.append(f"{path.name}: {what}")


def _tensors(path: Path, header: dict[str, object]) -> Iterator[tuple[str, Tensor, int]]:
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        match entry:
            case {"dtype": str(dtype), "shape": list(shape), "data_offsets": [int(), int(end)]}:
                if len(shape) < 9 and all(type(n) is int and 0 <= n < 2**48 for n in shape):
                    yield name, Tensor(dtype[:16], tuple(shape)), max(0, min(end, 2**60))
                    continue
        raise ModelError(f"{path.name}: tensor {name[:80]!r} has no dtype, shape and place")
