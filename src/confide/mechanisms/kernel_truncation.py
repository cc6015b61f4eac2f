"""What the truncated mechanisms with a planar kernel share."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from confide.alphabets import Indices
from confide.channels import ClampedPlanarConvolution
from confide.kernels import PlanarKernel
from confide.mechanisms.planar import TruncatedPlaneMechanism
from confide.sampling import Bits, TableNoise, as_integers


class TruncatedKernelMechanism(TruncatedPlaneMechanism):
    """Noise from a planar kernel, clamped to a grid."""

    @abstractmethod
    def _make_kernel(self, shape: tuple[int, int]) -> PlanarKernel:
        """Return the probabilities of all displacements within a box of this shape, and of the tails beyond."""

    @cached_property
    def _kernel(self) -> PlanarKernel:
        return self._make_kernel(self._box.shape)

    def _box_channel(self, shape: tuple[int, int]) -> ClampedPlanarConvolution:
        return ClampedPlanarConvolution(self._kernel if shape == self._box.shape else self._make_kernel(shape))

    @cached_property
    def _quadrant(self) -> NDArray[np.float64]:
        """Displacements up to the box's size; the rim stands for all beyond it, which is clamped alike."""
        quadrant = self._kernel.cells.copy()
        quadrant[-1, :] = self._kernel.rows[-1, :]
        quadrant[:, -1] = self._kernel.columns[:, -1]
        quadrant[-1, -1] = self._kernel.corners[-1, -1]
        return quadrant

    @cached_property
    def _table(self) -> TableNoise:
        return TableNoise(self._quadrant)

    @cached_property
    def _integer_quadrant(self) -> list[list[int]]:
        weights, width = as_integers(self._quadrant), self._box.columns
        return [weights[start : start + width] for start in range(0, len(weights), width)]

    def _noise(self, count: int, bits: Bits) -> tuple[Indices, Indices]:
        return self._table.draw(count, bits)

    def _box_weights(self, row: int, column: int) -> list[int]:
        """Walk through all displacements and add up where they are clamped to."""
        height, width = self._box.shape
        weights = [0] * (height * width)
        for down in range(1 - height, height):
            clamped_row = min(max(row + down, 0), height - 1)
            for along in range(1 - width, width):
                place = clamped_row * width + min(max(column + along, 0), width - 1)
                weights[place] += self._integer_quadrant[abs(down)][abs(along)]
        return weights
