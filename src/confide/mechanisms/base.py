"""The contract of a mechanism: what it defines, declares and inherits.

Theory reads the declared facts and never asks for a mechanism's class. It computes a missing fact from the channel if
the channel is small enough, and otherwise reports it as unknown. So a mechanism without facts gets correct but slower
answers. ``tests/laws/test_facts.py`` checks every declaration of every registered mechanism against its exact weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.channels import Channel, Dense, Embedded, Layout
from confide.errors import ImpossibleReportError, InvalidParameterError, TooLargeError
from confide.evidence.counts import Counts, Noise, Origin, as_histogram, mark, tally
from confide.evidence.evidence import Evidence
from confide.mechanisms.guarantees import Guarantee, LocalDP, MetricPrivacy, check_epsilon
from confide.mechanisms.sampling import (
    Bits,
    Permanent,
    SecureBits,
    SeededBits,
    WeightRows,
    as_bits,
    as_generator,
    as_permanents,
    log_of,
    ratio_above,
)
from confide.mechanisms.shuffling import Shuffled, shuffle_channel, shuffle_kinds, shuffle_promise
from confide.values import Alphabet, Indices
from confide.values.base import Example
from confide.values.checks import MOST_STORED, require_kinds
from confide.values.wording import Shown

POSITIVE_DEFINITE = "positive definite kernel"
"""Source of the proof that e^(-c distance) makes an invertible matrix.

A function f is strictly positive definite if the matrix [f(x - z)] over any distinct points is positive definite, and
so invertible. On a line and on a plane, e^(-c |x|) is, because its Fourier transform is positive everywhere. So are its
products. The columns of an unbounded mechanism at the values themselves are such a matrix, times a constant.
"""


class Premise(Enum):
    """Shape of P(report | value) in the value, for likely subsets.

    The peak of a report is a place where it is at least as likely as anywhere else; see :meth:`Mechanism.peaks`.
    """

    NOTHING = "nothing is known of which values make a report likely"
    OWN_VALUE = "a report is likeliest from the value that it names, and equally likely from all others"
    LINE = "on a line, a report gets no likelier as the value moves away from its peak, to either side"
    COORDINATES = "on a plane, a report gets no likelier as the row or the column moves away from its peak"
    DISTANCE = "on a plane, a report is the less likely the greater the Euclidean distance of the value from it"


@dataclass(frozen=True)
class Proof:
    """A proven statement.

    Attributes
    ----------
    reason
        The statement in a sentence.
    source
        The paper's lemma or corollary, or the underlying theorem.
    numbers
        Numbers in the statement, by name.
    """

    reason: str
    source: str
    numbers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Bound:
    """Bound on the mean squared error of inversion, for any true distribution.

    Attributes
    ----------
    kind
        ``"at most"`` or ``"at least"``.
    per_report
        The bound times the number of reports.
    proposition
        Its name in the paper.
    holds
        Whether its conditions are met. If not, the number means nothing and `condition` names the unmet ones.
    condition
        The conditions in words.
    misprint
        The number that the paper prints for this setting, if its own formula gives another; otherwise empty.
    """

    kind: str
    per_report: float
    proposition: str
    holds: bool
    condition: str
    misprint: str = ""

    @classmethod
    def at_least(cls, per_report: float, proposition: str, conditions: dict[str, bool], misprint: str = "") -> Bound:
        """Return a lower bound that holds if all its conditions do."""
        holds = all(conditions.values())
        broken = [words for words, is_met in conditions.items() if not is_met]
        words = " and ".join(conditions) if holds else f"not met: {' and '.join(broken)}"
        return cls("at least", per_report, proposition, holds, words, misprint)


@dataclass(frozen=True)
class LatticeNoise:
    """Noise on a lattice, the same for every value, in exact numbers.

    Attributes
    ----------
    ratio
        Smallest factor between probabilities of adjacent lattice points, for noise that falls with the steps along all
        axes. `None` for noise that falls with the Euclidean distance.
    rate
        The exponent c, if probabilities are exactly proportional to e^(-c distance) in lattice points.
    stay
        Probability of no displacement, if it is not that of geometric noise, (1 - ratio) / (1 + ratio).
    resolution
        Lattice points per step of the alphabet.
    points
        Lattice points from the first value to the last, for uneven values; otherwise 0.
    is_clamped
        Whether the sum is then mapped to outputs, by a map that does not use the value.
    is_redrawn
        Whether noise is drawn again until the sum is a value, so that the normalizer depends on the value.
    """

    ratio: Fraction | None = None
    rate: Fraction | None = None
    stay: Fraction | None = None
    resolution: int = 1
    points: int = 0
    is_clamped: bool = False
    is_redrawn: bool = False


@dataclass(frozen=True, eq=False)
class SupportSets:
    """Reports that support a set of values.

    Each has one probability from all of them, and one from all others.

    Attributes
    ----------
    ratio
        Probability of a report from a value outside its set, divided by that from a value inside, exactly.
    keep, flip
        P(x in the set | x) and P(x in the set | another value).
    both
        P(x and another value in the set | x). This and `flip` are means over all hashes if a mechanism has a pool of
        some; otherwise they are the same for any two values.
    holds
        Whether the set of each report has the value with this number.
    third
        P(x and another value in the set | a third value). Optional. Default: unknown.
    is_even
        Whether `flip` and `both` are the same for any two values.
    """

    ratio: Fraction
    keep: Fraction
    flip: Fraction
    both: Fraction
    holds: Callable[[NDArray[Any], Indices], NDArray[np.bool_]]
    third: Fraction | None = None
    is_even: bool = True


@dataclass(frozen=True, eq=False)
class Facts:
    """Declared facts of a mechanism over its alphabet; defaults mean unknown.

    Attributes
    ----------
    is_positive
        Whether every possible output is possible from every value. Declared from the formula, because numbers
        underflow: e^-1000 is positive, but 0.0 in float64.
    independence
        Why the rows P(. | value) are linearly independent, so that the distribution is identifiable.
    dependence
        Why they are not, and what is identifiable nevertheless.
    premise
        The shape of P(report | value) in the value.
    decay
        The rate r, if P(report | value) is exactly a constant times e^(-r distance), in steps. The distance is
        Euclidean, or taxicab under `Premise.COORDINATES`.
    log_smallest
        Logarithm of the smallest positive probability.
    dominance
        For unbounded outputs: why some d(z) with a finite mean bounds abs(log P(z | phi)) for all distributions phi.
        For finitely many outputs the smallest probability does.
    corollary
        The paper's corollary on consistency for finitely many outputs, if it names this mechanism.
    inversion_bound
        The paper's bound on the error of matrix inversion.
    is_rounded
        Whether the weights are float64 numbers from a user, which may miss their promise by rounding.
    noise
        The noise added to the value. Audits of unbounded and of large mechanisms use it.
    bits
        P(bit x is 1 | x) and P(bit x is 1 | another value), if a report has one independent bit for each value.
    supports
        The sets of values that reports support, if each has only two probabilities.
    parts
        Mechanisms by attribute, if each attribute goes through its own, independently.
    origin
        A mechanism and the report number of each of its outputs, if reports are made from its outputs.
    rounds
        A mechanism whose output is kept, and one that makes a fresh report of it each time.
    """

    is_positive: bool | None = None
    independence: Proof | None = None
    dependence: Proof | None = None
    premise: Premise = Premise.NOTHING
    decay: float | None = None
    log_smallest: float | None = None
    dominance: Proof | None = None
    corollary: str = ""
    inversion_bound: Bound | None = None
    is_rounded: bool = False
    noise: LatticeNoise | None = None
    bits: tuple[Fraction, Fraction] | None = None
    supports: SupportSets | None = None
    parts: Mapping[str, Mechanism] | None = None
    origin: tuple[Mechanism, Indices] | None = None
    rounds: tuple[Mechanism, Mechanism] | None = None

    @property
    def rates(self) -> tuple[float, float] | None:
        """P(a report supports x), given x and given another value."""
        if self.supports is not None:
            return float(self.supports.keep), float(self.supports.flip)
        return None if self.bits is None else (float(self.bits[0]), float(self.bits[1]))


class Mechanism(Shown, ABC):
    """A mechanism: takes a value of the alphabet, returns a noisy report.

    Each value has a row of integer weights. Reports are drawn from exactly these weights. The channel that estimates
    use is the same weights divided by their sum, so the two always agree.

    To add a mechanism, write a frozen dataclass with an `alphabet`, a `guarantee` and `weights`. Add a
    `report_alphabet` if reports are not values. Sampling, audit, estimates, diagnosis, intervals and pages follow from
    these. Two additions improve it: a `channel` with faster products, and `facts`, which theory otherwise computes.

    Examples
    --------
    >>> from confide import Integers, TruncatedGeometric
    >>> mechanism = TruncatedGeometric(Integers(0, 99, unit="year"), epsilon=0.05)
    >>> print(mechanism.guarantee)
    metric privacy, 0.05 per year: any report is at most e^(0.05 x distance) times as likely under one value as another
    """

    kind: ClassVar[str] = ""
    """Name of the mechanism in a survey file."""

    title: ClassVar[str] = ""
    """Name in a sentence. Optional. Default: made from :attr:`kind`."""

    about: ClassVar[str] = ""
    """One line on what it does to a value."""

    suits: ClassVar[str] = ""
    """Kind of alphabet in its example. Optional. Default: the first that it accepts."""

    example: ClassVar[str | Mapping[str, str]] = ""
    """Other settings of its example, in TOML; a mapping by alphabet if they differ. Default: an epsilon."""

    asks: ClassVar[Example | None] = None
    """A survey to begin with, if the alphabet's own does not fit."""

    _derived: ClassVar[tuple[str, ...]] = ()
    """Settings that follow from epsilon unless they are chosen."""

    alphabet: Alphabet

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What the mechanism promises to each person."""

    @property
    def declared(self) -> Mapping[str, Any] | None:
        """Settings as a survey states them; `None` if they are the fields."""
        return None

    @property
    def lasting(self) -> Guarantee | None:
        """Promise for any number of reports of one value.

        `None` if promises of single reports add up. Only a mechanism with permanent noise has such a promise; it needs
        a secret for each person.
        """
        return None

    @property
    def fine_print(self) -> tuple[str, ...]:
        """Sentences on what the promise means for people's own values.

        See :attr:`Alphabet.fine_print`.
        """
        return self.alphabet.fine_print

    @property
    def instructions(self) -> tuple[str, ...]:
        """What a respondent reads, step by step, of noise by hand."""
        return ()

    @property
    def advice(self) -> str:
        """A sentence on a better mechanism with the same promise, or empty."""
        return ""

    @property
    def has_channel(self) -> bool:
        """Whether values and outputs can be listed, so that a matrix exists."""
        return self.alphabet.is_listable and self.report_alphabet.is_listable

    @cached_property
    def channel(self) -> Channel:
        """P(output | value) as an operator.

        Raises
        ------
        InvalidParameterError
            If :attr:`has_channel` is false.
        """
        if not self.has_channel:
            raise self._no_matrix()
        rows = (self.weights(index) for index in range(self.alphabet.size))
        # Python divides integers of any size exactly and rounds once.
        matrix = [[weight / total for weight in row] for row in rows for total in (sum(row),)]
        return Dense(np.array(matrix), Layout.of(self.alphabet))

    def weights(self, index: int) -> Sequence[int]:  # noqa: ARG002 (for those that have them)
        """Return the exact weights of all outputs for one value number.

        Raises
        ------
        InvalidParameterError
            If the outputs cannot be listed.
        """
        if self.has_channel:
            raise NotImplementedError(f"{type(self).__name__} must define weights(index): reports are drawn from them.")
        raise self._no_matrix()

    @property
    def report_alphabet(self) -> Alphabet:
        """Alphabet of the reports: `outputs` if the mechanism has one, else `alphabet`."""
        outputs = getattr(self, "outputs", None)
        return outputs if isinstance(outputs, Alphabet) else self.alphabet

    @property
    def facts(self) -> Facts:
        """Declared facts, for theory. Default: none."""
        return Facts()

    @property
    def tables(self) -> Mapping[str, list[Any]]:
        """Tables that a device needs because numerical work makes them.

        Empty if exact arithmetic is enough. docs/device.md specifies each name.
        """
        return {}

    def shuffled(self, people: int, delta: float, between: tuple[Any, Any] | None = None) -> Shuffled:
        """Bound the central epsilon if nobody knows which report is whose.

        It takes trust in whoever shuffles: they see each report with its sender. Nobody else may learn the order.

        Parameters
        ----------
        people
            How many people send one report each.
        delta
            Failure probability of the central promise, such as 1e-6.
        between
            Two values that are compared. Optional. Default: the two that are easiest to distinguish.

        Examples
        --------
        >>> from confide import Categories, RandomizedResponse
        >>> colours = RandomizedResponse(Categories([f"colour {number}" for number in range(10)]), epsilon=4.0)
        >>> print(colours.shuffled(100_000, delta=1e-6))
        central epsilon 0.1099 (delta 1e-06) among 100,000 shuffled reports
        """
        promise = self.guarantee
        widest = promise.epsilon if isinstance(promise, LocalDP) else float(promise.bounds(self.alphabet).max())
        own = widest if between is None else promise.bound(*between)
        known = shuffle_promise(people, delta, own, widest)
        # All pairs of a thousand values take a few seconds.
        if self.has_channel and max(self.channel.shape) <= 1_000:
            pair = None if between is None else tuple(self.alphabet.encode(list(between)).tolist())
            found = shuffle_channel(people, delta, self.channel, own, pair)
        elif (kinds := self._kinds_of_reports) is not None:
            found = shuffle_kinds(people, delta, own, *kinds)
        else:
            return known
        return replace(found, upper=min(found.upper, known.upper))

    @property
    def _kinds_of_reports(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]] | None:
        """P(both, only the first, only the second, neither of two values supported).

        Given the first of them, in the blanket, and given a third value (the first again if that is unknown). `None`
        if it differs from pair to pair.
        """
        facts, sets, is_pair = self.facts, self.facts.supports, self.alphabet.size == 2
        if facts.bits is not None:  # independent bits
            keep, flip = map(float, facts.bits)
            own, other = np.array([keep, 1 - keep]), np.array([flip, 1 - flip])
            first, rest = np.outer(own, other).reshape(-1), np.outer(other, other).reshape(-1)
            return first, rest * (own / other).min(), first if is_pair else rest
        if sets is None or not sets.is_even:
            return None

        def kinds(one: Fraction, both: Fraction) -> NDArray[np.float64]:
            return np.array([both, one - both, sets.flip - both, 1 - one - sets.flip + both], dtype=np.float64)

        first = kinds(sets.keep, sets.both)
        blanket = first * [float(sets.ratio), float(sets.ratio), 1.0, 1.0]  # as from a value in no set
        return first, blanket, first if is_pair or sets.third is None else kinds(sets.flip, sets.third)

    def at(self, epsilon: float) -> Self:
        """Return the same mechanism with another epsilon.

        Settings that followed from epsilon follow from the other one; those that were chosen stay.

        Raises
        ------
        InvalidParameterError
            If the mechanism has no epsilon of its own, such as a product or a matrix.

        Examples
        --------
        >>> from confide import Categories, RandomizedResponse
        >>> RandomizedResponse(Categories(["yes", "no"]), epsilon=1.0).at(2.0).guarantee
        LocalDP(epsilon=2.0)
        """
        if "epsilon" not in getattr(self, "__dataclass_fields__", {}):
            raise InvalidParameterError(
                f"{self!r} has no epsilon of its own to be varied. Give a target alone, to solve for people, or "
                f"people alone; or plan with a mechanism that takes an epsilon."
            )
        anew: dict[str, Any] = dict.fromkeys(self._derived)
        if anew and self != replace(self, **anew):  # type: ignore[type-var]  # it is a dataclass
            anew = {}
        changed: Self = replace(self, epsilon=epsilon, **anew)  # type: ignore[type-var]
        return changed

    def part(self, *names: str) -> Mechanism | None:  # noqa: ARG002 (for those that blur attributes one by one)
        """Return the mechanism that reports some attributes alone.

        `None` if a report of these depends on the other attributes too.
        """
        return None

    def reports_of(self, counts: Counts, *names: str) -> Counts:
        """Return counts of some attributes, summed over the other attributes."""
        self.refuse_strays(counts)
        whole = self.report_alphabet.attributes
        if whole is None:
            raise InvalidParameterError(f"Reports of {self!r} have no attributes; got the names {', '.join(names)}.")
        part, numbers = whole.part(*names), whole.split(whole.locate(whole.as_array(counts.reports)))
        chosen = [numbers[whole.axis(name)] for name in names]
        own = chosen[0] if part.attributes is None else part.attributes.join(chosen)
        return counts.with_reports(part.decode(own))

    def peaks(self, counts: Counts) -> NDArray[np.float64]:
        """Return places that include the peak of every report, one per row.

        The default is where the reports lie.
        """
        self.refuse_strays(counts)
        return counts.reports.astype(np.float64).reshape(counts.reports.shape[0], -1)

    def privatize(self, values: ArrayLike, *, rng: Any = None, taken: bool = False) -> Any:
        """Add noise to values, independently for each.

        Parameters
        ----------
        values
            One value or a sequence, in people's own terms: amounts if the alphabet has bins of amounts.
        rng
            `None` (default) draws from the operating system's cryptographic generator; a deployment must use this. A
            seed or a :class:`numpy.random.Generator` gives reproducible reports for simulation, from the same exact
            sampler. A :class:`confide.Permanent`, or a list with one for each value, gives noise that never changes;
            bind it to a survey, as ``survey.privatize`` does.
        taken
            Whether the values are already values of the alphabet, such as bins, as ``alphabet.take`` returns them.

        Returns
        -------
        report or array
            The report, or one report for each value, in the same order. confide remembers whether the array is
            simulated for as long as the array exists: its counts and files say so.
        """
        if self.alphabet.is_single(values):
            single: Any = [values]
            report = self._privatize(single, rng, taken=taken)[0].tolist()
            return tuple(report) if isinstance(report, list) else report
        reports = self._privatize(values, rng, taken=taken)
        is_secure = rng is None or isinstance(rng, SecureBits)
        mark(reports, Noise.SECURE if is_secure else Noise.PERMANENT if as_permanents(rng) else Noise.SEEDED)
        return reports

    def simulate_counts(self, histogram: ArrayLike, *, rng: Any) -> Counts:
        """Draw the counts of a whole population, without drawing each report.

        For simulation only. It draws one multinomial per value: three million people over a hundred values take
        milliseconds.

        Parameters
        ----------
        histogram
            Number of people with each value, in the alphabet's order.
        rng
            A seed or a :class:`numpy.random.Generator`.

        Examples
        --------
        >>> import confide as cf
        >>> cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0).simulate_counts([100] * 10, rng=1)
        Counts(1,000 simulated reports, 10 distinct)
        """
        people, generator = as_histogram(histogram, self.alphabet.size), as_generator(rng)
        present = np.flatnonzero(people)
        if self.has_channel and present.size * self.report_alphabet.size <= MOST_STORED:
            rows = self.channel.select(present)
            drawn = generator.multinomial(people[present], rows / rows.sum(axis=1, keepdims=True)).sum(axis=0)
            seen = np.flatnonzero(drawn)
            counts = tally(self.report_alphabet.decode(seen), drawn[seen])
        else:  # rows of the channel do not fit into memory: draw reports one by one
            counts = tally(self._report(np.repeat(np.arange(people.size), people), SeededBits(generator)))
        return counts.with_origin(Origin(simulated=counts.total))

    def lay_out(self, counts: Counts) -> NDArray[np.float64]:
        """Return the count of each output of the report alphabet.

        Raises
        ------
        ImpossibleReportError
            If a report is not an output.
        """
        self.report_alphabet.require_listable()
        self.refuse_strays(counts)
        per_output: NDArray[np.float64] = np.zeros(self.report_alphabet.size)
        per_output[self.report_alphabet.locate(counts.reports)] = counts.counts  # distinct reports, distinct numbers
        return per_output

    def observe(self, counts: Counts) -> Evidence:
        """Return counted reports with their channel, as evidence.

        Raises
        ------
        ImpossibleReportError
            If no value can produce one of the reports.
        """
        per_output = self.lay_out(counts)
        values = self.alphabet.size
        # A uniform distribution reaches every output that some value can produce.
        reachable = self.channel.push(np.full(values, 1.0 / values)) > 0
        impossible = np.flatnonzero((per_output > 0) & ~reachable)
        if impossible.size:
            first = self.report_alphabet.labels(impossible[:1])[0]
            raise ImpossibleReportError(
                f"Report {first} was seen {per_output[impossible[0]]:,.10g} times, but no value can produce it under "
                f"{self!r}. Were the reports made with another survey?"
            )
        return Evidence(self.channel, per_output)

    def observe_within(self, counts: Counts, part: Alphabet) -> Evidence:
        """Return the evidence if everyone has a value in `part`.

        Log-likelihoods equal those of the whole alphabet for distributions that are zero elsewhere. Mechanisms override
        this if they can do it at the cost of the part.
        """
        evidence = self.observe(counts)
        values = self.alphabet.encode(part.decode(np.arange(part.size)))
        outputs = evidence.channel.shape[1]
        channel = Embedded(evidence.channel, values, np.arange(outputs), outputs)
        return Evidence(channel, evidence.counts, evidence.log_offset)

    def refuse_strays(self, counts: Counts) -> None:
        """Reject reports that are not outputs.

        Raises
        ------
        ImpossibleReportError
            If there is one.
        """
        try:
            reports = self.report_alphabet.as_array(counts.reports)
        except InvalidParameterError as error:
            raise ImpossibleReportError(f"{error} Were the reports made with another survey?") from None
        stray = np.flatnonzero(~self.report_alphabet.contains(reports))
        if stray.size:
            first, times = counts.reports[stray[0]].tolist(), counts.counts[stray[0]]
            raise ImpossibleReportError(
                f"{counts.counts[stray].sum():,.10g} of {counts.total:,.10g} reports are none of the outputs "
                f"{self.report_alphabet!r} of {self!r}; first: {first!r}, seen {times:,.10g} times. "
                f"Were the reports made with another survey?"
            )

    def _truncated(self, outputs: Alphabet | None) -> Mechanism | None:  # noqa: ARG002 (for unbounded mechanisms)
        """Return the same noise clamped to `outputs`, or `None`."""
        return None

    def _privatize(self, values: ArrayLike, rng: Any, *, taken: bool) -> NDArray[Any]:
        people = as_permanents(rng)
        if rng is None and self.lasting is not None:
            raise InvalidParameterError(
                f"{type(self).__name__} keeps a round of noise for good, from a secret of the person. Call "
                f"survey.privatize(values, rng=Permanent(secret)), or give a seed to simulate."
            )
        # Checked before the values: a bad rng raises whatever they are.
        bits = None if people else as_bits(rng)
        indices = self.alphabet.encode(values if taken else self.alphabet.take(values))
        if bits is not None:
            return self._report(indices, bits)
        if isinstance(rng, Permanent):
            return self._report_permanently(indices, rng)
        if len(people) != len(indices):
            raise InvalidParameterError(
                f"Give one Permanent(secret) for each value: {len(indices):,} are needed; got {len(people):,}."
            )
        each = [self._report_permanently(indices[[place]], one) for place, one in enumerate(people)]
        return np.concatenate(each)

    def _report_permanently(self, indices: Indices, noise: Permanent) -> NDArray[Any]:
        """Draw one report for each distinct value, from its own bytes."""
        distinct, places = np.unique(indices, return_inverse=True)
        if not distinct.size:
            return self._report(indices, as_bits(None))
        if self.lasting is not None:  # two reports of one value share only the permanent round
            distinct, places = indices, np.arange(indices.size)
        # One value at a time, as on a device: each has its own stream of bytes.
        values = self.alphabet.decode(distinct).tolist()
        drawn = [self._report(distinct[[at]], noise.bits(value)) for at, value in enumerate(values)]
        reports: NDArray[Any] = np.concatenate(drawn)[places.reshape(-1)]
        return reports

    def _report(self, indices: Indices, bits: Bits) -> NDArray[Any]:
        """Draw one report for each value number.

        Mechanisms with unbounded outputs add their noise here.
        """
        return self.report_alphabet.decode(self._draw(indices, bits))

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        """Draw one output number for each value number."""
        return self._rows.draw(indices, bits)

    @cached_property
    def _rows(self) -> WeightRows:
        return WeightRows.of([self.weights(index) for index in range(self.alphabet.size)])

    def __repr__(self) -> str:
        # Defaults stay out, so that the settings made stand out.
        declared = getattr(self, "__dataclass_fields__", {})
        made = vars(self)  # has no class variables, such as `kind`
        names = [name for name, field in declared.items() if field.repr and name in made] or ["alphabet", "guarantee"]
        shown = {name: getattr(self, name) for name in names}
        arguments = ", ".join(f"{name}={value!r}" for name, value in shown.items() if value is not None)
        return f"{type(self).__name__}({arguments})"

    def _no_matrix(self) -> InvalidParameterError:
        kind = "unbounded" if not self.report_alphabet.is_finite else "too many to list"
        return InvalidParameterError(
            f"The outputs of {self!r} are {kind}, so it has no matrix. mechanism.observe(counts) gives the channel "
            f"over the reports seen; the truncated mechanism, where there is one, has a matrix."
        )


def truncated(mechanism: Mechanism, outputs: Alphabet | None = None) -> Mechanism:
    """Return the mechanism with its reports clamped to the nearest of `outputs`.

    `outputs` defaults to the alphabet.

    >>> from confide import Geometric, Integers
    >>> truncated(Geometric(Integers(0, 99), epsilon=0.05), Integers(-10, 109))
    TruncatedGeometric(alphabet=Integers(0, 99), epsilon=0.05, outputs=Integers(-10, 109))
    """
    require_kinds(truncated, locals())
    found = mechanism._truncated(outputs)
    if found is None:
        raise InvalidParameterError(
            f"{mechanism!r} cannot be truncated to {outputs!r}: give an unbounded mechanism on a finite alphabet, and "
            f"outputs of the same kind. Remapped() post-processes any other mechanism."
        )
    return found


def merge_weights(remap: Indices, weights: Sequence[int], size: int) -> list[int]:
    """Add up the weights of outputs that share a report.

    >>> merge_weights(np.array([0, 1, 1]), [5, 6, 7], 2)
    [5, 13]
    """
    merged = [0] * size
    for output, weight in zip(remap.tolist(), weights, strict=True):
        merged[output] += weight
    return merged


LARGEST_TABLE = 256
"""Most cells for which reports are drawn from rows of weights; beyond, noise is added and clamped."""

WITHOUT_TABLES = (
    "Use fewer or larger cells, or a mechanism without tables, such as planar-geometric, planar-laplace or taxicab on "
    "a plane, and geometric noise on a line or a circle."
)
"""Advice for tables that are too large."""


def require_tabled(mechanism: Mechanism, entries: int) -> None:
    """Reject a table too large for a device, before computing it."""
    if entries > 2_000_000:  # a larger survey document is too much for a device
        raise TooLargeError(
            f"{mechanism!r} needs a table of {entries:,} numbers on a device, more than {2_000_000:,}. {WITHOUT_TABLES}"
        )


def require_mechanism(name: str, value: object) -> None:
    """Reject anything but a mechanism."""
    if not isinstance(value, Mechanism):
        raise InvalidParameterError(f"{name} must be a mechanism such as TruncatedGeometric; got {value!r}.")
    if type(value).__hash__ is None:  # channels are cached by mechanism, which must not change
        raise InvalidParameterError(f"{value!r} must be hashable: write @dataclass(frozen=True, repr=False) above it.")


def by_mechanism(pairs: Iterable[tuple[Counts, Mechanism]]) -> dict[Mechanism, Counts]:
    """Add up the counts of people who used the same mechanism."""
    merged: dict[Mechanism, Counts] = {}
    for counts, mechanism in pairs:
        merged[mechanism] = merged[mechanism] + counts if mechanism in merged else counts
    return merged


def require_alphabet(name: str, value: object) -> None:
    """Reject anything but an alphabet."""
    if not isinstance(value, Alphabet):
        raise InvalidParameterError(f"{name} must be an alphabet such as Categories([...]); got {value!r}.")


def require_finite(alphabet: Alphabet, name: str) -> None:
    """Reject an alphabet that cannot be listed, and any other object."""
    require_alphabet("alphabet", alphabet)
    if alphabet.bits is not None:
        raise InvalidParameterError(
            f"{name} needs a finite alphabet that can be listed; {alphabet!r} has 2^{alphabet.bits.length} bit vectors."
        )
    if not alphabet.is_finite:
        raise InvalidParameterError(
            f"{name} needs a finite alphabet; {alphabet!r} is unbounded. Bound it: Integers(low, high) or "
            f"Grid(rows, columns)."
        )


def settle_epsilon(mechanism: Mechanism, step: float = 1.0) -> None:
    """Check a new mechanism's epsilon and store it as a plain float.

    Exact arithmetic needs a plain float.
    """
    epsilon: Any = vars(mechanism)["epsilon"]
    check_epsilon(epsilon, step)
    object.__setattr__(mechanism, "epsilon", float(epsilon))


class MetricMechanism(Mechanism):
    """A mechanism whose epsilon is per unit of distance."""

    epsilon: float
    _divisor: ClassVar[int] = 1
    """Units of noise per step of the alphabet."""

    @property
    def guarantee(self) -> MetricPrivacy:
        return MetricPrivacy(self.epsilon, self.alphabet.metric, self.alphabet.unit)

    @property
    def _rate(self) -> Fraction:
        """Promised log-ratio between neighbours, exact."""
        return Fraction(self.epsilon) * Fraction(self.alphabet.spacing)

    @cached_property
    def _ratio(self) -> Fraction:
        """Ratio of probabilities one noise unit apart, rounded up for the promise."""
        return ratio_above(self._rate / self._divisor)


class UnboundedMechanism(MetricMechanism):
    """Noise with unbounded reports: P(report | value) = constant * e^(-decay distance)."""

    _premise: ClassVar[Premise]
    _independence: ClassVar[Proof] = Proof(
        "The columns at the values are those of e^(-c distance), which is positive definite.", POSITIVE_DEFINITE
    )
    """Proof that rows are linearly independent over finitely many values."""

    @property
    def decay(self) -> float:
        """Rate at which log-probabilities fall, per step of distance."""
        return -log_of(self._ratio) * self._divisor

    @property
    def _lattice_noise(self) -> LatticeNoise:
        return LatticeNoise(self._ratio, resolution=self._divisor)

    @property
    def _dominance(self) -> Proof | None:
        """Proof of dominance for e^(-c distance) over finitely many values."""
        return Proof(
            "d(z) = c (distance from z to some value + the diameter of the values) - log a, whose mean is finite.",
            "as in corollaries consistency2 and consistency3",
        )

    @property
    def facts(self) -> Facts:
        # Over unbounded values there is no last column. There theta M is the convolution of theta with the noise. By
        # Poisson's formula the noise's Fourier series is a sum of positive terms.
        fourier = Proof(
            "Reports are values plus noise whose Fourier series is positive everywhere, so it can be divided away.",
            "positive Fourier series",
        )
        return Facts(
            is_positive=True,
            independence=self._independence if self.alphabet.is_finite else fourier,
            premise=self._premise,
            decay=self.decay,
            noise=self._lattice_noise,
            dominance=self._dominance if self.alphabet.is_finite else None,
        )


def observe_weighted(mechanism: Mechanism, counts: Counts, part: Alphabet | None = None) -> Evidence:
    """Observe counts within a part of the values, if given.

    Weighted ones with their variances.
    """

    def observe(some: Counts) -> Evidence:
        return mechanism.observe(some) if part is None else mechanism.observe_within(some, part)

    def to_outputs(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        # Sums by report go to outputs as counts do, which are never negative; a sum of nothing is no evidence.
        moved = np.zeros_like(found.counts)
        for sign in (1.0, -1.0):
            part_of = np.maximum(sign * sums, 0.0)
            moved = moved + sign * observe(counts.with_sums(part_of)).counts if part_of.any() else moved
        return moved

    found, size = observe(counts), counts.reports.shape[0]
    if counts.squares is None:
        return found
    if counts.blocks is None:
        return replace(found, variances=to_outputs(counts.squares))
    probe = to_outputs(np.arange(1.0, size + 1))
    places = np.flatnonzero(probe)

    def at_once(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        outputs = np.zeros_like(probe)
        outputs[places] = sums[probe[places].astype(np.int64) - 1]
        return outputs

    # Each report has an output of its own, unless some are clamped into one.
    design = counts.blocks.covariance(size).mapped(at_once if places.size == size else to_outputs)
    return replace(found, variances=design.variances, design=design)
