"""Methods within a shape: on component shares, or by projection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from confide.channels import Dense, Mixture
from confide.channels.base import FloatArray
from confide.errors import InvalidParameterError
from confide.evidence.evidence import Evidence
from confide.evidence.shapes import Shape
from confide.solve.em import Monitor, RowStack, take_steps, uniform
from confide.solve.methods.base import MLE, Method, Progress, Solution
from confide.values import Alphabet

ROUGHLY = MLE(tolerance=0.01)
"""Tells which of several sets of mixtures explains the reports best."""

FEW, STEPS = 8, 200
"""Rows up to which the nearest mixtures are found to the end, and EM steps that do for more of them: replicates.

Of the default's answers on the ages they leave 0.03 % of people on other values under `smooth = 3`, and up to 1 % under
`smooth = 10`; a thousand of them took 30 s to the end.
"""


@dataclass(frozen=True, eq=False)
class Shaped:
    """Answer in a shape: components, and their shares.

    Attributes
    ----------
    shape
        The shape.
    mixtures
        All sets of mixtures that it is; see :meth:`Shape.mixtures`.
    mixture
        The one that holds the answer.
    shares
        The share of each of its components.
    best
        Of several sets, the shares that explain the reports best in each, to a hundredth of a nat.
    """

    shape: Shape
    mixtures: Sequence[Mixture]
    mixture: Mixture
    shares: FloatArray
    best: Sequence[FloatArray] = ()


def solve_in_shape(
    parts: Sequence[Evidence], alphabet: Alphabet, method: Method, shape: Shape, monitor: Monitor | None = None
) -> tuple[Evidence, Solution, Shaped]:
    """Solve for the component shares of a shape.

    Of several sets of mixtures the one is taken whose best distribution explains the reports best.
    """
    if not method.climbs:
        raise InvalidParameterError(
            f"{method.name} inverts a matrix and knows no shape. Use MLE() or IBU(), or leave the method out."
        )
    mixtures = shape.mixtures(alphabet)
    best = [ROUGHLY.solve(in_mixture(parts, one)).distribution for one in mixtures] if len(mixtures) > 1 else []
    heights = [in_mixture(parts, one).log_likelihood(shares) for one, shares in zip(mixtures, best, strict=False)]
    mixture = mixtures[int(np.argmax(heights)) if heights else 0]
    evidence, solver = in_mixture(parts, mixture), within_shape(method, shape, alphabet, parts, mixture)
    found = solver.solve(evidence, monitor)
    among = f" {shape}" if solver is not method else f", among those of the shape {shape}"
    solution = replace(found, explanation=f"{found.explanation}{among}")
    return evidence, solution, Shaped(shape, mixtures, mixture, solution.distribution, best)


def within_shape(
    method: Method, shape: Shape, alphabet: Alphabet, parts: Sequence[Evidence], mixture: Mixture
) -> Method:
    """Return the method over component shares, itself or projected."""
    is_plain = method.seeks_maximum or not (shape.is_order or shape.term("smooth"))
    return method if is_plain else Projected(method, parts, shape.support(alphabet), mixture)


def in_mixture(parts: Sequence[Evidence], mixture: Mixture) -> Evidence:
    """Return reports as evidence of the shares of a mixture's components."""
    return Evidence.pool([one.mixed(mixture) for one in parts])


@dataclass(frozen=True, eq=False)
class Projected(Method):
    """Solve without the shape, then project by Kullback-Leibler divergence.

    For methods that leave the maximum on purpose. To smooth or to stop early means something for shares of values, not
    for those of components, such as runs: over these the default lost to itself without any shape (`python -m
    benchmarks.shapes` has both).

    Parameters
    ----------
    method
        The method.
    parts
        The reports over all values.
    support
        The values that somebody may have, as a mixture of point masses.
    mixture
        The components of the shape, over whose shares evidence and solutions are.
    """

    climbs: ClassVar[bool] = True

    method: Method
    parts: Sequence[Evidence]
    support: Mixture
    mixture: Mixture

    @property
    def name(self) -> str:
        return self.method.name

    def solve(self, evidence: Evidence, monitor: Monitor | None = None) -> Solution:
        found = self.method.solve(self._over_values(evidence.counts), monitor)
        words = f"{found.explanation}; then brought to the nearest distribution of the shape"
        shares = self._nearest(found.distribution[None], evidence.total)[0]
        return replace(found, distribution=shares, explanation=words)

    def solve_many(
        self, evidence: Evidence, counts: FloatArray, *, pilot: Solution | None = None, progress: Progress | None = None
    ) -> list[Solution]:
        free = self._over_values(evidence.counts)
        known = pilot
        if pilot is not None:  # shares of components become shares of possible values
            known = replace(pilot, distribution=self.support.gather(self.mixture.spread(pilot.distribution)))
        found = self.method.solve_many(free, counts, pilot=known, progress=progress)
        nearest = self._nearest(np.array([one.distribution for one in found]), evidence.total)
        return [replace(one, distribution=shares) for one, shares in zip(found, nearest, strict=True)]

    def _over_values(self, counts: FloatArray) -> Evidence:
        """Return reports as evidence of the shares of values."""
        return replace(in_mixture(self.parts, self.support), counts=counts)

    def _nearest(self, distributions: FloatArray, total: float) -> FloatArray:
        """Return the component shares nearest to each distribution."""
        rows = self.support.spread(distributions)
        found = self.mixture.nearest(rows)
        if found is None:
            seen = Evidence(Dense(np.eye(self.mixture.size)), total * rows[0]).mixed(self.mixture)
            if len(rows) <= FEW:
                # The tolerance is in nats of as many people, all telling the truth, as there are reports.
                found = np.array([one.distribution for one in MLE(tolerance=0.05).solve_many(seen, total * rows)])
            else:
                found = take_steps(RowStack.over(seen, total * rows), uniform(seen.channel.shape[0]), STEPS).theta
        return np.asarray(found / found.sum(axis=1, keepdims=True))
