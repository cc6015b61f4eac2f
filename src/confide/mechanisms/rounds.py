"""Two rounds of noise: permanent, then fresh in every report.

All reports of one value come from one permanent output, so together they reveal no more than it does. Two reports still
differ, so nobody can be tracked by a report that never changes (Erlingsson and others, RAPPOR, 2014).
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
from confide.mechanisms.base import Facts, Mechanism, Premise, Proof, require_finite, require_mechanism
from confide.mechanisms.combinations import Product
from confide.mechanisms.guarantees import Guarantee, LocalDP, MetricPrivacy, epsilon_above
from confide.mechanisms.randomized_response import BitEncoding, RandomizedResponse, UnaryEncoding
from confide.mechanisms.sampling import Bits
from confide.values import Alphabet, Indices, LineGeometry


@dataclass(frozen=True, repr=False)
class TwoRounds(Mechanism):
    """Add permanent noise to a value, then fresh noise in every report.

    :attr:`guarantee` is the promise of one report. :attr:`lasting` is the promise of any number of reports of the same
    value while the permanent output stays the same. ``rng=Permanent(secret)`` ensures that without storing anything. A
    seed draws both rounds anew, for simulation.

    Parameters
    ----------
    permanent
        The first round.
    fresh
        The second round, whose values are the reports of the first. After a unary encoding, which reports bits, it is a
        unary encoding over the same values, which adds noise to each bit: RAPPOR as deployed.

    Examples
    --------
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
    about = "permanent noise from a person's secret, then fresh noise in every report"
    example: ClassVar[Mapping[str, str]] = {
        "categories": """\

[mechanism.permanent]          # drawn once per value, from a person's secret: its promise covers any number of
kind = "unary"                 # reports of the same value
keep = 0.75
flip = 0.25

[mechanism.fresh]              # drawn again for every report, from the bits above
kind = "unary"
keep = 0.75
flip = 0.5
""",
        **{
            alphabet: f"""\

[mechanism.permanent]          # drawn once per value, from a person's secret: its promise covers any number of
kind = "{kind}"   # reports of the same value
epsilon = 0.05

[mechanism.fresh]              # drawn again for every report, from the output above
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
                f"A unary encoding reports bits, so fresh must be a unary encoding too, such as "
                f"Unary(alphabet, keep=0.75, flip=0.5); got {self.fresh!r}."
            )
        if self.fresh.alphabet != between:
            raise InvalidParameterError(
                f"fresh must take the reports of {self.permanent!r}, {between!r}; it takes {self.fresh.alphabet!r}."
            )
        self.guarantee  # noqa: B018 (fails now rather than at the first report)

    @property
    def alphabet(self) -> Alphabet:  # type: ignore[override]
        """The values."""
        return self.permanent.alphabet

    @property
    def report_alphabet(self) -> Alphabet:
        return self.fresh.report_alphabet

    @cached_property
    def guarantee(self) -> Guarantee:
        """Promise of one report.

        It follows from the structure, or else from the weights if they are few, or else from :func:`one_report`.
        """
        if self._whole is not None:
            return self._whole.guarantee
        promised = one_report(self.permanent, self.fresh)
        products = self.alphabet.size * self.fresh.alphabet.size * self.report_alphabet.size
        # Up to 2**14 products of weights, the smallest epsilon that they keep is quick to compute.
        if not isinstance(promised, LocalDP) or products > 2**14:
            return promised
        rows = [self.weights(number) for number in range(self.alphabet.size)]
        totals = [sum(row) for row in rows]
        shares = [[Fraction(*one) for one in zip(column, totals, strict=True)] for column in zip(*rows, strict=True)]
        used = [column for column in shares if max(column) > 0]
        if min(map(min, used)) == 0:
            return LocalDP(math.inf)
        worst = max(max(column) / min(column) for column in used)
        return LocalDP(epsilon_above(worst) if worst > 1 else 0.0)

    @property
    def lasting(self) -> Guarantee:
        """Promise of any number of reports of one value.

        All of them come from one output of the permanent round.
        """
        return self.permanent.guarantee

    @property
    def facts(self) -> Facts:
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
        # If one round has the same possible outputs for every value, so has the product.
        is_positive = True if any(one.is_positive for one in both) else None
        return Facts(is_positive=is_positive, independence=rank if len(proofs) == 2 else None, rounds=rounds)

    @property
    def has_channel(self) -> bool:
        return self.alphabet.is_listable and self.report_alphabet.bits is None

    @cached_property
    def channel(self) -> Channel:
        """See :attr:`Mechanism.channel`; the product of both, without its matrix."""
        return Composed(self.permanent.channel, self.fresh.channel) if self._whole is None else self._whole.channel

    def part(self, *names: str) -> Mechanism | None:
        return None if self._whole is None else self._whole.part(*names)

    def observe(self, counts: Counts) -> Evidence:
        # Bits have too many outputs for a matrix; the mechanism in one round has the columns of those seen.
        if self.has_channel or self._whole is None:
            return super().observe(counts)
        self.refuse_strays(counts)
        return self._whole.observe(counts)

    def weights(self, index: int) -> Sequence[int]:
        """See :meth:`Mechanism.weights`; sums over the permanent outputs."""
        if self._whole is not None:
            return self._whole.weights(index)
        own = self.permanent.weights(index)
        return [sum(map(mul, own, column)) for column in self._columns]

    @cached_property
    def _columns(self) -> list[tuple[int, ...]]:
        """Weights of the fresh round with equal row totals, by output."""
        rows = [self.fresh.weights(number) for number in range(self.fresh.alphabet.size)]
        totals = [sum(row) for row in rows]
        common = math.lcm(*totals)
        scaled = [[weight * (common // total) for weight in row] for row, total in zip(rows, totals, strict=True)]
        return list(zip(*scaled, strict=True))

    @cached_property
    def _whole(self) -> Mechanism | None:
        """The same mechanism in one round, or `None`.

        It exists if both rounds are bits, attributes or k-RR.
        """
        first, second = self.permanent.facts, self.fresh.facts
        if first.bits is not None and second.bits is not None:
            keep, flip = second.bits
            own, other = (flip + (keep - flip) * probability for probability in first.bits)
            return BitEncoding(self.alphabet, own, other)
        if first.parts is not None and second.parts is not None and list(first.parts) == list(second.parts):
            return Product(**{name: TwoRounds(part, second.parts[name]) for name, part in first.parts.items()})
        if first.premise is second.premise is Premise.OWN_VALUE and self.alphabet.is_listable:
            one, other = (Fraction(*mechanism.weights(0)[:2]) for mechanism in (self.permanent, self.fresh))
            ratio = (one * other + self.alphabet.size - 1) / (one + other + self.alphabet.size - 2)
            return AlikeRows(self.alphabet, epsilon_above(ratio), ratio)
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
    """Randomized response by its exact ratio of weights.

    The ratio is between the weight of the value and that of any other; epsilon is the smallest that it keeps.
    """

    ratio: Fraction

    @property
    def _ratio(self) -> Fraction:
        return self.ratio


def between_rounds(permanent: Mechanism) -> Alphabet:
    """Return the alphabet that a fresh round takes.

    It is the permanent round's report alphabet; for bits, the values that have them.
    """
    reports = permanent.report_alphabet
    return permanent.alphabet if reports.bits is not None else reports


def one_report(permanent: Mechanism, fresh: Mechanism) -> Guarantee:
    """Return the promise of one report, from each round's promise.

    Let a bound the log-ratio of the permanent round for two values, and b that of the fresh one for any two inputs. The
    fresh round's probabilities of one report lie between m and e^b m. The ratio of their means under two distributions
    that differ by a factor of at most e^a is largest if the means are taken over a set and its complement whose
    probabilities differ by e^a and e^-a: it is then (1 + e^(a+b)) / (e^a + e^b). Its logarithm is concave in a, with
    slope tanh(b / 2) at 0. So it is at most a tanh(b / 2), which works for bounds that grow with a distance.

    Suppose the fresh bound grows with a distance too, and the permanent round adds the same noise to every value and
    clamps the sum to a line or a box. Then two values with the same noise get no further apart, the fresh round alone
    keeps its promise for them, and the smaller of both bounds holds.

    In all other cases the permanent round's promise holds, because the fresh round is post-processing.

    >>> from confide import Integers, RandomizedResponse, TruncatedGeometric
    >>> ages = Integers(0, 99, unit="year")
    >>> one_report(TruncatedGeometric(ages, 0.05), TruncatedGeometric(ages, 0.02)).terms
    '0.02 per year'
    >>> one_report(TruncatedGeometric(ages, 0.05), RandomizedResponse(ages, 2.0)).terms
    '0.03808 per year'
    """
    first, second = permanent.guarantee, fresh.guarantee
    up = 1 + 1e-13  # rounds a float64 promise up, by a hundred times its rounding error
    if isinstance(second, LocalDP) and isinstance(first, LocalDP):
        least = min(first.epsilon, second.epsilon)
        if math.isinf(max(first.epsilon, second.epsilon)):
            return LocalDP(least)
        # log((1 + e^(a+b)) / (e^a + e^b)), without cancellation.
        gain = math.expm1(first.epsilon) * math.expm1(second.epsilon)
        gain /= math.exp(first.epsilon) + math.exp(second.epsilon)
        return LocalDP(min(least, math.log1p(gain) * up))
    if isinstance(first, MetricPrivacy) and isinstance(second, LocalDP):
        slope = math.tanh(second.epsilon / 2) * up
        return replace(first, epsilon=first.epsilon * slope) if 0 < slope < 1 else first
    if isinstance(first, MetricPrivacy) and isinstance(second, MetricPrivacy) and second.metric == first.metric:
        # Whether two values with the same noise come out no further apart than they are.
        noise, outputs = permanent.facts.noise, permanent.report_alphabet
        is_box = outputs.grid is not None and not outputs.grid.holes
        is_line = isinstance(outputs.geometry, LineGeometry) and outputs.positions is None
        if noise is not None and not noise.is_redrawn and not noise.points and (is_line or is_box):
            return replace(first, epsilon=min(first.epsilon, second.epsilon))
    return first


def rounded_rows(permanent: Mechanism, fresh: Mechanism) -> list[list[int]]:
    """Return weights of two rounds, each within 2^-250 of its value.

    Weights of noise have thousands of bits, and exact products keep them all: 27 s for 100 ages, against under 1 s
    here.
    """
    rounded: list[list[list[int]]] = []
    for one in (permanent, fresh):
        # Rows as multiples of a unit so small that the smallest weight is at least 2^252 units.
        rows = [one.weights(number) for number in range(one.alphabet.size)]
        totals = [sum(row) for row in rows]
        least = min(weight.bit_length() for row in rows for weight in row if weight)
        shift = 256 + max(total.bit_length() for total in totals) - least
        scaled = zip(rows, totals, strict=True)
        rounded.append([[(weight << shift) // total for weight in row] for row, total in scaled])
    columns = list(zip(*rounded[1], strict=True))
    return [[sum(map(mul, own, column)) for column in columns] for own in rounded[0]]
