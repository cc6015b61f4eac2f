"""Part of a larger channel: some of its values, and its outputs merged or renamed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from confide.channels.base import UNIT, Channel, FloatArray, Indices, Layout


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
        return self._merge(self.base.push(self._spread(distribution)))

    def pull(self, weights: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull`."""
        self.check_length(weights, 1)
        pulled: FloatArray = self.base.pull(self._unmerge(weights))[..., self.values]
        return pulled

    @property
    def entry_error(self) -> float:
        """See :attr:`Channel.entry_error`."""
        return self.base.entry_error

    def push_error(self, distribution: FloatArray, pushed: FloatArray) -> FloatArray:
        """See :meth:`Channel.push_error`."""
        full = self._spread(distribution)
        merged_most = int(np.bincount(self.remap + 1)[1:].max(initial=0))
        return self._merge(self.base.push_error(full, self.base.push(full))) + merged_most * UNIT * pushed

    def pull_error(self, weights: FloatArray, pulled: FloatArray) -> FloatArray:  # noqa: ARG002 (one signature)
        """See :meth:`Channel.pull_error`."""
        unmerged = self._unmerge(weights)
        error: FloatArray = self.base.pull_error(unmerged, self.base.pull(unmerged))[..., self.values]
        return error

    def select(self, values: Indices) -> FloatArray:
        """See :meth:`Channel.select`."""
        return self._merge(self.base.select(self.values[values]))

    def _spread(self, distribution: FloatArray) -> FloatArray:
        """Lay a distribution out over the values of the base."""
        full = np.zeros((*distribution.shape[:-1], self.base.shape[0]))
        full[..., self.values] = distribution
        return full

    def _unmerge(self, weights: FloatArray) -> FloatArray:
        """Give each output of the base the weight of what it is reported as."""
        return np.where(self.remap < 0, 0.0, weights[..., self.remap])

    def _merge(self, outputs: FloatArray) -> FloatArray:
        """Add up what is reported as the same output."""
        flat = outputs.reshape(-1, outputs.shape[-1])
        # The -1 of what is never reported becomes a bin of its own, in front, which is then cut off.
        merged = [np.bincount(self.remap + 1, row, minlength=self.outputs + 1)[1:] for row in flat]
        return np.array(merged, dtype=np.float64).reshape(*outputs.shape[:-1], self.outputs)
