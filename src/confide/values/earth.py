"""Places on the Earth, in a plane that overstates no distance.

They are cells of latitude and longitude, or coordinates without cells, on a lattice of about a metre. Their spacings
follow from what a degree measures on the ellipsoid, with proof. No function is used whose last bit depends on the
machine.

>>> least, most = ground_scales(Box(40.7044, -74.0205, 40.7942, -73.9374))
>>> round(least[0], 2), round(least[1], 2)
(111.05, 84.4)
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.errors import InvalidParameterError
from confide.values.base import Alphabet, Example, as_values, joined, outside_error, wide_floats
from confide.values.checks import check_choice, check_count, check_positive, is_number, parse_real, settle
from confide.values.geojson import Area, GeoJSON, read_areas
from confide.values.geometry import LARGEST_LATTICE, Indices, Values
from confide.values.metrics import Value
from confide.values.planes import Grid, Lattice, Plane
from confide.values.portable import cosine, sine
from confide.values.wording import counted, told_at_edges

EQUATOR = 6378.137
"""Radius of the equator of WGS 84, km."""

FLATTENING = 1 / 298.257223563
"""Flattening of WGS 84."""

METRES = {"m": 1.0, "km": 1000.0}
"""Metres of each unit that lengths on the ground are counted in."""

Scales = tuple[float, float]
"""Kilometres that a degree of latitude and one of longitude stand for."""

_SQUARED_ECCENTRICITY = FLATTENING * (2 - FLATTENING)


@dataclass(frozen=True)
class Box:
    """Box of latitudes and longitudes, in degrees; bounds inside."""

    south: float
    west: float
    north: float
    east: float

    def __post_init__(self) -> None:
        for name, value in vars(self).copy().items():
            most = 90 if name in ("south", "north") else 180
            if not is_number(value) or not abs(float(value)) <= most:
                raise InvalidParameterError(
                    f"{name} must be decimal degrees (WGS 84) between -{most} and {most}; got {value!r}."
                )
            settle(self, **{name: float(value) + 0.0})  # no minus zero
        if self.south >= self.north:
            raise InvalidParameterError(f"south must be below north; got {self.south!r} and {self.north!r}.")
        if self.west >= self.east:
            raise InvalidParameterError(
                f"west must be below east; got {self.west!r} and {self.east!r}. A box across the date line is cut "
                f"there in two, each with a survey of its own."
            )

    @property
    def tall(self) -> float:
        """Degrees of latitude."""
        return self.north - self.south

    @property
    def wide(self) -> float:
        """Degrees of longitude."""
        return self.east - self.west

    @property
    def middle(self) -> tuple[float, float]:
        """Latitude and longitude halfway."""
        return (self.south + self.north) / 2, (self.west + self.east) / 2

    def holds(self, latitude: float, longitude: float) -> bool:
        """Whether a point lies inside or on the rim."""
        return self.south <= latitude <= self.north and self.west <= longitude <= self.east

    def fault(self, latitude: float, longitude: float) -> str:
        """Return what is wrong with a point; empty for any valid point."""
        if not (math.isfinite(latitude) and math.isfinite(longitude)):
            return "not decimal degrees"
        if self.holds(longitude, latitude) and not self.holds(latitude, longitude):
            return "latitude and longitude swapped"
        return "" if abs(latitude) <= 90 and abs(longitude) <= 180 else "no latitude and longitude"


def ground_scales(box: Box) -> tuple[Scales, Scales]:
    """Return bounds on the kilometres per degree inside a box.

    Both are pairs, for latitude and for longitude: the least, then the most.

    For points that are x degrees of latitude and y of longitude apart, the ground distance (the shortest path on the
    ellipsoid) lies between hypot(least[0] x, least[1] y) and hypot(most[0] x, most[1] y).

    Proof. A path has the length of the integral of sqrt((M dlatitude)^2 + (p dlongitude)^2), with M the radius of the
    meridian, which grows towards the poles, and p that of the parallel, which falls. Most: the path that is straight in
    degrees stays inside the box, where M and p are at most what they are at its rims; the shortest is no longer. Least:
    on the shortest path M and p are at least what they are at the latitudes that it reaches, and with constant M and p
    a straight line is shortest. It reaches no latitude further out than half its length, which is at most the box's
    diagonal L. Towards the pole a better bound follows from Clairaut (p sin(azimuth) is constant along the path):
    where it comes closest to the pole its azimuth is 90 degrees, and t further along it has turned by at most
    k t, k = tan(latitude) / EQUATOR, so that it has come down by at most k t^2 / (2 M); one end is at most L / 2 away.
    """
    low = 0.0 if box.south <= 0 <= box.north else min(abs(box.south), abs(box.north))
    high = max(abs(box.south), abs(box.north))
    most = meridian_radius(high), parallel_radius(low)
    tall, wide = most[0] * math.radians(box.tall), most[1] * math.radians(box.wide)
    half = math.sqrt(tall * tall + wide * wide) / 2
    reach = math.degrees(half / meridian_radius(0))
    furthest = high + reach
    if furthest >= 90:
        raise InvalidParameterError(
            f"The box of latitudes {box.south:g} to {box.north:g} and longitudes {box.west:g} to {box.east:g} is too "
            f"large or too near a pole for a plane. Choose a smaller one, further away."
        )
    for _ in range(2):  # the second time with a bound on the latitude that is already good
        angle = math.radians(furthest)
        turn = sine(angle) / cosine(angle) / EQUATOR
        furthest = min(furthest, high + math.degrees(turn * half * half / (2 * meridian_radius(0))))
    least = meridian_radius(max(0.0, low - reach)), parallel_radius(furthest)
    degree = math.radians(1)
    return (least[0] * degree, least[1] * degree), (most[0] * degree, most[1] * degree)


def meridian_radius(latitude: float) -> float:
    """Return the radius of curvature along the meridian, km.

    >>> round(meridian_radius(0), 3), round(meridian_radius(90), 3)
    (6335.439, 6399.594)
    """
    root = _flattened(math.radians(latitude))
    return EQUATOR * (1 - _SQUARED_ECCENTRICITY) / (root * root * root)


def parallel_radius(latitude: float) -> float:
    """Return the radius of the parallel, km.

    >>> round(parallel_radius(0), 3), round(parallel_radius(60), 3)
    (6378.137, 3197.105)
    """
    angle = math.radians(latitude)
    return EQUATOR * cosine(angle) / _flattened(angle)


def _flattened(angle: float) -> float:
    height = sine(angle)
    return math.sqrt(1 - _SQUARED_ECCENTRICITY * (height * height))


def kilometres(length: object, name: str = "cell") -> float:
    """Read a length with its unit.

    >>> kilometres("500 m"), kilometres("0.5 km")
    (0.5, 0.5)
    """
    pattern = r"\s*([0-9]+[.]?[0-9]*|[.][0-9]+)\s*(m|km)\s*"
    found = re.fullmatch(pattern, length) if isinstance(length, str) else None
    metres = 0.0 if found is None else float(found[1]) * METRES[found[2]]
    if not 0 < metres < math.inf:
        raise InvalidParameterError(f'{name} must be a length above 0 such as "500 m" or "0.5 km"; got {length!r}.')
    return metres / 1000


ROOM = 1e-9
"""By how much less than what is proven a spacing is, relative: more than float64 rounds degrees and scales by."""


class OnEarth(Alphabet):
    """Values in a box on the Earth, read as latitude and longitude."""

    raw_names = (("latitude", "longitude"), ("lat", "lon"), ("lat", "lng"), ("lat", "long"))
    has_labels = True
    south: float
    west: float
    north: float
    east: float

    _steps: tuple[float, float]  # degrees of latitude and longitude from one value to the next
    _noun: str  # what neighbours are one of apart
    _elsewhere = ""  # what is wrong with a point that merely lies outside the box
    _digits: int = 4  # decimals of a degree in the words for the box

    _most_given_away = 0.02
    """Of a distance, beyond which a plane no longer serves: cities of 50 km stay below it up to 65 degrees."""

    @property
    def bounds(self) -> Box:  # type: ignore[override]  # made of settings
        """The box."""
        return Box(self.south, self.west, self.north, self.east)

    @property
    def extent(self) -> str:  # type: ignore[override]
        """The box in words."""
        lowest, highest = (self.south, self.west), (self.north, self.east)
        return f"from {label_point(lowest, self._digits)} to {label_point(highest, self._digits)}"

    @property
    def given_away(self) -> float:
        """Largest share of a ground distance that the plane loses.

        >>> Places(40.7044, -74.0205, 40.7942, -73.9374, cell="500 m").given_away < 0.002
        True
        """
        longest = max(most * step for most, step in zip(ground_scales(self.bounds)[1], self._steps, strict=True))
        return 1 - self.spacing * METRES[self.unit] / METRES["km"] / longest

    @property
    def fine_print(self) -> tuple[str, ...]:
        ground = (
            f"Distances in the plane are never longer than on the ground (WGS 84), and up to {self.given_away:.2%} "
            f"shorter: on the ground, the promise is kept."
        )
        return (ground, told_at_edges("place", self._noun, self.spacing, self.unit, math.sqrt(2) * self.spacing))

    def fault(self, fields: Sequence[str]) -> str:
        latitude, longitude = map(parse_real, fields)
        if latitude is None or longitude is None:
            return "not decimal degrees"
        return self.bounds.fault(latitude, longitude) or self._elsewhere

    def _as_points(self, raw: ArrayLike) -> NDArray[np.float64]:
        """Return latitudes and longitudes, one row a point, or say why not."""
        array = wide_floats(as_values(raw, self, self.raw_names, "pairs (latitude, longitude)"))
        if array.dtype.kind not in "iuf":
            raise InvalidParameterError(
                f"{self!r} takes latitudes and longitudes as numbers, in decimal degrees; got {array.dtype} such as "
                f"{array.reshape(-1)[:1].tolist()}. Convert them."
            )
        points: NDArray[np.float64] = array.astype(np.float64)
        return points

    def _refuse_outside(self, points: NDArray[np.float64], is_outside: NDArray[np.bool_]) -> None:
        """Refuse points that lie nowhere here."""
        outside = np.flatnonzero(is_outside)
        if outside.size:
            first = tuple(points[outside[0]].tolist())
            why = self.bounds.fault(*first)
            after = f"{f' ({why})' if why else ''}. Leave them out or widen the box."
            raise outside_error(outside, len(points), f"places lie outside {self!r}", first, after)


@dataclass(frozen=True, init=False, repr=False)
class Places(OnEarth, Grid):
    """Cells of a box on the Earth (WGS 84).

    People give a latitude and a longitude, in degrees.

    A value is the pair (row, column). Row 0 is in the south, column 0 in the west. The box is cut into equal steps of
    degrees. Two cells are never farther apart in the plane than their centres are on the ellipsoid. So a promise per km
    in the plane is kept on the ground. :attr:`given_away` is the largest share of a ground distance that the plane
    loses.

    Parameters
    ----------
    south, west, north, east
        The box. It grows by less than a cell to hold whole cells, unless rows and columns are given.
    centre, radius
        In place of the box: a latitude and longitude, and a length such as ``"5 km"``. The box encloses the circle.
    cell
        Size of a cell, such as ``"500 m"``, which is then the spacing.
    rows, columns
        In place of a cell size: how many cells each way.
    spacing
        Distance of neighbours in the plane, in `unit`. Default: the largest that is proven safe on the ground.
    unit
        Unit of distances and of the promise: ``"km"`` or ``"m"``.
    holes
        Cells where nobody lives, such as water: pairs (row, column), or GeoJSON, as a file or its content. A cell that
        an area covers whole is a hole.

    Examples
    --------
    >>> manhattan = Places(40.7044, -74.0205, 40.7942, -73.9374, cell="500 m")
    >>> manhattan.shape, manhattan.spacing
    ((20, 15), 0.5)
    >>> manhattan.take([(40.7580, -73.9855)]).tolist()
    [[11, 6]]
    """

    kind = "places"
    about = "cells on the Earth; files of values have the columns latitude and longitude, in decimal degrees"
    example = Example(
        "home",
        "Where people live",
        unit="km on the ground",
        text="""\
south = 40.7044        # the box (WGS 84); it grows by less than a cell so that it holds whole ones
west = -74.0205
north = 40.7942
east = -73.9374
# centre = [40.7493, -73.9790]   # in place of the box: a latitude and longitude
# radius = "5 km"
cell = "1 km"          # the size of a cell; or rows and columns into which the box is cut
# unit = "km"          # what distances are counted in, km or m
# holes = "water.geojson"   # polygons in a file beside this one: cells that these cover are none
""",
    )

    _noun = "cell"
    spacing: float = field()  # always declared, so that a device need not prove it anew
    unit: str = "km"
    first_row: int = field(default=0, init=False)
    first_column: int = field(default=0, init=False)
    south: float = math.nan
    west: float = math.nan
    north: float = math.nan
    east: float = math.nan

    def __init__(  # noqa: PLR0913 (a box or a circle, cut by size or by number)
        self,
        south: float | None = None,
        west: float | None = None,
        north: float | None = None,
        east: float | None = None,
        *,
        centre: Sequence[float] | None = None,
        radius: str | None = None,
        cell: str | None = None,
        rows: int | None = None,
        columns: int | None = None,
        spacing: float | None = None,
        unit: str = "km",
        holes: Sequence[tuple[int, int]] | Sequence[Area] | GeoJSON = (),
    ) -> None:
        check_choice("unit", unit, tuple(METRES))
        box = box_of((south, west, north, east), centre, radius)
        size = kilometres(cell) if cell is not None else None
        box, rows, columns = _cut(box, size, rows, columns)
        proven = _proven_spacing(box, rows, columns)
        units = METRES["km"] / METRES[unit]
        if spacing is None:
            # A tenth of a millimetre less at most, so that people can read it.
            length = (size if size is not None else math.floor(proven * 1e7) / 1e7) * units
        else:
            check_positive("spacing", spacing)
            length = float(spacing)
            if spacing > proven * (1 + ROOM / 2) * units:
                raise InvalidParameterError(
                    f"spacing={spacing!r} is more than these cells measure on the ground, {proven * units:.6g}: "
                    f"distances would be overstated and the promise broken. Leave it out."
                )
        settle(self, rows=rows, columns=columns, first_row=0, first_column=0, holes=(), **vars(box))
        steps = box.tall / rows, box.wide / columns
        # As many digits as distinguish cells.
        settle(self, spacing=length, unit=unit, _steps=steps, _digits=max(0, -Decimal(min(steps)).adjusted()))
        self.__post_init__()
        self._refuse_waste()
        if len(holes):  # type: ignore[arg-type]  # a path is a text here
            settle(self, holes=self._holes_of(holes))
            self.__dict__.pop("geometry", None)
            self.__post_init__()

    @classmethod
    def around(cls, latitude: float, longitude: float, radius: str, cell: str, unit: str = "km") -> Places:
        """Return the cells of the box around a circle.

        >>> Places.around(48.8566, 2.3522, "3 km", cell="500 m").shape
        (12, 12)
        """
        return cls(centre=(latitude, longitude), radius=radius, cell=cell, unit=unit)

    def take(self, raw: ArrayLike) -> Values:
        """Turn latitudes and longitudes into cells; refuse points in no cell.

        >>> Places(0, 0, 1, 1, rows=2, columns=2).take([(0, 0), (0.5, 0.4), (1, 1)]).tolist()
        [[0, 0], [1, 0], [1, 1]]
        """
        points = self._as_points(raw)
        cells = self.cells(points)
        self._refuse_outside(points, ~self.contains(cells))
        return cells

    def cells(self, points: NDArray[np.float64]) -> Indices:
        """Return row and column of points; -1 and -1 outside the box.

        Holes count as cells here.

        The operations and their order are a specification (docs/values.md): other languages do the same.
        """
        latitude, longitude = points[:, 0], points[:, 1]
        inside = (latitude >= self.south) & (latitude <= self.north)
        inside &= (longitude >= self.west) & (longitude <= self.east)
        row = np.floor((latitude - self.south) / (self.north - self.south) * self.rows)
        column = np.floor((longitude - self.west) / (self.east - self.west) * self.columns)
        # The far rims belong to the last row and column, so that bounds are inside.
        cells = np.stack([np.minimum(row, self.rows - 1), np.minimum(column, self.columns - 1)], axis=-1)
        found: Indices = np.where(inside[:, None], cells, -1.0).astype(np.int64)
        return found

    def nearest_cells(self, points: NDArray[np.float64]) -> Indices:
        """Return row and column of points, moved to the box if outside.

        >>> Places(0, 0, 1, 1, rows=2, columns=2).nearest_cells(np.array([(7.0, 0.2)])).tolist()
        [[1, 0]]
        """
        return self.cells(np.clip(points, (self.south, self.west), (self.north, self.east)))

    def sql(self, latitude: str = "latitude", longitude: str = "longitude") -> tuple[str, str]:
        """Return SQL for row and column of two columns of degrees.

        It gives what :meth:`take` gives, and NULL outside all cells.

        DuckDB and Spark take it. The columns may be texts or numbers.

        >>> print(Places(0, 0, 1, 1, rows=2, columns=2).sql()[0])  # doctest: +ELLIPSIS
        CASE WHEN ... THEN CAST(LEAST(FLOOR((TRY_CAST(latitude AS DOUBLE) - CAST('0.0' AS DOUBLE)) / ... * 2), 1) AS ...
        """
        rims = ((latitude, self.south, self.north, self.rows), (longitude, self.west, self.east, self.columns))
        inside, cells = [], []
        for column, first, last, number in rims:
            degrees = f"TRY_CAST({column} AS DOUBLE)"
            # Bounds are cast from texts: a plain 40.7 is an exact decimal in SQL, and would be divided as one.
            low, high = (f"CAST('{rim!r}' AS DOUBLE)" for rim in (first, last))
            inside.append(f"{degrees} BETWEEN {low} AND {high}")
            share = f"({degrees} - {low}) / ({high} - {low}) * {number}"
            cells.append(f"CAST(LEAST(FLOOR({share}), {number - 1}) AS BIGINT)")
        if self.holes:
            numbers = ", ".join(str(row * self.columns + column) for row, column in self.holes)
            inside.append(f"{cells[0]} * {self.columns} + {cells[1]} NOT IN ({numbers})")
        row, column = (f"CASE WHEN {' AND '.join(inside)} THEN {cell} END" for cell in cells)
        return row, column

    def read(self, fields: Sequence[str]) -> Value | None:
        latitude, longitude = map(parse_real, fields)
        if latitude is None or longitude is None:
            return None
        if not (self.south <= latitude <= self.north and self.west <= longitude <= self.east):
            return (-1, -1)
        row = math.floor((latitude - self.south) / (self.north - self.south) * self.rows)
        column = math.floor((longitude - self.west) / (self.east - self.west) * self.columns)
        return (min(row, self.rows - 1), min(column, self.columns - 1))

    def centres(self, indices: ArrayLike) -> NDArray[np.float64]:
        """Return latitude and longitude of cell centres, one row a cell.

        >>> Places(0, 0, 1, 1, rows=2, columns=2).centres([0, 3]).tolist()
        [[0.25, 0.25], [0.75, 0.75]]
        """
        return self._degrees(self.decode(np.atleast_1d(np.asarray(indices, dtype=np.int64))) + 0.5)

    def corners(self, indices: ArrayLike) -> NDArray[np.float64]:
        """Return the corners of cells, anticlockwise from the south-west.

        Neighbours share theirs to the last bit.

        >>> Places(0, 0, 1, 1, rows=2, columns=2).corners([0]).tolist()
        [[[0.0, 0.0], [0.0, 0.5], [0.5, 0.5], [0.5, 0.0]]]
        """
        cells = self.decode(np.atleast_1d(np.asarray(indices, dtype=np.int64)))
        around = np.array([(0, 0), (0, 1), (1, 1), (1, 0)])
        return self._degrees(cells[:, None, :] + around)

    def _name(self, values: Values) -> list[str]:
        # A cell is called by its centre.
        return [self.label(point) for point in self._degrees(values + 0.5).tolist()]

    def label(self, point: Sequence[float]) -> str:
        """Return a point in words, with enough digits to distinguish cells.

        >>> Places(-1, -1, 0, 0, rows=2, columns=2).labels([0])
        ['0.8 S, 0.8 W']
        """
        return label_point(point, self._digits)

    def _degrees(self, cells: NDArray[np.float64] | Indices) -> NDArray[np.float64]:
        """Turn rows and columns into degrees; the far rims are the bounds."""
        first, last = np.array([self.south, self.west]), np.array([self.north, self.east])
        degrees: NDArray[np.float64] = np.where(cells == self.shape, last, first + cells / self.shape * (last - first))
        return degrees

    def _holes_of(self, holes: Any) -> Sequence[tuple[int, int]]:
        """Return the cells that are holes: those that areas cover whole."""
        areas = read_areas(holes) if isinstance(holes, str | PathLike | Mapping) else holes
        if not isinstance(areas[0], Area):
            return holes  # type: ignore[no-any-return]
        self.require_listable()
        everyone = np.arange(self.size)
        centres, corners = self.centres(everyone), self.corners(everyone)
        covered, touched = np.zeros(self.size, dtype=bool), False
        for area in areas:
            inside, cut = area.contains(centres), area.cuts(corners)
            covered |= inside & ~cut
            touched |= bool(inside.any() or cut.any())
        if not touched:
            raise InvalidParameterError(
                f"None of the {counted(len(areas), 'area')} of holes touches the box of latitudes {self.south:g} to "
                f"{self.north:g} and longitudes {self.west:g} to {self.east:g}. GeoJSON has longitude first: are they "
                f"swapped, or of another city?"
            )
        if covered.all():
            raise InvalidParameterError("The areas cover all cells, so that nobody can be anywhere. Give smaller ones.")
        return [(row, column) for row, column in self.decode(everyone[covered]).tolist()]

    def _refuse_waste(self) -> None:
        if self.given_away <= self._most_given_away:
            return
        least, most = ground_scales(self.bounds)
        tall, wide = most[0] * self._steps[0], least[1] * self._steps[1]
        most_allowed = f"a plane serves up to {self._most_given_away:.0%}"
        told = f"{self!r} gives away {self.given_away:.2%} of distances on the ground; {most_allowed}."
        if abs(tall / wide - 1) > self._most_given_away / 2:
            raise InvalidParameterError(
                f"{told} Its cells are {tall:.3g} km tall and {wide:.3g} km wide: choose rows and columns so that they "
                f"are square, or give a cell size, and leave the spacing out."
            )
        raise InvalidParameterError(
            f"{told} The box is too tall at this latitude: cut it into bands, each with a survey of its own."
        )

    def __repr__(self) -> str:
        box = ", ".join(repr(one) for one in (self.south, self.west, self.north, self.east))
        holes = f"{len(self.holes)} holes" if self.holes else ""
        shape = f"rows={self.rows}, columns={self.columns}, spacing={self.spacing!r}, unit={self.unit!r}"
        return f"Places({joined(box, shape, holes)})"


def label_point(point: Sequence[float], digits: int) -> str:
    """Return a latitude and longitude as people write them.

    >>> label_point((40.7506, -73.9871), 3)
    '40.751 N, 73.987 W'
    """
    latitude, longitude = (f"{abs(value):.{digits}f}" for value in point)
    return f"{latitude} {'S' if point[0] < 0 else 'N'}, {longitude} {'W' if point[1] < 0 else 'E'}"


def box_of(bounds: tuple[float | None, ...], centre: Sequence[float] | None, radius: str | None) -> Box:
    """Return the box that was given, or that of a circle."""
    south, west, north, east = bounds
    if centre is None and radius is None:
        if south is None or west is None or north is None or east is None:
            raise InvalidParameterError(
                "Places need a box, south, west, north and east in degrees, or a centre and a radius."
            )
        return Box(south, west, north, east)
    if centre is None or radius is None or bounds != (None,) * 4:
        raise InvalidParameterError("Give either south, west, north and east, or a centre and a radius.")
    if len(centre) != 2 or not all(map(is_number, centre)):
        raise InvalidParameterError(f"centre must be a latitude and a longitude; got {centre!r}.")
    latitude, longitude = centre
    half = kilometres(radius, "radius")
    tall = wide = 1e-6
    for _ in range(4):  # the box of a circle depends on how long its own degrees are
        if not (abs(latitude) + tall <= 90 and abs(longitude) + wide <= 180):
            raise InvalidParameterError(
                f"The circle of {radius} around {tuple(centre)} reaches past a pole or the date line. Choose another "
                f"one, or cut it there in two, each with a survey of its own."
            )
        near = Box(latitude - tall, longitude - wide, latitude + tall, longitude + wide)
        least = ground_scales(near)[0]
        tall, wide = half / least[0], half / least[1]
    return near


def _cut(box: Box, cell: float | None, rows: int | None, columns: int | None) -> tuple[Box, int, int]:
    """Return the box with its numbers of rows and columns."""
    if cell is None:
        if rows is None or columns is None:
            raise InvalidParameterError('Places need a cell size, such as cell="500 m", or rows and columns.')
        check_count("rows", rows, 1)
        check_count("columns", columns, 1)
        return box, int(rows), int(columns)
    if rows is not None or columns is not None:
        raise InvalidParameterError("Give either a cell size, or rows and columns.")
    # Widen the box about its middle, by less than a cell, until its cells are proven to measure so many km each way.
    least = ground_scales(box)[0]
    # A box that is a millionth of a cell too large needs no further row.
    rows = max(1, math.ceil(box.tall * least[0] / cell - 1e-6))
    columns = max(1, math.ceil(box.wide * least[1] / cell - 1e-6))
    (latitude, longitude), grown = box.middle, box
    while _proven_spacing(grown, rows, columns) < cell:
        least = ground_scales(grown)[0]
        more = cell * (1 + 2 * ROOM)
        tall, wide = max(grown.tall, rows * more / least[0]), max(grown.wide, columns * more / least[1])
        # Bounds are multiples of a millionth of a degree, which people can read.
        south, north = math.floor((latitude - tall / 2) * 1e6) / 1e6, math.ceil((latitude + tall / 2) * 1e6) / 1e6
        west, east = math.floor((longitude - wide / 2) * 1e6) / 1e6, math.ceil((longitude + wide / 2) * 1e6) / 1e6
        if west < -180:  # at the date line it widens to the other side alone
            west, east = -180.0, math.ceil((wide - 180) * 1e6) / 1e6
        elif east > 180:
            west, east = math.floor((180 - wide) * 1e6) / 1e6, 180.0
        grown = Box(south, west, north, east)
    return grown, rows, columns


def _proven_spacing(box: Box, rows: int, columns: int) -> float:
    """Return the largest spacing, km, that provably overstates no distance."""
    least = ground_scales(box)[0]
    return min(least[0] * box.tall / rows, least[1] * box.wide / columns) * (1 - ROOM)


@dataclass(frozen=True, repr=False)
class Degrees(Plane):
    """Latitudes and longitudes on a lattice: reports that are coordinates.

    >>> Degrees(0.001, "km", 111000, 84000).decode(Degrees(0.001, "km", 111000, 84000).encode([(40.5, -73.75)]))
    array([[ 40.5 , -73.75]])
    """

    RESOLUTION: ClassVar[int] = 1

    latitude_steps: int = 1
    longitude_steps: int = 1

    field_names = ("latitude", "longitude")

    @property
    def resolutions(self) -> tuple[int, ...]:  # type: ignore[override]  # known of each lattice
        """Steps of the lattice per degree of latitude and longitude."""
        return (self.latitude_steps, self.longitude_steps)

    def moved(self, cells: Values, noise: Indices) -> NDArray[np.float64]:
        points: NDArray[np.float64] = (cells + noise) / self.resolutions
        return points

    def steps(self, points: Values) -> NDArray[np.float64]:
        return np.rint(points.astype(np.float64) * self.resolutions)


@dataclass(frozen=True, init=False, repr=False)
class Coordinates(OnEarth, Lattice):
    """Latitudes and longitudes (WGS 84) on a lattice of about a metre.

    The cells are chosen at the estimate.

    A value is a pair of whole numbers: steps from the equator and from Greenwich. As with :class:`Places`, distances in
    the plane never exceed those on the ground.

    Parameters
    ----------
    south, west, north, east, centre, radius, unit
        The box that contains everyone, as in :class:`Places`.
    step
        Width of the lattice, such as ``"1 m"``. Points round to the nearest lattice point.
    spacing, latitude_steps, longitude_steps
        In place of a step: the distance of neighbours in the plane, and the number of steps in a degree.

    Examples
    --------
    >>> manhattan = Coordinates(40.7044, -74.0205, 40.7942, -73.9374)
    >>> manhattan.take([(40.7580, -73.9855)]).tolist()
    [[4526054, -6244080]]
    >>> manhattan.degrees(manhattan.take([(40.7580, -73.9855)])).round(5).tolist()
    [[40.758, -73.9855]]
    """

    kind = "coordinates"
    about = 'latitude and longitude without cells; these are chosen at the estimate, with --cell "500 m"'
    usual = "planar-laplace"
    example = Example(
        "home",
        "Where people live",
        unit="km on the ground",
        text="""\
south = 40.7044        # the box in which people are (WGS 84); reports may lie outside
west = -74.0205
north = 40.7942
east = -73.9374
# centre = [40.7493, -73.9790]   # in place of the box: a latitude and longitude
# radius = "5 km"
# step = "1 m"         # the lattice of places, on which noise is drawn exactly
# unit = "km"          # what distances are counted in, km or m
""",
    )

    _noun = "step"
    _elsewhere = "outside the alphabet"
    _bounded = 'cells to estimate on, with --cell "500 m" or mechanism.on_cells(counts, "500 m")'
    unit: str = "km"
    south: float = math.nan
    west: float = math.nan
    north: float = math.nan
    east: float = math.nan
    latitude_steps: int = 0
    longitude_steps: int = 0

    def __init__(  # noqa: PLR0913 (a box or a circle, and a step in words or in numbers)
        self,
        south: float | None = None,
        west: float | None = None,
        north: float | None = None,
        east: float | None = None,
        *,
        centre: Sequence[float] | None = None,
        radius: str | None = None,
        step: str = "1 m",
        unit: str = "km",
        spacing: float | None = None,
        latitude_steps: int | None = None,
        longitude_steps: int | None = None,
    ) -> None:
        check_choice("unit", unit, tuple(METRES))
        box = box_of((south, west, north, east), centre, radius)
        units = METRES["km"] / METRES[unit]
        if spacing is None or latitude_steps is None or longitude_steps is None:
            spacing = kilometres(step, "step") * units
            step_km = spacing / units
            if not 1e-4 <= step_km <= 0.1:  # finer ones have too many numbers, coarser ones are cells
                raise InvalidParameterError(f'step must lie between "0.1 m" and "100 m"; got {1000 * step_km:g} m.')
            latitude_steps, longitude_steps = (
                math.floor(scale * (1 - ROOM) / step_km) for scale in _scales_around(box, step_km)
            )
        check_positive("spacing", spacing)
        for name, number in (("latitude_steps", latitude_steps), ("longitude_steps", longitude_steps)):
            check_count(name, number, 1)
            # Longitudes reach 180 degrees, and all numbers of steps must stay below LARGEST_LATTICE.
            if number > LARGEST_LATTICE // 200:
                raise InvalidParameterError(f"{name} must be at most {LARGEST_LATTICE // 200:,}; got {number:,}.")
        least, length = _scales_around(box, spacing / units), spacing / units
        proven = min(least[0] / latitude_steps, least[1] / longitude_steps)
        if length > proven:
            raise InvalidParameterError(
                f"A spacing of {1000 * length:g} m is more than these steps measure on the ground, {1000 * proven:.6g} "
                f"m: distances would be overstated and the promise broken. Give a step alone."
            )
        settle(self, spacing=float(spacing), unit=unit, **vars(box))
        settle(self, latitude_steps=int(latitude_steps), longitude_steps=int(longitude_steps))
        settle(self, _steps=(1 / latitude_steps, 1 / longitude_steps))
        self.__post_init__()
        if self.given_away > self._most_given_away:
            raise InvalidParameterError(
                f"{self!r} gives away {self.given_away:.2%} of distances on the ground; a plane serves up to "
                f"{self._most_given_away:.0%}. The box is too tall at this latitude: cut it into bands."
            )

    @property
    def told_distances(self) -> tuple[float, ...]:
        """Distances of an example: 100 m, 1 km and 5 km."""
        return tuple(metres / METRES[self.unit] for metres in (100, 1000, 5000))

    @property
    def fine(self) -> Degrees:
        # The lattice of about a metre is fine enough itself.
        return Degrees(self.spacing, self.unit, self.latitude_steps, self.longitude_steps)

    def cells(self, cell: str | Places) -> Places:
        """Return cells of the box, of this size, to estimate on.

        >>> Coordinates(40.7044, -74.0205, 40.7942, -73.9374).cells("1 km").shape
        (10, 8)
        """
        if isinstance(cell, Places):
            return cell
        return Places(self.south, self.west, self.north, self.east, cell=cell, unit=self.unit)

    def take(self, raw: ArrayLike) -> Values:
        """Move points to the nearest lattice points; refuse those outside the box."""
        points = self._as_points(raw)
        inside = (points >= (self.south, self.west)).all(axis=1) & (points <= (self.north, self.east)).all(axis=1)
        self._refuse_outside(points, np.asarray(~inside))
        steps: Indices = np.floor(points * (self.latitude_steps, self.longitude_steps) + 0.5).astype(np.int64)
        return steps

    def read(self, fields: Sequence[str]) -> Value | None:
        latitude, longitude = map(parse_real, fields)
        if latitude is None or longitude is None or not self.bounds.holds(latitude, longitude):
            return None
        return (math.floor(latitude * self.latitude_steps + 0.5), math.floor(longitude * self.longitude_steps + 0.5))

    def degrees(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return latitude and longitude of values."""
        found: NDArray[np.float64] = np.asarray(values) / (self.latitude_steps, self.longitude_steps)
        return found

    def _name(self, values: Values) -> list[str]:
        # Five decimals of a degree are about a metre.
        return [label_point(point, 5) for point in self.degrees(values).tolist()]

    def __repr__(self) -> str:
        box = ", ".join(repr(one) for one in (self.south, self.west, self.north, self.east))
        return f"Coordinates({box}, spacing={self.spacing!r}, unit={self.unit!r})"


def _scales_around(box: Box, step: float) -> tuple[float, float]:
    """Return the least km a degree around a box.

    Points of the lattice to which people are moved may lie just outside the box.
    """
    tall, wide = (2 * step / scale for scale in ground_scales(box)[0])
    wider = Box(
        max(box.south - tall, -90), max(box.west - wide, -180), min(box.north + tall, 90), min(box.east + wide, 180)
    )
    return ground_scales(wider)[0]
