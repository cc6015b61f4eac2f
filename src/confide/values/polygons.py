"""Areas of the Earth within polygons of longitude and latitude: which points they hold, and what is no polygon.

Edges are straight in longitude and latitude, as in GeoJSON (RFC 7946); `geojson.py` reads areas from files.

>>> area = Area(((np.array([[0, 0], [2, 0], [2, 1], [0, 1], [0, 0.0]]),),), name="park")
>>> area.contains([(0.5, 1.0), (0.5, 3.0)])  # latitude, longitude
array([ True, False])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.errors import InvalidInputError

FloatArray = NDArray[np.float64]
Numbers = NDArray[np.int64]
Chosen = NDArray[np.bool_]

BLOCK = 2**21
"""Pairs of an edge and a point, or of two edges, that are compared at once: some tens of megabytes."""

CHUNK = 64
"""Edges that follow each other and are looked at together, by the box around them."""

ROUNDING = (3 + 16 * 2.0**-53) * 2.0**-53
"""Part of its terms within which the sign of an orientation is not certain (Shewchuk 1997, "ccwerrboundA")."""


@dataclass(frozen=True, eq=False)
class Area:
    """A part of the Earth: polygons, each an outer ring and its holes, as closed arrays of longitude and latitude.

    Attributes
    ----------
    polygons
        One tuple of rings a polygon, the outer ring first; each has one row a position, the last like the first. Rings
        may run either way round.
    name
        What it is called; empty where it has no name.
    """

    polygons: tuple[tuple[FloatArray, ...], ...]
    name: str = ""

    @cached_property
    def box(self) -> tuple[float, float, float, float]:
        """South, west, north and east of all of it."""
        outer = np.concatenate([rings[0] for rings in self.polygons])
        (west, south), (east, north) = outer.min(axis=0).tolist(), outer.max(axis=0).tolist()
        return south, west, north, east

    @cached_property
    def edges(self) -> FloatArray:
        """All edges: from longitude and latitude, to longitude and latitude."""
        return _edges([ring for rings in self.polygons for ring in rings])

    def contains(self, points: ArrayLike) -> Chosen:
        """Return for each point, latitude and longitude, whether it lies inside one of the polygons.

        A point on a border belongs to one of the two areas that share it, never to both or neither.
        """
        places = np.asarray(points, dtype=np.float64).reshape(-1, 2)
        latitude, longitude = places[:, 0], places[:, 1]
        is_round = np.abs(longitude) > 180  # a grid may go on past the date line; the others keep their last digits
        longitude = np.where(is_round, (longitude + 180) % 360 - 180, longitude)
        longitude = np.where(longitude == 180, -180.0, longitude)  # one meridian, which is a western border
        inside, order = np.zeros(latitude.size, dtype=bool), np.argsort(latitude, kind="stable")
        ranked = latitude[order]
        for edges in map(_edges, self.polygons):  # each by itself: two that overlap hold what both hold
            first = np.searchsorted(ranked, edges[:, 1].min())
            some = order[first : np.searchsorted(ranked, edges[:, 1].max(), side="right")]
            inside[some] |= _hold(edges, longitude[some], latitude[some])
        return inside

    def cuts(self, boxes: ArrayLike) -> Chosen:
        """Return for each box, given by its corners (latitude, longitude), whether a border runs through it.

        Boxes are taken as those around their corners in longitude and latitude.
        """
        corners = np.asarray(boxes, dtype=np.float64)
        low, high = corners.min(axis=1)[:, ::-1], corners.max(axis=1)[:, ::-1]
        found = np.zeros(len(corners), dtype=bool)
        order = np.argsort(low[:, 1], kind="stable")
        souths, tallest = low[order, 1], float((high - low)[:, 1].max(initial=0.0))
        lowest, highest = (of(self.edges[:, 1], self.edges[:, 3]) for of in (np.minimum, np.maximum))
        first = np.searchsorted(souths, lowest - tallest, side="left").tolist()
        last = np.searchsorted(souths, highest, side="right").tolist()
        for edge, start, stop in zip(self.edges, first, last, strict=True):
            west, east = min(edge[0], edge[2]), max(edge[0], edge[2])
            some = order[start:stop]
            some = some[(low[some, 0] < east) & (high[some, 0] > west)]
            some = some[(low[some, 1] < max(edge[1], edge[3])) & (high[some, 1] > min(edge[1], edge[3]))]
            found[some] |= _passes(edge, low[some], high[some])
        return found


def check_polygon(rings: Sequence[FloatArray]) -> None:
    """Refuse rings that cross, run along each other, or lie where no hole can; rings may touch each other at points."""
    edges = _edges(rings)
    lengths = np.array([len(ring) - 1 for ring in rings])
    ring_of = np.repeat(np.arange(len(rings)), lengths)
    place = np.concatenate([np.arange(length) for length in lengths])
    touched: dict[int, list[FloatArray]] = {}

    def check(left: Numbers, right: Numbers) -> None:
        meets, is_crossed = _meet(edges[left], edges[right])
        is_same = ring_of[left] == ring_of[right]
        apart = np.abs(place[left] - place[right])
        is_next = (apart == 1) | (apart == lengths[ring_of[left]] - 1)
        bad = is_crossed | (meets & is_same & ~is_next)
        if bad.any():
            pair = int(np.argmax(bad))
            one, other = (f"{at(edges[each[pair], :2])} to {at(edges[each[pair], 2:])}" for each in (left, right))
            raise InvalidInputError(
                f"its borders cross or touch themselves: {one}, and {other}. Such an area has no inside; mend it where "
                f"it was drawn"
            )
        for first, second in np.column_stack([left, right])[meets & ~is_same].tolist():
            touched.setdefault(first, []).extend([edges[second, :2], edges[second, 2:]])
            touched.setdefault(second, []).extend([edges[first, :2], edges[first, 2:]])

    _compare(edges, check)
    # Refuse holes outside their ring and holes within holes; that borders do not cross is known.
    own, marks = _marks(edges, np.flatnonzero(ring_of > 0), touched)
    outside = ~_hold(_edges(rings[:1]), marks[:, 0], marks[:, 1])
    if outside.any():
        raise InvalidInputError(f"a hole at {at(marks[int(np.argmax(outside))])} lies outside its ring. Leave it out")
    for number, hole in enumerate(rings[1:], 1):
        within = _hold(_edges([hole]), marks[:, 0], marks[:, 1]) & (ring_of[own] != number)
        if within.any():
            raise InvalidInputError(f"two holes overlap at {at(marks[int(np.argmax(within))])}. Join them")


def at(position: FloatArray) -> str:
    """Return a position as GeoJSON has it, longitude first.

    >>> at(np.array([-73.98, 40.75]))
    '[-73.98, 40.75]'
    """
    return f"[{position[0]:.10g}, {position[1]:.10g}]"


def _edges(rings: Sequence[FloatArray]) -> FloatArray:
    return np.concatenate([np.hstack([ring[:-1], ring[1:]]) for ring in rings])


def _marks(edges: FloatArray, own: Numbers, touched: dict[int, list[FloatArray]]) -> tuple[Numbers, FloatArray]:
    """Return a point of every piece of edges between places where these touch others; where it lies, the piece lies."""
    marks = list((edges[own, :2] + edges[own, 2:]) / 2)
    numbers = own.tolist()
    for place, number in enumerate(own.tolist()):
        if number not in touched:
            continue
        start, end, near = edges[number, :2], edges[number, 2:], np.array(touched[number])
        is_on = (_turn(start, end, near) == 0) & _is_between(near, start, end)
        along = np.array([start, end, *near[is_on]])
        along = along[np.argsort(np.abs(along - start).sum(axis=1), kind="stable")]
        pieces = list(((along[:-1] + along[1:]) / 2)[(along[:-1] != along[1:]).any(axis=1)])
        marks[place] = pieces[0]
        marks, numbers = marks + pieces[1:], numbers + [number] * (len(pieces) - 1)
    return np.array(numbers, dtype=np.int64), np.array(marks).reshape(-1, 2)


def _compare(edges: FloatArray, check: Callable[[Numbers, Numbers], None]) -> None:
    """Call a check with the numbers of all pairs of edges whose boxes touch, some at a time.

    Edges that follow each other lie together, so chunks of them have small boxes, and few of these touch.
    """
    low, high = np.minimum(edges[:, :2], edges[:, 2:]), np.maximum(edges[:, :2], edges[:, 2:])
    starts = np.arange(0, len(edges), CHUNK)
    low_of, high_of = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
    for number, start in enumerate(starts.tolist()):
        mine = np.arange(start, min(start + CHUNK, len(edges)))
        is_near = (low_of[number:] <= high_of[number]).all(axis=1) & (high_of[number:] >= low_of[number]).all(axis=1)
        others = (CHUNK * (number + np.flatnonzero(is_near))[:, None] + np.arange(CHUNK)).ravel()
        others = others[others < len(edges)]
        for part in range(0, others.size, BLOCK // CHUNK):
            some = others[part : part + BLOCK // CHUNK]
            touches = mine[:, None] < some
            for axis in (0, 1):
                touches &= low[mine, axis, None] <= high[some, axis]
                touches &= high[mine, axis, None] >= low[some, axis]
            left, right = np.nonzero(touches)
            check(mine[left], some[right])


def _meet(left: FloatArray, right: FloatArray) -> tuple[Chosen, Chosen]:
    """Return whether two edges have a point in common, and whether they cross or have more than a point in common."""
    a, b, c, d = left[:, :2], left[:, 2:], right[:, :2], right[:, 2:]
    of_c, of_d, of_a, of_b = _turn(a, b, c), _turn(a, b, d), _turn(c, d, a), _turn(c, d, b)
    crosses = (of_c * of_d < 0) & (of_a * of_b < 0)
    touches = np.zeros(len(left), dtype=bool)
    for turn, one, other, point in ((of_c, a, b, c), (of_d, a, b, d), (of_a, c, d, a), (of_b, c, d, b)):
        touches |= (turn == 0) & _is_between(point, one, other)
    low = np.maximum(np.minimum(a, b), np.minimum(c, d))
    high = np.minimum(np.maximum(a, b), np.maximum(c, d))
    overlaps = (of_c == 0) & (of_d == 0) & (low <= high).all(axis=1) & (low < high).any(axis=1)
    return crosses | touches, crosses | overlaps


def _is_between(points: FloatArray, start: FloatArray, end: FloatArray) -> Chosen:
    """Whether points lie in the box around an edge."""
    return np.asarray(((points >= np.minimum(start, end)) & (points <= np.maximum(start, end))).all(axis=-1))


def _turn(a: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    """Return 1 where c lies left of the line from a to b, -1 to the right of it, 0 on it; exactly.

    Where rounding leaves the sign open it is found in fractions.
    """
    a, b, c = np.broadcast_arrays(a, b, c)
    left = (a[..., 0] - c[..., 0]) * (b[..., 1] - c[..., 1])
    right = (a[..., 1] - c[..., 1]) * (b[..., 0] - c[..., 0])
    found = left - right
    signs = np.sign(found)
    is_open = np.abs(found) <= ROUNDING * (np.abs(left) + np.abs(right))
    # Ends of edges that meet, or level ones, are plain: a term of exactly nothing was not rounded.
    is_open &= ~((left == 0) & (right == 0) & ((a == c).all(axis=-1) | (b == c).all(axis=-1)))
    for place in map(tuple, np.argwhere(is_open).tolist()):
        (ax, ay), (bx, by), (cx, cy) = (map(Fraction, point[place].tolist()) for point in (a, b, c))
        exact = (ax - cx) * (by - cy) - (ay - cy) * (bx - cx)
        signs[place] = (exact > 0) - (exact < 0)
    return np.asarray(signs)


def _hold(edges: FloatArray, x: FloatArray, y: FloatArray) -> Chosen:
    """Return for each point whether a ray to the east crosses edges an odd number of times.

    An edge has its lower end and not its upper one, and is looked at from its lower end, whichever area it bounds: so
    neighbours agree about the points on it.
    """
    inside = np.zeros(x.size, dtype=bool)
    (west, south), (east, north) = edges[:, :2].min(axis=0), edges[:, :2].max(axis=0)
    near = np.flatnonzero((x >= west) & (x <= east) & (y >= south) & (y <= north))
    near = near[np.argsort(y[near], kind="stable")]
    x, y = x[near], y[near]
    is_up = (edges[:, 1] < edges[:, 3])[:, None]
    low, high = np.where(is_up, edges[:, :2], edges[:, 2:]), np.where(is_up, edges[:, 2:], edges[:, :2])
    first = np.searchsorted(y, low[:, 1], side="left")
    spans = np.searchsorted(y, high[:, 1], side="left") - first
    ends, odd = np.cumsum(spans), np.zeros(x.size, dtype=bool)
    for start in range(0, int(ends[-1]), BLOCK):
        pairs = np.arange(start, min(start + BLOCK, int(ends[-1])))
        edge = np.searchsorted(ends, pairs, side="right")
        point = first[edge] + pairs - (ends[edge] - spans[edge])
        # Most edges lie wholly to the east or to the west of a point: these take no orientation.
        is_east = x[point] < np.minimum(low[edge, 0], high[edge, 0])
        some = np.flatnonzero(~is_east & (x[point] < np.maximum(low[edge, 0], high[edge, 0])))
        places = np.column_stack([x[point[some]], y[point[some]]])
        is_east[some] = _turn(low[edge[some]], high[edge[some]], places) > 0
        odd ^= (np.bincount(point[is_east], minlength=x.size) % 2).astype(bool)
    inside[near] = odd
    return inside


def _passes(edge: FloatArray, low: FloatArray, high: FloatArray) -> Chosen:
    """Whether an edge, whose own box they meet, runs through the inside of boxes: corners lie on both sides of it."""
    start, direction = edge[:2], edge[2:] - edge[:2]
    corners = ((low, low), (low, high), (high, low), (high, high))
    sides = [direction[0] * (y[:, 1] - start[1]) - direction[1] * (x[:, 0] - start[0]) for x, y in corners]
    return np.asarray((np.max(sides, axis=0) > 0) & (np.min(sides, axis=0) < 0))
