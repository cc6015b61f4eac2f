"""Diagnosis: what these reports, and any number of them, can reveal.

>>> import confide as cf
>>> mechanism = cf.FromMatrix(cf.Categories([1, 2, 3]), [[0.45, 0.1, 0.45], [0.05, 0.9, 0.05], [0.45, 0.1, 0.45]])
>>> answer = diagnose(cf.tally([2, 2, 2, 2, 1, 3]), mechanism)
>>> answer.identification.verdict, answer.uniqueness.verdict
(<Verdict.NO: 'no'>, <Verdict.NO: 'no'>)
>>> print(answer.query("answer == 2").interval)
0.7017, between 0.226 and 1 at 95%
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from confide.channels.base import FloatArray
from confide.check.answers import Fit
from confide.check.fit import Examination, examine
from confide.check.shapes import AFTERWARDS, ShapeFit
from confide.errors import InvalidParameterError, SolverError
from confide.estimates.estimate import Estimate, recover
from confide.estimates.explanations import BEYOND_DOUBT, MOST_UNBIDDEN
from confide.estimates.inference import Interval, Windows, check_level
from confide.evidence.counts import Counts, require_counts
from confide.evidence.shapes import Shape
from confide.mechanisms.base import Bound, Mechanism, require_mechanism
from confide.theory import identification as theory
from confide.theory import maximum_set as concave
from confide.theory.identification import (
    Identification,
    Partition,
    identification,
    partition,
    query_identification,
)
from confide.theory.likely_subsets import LikelySubset, likely_subset
from confide.theory.maximum_set import Concavity, MaximumSet, maximum_set, maximum_set_of
from confide.theory.spectra import LIMITS
from confide.theory.verdicts import Finding, Verdict
from confide.values import Alphabet
from confide.values.queries import Query, as_weights, describe_query
from confide.values.wording import Shown


@dataclass(frozen=True)
class QueryAnswer:
    """Answer to one query, and what is known about it.

    Attributes
    ----------
    query
        The query in words.
    identification
        Whether enough reports would reveal the answer.
    interval
        The answer of these reports, as ``estimate(counts, mechanism).query(...)`` gives it; None without reports.
    lowest, highest
        Range of answers over all maximum-likelihood estimates. None without reports, or if there are too many values.
    is_outer
        Whether these are outer bounds: rounding leaves open whether the estimates reach them.
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
        if self.lowest is not None and self.highest is not None:
            low, high = f"{self.lowest:.4g}", f"{self.highest:.4g}"
            outer = ", or in a narrower range" if self.is_outer else ""
            asked += [] if low == high else [f"equally good explanations between {low} and {high}{outer}"]
        return "; ".join([*asked, known])


@dataclass(frozen=True)
class ConcavityChance:
    """Probability that the likelihood of bit vectors is strictly concave.

    It is computed before any reports (proposition strictlyConcaverappor).

    Attributes
    ----------
    people
        People needed for a probability of 0.99; None for more than 10^15.
    reports, probability
        Number of reports, and the probability for that number; None without reports.
    """

    people: int | None
    reports: int | None = None
    probability: float | None = None


@dataclass(frozen=True, eq=False)
class Diagnosis(Shown):
    """Findings on a mechanism and on its reports.

    Print it to read all of them.

    Attributes
    ----------
    mechanism, counts
        The mechanism and its reports; `counts` is None without reports.
    identification
        Whether the distribution is identifiable.
    consistency
        Whether the maximum-likelihood estimate converges to the truth.
    partition
        Classes of values with the same distribution of reports; None for an unbounded alphabet.
    inversion
        The error of matrix inversion, for a uniform truth.
    concavity, uniqueness
        Whether the likelihood of the reports is strictly concave, and whether it has a single maximum; None without
        reports.
    chance
        Probability of strict concavity before any report, for bit vectors; None for other mechanisms.
    considered
        On an unbounded or large alphabet: the values on which every maximum-likelihood estimate lies. None without
        reports, or if that excludes no value.
    name
        What a value is called in sentences.
    level
        Coverage of intervals.
    shape
        The declared shape, assumed in all findings on these reports; None without one. Findings on any number of
        reports do not assume it.

    Examples
    --------
    >>> import confide as cf
    >>> found = cf.diagnose(None, cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0))
    >>> print(found.identification.verdict)
    yes
    """

    mechanism: Mechanism
    counts: Counts | None
    identification: Identification
    consistency: theory.Consistency
    partition: Partition | None
    inversion: theory.InversionError
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
        """The values; of an unbounded alphabet, those considered."""
        whole = self.mechanism.alphabet
        return whole if whole.is_finite or self.considered is None else self.considered.alphabet

    @property
    def has_reports(self) -> bool:
        """Whether there are usable reports."""
        return self.concavity is not None

    @cached_property
    def maximum_set(self) -> MaximumSet:
        """All maximum-likelihood estimates.

        Raises an error without reports.
        """
        if self.known_maximum is not None:
            return self.known_maximum
        if self.counts is None or not self.has_reports:
            raise InvalidParameterError("There are no maximum-likelihood estimates without reports. Give counts.")
        return _maximum_set(self.mechanism, self.counts, self.considered)

    @cached_property
    def fit(self) -> Fit | None:
        """Goodness-of-fit test; `None` without reports."""
        return None if self._examination is None else self._examination.test()

    @property
    def residuals(self) -> tuple[Alphabet, FloatArray] | None:
        """The outputs and their standardized residuals from the best fit.

        None without reports, or if the outputs cannot be listed.
        """
        return None if self._examination is None else self._examination.residuals

    @cached_property
    def _examination(self) -> Examination | None:
        return None if self.counts is None or not self.has_reports else examine([(self.counts, self.mechanism)])

    @cached_property
    def estimate(self) -> Estimate:
        """The estimate of the default method.

        Raises an error without reports.
        """
        if self.counts is None or not self.has_reports:
            raise InvalidParameterError("There is no estimate without reports. Give counts.")
        return recover([(self.counts, self.mechanism)], shape=self.shape)

    @property
    def shape_fit(self) -> ShapeFit | None:
        """Test of the declared shape; `None` without reports or shape."""
        return None if self.shape is None or not self.has_reports else self.estimate.shape_fit

    @property
    def windows(self) -> Windows | None:
        """The narrowest windows that these reports resolve.

        None if :attr:`why_no_windows` has a reason.

        >>> import confide as cf
        >>> mechanism = cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0)
        >>> len(diagnose(cf.tally(["yes", "no"], [6000, 4000]), mechanism).windows)
        2
        """
        return self._divided if isinstance(self._divided, Windows) else None

    @property
    def why_no_windows(self) -> str:
        """Why reports have no windows; empty if they have."""
        return self._divided if isinstance(self._divided, str) else ""

    @cached_property
    def _divided(self) -> Windows | str:
        """The windows, or the reason for having none."""
        if self.fit is None:
            return ""
        if self.fit.p_value < BEYOND_DOUBT:
            return "That depends on the mechanism, and the reports do not come from it."
        if self.alphabet.size > MOST_UNBIDDEN:
            return f"{self.alphabet.size:,} values take long; confide.estimate(...).windows() computes them."
        if self.shape_fit is not None and self.shape_fit.p_value < BEYOND_DOUBT:
            return "That depends on the shape, and the reports contradict it."
        try:
            return self.estimate.windows(level=self.level, name=self.name)
        except (InvalidParameterError, SolverError) as error:  # a union of shapes, or too large to compute
            return str(error)

    @cached_property
    def class_shares(self) -> FloatArray | None:
        """The maximum-likelihood probability of each class of values.

        None without reports, or if every class is a single value.
        """
        if self.partition is None or self.partition.is_trivial or self.counts is None or not self.has_reports:
            return None
        return self.partition.estimate(self.counts)

    def query(self, query: Query, name: str | None = None, level: float | None = None) -> QueryAnswer:
        """Return what is known about a query such as ``"age >= 65"``.

        The estimate and its interval are those of :meth:`confide.estimates.Estimate.query`.

        Parameters
        ----------
        query
            A text, a function of a value, or one weight for each value; see :mod:`confide.values.queries`.
        name
            What a value is called in a text; any name if left out.
        level
            The coverage of the interval; that of the diagnosis if left out.
        """
        weights = as_weights(query, self.alphabet, name)
        known = query_identification(self.mechanism, weights, known=self.identification, of=self.alphabet)
        if not self.has_reports:
            return QueryAnswer(describe_query(query), known)
        interval = self.estimate.query(query, self.level if level is None else level, name=name)
        if self.shape is not None:  # the maximum-likelihood estimates below need not have it
            return QueryAnswer(describe_query(query), known, interval)
        try:
            best = self.maximum_set
        except (InvalidParameterError, SolverError):  # too large to compute
            return QueryAnswer(describe_query(query), known, interval)
        low, high = best.bounds(weights).tolist()
        return QueryAnswer(describe_query(query), known, interval, low, high, not best.is_exact)

    def __str__(self) -> str:
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
    """Diagnose a mechanism alone, or together with its reports.

    Parameters
    ----------
    counts
        The reports, counted by :func:`confide.tally`; None to ask about the mechanism alone.
    mechanism
        The mechanism of the reports.
    name
        What a value is called in sentences, such as ``"age"``.
    level
        Coverage of intervals.
    shape
        A shape that is known before any report is seen, as in :func:`confide.estimate`. Findings on the reports then
        consider only distributions of this shape.

    Examples
    --------
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
        counts = counts.independent  # which still has all reports as `as_counted`
    form = None if shape is None else Shape.of(shape)
    if form is not None:
        form.check(mechanism.alphabet)
    known = identification(mechanism)
    considered, whole = None, mechanism.alphabet
    # On a large alphabet, restrict the search to the values that can matter.
    if counts is not None and not (whole.is_finite and whole.size <= LIMITS.dense):
        subset = likely_subset(counts, mechanism)
        considered = None if subset.is_whole else subset
    concavity, unique, best = (None, None, None) if counts is None else _judge(mechanism, counts, known, considered)
    chance = None
    if mechanism.facts.bits is not None:
        people, reports = concave.people_for_concavity(mechanism, 0.99), None if counts is None else int(counts.total)
        likely = None if reports is None else concave.concavity_chance(mechanism, reports)
        chance = ConcavityChance(people, reports, likely)
    return Diagnosis(
        mechanism=mechanism,
        counts=counts,
        identification=known,
        consistency=theory.consistency(mechanism, known),
        partition=partition(mechanism, known) if mechanism.alphabet.is_finite else None,
        inversion=theory.inversion_error(mechanism, None if counts is None else counts.total),
        concavity=concavity,
        uniqueness=unique,
        chance=chance,
        known_maximum=best,
        considered=considered,
        name=name,
        level=level,
        shape=form,
    )


def _maximum_set(mechanism: Mechanism, counts: Counts, considered: LikelySubset | None) -> MaximumSet:
    if considered is None:
        return maximum_set(mechanism, counts)
    best = maximum_set_of(mechanism.observe_within(counts, considered.alphabet), considered.alphabet)
    return best.on_the_whole_of(considered) if mechanism.alphabet.is_finite else best


def _judge(
    mechanism: Mechanism, counts: Counts, known: Identification, considered: LikelySubset | None
) -> tuple[Concavity, Finding, MaximumSet | None]:
    """Decide what depends on the reports: concavity and uniqueness.

    The set of maximum-likelihood estimates is computed only if strict concavity leaves uniqueness open.
    """
    if mechanism.alphabet.is_finite or considered is None:
        concavity = concave.concavity_of(mechanism.observe(counts), known)
    else:
        concavity = concave.unbounded_concavity(mechanism.observe_within(counts, considered.alphabet))
    if concavity.is_yes:
        return concavity, concave.from_concavity(concavity), None
    try:
        best = _maximum_set(mechanism, counts, considered)
        return concavity, concave.uniqueness_of(best), best
    except (InvalidParameterError, SolverError) as error:
        return concavity, Finding(Verdict.TOO_CLOSE, str(error), "limits of computing"), None


def told_in_words(diagnosis: Diagnosis) -> list[str]:
    """Return what these reports show, in a few plain sentences.

    The list is empty without reports.

    >>> import confide as cf
    >>> ages = cf.TruncatedGeometric(cf.Integers(0, 99), epsilon=0.05)
    >>> told_in_words(cf.diagnose(cf.tally([50], counts=[5000]), ages))[0][:50]
    'These reports do not come from this mechanism: 50 '
    """
    fit, windows, counts, shape = diagnosis.fit, diagnosis.windows, diagnosis.counts, diagnosis.shape
    if fit is None or counts is None:
        return []
    people = counts.as_counted.total
    # If the reports do not come from the mechanism, no other finding means much.
    doubt = ["All other findings assume that they do."] if fit.is_bad else []
    taken = []
    if shape is not None and diagnosis.shape_fit is not None:
        said = "as the survey declared" if shape.is_declared else AFTERWARDS
        taken = [f"The other findings assume that {shape.condition}, {said}.", str(diagnosis.shape_fit)]
    why = f"Which ranges these reports resolve is not known. {diagnosis.why_no_windows}"
    told = why if windows is None else windows.headline
    explained = [] if diagnosis.uniqueness is None else [_explained(diagnosis, people, diagnosis.uniqueness)]
    return [str(fit), *doubt, *filter(None, [counts.weighting, counts.dependence]), *taken, told, *explained]


def _explained(diagnosis: Diagnosis, total: float, uniqueness: Finding) -> str:
    """Return how many maximum-likelihood estimates the reports have."""
    subject = "This report has" if total == 1 else f"These {total:,.10g} reports have"
    if uniqueness.is_yes:
        is_strict = diagnosis.concavity is not None and diagnosis.concavity.is_yes
        strict = "" if is_strict else ", although the likelihood is not strictly concave"
        return f"{subject} exactly one best explanation{strict}."
    if not uniqueness.is_no:
        known = (
            "which is too close to call"
            if diagnosis.known_maximum is not None
            else "to find out takes more than is computed here"
        )
        return f"{subject} one best explanation or many: {known}."
    best = diagnosis.maximum_set
    example = f"They differ in {best.dimension:,} independent directions; ask a query for the range of its answer."
    if best.is_small:
        value = int(np.argmax(best.highest - best.lowest))
        low, high = 100 * best.lowest[value], 100 * best.highest[value]
        label = diagnosis.alphabet.labels()[value]
        example = f"For example, the share of {label} may be anything from {low:.3g}% to {high:.3g}%."
    return f"{subject} many best explanations, all equally likely. {example}"


def verdict_in_words(diagnosis: Diagnosis) -> list[str]:
    """Return what any number of reports would reveal, in sentences.

    >>> import confide as cf
    >>> verdict_in_words(cf.diagnose(None, cf.RandomizedResponse(cf.Categories(["yes", "no"]), 1.0)))[0]
    'This mechanism can reveal the distribution: no two distributions give the same reports.'
    """
    spectrum, chance, error = diagnosis.identification.spectrum, diagnosis.chance, diagnosis.inversion
    # If all singular values are known, only double precision limits the verdict.
    open_for = (
        "is too close to call: in some directions distributions differ by less than double precision resolves"
        if spectrum is None or spectrum.is_complete
        else "is open: it has too many values to compute all its singular values, and those that iteration found do "
        "not settle it"
    )
    reveals = {
        Verdict.YES: "This mechanism can reveal the distribution: no two distributions give the same reports.",
        Verdict.NO: "This mechanism can never reveal the whole distribution: different distributions give exactly the "
        "same reports, however many people report.",
        Verdict.TOO_CLOSE: f"Whether this mechanism can reveal the distribution {open_for}.",
    }
    uncovered = "Whether this mechanism can reveal the distribution is not covered by theory."
    why_not = diagnosis.mechanism.facts.dependence
    words = [
        reveals.get(diagnosis.identification.verdict, uncovered),
        *([] if why_not is None else [why_not.reason]),
        *_joined(diagnosis.partition),
        _converges(diagnosis),
    ]
    if diagnosis.counts is None and chance is not None and chance.people is None:
        words.append(
            "Bits are flipped so seldom that no number of people below 10^15 is sure to give one best explanation."
        )
    elif diagnosis.counts is None and chance is not None:
        unique = "the best explanation is unique with a probability of at least 99%"
        words.append(f"With {chance.people:,} people or more {unique}.")
    if error.per_report is not None and error.typical is None:
        # 0.1 is an example of a small Euclidean distance between distributions.
        needed = f"{_number(math.ceil(error.per_report / 0.1**2))} reports"
        words.append(
            f"Matrix inversion would need about {needed} to come within 0.1 of the truth in Euclidean distance."
        )
    elif error.per_report is not None:
        missed = (
            f"Matrix inversion, before any repair, would typically miss the truth by {error.typical:.3g} in Euclidean"
        )
        words.append(f"{missed} distance; no two distributions lie more than 1.41 apart.")
    whole = "This is about all distributions, with or without the shape."
    return [*words, *([] if diagnosis.shape is None else [whole])]


def _joined(parts: Partition | None) -> list[str]:
    """Return values with identical report distributions, and what remains identifiable."""
    if parts is None or parts.is_trivial:
        return []
    joined = [label for label, members in zip(parts.labels, parts.classes, strict=True) if members.size > 1]
    shown = ", ".join(joined[:3]) + (f" and {len(joined) - 3:,} more" if len(joined) > 3 else "")
    outcome = {
        Verdict.YES: "their shares taken together can be revealed",
        Verdict.NO: "even their shares taken together cannot all be revealed",
    }.get(parts.identification.verdict, f"whether their shares can be revealed is {parts.identification.verdict}")
    return [f"No report can distinguish the values within {shown}. That leaves {parts.size:,} classes, and {outcome}."]


def _converges(diagnosis: Diagnosis) -> str:
    conditions = diagnosis.consistency
    if conditions.verdict is Verdict.YES:
        return "The maximum-likelihood estimate, which IBU computes, converges to the truth as reports come in."
    if conditions.verdict is Verdict.NO:
        return "The maximum-likelihood estimate need not converge to the truth, however many reports come in."
    known = (conditions.dominance, conditions.continuity, conditions.identification)
    reason = next((one.reason for one in known if one.verdict is not Verdict.YES), "")
    said = f"is open. {reason}"
    if conditions.verdict is Verdict.NOT_COVERED:
        said = f"is not covered by theory. {reason}"
    elif diagnosis.identification.verdict is Verdict.TOO_CLOSE:
        said = "is open for the same reason."
    return f"Whether the estimate converges to the truth {said}"


def findings(diagnosis: Diagnosis) -> list[tuple[str, Finding]]:
    """Return every question that was decided, with its finding."""
    conditions, parts = diagnosis.consistency, diagnosis.partition
    found = [
        ("Identification", diagnosis.identification),
        ("Continuity", conditions.continuity),
        ("Dominance", conditions.dominance),
    ]
    if parts is not None and not parts.is_trivial:
        found.append((f"Identification of the {parts.size:,} classes", parts.identification))
    if diagnosis.concavity is not None and diagnosis.uniqueness is not None:
        found += [("Strict concavity", diagnosis.concavity), ("Uniqueness", diagnosis.uniqueness)]
    return found


def evidence_in_words(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    """Return each question with its verdict, reason and theorem."""
    fit, spectrum, error = diagnosis.fit, diagnosis.identification.spectrum, diagnosis.inversion
    lines = [] if diagnosis.considered is None else [("Values", diagnosis.considered.explain())]
    if fit is not None:
        rests_on = f"{fit.replicates:,} replicates" if fit.replicates else "a conditional chi-squared test"
        numbers = f"p = {fit.p_value:.2g}, G2 = {fit.statistic:,.4g} with {fit.degrees:,.4g} degrees of freedom"
        lines.append(("Fit", f"{fit.verdict}: {numbers} ({rests_on}; docs/fit.md)"))
    lines += [(question, str(finding)) for question, finding in findings(diagnosis)]
    if spectrum is not None and spectrum.columns >= spectrum.rows:
        most, least = ("", "") if spectrum.is_settled else ("at most ", "at least ")
        ends = f"smallest {most}{spectrum.smallest:.4g}, largest {least}{spectrum.largest:.4g}"
        lines.append(("Singular values of the matrix", f"{ends}, condition number {least}{spectrum.condition:.4g}"))
    exact = f"none. {error.reason}"
    if error.per_report is not None:
        exact = f"{_number(error.per_report)} / n, for a uniform truth"
    lines.append(("Inversion's mean squared error", exact))
    lines += [] if error.bound is None else [("Its bound", describe_bound(error.bound))]
    if diagnosis.chance is not None and diagnosis.chance.probability is not None:
        bound = f"at least {diagnosis.chance.probability:.6g} (proposition strictlyConcaverappor)"
        lines.append(("Chance of strict concavity, before data", bound))
    return lines


def describe_bound(bound: Bound) -> str:
    """Return one of the paper's bounds in words.

    >>> from confide.mechanisms.randomized_response import krr_bound
    >>> describe_bound(krr_bound(100, 2.0))
    'at most 277.3 / n (proposition invKrrBound; the paper prints 227.28)'
    """
    misprint = f"; the paper prints {bound.misprint}" if bound.misprint else ""
    number = f"{bound.kind} {_number(bound.per_report)} / n" if bound.holds else "says nothing here"
    return f"{number} ({bound.proposition}{misprint if bound.holds else f'; {bound.condition}'})"


def _number(amount: float) -> str:
    if 10 <= abs(amount) < 1e6 and amount != int(amount):
        return f"{amount:,.1f}"
    if amount >= 1e6:
        power, word = (1e6, "million") if amount < 1e9 else (1e9, "billion")
        return f"{amount / power:,.3g} {word}" if amount < 1e12 else f"{amount:.3g}"
    return f"{amount:,.4g}" if abs(amount) < 1000 else f"{amount:,.0f}"
