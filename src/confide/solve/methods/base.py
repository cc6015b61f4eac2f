"""The contract of a method, and EM as a base class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar

from confide.channels.base import FloatArray
from confide.evidence.evidence import Evidence
from confide.solve.em import Monitor, RowStack, Status, StoppingRule, climb, uniform
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
    """

    climbs: ClassVar[bool] = False
    """Whether the method climbs the likelihood, so that it may look for the maximum among the likely values alone."""

    reaches_maximum: ClassVar[bool] = False
    """Whether the answer is the maximum itself, wherever the search began, so that unlikely values may be left out."""

    @property
    def seeks_maximum(self) -> bool:
        """Whether it seeks the maximum, so that the certificate measures it.

        A method that smooths, mixes or stops where held-out reports say so leaves the maximum on purpose: there the
        certificate is large, and no measure of quality.
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
            The solution of the evidence itself, where the rows are bootstrap replicates of it. A method may then keep
            what it chose there, such as a number of steps, in place of choosing anew for every replicate.
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
