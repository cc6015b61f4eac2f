"""Methods that stand for election: each solved on all reports, and once more on all but each fold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from confide.channels import Dense
from confide.channels.base import FloatArray
from confide.evidence import Evidence
from confide.methods.held_out import Folds, best_number_of_steps
from confide.methods.mle import MLE
from confide.methods.smooth import believe, fit_all, layout_of, mix, turn_to_reporters

MOST_STEPS = 2000
"""EM steps of the held-out climb. Where more would help, the maximum itself, a candidate too, is not far."""

SMALL_MATRIX = 1_000_000
"""Entries up to which a stored matrix beats any other way to multiply several vectors at once."""

LARGEST_MAXIMUM = 20_000
"""Values up to which the maximum is found once for each fold; lines, which take O(k), any number."""

NEGLIGIBLE = 0.05
"""Fits with less of the smooth average than this are left out when folds are judged."""

CLOSE_ENOUGH = 0.01
"""Nats to which a candidate maximum is found: less could not be seen in the answer."""


HEAD_START = 20.0
"""Nats that the others have to make up to an answer that knows which values are neighbours.

Under strong noise the held-out scores of good and bad answers differ by a few nats, by chance. Under weaker noise one
spike that is told rightly is worth ten nats, while a maximum that tells it is rough, and wrong, elsewhere. A truth
that really is rough or sparse makes it up, given reports enough to show it.
"""

SHORT_HEAD_START = 1.0
"""The same where neighbours mean nothing: there the average over priors knows nothing that the others do not."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """What a method makes of all reports, and of all but each fold, one row a fold.

    Attributes
    ----------
    head_start
        Nats that other candidates have to make up, if this is the first of them.
    """

    name: str
    distribution: FloatArray
    without_fold: FloatArray
    head_start: float = SHORT_HEAD_START


def stored(evidence: Evidence) -> Evidence:
    """Return the same evidence with its matrix stored, where that is faster; k-RR's closed form is kept."""
    channel = evidence.channel
    if channel.keep_and_other is not None or channel.shape[0] * channel.shape[1] > SMALL_MATRIX:
        return evidence
    matrix = Dense(channel.dense(), channel.layout)
    return Evidence(matrix, evidence.counts, evidence.log_offset, evidence.layout)


def smooth_candidate(evidence: Evidence, folds: Folds) -> Candidate:
    """Average smooth priors, or pulls to the uniform distribution; for the folds, move each fit by one Newton step."""
    from confide.solvers.smooth_prior import refit

    problem, fits = fit_all(evidence, _ignore)
    shares = believe(evidence, fits)
    kept = np.flatnonzero((shares > NEGLIGIBLE) | (shares == shares.max()))
    total = evidence.total * (1 - 1 / folds.learned.shape[0])
    parts = sum(shares[place] * refit(problem, fits[place], folds.learned, total) for place in kept)
    distribution = turn_to_reporters(evidence, mix(fits, shares))
    head_start = SHORT_HEAD_START if layout_of(evidence) is None else HEAD_START
    # New reports come from the population, not from those who have reported: the folds are judged without that turn.
    return Candidate(name_of_smooth(evidence), distribution, _normalised(np.asarray(parts)), head_start)


def name_of_smooth(evidence: Evidence) -> str:
    """Return what the average over priors is called: where neighbours mean nothing, nothing is taken for smooth."""
    return "shrunk" if layout_of(evidence) is None else "smooth"


def held_out_candidate(evidence: Evidence, folds: Folds) -> Candidate:
    """Stop EM where it explains held-out reports best."""
    size = evidence.channel.shape[0]
    start = np.full(size, 1 / size)
    steps = max(1, best_number_of_steps(evidence, start, folds, MOST_STEPS))
    shares = np.vstack([evidence.frequencies, folds.learned])
    theta = np.tile(start, (shares.shape[0], 1))
    for _ in range(steps):
        outputs = evidence.channel.push(theta)
        ratio = np.divide(shares, outputs, out=np.zeros_like(outputs), where=shares > 0)
        theta = theta * evidence.channel.pull(ratio)
    theta = _normalised(theta)
    return Candidate("held-out IBU", theta[0], theta[1:])


def highest_candidate(evidence: Evidence, folds: Folds) -> Candidate:
    """Find the maximum of the likelihood."""
    method, total = MLE(CLOSE_ENOUGH), evidence.total * (1 - 1 / folds.learned.shape[0])
    parts = [Evidence(evidence.channel, total * shares) for shares in folds.learned]
    found = [method.solve(part).distribution for part in (evidence, *parts)]
    return Candidate("MLE", found[0], np.array(found[1:]))


def why_not_highest(evidence: Evidence) -> str:
    """Return why the maximum is not tried; nothing where it is."""
    from confide.solvers import can_follow_path

    size = evidence.channel.shape[0]
    is_quick = evidence.channel.keep_and_other is not None or can_follow_path(evidence)
    if size <= LARGEST_MAXIMUM or is_quick:
        return ""
    return f"finding it once a fold would take too long for {size:,} values"


def _ignore(outputs: FloatArray) -> None:
    """Take no notice of a step."""


def _normalised(rows: FloatArray) -> FloatArray:
    normalised: FloatArray = rows / rows.sum(axis=1, keepdims=True)
    return normalised
