"""Random damage to bytes, the same for the same seed."""

import random

INSERTED = [
    *(b'"', b"{", b"}", b"[", b"]", b",", b"\\", b"\x00", b"\xff", b"\n", b"1e999"),
    *(b'}, {"ph": "X"', b'"traceEvents": [', b"]}", b"-", b"NaN"),
]


def mutated(data, seed):
    """`data` with one to three bytes flipped, or a piece cut out, doubled, moved or put in."""
    data, rng = bytearray(data), random.Random(seed)
    for _ in range(rng.randint(1, 3)):
        data = data or bytearray(b"[")  # a cut may have taken all
        start, size = rng.randrange(len(data)), rng.choice([1, 2, 10, 100, 2000])
        piece = data[start : start + size]
        match rng.randrange(6):
            case 0:
                data[start] ^= 1 << rng.randrange(8)
            case 1:
                del data[start : start + size]
            case 2:
                data[start:start] = piece
            case 3:
                place = rng.randrange(len(data))
                data[place:place] = piece
            case 4:
                data[start:start] = rng.choice(INSERTED)
            case 5:
                del data[start:]
                data += piece[: size // 2]
    return bytes(data)
