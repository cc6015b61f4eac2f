"""The maximum of the likelihood, with proof."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from confide.channels.base import FloatArray
from confide.errors import InvalidParameterError
from confide.evidence.evidence import Evidence
from confide.solve.em import Monitor, Status, uniform
from confide.solve.methods.base import Method, Progress, Solution
from confide.values.checks import check_choice, check_count, check_positive
from confide.values.wording import counted


@dataclass(frozen=True)
class MLE(Method):
    """Reach the maximum of the likelihood, and prove it by the certificate.

    The search ends when no distribution whatever can explain the reports better than this one by more than `tolerance`
    nats of the total log-likelihood. Where the mechanism does not identify the distribution this is one of many with
    the same likelihood.

    The maximum is not always the best estimate of the truth: under strong noise it fits the noise, and :class:`IBU`
    stopped early comes closer.

    Parameters
    ----------
    tolerance
        The certificate to reach, in nats.
    time_limit
        Seconds after which the best answer so far is returned, with its certificate and the status ``time limit``.
    iteration_limit
        The same for iterations.
    solver
        ``"auto"`` chooses by the channel: a closed form for randomized response, Newton on a small support for most,
        an interior point in O(k) for long lines.

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
        from confide.solve.search import Clock

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
        """See :meth:`Method.solve_many`; rows over a small channel are solved side by side."""
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
