"""The contract of a method, with IBU and MLE."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from confide.channels import Channel
from confide.channels.base import FloatArray, Indices
from confide.errors import InvalidCountsError, InvalidDistributionError, InvalidParameterError
from confide.evidence.evidence import Evidence
from confide.solve.em import (
    EM,
    EnoughSteps,
    GoodCertificate,
    Monitor,
    RowStack,
    SmallStep,
    Status,
    Step,
    StoppingRule,
    climb,
    uniform,
)
from confide.values.checks import as_distribution, check_choice, check_count, check_positive, read_only, size_of
from confide.values.wording import counted

Progress = Callable[[int], None]
"""Called with how many rows, or groups, are done."""

STACK = 2**17
"""Entries of a row stack that are solved at a time: a megabyte a matrix, which stays in a processor's own memory."""


@dataclass(frozen=True)
class Choice:
    """A candidate that a method mixed, with its share and score.

    Attributes
    ----------
    name
        What the candidate is called.
    share
        Its share of the answer, between 0 and 1.
    score
        How much better, in nats, it explained all held-out reports than the first candidate did; None if nothing was
        held out, or if it was not tried.
    remark
        Why it was not tried; empty if it was.
    method
        The candidate itself, which solves bootstrap replicates; None if it was not tried.
    """

    name: str
    share: float
    score: float | None
    remark: str = ""
    method: Method | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, eq=False)
class Solution:
    """The distribution that a method found, and how it got there.

    Attributes
    ----------
    distribution
        One probability for each value. Only raw inversion leaves negative entries.
    iterations
        How many steps it took; 0 for a closed form.
    status, explanation
        How it ended, in a word and in a sentence.
    choices
        What it was mixed from, if from several.

    Examples
    --------
    >>> from confide import RandomizedResponse, tally, Categories
    >>> mechanism = RandomizedResponse(Categories(["yes", "no"]), epsilon=1.0)
    >>> MLE().solve(mechanism.observe(tally(["yes", "yes", "no"]))).status.value
    'certified'
    """

    distribution: FloatArray
    iterations: int
    status: Status
    explanation: str
    choices: tuple[Choice, ...] = ()


class Method(ABC):
    """A way to recover a distribution: a frozen value of settings.

    A new method defines :attr:`name` and :meth:`solve`. Bootstrap replicates and groups are then solved one by one; one
    that can take many rows of counts together defines :meth:`solve_many` as well. A method that is EM with something
    changed builds on :class:`EMMethod`, which has both.

    Examples
    --------
    >>> IBU(delta=0.01).name, MLE().seeks_maximum
    ('IBU', True)
    """

    climbs: ClassVar[bool] = False
    """Whether the method climbs the likelihood, so that it may look for the maximum among the likely values alone."""

    reaches_maximum: ClassVar[bool] = False
    """Whether the answer is the maximum itself, wherever the search began, so that unlikely values may be left out."""

    @property
    def seeks_maximum(self) -> bool:
        """Whether it seeks the maximum, so that the certificate judges it.

        Methods that smooth, mix or stop early leave the maximum on purpose. Their certificate is large, and says
        nothing about quality.
        """
        return False

    @property
    @abstractmethod
    def name(self) -> str:
        """The name in tables."""

    @property
    def full_name(self) -> str:
        """Name in a sentence, for readers new to the short one."""
        return self.name

    @abstractmethod
    def solve(self, evidence: Evidence, monitor: Monitor | None = None) -> Solution:
        """Recover the distribution over values from the evidence."""

    def solve_many(
        self,
        evidence: Evidence,
        counts: FloatArray,
        *,
        pilot: Solution | None = None,  # noqa: ARG002 (nothing to keep of it)
        progress: Progress | None = None,
    ) -> list[Solution]:
        """Recover one distribution from each row of counts.

        Parameters
        ----------
        evidence
            The channel and the layout of all rows.
        counts
            Reports per output of the channel, one row each.
        pilot
            The solution of the evidence itself, if rows are its bootstrap replicates. A method may reuse its choices,
            such as a number of steps, for every replicate.
        progress
            Called with how many rows are done.
        """
        solutions = []
        for number, row in enumerate(counts, start=1):
            solutions.append(self.solve(replace(evidence, counts=row, log_offset=0.0)))
            if progress is not None:
                progress(number)
        return solutions


class EMMethod(Method):
    """EM with a stopping rule; subclasses may change start and steps.

    Rows of counts, be they groups or bootstrap replicates, go through the channel together.
    """

    climbs: ClassVar[bool] = True

    iteration_limit: int = 100_000
    """EM steps after which a row ends without its rule."""

    @property
    def seeks_maximum(self) -> bool:
        return True

    @abstractmethod
    def rule(self, evidence: Evidence, pilot: Solution | None = None) -> StoppingRule:
        """Return the rule that ends each row; the pilot as in :meth:`Method.solve_many`."""

    def first(self, size: int) -> FloatArray:
        """Return the distribution to start from: uniform."""
        return uniform(size)

    def adjust(self, theta: FloatArray) -> FloatArray:
        """Return the distributions to continue with after a step."""
        return theta

    def solve(self, evidence: Evidence, monitor: Monitor | None = None) -> Solution:
        return self._climb(RowStack.of(evidence), self.rule(evidence), monitor)[0]

    def solve_many(
        self, evidence: Evidence, counts: FloatArray, *, pilot: Solution | None = None, progress: Progress | None = None
    ) -> list[Solution]:
        rows, rule = RowStack.over(evidence, counts).stored(), self.rule(evidence, pilot)
        most = max(1, STACK // max(evidence.channel.shape))
        solutions: list[Solution] = []
        for begin in range(0, len(rows), most):
            solutions += self._climb(rows.only(slice(begin, begin + most)), rule)
            if progress is not None:
                progress(len(solutions))
        return solutions

    def _climb(self, rows: RowStack, rule: StoppingRule, monitor: Monitor | None = None) -> list[Solution]:
        first = self.first(rows.channel.shape[0])
        adjust = None if type(self).adjust is EMMethod.adjust else self.adjust
        endings = climb(rows, first, rule, self.iteration_limit, adjust=adjust, monitor=monitor)
        solutions = []
        for ending in endings:
            status, words = rule.status, rule.explain(ending.iterations)
            if not ending.is_met:
                status = Status.ITERATION_LIMIT
                words = (
                    f"the limit of {counted(self.iteration_limit, 'iteration')} came first: the last one still raised "
                    f"the log-likelihood by {ending.rise:.3g}"
                )
            solutions.append(Solution(ending.distribution, ending.iterations, status, words))
        return solutions


@dataclass(frozen=True, eq=False)
class IBU(EMMethod):
    """Climb the likelihood by EM, and stop by one of three rules.

    Each iteration replaces theta_x by sum_z q_z theta_x M_xz / (theta M)_z (paper, Algorithm ibu). It never lowers the
    likelihood. The paper's rule bounds the *last step* of the log-likelihood. That says little about the distance to
    the maximum; the estimate's ``certificate`` does. Under strong noise, stopping early helps: the exact maximum fits
    the noise.

    Parameters
    ----------
    delta
        With the paper's rule, ``stop="delta"``: stop when a step changes the total log-likelihood by less than this.
    start
        Where to start: a distribution without zeros, because a value that starts at zero stays there. Default: uniform.
    iteration_limit
        Give up after this many iterations, with the status ``iteration limit``.
    stop
        ``"delta"`` is the rule of the paper. ``"certificate"`` stops when no distribution can be better by more than
        `tolerance`. ``"held-out"`` takes the number of steps that explains held-out reports best, without tuning.
    tolerance
        The certificate to reach, in nats.
    folds, seed
        Number of folds for cross-validation, and the seed of the split.

    Examples
    --------
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
        # Held-out reports stop it elsewhere on purpose.
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
        # Held-out replicates take as many steps as the pilot.
        # To hold out anew from each replicate would take many times as long, and the number of steps varies little.
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
        rest = counts - np.floor(counts)
        if (evidence.variances is None and rest.any()) or evidence.total < 2 * count:
            raise InvalidCountsError(
                f"Holding out needs whole counts of at least {2 * count} reports; got {evidence.total:g} in all."
            )
        generator = np.random.default_rng(seed)
        judged = generator.multinomial(counts.astype(np.int64), np.full(count, 1 / count)).T.astype(np.float64)
        if rest.any():  # of weighted reports, which are worth as many as the counts say
            judged[generator.integers(count, size=rest.size), np.arange(rest.size)] += rest
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
                em.step = step.only(left)
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
        # The search goes on until the best step lies this factor back, and a hundred steps besides.
        patience = 1.5
        is_over = number > patience * steps[self.best[self.places]] + 100
        if number > 500:
            earlier = self.scores[bisect_left(self.steps, number / patience)][self.places]
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
        """Return the step of each row.

        Compare each with the best one, fold by fold.
        """
        every, found = np.array(self.scores), []
        for row, number in enumerate(np.count_nonzero(~np.isnan(every[:, :, 0]), axis=0)):
            scores = every[:number, row]
            behind = scores[int(np.argmax(scores.mean(axis=1)))] - scores
            error = behind.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
            # Half a standard error below the best score an earlier step is preferred.
            found.append(max(1, self.steps[int(np.argmax(behind.mean(axis=1) <= 0.5 * error))]))
        return found


@dataclass(frozen=True)
class MLE(Method):
    """Reach the maximum of the likelihood, and prove it by the certificate.

    The search ends when no distribution can explain the reports better by more than `tolerance` nats of log-likelihood.
    If the distribution is not identifiable, the answer is one of many with the same likelihood.

    The maximum is not always the best estimate of the truth: under strong noise it fits the noise, and :class:`IBU`
    stopped early comes closer.

    Parameters
    ----------
    tolerance
        The certificate to reach, in nats.
    time_limit
        Seconds after which the best answer so far is returned, with its certificate and the status ``time limit``.
    iteration_limit
        Iterations after which the best answer so far is returned.
    solver
        ``"auto"`` chooses by the channel: a closed form for randomized response, Newton on a small support for most,
        an interior point in O(k) for long lines.

    Examples
    --------
    >>> import confide as cf
    >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=0.5)
    >>> counts = cf.tally(mechanism.privatize([3, 4, 5] * 1000, rng=1))
    >>> answer = cf.estimate(counts, mechanism, cf.MLE())
    >>> answer.status, answer.certificate <= 1e-6
    (<Status.CERTIFIED: 'certified'>, True)
    """

    name = "MLE"
    full_name = "the maximum of the likelihood (MLE)"
    seeks_maximum = True
    climbs: ClassVar[bool] = True
    reaches_maximum: ClassVar[bool] = True

    tolerance: float = 1e-6
    time_limit: float = 600.0
    iteration_limit: int = 500
    solver: str = "auto"

    def __post_init__(self) -> None:
        check_positive("tolerance", self.tolerance)
        check_positive("time_limit", self.time_limit)
        check_count("iteration_limit", self.iteration_limit, 1)
        check_choice("solver", self.solver, ("auto", "support-newton", "interior-point"))

    def solve(self, evidence: Evidence, monitor: Monitor | None = None) -> Solution:
        # scipy's linear algebra takes a while to import; the command line's help should not wait for it.
        from confide.solve.maximum import SOLVERS, can_follow_path, maximise
        from confide.solve.support_newton import Clock

        highest = [-np.inf]

        def progress(number: int, outputs: FloatArray) -> None:
            if monitor is not None and evidence.explains(outputs):
                highest[0] = max(highest[0], evidence.log_likelihood_of_outputs(outputs))
                monitor(number, highest[0])

        # Half the tolerance, because the certificate is computed once more, from the rounded answer.
        # Nor is more sought than float64 can tell apart, which only costs time.
        clock = Clock(max(self.tolerance / 2, 2 * evidence.resolution), self.iteration_limit, self.time_limit)
        if self.solver == "auto":
            found = maximise(evidence, clock, progress)
        elif self.solver == "interior-point" and not can_follow_path(evidence):
            raise InvalidParameterError("The interior point does not fit a channel of this size; use solver='auto'.")
        else:
            found = SOLVERS[self.solver](evidence, uniform(evidence.channel.shape[0]), clock, progress)
        # The search goes by g as float64 has it; what is claimed is proven with the errors of float64 in it.
        proven = evidence.certificate(found.distribution)
        status = self._status(evidence, proven, found.iterations, is_over=clock.is_over)
        explanation = _explain(status, proven, found.iterations)
        return Solution(found.distribution, found.iterations, status, explanation)

    def solve_many(
        self,
        evidence: Evidence,
        counts: FloatArray,
        *,
        pilot: Solution | None = None,  # noqa: ARG002 (nothing to keep of it)
        progress: Progress | None = None,
    ) -> list[Solution]:
        # Rows over a small channel are solved side by side.
        from confide.solve.maximum import can_solve_together, maxima

        channel = evidence.channel
        # Two rows are solved faster one by one.
        if self.solver != "auto" or not can_solve_together(channel) or counts.shape[0] < 3:
            return super().solve_many(evidence, counts, progress=progress)
        totals = counts.sum(axis=1)
        resolutions = totals * (evidence.resolution / evidence.total)
        aims = np.maximum(self.tolerance / 2, 2 * resolutions)
        found = maxima(channel.dense(), counts, aims, channel.layout)
        solutions = []
        for place, (theta, certificate) in enumerate(
            zip(found.distributions, found.certificates.tolist(), strict=True)
        ):
            proven, rounds = certificate, int(found.rounds[place])
            # A certificate as float64 gives it may err by 1e-9 nats a report; 1e-11 is the worst that was seen.
            if self.tolerance <= 1e-9 * totals[place]:
                # Next to what float64 resolves the certificate is proven once more, from the rounded answer.
                proven = replace(evidence, counts=counts[place], log_offset=0.0).certificate(theta)
            if proven <= self.tolerance and rounds <= self.iteration_limit:
                words = _explain(Status.CERTIFIED, proven, rounds)
                solutions.append(Solution(theta, rounds, Status.CERTIFIED, words))
            else:
                solutions.append(self.solve(replace(evidence, counts=counts[place], log_offset=0.0)))
        if progress is not None:
            progress(counts.shape[0])
        return solutions

    def _status(self, evidence: Evidence, certificate: float, iterations: int, *, is_over: bool) -> Status:
        if certificate <= self.tolerance:
            return Status.CERTIFIED
        if is_over:
            return Status.TIME_LIMIT
        if iterations >= self.iteration_limit and certificate > evidence.resolution:
            return Status.ITERATION_LIMIT
        # A certificate of up to 100 times what double precision resolves is its fault; a larger one is the solver's.
        return Status.PRECISION_LIMIT if certificate <= 100 * evidence.resolution else Status.STALLED


def _explain(status: Status, certificate: float, iterations: int) -> str:
    reached = (
        f"after {counted(iterations, 'iteration')} no distribution can be better by more than {certificate:.2g} nats"
    )
    return {
        Status.CERTIFIED: reached,
        Status.TIME_LIMIT: f"the time ran out; {reached}",
        Status.ITERATION_LIMIT: f"the iterations ran out; {reached}",
        Status.PRECISION_LIMIT: f"double precision can prove no more for so many reports; {reached}",
        Status.STALLED: f"the solver found no way on; {reached}",
    }[status]
