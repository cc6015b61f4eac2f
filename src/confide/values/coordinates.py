"""Coordinates without cells: latitude and longitude on a lattice of about a metre, and reports on the same one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.errors import InvalidParameterError, ValueOutsideAlphabetError
from confide.values.checks import check_count, check_positive
from confide.values.earth import (
    COLUMN_NAMES,
    MOST_GIVEN_AWAY,
    ROOM,
    Places,
    as_points,
    box_of,
    label_point,
    told_of_ground,
)
from confide.values.geometry import LARGEST_LATTICE, Indices, Values
from confide.values.ground import METRES, Box, check_unit, ground_scales, kilometres
from confide.values.kinds import Example
from confide.values.metrics import Value
from confide.values.numerals import parse_real
from confide.values.planes import Lattice, Plane
from confide.values.wording import told_at_edges

FINEST, COARSEST = 1e-4, 0.1
"""Steps of a lattice of coordinates, km: finer ones have too many numbers, coarser ones are cells."""

DIGITS = 5
"""Decimals of a degree in a label: about a metre."""


@dataclass(frozen=True, repr=False)
class Degrees(Plane):
    """Latitudes and longitudes that are multiples of a fraction of a degree: reports that are coordinates.

    >>> Degrees(0.001, "km", 111000, 84000).decode(Degrees(0.001, "km", 111000, 84000).encode([(40.5, -73.75)]))
    array([[ 40.5 , -73.75]])
    """

    RESOLUTION: ClassVar[int] = 1

    latitude_steps: int = 1
    longitude_steps: int = 1

    field_names = ("latitude", "longitude")

    @property
    def resolutions(self) -> tuple[int, ...]:
        """Steps of the lattice to a degree of latitude and to one of longitude."""
        return (self.latitude_steps, self.longitude_steps)

    def moved(self, cells: Values, noise: Indices) -> NDArray[np.float64]:
        """See :meth:`Plane.moved`."""
        points: NDArray[np.float64] = (cells + noise) / self.resolutions
        return points

    def steps(self, points: Values) -> NDArray[np.float64]:
        """See :meth:`Plane.steps`."""
        return np.rint(points.astype(np.float64) * self.resolutions)


@dataclass(frozen=True, init=False, repr=False)
class Coordinates(Lattice):
    """Latitudes and longitudes (WGS 84) in a box, on a lattice of about a metre; the cells are chosen at the estimate.

    A value is a pair of whole numbers, the steps of the lattice from the equator and from Greenwich. As with
    :class:`Places`, distances in the plane are never more than on the ground.

    Parameters
    ----------
    south, west, north, east, centre, radius, unit
        The box in which people are, as of :class:`Places`.
    step
        Width of the lattice, such as ``"1 m"``: people within half of it count as one.
    spacing, latitude_steps, longitude_steps
        In place of a step: how far neighbours lie apart in the plane, and how many steps a degree has.

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
# step = "1 m"         # the lattice on which places are told apart, and noise is drawn exactly
# unit = "km"          # what distances are counted in, km or m
""",
    )

    has_labels = True
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
        check_unit(unit)
        box = box_of((south, west, north, east), centre, radius)
        units = METRES["km"] / METRES[unit]
        if spacing is None or latitude_steps is None or longitude_steps is None:
            spacing = kilometres(step, "step") * units
            latitude_steps, longitude_steps = _steps_per_degree(box, spacing / units)
        check_positive("spacing", spacing)
        _check_lattice(box, spacing / units, (latitude_steps, longitude_steps))
        settings = {"spacing": float(spacing), "unit": unit, "south": box.south, "west": box.west, "north": box.north}
        steps = {"latitude_steps": int(latitude_steps), "longitude_steps": int(longitude_steps)}
        for name, value in (settings | {"east": box.east} | steps).items():
            object.__setattr__(self, name, value)
        self.__post_init__()
        if self.given_away > MOST_GIVEN_AWAY:
            raise InvalidParameterError(
                f"{self!r} gives away {self.given_away:.2%} of distances on the ground; a plane serves up to "
                f"{MOST_GIVEN_AWAY:.0%}. The box is too tall at this latitude: cut it into bands."
            )

    @property
    def bounds(self) -> Box:  # type: ignore[override]  # made of settings
        """The box in which people are."""
        return Box(self.south, self.west, self.north, self.east)

    @property
    def extent(self) -> str:  # type: ignore[override]
        """The box in words."""
        south_west, north_east = (self.south, self.west), (self.north, self.east)
        return f"from {label_point(south_west, 4)} to {label_point(north_east, 4)}"

    @property
    def told_distances(self) -> tuple[float, ...]:
        """Distances that an example speaks of: 100 m, 1 km and 5 km, in the unit."""
        return tuple(metres / METRES[self.unit] for metres in (100, 1000, 5000))

    @property
    def fine(self) -> Degrees:
        """See :attr:`Lattice.fine`; the lattice itself is fine enough."""
        return Degrees(self.spacing, self.unit, self.latitude_steps, self.longitude_steps)

    @property
    def given_away(self) -> float:
        """By how much the distance in the plane can be less than on the ground, at most, as a share of the latter."""
        most = ground_scales(self.bounds)[1]
        longest = max(most[0] / self.latitude_steps, most[1] / self.longitude_steps)
        return 1 - self.spacing * METRES[self.unit] / METRES["km"] / longest

    @property
    def raw_names(self) -> tuple[tuple[str, ...], ...]:
        """See :attr:`Alphabet.raw_names`."""
        return COLUMN_NAMES

    @property
    def fine_print(self) -> tuple[str, ...]:
        """See :attr:`Alphabet.fine_print`."""
        corner = math.sqrt(2) * self.spacing
        return (told_of_ground(self.given_away), told_at_edges("place", "step", self.spacing, self.unit, corner))

    def cells(self, cell: str | Places) -> Places:
        """Return cells of the box, of this size, to estimate on.

        >>> Coordinates(40.7044, -74.0205, 40.7942, -73.9374).cells("1 km").shape
        (10, 8)
        """
        if isinstance(cell, Places):
            return cell
        return Places(self.south, self.west, self.north, self.east, cell=cell, unit=self.unit)

    def take(self, raw: ArrayLike) -> Values:
        """Turn latitudes and longitudes into points of the lattice, the nearest; refuse those outside the box."""
        points = as_points(raw, self)
        inside = (points >= (self.south, self.west)).all(axis=1) & (points <= (self.north, self.east)).all(axis=1)
        outside = np.flatnonzero(~inside)
        if outside.size:
            first = tuple(points[outside[0]].tolist())
            why = self.bounds.fault(*first)
            raise ValueOutsideAlphabetError(
                f"{outside.size:,} of {len(points):,} places lie outside {self!r}; first: {first!r} at position "
                f"{outside[0]}{f' ({why})' if why else ''}. Leave them out or widen the box.",
                tuple(outside.tolist()),
            )
        steps: Indices = np.floor(points * (self.latitude_steps, self.longitude_steps) + 0.5).astype(np.int64)
        return steps

    def read(self, fields: Sequence[str]) -> Value | None:
        """See :meth:`Alphabet.read`; decimal degrees alone are read."""
        latitude, longitude = map(parse_real, fields)
        if latitude is None or longitude is None or not self.bounds.holds(latitude, longitude):
            return None
        return (
            math.floor(latitude * self.latitude_steps + 0.5),
            math.floor(longitude * self.longitude_steps + 0.5),
        )

    def fault(self, fields: Sequence[str]) -> str:
        """See :meth:`Alphabet.fault`."""
        latitude, longitude = map(parse_real, fields)
        if latitude is None or longitude is None:
            return "not decimal degrees"
        return self.bounds.fault(latitude, longitude) or "outside the alphabet"

    def degrees(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return latitude and longitude of values."""
        found: NDArray[np.float64] = np.asarray(values) / (self.latitude_steps, self.longitude_steps)
        return found

    def _name(self, values: Values) -> list[str]:
        """See :meth:`Alphabet._name`."""
        return [label_point(point, DIGITS) for point in self.degrees(values).tolist()]

    def __repr__(self) -> str:
        box = ", ".join(repr(one) for one in (self.south, self.west, self.north, self.east))
        return f"Coordinates({box}, spacing={self.spacing!r}, unit={self.unit!r})"


def _widened(box: Box, step: float) -> Box:
    """Return a box that holds all points of the lattice to which people in a box are moved, with room."""
    tall, wide = (2 * step / scale for scale in ground_scales(box)[0])
    return Box(
        max(box.south - tall, -90), max(box.west - wide, -180), min(box.north + tall, 90), min(box.east + wide, 180)
    )


def _steps_per_degree(box: Box, step: float) -> tuple[int, int]:
    """Return how many steps of at least so many km, anywhere in a box, a degree has."""
    if not FINEST <= step <= COARSEST:
        raise InvalidParameterError(f'step must lie between "0.1 m" and "100 m"; got {1000 * step:g} m.')
    least = ground_scales(_widened(box, step))[0]
    latitude, longitude = (math.floor(scale * (1 - ROOM) / step) for scale in least)
    return latitude, longitude


def _check_lattice(box: Box, spacing: float, steps: tuple[int, int]) -> None:
    """Refuse a lattice on which distances are overstated."""
    for name, number in zip(("latitude_steps", "longitude_steps"), steps, strict=True):
        check_count(name, number, 1)
        if number > LARGEST_LATTICE // 200:
            raise InvalidParameterError(f"{name} must be at most {LARGEST_LATTICE // 200:,}; got {number:,}.")
    least = ground_scales(_widened(box, spacing))[0]
    proven = min(least[0] / steps[0], least[1] / steps[1])
    if spacing > proven:
        raise InvalidParameterError(
            f"A spacing of {1000 * spacing:g} m is more than these steps measure on the ground, {1000 * proven:.6g} m: "
            f"distances would be overstated and the promise broken. Give a step alone."
        )
