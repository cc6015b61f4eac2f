"""Distances of distributions and on the ground, and pairs that explain promises.

>>> from confide import Integers
>>> emd([1, 0, 0], [0, 0, 1], Integers(0, 2))
2.0
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.errors import InvalidDistributionError, InvalidParameterError, MissingExtraError, SolverError
from confide.values import Alphabet, Attributes, Categories, Coordinates, Grid
from confide.values.checks import LARGEST_SQUARE, as_distribution, require_kinds, size_of
from confide.values.earth import EQUATOR, FLATTENING
from confide.values.geojson import Area
from confide.values.geometry import LineGeometry, PlaneGeometry, RingGeometry, UnorderedGeometry
from confide.values.wording import counted


def emd(left: ArrayLike, right: ArrayLike, alphabet: Alphabet) -> float:
    """Return the earth mover's distance of two distributions.

    It is the least work that turns one into the other, in units of distance.

    Exact: the difference of cumulative sums on a line, a transport problem on a grid, total variation on
    categories, where every two values are at distance one.

    >>> from confide import Integers
    >>> emd([1, 0, 0], [0, 0.5, 0.5], Integers(0, 2, unit="year"))
    1.5
    """
    require_kinds(emd, locals())
    p = as_distribution(left, alphabet.size, "left distribution")
    q = as_distribution(right, alphabet.size, "right distribution")
    if isinstance(alphabet.geometry, LineGeometry):
        if alphabet.positions is not None:
            return float(alphabet.geometry.gaps @ np.abs(np.cumsum(p - q)[:-1]))
        return float(alphabet.spacing * np.abs(np.cumsum(p - q)[:-1]).sum())
    if isinstance(alphabet.geometry, RingGeometry):
        # What flows over each step, less what flows all around: the median makes the least of it (Werman et al., 1986).
        flows = np.cumsum(p - q)
        return float(np.abs(flows - np.median(flows)).sum())
    if isinstance(alphabet.geometry, UnorderedGeometry):
        return total_variation(p, q)
    if not isinstance(alphabet.geometry, PlaneGeometry):
        raise InvalidParameterError(f"No earth mover's distance is known on {alphabet!r}.")
    # Mass that stays where it is costs nothing, so only the surplus has to travel (for any metric ground distance).
    surplus, deficit = np.maximum(p - q, 0), np.maximum(q - p, 0)
    sources, sinks = np.flatnonzero(surplus), np.flatnonzero(deficit)
    if sources.size == 0 or sinks.size == 0:
        return 0.0
    if alphabet.size > LARGEST_SQUARE:
        raise InvalidParameterError(
            f"An exact EMD over {alphabet.size:,} cells does not fit; at most {LARGEST_SQUARE:,}. Merge cells first."
        )
    points = alphabet.coordinates
    cost = alphabet.metric.between(points[sources][:, None], points[sinks][None])
    moved, taken = float(surplus.sum()), float(deficit.sum())
    shares = surplus[sources] / moved, deficit[sinks] / taken
    try:
        import ot  # POT takes two seconds to import
    except ImportError:
        raise MissingExtraError("POT", "The earth mover's distance on a grid", "planar") from None
    value, log = ot.emd2(*shares, np.ascontiguousarray(cost), numItermax=50_000_000, log=True)
    # POT merely warns when it runs out of iterations, and returns a wrong value.
    if log["warning"] is not None or log["result_code"] != 1:
        raise SolverError(f"The transport solver did not finish ({log['warning']}); no EMD is given.")
    return moved * float(value)


def has_emd(alphabet: Alphabet) -> bool:
    """Whether :func:`emd` can be computed on this alphabet.

    >>> from confide import Grid, Integers
    >>> has_emd(Integers(0, 9)), has_emd(Grid(1000, 1000))
    (True, False)
    """
    if isinstance(alphabet.geometry, PlaneGeometry):
        return alphabet.size <= LARGEST_SQUARE
    return isinstance(alphabet.geometry, LineGeometry | UnorderedGeometry | RingGeometry)


def total_variation(left: ArrayLike, right: ArrayLike) -> float:
    """Return the largest difference in probability over all sets of values.

    >>> total_variation([0.5, 0.5], [0.75, 0.25])
    0.25
    """
    sizes = size_of(left, "left distribution"), size_of(right, "right distribution")
    if sizes[0] != sizes[1]:
        raise InvalidDistributionError(f"Two distributions must have the same length; got {sizes[0]} and {sizes[1]}.")
    p, q = as_distribution(left, sizes[0], "left distribution"), as_distribution(right, sizes[0], "right distribution")
    return float(np.abs(p - q).sum() / 2)


FloatArray = NDArray[np.float64]
Chosen = NDArray[np.bool_]


def ground_distances(points: ArrayLike, point: tuple[float, float]) -> FloatArray:
    """Return the distances of points from another on the ellipsoid, in metres.

    Vincenty's inverse formula (1975), right to a millimetre but for nearly opposite points, which are infinitely far.
    """
    places = np.radians(np.asarray(points, dtype=np.float64).reshape(-1, 2))
    major = 1000 * EQUATOR
    minor = (1 - FLATTENING) * major
    reduced = np.arctan((1 - FLATTENING) * np.tan(places[:, 0]))
    other = math.atan((1 - FLATTENING) * math.tan(math.radians(point[0])))
    sine, cosine, sine_other, cosine_other = np.sin(reduced), np.cos(reduced), math.sin(other), math.cos(other)
    apart = places[:, 1] - math.radians(point[1])
    turn, found = apart.copy(), np.full(len(places), np.inf)
    for _ in range(60):  # it gains three digits in each round, up to a quarter round the Earth
        across = np.hypot(cosine_other * np.sin(turn), cosine * sine_other - sine * cosine_other * np.cos(turn))
        along = sine * sine_other + cosine * cosine_other * np.cos(turn)
        angle = np.arctan2(across, along)
        azimuth = np.divide(cosine * cosine_other * np.sin(turn), across, out=np.zeros_like(across), where=across > 0)
        tilt = 1 - azimuth**2
        middle = along - np.divide(2 * sine * sine_other, tilt, out=np.zeros_like(tilt), where=tilt > 0)
        factor = FLATTENING / 16 * tilt * (4 + FLATTENING * (4 - 3 * tilt))
        series = angle + factor * across * (middle + factor * along * (2 * middle**2 - 1))
        new = apart + (1 - factor) * FLATTENING * azimuth * series
        done = np.abs(new - turn) < 1e-13
        turn = new
        if done.all():
            break
    square = tilt * (major**2 - minor**2) / minor**2
    large = 1 + square / 16384 * (4096 + square * (-768 + square * (320 - 175 * square)))
    small = square / 1024 * (256 + square * (-128 + square * (74 - 47 * square)))
    inner = along * (2 * middle**2 - 1) - small / 6 * middle * (4 * across**2 - 3) * (4 * middle**2 - 3)
    change = small * across * (middle + small / 4 * inner)
    found[done] = (minor * large * (angle - change))[done]
    return found


@dataclass(frozen=True)
class Disc:
    """All places within some metres of a point, on the ground.

    >>> Disc(40.75, -73.98, 2000.0).contains([(40.76, -73.98), (40.77, -73.98)])
    array([ True, False])
    """

    latitude: float
    longitude: float
    radius: float

    def __post_init__(self) -> None:
        if not abs(self.latitude) <= 90 or not abs(self.longitude) <= 180:
            raise InvalidParameterError(
                f"A place is a latitude, from -90 to 90, and a longitude, from -180 to 180; got {self.latitude:g}, "
                f"{self.longitude:g}."
            )
        # A quarter round the Earth. Nearly opposite points, for which ground_distances does not converge, lie twice as
        # far.
        farthest = 1e7
        if not 0 < self.radius <= farthest:
            raise InvalidParameterError(
                f"A circle reaches more than nothing and no more than {farthest / 1000:,.0f} km; got "
                f"{self.radius / 1000:g} km."
            )

    @property
    def name(self) -> str:
        """What it is called."""
        far = f"{self.radius / 1000:.10g} km" if self.radius >= 1000 else f"{self.radius:.10g} m"
        return f"{far} of {self.latitude:.10g}, {self.longitude:.10g}"

    @property
    def box(self) -> tuple[float, float, float, float]:
        """South, west, north and east of it, about."""
        equator = 1000 * EQUATOR
        tall = math.degrees(self.radius / equator)
        wide = math.degrees(self.radius / (equator * max(math.cos(math.radians(self.latitude)), 1e-3)))
        return self.latitude - tall, self.longitude - wide, self.latitude + tall, self.longitude + wide

    def contains(self, points: ArrayLike) -> Chosen:
        """Return whether each point lies within; the rim does."""
        places = np.asarray(points, dtype=np.float64).reshape(-1, 2)
        # Between two parallels nothing is shorter than a meridian, which is most curved at the equator.
        least_radius = 1000 * EQUATOR * (1 - FLATTENING) ** 2
        near = np.abs(np.radians(places[:, 0] - self.latitude)) * least_radius <= self.radius
        near[near] = ground_distances(places[near], (self.latitude, self.longitude)) <= self.radius
        return near

    def cuts(self, boxes: ArrayLike) -> Chosen:
        """Return whether the rim separates the corners of each box."""
        corners = np.asarray(boxes, dtype=np.float64)
        inside = self.contains(corners).reshape(corners.shape[:2])
        return np.asarray(inside.any(axis=1) & ~inside.all(axis=1))


def count_cells(area: Area | Disc, centres: FloatArray, corners: FloatArray) -> str:
    """Say how many cells an area holds, and how many it cuts."""
    inside, cut = area.contains(centres), area.cuts(corners)
    whole = f"{counted(int(inside.sum()), 'cell')}, chosen by centre"
    south, west, north, east = area.box
    (least, first), (most, last) = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
    is_beyond = south < least or west < first or north > most or east > last
    beyond = "; part of it lies outside the map" if is_beyond else ""
    if not cut.any():
        return f"{whole}; its border cuts none{beyond}"
    both = int((cut & inside).sum())
    count = f"{both:,} {'counts' if both == 1 else 'count'} whole, the others not at all"
    return f"{whole}; its border cuts {int(cut.sum()):,}, of which {count}{beyond}"


def why_no_cell(area: Area | Disc, corners: FloatArray) -> str:
    """Return why an area holds the centre of no cell."""
    low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
    south, west, north, east = area.box
    if south <= high[0] and north >= low[0] and west <= high[1] and east >= low[1]:
        return " It lies between the centres of cells: ask for a larger area, or use smaller cells."
    if west <= high[0] and east >= low[0] and south <= high[1] and north >= low[1]:
        return " Latitude and longitude look swapped: GeoJSON has longitude first, a query latitude."
    return " It lies elsewhere on the Earth."


def pairs_of(alphabet: Alphabet) -> list[tuple[int, int]]:
    """Return pairs of values that explain a promise: near, middling and far.

    >>> from confide.values import Integers
    >>> pairs_of(Integers(0, 99))
    [(30, 31), (30, 35), (30, 80)]
    """
    if isinstance(alphabet, Categories):
        return [(0, 1)]
    if not alphabet.is_finite:
        if isinstance(alphabet, Coordinates):  # a step is a metre or so: distances that people know are told
            row, column = alphabet.take([alphabet.bounds.middle])[0].tolist()
            steps = [0, *(round(distance / alphabet.spacing) for distance in alphabet.told_distances)]
        else:  # there is no far end to measure by: one, five and fifty steps apart
            row, column, steps = 0, 0, [0, 1, 5, 50]
        is_line = len(alphabet.field_names) == 1
        first, *others = alphabet.encode([step if is_line else (row, column + step) for step in steps]).tolist()
        return [(first, other) for other in others]
    if isinstance(alphabet, Grid):
        # Pairs along the grid's longer side, through its middle; beside holes, cells about as far apart.
        along = int(alphabet.columns >= alphabet.rows)
        middle, line = alphabet.shape[1 - along] // 2, _line_pairs(alphabet.shape[along], 0)
        cells = [[(middle, place) if along else (place, middle) for place in pair] for pair in line]
        if not alphabet.holes:  # every cell is there, so that none has to be looked for among all of them
            numbers = ([row * alphabet.columns + column for row, column in pair] for pair in cells)
            return [(near, far) for near, far in numbers]
        points = alphabet.coordinates - (alphabet.first_row, alphabet.first_column)
        start, found = int(np.argmin(_lengths(points - cells[0][0]))), []
        for (_, wanted), (near, far) in zip(cells, line, strict=True):
            # The cell about as far from the start, and among equals the one that lies where wanted.
            misfit = np.abs(_lengths(points - points[start]) - (far - near)) + 1e-6 * _lengths(points - wanted)
            misfit[start] = np.inf
            found.append((start, int(np.argmin(misfit))))
        return list(dict.fromkeys(found))

    if isinstance(alphabet, Attributes):
        # Pairs that differ in one attribute, each in turn, and in all of them.
        each = [pairs_of(one) if one.size > 1 else [(0, 0)] for one in alphabet.alphabets]
        ends = [pairs[len(pairs) // 2] for pairs in each]  # neither next to each other nor far apart
        left, right = [one for one, _ in ends], [other for _, other in ends]
        changed = [[*left[:place], right[place], *left[place + 1 :]] for place in range(len(ends))]
        pairs = [(alphabet.join(left), alphabet.join(other)) for other in [*changed, right]]
        return list(dict.fromkeys(pair for pair in pairs if pair[0] != pair[1]))

    return _line_pairs(alphabet.size, int(alphabet.decode(0)))


def _lengths(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.hypot(differences[:, 0], differences[:, 1])


def _line_pairs(size: int, offset: int) -> list[tuple[int, int]]:
    # Neighbours, a twentieth and half of the way: short, middling and long.
    steps = sorted({1, _round_number(size / 20), _round_number(size / 2)})
    # The nearer value is a round number as people write it, about three tenths along.
    grain = _round_number(size / 20)
    start = round((offset + 0.3 * (size - 1)) / grain) * grain - offset
    start = min(max(start, 0), size - 1 - steps[-1])
    return [(start, start + step) for step in steps]


def _round_number(amount: float) -> int:
    """Round down to 1, 2, 5, 10, 20, 50 and so on."""
    if amount < 1:
        return 1
    power = int(10 ** math.floor(math.log10(amount)))
    return max(digit * power for digit in (1, 2, 5) if digit * power <= amount)
