"""Audits: check that a mechanism keeps its promise and draws as declared.

>>> import confide as cf
>>> result = audit(cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0))
>>> result.holds, round(result.worst.relative, 6), result.extent.value
(True, 1.0, 'exact over all pairs')
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from itertools import accumulate

import numpy as np

from confide.errors import InvalidParameterError
from confide.mechanisms.base import Mechanism, require_mechanism
from confide.mechanisms.draws import SEED, Draws, count_draws, probed_values
from confide.mechanisms.facts import LatticeNoise, Premise
from confide.mechanisms.guarantees import LocalDP, MetricPrivacy
from confide.mechanisms.promises import MOST_BITS, WorstRatio, power_exceeds, worst_of_rows
from confide.mechanisms.rounds import rounded_rows
from confide.mechanisms.sampling import log_of
from confide.values import Alphabet, Selection
from confide.values.checks import check_count
from confide.values.metrics import Bracket, Euclidean, Manhattan, Uneven
from confide.values.wording import Shown, counted, label_value

LARGEST_BITS = 2**31
"""Most bits of all weights for which every row is made: 300 values of geometric noise, one second."""

LARGEST_MULTIPLIED = 2**28
"""Most bits of all products of two rounds' weights that are multiplied: a second or two."""


class Extent(Enum):
    """Pairs that were compared, always in exact arithmetic."""

    ALL_PAIRS = "exact over all pairs"
    DIGITS = "over all pairs, to 70 digits"
    STRUCTURE = "exact by structure"
    SAMPLE = "exact on a sample of pairs"


@dataclass(frozen=True)
class Audit(Shown):
    """Outcome of an audit.

    Attributes
    ----------
    mechanism
        The audited mechanism.
    worst
        The largest log-ratio relative to its promise, with the numbers of its pair and output.
    left, right, output
        The pair of values that is easiest to distinguish, and the output that does so, in words.
    extent
        Whether all pairs were compared, their structure, or a sample.
    compared
        What was compared, and what was not, in a sentence.
    draws
        Reports drawn and counted.
    channel_error
        The largest relative difference, beyond rounding, between the channel that estimates use and the weights that
        reports are drawn from. 0 if they agree; `None` if there is no channel.
    lasting
        Audit of the permanent round, for the promise of any number of reports of one value; `None` without one.
    """

    mechanism: Mechanism
    worst: WorstRatio
    left: str
    right: str
    output: str
    extent: Extent
    compared: str
    draws: Draws
    channel_error: float | None = None
    lasting: Audit | None = None

    @property
    def holds(self) -> bool:
        """Whether promise, draws and channel all pass."""
        return not self.faults

    @property
    def faults(self) -> tuple[str, ...]:
        """Everything that is wrong, one sentence each."""
        found = []
        if self.worst.exceeds and not self.worst.is_measured:
            found.append("THE PROMISE IS NOT PROVEN: a part that it follows from breaks its own promise.")
        elif self.worst.exceeds:
            # Six digits of a tiny excess would look like no excess: state the difference instead.
            is_clear = self.worst.relative >= 1 + 1e-6
            times, more = f"{self.worst.relative:.6g} times the bound", f"a relative excess of {self.worst.excess:.2g}"
            found.append(f"THE PROMISE IS BROKEN: {self._ratio}: {times if is_clear else more}.")
        if not self.draws.agree:
            found.append(
                f"THE SAMPLER DRAWS SOMETHING ELSE: {counted(self.draws.reports, 'report')} of "
                f"{counted(self.draws.values, 'value')} have p = {self.draws.p_value:.3g} under the declared "
                f"probabilities. Value number {self.draws.suspect} deviates most."
            )
        if self.channel_error:
            found.append(
                f"THE CHANNEL DIFFERS from the weights that reports are drawn from, by a relative "
                f"{self.channel_error:.3g}: estimates are wrong."
            )
        return tuple(found) + (() if self.lasting is None else self.lasting.faults)

    def __str__(self) -> str:
        later = "" if self.lasting is None else f" For any number of reports of one value: {self.lasting}"
        if self.faults:
            return " ".join([*self.faults, self.compared]) + later
        if self.worst.log_ratio == 0:
            return f"The promise holds: no output distinguishes any two values. {self.compared}{later}"
        if not self.worst.is_measured:
            return f"The promise holds, by a theorem. {self.compared} {self._drawn}{later}"
        return f"The promise holds: {self._ratio}. This is the worst case. {self.compared} {self._drawn}{later}"

    @property
    def _ratio(self) -> str:
        return (
            f"output {self.output} is e^{self.worst.log_ratio:.6g} times as likely under {self.left} as under "
            f"{self.right}; the bound is e^{self.worst.bound:.6g}"
        )

    @property
    def _drawn(self) -> str:
        return (
            f"{counted(self.draws.reports, 'report')} drawn for {counted(self.draws.values, 'value')} have the "
            f"declared distribution. The tests would have found, with 95% power, {self.draws.sensitivity}."
        )


def audit(mechanism: Mechanism, *, reports: int = 500_000) -> Audit:
    """Audit a mechanism: exact weights against its promise, reports against weights.

    It compares all pairs of values under all outputs if they are few enough. For unbounded and large mechanisms it uses
    the structure that they declare (:class:`confide.mechanisms.Facts`): noise, bits, parts. For a large mechanism that
    declares nothing it compares a sample of pairs, and the result says so.

    Parameters
    ----------
    mechanism
        Any mechanism. One with only `alphabet`, `guarantee` and `weights` is audited in full.
    reports
        Number of reports to draw, half of them from secure bits. For every 500 of them, one more is drawn singly and
        one with permanent noise. At 100 ages, this detects an epsilon of 0.05 per year that is 3% too large.

    >>> import confide as cf
    >>> audit(cf.TruncatedPlanarLaplace(cf.Grid(4, 4), epsilon=1.0)).holds
    True
    """
    require_mechanism("mechanism", mechanism)
    check_count("reports", reports, 1)
    worst, extent, compared, rows = _compare(mechanism)
    left, right = (_label(mechanism.alphabet, number) for number in (worst.left, worst.right))
    output = _label(mechanism.report_alphabet, worst.output)
    values = mechanism.alphabet
    last = values.size - 1 if values.is_finite else 10**6  # far from the first, for noise that depends on the value
    middle = min(last, last // 2 + math.isqrt(last) // 2)  # half a row further: the middle of a square, not its border
    key_values = np.unique(np.array([0, last, middle, worst.left, worst.right]))
    draws = count_draws(mechanism, key_values, reports)
    kind = type(mechanism)
    if kind._draw is Mechanism._draw and kind._report is Mechanism._report:
        # If reports are drawn from rows, these rows must equal the weights exactly.
        drawn, probed = mechanism._rows.cumulative, probed_values(mechanism, key_values).tolist()
        if not all(drawn[number] == tuple(accumulate(mechanism.weights(number))) for number in probed):
            draws = replace(draws, p_value=0.0)
    rounds = mechanism.facts.rounds
    lasting = None if rounds is None else audit(rounds[0], reports=reports)
    error = _channel_error(mechanism, rows)
    return Audit(mechanism, worst, left, right, output, extent, compared, draws, error, lasting)


Rows = dict[int, Sequence[int]]
"""Exact weights by value number."""

Comparison = tuple[WorstRatio, Extent, str, Rows]


def _compare(mechanism: Mechanism) -> Comparison:
    """Compare all rows, or what the structure proves, or some rows."""
    if _can_list_rows(mechanism):
        values, outputs = mechanism.alphabet, mechanism.report_alphabet
        rows = _rows(mechanism, range(values.size))
        worst = worst_of_rows(rows.values(), values, mechanism.guarantee, given_as_floats=_is_rounded(mechanism))
        pairs = math.comb(values.size, 2)
        compared = f"{_count_pairs(pairs)} compared under {_all(outputs.size, 'output')}, as integers."
        return worst, Extent.ALL_PAIRS, compared, rows

    by_structure = _compare_structure(mechanism)
    if by_structure is not None:
        return by_structure
    if mechanism.alphabet.is_listable and mechanism.report_alphabet.is_listable:
        return _compare_sample(mechanism)
    raise InvalidParameterError(
        f"{mechanism!r} cannot be audited: it has too many values or outputs to compare, and declares no structure. "
        f"Let its facts name its noise, bits, parts or origin, or audit it on a smaller alphabet."
    )


def _compare_structure(mechanism: Mechanism) -> Comparison | None:
    """Compare what the declared facts reduce the promise to, or return `None`."""
    facts, is_local = mechanism.facts, isinstance(mechanism.guarantee, LocalDP)
    metric = getattr(mechanism.guarantee, "metric", None)
    if facts.noise is not None and isinstance(metric, Euclidean | Manhattan | Uneven):
        return _compare_noise(mechanism, facts.noise)  # these metrics add up along straight lines
    if facts.bits is not None and is_local:
        keep, flip = facts.bits
        odds = keep * (1 - flip) / (flip * (1 - keep))
        ratio, epsilon = min(odds, 1 / odds), Fraction(mechanism.guarantee.epsilon)  # type: ignore[attr-defined]
        exceeds, log_ratio = power_exceeds(ratio, 1, lambda _: (epsilon, epsilon)), -log_of(ratio)
        excess = log_ratio - float(epsilon) if exceeds else 0.0
        why = (
            "Bits are independent, and two values differ in the probabilities of two bits only. So the odds of a kept "
            "bit divided by those of a flipped one, in integers, are the largest ratio of any two values under any "
            "bit vector."
        )
        return WorstRatio(0, 1, 1, log_ratio, float(epsilon), exceeds, excess), Extent.STRUCTURE, why, {}
    if facts.parts is not None:
        return _compare_parts(facts.parts)
    if facts.origin is not None:
        # Merging outputs may lower the largest ratio; by how much is not computed.
        worst, extent, compared, _ = _compare(facts.origin[0])
        why = (
            f"Reports are made from the outputs of another mechanism, so by post-processing they reveal no more; "
            f"how much less was not computed. The other mechanism: {compared}"
        )
        output = int(facts.origin[1][worst.output])
        found = replace(worst, output=output, log_ratio=worst.bound, excess=0.0, is_measured=False)
        return found, Extent.STRUCTURE if extent is Extent.ALL_PAIRS else extent, why, {}
    if facts.rounds is not None and facts.premise is not Premise.OWN_VALUE:
        return _compare_rounds(mechanism, *facts.rounds)
    is_listed = mechanism.report_alphabet.is_listable
    return _compare_own_values(mechanism) if facts.premise is Premise.OWN_VALUE and is_local and is_listed else None


def _can_list_rows(mechanism: Mechanism) -> bool:
    """Whether all rows of weights can be made and compared."""
    values, outputs, facts = mechanism.alphabet, mechanism.report_alphabet, mechanism.facts
    if not (values.is_listable and outputs.is_listable) or (facts.origin and not _can_list_rows(facts.origin[0])):
        return False
    entries = values.size * outputs.size
    steps = entries if isinstance(mechanism.guarantee, LocalDP) else entries * values.size
    # Pairs of values times outputs up to which all are compared: 2**33, which is 2,048 of each and takes half a minute.
    # Only 2**20 for products: all their ratios are at their bounds, which takes exact arithmetic, and their parts prove
    # as much.
    if steps > (2**33 if facts.parts is None else 2**20) or entries > LARGEST_BITS // 64:
        return False
    # Weights of uneven values have 64 bits per lattice point; multiplying those of 100,000 points took 8 s.
    if facts.noise is not None and facts.noise.points > 4096:
        return False
    if facts.rounds is not None and facts.premise is not Premise.OWN_VALUE:
        products = _count_products(*facts.rounds)
        bits = sum(max(weight.bit_length() for weight in one.weights(0)) for one in facts.rounds if products)
        if products is None or products * bits > LARGEST_MULTIPLIED:
            return False
    # One row shows how long the weights are: those of noise grow with the number of values.
    return values.size * sum(weight.bit_length() for weight in mechanism.weights(0)) <= LARGEST_BITS


def _count_products(permanent: Mechanism, fresh: Mechanism) -> int | None:
    """Return the number of products of two rounds' weights, or `None`.

    `None` if the weights of one round cannot be listed.
    """
    if not (_can_list_rows(permanent) and _can_list_rows(fresh)):
        return None
    return permanent.alphabet.size * fresh.alphabet.size * fresh.report_alphabet.size


def _compare_noise(mechanism: Mechanism, noise: LatticeNoise) -> Comparison:
    """Compare the noise with the promise for neighbours; other pairs follow.

    A sum of value and noise has P(z | x) = c r^(steps from x to z). From another value, the steps to z increase by at
    most the distance of the two values, so no ratio exceeds r^-steps. Along a line, steps and bounds both add up. On a
    plane, steps are at most sqrt 2 times the Euclidean distance, with equality on the diagonal.
    """
    values, guarantee = mechanism.alphabet, mechanism.guarantee
    assert isinstance(guarantee, MetricPrivacy)  # noqa: S101 (for the type checker; the one caller has asked)
    is_diagonal = values.parts > 1 and noise.ratio is not None and isinstance(guarantee.metric, Euclidean)
    step = [1] * values.parts if is_diagonal or values.parts == 1 else [0, 1]
    points = noise.resolution * sum(step) * (2 if noise.is_redrawn else 1)

    def bracket(precision: int) -> Bracket:
        low, high = guarantee.metric.bracket([0] * len(step), step, precision)
        return Fraction(guarantee.epsilon) * low, Fraction(guarantee.epsilon) * high

    if noise.ratio is not None:
        exceeds, log_ratio = power_exceeds(noise.ratio, points, bracket), -points * log_of(noise.ratio)
    else:
        rate = (noise.rate or Fraction(0)) * points
        exceeds, log_ratio = rate > bracket(MOST_BITS)[1], float(rate)
    # The numbers of two values one step apart, or of the first two values if the first 64 have no such pair.
    first = np.arange(min(values.size, 64) if values.is_finite else 1)
    there = values.locate(values.decode(first) + np.array(step if values.parts > 1 else step[0]))
    found = np.flatnonzero(there >= 0)
    pair = (int(first[found[0]]), int(there[found[0]])) if found.size else (0, min(1, values.size - 1))
    worst = WorstRatio(*pair, _own_output(mechanism, pair[0]), log_ratio, float(bracket(64)[1]), exceeds)
    why = ["The noise is the same for every value, so neighbours, compared as integers, cover all pairs:"]
    why.append("on a plane the promise is tightest on the diagonal." if is_diagonal else "distances add up.")
    if noise.is_clamped:
        why.append("Moving the sum to an output is post-processing, which reveals nothing more.")
    if noise.is_redrawn:
        why.append("Drawing again until the sum is a value costs the same factor once more.")
    return replace(worst, excess=worst.log_ratio - worst.bound if exceeds else 0.0), Extent.STRUCTURE, " ".join(why), {}


def _compare_parts(named: Mapping[str, Mechanism]) -> Comparison:
    """Compare each part.

    Ratios multiply and bounds add, so the worst pair differs in one part only.
    """
    parts = list(named.values())
    found = [_compare(part) for part in parts]
    # Of equal parts the first, which a reader sees first.
    place = max(range(len(parts)), key=lambda place: (found[place][0].exceeds, found[place][0].relative, -place))
    values = math.prod(part.alphabet.size for part in parts[place + 1 :])
    outputs = math.prod(part.report_alphabet.size for part in parts[place + 1 :])
    worst = found[place][0]
    worst = replace(worst, left=worst.left * values, right=worst.right * values, output=worst.output * outputs)
    worst = replace(worst, is_measured=all(one[0].is_measured for one in found))
    extent = Extent.SAMPLE if any(one[1] is Extent.SAMPLE for one in found) else Extent.STRUCTURE
    each = " ".join(f"For {name}: {one[2]}" for name, one in zip(named, found, strict=True))
    why = f"Attributes have independent noise, so their ratios multiply, and each was compared separately. {each}"
    return worst, extent, why, {}


def _compare_rounds(mechanism: Mechanism, permanent: Mechanism, fresh: Mechanism) -> Comparison:
    """Compare all pairs by rounded weights, or else each round separately.

    The promise of one report follows from the promises of both rounds.
    """
    values, outputs = mechanism.alphabet, mechanism.report_alphabet
    products = _count_products(permanent, fresh)
    # 2**23 products of rounded weights, 200 values of each round, take a few seconds.
    if products is not None and products <= 2**23:
        rows: Rows = dict(enumerate(rounded_rows(permanent, fresh)))
        worst = worst_of_rows(rows.values(), values, mechanism.guarantee, given_as_floats=_is_rounded(mechanism))
        # The weights' rounding, 2^-250, is 5e-76: an excess this small is a tie.
        if worst.excess < 1e-70:
            worst = replace(worst, exceeds=False, excess=0.0)
        pairs = _count_pairs(math.comb(values.size, 2))
        why = f"{pairs} compared under {_all(outputs.size, 'output')}, by integers with 70 exact digits."
        return worst, Extent.DIGITS, why, rows
    first, second = _compare(permanent), _compare(fresh)
    bound = float(mechanism.guarantee.bracket(values, first[0].left, first[0].right, 64)[1])
    # The proof gives the bound itself; the true maximum, which is smaller, is not computed.
    exceeds = first[0].exceeds or second[0].exceeds
    found = replace(first[0], output=0, log_ratio=bound, bound=bound, exceeds=exceeds, excess=0.0, is_measured=False)
    sampled = Extent.SAMPLE in (first[1], second[1])
    why = (
        f"The promise of one report follows from the promises of both rounds, which were compared separately. The "
        f"worst pair of values, and its margin, were not computed. The permanent round: {first[2]} The fresh round: "
        f"{second[2]}"
    )
    return found, Extent.SAMPLE if sampled else Extent.STRUCTURE, why, {}


def _compare_own_values(mechanism: Mechanism) -> Comparison | None:
    """Compare a few rows of k-RR's form; all other rows are alike.

    The form is one weight for the value itself and one for all others.
    """
    values = mechanism.alphabet
    numbers = sorted({0, 1, values.size // 2, values.size - 1})
    rows = _rows(mechanism, numbers)
    shapes = {(row[number], *sorted(set(row[:number]) | set(row[number + 1 :]))) for number, row in rows.items()}
    if len(shapes) > 1 or len(next(iter(shapes))) != 2:
        return None  # the rows contradict their declaration
    worst = worst_of_rows(rows.values(), Selection(values, values.decode(numbers)), mechanism.guarantee)
    why = (
        f"Every row declares one weight for its own value and one for all others. {len(numbers)} rows were checked, "
        f"and any two have the same ratio."
    )
    worst = replace(worst, left=numbers[worst.left], right=numbers[worst.right])
    return worst, Extent.STRUCTURE, why, rows


def _compare_sample(mechanism: Mechanism) -> Comparison:
    """Compare the ends, the middle, their neighbours, and random values."""
    values, outputs = mechanism.alphabet, mechanism.report_alphabet
    # At most 128 rows, hence 8,128 pairs, and 2**20 outputs in all rows together; at least four rows.
    count = min(128, max(4, 2**20 // outputs.size), values.size)
    middle = values.size // 2
    picked = [0, 1, values.size - 1, values.size - 2, middle, middle + 1]
    picked += np.random.default_rng(SEED).choice(values.size, count, replace=False).tolist()
    numbers = list(dict.fromkeys(picked))[:count]
    rows = _rows(mechanism, numbers)
    some = Selection(values, values.decode(numbers))
    worst = worst_of_rows(rows.values(), some, mechanism.guarantee, given_as_floats=_is_rounded(mechanism))
    pairs, every = math.comb(len(numbers), 2), math.comb(values.size, 2)
    compared = (
        f"{pairs:,} of {every:,} pairs of values were compared under {_all(outputs.size, 'output')}, as integers: "
        f"the ends, the middle, their neighbours and random values. The other {every - pairs:,} were not."
    )
    worst = replace(worst, left=numbers[worst.left], right=numbers[worst.right])
    return worst, Extent.SAMPLE, compared, rows


def _is_rounded(mechanism: Mechanism) -> bool:
    """Whether weights come from a user's float64 numbers, directly or not."""
    facts = mechanism.facts
    behind = [*(facts.parts or {}).values(), *(() if facts.origin is None else facts.origin[:1]), *(facts.rounds or ())]
    return facts.is_rounded or any(map(_is_rounded, behind))


def _own_output(mechanism: Mechanism, value: int) -> int:
    """Return the number of the report that names the value, else 0."""
    outputs = mechanism.report_alphabet
    return max(0, int(outputs.locate(outputs.as_array(mechanism.alphabet.decode([value])))[0]))


def _channel_error(mechanism: Mechanism, rows: Rows) -> float | None:
    """Return the largest relative difference of channel and weights, beyond rounding."""
    if not rows or not mechanism.has_channel:
        return None
    relative, absolute = 1e-9, 1e-15  # the FFT of planes leaves as much
    largest = 0.0
    for number, row in rows.items():
        total = sum(row)
        exact = np.array([weight / total for weight in row])
        difference = np.abs(mechanism.channel.select(np.array([number]))[0] - exact)
        off = difference > relative * exact + absolute
        if off.any():
            largest = max(largest, float((difference[off] / np.maximum(exact[off], absolute)).max()))
    return largest


def _rows(mechanism: Mechanism, numbers: Iterable[int]) -> Rows:
    """Return the weights of some values, checked for length."""
    rows = {number: mechanism.weights(number) for number in numbers}
    for number, row in rows.items():
        if len(row) != mechanism.report_alphabet.size:
            raise InvalidParameterError(
                f"Row {number} has {counted(len(row), 'weight')}, but there are {mechanism.report_alphabet.size:,} "
                f"outputs."
            )
    return rows


def _label(alphabet: Alphabet, number: int) -> str:
    value = alphabet.decode([number]).tolist()[0]
    if alphabet.bits is not None and alphabet.parts > 1:
        return f"{value[0]} (of {alphabet.bits.length:,} bits)"  # the number fits into the first word
    return alphabet.labels([number])[0] if alphabet.has_labels else label_value(value)


def _count_pairs(pairs: int) -> str:
    """Return the subject of a sentence, with its verb."""
    if pairs < 2:
        return "There is no pair of values to be" if pairs == 0 else "The one pair of values was"
    return f"All {pairs:,} pairs of values were"


def _all(count: int, noun: str) -> str:
    return f"the one {noun}" if count == 1 else f"all {counted(count, noun)}"
