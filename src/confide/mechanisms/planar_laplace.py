"""The planar Laplace mechanism: continuous noise on the plane, reported as it is or as the nearest cell."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from confide.alphabets import Alphabet, Grid, Indices, Lattice, Plane, Selection, unbounded
from confide.counts import Counts
from confide.evidence import Evidence
from confide.kernels import PlanarKernel, planar_geometric_kernel, planar_laplace_kernel
from confide.mechanisms.kernel_truncation import TruncatedKernelMechanism
from confide.mechanisms.planar import PlaneMechanism, scattered_evidence, shaded
from confide.mechanisms.premises import Premise
from confide.sampling import Bits, PlanarGeometricNoise


@dataclass(frozen=True, repr=False)
class PlanarLaplace(PlaneMechanism):
    """Move a point by continuous planar Laplace noise and report the real point that results.

    Reports are multiples of a step/2^12, and the noise is exactly proportional to e^(-epsilon distance) among these, so
    the promise holds to the letter.

    >>> from confide import Grid
    >>> PlanarLaplace(Grid(5, 5), epsilon=0.5).report_alphabet
    Plane()
    """

    kind: ClassVar[str] = "planar-laplace"
    alphabet: Grid | Lattice
    epsilon: float

    def __post_init__(self) -> None:
        self._check()

    @property
    def report_alphabet(self) -> Plane:
        """See :attr:`Mechanism.report_alphabet`."""
        return Plane(self.alphabet.spacing, self.alphabet.unit)

    @property
    def premise(self) -> Premise:
        """See :attr:`Mechanism.premise`."""
        return Premise.DISTANCE

    @property
    def decay(self) -> float:
        """See :attr:`Mechanism.decay`."""
        return float(self._rate)

    def observe_within(self, counts: Counts, part: Alphabet) -> Evidence:
        """See :meth:`Mechanism.observe_within`; here P(report | value) does not depend on what other values exist."""
        if isinstance(part, Grid):
            return replace(self, alphabet=part).observe(counts)
        if not isinstance(part, Selection):
            return super().observe_within(counts, part)
        self.refuse_strays(counts)
        return scattered_evidence(part, counts, self.decay, self._log_peak)

    @property
    def _log_peak(self) -> float:
        fine = self.decay / Plane.RESOLUTION
        return math.log(float(planar_geometric_kernel((1, 1), fine).cells[0, 0]))

    def observe(self, counts: Counts) -> Evidence:
        """See :meth:`Mechanism.observe`."""
        if not isinstance(self.alphabet, Grid):
            raise unbounded(self.alphabet, "Grid(rows, columns)")
        self.refuse_strays(counts)
        return scattered_evidence(self.alphabet, counts, self.decay, self._log_peak)

    def _noise(self, count: int, bits: Bits) -> tuple[Indices, Indices]:
        return PlanarGeometricNoise(self._rate / Plane.RESOLUTION).draw(count, bits)

    def _report(self, indices: Indices, bits: Bits) -> NDArray[np.float64]:
        noise = np.stack(self._noise(indices.size, bits), axis=-1)
        reports: NDArray[np.float64] = self.alphabet.decode(indices) + noise / Plane.RESOLUTION
        return reports


@dataclass(frozen=True, repr=False)
class TruncatedPlanarLaplace(TruncatedKernelMechanism):
    """Move a point by continuous noise of density proportional to e^(-epsilon distance), then to the nearest cell.

    >>> from confide import Grid
    >>> mechanism = TruncatedPlanarLaplace(Grid(20, 14, spacing=0.5, unit="km"), epsilon=1.0)
    >>> mechanism.privatize((10, 7), rng=1) in [tuple(cell) for cell in mechanism.alphabet.decode(range(280)).tolist()]
    True
    """

    kind: ClassVar[str] = "truncated-planar-laplace"
    alphabet: Grid
    epsilon: float
    outputs: Grid | None = None

    def __post_init__(self) -> None:
        self._check()

    def _make_kernel(self, shape: tuple[int, int]) -> PlanarKernel:
        return planar_laplace_kernel(shape, shaded(self._rate))
