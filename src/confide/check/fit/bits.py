"""Fit test for bit vectors, by quantities that no population changes.

Bit vectors are nearly all distinct, so they cannot be counted in cells. Let p and q be the probabilities that the
value's own bit, and any other bit, is set. For every theta: the number of ones is Bernoulli(p) plus Binomial(k - 1, q);
the share of reports with a given bit lies between q and p; and (bit_x - q)(bit_y - q) has mean 0 for x != y, because
at most one of the two bits belongs to the value.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from confide.channels.base import FloatArray, Indices
from confide.check.fit.answers import LEVEL, Fit, FitVerdict, Outlier, Power
from confide.check.fit.tables import BOTS, FACTORS_TRIED, HONEST, TWICE, name_of, noncentral_power, scaled
from confide.errors import InvalidCountsError
from confide.evidence.counts import Counts
from confide.mechanisms import Mechanism
from confide.values import Integers
from confide.values.wording import counted

REPLICATES = 999
"""Replicates of the number of ones, which are drawn together in milliseconds."""

ONES = 0.9
"""The part of the level that the number of ones gets, whose law is exact; the other bounds are far from sharp."""

FEWEST = 5
"""Reports expected in each class of ones; the tails are pooled."""

BitArray = NDArray[np.bool_]


def check_bits(counts: Counts, mechanism: Mechanism, seed: int) -> Fit:
    """Test ones, single bits, pairs of bits, and equal vectors."""
    mechanism.refuse_strays(counts)
    if not counts.total > 0:
        raise InvalidCountsError("There are no reports to test; give at least one.")
    keep, flip = rates_of(mechanism)
    assert mechanism.report_alphabet.bits is not None  # noqa: S101 (for the type checker)
    bits = mechanism.report_alphabet.bits.unpack(counts.reports)
    law = ones_law(mechanism.alphabet.size, keep, flip)
    ones = np.bincount(bits.sum(axis=1), counts.counts, law.size).astype(np.float64)
    classes = _pooled(counts.total * law)
    chance, statistic = _ones_chance(ones, law, classes, seed)
    single, outlier = _single_bits(bits, counts.counts, mechanism)
    others = min(single, _pairs_of_bits(bits, counts.counts, flip), _same_vectors(counts, mechanism))
    found = Fit(
        verdict=FitVerdict.CANNOT_BE_TESTED,
        p_value=min(1.0, chance / ONES, 3 * others / (1 - ONES)),
        statistic=statistic,
        degrees=float(classes[-1]),
        reports=counts.total,
        replicates=REPLICATES,
    ).judged()
    if not found.is_bad:
        return found.with_sights(_sights(law, classes, counts.total, mechanism))
    named = [*_unusual_ones(ones, counts.total * law, classes), outlier]
    causes = tuple(_other_epsilon(ones, mechanism) or _repeated(counts, mechanism))
    other = ("Likely causes: another mechanism, or bits changed after privatization.",)
    return replace(found, outliers=tuple(reversed(named) if single < chance else named), causes=causes or other)


def ones_residuals(counts: Counts, mechanism: Mechanism) -> tuple[Integers, FloatArray]:
    """Return the residual of each number of ones, in standard errors.

    NaN for numbers that are next to never expected.

    >>> import confide as cf
    >>> numbers, residuals = ones_residuals(cf.tally([0, 1, 2, 3]), cf.Rappor(cf.Integers(0, 1), epsilon=1.0))
    >>> numbers.size, bool(residuals[1] < 0)
    (3, True)
    """
    keep, flip = rates_of(mechanism)
    assert mechanism.report_alphabet.bits is not None  # noqa: S101 (for the type checker)
    law = ones_law(mechanism.alphabet.size, keep, flip)
    bits = mechanism.report_alphabet.bits.unpack(counts.reports)
    ones = np.bincount(bits.sum(axis=1), counts.counts, law.size)
    expected = counts.total * law
    spread = np.sqrt(np.maximum(expected * (1 - law), 1e-300))
    residuals: FloatArray = np.where(expected >= 1, (ones - expected) / spread, np.nan)
    return Integers(0, law.size - 1), residuals


def has_bits(mechanism: Mechanism) -> bool:
    """Whether reports are bit vectors, each bit drawn independently."""
    return mechanism.facts.bits is not None and mechanism.report_alphabet.bits is not None


def rates_of(mechanism: Mechanism) -> tuple[float, float]:
    """Return P(own bit is set) and P(another bit is set)."""
    rates = mechanism.facts.bits
    assert rates is not None  # noqa: S101 (for the type checker; whoever calls has asked)
    return float(rates[0]), float(rates[1])


def ones_law(size: int, keep: float, flip: float) -> FloatArray:
    """Return the distribution of the number of ones.

    >>> ones_law(2, 0.75, 0.25)
    array([0.1875, 0.625 , 0.1875])
    """
    from scipy.special import gammaln

    ones = np.arange(size)
    ways = gammaln(size) - gammaln(ones + 1) - gammaln(size - ones)
    others = np.exp(ways + ones * math.log(flip) + (size - 1 - ones) * math.log1p(-flip))
    both = np.append(others, 0.0) * (1 - keep) + np.append(0.0, others) * keep
    law: FloatArray = both / both.sum()
    return law


def _pooled(expected: FloatArray) -> Indices:
    """Return the class of each number of ones: itself, or a tail."""
    common = np.flatnonzero((np.cumsum(expected) >= FEWEST) & (np.cumsum(expected[::-1])[::-1] >= FEWEST))
    if not common.size:
        return np.zeros(expected.size, dtype=np.int64)
    classes: Indices = np.clip(np.arange(expected.size), common[0], common[-1]) - common[0]
    return classes


def _ones_chance(ones: FloatArray, law: FloatArray, classes: Indices, seed: int) -> tuple[float, float]:
    """Return the p-value of the ones, and their likelihood ratio.

    The smaller of two bounds, by mean and by likelihood ratio, is ranked among replicates.
    """
    total = float(ones.sum())
    drawn = np.random.default_rng(seed).multinomial(max(1, round(total)), law, size=REPLICATES)
    rows = np.vstack([ones, drawn]).astype(np.float64)
    bounds, ratios = _ones_bounds(rows, law, classes)
    ranked = (1 + int(np.count_nonzero(bounds[1:] <= bounds[0]))) / (REPLICATES + 1)
    # Below all replicates the bound itself is the better p-value: the number of ones is a sum of many.
    return (ranked if ranked > 1 / (REPLICATES + 1) else min(ranked, 2 * float(bounds[0]))), float(ratios[0])


def _ones_bounds(rows: FloatArray, law: FloatArray, classes: Indices) -> tuple[FloatArray, FloatArray]:
    from scipy.special import gammaincc, ndtr

    numbers, totals = np.arange(law.size), rows.sum(axis=1)
    mean = float(law @ numbers)
    by_mean = 2 * ndtr(-np.abs(rows @ numbers - totals * mean) / np.sqrt(totals * float(law @ (numbers - mean) ** 2)))
    grouped = np.stack([np.bincount(classes, row) for row in rows])
    expected = totals[:, None] * np.bincount(classes, law)
    logs = np.log(np.divide(grouped, expected, out=np.ones_like(grouped), where=grouped > 0))
    ratios: FloatArray = np.maximum(2 * (grouped * logs).sum(axis=1), 0.0)
    by_ratio = gammaincc(classes[-1] / 2, ratios / 2) if classes[-1] else np.ones(rows.shape[0])
    return np.minimum(by_mean, by_ratio), ratios


def _single_bits(bits: BitArray, counts: FloatArray, mechanism: Mechanism) -> tuple[float, Outlier]:
    """Return the p-value of impossible bit frequencies, and the worst bit."""
    from scipy.special import bdtr, bdtrc

    (keep, flip), total, sets = rates_of(mechanism), round(float(counts.sum())), counts @ bits
    rare, often = bdtr(sets, total, flip), bdtrc(sets - 1, total, keep)
    worst = int(np.argmin(np.minimum(rare, often)))
    expected = total * (flip if rare[worst] < often[worst] else keep)
    outlier = Outlier(f"The bit of {name_of(mechanism.alphabet, worst)}", float(sets[worst]), expected)
    return min(1.0, 2 * sets.size * float(min(rare[worst], often[worst]))), outlier


def _pairs_of_bits(bits: BitArray, counts: FloatArray, flip: float) -> float:
    """Return the p-value of the most dependent pair of bits."""
    from scipy.special import ndtr

    size = bits.shape[1]
    # The pairs of 512 bits take a second for 50,000 reports.
    if counts.sum() * flip**2 < 20 or size > 512:
        return 1.0  # too rare for a normal tail, or too many pairs
    first, second = np.zeros((size, size)), np.zeros((size, size))
    for start in range(0, bits.shape[0], 50_000):
        centred = bits[start : start + 50_000].astype(np.float32) - np.float32(flip)
        weighted = centred * counts[start : start + 50_000, None].astype(np.float32)
        first += weighted.T @ centred
        second += (weighted * centred).T @ centred**2
    upper = np.triu_indices(size, 1)
    return min(1.0, upper[0].size * 2 * float(ndtr(-np.abs(first[upper]) / np.sqrt(second[upper])).min()))


def _same_vectors(counts: Counts, mechanism: Mechanism) -> float:
    """Return a bound on the chance that a vector repeats so often."""
    times = round(float(counts.counts.max()))
    return 1.0 if times < 2 else _chance_of_same(times, counts.total, mechanism)


def _chance_of_same(times: int, total: float, mechanism: Mechanism) -> float:
    """Return the expected number of equal sets of reports, or 1."""
    # Reports of different values agree in a bit with at most the probability that those of the same value do.
    # In logarithms: a vector that thousands sent has a chance far below the smallest float.
    with np.errstate(divide="ignore"):  # a rate may round to one, whose other side has no logarithm
        own, other = (np.logaddexp(times * np.log(rate), times * np.log1p(-rate)) for rate in rates_of(mechanism))
    agree = mechanism.alphabet.size * float(max(own, other))
    sets = math.lgamma(total + 1) - math.lgamma(times + 1) - math.lgamma(total - times + 1)
    return math.exp(min(0.0, sets + agree))


def _sights(law: FloatArray, classes: Indices, total: float, mechanism: Mechanism) -> list[Power]:
    """Compute the power of the test, for any population."""
    from scipy.special import ndtr

    expected, numbers, degrees = np.bincount(classes, total * law), np.arange(law.size), int(classes[-1])
    singles = []
    for share in (BOTS, HONEST):  # bots and devices that do not blur set one bit and no other
        shifted = (1 - share) * expected
        shifted[classes[1]] += share * total
        noncentral = float(((shifted - expected) ** 2 / expected).sum())
        singles.append(noncentral_power(LEVEL / 2, degrees, noncentral) if degrees else 0.0)
    sights = [Power(f"{BOTS:.0%} bots at one value", singles[0])]
    mean = float(law @ numbers)
    spread = math.sqrt(float(law @ (numbers - mean) ** 2) / total)
    for factor in FACTORS_TRIED:
        changed = scaled(mechanism, factor)
        if changed is not None:
            change = float(ones_law(law.size - 1, *rates_of(changed)) @ numbers) - mean
            power = float(ndtr(abs(change) / spread - 2.3))
            sights.append(Power(f"a wrong epsilon ({factor:g}x)", power, is_needed=factor > 1))
    twice = float(total >= 2 and 3 * _chance_of_same(2, total, mechanism) / (1 - ONES) <= LEVEL)
    sights.append(Power(f"{TWICE:.0%} duplicate reports", twice, is_needed=False))
    return [*sights, Power(f"{HONEST:.0%} of devices sending true values", singles[1], is_needed=False)]


def _unusual_ones(ones: FloatArray, expected: FloatArray, classes: Indices) -> list[Outlier]:
    """Return the two classes of ones furthest from expectation."""
    seen, due = np.bincount(classes, ones), np.bincount(classes, expected)
    worst = np.argsort(-np.abs(seen - due) / np.sqrt(due))[:2].tolist()
    found = []
    for one in worst:
        numbers = np.flatnonzero(classes == one)
        several = f"{numbers[0]} to {numbers[-1]} ones" if numbers.size > 1 else counted(int(numbers[0]), "one")
        found.append(Outlier(f"A vector with {several}", float(seen[one]), float(due[one])))
    return found


def _repeated(counts: Counts, mechanism: Mechanism) -> list[str]:
    most = float(counts.counts.max())
    if _same_vectors(counts, mechanism) > 1e-6:
        return []
    least = float(counts.counts.min())
    if least > 1 and counts.counts.size > 20:
        return [f"Likely cause: a repeated upload. Every vector came at least {counted(round(least), 'time')}."]
    return [f"Likely cause: bots, or a broken device. One vector came {counted(round(most), 'time')}."]


def _other_epsilon(ones: FloatArray, mechanism: Mechanism) -> list[str]:
    """Name the epsilon that explains the mean number of ones.

    Nothing if the distribution of the ones fits no epsilon.
    """
    size, total, numbers = mechanism.alphabet.size, float(ones.sum()), np.arange(ones.size)
    mean = float(ones @ numbers) / total
    low, high = -3.0, 3.0  # powers of two
    for _ in range(40):
        middle = (low + high) / 2
        changed = scaled(mechanism, 2.0**middle)
        if changed is None:
            return []
        law = ones_law(size, *rates_of(changed))
        low, high = (middle, high) if float(law @ numbers) > mean else (low, middle)
    epsilon = getattr(mechanism, "epsilon", math.nan)
    if middle > 2.99:
        return ["Likely cause: devices that add hardly any noise, or none. The vectors have hardly a bit too many."]
    classes = _pooled(total * law)
    if middle < -2.99 or abs(middle) < 0.02 or float(_ones_bounds(ones[None], law, classes)[0][0]) < 1e-6:
        return []
    return [f"Likely cause: another epsilon. The reports fit about {epsilon * 2**middle:.3g}, not {epsilon:g}."]
