"""Settings of a plan: the mechanism to begin with, its epsilon and the range of it, and how many people are tried."""

from __future__ import annotations

import contextlib
import inspect
import math
from dataclasses import fields, is_dataclass, replace

from confide.errors import ConfideError, InvalidParameterError
from confide.mechanisms import (
    MECHANISMS,
    Mechanism,
    RandomizedResponse,
    TruncatedGeometric,
    TruncatedPlanarLaplace,
    WrappedGeometric,
)
from confide.mechanisms.guarantees import LocalDP, MetricPrivacy
from confide.values import Alphabet, Grid, LineGeometry, RingGeometry, UnorderedGeometry
from confide.values.checks import MOST_PEOPLE
from confide.values.metrics import Discrete

MOST_DRAWN = 20_000_000
"""Most people times values that a plan looks at by itself where reports have to be drawn one by one."""


def usual_mechanism(alphabet: Alphabet, epsilon: float) -> Mechanism:
    """Return the mechanism to begin with, where only an alphabet is given.

    >>> from confide import Integers
    >>> usual_mechanism(Integers(0, 9), 0.5)
    TruncatedGeometric(alphabet=Integers(0, 9), epsilon=0.5)
    """
    if isinstance(alphabet.geometry, LineGeometry):
        return TruncatedGeometric(alphabet, epsilon)
    if alphabet.grid is not None:
        return TruncatedPlanarLaplace(alphabet.grid, epsilon)
    if isinstance(alphabet.geometry, RingGeometry):
        return WrappedGeometric(alphabet, epsilon)
    return RandomizedResponse(alphabet, epsilon)


def suiting(alphabet: Alphabet, epsilon: float) -> tuple[Mechanism, ...]:
    """Return every mechanism that takes these values and one epsilon, whatever it promises.

    >>> from confide import Categories
    >>> [one.kind for one in suiting(Categories(["yes", "no"]), 1.0)]
    ['randomized-response', 'rappor', 'exponential']
    """
    found = []
    for kind in MECHANISMS.values():
        if {"alphabet", "epsilon"} <= set(inspect.signature(kind).parameters):
            with contextlib.suppress(ConfideError):  # it may not take such values
                found.append(kind(alphabet, epsilon))  # type: ignore[call-arg]  # asked of its signature
    return tuple(found)


def epsilon_bounds(mechanism: Mechanism) -> tuple[float, float]:
    """Return the least and the largest epsilon of a plan: from reports that say next to nothing to hardly any noise.

    >>> from confide import Integers, TruncatedGeometric
    >>> epsilon_bounds(TruncatedGeometric(Integers(0, 100), 0.5))[0]
    0.0001
    """
    alphabet = mechanism.alphabet
    largest = 10.0 + math.log(alphabet.size)
    guarantee = mechanism.guarantee
    # Where any two values are one unit apart, a promise per unit is one for all.
    is_one_unit = isinstance(guarantee, MetricPrivacy) and guarantee.metric == Discrete()
    if isinstance(guarantee, LocalDP) or is_one_unit or isinstance(alphabet.geometry, UnorderedGeometry):
        return 0.01, largest
    spacing = float(getattr(alphabet, "spacing", 1.0))
    span = max(1.0, float((alphabet.coordinates.max(axis=0) - alphabet.coordinates.min(axis=0)).max()))
    return 0.01 / (span * spacing), largest / spacing


def has_matrix(mechanism: Mechanism) -> bool:
    """Whether the mechanism's outputs are finitely many, and few enough to lay side by side."""
    try:
        return bool(mechanism.has_channel and mechanism.channel.shape[1] > 0)
    except InvalidParameterError:
        return False


def most_people(mechanism: Mechanism) -> int:
    """Return up to how many people a plan looks on its own account: fewer where each report has to be drawn."""
    return MOST_PEOPLE if has_matrix(mechanism) else max(1000, MOST_DRAWN // mechanism.alphabet.size)


def epsilon_of(mechanism: Mechanism) -> float | None:
    """Return the mechanism's epsilon; None where it is made of others, or of a matrix."""
    return getattr(mechanism, "epsilon", None) if _has_field(mechanism, "epsilon") else None


def within(mechanism: Mechanism, span: tuple[int, int] | None) -> Mechanism:
    """Return the same mechanism for people whose values lie in a span; as it is, where there is none.

    Reports stay unbounded: only what the estimate knows of the values changes.

    >>> from confide import Geometric, Integers
    >>> within(Geometric(Integers(), epsilon=0.5), (0, 99))
    Geometric(alphabet=Integers(0, 99), epsilon=0.5)
    """
    alphabet = mechanism.alphabet
    if span is None:
        return mechanism
    if alphabet.is_finite:
        raise InvalidParameterError(f"A span is for unbounded values, and {alphabet!r} is finite. Leave it out.")
    if not alphabet.geometry.dimensions or not _has_field(mechanism, "alphabet"):
        raise InvalidParameterError(
            f"{mechanism!r} cannot be given a span. Plan with a mechanism over a finite alphabet instead."
        )
    known: Alphabet
    if alphabet.geometry.dimensions == 2:
        known = Grid(*span, spacing=alphabet.spacing, unit=alphabet.unit)
    else:
        known = alphabet.between(*span)
    changed: Mechanism = replace(mechanism, alphabet=known)  # type: ignore[type-var]  # all are dataclasses
    return changed


def promise(mechanism: Mechanism) -> str:
    """Return the promise in a few words.

    >>> from confide import Integers, TruncatedGeometric
    >>> promise(TruncatedGeometric(Integers(0, 9, unit="year"), epsilon=0.05))
    '0.05 per year'
    """
    guarantee = mechanism.guarantee
    if isinstance(guarantee, MetricPrivacy):
        return f"{guarantee.epsilon:.4g} per {guarantee.unit or 'unit of distance'}"
    return f"epsilon {guarantee.epsilon:.4g}" if isinstance(guarantee, LocalDP) else "the survey's promise"


def _has_field(mechanism: Mechanism, name: str) -> bool:
    return is_dataclass(mechanism) and name in {one.name for one in fields(mechanism)}
