"""What solvers share: when to end, and what was found."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from confide.channels.base import FloatArray
from confide.evidence import Evidence

Progress = Callable[[int, FloatArray], None]
"""Called after each iteration with its number and the outputs y = theta M reached."""

PATIENCE = 12
"""Iterations without a better certificate after which rounding, and not the search, is in the way."""


@dataclass(frozen=True)
class Clock:
    """A certificate that is good enough, a number of iterations that is enough, and a time that is."""

    tolerance: float
    iteration_limit: int
    time_limit: float
    began: float = field(default_factory=time.perf_counter)

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return time.perf_counter() - self.began > self.time_limit


@dataclass(frozen=True, eq=False)
class Found:
    """The best distribution so far, its certificate, and the iteration that found it, of how many."""

    distribution: FloatArray
    certificate: float
    iteration: int
    iterations: int

    @classmethod
    def of(cls, evidence: Evidence, distribution: FloatArray, iteration: int) -> Found:
        """Judge a distribution."""
        return cls(distribution, evidence.certificate(distribution), iteration, iteration)

    def better_of(self, distribution: FloatArray, certificate: float, iteration: int) -> Found:
        """Take the new distribution if its certificate is lower."""
        if certificate < self.certificate:
            return Found(distribution, certificate, iteration, iteration)
        return Found(self.distribution, self.certificate, self.iteration, iteration)

    def is_stale(self, iteration: int) -> bool:
        """Whether nothing better was found for long."""
        return iteration - self.iteration > PATIENCE and math.isfinite(self.certificate)
