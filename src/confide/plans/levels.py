"""Levels of privacy to choose from.

What each promises, and what a survey would then show.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from confide.channels.base import FloatArray
from confide.errors import ConfideError
from confide.estimates.estimate import estimate
from confide.estimates.explanations import why_undivided
from confide.estimates.inference.answers import error_of
from confide.evidence.shapes import Shape
from confide.mechanisms import Mechanism
from confide.mechanisms.base import truncated
from confide.mechanisms.comparison import PEOPLE
from confide.mechanisms.guarantees import LocalDP, MetricPrivacy
from confide.plans.guesses import family_of
from confide.plans.simulations import epsilon_of
from confide.theory.identification import largest_bound
from confide.values import ProductGeometry, UnorderedGeometry
from confide.values.distances import pairs_of


@dataclass(frozen=True)
class EpsilonLevel:
    """One choice of epsilon: its promise, and what a survey would show.

    Attributes
    ----------
    name
        "strong", "balanced" or "light"; "" for a choice beside these.
    mechanism
        The mechanism with this epsilon.
    is_chosen
        Whether the survey has this epsilon.
    bound, apart
        The largest log-ratio between two values, and how far apart the two are; None where it is the same for any two.
    off, kept
        How far a report is from the true value on average, or where values have no distance, how often it is the true
        one; None where a report is no value.
    ranges, error
        How many ranges of values a simulated survey resolves, and how far off a share is at most at 95%; None where
        none was simulated.
    """

    name: str
    mechanism: Mechanism
    is_chosen: bool
    bound: float
    apart: float | None
    off: float | None
    kept: float | None
    ranges: int | None = None
    error: float | None = None


def levels(
    mechanism: Mechanism, people: int | None = PEOPLE, truth: FloatArray | None = None, shape: Shape | None = None
) -> list[EpsilonLevel]:
    """Return three choices of epsilon, and the mechanism's own.

    Without `people` no survey is simulated. A mechanism without one epsilon has its own level alone.

    >>> from confide import Integers, TruncatedGeometric
    >>> for one in levels(TruncatedGeometric(Integers(0, 99), 0.05), None):
    ...     print(one.name, one.mechanism.epsilon, round(one.bound, 2), round(one.off), one.is_chosen)
    strong 0.02 0.1 31 False
    balanced 0.05 0.25 18 True
    light 0.1 0.5 10 False
    """
    if mechanism.alphabet.is_finite and mechanism.alphabet.size < 2:
        return []
    own, named = epsilon_of(mechanism), dict[float, str]()
    if own is not None and isinstance(mechanism.guarantee, LocalDP | MetricPrivacy):
        middle = usual_epsilon(mechanism)
        named = {_rounded(middle, -1): "strong", middle: "balanced", _rounded(middle, 1): "light"}
    made = {1.0 if own is None else own: mechanism}
    for epsilon in named.keys() - made.keys():
        with contextlib.suppress(ConfideError):  # more, or less, than this mechanism can promise
            made[epsilon] = mechanism.at(epsilon)
    return [
        EpsilonLevel(
            named.get(epsilon, ""),
            one,
            one is mechanism,
            *_bound(one),
            *_one_report(one),
            *((None, None) if people is None else look_ahead(one, people, truth, shape)),
        )
        for epsilon, one in sorted(made.items())
    ]


def usual_epsilon(mechanism: Mechanism) -> float:
    """Return the balanced epsilon.

    1 for any two values, else 5 over the whole range, and 10 on a plane.

    >>> from confide import Integers, TruncatedGeometric
    >>> usual_epsilon(TruncatedGeometric(Integers(0, 99), 0.3))
    0.05
    """
    guarantee, alphabet = mechanism.guarantee, mechanism.alphabet
    if not isinstance(guarantee, MetricPrivacy) or isinstance(alphabet.geometry, UnorderedGeometry):
        return 1.0
    if not alphabet.is_listable:
        return _rounded(float(guarantee.epsilon))
    diameter = largest_bound(guarantee, alphabet) / guarantee.epsilon
    return _rounded((10 if len(alphabet.field_names) > 1 else 5) / diameter)


def _rounded(amount: float, step: int = 0) -> float:
    """Return the nearest round number, or one so many steps away.

    >>> _rounded(0.0505), _rounded(1.26), _rounded(7), _rounded(0.05, 1), _rounded(1.0, -1)
    (0.05, 1.0, 5.0, 0.1, 0.5)
    """
    power = math.floor(math.log10(amount))
    series = [float(f"{digit}e{power + more}") for more in (-1, 0, 1) for digit in (1, 2, 5)]
    near = min(range(1, 8), key=lambda place: abs(math.log(series[place] / amount)))
    return series[near + step]


def _bound(mechanism: Mechanism) -> tuple[float, float | None]:
    """Return the largest log-ratio between two values, and their distance."""
    alphabet, guarantee = mechanism.alphabet, mechanism.guarantee
    pairs = pairs_of(alphabet)
    ends = alphabet.decode(list(pairs[min(1, len(pairs) - 1)])).tolist()
    left, right = (tuple(one) if isinstance(one, list) else one for one in ends)
    is_same = isinstance(guarantee, LocalDP) or isinstance(alphabet.geometry, UnorderedGeometry | ProductGeometry)
    return guarantee.bound(left, right), None if is_same else alphabet.distance(left, right)


@lru_cache(64)
def _one_report(mechanism: Mechanism) -> tuple[float | None, float | None]:
    """Return how far off or how often true a report is."""
    alphabet, outputs = mechanism.alphabet, mechanism.report_alphabet
    has_distance = not isinstance(alphabet.geometry, UnorderedGeometry | ProductGeometry)
    middle = alphabet.size // 2 if alphabet.is_finite else 0
    if alphabet.is_finite and alphabet.size > 5000:
        return None, None
    if outputs == alphabet and mechanism.has_channel and alphabet.is_finite:
        row = mechanism.channel.select(np.array([middle]))[0]
        if not has_distance:
            return None, float(row[middle])
        places = alphabet.coordinates
        return float(row @ alphabet.metric.between(places, places[[middle]])), None
    if mechanism.facts.bits is not None:
        return None, float(mechanism.facts.bits[0])
    is_alike = 0 < outputs.geometry.dimensions == alphabet.geometry.dimensions and alphabet.positions is None
    if not has_distance or not is_alike:
        return None, None
    place = alphabet.decode([middle])
    reports = mechanism.privatize(np.repeat(place, 4000, axis=0), rng=0, taken=True)
    points, start = (np.reshape(one, (len(one), -1)).astype(np.float64) for one in (reports, place))
    return float(alphabet.metric.between(points, start).mean()), None


def look_ahead(
    mechanism: Mechanism, people: int, truth: FloatArray | None = None, shape: Shape | None = None
) -> tuple[int | None, float | None]:
    """Return how many ranges a simulated survey resolves and their error.

    Both are None where a simulation takes more than a second: for many values or several attributes.
    """
    alphabet = mechanism.alphabet
    # Bit vectors of a hundred values, and free seeds, take ten seconds.
    most = 200 if mechanism.has_channel or not mechanism.report_alphabet.is_finite else 20
    if not alphabet.is_finite or not 2 <= alphabet.size <= most or alphabet.attributes is not None:
        return None, None
    shares = family_of(mechanism)[0].vector if truth is None else truth
    return _simulate(mechanism, people, tuple(shares.tolist()), shape)


@lru_cache(64)
def _simulate(
    mechanism: Mechanism, people: int, shares: tuple[float, ...], shape: Shape | None
) -> tuple[int | None, float | None]:
    answered = np.random.default_rng(0).multinomial(people, shares)
    if not mechanism.report_alphabet.is_finite:  # clamped reports take a hundredth of the time
        mechanism = truncated(mechanism)
    with warnings.catch_warnings(action="ignore"):  # what the reports of a guess look like is no news
        try:
            answer = estimate(mechanism.simulate_counts(answered, rng=0), mechanism, shape=shape)
        except ConfideError:  # a mechanism whose reports cannot be simulated or estimated from
            return None, None
        if why_undivided(answer):
            return None, None
        windows = answer.windows()
    return len(windows), max(map(error_of, windows.answers))
