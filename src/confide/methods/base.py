"""What every method is: settings in, evidence in, a solution out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from confide.channels.base import FloatArray
from confide.evidence import Evidence

Monitor = Callable[[int, float], None]
"""Called with the iteration number and the log-likelihood reached, as a method goes along."""


Progress = Callable[[int], None]
"""Called with how many groups are done."""


class Status(StrEnum):
    """How a method ended."""

    CLOSED_FORM = "closed form"
    CERTIFIED = "certified"
    SMALL_STEP = "small step"
    HELD_OUT = "held-out"
    AVERAGED = "averaged"
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    PRECISION_LIMIT = "precision limit"
    STALLED = "stalled"


@dataclass(frozen=True)
class Choice:
    """One of the candidates that a method mixed: how much of it is in the answer, and why.

    Attributes
    ----------
    name
        What the candidate is called.
    share
        Its share of the answer, between 0 and 1.
    score
        How much better, in nats, it explained all held-out reports than the first candidate did; None if it was not
        tried.
    remark
        Why it was not tried; empty if it was.
    """

    name: str
    share: float
    score: float | None
    remark: str = ""


@dataclass(frozen=True, eq=False)
class Solution:
    """What a method found, in one sentence how it got there, and what it was mixed from, if from several."""

    distribution: FloatArray
    iterations: int
    status: Status
    explanation: str
    choices: tuple[Choice, ...] = ()


class Method(ABC):
    """How to recover a distribution: a frozen value that holds its settings and nothing else."""

    climbs: ClassVar[bool] = False
    """Whether the method climbs the likelihood, so that it may look for the maximum among the likely values alone."""

    reaches_maximum: ClassVar[bool] = False
    """Whether the answer is the maximum itself, wherever the search began, so that unlikely values may be left out."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What the method is called in tables."""

    @property
    def full_name(self) -> str:
        """Name in a sentence, for those who do not know the short one."""
        return self.name

    @abstractmethod
    def solve(self, evidence: Evidence, monitor: Monitor | None = None) -> Solution:
        """Recover the distribution over values from the evidence."""

    def solve_groups(self, groups: Sequence[Evidence], progress: Progress | None = None) -> list[Solution]:
        """Recover the distribution of each of several groups; a method that can do many at once does."""
        solutions = []
        for number, group in enumerate(groups, start=1):
            solutions.append(self.solve(group))
            if progress is not None:
                progress(number)
        return solutions
