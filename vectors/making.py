"""Makers of the vectors: one file a mechanism."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import confide as cf
from confide.values.portable import canonical_json
from vectors.drawing import RATIOS, Tape
from vectors.reading import report_of
from vectors.surveys import MECHANISMS

FOLDER = Path(__file__).parent

TIES = (0, 0, 0, 100, 240)
"""Of 256 numbers, how many decide nothing: three tapes by chance, two full of ties."""

Json = dict[str, Any]


def draws_text(kind: str) -> str:
    """Return the file of one mechanism: surveys, and reports that are drawn under them."""
    groups = []
    for number, mechanism in enumerate(MECHANISMS[kind]):
        document = json.loads(cf.Survey(mechanism, "value", f"{kind} {number}").to_json())
        RATIOS.clear()
        draws = list(draws_of(document, mechanism, f"{kind} {number}"))
        ratios = [{"x": str(x), "numerator": f"{top:x}", "bits": bits} for x, (top, bits) in RATIOS.items()]
        groups.append(({"survey": document, "ratios": ratios}, "draws", draws))
    return written("draws", groups)


def written(what: str, groups: list[tuple[Json, str, list[Json]]]) -> str:
    """Return groups as JSON, one line a vector: what all of them have in common, and them under a name."""
    parts = []
    for common, name, vectors in groups:
        lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in vectors)
        parts.append(f'{json.dumps(common, separators=(",", ":"))[:-1]},\n"{name}":[\n{lines}\n]}}')
    return f'{{"vectors":"{what}","version":1,"groups":[\n' + ",\n".join(parts) + "\n]}\n"


def draws_of(document: Json, mechanism: cf.Mechanism, name: str) -> Iterator[Json]:
    """Yield reports of some values, each from tapes of its own."""
    for value in some_values(mechanism.alphabet):
        for place, ties in enumerate(TIES):
            tape = Tape(f"{name} {canonical_json(value)} {place}", ties)
            report = report_of(document, value, tape)
            yield {"value": value, "tape": tape.taken.hex(), "report": report, "steps": tape.steps}


def some_values(alphabet: cf.Alphabet) -> list[Any]:
    """Return the first value, the last, and one between; of unbounded ones some near the middle."""
    if isinstance(alphabet, cf.Coordinates):
        return alphabet.take([(40.758, -73.9855), (40.7044, -74.0205)]).tolist()  # type: ignore[no-any-return]
    numbers = np.array([0, alphabet.size // 2, alphabet.size - 1]) if alphabet.is_finite else np.array([0, 3, 8])
    return alphabet.decode(np.unique(numbers)[[0, -1]] if alphabet.parts > 1 else np.unique(numbers)).tolist()  # type: ignore[no-any-return]
