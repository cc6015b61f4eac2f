"""Diagnosis: what the reports at hand tell, and everything that theory knows of them and of their mechanism.

>>> import confide as cf
>>> mechanism = cf.FromMatrix(cf.Categories([1, 2, 3]), [[0.45, 0.1, 0.45], [0.05, 0.9, 0.05], [0.45, 0.1, 0.45]])
>>> answer = diagnose(cf.tally([2, 2, 2, 2, 1, 3]), mechanism)
>>> answer.identification.verdict, answer.uniqueness.verdict
(<Verdict.NO: 'no'>, <Verdict.NO: 'no'>)
>>> print(answer.query("answer == 2").interval)
0.7017, between 0.226 and 1 at 95%
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from confide.channels.base import FloatArray
from confide.check.fit import Examination, Fit, examine
from confide.check.fit.bits import has_bits
from confide.check.shapes import ShapeFit
from confide.errors import InvalidParameterError, SolverError
from confide.estimates.estimate import Estimate, recover
from confide.estimates.inference import Interval, Windows, check_level
from confide.estimates.inference.division import MOST_CELLS
from confide.evidence.counts import Counts, require_counts
from confide.evidence.shapes import Shape
from confide.mechanisms.base import Mechanism, require_mechanism
from confide.theory.concavity import (
    Concavity,
    concavity_chance,
    concavity_of,
    from_concavity,
    people_for_concavity,
    unbounded_concavity,
    uniqueness_of,
)
from confide.theory.consistency import Consistency, consistency
from confide.theory.identification import Identification, Partition, identification, partition, query_identification
from confide.theory.inversion_error import InversionError, inversion_error
from confide.theory.likely_subsets import LikelySubset, likely_subset
from confide.theory.maximum_set import MaximumSet, maximum_set, maximum_set_of
from confide.theory.spectra import LARGEST_DENSE
from confide.theory.verdicts import Finding, Verdict
from confide.values import Alphabet, LineGeometry, PlaneGeometry
from confide.values.queries import Query, as_weights, describe_query
from confide.values.wording import Shown

BEYOND_DOUBT = 1e-3
"""P-value of the fit below which no windows are looked for: intervals would be of another mechanism's reports."""

MOST_BITS = 200_000
"""Bits of unlike vectors up to which they are: 10,000 of 20 bits took 8 s, 48,842 of 100 bits over a minute."""

MOST_UNBIDDEN = 2_000
"""Values up to which windows, mean and median are looked for unbidden: longer lines take tens of seconds."""

MOST_CELLS_UNBIDDEN = 200
"""The same on a plane, for windows: 280 cells took 14 s of processor, 480 took 55 s, and few of them are read."""


@dataclass(frozen=True)
class QueryAnswer:
    """Answer to one query, as far as it is known.

    Attributes
    ----------
    query
        The query in words.
    identification
        Whether enough reports would reveal the answer.
    interval
        The answer of these reports, as ``estimate(counts, mechanism).query(...)`` gives it; None without reports.
    lowest, highest
        The answers that the best explanations of the reports at hand give; None without reports, or where there are
        too many values to find out.
    is_outer
        Whether these are outer bounds: that the best explanations come as far is too close to call.
    """

    query: str
    identification: Finding
    interval: Interval | None = None
    lowest: float | None = None
    highest: float | None = None
    is_outer: bool = False

    def __str__(self) -> str:
        known = {
            Verdict.YES: "identified: enough reports reveal it",
            Verdict.NO: "not identified by any number of reports",
        }.get(self.identification.verdict, f"whether it is identified is {self.identification.verdict}")
        asked = [] if self.interval is None else [str(self.interval), *filter(None, [self.interval.remark])]
        return "; ".join([*asked, *self._open_range(), known])

    def _open_range(self) -> list[str]:
        """Return between what the best explanations differ, where they do."""
        if self.lowest is None or self.highest is None:
            return []
        low, high = f"{self.lowest:.4g}", f"{self.highest:.4g}"
        outer = ", or in a narrower range" if self.is_outer else ""
        return [] if low == high else [f"equally good explanations between {low} and {high}{outer}"]


@dataclass(frozen=True)
class ConcavityChance:
    """Chance that the likelihood of bit vectors is strictly concave, before any (proposition strictlyConcaverappor).

    Attributes
    ----------
    people
        How many people make it strictly concave with a probability of 0.99; None for more than 10^15.
    reports, probability
        How many reports there are, and the probability that so many do; None without reports.
    """

    people: int | None
    reports: int | None = None
    probability: float | None = None


def why_undivided(answer: Estimate, *, is_bidden: bool = False) -> str:
    """Return why windows, mean and median of an estimate are not looked for; nothing where they are.

    `is_bidden` if somebody asked for windows, and waits for those of a map, too.
    """
    return _why_in_doubt(answer) or _why_long(answer) or ("" if is_bidden else _why_slow(answer))


def _why_in_doubt(answer: Estimate) -> str:
    if not answer.is_distribution:
        return "the answer has negative shares, so it is no distribution"
    if answer.fit.p_value < BEYOND_DOUBT:
        return "the reports do not come from this mechanism, on which they would rest"
    if answer.shape_fit is not None and answer.shape_fit.p_value < BEYOND_DOUBT:
        return f"the reports speak against the shape {answer.shape}, on which they would rest"
    return ""


def _why_long(answer: Estimate) -> str:
    if answer.is_many_shapes:
        return f"the shape {answer.shape} is many shapes in one"
    is_endless = answer.considered is not None and not answer.considered.whole.is_finite
    if is_endless and not isinstance(answer.alphabet.geometry, LineGeometry):
        return "each question on a plane without end takes a while; ask with --query, or in Python"
    if answer.alphabet.size > MOST_UNBIDDEN:
        return f"{answer.alphabet.size:,} values take long; ask with --query, --mean or --median, or in Python"
    bits = [counts.reports.shape[0] for one, counts in answer.groups.items() if has_bits(one)]
    if sum(bits) * answer.alphabet.size > MOST_BITS:
        return f"{sum(bits):,} unlike bit vectors take long; ask with --query, --mean or --median, or in Python"
    return ""


def _why_slow(answer: Estimate) -> str:
    cells = answer.alphabet.size
    if not isinstance(answer.alphabet.geometry, PlaneGeometry) or cells <= MOST_CELLS_UNBIDDEN:
        return ""
    seconds = max(10, round(14 * (min(cells, MOST_CELLS) / 280) ** 2.5, -1))  # beyond those, blocks of cells
    return f"{cells:,} cells take about {seconds:.0f} s; confide estimate --windows looks for them"


@dataclass(frozen=True, eq=False)
class Diagnosis(Shown):
    """Findings on a mechanism and, where there are any, on reports; print it for all of it in words.

    Attributes
    ----------
    mechanism, counts
        The mechanism, and its reports; None without reports.
    identification
        Whether the mechanism can reveal the distribution at all.
    consistency
        Whether the maximum-likelihood estimate comes closer to the truth as reports come in.
    partition
        Which values cannot be told apart; None for an unbounded alphabet.
    inversion
        How wrong matrix inversion would be, for a uniform truth.
    concavity, uniqueness
        Whether the likelihood of the reports is strictly concave, and whether it has a single maximum; None without
        reports.
    chance
        How likely strict concavity is before any report, where reports are bit vectors; None for other mechanisms.
    considered
        Where the alphabet is unbounded, or large, the values among which all best explanations lie; None without
        reports, or where that rules out no value.
    name
        What a value is called in sentences.
    level
        How often intervals hold the truth.
    shape
        What is taken for granted of the distribution in all that the reports tell; None where nothing is. What any
        number of reports would reveal is said of all distributions.
    """

    mechanism: Mechanism
    counts: Counts | None
    identification: Identification
    consistency: Consistency
    partition: Partition | None
    inversion: InversionError
    concavity: Concavity | None = None
    uniqueness: Finding | None = None
    chance: ConcavityChance | None = None
    known_maximum: MaximumSet | None = None
    considered: LikelySubset | None = None
    name: str = "value"
    level: float = 0.95
    shape: Shape | None = None

    @property
    def alphabet(self) -> Alphabet:
        """The values; of an unbounded alphabet those that can matter, once there are reports."""
        whole = self.mechanism.alphabet
        return whole if whole.is_finite or self.considered is None else self.considered.alphabet

    @property
    def has_reports(self) -> bool:
        """Whether there are reports, and they could be used."""
        return self.concavity is not None

    @cached_property
    def maximum_set(self) -> MaximumSet:
        """All maximum-likelihood estimates for the reports; an error where there are no reports to have any."""
        if self.known_maximum is not None:
            return self.known_maximum
        if self.counts is None or not self.has_reports:
            raise InvalidParameterError("There are no maximum-likelihood estimates without reports. Give counts.")
        return _maximum_set(self.mechanism, self.counts, self.considered)

    @cached_property
    def fit(self) -> Fit | None:
        """Whether the reports can come from the mechanism at all; None without reports."""
        return None if self._examination is None else self._examination.test()

    @property
    def residuals(self) -> tuple[Alphabet, FloatArray] | None:
        """The outputs, and by how many standard errors each was seen more or less than the best explanation expects.

        None without reports, or where the outputs cannot be listed.
        """
        return None if self._examination is None else self._examination.residuals

    @cached_property
    def _examination(self) -> Examination | None:
        return None if self.counts is None or not self.has_reports else examine([(self.counts, self.mechanism)])

    @cached_property
    def estimate(self) -> Estimate:
        """What the default method recovers from the reports; an error where there are none."""
        if self.counts is None or not self.has_reports:
            raise InvalidParameterError("There is no estimate without reports. Give counts.")
        return recover([(self.counts, self.mechanism)], shape=self.shape)

    @property
    def shape_fit(self) -> ShapeFit | None:
        """Whether the reports speak against the shape; None without reports or a shape."""
        return None if self.shape is None or not self.has_reports else self.estimate.shape_fit

    @property
    def windows(self) -> Windows | None:
        """All values in windows that the reports tell in proportion; None where :attr:`why_no_windows` says why.

        >>> import confide as cf
        >>> mechanism = cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0)
        >>> len(diagnose(cf.tally(["yes", "no"], [6000, 4000]), mechanism).windows)
        2
        """
        return self._divided if isinstance(self._divided, Windows) else None

    @property
    def why_no_windows(self) -> str:
        """Why there are no windows although there are reports; empty where there are some."""
        return self._divided if isinstance(self._divided, str) else ""

    @cached_property
    def _divided(self) -> Windows | str:
        """The windows, or why they are not looked for."""
        if self.fit is None:
            return ""
        if self.fit.p_value < BEYOND_DOUBT:
            return "They would rest on the mechanism, from which the reports do not come."
        if self.alphabet.size > MOST_UNBIDDEN:
            return f"{self.alphabet.size:,} values take long; confide.estimate(...).windows() finds out."
        if self.shape_fit is not None and self.shape_fit.p_value < BEYOND_DOUBT:
            return "They would rest on the shape, against which the reports speak."
        try:
            return self.estimate.windows(level=self.level, name=self.name)
        except (InvalidParameterError, SolverError) as error:  # many shapes in one, or more than is computed here
            return str(error)

    @cached_property
    def class_shares(self) -> FloatArray | None:
        """The maximum-likelihood probability of each class; None without reports, or where all values stand alone."""
        if self.partition is None or self.partition.is_trivial or self.counts is None or not self.has_reports:
            return None
        return self.partition.estimate(self.counts)

    def query(self, query: Query, name: str | None = None, level: float | None = None) -> QueryAnswer:
        """Return what is known of the answer to a query, such as ``"age >= 65"``.

        The number and its interval are those of :meth:`confide.Estimate.query`.

        Parameters
        ----------
        query
            A text, a function of a value, or one weight for each value; see :mod:`confide.values.queries`.
        name
            What a value is called in a text; any name if left out.
        level
            The share of surveys, were they repeated, whose interval holds the truth; that of the diagnosis if left out.
        """
        weights = as_weights(query, self.alphabet, name)
        known = query_identification(self.mechanism, weights, known=self.identification, of=self.alphabet)
        if not self.has_reports:
            return QueryAnswer(describe_query(query), known)
        interval = self.estimate.query(query, self.level if level is None else level, name=name)
        if self.shape is not None:  # the best explanations below need not have it
            return QueryAnswer(describe_query(query), known, interval)
        try:
            best = self.maximum_set
        except (InvalidParameterError, SolverError):  # more than is computed here
            return QueryAnswer(describe_query(query), known, interval)
        low, high = best.bounds(weights).tolist()
        return QueryAnswer(describe_query(query), known, interval, low, high, not best.is_exact)

    def __str__(self) -> str:
        from confide.estimates.diagnosis.words import evidence_in_words, told_in_words, verdict_in_words

        told = told_in_words(self)
        evidence = [f"  {question}: {answer}" for question, answer in evidence_in_words(self)]
        return "\n".join([*told, *([""] if told else []), *verdict_in_words(self), "", *evidence])


def diagnose(
    counts: Counts | None,
    mechanism: Mechanism,
    *,
    name: str = "value",
    level: float = 0.95,
    shape: str | Sequence[str] | Shape | None = None,
) -> Diagnosis:
    """Diagnose what can be known from the reports at hand, or from a mechanism alone.

    Parameters
    ----------
    counts
        The reports, counted by :func:`confide.tally`; None to ask about the mechanism alone.
    mechanism
        The mechanism that they went through.
    name
        What a value is called in sentences, such as ``"age"``.
    level
        How often intervals hold the truth.
    shape
        What is known of the distribution before any report is seen, as in :func:`confide.estimate`; what the reports
        tell is then told of distributions of this shape.

    >>> import confide as cf
    >>> print(cf.diagnose(None, cf.TruncatedGeometric(cf.Integers(0, 99), epsilon=0.05)).consistency.verdict)
    yes
    """
    require_mechanism("mechanism", mechanism)
    check_level("level", level)
    if mechanism.alphabet.is_finite:
        mechanism.alphabet.require_listable()
    if counts is not None:
        require_counts(counts)
        counts = counts.independent
    form = None if shape is None else Shape.of(shape)
    if form is not None:
        form.check(mechanism.alphabet)
    known = identification(mechanism)
    considered = None if counts is None else _consider(mechanism, counts)
    concavity, unique, best = (None, None, None) if counts is None else _judge(mechanism, counts, known, considered)
    return Diagnosis(
        mechanism=mechanism,
        counts=counts,
        identification=known,
        consistency=consistency(mechanism, known),
        partition=partition(mechanism, known) if mechanism.alphabet.is_finite else None,
        inversion=inversion_error(mechanism, None if counts is None else counts.total),
        concavity=concavity,
        uniqueness=unique,
        chance=_chance(mechanism, counts),
        known_maximum=best,
        considered=considered,
        name=name,
        level=level,
        shape=form,
    )


def _consider(mechanism: Mechanism, counts: Counts) -> LikelySubset | None:
    """Return among which values best explanations lie, where that helps: all values if they are few."""
    whole = mechanism.alphabet
    if whole.is_finite and whole.size <= LARGEST_DENSE:
        return None
    subset = likely_subset(counts, mechanism)
    return None if subset.is_whole else subset


def _maximum_set(mechanism: Mechanism, counts: Counts, considered: LikelySubset | None) -> MaximumSet:
    if considered is None:
        return maximum_set(mechanism, counts)
    best = maximum_set_of(mechanism.observe_within(counts, considered.alphabet), considered.alphabet)
    return best.on_the_whole_of(considered) if mechanism.alphabet.is_finite else best


def _judge(
    mechanism: Mechanism, counts: Counts, known: Identification, considered: LikelySubset | None
) -> tuple[Concavity, Finding, MaximumSet | None]:
    """Decide what depends on the reports; the set of best explanations only where strict concavity leaves it open."""
    if mechanism.alphabet.is_finite or considered is None:
        concavity = concavity_of(mechanism.observe(counts), known)
    else:
        concavity = unbounded_concavity(mechanism.observe_within(counts, considered.alphabet))
    if concavity.is_yes:
        return concavity, from_concavity(concavity), None
    try:
        best = _maximum_set(mechanism, counts, considered)
        return concavity, uniqueness_of(best), best
    except (InvalidParameterError, SolverError) as error:
        return concavity, Finding(Verdict.TOO_CLOSE, str(error), "limits of computing"), None


def _chance(mechanism: Mechanism, counts: Counts | None) -> ConcavityChance | None:
    if mechanism.facts.bits is None:
        return None
    people = people_for_concavity(mechanism, 0.99)
    if counts is None:
        return ConcavityChance(people)
    reports = int(counts.total)
    return ConcavityChance(people, reports, concavity_chance(mechanism, reports))
