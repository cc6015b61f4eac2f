"""Surveys with one field changed, read by Python and by the client: both take a document, or both refuse it.

python -m tests.clients.differ 3000 1    so many documents from a seed; prints those that the two read differently
"""

from __future__ import annotations

import copy
import json
import math
import random
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import confide as cf
from confide.values.portable import canonical_json, fingerprint_of

CLIENT = Path(__file__).parents[2] / "clients" / "javascript"

AGES = cf.Integers(0, 20, unit="year")
COLOURS = cf.Categories(["red", "green", "blue"])
MATRIX = [[0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]]


def surveys() -> list[cf.Survey]:
    """Return what is changed: every kind of alphabet and of mechanism, limits, groups."""
    geometric, response = cf.TruncatedGeometric(AGES, 0.5), cf.RandomizedResponse(COLOURS, 1.0)
    cells = cf.Grid(3, 4, unit="km", holes=[(0, 1)])
    matrix = cf.FromMatrix(COLOURS, MATRIX)
    both = cf.Product(age=geometric, colour=response)
    scale = cf.Scale(["no", "maybe", "yes"], positions=(0, 1, 5))
    bins = cf.Bins(edges=(0, 10, 20, 50), above=True, unit="euro")
    remapped = cf.Remapped(response, cf.Categories(["warm", "cold"]), (0, 1, 1))
    rounds = [
        cf.TwoRounds(geometric, cf.TruncatedLaplace(AGES, 0.2)),
        cf.TwoRounds(geometric, cf.RandomizedResponse(AGES, 2.0)),
        cf.TwoRounds(response, response),
        cf.TwoRounds(response, matrix),
        cf.TwoRounds(cf.Exponential(COLOURS, 2.0), response),
        cf.TwoRounds(both, both),
        cf.TwoRounds(cf.RandomizedResponse(AGES, 1.0), cf.RandomizedResponse(AGES, 2.0)),
        cf.TwoRounds(remapped, cf.RandomizedResponse(cf.Categories(["warm", "cold"]), 0.5)),
        cf.TwoRounds(cf.TruncatedTaxicab(cf.Grid(3, 3), 0.5), cf.TruncatedTaxicab(cf.Grid(3, 3), 0.2)),
        cf.TwoRounds(cf.Unary(COLOURS, keep=0.75, flip=0.25), cf.Unary(COLOURS, keep=0.75, flip=0.5)),
    ]
    mechanisms: list[cf.Mechanism] = [
        geometric,
        response,
        matrix,
        both,
        remapped,
        cf.Geometric(cf.Integers(unit="year", spacing=0.5), 1.0),
        cf.Laplace(AGES, 0.3),
        cf.Rappor(AGES, 1.0),
        cf.Exponential(scale, 1.0),
        cf.TruncatedLaplace(bins, 0.1),
        cf.TruncatedGeometric(cf.Dates("2026-01", "2026-12", every="month"), 0.5),
        cf.WrappedGeometric(cf.Hours(), 0.5),
        cf.WrappedGeometric(cf.Circle(12, unit="month"), 0.5),
        cf.TruncatedTaxicab(cells, 0.5),
        cf.PlanarLaplace(cf.Lattice(unit="km"), 0.5),
        *rounds,
    ]
    plain = [cf.Survey(mechanism, "answer", "A title") for mechanism in mechanisms]
    limited = [
        cf.Survey(geometric, most_reports=3, is_permanent=True),
        cf.Survey(geometric, most_epsilon=5.0),
        cf.Survey(rounds[0], most_epsilon=1.5, groups={"sex": ("f", "m")}),
    ]
    return plain + limited


def rounds_of(pick: random.Random) -> cf.Survey:
    """Return a survey of two rounds, of any mechanisms and alphabets that go together."""
    alphabets: list[cf.Alphabet] = [
        cf.Integers(3, 3 + pick.choice([1, 4, 9, 30]), unit="year"),
        COLOURS,
        cf.Scale(["no", "maybe", "yes"], positions=(0, 1, 5)),
        cf.Hours(),
        cf.Grid(2, 3, unit="km"),
        cf.Grid(3, 3, holes=[(1, 1)]),
        cf.Bins(0, 10, 2),
        cf.Attributes(age=cf.Integers(0, 2), sex=cf.Categories(["f", "m"])),
    ]
    while True:
        try:
            first = one_round(pick.choice(alphabets), pick)
            return cf.Survey(cf.TwoRounds(first, one_round(first.report_alphabet, pick)))
        except cf.ConfideError:
            continue  # of these two there are no rounds


ON_LINES: tuple[Any, ...] = (cf.Exponential, cf.TruncatedGeometric, cf.TruncatedLaplace, cf.WrappedGeometric)
ON_PLANES: tuple[Any, ...] = (cf.TruncatedTaxicab, cf.TruncatedPlanarLaplace, cf.TruncatedPlanarGeometric)


def one_round(alphabet: Any, pick: random.Random) -> cf.Mechanism:
    """Return a mechanism on an alphabet, or fail with an error of confide."""
    if isinstance(alphabet, cf.Attributes) and pick.random() < 0.7:
        return cf.Product(**{name: one_round(alphabet.part(name), pick) for name in alphabet.names})
    epsilon = pick.choice([1e-6, 0.05, 0.3, 1.0, 2.5, 30.0])
    response, columns = cf.RandomizedResponse(alphabet, epsilon), pick.choice([alphabet.size, 3])
    entries = [[pick.randrange(1, 900) / 4096 for _ in range(columns - 1)] for _ in range(alphabet.size)]
    even = pick.choice([entries, [entries[0]] * alphabet.size])

    def wider() -> Any:
        return alphabet.between(alphabet.span[0] - 2, alphabet.span[1] + 1)

    choices: list[Callable[[], cf.Mechanism]] = [
        lambda: response,
        lambda: cf.FromMatrix(alphabet, [[*row, 1 - sum(row)] for row in even]),
        lambda: cf.FromMatrix(alphabet, [[*row[:2], 1 - sum(row[:2])] for row in even], cf.Integers(5, 7, unit="year")),
        lambda: cf.Remapped(response, cf.Integers(1, 2), tuple(pick.randrange(2) for _ in range(alphabet.size))),
        lambda: cf.Remapped(cf.TruncatedGeometric(alphabet, epsilon), wider()),
        lambda: cf.TruncatedGeometric(alphabet, epsilon, wider()),
        *(partial(kind, alphabet, epsilon) for kind in ON_LINES + ON_PLANES),
    ]
    try:
        return pick.choice(choices)()
    except (AttributeError, TypeError):  # not of this alphabet
        return response


PARTS: list[Any] = [0, -1, 1, 2, 3, 0.5, 1.5, -0.25, 1e-9, 1e-10, 100, 101, 1e9, 2**53 - 1, "", " ", "x", "year", "a\0"]
PARTS += [None, True, False, [], {}, [1], ["a", "b"], [0, 0], {"x": 1}, "2026-13", "day", "permanent", "fresh", "red"]

KEYS = ["unit", "spacing", "epsilon", "limits", "extra", "outputs", "positions", "low"]


def changed(document: dict[str, Any], pick: random.Random) -> str:
    """Return a document with something else in one place, and the fingerprint of that."""
    document = copy.deepcopy(document)
    document.pop("fingerprint")
    holder: Any = document
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = pick.choice(keys)
        inner = holder[key]
        if not isinstance(inner, dict | list) or not inner or pick.random() < 0.15 or key == "tables":
            break
        holder = inner
    what = pick.randrange(6)
    if what == 0:
        del holder[key]
    elif what == 1 and isinstance(holder, dict):
        holder[pick.choice(KEYS)] = pick.choice(PARTS)
    elif what == 2 and isinstance(inner, int | float) and not isinstance(inner, bool):
        holder[key] = pick.choice([inner * 2, -inner, inner + 1, inner / 2, inner * 1e6])
    elif what == 3 and isinstance(holder, list):
        holder.append(copy.deepcopy(inner))
    else:
        holder[key] = pick.choice(PARTS)
    content = {name: part for name, part in document.items() if name not in ("name", "title", "language", "tables")}
    whole = [fingerprint_of(content)] + ([fingerprint_of(document["tables"])] if "tables" in document else [])
    return canonical_json(document | {"fingerprint": "-".join(whole)})


def python_reads(text: str) -> dict[str, Any]:
    """Return what Python makes of a document."""
    try:
        survey = cf.Survey.from_json(text)
    except cf.ConfideError as error:
        return {"code": "survey", "reason": str(error)}
    except Exception as error:  # a traceback is a finding
        return {"code": repr(error), "reason": "TRACEBACK"}
    mechanism = survey.mechanism
    return {
        "kind": {"LocalDP": "local", "MetricPrivacy": "metric"}.get(type(mechanism.guarantee).__name__, "product"),
        "epsilon": total(mechanism.guarantee),
        "lasting": None if mechanism.lasting is None else total(mechanism.lasting),
        "isPermanent": survey.needs_secret,
    }


def total(guarantee: Any) -> float:
    """Return the epsilon of all attributes together."""
    if not hasattr(guarantee, "parts"):
        return float(guarantee.epsilon)
    return float(sum(part.epsilon for part in guarantee.parts))


def differences(count: int, seed: int) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Return the documents that are read differently, with what Python and the client say."""
    pick = random.Random(seed)  # noqa: S311 (no secret)
    documents = [json.loads(survey.to_json()) for survey in surveys()]
    texts = [canonical_json(document) for document in documents]
    texts += [changed(pick.choice(documents), pick) for _ in range(count)]
    return compared(texts)


def compared(texts: list[str]) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Return those of some documents that are read differently."""
    done = subprocess.run(
        ["node", "test/load.mjs"], cwd=CLIENT, input=json.dumps(texts), capture_output=True, text=True, check=True
    )
    answers = json.loads(done.stdout)
    read = [python_reads(text) for text in texts]
    return [(text, one, other) for text, one, other in zip(texts, read, answers, strict=True) if not _agree(one, other)]


def _agree(python: dict[str, Any], client: dict[str, Any]) -> bool:
    if "is not the one that this survey's mechanism has" in python.get("reason", ""):
        return True  # numbers of a table, which no client computes anew: it takes no pin of an epsilon with them
    if "code" in python or "code" in client:
        # What may report the truth the client refuses; Python says that nothing is promised.
        is_truth = math.inf in (python.get("epsilon"), python.get("lasting"))
        is_told = client.get("code") in ("survey", "fingerprint") and python.get("code", "survey") == "survey"
        return is_told and ("code" in python or is_truth)
    near = [_near(python[name], client[name]) for name in ("epsilon", "lasting")]
    return all(near) and all(python[name] == client[name] for name in ("kind", "isPermanent"))


def _near(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)


if __name__ == "__main__":
    found = differences(int(sys.argv[1]), int(sys.argv[2]))
    for text, python, client in found:
        print(text, "\n   python", python, "\n   client", client)
    print(f"{len(found)} of {sys.argv[1]} documents differ")
