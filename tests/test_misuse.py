"""Wrong kinds of arguments at the public door: confide says what is wrong, what it got and what to do."""

from __future__ import annotations

import enum
import inspect
import itertools
import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cases import each

import confide as cf
from confide.errors import InvalidParameterError

PUBLIC: Any = cf  # so that a type checker lets misuse pass
LINE = cf.Integers(0, 3)
MECHANISM = cf.TruncatedGeometric(LINE, 1.0)
COUNTS = cf.tally([1, 2, 3])
SURVEY = cf.Survey(MECHANISM)

THINGS: list[Any] = [
    *(None, "x", "", b"x", True, -1, 0, 3, 2.5, 1j, 10**59, float("nan"), float("inf"), Decimal("sNaN")),
    *([], [[1, 2], [3]], ["a", 1], {}, {"a": 1}, {"a"}, np.zeros((2, 3)), np.array(3), object(), lambda one: one),
    *(LINE, MECHANISM, COUNTS, SURVEY, cf.Categories),
]

DRAWS = 40
"""Random choices of things for each number of arguments above one; thousands were tried when this was written."""


def callables() -> Iterator[str]:
    """Return the public functions and classes that are called with arguments of one's own."""
    for name in PUBLIC.__all__:
        thing = getattr(cf, name)
        is_class = isinstance(thing, type) and issubclass(thing, BaseException | enum.Enum)
        if callable(thing) and not is_class and not inspect.isabstract(thing):
            yield name


def calls(signature: inspect.Signature, luck: random.Random) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Return arguments: everything alone, and some of all choices for more than one."""
    parameters = signature.parameters.values()
    places = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    needed = sum(one.default is one.empty for one in places)
    for width in range(max(1, needed), min(len(places), 5) + 1):
        chosen = (
            itertools.product(THINGS, repeat=1) if width == 1 else (luck.choices(THINGS, k=width) for _ in range(DRAWS))
        )
        yield from ((tuple(one), {}) for one in chosen)
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY:
            yield from ((tuple(luck.choices(THINGS, k=needed)), {one.name: thing}) for thing in THINGS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(callables()))
def test_any_misuse_is_explained(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No AttributeError, no ValueError of numpy's: only what confide says, or that an argument is missing."""
    monkeypatch.chdir(tmp_path)
    thing = getattr(cf, name)
    for arguments, more in calls(inspect.signature(thing), random.Random(name)):  # noqa: S311 (no secret)
        try:
            thing(*arguments, **more)
        except cf.ConfideError:
            continue
        except TypeError as error:
            if "required" not in str(error):
                raise


SWAPPED: dict[str, tuple[Callable[[], object], str]] = {
    "fit": (
        lambda: PUBLIC.fit(MECHANISM, COUNTS),
        "counts must be Counts; got TruncatedGeometric. Are counts and mechanism swapped?",
    ),
    "save_counts": (lambda: PUBLIC.save_counts(COUNTS, "c.parquet", SURVEY), "Call save_counts(path, counts, survey)"),
    "survey first": (lambda: PUBLIC.save_counts("c.parquet", SURVEY, COUNTS), "Are counts and survey swapped?"),
    "emd": (
        lambda: PUBLIC.emd([0.5, 0.5], cf.Integers(0, 1), [0.5, 0.5]),
        "Are alphabet and right swapped? Call emd(left, right, alphabet)",
    ),
    "groups": (lambda: PUBLIC.estimate_groups([COUNTS], MECHANISM), "groups must be a dictionary; got list"),
    "smoothness": (lambda: PUBLIC.check.smoothness_of(LINE, [1, 2, 3, 4]), "Are alphabet and histogram swapped?"),
    "a list of counts": (
        lambda: PUBLIC.check.smoothness_of([[1, 2], [3]], LINE),
        "histogram must be an array of numbers; got list",
    ),
    "a matrix": (lambda: PUBLIC.FromMatrix(cf.Lattice(), 10**59, cf.Lattice()), "is unbounded"),
    "no list": (lambda: PUBLIC.Categories(np.array(3)), "needs a list of values; got array(3)"),
    "holes": (lambda: PUBLIC.Grid(1, 5, 5, "", [(1e-38, float("-inf"))]), "holes must be pairs"),
    "signals": (lambda: PUBLIC.Bins(0, Decimal("sNaN"), 1), "high must be a finite number; got Decimal('sNaN')"),
    "merge": (lambda: PUBLIC.merge(["a"]), "Call confide.tally(reports) first"),
    "pool": (lambda: PUBLIC.check.fit_pool([(MECHANISM, COUNTS)]), "A group is a pair (counts, mechanism)"),
    "survey": (lambda: PUBLIC.Survey(LINE), "mechanism must be Mechanism; got Integers"),
    "class": (lambda: PUBLIC.Geometric(cf.Categories, 1.0), "needs whole numbers on a line"),
}


@each("name", SWAPPED)
def test_what_got_cure(name: str) -> None:
    call, words = SWAPPED[name]
    with pytest.raises(InvalidParameterError) as caught:
        call()
    assert words in str(caught.value)
