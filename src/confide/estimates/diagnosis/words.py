"""Words of a diagnosis: first what these reports tell, then what any number would, then what it rests on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from confide.check.shapes import AFTERWARDS
from confide.mechanisms.facts import Bound
from confide.theory.verdicts import Finding, Verdict

if TYPE_CHECKING:
    from confide.estimates.diagnosis.answers import Diagnosis
    from confide.theory.maximum_set import MaximumSet

NEAR = 0.1
"""A Euclidean distance between distributions that is small, for an example."""


def told_in_words(diagnosis: Diagnosis) -> list[str]:
    """Return what the reports at hand tell as a few plain sentences; nothing without reports.

    >>> import confide as cf
    >>> ages = cf.TruncatedGeometric(cf.Integers(0, 99), epsilon=0.05)
    >>> told_in_words(cf.diagnose(cf.tally([50], counts=[5000]), ages))[0][:50]
    'These reports do not come from this mechanism: 50 '
    """
    fit, windows = diagnosis.fit, diagnosis.windows
    if fit is None:
        return []
    # Nothing else that is said of the reports means much if they do not come from the mechanism.
    doubt = ["What follows holds only as far as they do come from it."] if fit.is_bad else []
    why = f"Which windows of values these reports tell is not known. {diagnosis.why_no_windows}"
    told = why if windows is None else windows.headline
    days = [] if diagnosis.counts is None or not diagnosis.counts.dependence else [diagnosis.counts.dependence]
    return [str(fit), *doubt, *days, *_of_shape(diagnosis), told, *_of_reports(diagnosis)]


def _of_shape(diagnosis: Diagnosis) -> list[str]:
    """Return what the sentences that follow take for granted of the distribution, and whether the reports object."""
    shape, found = diagnosis.shape, diagnosis.shape_fit
    if shape is None or found is None:
        return []
    said = "as the survey declared" if shape.is_declared else AFTERWARDS
    return [f"What follows takes for granted that {shape.condition}, {said}.", str(found)]


def verdict_in_words(diagnosis: Diagnosis) -> list[str]:
    """Return what any number of reports would reveal as a few plain sentences.

    >>> import confide as cf
    >>> verdict_in_words(cf.diagnose(None, cf.RandomizedResponse(cf.Categories(["yes", "no"]), 1.0)))[0]
    'This mechanism can reveal the distribution: no two distributions give the same reports.'
    """
    before = _before_reports(diagnosis) if diagnosis.counts is None else []
    whole = "This is said of all distributions, whether they have the shape or not."
    return [
        _can_reveal(diagnosis),
        *_classes(diagnosis),
        _converges(diagnosis),
        *before,
        *_of_inversion(diagnosis),
        *([] if diagnosis.shape is None else [whole]),
    ]


def evidence_in_words(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    """Return each question with its verdict, its reason and the theorem behind it."""
    looked = [] if diagnosis.considered is None else [("Values", diagnosis.considered.explain())]
    decided = [(question, str(finding)) for question, finding in findings(diagnosis)]
    return looked + _fit_lines(diagnosis) + decided + _inversion_lines(diagnosis)


def _fit_lines(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    found = diagnosis.fit
    if found is None:
        return []
    rests_on = f"{found.replicates:,} replicates" if found.replicates else "a conditional chi-squared test"
    numbers = f"p = {found.p_value:.2g}, G2 = {found.statistic:,.4g} with {found.degrees:,.4g} degrees of freedom"
    return [("Fit", f"{found.verdict}: {numbers} ({rests_on}; docs/fit.md)")]


def findings(diagnosis: Diagnosis) -> list[tuple[str, Finding]]:
    """Return every question that was decided, with its finding."""
    conditions = diagnosis.consistency
    found = [
        ("Identification", diagnosis.identification),
        ("Continuity", conditions.continuity),
        ("Dominance", conditions.dominance),
    ]
    parts = diagnosis.partition
    if parts is not None and not parts.is_trivial:
        found.append((f"Identification of the {parts.size:,} classes", parts.identification))
    if diagnosis.concavity is not None and diagnosis.uniqueness is not None:
        found += [("Strict concavity", diagnosis.concavity), ("Uniqueness", diagnosis.uniqueness)]
    return found


def describe_bound(bound: Bound) -> str:
    """Return one of the paper's bounds in words.

    >>> from confide.mechanisms.randomized_response import krr_bound
    >>> describe_bound(krr_bound(100, 2.0))
    'at most 277.3 / n (proposition invKrrBound; the paper prints 227.28)'
    """
    misprint = f"; the paper prints {bound.misprint}" if bound.misprint else ""
    number = f"{bound.kind} {_number(bound.per_report)} / n" if bound.holds else "says nothing here"
    return f"{number} ({bound.proposition}{misprint if bound.holds else f'; {bound.condition}'})"


def _can_reveal(diagnosis: Diagnosis) -> str:
    match diagnosis.identification.verdict:
        case Verdict.YES:
            return "This mechanism can reveal the distribution: no two distributions give the same reports."
        case Verdict.NO:
            return (
                "This mechanism can never reveal the whole distribution: different distributions give exactly the same "
                "reports, however many people report."
            )
        case Verdict.TOO_CLOSE if not _was_computed(diagnosis):
            return (
                "Whether this mechanism can reveal the distribution is open: it has too many values to compute all its "
                "singular values, and those that iteration found do not settle it."
            )
        case Verdict.TOO_CLOSE:
            return (
                "Whether this mechanism can reveal the distribution is too close to call: in some directions "
                "distributions differ by less than double precision can tell."
            )
        case _:
            return "Whether this mechanism can reveal the distribution is not covered by theory."


def _was_computed(diagnosis: Diagnosis) -> bool:
    """Whether all singular values of the matrix are known, so that only digits are lacking."""
    spectrum = diagnosis.identification.spectrum
    return spectrum is None or spectrum.is_complete


def _classes(diagnosis: Diagnosis) -> list[str]:
    parts = diagnosis.partition
    if parts is None or parts.is_trivial:
        return []
    joined = [label for label, members in zip(parts.labels, parts.classes, strict=True) if members.size > 1]
    shown = ", ".join(joined[:3]) + (f" and {len(joined) - 3:,} more" if len(joined) > 3 else "")
    outcome = {
        Verdict.YES: "their shares taken together can be revealed",
        Verdict.NO: "even their shares taken together cannot all be revealed",
    }.get(parts.identification.verdict, f"whether their shares can be revealed is {parts.identification.verdict}")
    return [f"No report tells the values apart within {shown}. That leaves {parts.size:,} classes, and {outcome}."]


def _converges(diagnosis: Diagnosis) -> str:
    match diagnosis.consistency.verdict:
        case Verdict.YES:
            return "The maximum-likelihood estimate, which IBU computes, converges to the truth as reports come in."
        case Verdict.NO:
            return "The maximum-likelihood estimate need not converge to the truth, however many reports come in."
        case Verdict.NOT_COVERED:
            return f"Whether the estimate converges to the truth is not covered by theory. {_uncovered(diagnosis)}"
        case _:
            same = diagnosis.identification.verdict is Verdict.TOO_CLOSE
            reason = "is open for the same reason." if same else f"is open. {_uncovered(diagnosis)}"
            return f"Whether the estimate converges to the truth {reason}"


def _uncovered(diagnosis: Diagnosis) -> str:
    conditions = diagnosis.consistency
    open_ones = (conditions.dominance, conditions.continuity, conditions.identification)
    return next((one.reason for one in open_ones if one.verdict is not Verdict.YES), "")


def _of_reports(diagnosis: Diagnosis) -> list[str]:
    if diagnosis.counts is None or diagnosis.uniqueness is None or diagnosis.concavity is None:
        return []
    total = diagnosis.counts.total
    subject, verb = ("This report", "has") if total == 1 else (f"These {total:,.10g} reports", "have")
    match diagnosis.uniqueness.verdict:
        case Verdict.YES:
            strict = "" if diagnosis.concavity.is_yes else ", although the likelihood is not strictly concave"
            return [f"{subject} {verb} exactly one best explanation{strict}."]
        case Verdict.NO:
            example = _widest(diagnosis.maximum_set, diagnosis)
            return [f"{subject} {verb} many best explanations, all equally likely. {example}"]
        case _ if diagnosis.known_maximum is None:
            return [f"{subject} {verb} one best explanation or many: to find out takes more than is computed here."]
        case _:
            return [f"{subject} {verb} one best explanation or many: which is too close to call."]


def _widest(best: MaximumSet, diagnosis: Diagnosis) -> str:
    if not best.is_small:
        return f"They differ in {best.dimension:,} independent directions; ask a query for the range of its answer."
    value = int(np.argmax(best.highest - best.lowest))
    label = diagnosis.alphabet.labels()[value]
    low, high = 100 * best.lowest[value], 100 * best.highest[value]
    return f"For example, the share of {label} may be anything from {low:.3g}% to {high:.3g}%."


def _before_reports(diagnosis: Diagnosis) -> list[str]:
    if diagnosis.chance is None:
        return []
    if diagnosis.chance.people is None:
        return ["Bits are flipped so seldom that no number of people below 10^15 is sure to give one best explanation."]
    people = f"{diagnosis.chance.people:,}"
    return [f"With {people} people or more the best explanation is unique with a probability of at least 99%."]


def _of_inversion(diagnosis: Diagnosis) -> list[str]:
    error = diagnosis.inversion
    if error.per_report is None:
        return []
    if error.typical is None:
        needed = f"{_number(math.ceil(error.per_report / NEAR**2))} reports"
        return [f"Matrix inversion would need about {needed} to come within {NEAR} of the truth in Euclidean distance."]
    missed = f"Matrix inversion, before any repair, would typically miss the truth by {error.typical:.3g} in Euclidean"
    return [f"{missed} distance; no two distributions lie more than 1.41 apart."]


def _inversion_lines(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    error = diagnosis.inversion
    exact = (
        f"none. {error.reason}" if error.per_report is None else f"{_number(error.per_report)} / n, for a uniform truth"
    )
    lines = [*_spectrum_line(diagnosis), ("Inversion's mean squared error", exact)]
    if error.bound is not None:
        lines.append(("Its bound", describe_bound(error.bound)))
    if diagnosis.chance is not None and diagnosis.chance.probability is not None:
        bound = f"at least {diagnosis.chance.probability:.6g} (proposition strictlyConcaverappor)"
        lines.append(("Chance of strict concavity, before data", bound))
    return lines


def _spectrum_line(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    spectrum = diagnosis.identification.spectrum
    if spectrum is None or spectrum.columns < spectrum.rows:
        return []
    most, least = ("", "") if spectrum.is_settled else ("at most ", "at least ")
    ends = f"smallest {most}{spectrum.smallest:.4g}, largest {least}{spectrum.largest:.4g}"
    return [("Singular values of the matrix", f"{ends}, condition number {least}{spectrum.condition:.4g}")]


def _number(amount: float) -> str:
    if 10 <= abs(amount) < 1e6 and amount != int(amount):
        return f"{amount:,.1f}"
    if amount >= 1e6:
        power, word = (1e6, "million") if amount < 1e9 else (1e9, "billion")
        return f"{amount / power:,.3g} {word}" if amount < 1e12 else f"{amount:.3g}"
    return f"{amount:,.4g}" if abs(amount) < 1000 else f"{amount:,.0f}"
