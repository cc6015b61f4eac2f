"""The default: several methods, mixed as they explain held-out reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from confide.channels import Dense
from confide.channels.base import FloatArray
from confide.checks import check_count
from confide.evidence import Evidence
from confide.methods.base import Choice, Method, Monitor, Solution, Status
from confide.methods.candidates import (
    Candidate,
    held_out_candidate,
    highest_candidate,
    name_of_smooth,
    smooth_candidate,
    stored,
    why_not_highest,
)
from confide.methods.held_out import Folds
from confide.methods.mle import MLE
from confide.methods.smooth import Smooth, why_not_smooth
from confide.wording import counted

FAINT = 1e-300
"""The smallest probability of a report that a candidate is charged with, so that none is ruled out by one report."""

SHOWN = 0.005
"""Shares below this are not named in the sentence."""


@dataclass(frozen=True)
class Stacked(Method):
    """Mix several methods in the shares that explain held-out reports best; the default, with nothing to tune.

    The candidates are :class:`Smooth`, :class:`IBU` stopped by held-out reports, and :class:`MLE`. Each is solved on
    all reports and on all but each of a few folds. The shares maximise the likelihood of the folds that were left out,
    a concave problem that our own solver solves. The first candidate has a head start of twenty nats, because
    the scores of good and bad answers may differ by less. ``estimate.choices`` says what was chosen.

    On categories, where neighbours mean nothing, no candidate takes anything for smooth: the first one merely draws
    every probability towards the uniform one, is called shrunk, and has a head start of one nat.

    Parameters
    ----------
    folds, seed
        How many folds the reports are split into to be held out, and the seed of the split.

    >>> import confide as cf
    >>> ages = cf.datasets.adult_ages()
    >>> mechanism = cf.TruncatedGeometric(ages.alphabet, epsilon=0.1)
    >>> counts = mechanism.simulate_counts(ages.histogram, rng=1)
    >>> answer = cf.estimate(counts, mechanism)
    >>> [choice.name for choice in answer.choices]
    ['smooth', 'held-out IBU', 'MLE']
    """

    climbs: ClassVar[bool] = True

    folds: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        check_count("folds", self.folds, 2)
        check_count("seed", self.seed, 0)

    @property
    def name(self) -> str:
        """See :attr:`Method.name`."""
        return "Stacked"

    @property
    def full_name(self) -> str:
        """See :attr:`Method.full_name`."""
        return "a mixture of several methods, weighed by held-out reports (Stacked)"

    def solve(self, evidence: Evidence, monitor: Monitor | None = None) -> Solution:
        """See :meth:`Method.solve`; the monitor hears of the one method that is left where nothing can be held out."""
        reason = why_not_hold_out(evidence, self.folds)
        if reason:
            return _solve_alone(evidence, reason, monitor)
        quick = stored(evidence)
        folds = Folds.of(quick, self.folds, self.seed)
        tried, remarks = _stand(quick, folds)
        shares, scores = weigh(quick, folds, tried)
        mixed: FloatArray = shares @ np.array([candidate.distribution for candidate in tried])
        choices = tuple(
            Choice(candidate.name, float(share), float(score))
            for candidate, share, score in zip(tried, shares, scores, strict=True)
        )
        left_out = tuple(Choice(name, 0.0, None, remark) for name, remark in remarks.items())
        explanation = _explain(choices, left_out, tried[0].head_start)
        return Solution(mixed / float(mixed.sum()), 0, Status.HELD_OUT, explanation, choices + left_out)


def weigh(evidence: Evidence, folds: Folds, tried: Sequence[Candidate]) -> tuple[FloatArray, FloatArray]:
    """Return the shares that explain the folds best, and by how many nats each candidate beats the first.

    A mixture of candidates explains a left-out report with the mixture of their probabilities, so the shares are
    another distribution seen through another channel: values are candidates, outputs are reports in their fold. The
    head start is so many more reports, which only the first candidate explains.
    """
    judged = folds.judged * (evidence.total / folds.judged.shape[0])
    seen = judged > 0
    explained = np.array([evidence.channel.push(candidate.without_fold)[seen] for candidate in tried])
    explained = np.maximum(explained, FAINT)
    scores = np.log(explained) @ judged[seen]
    alone = np.zeros((len(tried), 1))
    alone[0] = 1.0
    matrix = np.hstack([explained / explained.max(axis=0), alone])
    counts = np.append(judged[seen], tried[0].head_start)
    shares = MLE(1e-3).solve(Evidence(Dense(matrix), counts)).distribution
    return shares, scores - scores[0]


def why_not_hold_out(evidence: Evidence, folds: int) -> str:
    """Return why no report can be held out; nothing where some can."""
    counts = evidence.counts
    if (counts != np.floor(counts)).any():
        return "counts that are not whole cannot be split into folds"
    if evidence.total < 2 * folds:
        return f"{counted(round(evidence.total), 'report')}: too few to hold some out"
    return ""


def _stand(evidence: Evidence, folds: Folds) -> tuple[list[Candidate], dict[str, str]]:
    """Return the candidates, the one with the head start first, and why others do not stand."""
    reasons = {name_of_smooth(evidence): why_not_smooth(evidence), "MLE": why_not_highest(evidence)}
    tried = [] if reasons[name_of_smooth(evidence)] else [smooth_candidate(evidence, folds)]
    tried.append(held_out_candidate(evidence, folds))
    if not reasons["MLE"]:
        tried.append(highest_candidate(evidence, folds))
    return tried, {name: reason for name, reason in reasons.items() if reason}


def _solve_alone(evidence: Evidence, reason: str, monitor: Monitor | None) -> Solution:
    """Solve by the one candidate that needs no fold: the average over priors or, where it does not fit, the maximum."""
    smooth, unfit = name_of_smooth(evidence), why_not_smooth(evidence)
    method: Method = MLE() if unfit else Smooth()
    found = method.solve(evidence, monitor)
    chosen, other = ("MLE", Choice(smooth, 0.0, None, unfit)) if unfit else (smooth, Choice("MLE", 0.0, None, reason))
    choices = (Choice(chosen, 1.0, None), Choice("held-out IBU", 0.0, None, reason), other)
    remark = f"; {smooth} was not tried: {unfit}" if unfit else ""
    explanation = f"{chosen} alone, for {reason}{remark}; {found.explanation}"
    return Solution(found.distribution, found.iterations, found.status, explanation, choices)


def _explain(tried: Sequence[Choice], left_out: Sequence[Choice], head_start: float) -> str:
    named = sorted((choice for choice in tried if choice.share >= SHOWN), key=lambda choice: -choice.share)
    shares = " and ".join(f"{choice.share:.0%} {choice.name}" for choice in named)
    start = f"a head start of {head_start:.2g} nat{'' if head_start == 1 else 's'}"
    rule = f"held-out reports weigh the candidates, and {tried[0].name} has {start}"
    return "; ".join([shares, rule, *(f"{choice.name} was not tried: {choice.remark}" for choice in left_out)])
