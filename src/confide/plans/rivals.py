"""Mechanisms of a plan: their promise and its range, and rivals that make the same promise and so may be compared.

Metric privacy (epsilon per unit of distance) and local differential privacy (one epsilon for any two values) are
different promises: an epsilon of one says nothing about the other. Only on categories, where any two values are one
unit apart, are they the same thing.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Sequence
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
from confide.mechanisms.guarantees import Guarantee, LocalDP, MetricPrivacy
from confide.values import Alphabet, Grid, LineGeometry, RingGeometry, UnorderedGeometry
from confide.values.checks import check_choice
from confide.values.limits import MOST_PEOPLE
from confide.values.metrics import Discrete

ALL = "all"

NOT_THE_SAME = (
    "Metric privacy (epsilon per unit of distance) and local differential privacy (one epsilon for any two values, "
    "however far apart) are different promises, so mechanisms of the two kinds are not compared."
)

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
    found = (_build(kind, alphabet, epsilon) for kind in MECHANISMS)
    return tuple(one for one in found if one is not None)


def choose_rivals(mechanism: Mechanism, kinds: Sequence[str] | str | None) -> tuple[Mechanism, ...]:
    """Return mechanisms to compare with, at the same promise.

    Parameters
    ----------
    mechanism
        The one that is planned for.
    kinds
        Names of mechanisms; ``"all"`` for every one that makes the same promise; None for those of them whose reports
        have an end, which are quick to simulate.

    >>> from confide import Integers, TruncatedGeometric
    >>> [one.kind for one in choose_rivals(TruncatedGeometric(Integers(0, 9), 0.5), None)]
    ['truncated-laplace', 'exponential']
    """
    epsilon = epsilon_of(mechanism)
    _check_kinds(kinds)
    if epsilon is None:
        if kinds:
            raise InvalidParameterError(f"{mechanism!r} has no epsilon of its own, so that nothing can be compared.")
        return ()
    if kinds is None or kinds == ALL:
        found = [_build(kind, mechanism.alphabet, epsilon) for kind in MECHANISMS if kind != mechanism.kind]
        same = [one for one in found if one is not None and _same_promise(one, mechanism)]
        # Whether counts of all outputs can be drawn at once, or bit vectors are so short that few are distinct.
        return tuple(one for one in same if kinds == ALL or (has_matrix(one) or one.report_alphabet.is_listable))
    named = [kinds] if isinstance(kinds, str) else list(kinds)
    return tuple(_require(kind, mechanism, epsilon) for kind in dict.fromkeys(named) if kind != mechanism.kind)


def _check_kinds(kinds: object) -> None:
    if kinds is None or isinstance(kinds, str):
        return
    if not isinstance(kinds, Collection) or not all(isinstance(one, str) for one in kinds):
        raise InvalidParameterError(
            f"mechanisms must be a list of names, {ALL!r}, None for the quick ones or () for none; got {kinds!r}. The "
            f"names are {', '.join(MECHANISMS)}."
        )


def _require(kind: str, mechanism: Mechanism, epsilon: float) -> Mechanism:
    """Build a mechanism that was asked for by name, or say why it cannot be compared."""
    check_choice("mechanisms", kind, tuple(MECHANISMS))
    if not _is_simple(kind):
        raise InvalidParameterError(f"A {kind} mechanism takes no epsilon, so it cannot be compared at the same one.")
    built = MECHANISMS[kind](mechanism.alphabet, epsilon)  # type: ignore[call-arg]  # asked of its signature
    if not _same_promise(built, mechanism):
        raise InvalidParameterError(f"{kind} and {mechanism.kind} do not make the same promise. {NOT_THE_SAME}")
    return built


def _build(kind: str, alphabet: Alphabet, epsilon: float) -> Mechanism | None:
    if not _is_simple(kind):
        return None
    try:
        return MECHANISMS[kind](alphabet, epsilon)  # type: ignore[call-arg]  # asked of its signature
    except ConfideError:
        return None  # it does not take such values


def _is_simple(kind: str) -> bool:
    return {"alphabet", "epsilon"} <= set(inspect.signature(MECHANISMS[kind]).parameters)


def _same_promise(one: Mechanism, other: Mechanism) -> bool:
    return _essence(one.guarantee) == _essence(other.guarantee)


def _essence(guarantee: Guarantee) -> Guarantee:
    """Return metric privacy as local differential privacy where any two values are one unit apart."""
    if isinstance(guarantee, MetricPrivacy) and guarantee.metric == Discrete():
        return LocalDP(guarantee.epsilon)
    return guarantee


def epsilon_bounds(mechanism: Mechanism) -> tuple[float, float]:
    """Return the least and the largest epsilon of a plan: from reports that say next to nothing to hardly any noise.

    >>> from confide import Integers, TruncatedGeometric
    >>> epsilon_bounds(TruncatedGeometric(Integers(0, 100), 0.5))[0]
    0.0001
    """
    alphabet = mechanism.alphabet
    largest = 10.0 + math.log(alphabet.size)
    if isinstance(_essence(mechanism.guarantee), LocalDP) or isinstance(alphabet.geometry, UnorderedGeometry):
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
