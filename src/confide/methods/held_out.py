"""How many EM steps explain reports best that they were not shown.

The counts are split into folds by thinning: every report falls into one of them at random. EM runs on all but one fold,
for each fold, all runs side by side as one stack of vectors, and every so often the fold left out is scored. The mean
score rises while the steps fit the truth and falls once they fit the noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from confide.channels.base import FloatArray
from confide.errors import InvalidCountsError
from confide.evidence import Evidence

LEEWAY = 0.5
"""How many standard errors below the best an earlier step may score and still be preferred."""

PATIENCE = 1.5
"""The search goes on until the best step lies this factor back, and a hundred steps besides."""


@dataclass(frozen=True, eq=False)
class Folds:
    """Shares of outputs to learn from and to be judged by, one row a fold."""

    learned: FloatArray
    judged: FloatArray

    @classmethod
    def of(cls, evidence: Evidence, count: int, seed: int) -> Folds:
        """Thin the counts into folds; the same ones for the same seed."""
        counts = evidence.counts
        if (counts != np.floor(counts)).any() or evidence.total < 2 * count:
            raise InvalidCountsError(
                f"Holding out needs whole counts of at least {2 * count} reports; got {evidence.total:g} in all."
            )
        generator = np.random.default_rng(seed)
        judged = generator.multinomial(counts.astype(np.int64), np.full(count, 1 / count)).T.astype(np.float64)
        learned = counts - judged
        return cls(_normalised(learned), _normalised(judged))


def best_number_of_steps(evidence: Evidence, start: FloatArray, folds: Folds, limit: int) -> int:
    """Return the earliest step within half a standard error of the best mean score."""
    channel = evidence.channel
    theta = np.tile(start, (folds.learned.shape[0], 1))
    outputs = channel.push(theta)
    steps, scores, best = [0], [_score(folds, outputs)], 0
    for step in range(1, limit + 1):
        ratio = np.divide(folds.learned, outputs, out=np.zeros_like(outputs), where=folds.learned > 0)
        theta = theta * channel.pull(ratio)
        outputs = channel.push(theta)
        if step < 100 or step >= 1.02 * steps[-1]:
            steps.append(step)
            scores.append(_score(folds, outputs))
            if scores[-1].sum() > scores[best].sum():
                best = len(scores) - 1
            if step > PATIENCE * steps[best] + 100:
                break
    return steps[_earliest(np.array(scores))]


def _earliest(scores: FloatArray) -> int:
    """Compare each step with the best one, fold by fold: what all steps find hard cancels."""
    best = int(np.argmax(scores.mean(axis=1)))
    behind = scores[best] - scores
    error = behind.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
    return int(np.argmax(behind.mean(axis=1) <= LEEWAY * error))


def _score(folds: Folds, outputs: FloatArray) -> FloatArray:
    """Return the mean log-likelihood of each fold left out; a report that has become impossible counts as e^-700."""
    logs = np.log(np.maximum(outputs, 1e-304))
    scores: FloatArray = (folds.judged * logs).sum(axis=1)
    return scores


def _normalised(rows: FloatArray) -> FloatArray:
    normalised: FloatArray = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1.0)
    return normalised
