"""The iterative Bayesian update (paper, Algorithm 1), with three stopping rules."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from confide.channels import Channel
from confide.channels.base import FloatArray, Indices
from confide.errors import InvalidCountsError, InvalidDistributionError
from confide.evidence.evidence import Evidence
from confide.solve.em import EM, EnoughSteps, GoodCertificate, RowStack, SmallStep, Step, StoppingRule, uniform
from confide.solve.methods.base import EMMethod, Method, Progress, Solution
from confide.values.checks import as_distribution, check_choice, check_count, check_positive, read_only, size_of

PATIENCE = 1.5
"""The search goes on until the best step lies this factor back, and a hundred steps besides."""


@dataclass(frozen=True, eq=False)
class IBU(EMMethod):
    """Climb the likelihood by expectation-maximisation, and stop by one of three rules.

    Each iteration replaces theta_x by sum_z q_z theta_x M_xz / (theta M)_z (paper, Algorithm ibu). It never lowers the
    likelihood. The rule of the paper bounds the *last step* of the total log-likelihood, which says little about how
    far the maximum still is; the estimate's ``certificate`` does. Under strong noise stopping early is no defect:
    the exact maximum fits the noise.

    Parameters
    ----------
    delta
        With the paper's rule, ``stop="delta"``: stop when a step changes the total log-likelihood by less than this.
    start
        Where to start: any distribution without a zero, for a value that starts at zero stays there. Uniform if
        left out.
    iteration_limit
        Give up after this many iterations, with the status ``iteration limit``.
    stop
        ``"delta"``, the rule of the paper; ``"certificate"``, when no distribution can be better by more than
        `tolerance`; ``"held-out"``, after as many steps as explain best what is held out, which needs no tuning.
    tolerance
        The certificate to reach, in nats.
    folds, seed
        How many folds the reports are split into to be held out, and the seed of the split.

    >>> import confide as cf
    >>> mechanism = cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0)
    >>> counts = cf.tally(["yes", "no"], counts=[600, 400])
    >>> cf.estimate(counts, mechanism, cf.IBU()).distribution.round(2)
    array([0.71, 0.29])
    """

    delta: float = 0.01
    start: ArrayLike | None = None
    iteration_limit: int = 100_000
    stop: Literal["delta", "certificate", "held-out"] = "delta"
    tolerance: float = 1.0
    folds: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("stop", self.stop, ("delta", "certificate", "held-out"))
        check_positive("tolerance", self.tolerance)
        check_count("folds", self.folds, 2)
        check_count("seed", self.seed, 0)
        check_positive("delta", self.delta)
        check_count("iteration_limit", self.iteration_limit, 1)
        if self.start is not None:
            start = as_distribution(self.start, size_of(self.start, "start"), "start")
            if (start == 0).any():
                raise InvalidDistributionError(
                    f"start must give every value a positive probability, for IBU never leaves zero; got 0 at position "
                    f"{int(np.argmin(start))}. Mix it with a little of the uniform distribution."
                )
            object.__setattr__(self, "start", read_only(start))

    @property
    def seeks_maximum(self) -> bool:
        """See :attr:`Method.seeks_maximum`; held-out reports stop it elsewhere on purpose."""
        return self.stop != "held-out"

    @property
    def name(self) -> str:
        return {"delta": "IBU", "certificate": "certified IBU", "held-out": "held-out IBU"}[self.stop]

    @property
    def full_name(self) -> str:
        stopped = {
            "delta": "",
            "certificate": ", stopped by its certificate",
            "held-out": ", stopped by held-out reports",
        }
        return f"the iterative Bayesian update{stopped[self.stop]} ({self.name})"

    def solve_many(
        self, evidence: Evidence, counts: FloatArray, *, pilot: Solution | None = None, progress: Progress | None = None
    ) -> list[Solution]:
        """See :meth:`Method.solve_many`; held-out replicates take as many steps as the pilot.

        To hold out anew from each replicate would take many times as long, and the number of steps varies little.
        """
        is_apart = self.stop == "held-out" and pilot is None  # each group has folds, and a number of steps, of its own
        solve_many = Method.solve_many if is_apart else EMMethod.solve_many
        return solve_many(self, evidence, counts, pilot=pilot, progress=progress)

    def rule(self, evidence: Evidence, pilot: Solution | None = None) -> StoppingRule:
        if self.stop == "delta":
            return SmallStep(self.delta)
        if self.stop == "certificate":
            return GoodCertificate(self.tolerance)
        if pilot is not None:
            return EnoughSteps(pilot.iterations)
        folds = Folds.of(evidence, self.folds, self.seed)
        first, totals = self.first(evidence.channel.shape[0]), np.array([evidence.total])
        return EnoughSteps(best_numbers_of_steps(evidence.channel, first, [folds], totals, self.iteration_limit)[0])

    def first(self, size: int) -> FloatArray:
        return uniform(size) if self.start is None else as_distribution(self.start, size, "start")

    def __repr__(self) -> str:
        rule = {
            "delta": f"delta={self.delta:g}",
            "certificate": f"stop='certificate', tolerance={self.tolerance:g}",
            "held-out": f"stop='held-out', folds={self.folds}, seed={self.seed}",
        }[self.stop]
        start = "" if self.start is None else ", start=..."
        return f"IBU({rule}{start}, iteration_limit={self.iteration_limit:,})"


@dataclass(frozen=True, eq=False)
class Folds:
    """Output shares to learn from and to judge by, per fold."""

    learned: FloatArray
    judged: FloatArray

    @classmethod
    def of(cls, evidence: Evidence, count: int, seed: int) -> Folds:
        """Split the counts into random folds, reproducibly by seed."""
        counts = evidence.counts
        if (counts != np.floor(counts)).any() or evidence.total < 2 * count:
            raise InvalidCountsError(
                f"Holding out needs whole counts of at least {2 * count} reports; got {evidence.total:g} in all."
            )
        generator = np.random.default_rng(seed)
        judged = generator.multinomial(counts.astype(np.int64), np.full(count, 1 / count)).T.astype(np.float64)
        learned = counts - judged
        return cls(*(rows / np.maximum(rows.sum(axis=1, keepdims=True), 1.0) for rows in (learned, judged)))


def best_numbers_of_steps(
    channel: Channel, start: FloatArray, folds: Sequence[Folds], totals: FloatArray, limit: int
) -> list[int]:
    """Return the earliest EM step near the best held-out score, by row.

    EM runs on all but one fold, for each fold of each row, and every so often the fold left out is scored. The mean
    score rises while the steps fit the truth and falls once they fit the noise.
    """
    shares = np.concatenate([one.learned for one in folds])
    em = EM(RowStack.of_shares(channel, shares), start)
    race = _Race(np.array([one.judged for one in folds]), totals)
    race.score(em.step)
    for step in islice(em, limit):
        if step.iteration < 100 or step.iteration >= 1.02 * race.steps[-1]:
            race.score(step)
            left = race.set_aside()
            if not left.size:
                break
            if left.size < len(step.rows):
                em.keep(left)
    return race.earliest()


class _Race:
    """Held-out scores by step; rows past their best are dropped.

    Attributes
    ----------
    judged
        The folds that were left out of the rows that still run.
    places
        Which rows these are.
    steps, scores
        The steps that were scored, and the score of each row and fold; not a number once a row was set aside.
    best, highest
        The best score of each row, by its place among the steps, and itself.
    """

    def __init__(self, judged: FloatArray, totals: FloatArray) -> None:
        self.judged, self.totals, self.places = judged, totals, np.arange(len(judged))
        self.steps: list[int] = []
        self.scores: list[FloatArray] = []
        self.best, self.highest = np.zeros(len(judged), dtype=np.int64), np.full(len(judged), -np.inf)

    def score(self, step: Step) -> None:
        """Score the held-out folds; an impossible report counts as e^-690."""
        scores = np.full((len(self.best), self.judged.shape[1]), np.nan)
        outputs = step.outputs.reshape(self.judged.shape)
        scores[self.places] = (self.judged * np.log(outputs)).sum(axis=2)
        self.steps.append(step.iteration)
        self.scores.append(scores)
        sums = scores.sum(axis=1)
        better = np.flatnonzero(sums > self.highest)
        self.best[better], self.highest[better] = len(self.steps) - 1, sums[better]

    def set_aside(self) -> Indices:
        """End rows that are past their best; return those left."""
        number, steps = self.steps[-1], np.array(self.steps)
        is_over = number > PATIENCE * steps[self.best[self.places]] + 100
        if number > 500:
            earlier = self.scores[bisect_left(self.steps, number / PATIENCE)][self.places]
            changed = np.abs(self.scores[-1][self.places] - earlier).mean(axis=1)
            # Scores that changed by a hundredth of a nat over the last third of the steps are flat: under weak noise,
            # as of RAPPOR at 5, they creep up for 100,000 steps.
            is_over |= changed * self.totals[self.places] < 0.01
        folds, going = self.judged.shape[1], np.flatnonzero(~is_over)
        if going.size < self.places.size:
            self.places, self.judged = self.places[going], self.judged[going]
        rows: Indices = (going[:, None] * folds + np.arange(folds)).reshape(-1)
        return rows

    def earliest(self) -> list[int]:
        """Return the step of each row."""
        scores = np.array(self.scores)
        numbers = np.count_nonzero(~np.isnan(scores[:, :, 0]), axis=0)
        return [max(1, self.steps[_earliest(scores[:number, row])]) for row, number in enumerate(numbers)]


def _earliest(scores: FloatArray) -> int:
    """Compare each step with the best one, fold by fold."""
    best = int(np.argmax(scores.mean(axis=1)))
    behind = scores[best] - scores
    error = behind.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
    # Half a standard error below the best score an earlier step is preferred.
    return int(np.argmax(behind.mean(axis=1) <= 0.5 * error))
