"""Kernel names as pages show them: the part that tells kernels apart."""

from types import SimpleNamespace

CLOSING = {")": "(", ">": "<", "]": "[", "}": "{"}


def of_kernel(name: str, known: SimpleNamespace | None = None) -> str:
    """Name of a kernel without what it returns and takes; always a part of `name`.

    Where `known`, a row of the report `kernels`, says what the template arguments of a Marlin
    kernel mean, they are told in words instead.
    """
    short = _function(name)
    if known is None or known.weight_type is None:
        return short
    return f"{short.partition('<')[0]}<{marlin(known)}>"


def marlin(kernel: SimpleNamespace) -> str:
    """Weights, scales and tile of a Marlin kernel."""
    group = "per channel" if kernel.group_size == -1 else f"group {kernel.group_size}"
    return f"{kernel.weight_type}, {group}, tile {kernel.tile}"


def _function(signature: str) -> str:
    """`vllm::f<int>` of `std::enable_if<...>::type vllm::f<int>(int*)`; other names as they are."""
    opened: list[tuple[str, int]] = []
    begin, end = 0, len(signature)
    for place, character in enumerate(signature):
        if character in CLOSING.values():
            opened.append((character, place))
        elif character in CLOSING and opened and opened[-1][0] == CLOSING[character]:
            end = opened.pop()[1]
        elif character == " " and not opened:
            begin = place + 1
    is_call = signature.endswith(")") and begin < end and not signature[end - 1].isspace()
    return signature[begin:end] if is_call else signature
