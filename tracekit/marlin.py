"""What a Marlin kernel's name tells: weight type, group size and thread-block tile.

Three template argument lists are in use. The weight type is second in each; all end in
`threads, m_blocks, n_blocks, k_blocks, m_block_size_8, stages, group_blocks, is_zp_float`,
and begin with:

    a_type, b_type, c_type, s_type    vLLM >= 0.12
    scalar_t, w_type, s_type          0.10-0.11
    scalar_t, w_type                  0.9

M, N and K of the product are runtime arguments and in no name.

Source: vLLM csrc/quantization/marlin/kernel.h and csrc/core/scalar_type.hpp.
"""

import re
from dataclasses import dataclass

# Kineto writes `128`, `true`, `1125...l`; nsys and ncu put the type before: `(int)128`, `(bool)1`.
_DEMANGLED = re.compile(r"\bMarlin<([^<>]*)>")
_MANGLED = re.compile(r"6MarlinI(\d+(?:__nv_bfloat16|__half))?((?:L[a-z]n?\d+E)+)E")
_MANGLED_LITERAL = re.compile(r"L[a-z](n?\d+)E")
_LITERAL = re.compile(r"^(?:\([\w ]+\))?(-?\d+|true|false)[ul]*$")
_BLOCK = 16  # rows, columns and weights per block of the template arguments
_TAIL = 8


@dataclass(frozen=True, slots=True)
class Marlin:
    """What one Marlin kernel is compiled for.

    `group_size` is weights per scale: -1 one scale per channel, None known at run time only.
    `tile` is the thread block's MxNxK.
    """

    weight_type: str
    group_size: int | None
    tile: str


def decode(name: str) -> Marlin | None:
    """Marlin of a kernel name, demangled by either dialect or mangled; None for other names."""
    arguments = _arguments(name)
    if len(arguments) < 2 + _TAIL or None in arguments[-_TAIL:]:
        return None
    weight_id = arguments[1]
    _, m, n, k, is_m_8, _, group, _ = (argument or 0 for argument in arguments[-_TAIL:])
    if weight_id is None:
        return None
    rows = 8 if is_m_8 else m * _BLOCK
    group_size = {0: None, -1: -1}.get(
        group, group * _BLOCK
    )  # 0: act-order, known at run time only
    return Marlin(scalar_type(weight_id), group_size, f"{rows}x{n * _BLOCK}x{k * _BLOCK}")


def scalar_type(type_id: int) -> str:
    """Short name of a vLLM ScalarType id: `u4b8`, `s8`, `bf16`, `fp8_e4m3fn`, `fp4_e2m1`, ...

    Source: scalar_type.hpp: bits of exponent 8, mantissa 8, signed 1, bias 32, finite 1, NaN kind.
    """
    exponent, mantissa = type_id & 0xFF, type_id >> 8 & 0xFF
    is_signed, bias = type_id >> 16 & 1, type_id >> 17 & 0xFFFFFFFF
    bits = exponent + mantissa + is_signed
    if exponent == 0:
        return f"{'s' if is_signed else 'u'}{bits}" + (f"b{bias}" if bias else "")
    if (exponent, mantissa) in ((8, 7), (5, 10)):
        return "bf16" if exponent == 8 else "fp16"
    is_fn = type_id >> 49 & 1 and type_id >> 50 == 2  # finite only, NaN at the all-ones codes
    return f"fp{bits}_e{exponent}m{mantissa}" + ("fn" if is_fn else "")


def _arguments(name: str) -> list[int | None]:
    """Template arguments as integers; None for a C++ type such as `__nv_bfloat16`."""
    if match := _DEMANGLED.search(name):
        return [_integer(argument.strip()) for argument in match[1].split(",")]
    if match := _MANGLED.search(name):
        literals: list[int | None] = [
            int(literal.replace("n", "-")) for literal in _MANGLED_LITERAL.findall(match[2])
        ]
        return [None, *literals] if match[1] else literals
    return []


def _integer(argument: str) -> int | None:
    match = _LITERAL.match(argument)
    if match is None:
        return None
    return {"true": 1, "false": 0}.get(match[1]) if match[1].isalpha() else int(match[1])
