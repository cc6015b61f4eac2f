"""A channel whose rows are multiplied by one factor each."""

from __future__ import annotations

from dataclasses import dataclass

from confide.channels.base import UNIT, Channel, FloatArray, Indices, Layout


@dataclass(frozen=True, eq=False, repr=False)
class Rescaled(Channel):
    """M_xz times factor(x), which tilts the likelihood: the larger its factor, the cheaper a value.

    With factors 1 / w, the best phi of this channel gives theta = phi / w, which maximises q . log(theta M) less what
    theta pays: w . theta. Rows no longer sum to one; solvers and certificates do not ask for that.

    >>> import numpy as np
    >>> from confide.channels import RandomizedResponseChannel
    >>> Rescaled(RandomizedResponseChannel(2, 0.75, 0.25), np.array([1.0, 2.0])).dense()
    array([[0.75, 0.25],
           [0.5 , 1.5 ]])
    """

    base: Channel
    factors: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        """See :attr:`Channel.shape`."""
        return self.base.shape

    @property
    def layout(self) -> Layout | None:
        """See :attr:`Channel.layout`."""
        return self.base.layout

    def push(self, distribution: FloatArray) -> FloatArray:
        """See :meth:`Channel.push`."""
        self.check_length(distribution, 0)
        return self.base.push(distribution * self.factors)

    def pull(self, weights: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull`."""
        self.check_length(weights, 1)
        return self.base.pull(weights) * self.factors

    @property
    def entry_error(self) -> float:
        """See :attr:`Channel.entry_error`."""
        return self.base.entry_error

    def push_error(self, distribution: FloatArray, pushed: FloatArray) -> FloatArray:
        """See :meth:`Channel.push_error`."""
        return self.base.push_error(distribution * self.factors, pushed) + UNIT * pushed

    def pull_error(self, weights: FloatArray, pulled: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull_error`."""
        return self.base.pull_error(weights, self.base.pull(weights)) * self.factors + UNIT * pulled

    def select(self, values: Indices) -> FloatArray:
        """See :meth:`Channel.select`."""
        return self.base.select(values) * self.factors[values, None]

    def block(self, values: Indices, outputs: Indices) -> FloatArray:
        """See :meth:`Channel.block`."""
        return self.base.block(values, outputs) * self.factors[values, None]
