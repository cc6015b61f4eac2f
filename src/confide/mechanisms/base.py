"""The contract of every mechanism: what one must define, and what it gets for free."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.channels import Channel, Dense, Embedded, Layout
from confide.errors import ImpossibleReportError, InvalidParameterError, TooLargeError
from confide.evidence.counts import Counts, add_up, as_histogram, tally
from confide.evidence.evidence import Evidence
from confide.evidence.origins import Noise, Origin, mark
from confide.mechanisms.facts import FOURIER, POSITIVE_DEFINITE, Facts, LatticeNoise, Premise, Proof
from confide.mechanisms.guarantees import Guarantee, MetricPrivacy, check_epsilon
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
from confide.values import Alphabet, Indices
from confide.values.checks import require_kinds
from confide.values.limits import MOST_STORED


class Mechanism(ABC):
    """A value of the alphabet in, a noisy report out.

    A mechanism is a row of integer weights for each value. Reports are drawn from exactly these weights, and the
    channel that estimates use is these weights divided by their sum, so the two cannot drift apart.

    A new mechanism is a frozen dataclass with an `alphabet`, a `guarantee` and `weights`; a `report_alphabet` where
    reports are no values. All else follows from these: sampling, audit, estimates, diagnosis, intervals, pages. Two
    things make it better: a `channel` with faster products, and `facts`, which theory would otherwise compute.
    """

    kind: ClassVar[str] = ""
    """Name of the mechanism in a survey file."""

    title: ClassVar[str] = ""
    """Name in a sentence; made from :attr:`kind` if left out."""

    about: ClassVar[str] = ""
    """What it does to a value, in a line."""

    suits: ClassVar[str] = ""
    """Kind of alphabet that its example has; the first that it takes if left out."""

    example: ClassVar[str | Mapping[str, str]] = ""
    """Settings of an example beside its kind, in TOML; by alphabet where they differ, an epsilon if left out."""

    alphabet: Alphabet

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """Promise to a person."""

    @property
    def declared(self) -> Mapping[str, Any] | None:
        """Settings as a survey states them, where they are not the fields themselves."""
        return None

    @property
    def lasting(self) -> Guarantee | None:
        """Promise of any number of reports of one value, where it has one by itself; None where promises add up.

        It has one where a part of the noise is permanent, which takes a secret of each person.
        """
        return None

    @property
    def fine_print(self) -> tuple[str, ...]:
        """Sentences on what the promise means for people's own values; see :attr:`Alphabet.fine_print`."""
        return self.alphabet.fine_print

    @property
    def has_channel(self) -> bool:
        """Whether values and outputs can be listed, so that there is a matrix P(output | value)."""
        return self.alphabet.is_listable and self.report_alphabet.is_listable

    @cached_property
    def channel(self) -> Channel:
        """P(output | value) as an operator: the weights, stored; an error where :attr:`has_channel` is false."""
        if not self.has_channel:
            raise self._no_matrix()
        rows = (self.weights(index) for index in range(self.alphabet.size))
        # Integers of any size are divided exactly and rounded once.
        matrix = [[weight / total for weight in row] for row in rows for total in (sum(row),)]
        return Dense(np.array(matrix), Layout.of(self.alphabet))

    def weights(self, index: int) -> Sequence[int]:  # noqa: ARG002 (for those that have them)
        """Return the exact weights of all outputs for the value with this number; an error where unbounded."""
        if self.has_channel:
            raise NotImplementedError(f"{type(self).__name__} must define weights(index): reports are drawn from them.")
        raise self._no_matrix()

    @property
    def report_alphabet(self) -> Alphabet:
        """Alphabet of the reports; that of the values unless the mechanism says otherwise."""
        return self.alphabet

    @property
    def facts(self) -> Facts:
        """Declared facts, which theory reads; none unless the mechanism says otherwise."""
        return Facts()

    @property
    def tables(self) -> Mapping[str, list[Any]]:
        """Numbers that a device needs and that take numerical work to make; none where exact arithmetic makes all.

        What each name means is specified (docs/device.md).
        """
        return {}

    def at(self, epsilon: float) -> Mechanism:
        """Return the same mechanism with another epsilon.

        Raises
        ------
        InvalidParameterError
            If it has no epsilon of its own, as one that is made of others or of a matrix.

        >>> from confide import Categories, RandomizedResponse
        >>> RandomizedResponse(Categories(["yes", "no"]), epsilon=1.0).at(2.0).guarantee
        LocalDP(epsilon=2.0)
        """
        if "epsilon" not in getattr(self, "__dataclass_fields__", {}):
            raise InvalidParameterError(
                f"{self!r} has no epsilon of its own to be varied. Give a target alone, to solve for people, or "
                f"people alone; or plan with a mechanism that takes an epsilon."
            )
        changed: Mechanism = replace(self, epsilon=epsilon)  # type: ignore[type-var]  # it is a dataclass
        return changed

    def part(self, *names: str) -> Mechanism | None:  # noqa: ARG002 (for those that blur attributes one by one)
        """Return the mechanism of some attributes alone: what it reports is what this one reports of them.

        None where a report of these depends on the other attributes too.
        """
        return None

    def reports_of(self, counts: Counts, *names: str) -> Counts:
        """Return counts of reports of several attributes as counts of what they say of some of these."""
        self.refuse_strays(counts)
        whole = self.report_alphabet.attributes
        if whole is None:
            raise InvalidParameterError(f"Reports of {self!r} have no attributes; got the names {', '.join(names)}.")
        part, numbers = whole.part(*names), whole.split(whole.locate(whole.as_array(counts.reports)))
        chosen = [numbers[whole.axis(name)] for name in names]
        own = chosen[0] if part.attributes is None else part.attributes.join(chosen)
        seen, places = np.unique(own, return_inverse=True)
        return add_up(part.decode(seen), np.bincount(places, counts.counts)).with_origin(counts.origin)

    def peaks(self, counts: Counts) -> NDArray[np.float64]:
        """Return places that hold the peaks of all reports between them, one row a place.

        That is where the reports lie, unless the mechanism says otherwise.
        """
        self.refuse_strays(counts)
        return counts.reports.astype(np.float64).reshape(counts.reports.shape[0], -1)

    def privatize(self, values: ArrayLike, *, rng: Any = None, taken: bool = False) -> Any:
        """Blur values, each on its own.

        Parameters
        ----------
        values
            One value, or a sequence of values, as people have them: amounts where the alphabet has bins of them.
        rng
            None draws from the operating system's cryptographic generator, as a deployment must. A seed or a
            :class:`numpy.random.Generator` gives reproducible reports for simulation, from the same exact sampler.
            Noise that never changes comes from a :class:`confide.Permanent`, or from a list of them, one for each value
            where every value is another person's; it must be bound to a survey, as ``survey.privatize`` does.
        taken
            Whether these are values of the alphabet already, such as bins, as ``alphabet.take`` returns them.

        Returns
        -------
        The report, or an array with one report for each value, in the same order. confide remembers of the array, for
        as long as it lives, whether it is simulated: its counts and files say so.
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
        """Draw the counts that a whole population would report, without drawing each report.

        One multinomial a value: three million people over a hundred values take milliseconds. For simulation only.

        Parameters
        ----------
        histogram
            How many people have each value, in the alphabet's order.
        rng
            A seed or a :class:`numpy.random.Generator`.

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
        else:  # rows of the channel do not fit: reports are drawn one by one
            counts = tally(self._report(np.repeat(np.arange(people.size), people), SeededBits(generator)))
        return counts.with_origin(Origin(simulated=counts.total))

    def lay_out(self, counts: Counts) -> NDArray[np.float64]:
        """Return how often each output of the report alphabet was seen.

        Raises
        ------
        ImpossibleReportError
            If a report is none of the outputs.
        """
        self.report_alphabet.require_listable()
        self.refuse_strays(counts)
        per_output: NDArray[np.float64] = np.zeros(self.report_alphabet.size)
        per_output[self.report_alphabet.locate(counts.reports)] = counts.counts  # distinct reports, distinct numbers
        return per_output

    def observe(self, counts: Counts) -> Evidence:
        """Lay counted reports against the channel, refusing reports that no value can produce."""
        per_output = self.lay_out(counts)
        values = self.alphabet.size
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
        """Do as :meth:`observe`, for people who have one of the values in `part`.

        The log-likelihoods are those of the whole alphabet's distributions that are zero elsewhere. Mechanisms that
        can, override this to cost what the part costs.
        """
        evidence = self.observe(counts)
        values = self.alphabet.encode(part.decode(np.arange(part.size)))
        outputs = evidence.channel.shape[1]
        channel = Embedded(evidence.channel, values, np.arange(outputs), outputs)
        return Evidence(channel, evidence.counts, evidence.log_offset)

    def refuse_strays(self, counts: Counts) -> None:
        """Refuse reports that are none of the outputs.

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
        """Return the kin whose reports are moved to the nearest of some outputs, or None where there is none."""
        return None

    def _privatize(self, values: ArrayLike, rng: Any, *, taken: bool) -> NDArray[Any]:
        people = as_permanents(rng)
        if rng is None and self.lasting is not None:
            raise InvalidParameterError(
                f"{type(self).__name__} keeps a round of noise for good, from a secret of the person. Call "
                f"survey.privatize(values, rng=Permanent(secret)), or give a seed to simulate."
            )
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
        """Draw one report for each distinct value of one person, each from bytes of its own."""
        distinct, places = np.unique(indices, return_inverse=True)
        if not distinct.size:
            return self._report(indices, as_bits(None))
        if self.lasting is not None:  # two reports of one value share the permanent round alone
            distinct, places = indices, np.arange(indices.size)
        # One value at a time, as on a device: how many bytes each takes is its own affair.
        values = self.alphabet.decode(distinct).tolist()
        drawn = [self._report(distinct[[at]], noise.bits(value)) for at, value in enumerate(values)]
        reports: NDArray[Any] = np.concatenate(drawn)[places.reshape(-1)]
        return reports

    def _report(self, indices: Indices, bits: Bits) -> NDArray[Any]:
        """Draw one report for each value number; mechanisms with unbounded outputs add their noise here."""
        return self.report_alphabet.decode(self._draw(indices, bits))

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        """Draw one output number for each value number."""
        return self._rows.draw(indices, bits)

    @cached_property
    def _rows(self) -> WeightRows:
        return WeightRows.of([self.weights(index) for index in range(self.alphabet.size)])

    def __repr__(self) -> str:
        # Settings that were left out stay out: they would only hide those that were made.
        declared = getattr(self, "__dataclass_fields__", {})
        made = vars(self)  # which holds no class variables, such as `kind`
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
    """Return the mechanism whose reports are moved to the nearest of `outputs`; the alphabet if left out.

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
    """Add up the weights of outputs that are reported as the same one.

    >>> merge_weights(np.array([0, 1, 1]), [5, 6, 7], 2)
    [5, 13]
    """
    merged = [0] * size
    for output, weight in zip(remap.tolist(), weights, strict=True):
        merged[output] += weight
    return merged


LARGEST_TABLE = 256
"""Cells up to which a row of weights per value is drawn from; past it noise is added and clamped instead."""

WITHOUT_TABLES = (
    "Use fewer or larger cells, or a mechanism without tables, such as planar-geometric, planar-laplace or taxicab on "
    "a plane, and geometric noise on a line or a circle."
)
"""Cure of tables that are too large."""


def require_tabled(mechanism: Mechanism, entries: int) -> None:
    """Refuse a table that no device should load, before it is made."""
    if entries > 2_000_000:  # numbers of one table: more do not fit into any document that a device should load
        raise TooLargeError(
            f"{mechanism!r} needs a table of {entries:,} numbers on a device, more than {2_000_000:,}. {WITHOUT_TABLES}"
        )


def require_mechanism(name: str, value: object) -> None:
    """Refuse anything but a mechanism."""
    if not isinstance(value, Mechanism):
        raise InvalidParameterError(f"{name} must be a mechanism such as TruncatedGeometric; got {value!r}.")
    if type(value).__hash__ is None:  # channels are kept by mechanism; one that changed would be given another's
        raise InvalidParameterError(f"{value!r} must be hashable: write @dataclass(frozen=True, repr=False) above it.")


def require_alphabet(name: str, value: object) -> None:
    """Refuse anything but an alphabet."""
    if not isinstance(value, Alphabet):
        raise InvalidParameterError(f"{name} must be an alphabet such as Categories([...]); got {value!r}.")


def require_finite(alphabet: Alphabet, name: str) -> None:
    """Refuse an alphabet that cannot be listed, and what is no alphabet at all."""
    require_alphabet("alphabet", alphabet)
    if alphabet.bits is not None:
        raise InvalidParameterError(
            f"{name} needs a finite alphabet that can be listed; {alphabet!r} has 2^{alphabet.bits.length} bit "
            f"vectors. Use Rappor by itself."
        )
    if not alphabet.is_finite:
        raise InvalidParameterError(
            f"{name} needs a finite alphabet; {alphabet!r} is unbounded. Bound it: Integers(low, high) or "
            f"Grid(rows, columns)."
        )


def settle_epsilon(mechanism: Mechanism, step: float = 1.0) -> None:
    """Check a mechanism's epsilon as it is made, and make it a plain float, as exact arithmetic needs it."""
    epsilon: Any = vars(mechanism)["epsilon"]
    check_epsilon(epsilon, step)
    object.__setattr__(mechanism, "epsilon", float(epsilon))


class MetricMechanism(Mechanism):
    """A mechanism whose epsilon is per unit of distance."""

    epsilon: float
    _divisor: ClassVar[int] = 1
    """By what the promised log-ratio of a step is divided to be that of one unit of the noise."""

    @property
    def guarantee(self) -> MetricPrivacy:
        """See :attr:`Mechanism.guarantee`."""
        return MetricPrivacy(self.epsilon, self.alphabet.metric, self.alphabet.unit)

    @property
    def _rate(self) -> Fraction:
        """The promised log-ratio between neighbours, exactly."""
        return Fraction(self.epsilon) * Fraction(self.alphabet.spacing)

    @cached_property
    def _ratio(self) -> Fraction:
        """Factor by which the noise falls from one unit to the next; rounded up, so that the promise is kept."""
        return ratio_above(self._rate / self._divisor)


class UnboundedMechanism(MetricMechanism):
    """Noise whose reports are unbounded: P(report | value) is a constant times e^(-decay distance)."""

    _premise: ClassVar[Premise]
    _independence: ClassVar[Proof] = Proof(
        "The columns at the values are those of e^(-c distance), which is positive definite.", POSITIVE_DEFINITE
    )
    """Why rows are linearly independent over finitely many values."""

    @property
    def decay(self) -> float:
        """Rate at which probabilities fall with the distance, a step."""
        return -log_of(self._ratio) * self._divisor

    @property
    def _lattice_noise(self) -> LatticeNoise:
        return LatticeNoise(self._ratio, resolution=self._divisor)

    @property
    def _dominance(self) -> Proof | None:
        """Dominance of noise proportional to e^(-c distance) over finitely many values."""
        return Proof(
            "d(z) = c (distance from z to some value + the diameter of the values) - log a, whose mean is finite.",
            "as in corollaries consistency2 and consistency3",
        )

    @property
    def facts(self) -> Facts:
        """See :attr:`Mechanism.facts`."""
        return Facts(
            is_positive=True,
            independence=self._independence if self.alphabet.is_finite else FOURIER,
            premise=self._premise,
            decay=self.decay,
            noise=self._lattice_noise,
            dominance=self._dominance if self.alphabet.is_finite else None,
        )
