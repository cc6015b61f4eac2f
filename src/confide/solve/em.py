"""Expectation-maximisation over rows of counts, shared by all iterative methods.

With q the shares of the outputs and y = theta M, an EM step replaces theta by theta g, where g = M (q / y) (paper,
Algorithm 1). It never lowers the likelihood. A row stack holds the counts of one survey, of many groups, of folds or of
bootstrap replicates over one channel; :class:`EM` iterates over the steps of all rows, and :func:`climb` runs each row
until its stopping rule is met. One row goes without an axis for rows: all that is written here takes vectors and stacks
of vectors alike, and a single solve pays for nothing but its own arithmetic.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from confide.channels import Channel, Dense
from confide.channels.base import FloatArray, Indices
from confide.evidence.evidence import Evidence, certificate_bound
from confide.values.wording import counted

Monitor = Callable[[int, float], None]
"""Called with the iteration number and the log-likelihood reached, as a method goes along."""

Adjust = Callable[[FloatArray], FloatArray]
"""Change of the distributions after every step, one row each; they need not sum to one."""

Numbers = FloatArray | float
"""One number for each row."""

Answers = NDArray[np.bool_] | bool
"""Yes or no for each row, or for all of them."""

EPSILON = float(np.finfo(np.float64).eps)
"""Rounding of a product by FFT, relative to its largest entry: what is smaller may come out zero or negative."""

ROUNDING = 1e-6
"""Relative error of g that no channel comes near, 1e-11 being the worst that was seen (a plane by FFT, three outliers
among 1e8 reports): certificates that are good by so much more are not proven once more."""

FAINT = 1e-300
"""Stands for a probability of zero where nothing was reported: 0 / FAINT and 0 log FAINT are zero, and no warning."""

SET_ASIDE = 8
"""Rows that have ended are taken out of the stack once they are one in so many: a copy of the stack costs about a tenth
of a step, and rows that have ended cost as much as others as long as they stay."""


class Status(StrEnum):
    """How a method ended.

    >>> print(Status.SMALL_STEP)
    small step
    """

    CLOSED_FORM = "closed form"
    CERTIFIED = "certified"
    SMALL_STEP = "small step"
    HELD_OUT = "held-out"
    AVERAGED = "averaged"
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    PRECISION_LIMIT = "precision limit"
    STALLED = "stalled"


@dataclass(frozen=True, eq=False)
class RowStack:
    """Rows of counts over one channel.

    Attributes
    ----------
    channel
        P(output | value).
    frequencies
        q, the share of each output among the reports: one row each, or a vector for one row alone.
    totals
        n, how many reports each row has.
    offsets
        Constants in the log-likelihood of each row; see :attr:`Evidence.log_offset`.
    resolutions
        The smallest certificate of each row; see :attr:`Evidence.resolution`.
    """

    channel: Channel
    frequencies: FloatArray
    totals: Numbers
    offsets: Numbers
    resolutions: Numbers

    @classmethod
    def of(cls, evidence: Evidence) -> RowStack:
        """Return one row: the evidence itself."""
        return cls(evidence.channel, evidence.frequencies, evidence.total, evidence.log_offset, evidence.resolution)

    @classmethod
    def over(cls, evidence: Evidence, counts: FloatArray) -> RowStack:
        """Return other counts over the outputs of the evidence, one row each."""
        totals = counts.sum(axis=1)
        resolutions = totals * (evidence.resolution / evidence.total)
        return cls(evidence.channel, counts / totals[:, None], totals, np.zeros_like(totals), resolutions)

    @classmethod
    def of_shares(cls, channel: Channel, shares: FloatArray) -> RowStack:
        """Return rows of output shares, as if of one report each."""
        ones = np.ones(len(shares))
        return cls(channel, shares, ones, 0 * ones, 0 * ones)

    def __len__(self) -> int:
        return 1 if self.frequencies.ndim == 1 else self.frequencies.shape[0]

    def only(self, places: Indices | slice) -> RowStack:
        """Return some of the rows of a stack."""
        totals, offsets, resolutions = (
            np.asarray(numbers)[places] for numbers in (self.totals, self.offsets, self.resolutions)
        )
        return RowStack(self.channel, self.frequencies[places], totals, offsets, resolutions)

    def evidence(self, row: int) -> Evidence:
        """Return one row as evidence."""
        totals, frequencies = np.atleast_1d(self.totals), np.atleast_2d(self.frequencies)
        return Evidence(self.channel, totals[row] * frequencies[row])

    def stored(self) -> RowStack:
        """Return the same rows over the channel fastest for stacks."""
        channel = self.channel
        # Up to 512 values and outputs BLAS with a stored matrix beats LAPACK's pttrs, vector by vector, and FFTs.
        # k-RR's closed form, three passes over the stack, is always faster.
        if len(self) == 1 or channel.keep_and_other is not None or max(channel.shape) > 512:
            return self
        return replace(self, channel=Dense(channel.dense(), channel.layout))

    def push(self, theta: FloatArray) -> tuple[FloatArray, Answers]:
        """Return a positive y = theta M, and rows with impossible reports.

        A product by FFT may come out zero or negative where the truth is tiny, as may a product that underflows.
        A reported output gets the rounding of the row's largest one there: steps from it, which do not depend on the
        scale of theta or y, bring the values that explain it back into sight.
        """
        outputs = self.channel.push(theta)
        if _least(outputs) > 0:
            return outputs, False
        seen, is_positive = self.frequencies > 0, outputs > 0
        least = np.where(seen, EPSILON * outputs.max(axis=-1, keepdims=True), FAINT)
        is_impossible = np.any(seen & ~is_positive, axis=-1)
        lifted: FloatArray = np.where(is_positive, outputs, np.maximum(least, FAINT))
        return lifted, is_impossible if isinstance(is_impossible, np.ndarray) else bool(is_impossible)

    def gain(self, outputs: FloatArray) -> FloatArray:
        """Return g = pull(q / y), the gradient of L per report."""
        gain = self.channel.pull(self.frequencies / outputs)
        if _least(gain) < 0:  # no more than the rounding of an FFT: a value must not die of it
            gain = np.maximum(gain, EPSILON * gain.max(axis=-1, keepdims=True))
        return gain

    def log_likelihood(self, outputs: FloatArray) -> Numbers:
        """Return the log-likelihood of each row, with its offset."""
        logs = np.log(outputs)
        # A vector by BLAS's dot, as Evidence has it; einsum takes six times as long there.
        means = self.frequencies @ logs if logs.ndim == 1 else np.einsum("ij,ij->i", self.frequencies, logs)
        return self.totals * means + self.offsets

    def certificates(self, gain: FloatArray) -> Numbers:
        """Return the certificate of each row; see :meth:`Evidence.certificate_of`."""
        highest = gain.max(axis=-1)
        if not isinstance(self.totals, np.ndarray) or not isinstance(self.resolutions, np.ndarray):
            return certificate_bound(float(highest), float(self.totals), float(self.resolutions))
        numbers = zip(highest.tolist(), self.totals.tolist(), self.resolutions.tolist(), strict=True)
        return np.array([certificate_bound(*row) for row in numbers])


def _least(array: FloatArray) -> float:
    """Return the smallest entry, or NaN; argmin is faster than min()."""
    return array.item(array.argmin())


class Step:
    """An EM step of all rows of a stack, computed lazily.

    Attributes
    ----------
    rows
        The row stack.
    iteration
        The number of the step; 0 for the start.
    theta, outputs
        The distributions after it, one row each, and y = theta M.
    is_impossible
        Whether a reported output has a probability of zero, as far as float64 can tell.
    """

    __slots__ = ("_before", "_gain", "_log_likelihood", "is_impossible", "iteration", "outputs", "rows", "theta")

    def __init__(self, rows: RowStack, theta: FloatArray, before: Step | None = None) -> None:
        self.rows, self.theta, self._before = rows, theta, before
        self.outputs, self.is_impossible = rows.push(theta)
        self.iteration: int = 0 if before is None else before.iteration + 1
        self._gain: FloatArray | None = None
        self._log_likelihood: Numbers | None = None

    @property
    def gain(self) -> FloatArray:
        """The factors g = M (q / y) of the next step."""
        if self._gain is None:
            self._gain = self.rows.gain(self.outputs)
        return self._gain

    @property
    def log_likelihood(self) -> Numbers:
        """L of each row."""
        if self._log_likelihood is None:
            self._log_likelihood = self._unless_impossible(self.rows.log_likelihood(self.outputs), -np.inf)
        return self._log_likelihood

    @property
    def certificates(self) -> Numbers:
        """The certificate of each row; see :meth:`Evidence.certificate_of`."""
        return self._unless_impossible(self.rows.certificates(self.gain), np.inf)

    def _unless_impossible(self, numbers: Numbers, instead: float) -> Numbers:
        return numbers if self.is_impossible is False else np.where(self.is_impossible, instead, numbers)

    @property
    def rise(self) -> Numbers:
        """Rise of L in each row; NaN at the start."""
        if self._before is None:
            return math.nan
        if self._before.is_impossible is False:
            return self.log_likelihood - self._before.log_likelihood
        with np.errstate(invalid="ignore"):  # between two impossible steps: not a number, so that no rule is met
            return np.subtract(self.log_likelihood, self._before.log_likelihood)

    def distribution(self, row: int) -> FloatArray:
        """Return the distribution of one row, which sums to one."""
        theta: FloatArray = np.atleast_2d(self.theta)[row]
        return theta / float(theta.sum())

    def following(self, adjust: Adjust | None = None) -> Step:
        """Return the next step."""
        theta = self.theta * self.gain
        if adjust is not None:
            theta = adjust(np.atleast_2d(theta)).reshape(theta.shape)
        self._before = None  # or every step would keep all those before it
        return Step(self.rows, theta, self)

    def only(self, places: Indices) -> Step:
        """Return the same step of some rows of a stack."""
        part = Step.__new__(Step)
        part.rows, part.iteration, part._before = self.rows.only(places), self.iteration, None
        part.theta, part.outputs = self.theta[places], self.outputs[places]
        part.is_impossible = self.is_impossible if isinstance(self.is_impossible, bool) else self.is_impossible[places]
        part._gain = None if self._gain is None else self._gain[places]
        part._log_likelihood = None if self._log_likelihood is None else np.asarray(self._log_likelihood)[places]
        return part


class EM(Iterator[Step]):
    """Unbounded iterator of EM steps: the first, the second, and so on.

    Attributes
    ----------
    step
        The step that came last; at first the start, with the iteration 0.

    Examples
    --------
    >>> from itertools import islice
    >>> from confide.channels import RandomizedResponseChannel
    >>> evidence = Evidence(RandomizedResponseChannel(2, 0.75, 0.25), np.array([60.0, 40.0]))
    >>> [step.theta.round(3).tolist() for step in islice(EM(RowStack.of(evidence), uniform(2)), 2)]
    [[0.55, 0.45], [0.587, 0.413]]
    """

    def __init__(self, rows: RowStack, start: FloatArray, adjust: Adjust | None = None) -> None:
        # One start may serve all rows; a product makes the copies that a stack needs.
        self.step = Step(rows, start if start.ndim == rows.frequencies.ndim else np.tile(start, (len(rows), 1)))
        self._adjust = adjust

    def __next__(self) -> Step:
        self.step = self.step.following(self._adjust)
        return self.step


def take_steps(rows: RowStack, start: FloatArray, number: int, adjust: Adjust | None = None) -> Step:
    """Return the last of a fixed number of EM steps.

    >>> from confide.channels import RandomizedResponseChannel
    >>> channel = RandomizedResponseChannel(2, 0.75, 0.25)
    >>> take_steps(RowStack.of_shares(channel, np.array([[0.6, 0.4]])), uniform(2), 2).theta.round(3)
    array([[0.587, 0.413]])
    """
    *_, last = islice(EM(rows, start, adjust), number)
    return last


def normalised(theta: FloatArray) -> FloatArray:
    """Return distributions, one per row, scaled to sum to one."""
    scaled: FloatArray = theta / theta.sum(axis=-1, keepdims=True)
    return scaled


@dataclass(frozen=True, eq=False, repr=False)
class MatrixPerRow(Channel):
    """One matrix per row: many small problems of one size.

    Attributes
    ----------
    matrices
        One matrix for each row of the stack, each with one row a value and one column an output.
    """

    matrices: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrices.shape[1], self.matrices.shape[2]

    def times(self, side: int, vectors: FloatArray) -> FloatArray:
        # One row a matrix.
        if side == 0:
            return np.asarray(np.matmul(vectors[:, None, :], self.matrices)[:, 0])
        return np.asarray(np.matmul(self.matrices, vectors[:, :, None])[:, :, 0])

    def select(self, values: Indices) -> FloatArray:
        # These rows of every matrix.
        return self.matrices[:, values]


def uniform(size: int) -> FloatArray:
    """Return the uniform distribution, where EM starts unless told."""
    return np.full(size, 1.0 / size)


class StoppingRule(ABC):
    """Decides for each row whether a step was its last."""

    status: ClassVar[Status]

    @abstractmethod
    def is_met(self, step: Step) -> Answers:
        """Whether each row, or all of them, may stop after this step."""

    def confirm(self, step: Step, row: int) -> bool:  # noqa: ARG002 (one contract)
        """Confirm that one row may stop; may be expensive."""
        return True

    @abstractmethod
    def explain(self, iteration: int) -> str:
        """Say why a row ended after so many steps."""


@dataclass(frozen=True)
class SmallStep(StoppingRule):
    """The paper's rule: the total log-likelihood changed by less than delta."""

    delta: float
    status = Status.SMALL_STEP

    def is_met(self, step: Step) -> Answers:
        return abs(cast("FloatArray", step.rise)) < self.delta  # one number has an abs() too

    def explain(self, iteration: int) -> str:
        return f"iteration {iteration:,} raised the log-likelihood by less than delta = {self.delta:g}"


@dataclass(frozen=True)
class GoodCertificate(StoppingRule):
    """No distribution can be better by more than the tolerance."""

    tolerance: float
    status = Status.CERTIFIED

    def is_met(self, step: Step) -> Answers:
        return step.certificates <= self.tolerance

    def confirm(self, step: Step, row: int) -> bool:
        # Proves the certificate despite rounding of g.
        total = float(np.atleast_1d(step.rows.totals)[row])
        highest = float(np.atleast_2d(step.gain)[row].max())
        if certificate_bound(highest, total, ROUNDING * total) + ROUNDING * total <= self.tolerance:
            return True
        return step.rows.evidence(row).certificate(step.distribution(row)) <= self.tolerance

    def explain(self, iteration: int) -> str:
        steps = counted(iteration, "iteration")
        return f"after {steps} no distribution can be better by more than {self.tolerance:g} nats"


@dataclass(frozen=True)
class EnoughSteps(StoppingRule):
    """Stop after a number of steps chosen by cross-validation."""

    steps: int
    status = Status.HELD_OUT

    def is_met(self, step: Step) -> Answers:
        return step.iteration >= self.steps

    def explain(self, iteration: int) -> str:
        steps = counted(iteration, "iteration")
        return f"{steps} explained reports that were held out best, or as well as any later number"


@dataclass(frozen=True, eq=False)
class Ending:
    """The last step of one row.

    Attributes
    ----------
    distribution
        Where it ended.
    iterations
        How many steps it took.
    rise
        By how much the last one raised L, where the limit ended it.
    is_met
        Whether the rule ended it, and not the limit.
    """

    distribution: FloatArray
    iterations: int
    rise: float
    is_met: bool


def climb(
    rows: RowStack,
    start: FloatArray,
    rule: StoppingRule,
    limit: int,
    *,
    adjust: Adjust | None = None,
    monitor: Monitor | None = None,
) -> list[Ending]:
    """Run EM on every row until its rule or the limit."""
    em = EM(rows, start, adjust)
    endings: dict[int, Ending] = {}
    places, is_open = np.arange(len(rows)), np.ones(len(rows), dtype=bool)
    for step in em:
        if monitor is not None:
            monitor(step.iteration, float(np.ravel(step.log_likelihood)[0]))
        answers = rule.is_met(step)
        if step.iteration < limit and not (answers.any() if isinstance(answers, np.ndarray) else answers):
            continue
        is_met = np.broadcast_to(answers, is_open.shape)
        for row in np.flatnonzero(is_open & (is_met | (step.iteration == limit))).tolist():
            is_done = bool(is_met[row]) and rule.confirm(step, row)
            if is_done or step.iteration == limit:
                rise = math.nan if is_done else float(np.ravel(step.rise)[row])
                endings[int(places[row])] = Ending(step.distribution(row), step.iteration, rise, is_done)
                is_open[row] = False
        left = np.flatnonzero(is_open)
        if not left.size:
            break
        if SET_ASIDE * (is_open.size - left.size) >= is_open.size:
            em.step = step.only(left)
            places, is_open = places[left], is_open[left]
    return [endings[place] for place in range(len(rows))]
