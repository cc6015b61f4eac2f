"""Central privacy of shuffled reports.

What a curator may promise if nobody knows which report is whose.

The shuffler must be somebody whom people trust: it sees every report with its sender. The bounds are on the central
epsilon of one person among `people` who send one report each, with a failure probability `delta`.

Two upper bounds are proven. For any mechanism with a promise: each other report is, with probability e^-epsilon, drawn
as the report of one of the two values that are compared (Feldman, McMillan and Talwar, FOCS 2021, theorem 3.2). For a
mechanism with listable outputs: each other report comes from the *blanket*, the part that the reports of all values
have in common, and the rest are given away (Balle et al., CRYPTO 2019, lemma 5.3). The lower bound is an attack: all
others have one value, and a sum over the reports is compared with a threshold.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from confide.channels.base import Channel, FloatArray
from confide.errors import InvalidParameterError
from confide.values.checks import check_count, is_number


@dataclass(frozen=True)
class Shuffled:
    """Bounds on the central epsilon of shuffled reports.

    Attributes
    ----------
    lower, upper
        An attack refutes every epsilon below `lower`; `upper` is proven.
    people
        How many people send one report each.
    delta
        Failure probability of the central promise.

    Examples
    --------
    >>> from confide.mechanisms import LocalDP
    >>> print(LocalDP(4.0).shuffled(100_000, delta=1e-6))
    central epsilon 0.1698 (delta 1e-06) among 100,000 shuffled reports
    """

    lower: float
    upper: float
    people: int
    delta: float

    def __str__(self) -> str:
        return f"central epsilon {self.upper:.4g} (delta {self.delta:g}) among {self.people:,} shuffled reports"


def shuffle_promise(people: int, delta: float, own: float, widest: float) -> Shuffled:
    """Bound the central epsilon of any mechanism with a local promise.

    Parameters
    ----------
    people, delta
        See :class:`Shuffled`.
    own
        Largest log-ratio of a report between the two values that are compared.
    widest
        The same between any two values: it says how often another report looks like one of these two.
    """
    _check(people, delta)
    if not math.isfinite(widest):
        raise InvalidParameterError(
            "Shuffling hides nobody where some reports rule values out, or where values have no end; this promise is "
            "unbounded. Use values with two ends, and a mechanism that may report anything from every value."
        )
    upper = _smallest(lambda epsilon: _delta_of_copies(epsilon, people, own, math.exp(-widest)), delta, own)
    # Randomized response among three values keeps this promise, and its blanket bound is attained.
    rows = (np.full((3, 3), 1.0) + np.eye(3) * math.expm1(own)) / (math.exp(own) + 2)
    lower = _smallest(lambda epsilon: _delta_of_attack(epsilon, people, *rows), delta, own, up=False)
    return Shuffled(min(lower, upper) if own == widest else 0.0, upper, people, delta)


def shuffle_channel(
    people: int, delta: float, channel: Channel, own: float, pair: tuple[int, int] | None = None
) -> Shuffled:
    """Bound the central epsilon of a mechanism by its matrix.

    Parameters
    ----------
    people, delta
        See :class:`Shuffled`.
    channel
        The mechanism's channel.
    own
        Largest log-ratio of a report between the values that are compared.
    pair
        Numbers of the two values that are compared. Optional. Default: the two that are easiest to distinguish.
    """
    _check(people, delta)
    rows = channel.dense()
    rows = rows[:, rows.any(axis=0)]
    blanket = rows.min(axis=0)
    if not blanket.all():
        return Shuffled(0.0, own, people, delta)  # reports of some values rule others out, or nearly
    pairs = _unlike_pairs(rows, blanket) if pair is None else np.array([pair, pair[::-1]])
    upper, worst = 0.0, None
    while len(pairs):
        # The most different pair comes first, so that a quick bound settles nearly all others.
        left, right = rows[pairs[0]]
        is_worse = _delta_of_blanket(upper, people, left, right, blanket) > delta
        if is_worse:
            upper = _smallest(lambda one: _delta_of_blanket(one, people, left, right, blanket), delta, own)  # noqa: B023
            worst = pairs[0]
        pairs = pairs[1:]
        if is_worse and len(pairs):
            pairs = pairs[_chernoff(upper, people, rows, pairs, blanket) > delta]
    if worst is None:
        return Shuffled(0.0, 0.0, people, delta)
    left, right = rows[worst]
    others = rows[int(np.argmax(((left - right) ** 2 / rows).sum(axis=1)))]
    lower = _smallest(lambda one: _delta_of_attack(one, people, left, right, others), delta, own, up=False)
    return Shuffled(min(lower, upper), upper, people, delta)


def shuffle_kinds(
    people: int, delta: float, own: float, first: FloatArray, blanket: FloatArray, third: FloatArray
) -> Shuffled:
    """Bound the central epsilon from which of two values reports support.

    Within a kind, no report says more about the two than another. So four numbers replace a matrix.

    Parameters
    ----------
    people, delta, own
        See :func:`shuffle_channel`.
    first
        P(both, only the first, only the second, neither), given the first value.
    blanket
        At most that given any value, report by report.
    third
        The same given a value of the others.
    """
    _check(people, delta)
    seen = blanket > 0
    left, right, blanket, third = first[seen], first[[0, 2, 1, 3]][seen], blanket[seen], third[seen]
    upper = _smallest(lambda one: _delta_of_blanket(one, people, left, right, blanket), delta, own)
    lower = _smallest(lambda one: _delta_of_attack(one, people, left, right, third), delta, own, up=False)
    return Shuffled(min(lower, upper), upper, people, delta)


def _check(people: int, delta: float) -> None:
    check_count("people", people, 1)
    if not is_number(delta) or not 1e-15 <= delta < 1:
        raise InvalidParameterError(
            f"delta must be at least 1e-15 and below 1; got {delta!r}. Usual: below 1 / people, such as "
            f"{min(1e-6, 0.1 / people):.0e}."
        )


def _smallest(delta_at: Callable[[float], float], delta: float, own: float, *, up: bool = True) -> float:
    """Return where a falling delta reaches its target."""
    from scipy.optimize import brentq  # scipy is loaded when something is bounded, not by every device

    delta_at = cache(delta_at)
    if delta_at(0.0) <= delta:
        return 0.0
    if delta_at(own) > delta:
        return own  # nothing is gained
    found = float(
        brentq(lambda epsilon: math.log(max(delta_at(epsilon), 1e-300) / delta), 0.0, own, xtol=1e-12, rtol=1e-6)
    )
    step = 1e-6 if up else -1e-6
    while (delta_at(found) > delta) == up:
        found *= 1 + step
    return min(found, own)


def _delta_of_copies(epsilon: float, people: int, own: float, share: float) -> float:
    """Return delta if others' reports copy one of the two values'.

    Of C ~ Bin(people - 1, share) copies, A ~ Bin(C, 1/2) are of the first value. This person's report is of the own
    value with probability e^own / (e^own + 1). The likelihood ratio grows with the reports of the first value, so the
    best test is a threshold, and binomial tails give its two errors.
    """
    from scipy.special import bdtrc
    from scipy.stats import binom

    truth, growth = 1 / (1 + math.exp(-own)), math.exp(epsilon)
    lie = 1 - truth
    if truth <= growth * lie:
        return 0.0
    middle, spread = (people - 1) * share, math.sqrt((people - 1) * share)
    low, high = max(0.0, middle - 9 * spread - 60), min(people - 1.0, middle + 9 * spread + 60)
    copies = np.arange(int(low), int(high) + 1)
    odds = (growth * truth - lie) / (truth - growth * lie)
    most = np.floor(odds / (1 + odds) * (copies + 1))

    def above(count: FloatArray) -> FloatArray:
        """Return P(A > count)."""
        tails = bdtrc(np.clip(count, 0, copies), copies, 0.5)
        return np.where(count < 0, 1.0, np.where(count >= copies, 0.0, tails))

    with_one, without = above(most - 1), above(most)
    gains = (truth - growth * lie) * with_one + (lie - growth * truth) * without
    return float(binom.pmf(copies, people - 1, share) @ np.maximum(gains, 0.0))


def _delta_of_blanket(epsilon: float, people: int, left: FloatArray, right: FloatArray, blanket: FloatArray) -> float:
    """Return delta if all reports outside the blanket are given away.

    It is E[max(S, 0)] / people. S is a sum over all people of (left - e^epsilon right) / blanket at a report from the
    blanket, and of 0 for a report that is given away.
    """
    gains = np.append((left - math.exp(epsilon) * right) / blanket, 0.0)
    weights = np.append(blanket, 1 - blanket.sum())
    step, size = _lattice(gains, weights, people)
    # Rounding to the two nearest points keeps the mean; by Jensen's inequality that never lowers E[max(S, 0)].
    places = np.floor(gains / step)
    upper = gains / step - places
    points = np.concatenate([places, places + 1])
    sums, chances = _sum_of_many(points, np.concatenate([weights * (1 - upper), weights * upper]), people, size)
    return float(chances @ np.maximum(sums, 0.0)) * step / people


def _delta_of_attack(epsilon: float, people: int, left: FloatArray, right: FloatArray, others: FloatArray) -> float:
    """Return the delta of a threshold test on a sum over reports.

    All others have one value.
    """
    growth = math.exp(epsilon)
    gains = (left - growth * right) / others
    step, size = _lattice(gains, others, people)
    points = np.rint(gains / step)
    sums, chances = _sum_of_many(points, others, people - 1, size)
    order = np.argsort(sums)
    reached = np.append(np.cumsum(chances[order][::-1])[::-1], 0.0)  # P(sum of the others >= place)
    own, inverse = np.unique(points, return_inverse=True)
    first, second = (np.bincount(inverse, one) for one in (left, right))
    base = sums[order]
    found = np.zeros(base.size)
    for point, one, other in zip(own, first, second, strict=True):
        found += (one - growth * other) * reached[np.searchsorted(base, base - point)]
    return float(found.max())


def _lattice(gains: FloatArray, weights: FloatArray, people: int) -> tuple[float, int]:
    """Return a step and a size on which a sum fits.

    Rounding adds at most a quarter of a squared step to the variance of each gain: the step is so small that this is a
    250th of it or less. By Bernstein's inequality the sum leaves the points with a probability below e^-70.
    """
    mean = float(weights @ gains)
    spread = math.sqrt(people * float(weights @ (gains - mean) ** 2))
    reach = math.sqrt(140) * spread + 50 * float(np.abs(gains - mean).max())
    size = 2 ** max(12, math.ceil(math.log2(2 * reach * math.sqrt(people) / (0.12 * spread))))
    return 2 * reach / size, size


def _sum_of_many(
    points: FloatArray, weights: FloatArray, people: int, size: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the possible sums of `people` draws, and their probabilities."""
    from scipy.fft import irfft, rfft

    own, inverse = np.unique(points, return_inverse=True)
    weights = np.bincount(inverse, weights).astype(np.float64)
    mean = float(weights @ own)
    centre = round(mean)
    offsets = (own - centre).astype(np.int64)
    table = np.zeros(size)
    np.add.at(table, offsets % size, weights)
    rough = np.abs(rfft(table))
    # Elsewhere the power is below 1e-26. Where it matters, its base is near 1: we compute the difference from 1.
    frequencies = np.flatnonzero(people * np.log(np.maximum(rough, 1e-300)) > -60)
    real, imaginary = np.zeros(frequencies.size), np.zeros(frequencies.size)
    for offset, weight in zip(offsets.tolist(), weights.tolist(), strict=True):
        angles = 2 * np.pi * ((offset * frequencies) % size) / size
        real -= 2 * weight * np.sin(angles / 2) ** 2
        imaginary -= weight * np.sin(angles)
    logs = 0.5 * np.log1p(2 * real + real**2 + imaginary**2)
    turns = np.arctan2(imaginary, 1 + real)
    spectrum = np.zeros(size // 2 + 1, dtype=np.complex128)
    spectrum[frequencies] = np.exp(people * logs + 1j * np.remainder(people * turns, 2 * np.pi))
    chances = np.maximum(irfft(spectrum, size), 0.0)
    # The transform knows sums up to a multiple of its size: each is the one nearest to the mean.
    middle = round(people * (mean - centre))
    places = (np.arange(size) - middle + size // 2) % size - size // 2 + middle
    return places.astype(np.float64) + float(people) * centre, chances


def _unlike_pairs(rows: FloatArray, blanket: FloatArray) -> NDArray[np.int64]:
    """Return pairs of values, one of each kind, the most different first.

    Pairs that agree in three unlike divergences have the same ratios at the same probabilities.
    """
    square = rows**2 / blanket
    cross = (rows / blanket) @ rows.T
    distances = square.sum(axis=1)[:, None] + square.sum(axis=1) - 2 * cross
    skew = (rows**2 / blanket**2) @ rows.T
    root = np.sqrt(rows) @ (rows**1.5 / blanket).T
    kinds = np.stack([one.ravel() for one in (distances, skew, root)], axis=1)
    is_pair = ~np.eye(rows.shape[0], dtype=bool).ravel() & (kinds[:, 0] > 1e-12 * np.abs(kinds[:, 0]).max())
    places = np.flatnonzero(is_pair)
    scale = kinds[places].max(axis=0)
    _, first = np.unique(np.rint(kinds[places] / scale * 1e9), axis=0, return_index=True)
    places = places[first]
    places = places[np.argsort(-kinds[places, 0], kind="stable")]
    return np.stack(np.divmod(places, rows.shape[0]), axis=1)


def _chernoff(
    epsilon: float, people: int, rows: FloatArray, pairs: NDArray[np.int64], blanket: FloatArray
) -> FloatArray:
    """Return a quick upper bound on delta for each pair.

    max(S, 0) is at most e^(rate S - 1) / rate for any positive rate.
    """
    growth = math.exp(epsilon)
    bounds = []
    for some in np.array_split(pairs, -(-len(pairs) * blanket.size // 1_000_000) or 1):
        gains = (rows[some[:, 0]] - growth * rows[some[:, 1]]) / blanket
        variance = (gains**2) @ blanket
        best = np.full(len(some), math.inf)
        for times in 2.0 ** np.arange(-3.0, 3.5, 0.5):
            rate = times * math.expm1(epsilon) / variance if epsilon else times / np.sqrt(people * variance)
            logs = people * np.log1p(np.expm1(np.minimum(rate[:, None] * gains, 600)) @ blanket)
            best = np.minimum(best, np.exp(np.minimum(logs - 1, 600)) / (rate * people))
        bounds.append(best)
    return np.concatenate(bounds)
