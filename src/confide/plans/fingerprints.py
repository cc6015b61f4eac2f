"""One short text for everything that a simulated number depends on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np


def fingerprint(*things: Any) -> str:
    """Return a digest of values and of the code that works on them, the same in every process.

    >>> from confide import IBU, Integers
    >>> fingerprint(Integers(0, 9), IBU()) == fingerprint(Integers(0, 9), IBU())
    True
    >>> fingerprint(IBU()) == fingerprint(IBU(delta=0.1))
    False
    """
    text = json.dumps([_code(), [_plain(thing) for thing in things]], allow_nan=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(thing: Any) -> Any:
    """Return a thing as JSON knows it, with nothing left out: a repr may be shortened."""
    if is_dataclass(thing) and not isinstance(thing, type):
        parts = {field.name: _plain(getattr(thing, field.name)) for field in fields(thing)}
        return [type(thing).__module__, type(thing).__qualname__, parts]
    if isinstance(thing, np.ndarray):
        content = thing.tolist() if thing.dtype == object else hashlib.sha256(thing.tobytes()).hexdigest()
        return ["array", str(thing.dtype), list(thing.shape), content]
    if isinstance(thing, tuple | list):
        return [_plain(one) for one in thing]
    return thing if isinstance(thing, str | int | float | bool | None) else repr(thing)


@cache
def _code() -> str:
    """Return a digest of confide's own sources: another version may well simulate other numbers."""
    import scipy

    digest = hashlib.sha256(f"{np.__version__} {scipy.__version__}".encode())
    root = Path(__file__).parent.parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
