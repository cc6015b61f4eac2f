"""What was declared, as a text that is the same in every process, and the digests and seeds made of it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def declare(thing: object) -> Any:
    """Return a frozen value as plain lists and texts, with the names of its classes.

    >>> from confide import Inversion
    >>> declare(Inversion("project"))
    {'kind': 'Inversion', 'repair': 'project'}
    """
    if isinstance(thing, np.ndarray):
        return {"kind": "array", "shape": list(thing.shape), "digest": hashlib.sha256(thing.tobytes()).hexdigest()}
    if is_dataclass(thing) and not isinstance(thing, type):
        settings = {field.name: declare(getattr(thing, field.name)) for field in fields(thing)}
        return {"kind": type(thing).__name__} | settings
    if isinstance(thing, list | tuple):
        return [declare(part) for part in thing]
    if isinstance(thing, dict):
        return {str(name): declare(part) for name, part in thing.items()}
    return thing if thing is None or isinstance(thing, bool | int | float | str) else repr(thing)


def fingerprint(*things: object) -> str:
    """Return a digest of declarations: equal for equal ones, whatever the process, the order of work and the machine.

    >>> fingerprint(1, "a") == fingerprint(1, "a"), fingerprint(1) == fingerprint(2)
    (True, False)
    """
    return _digest(things).hex()[:24]


def seed_of(*things: object) -> int:
    """Return a seed made of declarations; it fits a signed 64-bit integer.

    >>> 0 <= seed_of("ages", 0.05) < 2**63
    True
    """
    return int.from_bytes(_digest(things)[:8], "big") >> 1


def _digest(things: tuple[object, ...]) -> bytes:
    text = json.dumps([declare(thing) for thing in things], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()
