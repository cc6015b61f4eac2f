"""What every method is: settings in, evidence in, a solution out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from confide.channels.base import FloatArray
from confide.evidence import Evidence

Monitor = Callable[[int, float], None]
"""Called with the iteration number and the log-likelihood reached, as a method goes along."""


class Status(StrEnum):
    """How a method ended."""

    CLOSED_FORM = "closed form"
    CERTIFIED = "certified"
    SMALL_STEP = "small step"
    HELD_OUT = "held-out"
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    PRECISION_LIMIT = "precision limit"


@dataclass(frozen=True, eq=False)
class Solution:
    """What a method found, and in one sentence how it got there."""

    distribution: FloatArray
    iterations: int
    status: Status
    explanation: str


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

    @abstractmethod
    def solve(self, evidence: Evidence, monitor: Monitor | None = None) -> Solution:
        """Recover the distribution over values from the evidence."""
