"""Mechanisms with the same promise, compared by closed forms."""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from confide.channels import Dense
from confide.channels.base import FloatArray
from confide.channels.transforms import CirculantChannel, HadamardChannel
from confide.errors import ConfideError
from confide.mechanisms.base import Mechanism
from confide.mechanisms.guarantees import Guarantee, LocalDP, MetricPrivacy
from confide.values import Alphabet, LineGeometry, RingGeometry, UnorderedGeometry

ALIKE = 1.015
"""Mechanisms whose errors differ by less than this factor are ranked by the size of a report.

Simulated errors scatter by some percent. Among 100 categories at epsilon 4, k-RR errs by 4 % more than subset selection
at equal shares, and by 14 % more where few categories hold most people.
"""


@dataclass(frozen=True)
class Ranked:
    """A mechanism with what it costs.

    Attributes
    ----------
    mechanism
        The mechanism, with the promise that all candidates share.
    error
        Its expected error.
    bits
        Size of a report in bits.
    work
        Numbers that one step of an estimate handles: the cost to count.
    """

    mechanism: Mechanism
    error: float
    bits: int
    work: int


ALIKE_FORESEEN = 1.05
"""As `ALIKE`, of values in order: what is foreseen there is rougher."""

MOST_IN_ORDER = 128
"""Most values in order, or cells, that are compared: each mechanism takes some products of such matrices."""

PEOPLE = 10_000
"""People of a survey that has no number of people yet."""


def compare(alphabet: Alphabet, guarantee: Guarantee, people: int = PEOPLE) -> tuple[Ranked, ...]:
    """Return the mechanisms with a promise, the best first, by closed forms.

    Empty where there are none: several attributes, and more values in order than `MOST_IN_ORDER`.

    >>> from confide import Categories, Integers
    >>> [one.mechanism.kind for one in compare(Categories(["a", "b", "c"]), LocalDP(1.0))][:2]
    ['randomized-response', 'projective-geometry']
    >>> compare(Integers(0, 99), LocalDP(1.0))[0].mechanism.kind
    'square-wave'
    """
    if not isinstance(guarantee, LocalDP | MetricPrivacy):
        return ()
    is_plain = isinstance(alphabet.geometry, UnorderedGeometry) and isinstance(guarantee, LocalDP)
    if not is_plain and _prior_of(alphabet) is None:
        return ()
    rated = [
        (one, share_error(one, people) if is_plain else foreseen_error(one, people))
        for one in sharing(alphabet, guarantee)
        # A mechanism that cannot list its reports has a peer that can.
        if is_plain or (one.has_channel and one.facts.dependence is None)
    ]
    known = [Ranked(one, error, bits_of(one), work_of(one, people)) for one, error in rated if error is not None]
    alike = ALIKE if is_plain else ALIKE_FORESEEN
    return tuple(by_error(sorted(known, key=lambda one: one.error), alike))


def advise(mechanism: Mechanism) -> str:
    """Return a sentence on a better mechanism, or nothing.

    >>> from confide import Categories, RandomizedResponse
    >>> print(advise(RandomizedResponse(Categories([f"city {number}" for number in range(100)]), epsilon=1.0)))
    Projective geometry response (projective-geometry) makes the same promise with about 0.33 of the error.
    """
    alphabet, guarantee = mechanism.alphabet, mechanism.guarantee
    if not alphabet.is_finite or alphabet.size < 2:
        return ""
    if found := compare(alphabet, guarantee):
        is_plain = isinstance(alphabet.geometry, UnorderedGeometry)
        own = share_error(mechanism, PEOPLE) if is_plain else foreseen_error(mechanism, PEOPLE)
        best = found[0]
        if own is None or best.mechanism.kind == mechanism.kind or best.error > 0.9 * own:  # not worth a sentence
            return ""
        less = f"with about {best.error / own:.2f} of the error"
        return _sentence(best.mechanism, f"makes the same promise {less}")
    # Of more values the square wave spans more, and the others err more.
    for one in sharing(alphabet, guarantee):
        if one.kind in ("square-wave", "planar-square-wave"):
            return _sentence(one, "makes the same promise and errs less")
    return ""


def _sentence(mechanism: Mechanism, rest: str) -> str:
    title = mechanism.title[:1].upper() + mechanism.title[1:]
    return f"{title} ({mechanism.kind}) {rest}."


def sharing(alphabet: Alphabet, guarantee: Guarantee) -> tuple[Mechanism, ...]:
    """Return the mechanisms of one epsilon that take these values.

    But Blahut-Arimoto: its weights take a search at every epsilon, and it rarely identifies all values.
    """
    epsilon = float(getattr(guarantee, "epsilon", 0.0))
    return tuple(
        one
        for one in suiting(alphabet, epsilon, but="blahut-arimoto")
        if isinstance(one.guarantee, LocalDP | MetricPrivacy)
        and isinstance(one.guarantee, type(guarantee))
        and math.isclose(one.guarantee.epsilon, epsilon, rel_tol=1e-6)
    )


def foreseen_error(mechanism: Mechanism, people: int) -> float | None:
    """Return the expected error of all tails of values in order.

    The truth is any that is somewhat smooth.

    Beforehand, the truth is normal around equal shares, and what is near is alike: a third each over a quarter and over
    a sixteenth of all values, and from one to the next. Reports narrow it by their information at equal shares. The sum
    of the errors of all tails is the earth mover's distance on a line. A cell has tails in both directions. Absolute
    errors are too large by half; their order is that of simulated surveys.

    >>> from confide import Integers, RandomizedResponse, SquareWave
    >>> numbers = Integers(0, 19)
    >>> foreseen_error(SquareWave(numbers, 1.0), 10_000) < foreseen_error(RandomizedResponse(numbers, 1.0), 10_000)
    True
    """
    prior = _prior_of(mechanism.alphabet)
    if prior is None:
        return None
    root, tails = prior
    size = len(root)
    if mechanism.has_channel and mechanism.facts.rates is None:
        rows = mechanism.channel.dense()
        weighed = root.T @ rows / np.sqrt(np.maximum(rows.mean(axis=0), 1e-300))
        information = weighed @ weighed.T
    elif mechanism.facts.rates is not None:
        keep, flip = mechanism.facts.rates
        supported = flip + (keep - flip) / size
        information = root.T @ root * ((keep - flip) ** 2 / (supported * (1 - supported)))
    else:
        return None
    left = np.linalg.inv(np.linalg.cholesky(np.eye(size) + people * information))
    spreads = np.linalg.norm((tails @ root) @ left.T, axis=1)
    return float(math.sqrt(2 / math.pi) * spreads.sum())


def _prior_of(alphabet: Alphabet) -> tuple[FloatArray, FloatArray] | None:
    """Return a root of the truth's covariance, and all tails.

    None where there is no order.
    """
    grid, geometry = alphabet.grid, alphabet.geometry
    if not alphabet.is_finite or not 2 <= alphabet.size <= MOST_IN_ORDER:
        return None
    if grid is None and not isinstance(geometry, LineGeometry | RingGeometry):
        return None
    spots = np.arange(alphabet.size)[:, None] if grid is None else np.asarray(alphabet.coordinates)
    return _prior(tuple(map(tuple, spots.astype(int).tolist())), is_ring=isinstance(geometry, RingGeometry))


@lru_cache(8)
def _prior(spots: tuple[tuple[int, ...], ...], *, is_ring: bool) -> tuple[FloatArray, FloatArray]:
    places, size = np.array(spots), len(spots)
    apart = np.abs(places[:, None] - places[None]).sum(axis=2)
    if is_ring:
        apart = np.minimum(apart, size - apart)
    span = int(apart.max())
    alike = sum(np.exp(-apart / reach) for reach in (max(1.0, span / 4), max(1.0, span / 16), 1.0)) / 3
    centred = np.eye(size) - 1 / size
    covariance = centred @ alike @ centred + 1e-12 * np.eye(size)  # shares add up to 1: else it has no root
    tails = [column >= least for column in places.T for least in np.unique(column)[1:]]
    return np.linalg.cholesky(covariance) / size, np.array(tails, dtype=np.float64)


def suiting(alphabet: Alphabet, epsilon: float, but: str = "") -> tuple[Mechanism, ...]:
    """Return every mechanism with one epsilon that takes these values.

    >>> from confide import Categories
    >>> [one.kind for one in suiting(Categories(["yes", "no"]), 1.0)][:6]
    ['randomized-response', 'rappor', 'optimized-unary', 'subset-selection', 'local-hashing', 'hadamard-response']
    """
    found = []
    from confide.mechanisms import MECHANISMS  # which are compared here, and advise by it

    for kind in MECHANISMS.values():
        if kind.kind != but and {"alphabet", "epsilon"} <= set(inspect.signature(kind).parameters):
            with contextlib.suppress(ConfideError):  # skip mechanisms that reject these values
                found.append(kind(alphabet, epsilon))  # type: ignore[call-arg]  # asked of its signature
    return tuple(found)


def share_error(mechanism: Mechanism, people: int) -> float | None:
    """Return 1.96 standard errors of an unbiased share, at equal shares.

    A report supports a value with probability p if it is the true one, and with q if not. So it does with q + (p - q) /
    k here, and the share is estimated from how many reports do (Wang et al., USENIX Security 2017). Other mechanisms
    with few values get the Cramer-Rao bound from their matrix; None if that is singular or too large.

    >>> from confide import Categories, RandomizedResponse
    >>> round(share_error(RandomizedResponse(Categories(["yes", "no"]), 1.0), 10_000), 3)
    0.021
    """
    size, chances = mechanism.alphabet.size, _chances(mechanism)
    if chances is not None:
        keep, flip = chances
        supported = flip + (keep - flip) / size
        variance = supported * (1 - supported) / (keep - flip) ** 2
    elif size > MOST_IN_ORDER and mechanism.has_channel and isinstance(mechanism.channel, HadamardChannel):
        # A report speaks for or against a value in the value's own block alone: by 1 over this difference, else by 0.
        channel = mechanism.channel
        apart = channel.outside * channel.lift * channel.width / 2
        in_block = channel.push(np.full(size, 1 / size)).reshape(channel.blocks, channel.width).sum(axis=1)
        squares = np.repeat(in_block, channel.width - 1)[:size] / apart**2
        variance = float(squares.mean()) - 1 / size**2
    elif mechanism.has_channel and max(mechanism.channel.shape) <= 2 * MOST_IN_ORDER:
        rows = mechanism.channel.dense()
        information = (rows / rows.mean(axis=0)) @ rows.T * size
        strengths = np.linalg.eigvalsh(information)
        if strengths[0] < 1e-12 * strengths[-1]:
            return None
        variance = (float((1 / strengths).sum()) * size - 1 / size) / size
    else:
        return None
    return 1.96 * math.sqrt(variance / people)


def _chances(mechanism: Mechanism) -> tuple[float, float] | None:
    """Return how often a report supports the own and another value."""
    facts = mechanism.facts
    if facts.bits is not None:
        return float(facts.bits[0]), float(facts.bits[1])
    if facts.supports is not None:
        return float(facts.supports.keep), float(facts.supports.flip)
    return mechanism.channel.support_rates if mechanism.has_channel else None


def bits_of(mechanism: Mechanism) -> int:
    """Return the size of a report in bits."""
    outputs = mechanism.report_alphabet
    return outputs.bits.length if outputs.bits is not None else max(1, math.ceil(math.log2(outputs.size)))


def work_of(mechanism: Mechanism, people: int) -> int:
    """Return how many numbers one step of an estimate handles.

    It grows with the people where hardly two reports are alike: bit vectors, and hashes with seeds of their own.

    >>> from confide import Integers, OptimizedUnary, RandomizedResponse
    >>> [work_of(kind(Integers(1, 100), 1.0), 20_000) for kind in (RandomizedResponse, OptimizedUnary)]
    [200, 260000]
    """
    size = mechanism.alphabet.size
    if mechanism.report_alphabet.bits is not None or not mechanism.has_channel:
        return people * -(-size // 8)  # a byte has eight values
    channel = mechanism.channel
    outputs = channel.shape[1]
    if isinstance(channel, Dense):
        return size * outputs
    if isinstance(channel, HadamardChannel | CirculantChannel):
        return outputs * outputs.bit_length()
    return size + outputs


def by_error(left: list[Ranked], alike: float) -> Iterator[Ranked]:
    """Give the best of what is left, again and again.

    Of those nearly as good, it is the one with the smallest report, then the least work, then the first in the list of
    all mechanisms.
    """
    from confide.mechanisms import MECHANISMS

    simplest = list(MECHANISMS)
    while left:
        near = [one for one in left if one.error <= alike * left[0].error]
        chosen = min(near, key=lambda one: (one.bits, one.work, simplest.index(one.mechanism.kind)))
        left = [one for one in left if one is not chosen]
        yield chosen
