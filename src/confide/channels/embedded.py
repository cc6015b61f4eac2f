"""Part of a larger channel: some of its values, and its outputs merged or renamed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from confide.channels.base import Channel, FloatArray, Indices, Layout


@dataclass(frozen=True, eq=False, repr=False)
class Embedded(Channel):
    """A channel on a box, restricted to the values that exist and followed by any remap of its outputs.

    Parameters
    ----------
    base
        The larger channel.
    values
        Which of its values are the values of this one.
    remap
        For each of its outputs, the output of this channel that it is reported as; -1 if it never is.
    outputs
        How many outputs this channel has.

    >>> from confide.channels import RandomizedResponseChannel
    >>> base = RandomizedResponseChannel(3, 0.5, 0.25)
    >>> Embedded(base, np.array([0, 1]), np.array([0, 1, 1]), 2).dense()
    array([[0.5 , 0.5 ],
           [0.25, 0.75]])
    """

    base: Channel
    values: Indices
    remap: Indices
    outputs: int

    @property
    def shape(self) -> tuple[int, int]:
        """See :attr:`Channel.shape`."""
        return self.values.size, self.outputs

    @property
    def layout(self) -> Layout | None:
        """See :attr:`Channel.layout`."""
        return None if self.base.layout is None else self.base.layout.part(self.values)

    @property
    def rounding(self) -> float:
        """See :attr:`Channel.rounding`."""
        return self.base.rounding

    def push(self, distribution: FloatArray) -> FloatArray:
        """See :meth:`Channel.push`."""
        self.check_length(distribution, 0)
        full = np.zeros((*distribution.shape[:-1], self.base.shape[0]))
        full[..., self.values] = distribution
        return self._merge(self.base.push(full))

    def pull(self, weights: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull`."""
        self.check_length(weights, 1)
        spread = np.where(self.remap < 0, 0.0, weights[..., self.remap])
        pulled: FloatArray = self.base.pull(spread)[..., self.values]
        return pulled

    def select(self, values: Indices) -> FloatArray:
        """See :meth:`Channel.select`."""
        return self._merge(self.base.select(self.values[values]))

    def _merge(self, outputs: FloatArray) -> FloatArray:
        """Add up what is reported as the same output."""
        flat = outputs.reshape(-1, outputs.shape[-1])
        # The -1 of what is never reported becomes a bin of its own, in front, which is then cut off.
        merged = [np.bincount(self.remap + 1, row, minlength=self.outputs + 1)[1:] for row in flat]
        return np.array(merged, dtype=np.float64).reshape(*outputs.shape[:-1], self.outputs)
