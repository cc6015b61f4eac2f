"""The iterative Bayesian update: the paper's Algorithm 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from confide.channels.base import FloatArray
from confide.checks import as_distribution, check_choice, check_count, check_positive, read_only, size_of
from confide.errors import InvalidDistributionError
from confide.evidence import Evidence
from confide.methods.base import Method, Monitor, Progress, Solution, Status
from confide.methods.batches import Batch, Ending, climb, in_blocks, quickest
from confide.methods.held_out import Folds, best_number_of_steps
from confide.methods.stopping import EnoughSteps, GoodCertificate, SmallStep, StoppingRule


@dataclass(frozen=True, eq=False)
class IBU(Method):
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

    climbs: ClassVar[bool] = True

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
            object.__setattr__(self, "start", _without_zero(start))

    @property
    def name(self) -> str:
        """See :attr:`Method.name`."""
        return {"delta": "IBU", "certificate": "certified IBU", "held-out": "held-out IBU"}[self.stop]

    @property
    def full_name(self) -> str:
        """See :attr:`Method.full_name`."""
        stopped = {
            "delta": "",
            "certificate": ", stopped by its certificate",
            "held-out": ", stopped by held-out reports",
        }
        return f"the iterative Bayesian update{stopped[self.stop]} ({self.name})"

    def solve(self, evidence: Evidence, monitor: Monitor | None = None) -> Solution:
        """See :meth:`Method.solve`."""
        theta = self._start(evidence.channel.shape[0])
        outputs = evidence.channel.push(theta)
        gain, likelihood = evidence.gain(outputs), evidence.log_likelihood_of_outputs(outputs)
        rule = self._rule(evidence, theta)
        rise = math.inf
        for iteration in range(1, self.iteration_limit + 1):
            theta = theta * gain
            outputs = evidence.channel.push(theta)
            gain = evidence.gain(outputs)
            previous, likelihood = likelihood, evidence.log_likelihood_of_outputs(outputs)
            rise = likelihood - previous
            if monitor is not None:
                monitor(iteration, likelihood)
            if rule.is_met(iteration, rise, gain):
                return Solution(theta / theta.sum(), iteration, rule.status, rule.explain(iteration))
        return Solution(theta / theta.sum(), self.iteration_limit, Status.ITERATION_LIMIT, self._gave_up(rise))

    def solve_groups(self, groups: Sequence[Evidence], progress: Progress | None = None) -> list[Solution]:
        """See :meth:`Method.solve_groups`; groups that share a channel go through it as one matrix."""
        if self.stop == "held-out":
            return super().solve_groups(groups, progress)
        solutions: dict[int, Solution] = {}
        for shared in _by_channel(groups):
            channel, places = quickest(groups[shared[0]].channel), iter(shared)
            for block in in_blocks([groups[place] for place in shared]):
                for ending in self._climb(Batch.of(block, channel)):
                    solutions[next(places)] = self._solution(ending)
                if progress is not None:
                    progress(len(solutions))
        return [solutions[place] for place in range(len(groups))]

    def _climb(self, batch: Batch) -> list[Ending]:
        start = self._start(batch.channel.shape[0])
        delta = self.delta if self.stop == "delta" else None
        return climb(batch, start, self.iteration_limit, delta=delta, tolerance=self.tolerance)

    def _solution(self, ending: Ending) -> Solution:
        if not ending.is_met:
            gave_up = self._gave_up(ending.rise)
            return Solution(ending.distribution, ending.iterations, Status.ITERATION_LIMIT, gave_up)
        if self.stop == "delta":
            status, reason = Status.SMALL_STEP, SmallStep(self.delta).explain(ending.iterations)
        else:
            status = Status.CERTIFIED
            reason = GoodCertificate.explain_tolerance(ending.iterations, self.tolerance)
        return Solution(ending.distribution, ending.iterations, status, reason)

    def _rule(self, evidence: Evidence, start: FloatArray) -> StoppingRule:
        if self.stop == "delta":
            return SmallStep(self.delta)
        if self.stop == "certificate":
            return GoodCertificate(evidence, self.tolerance)
        folds = Folds.of(evidence, self.folds, self.seed)
        return EnoughSteps(max(1, best_number_of_steps(evidence, start, folds, self.iteration_limit)))

    def _start(self, size: int) -> FloatArray:
        if self.start is None:
            return np.full(size, 1.0 / size)
        return as_distribution(self.start, size, "start")

    def _gave_up(self, rise: float) -> str:
        return (
            f"the limit of {self.iteration_limit:,} iterations came first: the last one still raised the "
            f"log-likelihood by {rise:.3g}"
        )

    def __repr__(self) -> str:
        rule = {
            "delta": f"delta={self.delta:g}",
            "certificate": f"stop='certificate', tolerance={self.tolerance:g}",
            "held-out": f"stop='held-out', folds={self.folds}, seed={self.seed}",
        }[self.stop]
        start = "" if self.start is None else ", start=..."
        return f"IBU({rule}{start}, iteration_limit={self.iteration_limit:,})"


def _by_channel(groups: Sequence[Evidence]) -> list[list[int]]:
    """Return the places of groups that have one channel, together."""
    places: dict[int, list[int]] = {}
    for place, group in enumerate(groups):
        places.setdefault(id(group.channel), []).append(place)
    return list(places.values())


def _without_zero(start: FloatArray) -> FloatArray:
    if (start == 0).any():
        raise InvalidDistributionError(
            f"start must give every value a positive probability, for IBU never leaves zero; got 0 at position "
            f"{int(np.argmin(start))}. Mix it with a little of the uniform distribution."
        )
    return read_only(start)
