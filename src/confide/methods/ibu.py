"""The iterative Bayesian update: the paper's Algorithm 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from confide.channels.base import FloatArray
from confide.checks import as_distribution, check_count, check_positive, read_only, size_of
from confide.errors import InvalidDistributionError
from confide.evidence import Evidence
from confide.methods.base import Method, Monitor, Solution, Status


@dataclass(frozen=True, eq=False)
class IBU(Method):
    """Climb the likelihood by expectation-maximisation until a step gains less than `delta`.

    Each iteration replaces theta_x by sum_z q_z theta_x M_xz / (theta M)_z (paper, Algorithm ibu). It never lowers the
    likelihood. The rule of the paper bounds the *last step* of the total log-likelihood, which says little about how
    far the maximum still is; the estimate's ``certificate`` does. Under strong noise stopping early is no defect:
    the exact maximum fits the noise.

    Parameters
    ----------
    delta
        Stop when a step changes the total log-likelihood by less than this many nats.
    start
        Where to start: any distribution without a zero, for a value that starts at zero stays there. Uniform if
        left out.
    iteration_limit
        Give up after this many iterations, with the status ``iteration limit``.

    >>> import confide as cf
    >>> mechanism = cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0)
    >>> counts = cf.tally(["yes", "no"], counts=[600, 400])
    >>> cf.estimate(counts, mechanism, cf.IBU()).distribution.round(2)
    array([0.71, 0.29])
    """

    delta: float = 0.01
    start: ArrayLike | None = None
    iteration_limit: int = 100_000

    def __post_init__(self) -> None:
        check_positive("delta", self.delta)
        check_count("iteration_limit", self.iteration_limit, 1)
        if self.start is not None:
            start = as_distribution(self.start, size_of(self.start, "start"), "start")
            object.__setattr__(self, "start", _without_zero(start))

    @property
    def name(self) -> str:
        """See :attr:`Method.name`."""
        return "IBU"

    def solve(self, evidence: Evidence, monitor: Monitor | None = None) -> Solution:
        """See :meth:`Method.solve`."""
        theta = self._start(evidence.channel.shape[0])
        outputs = evidence.channel.push(theta)
        likelihood = evidence.log_likelihood_of_outputs(outputs)
        for iteration in range(1, self.iteration_limit + 1):
            theta = theta * evidence.gain(outputs)
            outputs = evidence.channel.push(theta)
            previous, likelihood = likelihood, evidence.log_likelihood_of_outputs(outputs)
            if monitor is not None:
                monitor(iteration, likelihood)
            if abs(likelihood - previous) < self.delta:
                return self._small_step(theta, iteration)
        return self._gave_up(theta, likelihood - previous)

    def _start(self, size: int) -> FloatArray:
        if self.start is None:
            return np.full(size, 1.0 / size)
        return as_distribution(self.start, size, "start")

    def _small_step(self, theta: FloatArray, iterations: int) -> Solution:
        explanation = f"iteration {iterations:,} raised the log-likelihood by less than delta = {self.delta:g}"
        return Solution(theta / theta.sum(), iterations, Status.SMALL_STEP, explanation)

    def _gave_up(self, theta: FloatArray, last_step: float) -> Solution:
        explanation = (
            f"the limit of {self.iteration_limit:,} iterations came first: the last one still raised the "
            f"log-likelihood by {last_step:.3g}, not less than delta = {self.delta:g}"
        )
        return Solution(theta / theta.sum(), self.iteration_limit, Status.ITERATION_LIMIT, explanation)

    def __repr__(self) -> str:
        start = "" if self.start is None else ", start=..."
        return f"IBU(delta={self.delta:g}{start}, iteration_limit={self.iteration_limit:,})"


def _without_zero(start: FloatArray) -> FloatArray:
    if (start == 0).any():
        raise InvalidDistributionError(
            f"start must give every value a positive probability, for IBU never leaves zero; got 0 at position "
            f"{int(np.argmin(start))}. Mix it with a little of the uniform distribution."
        )
    return read_only(start)
