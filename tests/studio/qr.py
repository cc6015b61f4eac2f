"""A reader of QR codes, slow and plain: what a camera would read from the studio's pictures.

It knows versions 2 to 6, and mends no damage.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

BLOCKS = {
    2: {"L": [34], "M": [28], "Q": [22], "H": [16]},
    3: {"L": [55], "M": [44], "Q": [17] * 2, "H": [13] * 2},
    4: {"L": [80], "M": [32] * 2, "Q": [24] * 2, "H": [9] * 4},
    5: {"L": [108], "M": [43] * 2, "Q": [15, 15, 16, 16], "H": [11, 11, 12, 12]},
    6: {"L": [68] * 2, "M": [27] * 4, "Q": [19] * 4, "H": [15] * 4},
}
"""Bytes of data in each block, from the standard's table."""

LEVELS = {1: "L", 0: "M", 3: "Q", 2: "H"}

MASKS = (
    lambda y, x: (y + x) % 2,
    lambda y, _x: y % 2,
    lambda _y, x: x % 3,
    lambda y, x: (y + x) % 3,
    lambda y, x: (y // 2 + x // 3) % 2,
    lambda y, x: y * x % 2 + y * x % 3,
    lambda y, x: (y * x % 2 + y * x % 3) % 2,
    lambda y, x: ((y + x) % 2 + y * x % 3) % 2,
)


def modules_of(path: str, size: int) -> NDArray[np.bool_]:
    """Return the dark modules of a picture that draws each as a square of one, without the white around them."""
    dark = np.zeros((size, size), dtype=bool)
    for x, y in re.findall(r"M(\d+) (\d+)h1v1h-1z", path):
        dark[int(y), int(x)] = True
    quiet = int(np.argwhere(dark).min())
    assert quiet >= 4, "cameras need four modules of white around a code"
    return dark[quiet : size - quiet, quiet : size - quiet]


def read(dark: NDArray[np.bool_]) -> str:
    """Return the text of a code."""
    size = len(dark)
    version = (size - 17) // 4
    stated = [dark[8, x] for x in (0, 1, 2, 3, 4, 5, 7, 8)] + [dark[y, 8] for y in (7, 5, 4, 3, 2, 1, 0)]
    settings = int("".join("01"[bool(one)] for one in stated), 2) ^ 0b101010000010010
    level, mask = LEVELS[settings >> 13], MASKS[settings >> 10 & 7]
    fixed = np.zeros((size, size), dtype=bool)
    fixed[:9, :9] = fixed[:9, -8:] = fixed[-8:, :9] = True
    fixed[6] = fixed[:, 6] = True
    fixed[size - 9 : size - 4, size - 9 : size - 4] = True
    bits = []
    columns = [x for x in range(size - 1, 0, -1) if x > 6 and (size - 1 - x) % 2 == 0] + [5, 3, 1]
    for turn, right in enumerate(columns):
        for y in range(size)[:: -1 if turn % 2 == 0 else 1]:
            pair = [x for x in (right, right - 1) if not fixed[y, x]]
            bits += [bool(dark[y, x]) ^ (mask(y, x) == 0) for x in pair]  # type: ignore[no-untyped-call]
    codewords = [int("".join("01"[one] for one in bits[at : at + 8]), 2) for at in range(0, len(bits) - 7, 8)]
    sizes, blocks, at = BLOCKS[version][level], [[] for _ in BLOCKS[version][level]], 0  # type: ignore[var-annotated]
    for turn in range(max(sizes)):
        for block, most in zip(blocks, sizes, strict=True):
            if turn < most:
                block.append(codewords[at])
                at += 1
    return _text("".join(f"{one:08b}" for block in blocks for one in block))


ALPHANUMERIC = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"


def _text(data: str) -> str:
    """Return what segments of digits, of few letters and of bytes say together."""
    found = ""
    while len(data) >= 4 and (mode := data[:4]) != "0000":
        bits = {"0001": 10, "0010": 9, "0100": 8}[mode]
        left, data = int(data[4 : 4 + bits], 2), data[4 + bits :]
        while left:
            most, sizes = {"0001": (3, {1: 4, 2: 7, 3: 10}), "0010": (2, {1: 6, 2: 11}), "0100": (1, {1: 8})}[mode]
            taken = min(left, most)
            number, data, left = int(data[: sizes[taken]], 2), data[sizes[taken] :], left - taken
            if mode == "0001":
                found += f"{number:0{taken}}"
            elif mode == "0010":
                found += "".join(ALPHANUMERIC[one] for one in divmod(number, 45)[2 - taken :])
            else:
                found += chr(number)
    return found
