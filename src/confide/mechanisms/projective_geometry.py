"""Projective geometry response.

Values are points, reports are hyperplanes, likelier through the value's point.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from confide.channels.transforms import CirculantChannel
from confide.errors import InvalidParameterError
from confide.mechanisms.base import Facts, Proof, SupportSets, require_finite, settle_epsilon
from confide.mechanisms.geometries import (
    MOST_POINTS,
    best_geometry,
    difference_set,
    first_recurrence,
    is_prime,
    points_of,
    runs_through_all,
)
from confide.mechanisms.near_or_far import NearOrFar
from confide.values import Alphabet, Indices, Integers
from confide.values.checks import check_count, settle


@dataclass(frozen=True, repr=False)
class ProjectiveGeometryResponse(NearOrFar):
    """Report a hyperplane, more often one through the value's point.

    Values are points of a finite projective geometry. A hyperplane through a value's point is e^epsilon times as likely
    as each other one (Feldman, Nelson, Nguyen and Talwar, ICML 2022). Any two points share equally many hyperplanes, so
    the variance is close to the least that is possible, and a report takes few bits. Points are numbered so that
    hyperplane z has the points z - d, modulo their number, for d in one difference set.

    Parameters
    ----------
    alphabet
        Any values that can be listed, up to about a million.
    epsilon
        The promise, for every two values alike.
    order
        The prime q: a hyperplane has about one in q points. Optional. Default: that of the smallest variance, with as
        few dimensions as the values need.
    recurrence
        Numbers modulo q that define the difference set; docs/device.md says how. Optional. Default: the first that do.

    Examples
    --------
    >>> from confide import Categories
    >>> mechanism = ProjectiveGeometryResponse(Categories(["red", "green", "blue", "grey", "pink"]), epsilon=0.5)
    >>> mechanism.order, mechanism.recurrence, mechanism.report_alphabet
    (2, (1, 1, 0), Integers(0, 6))
    """

    kind = "projective-geometry"
    suits = "categories"
    title = "projective geometry response"
    about = "a set of values from a projective geometry, more often one with the true value than without"
    _derived = ("order", "recurrence")
    alphabet: Alphabet
    epsilon: float
    order: int | None = None
    recurrence: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        name = type(self).__name__
        require_finite(self.alphabet, name)
        settle_epsilon(self)
        size = self.alphabet.size
        if not 2 <= size < MOST_POINTS:
            raise InvalidParameterError(
                f"{name} takes 2 to {MOST_POINTS - 1:,} values; got {self.alphabet!r}. HadamardResponse takes more."
            )
        if self.order is None and self.recurrence is None:
            order, dimensions = best_geometry(size, self._ratio)
            settle(self, order=order, recurrence=first_recurrence(order, dimensions))
            return
        check_count("order", self.order, least=2)
        if self._order >= MOST_POINTS or not is_prime(self._order):
            raise InvalidParameterError(f"order must be a prime number below {MOST_POINTS:,}; got {self.order}.")
        dimensions = self._dimensions if self.recurrence is None else len(self.recurrence)
        # Bounded first, so that no power of the order grows out of hand.
        is_bounded = 2 <= dimensions <= MOST_POINTS.bit_length()
        if not is_bounded or not size <= points_of(self._order, dimensions) <= MOST_POINTS:
            raise InvalidParameterError(
                f"A geometry needs at least as many points as the {size:,} values, at most {MOST_POINTS:,}, and 2 "
                f"dimensions or more; got order {self.order} and {dimensions} dimensions."
            )
        if self.recurrence is None:
            settle(self, recurrence=first_recurrence(self._order, dimensions))
        settle(self, recurrence=tuple(self._recurrence))
        for number in self._recurrence:
            check_count("recurrence", number, least=0)
        if max(self._recurrence) >= self._order or not runs_through_all(self._order, self._recurrence):
            raise InvalidParameterError(
                f"The recurrence {list(self._recurrence)} does not run through all points of order {self.order}. "
                f"Leave it out, to have one that does."
            )

    @property
    def _dimensions(self) -> int:
        """The fewest dimensions with enough points."""
        dimensions = 2
        while points_of(self._order, dimensions) < self.alphabet.size:
            dimensions += 1
        return dimensions

    @property
    def _order(self) -> int:
        return self.order or 0  # both are settled: never None once the mechanism is made

    @property
    def _recurrence(self) -> tuple[int, ...]:
        return self.recurrence or ()

    @property
    def _reach(self) -> int:
        return points_of(self._order, len(self._recurrence) - 1)

    @property
    def report_alphabet(self) -> Integers:
        return Integers(0, points_of(self._order, len(self._recurrence)) - 1)

    @property
    def facts(self) -> Facts:
        # With s hyperplanes through a point and c < s through two, the Gram matrix of the rows is a positive multiple
        # of the identity, plus a constant: positive definite.
        reason = "Any two points share equally many hyperplanes, fewer than pass through one."
        points, shared = self._reach, points_of(self._order, len(self._recurrence) - 2)
        through_other = shared * self._ratio + points - shared
        keep, flip, both = (one / self._total for one in (points * self._ratio, through_other, shared * self._ratio))

        def holds(reports: NDArray[np.int64], values: Indices) -> NDArray[np.bool_]:
            found: NDArray[np.bool_] = self.channel.is_place[(reports - values) % self.report_alphabet.size]
            return found

        return Facts(
            is_positive=True,
            independence=Proof(reason, "Fisher's inequality"),
            log_smallest=self._log_smallest,
            supports=SupportSets(1 / self._ratio, keep, flip, both, holds),
        )

    @cached_property
    def channel(self) -> CirculantChannel:
        size, count, places = self.alphabet.size, self.report_alphabet.size, self._places[: self._reach]
        return CirculantChannel(size, count, places, float(self._ratio - 1), float(1 / self._total))

    @cached_property
    def _places(self) -> Indices:
        """The difference set, then all other numbers, both in order."""
        inside = difference_set(self._order, self._recurrence)
        return np.concatenate([inside, np.setdiff1d(np.arange(self.report_alphabet.size), inside)])

    def _outputs(self, indices: Indices, numbers: Indices) -> Indices:
        return (indices + self._places[numbers]) % self.report_alphabet.size
