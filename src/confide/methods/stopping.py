"""When an iterative method has done enough."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from confide.channels.base import FloatArray
from confide.evidence import Evidence
from confide.methods.base import Status


class StoppingRule(ABC):
    """Looks at each step and says when it was the last."""

    status: Status

    @abstractmethod
    def is_met(self, iteration: int, rise: float, gain: FloatArray) -> bool:
        """Whether to stop after this iteration, which raised L by `rise` and left the gain g."""

    @abstractmethod
    def explain(self, iteration: int) -> str:
        """Say why it ended, in a sentence."""


@dataclass(frozen=True)
class SmallStep(StoppingRule):
    """The paper's rule: the total log-likelihood changed by less than delta."""

    delta: float
    status = Status.SMALL_STEP

    def is_met(self, iteration: int, rise: float, gain: FloatArray) -> bool:  # noqa: ARG002 (one contract)
        """See :meth:`StoppingRule.is_met`."""
        return abs(rise) < self.delta

    def explain(self, iteration: int) -> str:
        """See :meth:`StoppingRule.explain`."""
        return f"iteration {iteration:,} raised the log-likelihood by less than delta = {self.delta:g}"


@dataclass(frozen=True, eq=False)
class GoodCertificate(StoppingRule):
    """No distribution can be better by more than the tolerance."""

    evidence: Evidence
    tolerance: float
    status = Status.CERTIFIED

    def is_met(self, iteration: int, rise: float, gain: FloatArray) -> bool:  # noqa: ARG002 (one contract)
        """See :meth:`StoppingRule.is_met`."""
        return self.evidence.certificate_of(gain) <= self.tolerance

    def explain(self, iteration: int) -> str:
        """See :meth:`StoppingRule.explain`."""
        return self.explain_tolerance(iteration, self.tolerance)

    @staticmethod
    def explain_tolerance(iteration: int, tolerance: float) -> str:
        """Say the same of any evidence."""
        return f"after {iteration:,} iterations no distribution can be better by more than {tolerance:g} nats"


@dataclass(frozen=True)
class EnoughSteps(StoppingRule):
    """A number of steps that was found beforehand to explain held-out reports best."""

    steps: int
    status = Status.HELD_OUT

    def is_met(self, iteration: int, rise: float, gain: FloatArray) -> bool:  # noqa: ARG002 (one contract)
        """See :meth:`StoppingRule.is_met`."""
        return iteration >= self.steps

    def explain(self, iteration: int) -> str:
        """See :meth:`StoppingRule.explain`."""
        return f"{iteration:,} iterations explained reports that were held out best, or as well as any later number"
