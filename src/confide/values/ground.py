"""The ground under a plane: what a degree of latitude and of longitude measure on the ellipsoid WGS 84, with proof.

Bounds and spacings of places come from here, so no function is used whose last bit depends on the machine.

>>> least, most = ground_scales(Box(40.7044, -74.0205, 40.7942, -73.9374))
>>> round(least[0], 2), round(least[1], 2)
(111.05, 84.4)
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from confide.errors import InvalidParameterError
from confide.values.checks import is_number
from confide.values.portable import cosine, sine

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
        for name, value, most in (
            ("south", self.south, 90),
            ("west", self.west, 180),
            ("north", self.north, 90),
            ("east", self.east, 180),
        ):
            if not is_number(value) or not abs(float(value)) <= most:
                raise InvalidParameterError(
                    f"{name} must be decimal degrees (WGS 84) between -{most} and {most}; got {value!r}."
                )
            object.__setattr__(self, name, float(value) + 0.0)  # no minus zero
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
