"""Draws, counted: whether reports have the probabilities that a mechanism declares, by chi-square tests.

Reports come from :meth:`Mechanism.privatize` itself, from seeded and from secure bits, for values that take turns; so a
sampler that returns the truth, mixes up rows or leans to one side is found, wherever on the way it does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.alphabets import Attributes, BitVectors, Indices, Plane
from confide.kernels import planar_geometric_kernel
from confide.mechanisms.base import Mechanism
from confide.mechanisms.facts import LatticeNoise
from confide.sampling import SecureBits, log_of

FloatArray = NDArray[np.float64]
Reports = NDArray[Any]

LEAST_EXPECTED = 100.0
"""Reports that a cell must lead one to expect; rarer cells are put together."""

NOMINAL = 1e-12
"""Level of all tests together by the chi-square distribution.

Counts are skewed, so true tails are heavier. Of a Poisson count around 100, the mildest case, the tail at 1e-12 nominal
is 1e-10: three orders are left for the false alarm rate of 1e-9 that is stated.
"""

SEED = 2026
"""Any fixed seed: an audit gives the same numbers twice. Secure bits differ each time."""

MOST_DRAWN = 2**21
"""Words of all reports together: vectors of 100,000 bits, of 1,588 words, took 273 s at 20,000 reports a value."""

FINE = 0.02
"""Decay a lattice point below which the radius of planar noise is compared with its continuous limit, Gamma(2).

The number of lattice points within a radius differs from its area by less than 1 % there (Gauss's circle problem),
a third of what counts spread by; above it the lattice is summed up.
"""

RADII = 24
"""Rings in which planar noise is counted, in four quadrants each."""


@dataclass(frozen=True)
class Draws:
    """Result of counting reports.

    Attributes
    ----------
    reports
        Number of reports drawn.
    values
        Number of values that they were drawn for.
    p_value
        The smallest p-value of all tests, times their number.
    suspect
        Number of the value that disagrees most.
    """

    reports: int
    values: int
    p_value: float
    suspect: int

    @property
    def agree(self) -> bool:
        """Whether reports have the declared probabilities, at a false alarm rate below 1e-9."""
        return self.p_value >= NOMINAL


def count_draws(mechanism: Mechanism, values: Indices, reports: int) -> Draws:
    """Draw `reports` for each value, half from seeded and half from secure bits, and compare.

    >>> import confide as cf
    >>> count_draws(cf.TruncatedGeometric(cf.Integers(0, 9), 1.0), np.array([0, 5]), 2000).agree
    True
    """
    each = max(1, min(reports, MOST_DRAWN // max(1, mechanism.report_alphabet.parts * values.size)) // 2)
    people = mechanism.alphabet.decode(np.tile(values, each))
    found: list[tuple[float, int]] = []
    for rng in (SEED, SecureBits()):
        drawn = np.asarray(mechanism.privatize(people, rng=rng, taken=True))
        for place, value in enumerate(values.tolist()):
            found += [(p_value, value) for p_value in _p_values(mechanism, value, drawn[place :: values.size])]
    if not found:  # only values from which the ends of a huge alphabet are near
        return Draws(0, 0, 1.0, 0)
    worst, suspect = min(found)
    return Draws(2 * each * values.size, values.size, min(1.0, worst * len(found)), suspect)


def _p_values(mechanism: Mechanism, value: int, reports: Reports) -> list[float]:
    """Compare the reports of one value with what is declared of them."""
    facts, outputs = mechanism.facts, mechanism.report_alphabet
    if not outputs.contains(outputs.as_array(reports)).all():
        return [0.0]
    if facts.bits is not None and isinstance(outputs, BitVectors):
        return _test_bits(outputs.unpack(reports), value, *map(float, facts.bits))
    if facts.parts is not None and isinstance(mechanism.alphabet, Attributes) and isinstance(outputs, Attributes):
        each = zip(facts.parts.values(), mechanism.alphabet.split(value), outputs.columns(reports), strict=True)
        return [p for one in each for p in _p_values(*one)]
    if facts.noise is not None and not mechanism.has_channel:
        places = outputs.steps(reports) if isinstance(outputs, Plane) else reports.reshape(len(reports), -1)
        moves = places - mechanism.alphabet.points([value])
        is_plain = not (facts.noise.is_clamped or facts.noise.is_redrawn) or _is_inside(mechanism, value, facts.noise)
        return _test_noise(facts.noise, np.rint(moves * facts.noise.resolution)) if is_plain else []
    return [chi_square(np.bincount(outputs.locate(reports), minlength=outputs.size), _row(mechanism, value))]


def _row(mechanism: Mechanism, value: int) -> FloatArray:
    """Return P(output | value): from the channel, and from the weights where there is none."""
    if mechanism.has_channel:
        row = mechanism.channel.select(np.array([value]))[0]
    else:
        weights = mechanism.weights(value)
        row = np.array([weight / sum(weights) for weight in weights])
    probabilities: FloatArray = row / row.sum()
    return probabilities


def _is_inside(mechanism: Mechanism, value: int, noise: LatticeNoise) -> bool:
    """Whether noise added to a value practically never leaves the alphabet, so that its ends change nothing."""
    reach = math.ceil(80 / -log_of(noise.ratio)) if noise.ratio is not None else 0
    values, start = mechanism.alphabet, mechanism.alphabet.decode([value])
    corners = (start - reach, start + reach)
    return all(bool(values.contains(one).all() and mechanism.report_alphabet.contains(one).all()) for one in corners)


def chi_square(counts: NDArray[np.int64], probabilities: FloatArray) -> float:
    """Return the p-value of counts; cells too rare to be tested alone are put together, the rarest first.

    >>> chi_square(np.array([498, 502]), np.array([0.5, 0.5])) > 0.5, chi_square(np.array([9, 1]), np.array([1.0, 0.0]))
    (True, 0.0)
    """
    if counts[probabilities <= 0].any():
        return 0.0
    order = np.argsort(probabilities, kind="stable")
    expected = np.cumsum(counts.sum() * probabilities[order])
    # A cell ends where enough reports are expected since the last one ended; what is left joins the last cell.
    ends, reached = [], 0.0
    for place, total in enumerate(expected.tolist()):
        if total - reached >= LEAST_EXPECTED:
            ends.append(place)
            reached = total
    if len(ends) < 2:
        return 1.0
    ends[-1] = counts.size - 1
    foreseen = np.diff(expected[ends], prepend=0.0)
    observed = np.diff(np.cumsum(counts[order])[ends], prepend=0)
    return _tail(float(((observed - foreseen) ** 2 / foreseen).sum()), len(ends) - 1)


def _tail(statistic: float, freedom: int) -> float:
    """Return the probability that chi-square exceeds a statistic."""
    from scipy.special import gammaincc

    return float(gammaincc(freedom / 2, statistic / 2))


def _test_bits(bits: NDArray[np.bool_], own: int, keep: float, flip: float) -> list[float]:
    """Test how often each bit is set, and how many are set at once: bits that hang together fail the second."""
    from scipy.special import gammaln

    people, length = bits.shape
    shares = np.full(length, flip)
    shares[own] = keep
    spread = people * shares * (1 - shares)
    told = spread >= LEAST_EXPECTED / 4  # a binomial count this wide is close to normal
    deviations = (bits.sum(axis=0) - people * shares) ** 2 / np.maximum(spread, 1e-300)
    single = _tail(float(deviations[told].sum()), int(told.sum())) if told.any() else 1.0
    others = bits.sum(axis=1) - bits[:, own]
    counts = np.arange(length)
    choices = gammaln(length) - gammaln(counts + 1) - gammaln(length - counts)
    row = np.exp(choices + counts * math.log(flip) + (length - 1 - counts) * math.log1p(-flip))
    both = np.concatenate([(1 - keep) * row, keep * row])
    return [single, chi_square(np.bincount(others + length * bits[:, own], minlength=both.size), both / both.sum())]


def _test_noise(noise: LatticeNoise, moves: FloatArray) -> list[float]:
    """Test displacements, one row a report, in lattice points."""
    if noise.ratio is not None:
        return _test_axes(-log_of(noise.ratio), noise.stay, moves)
    return _test_rings(float(noise.rate or 0), moves)


def _test_axes(decay: float, stay: Fraction | None, moves: FloatArray) -> list[float]:
    """Test two-sided geometric noise on each axis, and the axes jointly by their signs and sizes."""
    # Bins of an eighth of the noise's scale. Each side has half of what does not stay, and P(move < m) falls from
    # there by e^-decay a point: half e^(decay m) for m <= 0. Two-sided geometric noise has e^-decay / (1 + e^-decay).
    half = math.exp(-decay) / (1 + math.exp(-decay)) if stay is None else float(1 - stay) / 2
    width, reach = max(1, int(0.125 / decay)), 64
    edges = np.arange(-reach, reach + 1) * width
    below = half * np.exp(-decay * np.where(edges <= 0, -edges, edges - 1))
    cumulative = np.where(edges <= 0, below, 1 - below)
    row = np.diff(cumulative, prepend=0.0, append=1.0)
    places = np.searchsorted(edges, moves, side="right")
    if moves.shape[1] == 1:
        return [chi_square(np.bincount(places[:, 0], minlength=row.size), row)]
    numbers = places[:, 0] * row.size + places[:, 1]
    singles = [chi_square(np.bincount(part, minlength=row.size), row) for part in places.T]
    return [*singles, chi_square(np.bincount(numbers, minlength=row.size**2), np.outer(row, row).reshape(-1))]


def _test_rings(decay: float, moves: FloatArray) -> list[float]:
    """Test planar noise by rings and quadrants; quarter turns map the lattice onto itself, so quadrants are alike."""
    from scipy.special import gammainc, gammaincinv

    radii = np.hypot(moves[:, 0], moves[:, 1])
    edges = gammaincinv(2, np.arange(1, RADII) / RADII) / decay
    if decay < FINE:
        row = np.diff(gammainc(2, decay * edges), prepend=0.0, append=1.0)
        origin = 0.0
    else:
        reach = math.ceil(edges[-1]) + 1
        cells = planar_geometric_kernel((reach, reach), decay).cells
        distance = np.hypot(np.arange(reach)[:, None], np.arange(reach))
        copies = np.outer(1 + (np.arange(reach) > 0), 1 + (np.arange(reach) > 0))
        inside = np.histogram(distance, [-1.0, *edges], weights=cells * copies)[0]
        origin = float(cells[0, 0])
        row = np.append(inside, 1 - inside.sum())
        row[0] -= origin
    quadrant = (np.floor(np.arctan2(moves[:, 0], moves[:, 1]) / (math.pi / 2)).astype(np.int64)) % 4
    ring = np.searchsorted(edges, radii, side="left")
    numbers = np.where((radii == 0) & (origin > 0), 4 * RADII, 4 * ring + quadrant)
    chances = np.append(np.repeat(row / 4, 4), origin)
    return [chi_square(np.bincount(numbers, minlength=chances.size), np.maximum(chances, 0.0) / chances.sum())]
