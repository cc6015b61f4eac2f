"""A method that knows no shape, and the nearest distribution of the shape to its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from confide.channels import Dense, Mixture
from confide.channels.base import FloatArray
from confide.em import Monitor
from confide.evidence import Evidence
from confide.methods.base import Method, Progress, Solution
from confide.methods.mle import MLE

NEARLY = MLE(tolerance=1e-3)
"""Finds the nearest mixture, as if everyone had told the truth: nats of as many people as there are reports."""


@dataclass(frozen=True, eq=False)
class Projected(Method):
    """Solve without the shape, and take the nearest mixture: of the least Kullback-Leibler divergence.

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
        """See :attr:`Method.name`."""
        return self.method.name

    def solve(self, evidence: Evidence, monitor: Monitor | None = None) -> Solution:
        """See :meth:`Method.solve`."""
        found = self.method.solve(self._over_values(evidence.counts), monitor)
        words = f"{found.explanation}; then brought to the nearest distribution of the shape"
        shares = self._nearest(found.distribution[None], evidence.total)[0]
        return replace(found, distribution=shares, explanation=words)

    def solve_many(
        self,
        evidence: Evidence,
        counts: FloatArray,
        *,
        pilot: Solution | None = None,
        progress: Progress | None = None,
    ) -> list[Solution]:
        """See :meth:`Method.solve_many`."""
        free = self._over_values(evidence.counts)
        known = None if pilot is None else replace(pilot, distribution=self._free(pilot.distribution))
        found = self.method.solve_many(free, counts, pilot=known, progress=progress)
        nearest = self._nearest(np.array([one.distribution for one in found]), evidence.total)
        return [replace(one, distribution=shares) for one, shares in zip(found, nearest, strict=True)]

    def _over_values(self, counts: FloatArray) -> Evidence:
        """Return reports as evidence of the shares of values."""
        return replace(Evidence.pool([one.mixed(self.support) for one in self.parts]), counts=counts)

    def _free(self, shares: FloatArray) -> FloatArray:
        """Return shares of components as those of the values that somebody may have."""
        free: FloatArray = self.support.gather(self.mixture.spread(shares))
        return free

    def _nearest(self, distributions: FloatArray, total: float) -> FloatArray:
        """Return the shares of components whose mixture explains values drawn from each distribution best."""
        seen = Evidence(Dense(np.eye(self.mixture.size)), self.support.spread(distributions[0]) * total)
        rows = self.support.spread(distributions) * total
        return np.array([one.distribution for one in NEARLY.solve_many(seen.mixed(self.mixture), rows)])
