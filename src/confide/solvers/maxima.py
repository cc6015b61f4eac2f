"""Maxima of the likelihood for many rows of counts over one small channel, side by side.

The search is that of :mod:`confide.solvers.support_newton`, a Newton step on a few atoms after another, with all rows
in one array: one product with the channel, one stack of small systems. Rows that are done are set aside. What this does
not settle, :func:`confide.solvers.maximise` does, row by row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.channels import Channel
from confide.channels.base import FloatArray, Indices, Layout

Mask = NDArray[np.bool_]

LARGEST = 512
"""Values and outputs up to which rows are solved side by side: beyond, single products are what takes the time."""

MOST_OUTPUTS = 8192
"""Outputs of a stored matrix with few values up to which rows are, for their starts: a fifth of the time at 2,000."""

WARM_UP, LUKEWARM = 24, 4
"""EM steps before Newton begins: from the uniform distribution, and from a start that is near the maximum."""

MOST_ROUNDS = 60
"""Newton steps after which a row is left to be solved by itself; 5 to 15 are usual."""

NEW_ATOMS, FIRST_ATOMS = 4, 8
"""Values that may join a row's atoms in one round, and in the first, at least."""

SHARE_OF_ATOMS = 16
"""One in so many values may join: of 480 cells 30, which takes a third of the rounds that 4 take."""

EXCHANGES = 8
"""Rounds in which atoms may leave and rejoin a step; afterwards they only leave."""

RIDGE = 1e-12
"""Relative to an equilibrated diagonal of ones: slows steps by nothing that could be seen, and moves no maximum."""

FAIR_SHARE, SHORTEST = 1e-4, 2.0**-20

FAINT = 1e-300

EPSILON = 1e-15

ROUNDING = 1e-15
"""Rounding of a mean log-likelihood: a rise that promises less may come out below nothing."""

JOINS = 1e-13
"""A slope, on the equilibrated scale, above which an atom that was fixed at nothing is let go."""

LITTLE = 1e-4
"""The share of the uniform distribution that a start gets, so that EM can bring any value back."""

BLOCK = 400_000
"""Entries of one stack of distributions that are solved at a time: with all its atoms, some 50 MB."""


@dataclass(frozen=True, eq=False)
class Maxima:
    """The maximum of each row.

    Attributes
    ----------
    distributions
        One row each.
    certificates
        How far each may be below its maximum, in nats, as float64 has it.
    rounds
        How many Newton steps each took.
    """

    distributions: FloatArray
    certificates: FloatArray
    rounds: Indices


def can_solve_together(channel: Channel) -> bool:
    """Whether rows of counts over a channel are solved side by side: none that has a closed form."""
    values, outputs = channel.shape
    most = MOST_OUTPUTS if channel.is_stored else LARGEST
    return values <= LARGEST and outputs <= most and channel.keep_and_other is None


def maxima(
    matrix: FloatArray,
    counts: FloatArray,
    tolerances: FloatArray,
    layout: Layout | None = None,
    *,
    start: FloatArray | None = None,
    factors: FloatArray | None = None,
) -> Maxima:
    """Find the maximum for each row of counts.

    Parameters
    ----------
    matrix
        P(output | value).
    counts
        Reports per output, one row each.
    tolerances
        The certificate that each row is to reach, in nats.
    layout
        How the values lie, where neighbours mean something.
    start
        A distribution near each maximum, one row each.
    factors
        What each value's row of the matrix is multiplied by, one row for each row of counts.

    >>> found = maxima(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([[60.0, 40.0], [90.0, 10.0]]), np.full(2, 1e-9))
    >>> found.distributions.round(4)
    array([[0.7, 0.3],
           [1. , 0. ]])
    """
    rows = max(1, BLOCK // max(matrix.shape))
    parts = []
    for begin in range(0, counts.shape[0], rows):
        some = slice(begin, begin + rows)
        first, scale = (None if one is None else one[some] for one in (start, factors))
        parts.append(_Search(matrix, layout).run(counts[some], tolerances[some], first, scale))
    return Maxima(*(np.concatenate([getattr(one, name) for one in parts]) for name in Maxima.__dataclass_fields__))


@dataclass(frozen=True, eq=False)
class _Climbers:
    """Rows on their way up, each a composite that moves as one, and single values.

    Attributes
    ----------
    places
        Which rows these are.
    shares, totals, tolerances, factors
        The rows; see :func:`maxima`.
    composite, weight
        A whole distribution, and how much of it there is.
    single
        How much there is of each value by itself.
    composite_outputs, outputs
        What the composite, and all together, say of the reports.
    """

    places: Indices
    shares: FloatArray
    totals: FloatArray
    tolerances: FloatArray
    factors: FloatArray | None
    composite: FloatArray
    weight: FloatArray
    single: FloatArray
    composite_outputs: FloatArray
    outputs: FloatArray

    @property
    def distributions(self) -> FloatArray:
        """The composite and the single values together."""
        return self.weight[:, None] * self.composite + self.single

    def only(self, chosen: Mask) -> _Climbers:
        """Return some of the rows."""
        parts: list[Any] = [getattr(self, name) for name in self.__dataclass_fields__]
        chosen_parts: list[Any] = [None if one is None else one[chosen] for one in parts]
        return _Climbers(*chosen_parts)


@dataclass(frozen=True, eq=False)
class _Search:
    """A search over one channel."""

    matrix: FloatArray
    layout: Layout | None

    def run(
        self, counts: FloatArray, tolerances: FloatArray, start: FloatArray | None, factors: FloatArray | None
    ) -> Maxima:
        """Step until all rows are done, or have had their rounds."""
        now = self._begin(counts, tolerances, start, factors)
        best = Maxima(now.composite.copy(), np.full(len(counts), np.inf), np.zeros(len(counts), dtype=np.int64))
        for number in range(MOST_ROUNDS + 1):
            gain = self._gain(now)
            certificates = now.totals * np.log(np.maximum(gain.max(axis=1), 1.0))
            better = certificates < best.certificates[now.places]
            places = now.places[better]
            best.distributions[places] = now.distributions[better]
            best.certificates[places], best.rounds[places] = certificates[better], number
            is_open = certificates > now.tolerances
            if not is_open.any() or number == MOST_ROUNDS:
                break
            now, gain = (now, gain) if is_open.all() else (now.only(is_open), gain[is_open])
            now = self._step(now, gain)
        return best

    def _begin(
        self, counts: FloatArray, tolerances: FloatArray, start: FloatArray | None, factors: FloatArray | None
    ) -> _Climbers:
        """Climb a little by EM: the whole distribution that it reaches is the first atom."""
        size, totals = self.matrix.shape[0], counts.sum(axis=1)
        shares = counts / totals[:, None]
        theta = np.full((len(counts), size), 1.0 / size) if start is None else start + LITTLE / size
        for _ in range(WARM_UP if start is None else LUKEWARM):
            theta = theta * self._pull(shares / np.maximum(self._push(theta, factors), FAINT), factors)
        theta = theta / theta.sum(axis=1, keepdims=True)
        outputs = self._push(theta, factors)
        ones, none = np.ones(len(counts)), np.zeros_like(theta)
        places = np.arange(len(counts))
        return _Climbers(places, shares, totals, tolerances, factors, theta, ones, none, outputs, outputs)

    def _push(self, theta: FloatArray, factors: FloatArray | None) -> FloatArray:
        pushed: FloatArray = (theta if factors is None else theta * factors) @ self.matrix
        return pushed

    def _pull(self, ratio: FloatArray, factors: FloatArray | None) -> FloatArray:
        pulled: FloatArray = ratio @ self.matrix.T
        return pulled if factors is None else pulled * factors

    def _gain(self, now: _Climbers) -> FloatArray:
        return self._pull(now.shares / np.maximum(now.outputs, FAINT), now.factors)

    def _step(self, now: _Climbers, gain: FloatArray) -> _Climbers:
        """Take one Newton step on the atoms of each row, as long as it gains a fair share of what it promises."""
        atoms, is_atom = _padded((now.single > 0) | self._missing(gain, now))
        rows = self.matrix[atoms]
        if now.factors is not None:
            rows *= np.take_along_axis(now.factors, atoms, axis=1)[:, :, None]
        rows = np.concatenate([now.composite_outputs[:, None, :], rows], axis=1)
        is_atom = np.concatenate([now.weight[:, None] > 0, is_atom], axis=1)
        weights = np.concatenate([now.weight[:, None], np.take_along_axis(now.single, atoms, axis=1)], axis=1)
        weights = np.where(is_atom, weights, 0.0)
        outputs = np.maximum(now.outputs, FAINT)
        slopes = np.einsum("rz,rz->r", now.composite_outputs, now.shares / outputs)
        slope = np.concatenate([slopes[:, None], np.take_along_axis(gain, atoms, axis=1)], axis=1) - 1
        bent = rows * (np.sqrt(now.shares) / outputs)[:, None, :]
        step = _newton_steps(bent @ bent.transpose(0, 2, 1), slope, weights, is_atom)
        change = np.einsum("ra,raz->rz", step, rows)
        lengths = _lengths(now.shares, change / outputs, step.sum(axis=1), np.einsum("ra,ra->r", slope, step))
        weights = np.maximum(weights + lengths[:, None] * step, 0.0)
        weights = np.where(is_atom, weights, 0.0)
        weights /= weights.sum(axis=1, keepdims=True)
        single = np.zeros_like(now.single)
        single[np.nonzero(is_atom[:, 1:])[0], atoms[is_atom[:, 1:]]] = weights[:, 1:][is_atom[:, 1:]]
        moved = replace(now, weight=weights[:, 0], single=single, outputs=np.einsum("ra,raz->rz", weights, rows))
        return self._unstuck(moved, lengths == 0)

    def _unstuck(self, now: _Climbers, is_stuck: Mask) -> _Climbers:
        """Let EM find a way on where Newton sees none, and begin anew from there."""
        if not is_stuck.any():
            return now
        part = now.only(is_stuck)
        theta = part.distributions + LITTLE / self.matrix.shape[0]
        for _ in range(WARM_UP):
            ratio = part.shares / np.maximum(self._push(theta, part.factors), FAINT)
            theta = theta * self._pull(ratio, part.factors)
        theta /= theta.sum(axis=1, keepdims=True)
        outputs = self._push(theta, part.factors)
        for name, value in (("composite", theta), ("composite_outputs", outputs), ("outputs", outputs)):
            getattr(now, name)[is_stuck] = value
        now.weight[is_stuck], now.single[is_stuck] = 1.0, 0.0
        return now

    def _missing(self, gain: FloatArray, now: _Climbers) -> Mask:
        """Return the values that are to join: those that promise the most and, at first, those that EM lifted most."""
        many = self.matrix.shape[0] // SHARE_OF_ATOMS
        joining = self._peaks(gain, 1.0, max(NEW_ATOMS, many))
        whole = now.weight == 1
        if whole.any():
            joining[whole] |= self._peaks(now.composite[whole], 1 / self.matrix.shape[0], max(FIRST_ATOMS, many))
        return joining

    def _peaks(self, heights: FloatArray, least: float, most: int) -> Mask:
        """Return the highest places above the least; on a line none beside a higher one."""
        found = np.where(heights > least, heights, 0.0)
        if self.layout is not None and len(self.layout.shape) == 1 and self.layout.places is None:
            found[:, 1:][heights[:, 1:] <= heights[:, :-1]] = 0.0
            found[:, :-1][heights[:, :-1] < heights[:, 1:]] = 0.0
        if found.shape[1] <= most:
            return found > 0
        among: Mask = found >= np.maximum(np.partition(found, -most, axis=1)[:, -most], FAINT)[:, None]
        return among


def _padded(chosen: Mask) -> tuple[Indices, Mask]:
    """Return the places that are chosen in each row, side by side, and which of them are more than padding."""
    numbers = chosen.sum(axis=1)
    width = max(1, int(numbers.max()))
    is_one = np.arange(width) < numbers[:, None]
    places = np.zeros(is_one.shape, dtype=np.int64)
    places[is_one] = np.nonzero(chosen)[1]
    return places, is_one


def _newton_steps(hessian: FloatArray, slope: FloatArray, weights: FloatArray, is_atom: Mask) -> FloatArray:
    """Maximise slope . d - d' H d / 2 with weights + d >= 0, for each row, by exchanging blocks of atoms.

    What is not settled after a few exchanges only loses atoms, so that it ends, if with less than the best step.
    """
    scale = 1 / np.sqrt(np.maximum(np.einsum("raa->ra", hessian), FAINT))
    matrix = hessian * scale[:, :, None] * scale[:, None, :]
    aim, now = slope * scale, weights / scale
    free, steps = is_atom.copy(), np.zeros_like(weights)
    rows, diagonal = np.arange(len(weights)), np.arange(weights.shape[1])
    for number in range(EXCHANGES + weights.shape[1]):
        some, loose, fixed = matrix[rows], free[rows], np.where(free[rows], 0.0, -now[rows])
        right = np.where(loose, aim[rows] - np.einsum("rab,rb->ra", some, fixed), fixed)
        some = some * (loose[:, :, None] & loose[:, None, :])
        some[:, diagonal, diagonal] = np.where(loose, 1.0 + RIDGE, 1.0)
        steps[rows] = np.linalg.solve(some, right[:, :, None])[:, :, 0]
        leaving = loose & (now[rows] + steps[rows] < 0)
        left = aim[rows] - np.einsum("rab,rb->ra", matrix[rows], steps[rows])
        joining = ~loose & is_atom[rows] & (left > JOINS) & (number < EXCHANGES)
        changed = leaving | joining
        free[rows] = loose ^ changed
        rows = rows[changed.any(axis=1)]
        if not rows.size:
            break
    feasible: FloatArray = np.maximum(steps, -now) * scale
    return feasible


def _lengths(shares: FloatArray, relative: FloatArray, masses: FloatArray, promises: FloatArray) -> FloatArray:
    """Halve each row's step until it gains a fair share of what its slope promises; 0 where none does."""
    lengths, rows = np.zeros(len(shares)), np.flatnonzero(promises > 0)
    length = 1.0
    relative = np.where(shares > 0, relative, 0.0)
    while rows.size and length > SHORTEST:
        moved = length * relative[rows]
        possible = moved.min(axis=1) > -1
        rises = np.einsum("rz,rz->r", shares[rows], np.log1p(np.maximum(moved, -1 + EPSILON))) - length * masses[rows]
        fair = possible & (rises >= FAIR_SHARE * length * promises[rows] - ROUNDING)
        lengths[rows[fair]] = length
        rows, length = rows[~fair], length / 2
    return lengths
