"""Two rounds of noise: a permanent one, drawn once for a value and kept, and a fresh one in every report.

All reports of one value are made from one permanent output, so that any number of them tell no more than it does; and
two of them differ, so that nobody can be followed by a report that never changes (Erlingsson and others, RAPPOR, 2014).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from operator import mul
from typing import Any, ClassVar

from numpy.typing import NDArray

from confide.channels import Channel, Composed
from confide.errors import InvalidParameterError
from confide.evidence.counts import Counts
from confide.evidence.evidence import Evidence
from confide.mechanisms.base import Mechanism, require_finite, require_mechanism
from confide.mechanisms.combinations import Product
from confide.mechanisms.facts import Facts, Premise, Proof
from confide.mechanisms.guarantees import Guarantee, LocalDP, MetricPrivacy
from confide.mechanisms.promises import epsilon_above
from confide.mechanisms.randomized_response import BitEncoding, RandomizedResponse, UnaryEncoding
from confide.mechanisms.sampling import Bits
from confide.values import Alphabet, Indices, LineGeometry

ROUNDED = 1e-13
"""Share by which a promise that is computed in float64 is stated larger: a hundred times its rounding."""


@dataclass(frozen=True, repr=False)
class TwoRounds(Mechanism):
    """Blur a value once and for all, and what comes out anew for every report.

    Of the two promises, :attr:`guarantee` is that of one report, and :attr:`lasting` that of any number of reports of
    the same value, for as long as the permanent output is kept: with ``rng=Permanent(secret)`` nothing has to be stored
    for that. A seed draws both rounds anew, for simulation.

    Parameters
    ----------
    permanent
        The first round.
    fresh
        The second, whose values are what the first reports. After a unary encoding, which reports bits, another one
        over the same values, which blurs each of these bits: RAPPOR as it is deployed.

    >>> from confide import Categories, RandomizedResponse, Unary
    >>> colours = Categories(["red", "green", "blue"])
    >>> twice = TwoRounds(RandomizedResponse(colours, 2.0), RandomizedResponse(colours, 2.0))
    >>> twice.guarantee.terms, twice.lasting.terms
    ('epsilon 1.277', 'epsilon 2')
    >>> f, p, q = 0.5, 0.5, 0.75  # as RAPPOR's authors call them
    >>> deployed = TwoRounds(Unary(colours, keep=1 - f / 2, flip=f / 2), Unary(colours, keep=q, flip=p))
    >>> deployed.guarantee.terms, deployed.lasting.terms
    ('epsilon 0.5371', 'epsilon 2.197')
    """

    kind = "two-rounds"
    about = "blurred once and for all by a secret of the person, and what comes out anew in every report"
    example: ClassVar[Mapping[str, str]] = {
        "categories": """\

[mechanism.permanent]          # drawn once for a value, from a secret of the person: what it promises holds for any
kind = "unary"                 # number of reports of the same value
keep = 0.75
flip = 0.25

[mechanism.fresh]              # drawn anew in every report, from the bits above
kind = "unary"
keep = 0.75
flip = 0.5
""",
        **{
            alphabet: f"""\

[mechanism.permanent]          # drawn once for a value, from a secret of the person: what it promises holds for any
kind = "{kind}"   # number of reports of the same value
epsilon = 0.05

[mechanism.fresh]              # drawn anew in every report, from what came out above
kind = "{kind}"
epsilon = 0.02
"""
            for alphabet, kind in (("integers", "truncated-geometric"), ("grid", "truncated-taxicab"))
        },
    }
    permanent: Mechanism
    fresh: Mechanism

    def __post_init__(self) -> None:
        for name in ("permanent", "fresh"):
            require_mechanism(name, getattr(self, name))
            if getattr(self, name).lasting is not None:
                raise InvalidParameterError(f"{name} must be one round of noise; got {getattr(self, name)!r}.")
        between = between_rounds(self.permanent)
        if self.permanent.report_alphabet.bits is None:
            require_finite(between, "TwoRounds")
            require_finite(self.fresh.report_alphabet, "TwoRounds")
        elif not isinstance(self.fresh, UnaryEncoding):
            raise InvalidParameterError(
                f"What a unary encoding reports is blurred bit by bit: fresh must be one too, such as "
                f"Unary(alphabet, keep=0.75, flip=0.5); got {self.fresh!r}."
            )
        if self.fresh.alphabet != between:
            raise InvalidParameterError(
                f"fresh must take {between!r}, as it is given by {self.permanent!r}; it takes {self.fresh.alphabet!r}."
            )
        self.guarantee  # noqa: B018 (fails now rather than at the first report)

    @property
    def alphabet(self) -> Alphabet:  # type: ignore[override]
        """The values."""
        return self.permanent.alphabet

    @property
    def report_alphabet(self) -> Alphabet:
        """See :attr:`Mechanism.report_alphabet`."""
        return self.fresh.report_alphabet

    @cached_property
    def guarantee(self) -> Guarantee:
        """Promise of one report: by structure, else by the weights where there are few, else see :func:`one_report`."""
        if self._whole is not None:
            return self._whole.guarantee
        promised = one_report(self.permanent, self.fresh)
        products = self.alphabet.size * self.fresh.alphabet.size * self.report_alphabet.size
        # 2**14: products of weights of two rounds up to which the promise of one report is the smallest that all of
        # them keep.
        return LocalDP(self._smallest) if isinstance(promised, LocalDP) and products <= 2**14 else promised

    @property
    def _smallest(self) -> float:
        """The smallest epsilon of local differential privacy that the weights keep."""
        rows = [self.weights(number) for number in range(self.alphabet.size)]
        totals = [sum(row) for row in rows]
        shares = [[Fraction(*one) for one in zip(column, totals, strict=True)] for column in zip(*rows, strict=True)]
        used = [column for column in shares if max(column) > 0]
        if min(map(min, used)) == 0:
            return math.inf
        worst = max(max(column) / min(column) for column in used)
        return epsilon_above(worst) if worst > 1 else 0.0

    @property
    def lasting(self) -> Guarantee:
        """Promise of any number of reports of one value: all are made from one output of the permanent round."""
        return self.permanent.guarantee

    @property
    def facts(self) -> Facts:
        """See :attr:`Mechanism.facts`."""
        rounds = self.permanent, self.fresh
        if self._whole is not None:
            return replace(self._whole.facts, rounds=rounds)
        both = [one.facts for one in rounds]
        proofs = [one.independence for one in both if one.independence is not None]
        sources = " and ".join(dict.fromkeys(one.source for one in proofs))
        rank = Proof(
            "The rows of both rounds are linearly independent, and so are those of the product of their matrices.",
            f"rank of a product; {sources}",
        )
        # What one round can report from every value it reports from every distribution over them, and what one makes of
        # the same outputs for every value is the same outputs again.
        is_positive = True if any(one.is_positive for one in both) else None
        return Facts(is_positive=is_positive, independence=rank if len(proofs) == 2 else None, rounds=rounds)

    @property
    def has_channel(self) -> bool:
        """See :attr:`Mechanism.has_channel`."""
        return self.alphabet.is_listable and self.report_alphabet.bits is None

    @cached_property
    def channel(self) -> Channel:
        """See :attr:`Mechanism.channel`; the product of both, of which the matrix is never made."""
        return Composed(self.permanent.channel, self.fresh.channel) if self._whole is None else self._whole.channel

    def part(self, *names: str) -> Mechanism | None:
        """See :meth:`Mechanism.part`."""
        return None if self._whole is None else self._whole.part(*names)

    def observe(self, counts: Counts) -> Evidence:
        """See :meth:`Mechanism.observe`."""
        if self.has_channel or self._whole is None:
            return super().observe(counts)
        self.refuse_strays(counts)
        return self._whole.observe(counts)

    def weights(self, index: int) -> Sequence[int]:
        """See :meth:`Mechanism.weights`; sums over what stands between the rounds."""
        if self._whole is not None:
            return self._whole.weights(index)
        own = self.permanent.weights(index)
        return [sum(map(mul, own, column)) for column in self._columns]

    @cached_property
    def _columns(self) -> list[tuple[int, ...]]:
        """Weights of the fresh round, brought to one total for all rows; one column an output."""
        rows = [self.fresh.weights(number) for number in range(self.fresh.alphabet.size)]
        totals = [sum(row) for row in rows]
        common = math.lcm(*totals)
        scaled = [[weight * (common // total) for weight in row] for row, total in zip(rows, totals, strict=True)]
        return list(zip(*scaled, strict=True))

    @cached_property
    def _whole(self) -> Mechanism | None:
        """The same mechanism in one round, where both have the same structure: bits, attributes, or rows all alike."""
        first, second = self.permanent.facts, self.fresh.facts
        if first.bits is not None and second.bits is not None:
            keep, flip = second.bits
            own, other = (flip + (keep - flip) * probability for probability in first.bits)
            return BitEncoding(self.alphabet, own, other)
        if first.parts is not None and second.parts is not None and list(first.parts) == list(second.parts):
            return Product(**{name: TwoRounds(part, second.parts[name]) for name, part in first.parts.items()})
        if first.premise is second.premise is Premise.OWN_VALUE and self.alphabet.is_listable:
            one, other = (_ratio(mechanism.weights(0)) for mechanism in (self.permanent, self.fresh))
            return AlikeRows.of(
                self.alphabet, (one * other + self.alphabet.size - 1) / (one + other + self.alphabet.size - 2)
            )
        return None

    def _report(self, indices: Indices, bits: Bits) -> NDArray[Any]:
        if not isinstance(self.fresh, UnaryEncoding):
            return super()._report(indices, bits)
        return self.fresh._blur(self.permanent._report(indices, bits), bits.fresh)

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        return self.fresh._draw(self.permanent._draw(indices, bits), bits.fresh)

    def __repr__(self) -> str:
        return f"TwoRounds(permanent={self.permanent!r}, fresh={self.fresh!r})"


@dataclass(frozen=True, repr=False)
class AlikeRows(RandomizedResponse):
    """Randomized response by the exact ratio between the weight of the value and that of any other."""

    ratio: Fraction

    @classmethod
    def of(cls, alphabet: Alphabet, ratio: Fraction) -> AlikeRows:
        """Return it with the smallest epsilon that it keeps."""
        return cls(alphabet, epsilon_above(ratio), ratio)

    @property
    def _inverse_ratio(self) -> Fraction:
        return self.ratio


def between_rounds(permanent: Mechanism) -> Alphabet:
    """Return what a fresh round takes: what the permanent one reports, and for bits the values that have them."""
    reports = permanent.report_alphabet
    return permanent.alphabet if reports.bits is not None else reports


def one_report(permanent: Mechanism, fresh: Mechanism) -> Guarantee:
    """Return the promise of one report of two rounds, as it follows from those of each.

    Let a bound the log-ratio of the permanent round for two values, and b that of the fresh one for any two inputs. Its
    probabilities of one report lie between m and e^b m, and the ratio of their means under two distributions that
    differ by a factor of at most e^a is largest where the means are taken over a set and its complement whose
    probabilities differ by e^a and e^-a: then it is (1 + e^(a+b)) / (e^a + e^b). The logarithm is concave in a, with
    the slope tanh(b / 2) at 0, so that it is at most a tanh(b / 2), which serves bounds that grow with a distance.

    Where the fresh bound grows with a distance too, and the permanent round adds the same noise to every value and
    moves the sum to the nearest of a line or a box, two values with the same noise get no further apart. So the fresh
    round alone keeps its promise for them, and the smaller of both holds.

    In any other case the promise of the permanent round stands, for the fresh one is post-processing.

    >>> from confide import Integers, RandomizedResponse, TruncatedGeometric
    >>> ages = Integers(0, 99, unit="year")
    >>> one_report(TruncatedGeometric(ages, 0.05), TruncatedGeometric(ages, 0.02)).terms
    '0.02 per year'
    >>> one_report(TruncatedGeometric(ages, 0.05), RandomizedResponse(ages, 2.0)).terms
    '0.03808 per year'
    """
    first, second = permanent.guarantee, fresh.guarantee
    if isinstance(second, LocalDP) and isinstance(first, LocalDP):
        return LocalDP(_amplified(first.epsilon, second.epsilon))
    if isinstance(first, MetricPrivacy):
        if isinstance(second, LocalDP):
            slope = math.tanh(second.epsilon / 2) * (1 + ROUNDED)
            return replace(first, epsilon=first.epsilon * slope) if 0 < slope < 1 else first
        if isinstance(second, MetricPrivacy) and second.metric == first.metric and _keeps_distances(permanent):
            return replace(first, epsilon=min(first.epsilon, second.epsilon))
    return first


def _amplified(first: float, second: float) -> float:
    """Return log((1 + e^(a+b)) / (e^a + e^b)), rounded up."""
    if math.isinf(first) or math.isinf(second):
        return min(first, second)
    gain = math.expm1(first) * math.expm1(second) / (math.exp(first) + math.exp(second))
    return min(first, second, math.log1p(gain) * (1 + ROUNDED))


def _keeps_distances(permanent: Mechanism) -> bool:
    """Whether two values with the same noise come out no further apart than they are."""
    noise, outputs = permanent.facts.noise, permanent.report_alphabet
    is_box = outputs.grid is not None and not outputs.grid.holes
    is_line = isinstance(outputs.geometry, LineGeometry) and outputs.positions is None
    return noise is not None and not noise.is_redrawn and not noise.points and (is_line or is_box)


def _ratio(row: Sequence[int]) -> Fraction:
    return Fraction(row[0], row[1])


def rounded_rows(permanent: Mechanism, fresh: Mechanism) -> list[list[int]]:
    """Return the weights of one report of two rounds for every value, each off by less than its 2^-250th part.

    Weights of noise have thousands of bits, which all products of two rounds keep: 27 s for 100 ages, and under 1 s so.
    """
    every = [[one.weights(number) for number in range(one.alphabet.size)] for one in (permanent, fresh)]
    first, second = map(_rounded, every)
    columns = list(zip(*second, strict=True))
    return [[sum(map(mul, own, column)) for column in columns] for own in first]


def _rounded(rows: list[Sequence[int]]) -> list[list[int]]:
    """Return rows as multiples of one small number, of which the smallest weight has 2^252 or more."""
    totals = [sum(row) for row in rows]
    least = min(weight.bit_length() for row in rows for weight in row if weight)
    shift = 256 + max(total.bit_length() for total in totals) - least
    return [[(weight << shift) // total for weight in row] for row, total in zip(rows, totals, strict=True)]
