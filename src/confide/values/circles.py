"""Distances on the ground (the ellipsoid WGS 84), and circles of one distance.

>>> round(float(ground_distances([(48.8584, 2.2945)], (40.6892, -74.0445))[0]))  # metres, Eiffel Tower to Liberty
5853104
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.errors import InvalidParameterError
from confide.values.geojson import Area
from confide.values.wording import counted

FloatArray = NDArray[np.float64]
Chosen = NDArray[np.bool_]

EQUATOR = 6378137.0
"""Radius of the equator of WGS 84, m."""

FLATTENING = 1 / 298.257223563

LEAST_MERIDIAN = EQUATOR * (1 - FLATTENING) ** 2
"""Least radius of curvature of a meridian, m."""

FARTHEST = 1e7
"""Metres that a circle may reach: a quarter round the Earth. Nearly opposite points, for which the iteration below does
not converge, lie twice as far."""

ROUNDS = 60
"""Of the iteration; it gains three digits in each, up to a quarter round the Earth."""


def ground_distances(points: ArrayLike, point: tuple[float, float]) -> FloatArray:
    """Return how many metres points, one row of latitude and longitude each, lie from another on the ellipsoid.

    Vincenty's inverse formula (1975), right to a millimetre but for nearly opposite points, which are infinitely far.
    """
    places = np.radians(np.asarray(points, dtype=np.float64).reshape(-1, 2))
    minor = (1 - FLATTENING) * EQUATOR
    reduced = np.arctan((1 - FLATTENING) * np.tan(places[:, 0]))
    other = math.atan((1 - FLATTENING) * math.tan(math.radians(point[0])))
    sine, cosine, sine_other, cosine_other = np.sin(reduced), np.cos(reduced), math.sin(other), math.cos(other)
    apart = places[:, 1] - math.radians(point[1])
    turn, found = apart.copy(), np.full(len(places), np.inf)
    for _ in range(ROUNDS):
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
    square = tilt * (EQUATOR**2 - minor**2) / minor**2
    large = 1 + square / 16384 * (4096 + square * (-768 + square * (320 - 175 * square)))
    small = square / 1024 * (256 + square * (-128 + square * (74 - 47 * square)))
    inner = along * (2 * middle**2 - 1) - small / 6 * middle * (4 * across**2 - 3) * (4 * middle**2 - 3)
    change = small * across * (middle + small / 4 * inner)
    found[done] = (minor * large * (angle - change))[done]
    return found


@dataclass(frozen=True)
class Disc:
    """All places within so many metres of a latitude and longitude, on the ground.

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
        if not 0 < self.radius <= FARTHEST:
            raise InvalidParameterError(
                f"A circle reaches more than nothing and no more than {FARTHEST / 1000:,.0f} km; got "
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
        tall = math.degrees(self.radius / EQUATOR)
        wide = math.degrees(self.radius / (EQUATOR * max(math.cos(math.radians(self.latitude)), 1e-3)))
        return self.latitude - tall, self.longitude - wide, self.latitude + tall, self.longitude + wide

    def contains(self, points: ArrayLike) -> Chosen:
        """Return for each point, latitude and longitude, whether it lies within; the rim does."""
        places = np.asarray(points, dtype=np.float64).reshape(-1, 2)
        # Between two parallels nothing is shorter than a meridian, which is most curved at the equator.
        near = np.abs(np.radians(places[:, 0] - self.latitude)) * LEAST_MERIDIAN <= self.radius
        near[near] = ground_distances(places[near], (self.latitude, self.longitude)) <= self.radius
        return near

    def cuts(self, boxes: ArrayLike) -> Chosen:
        """Return for each box, given by its corners (latitude, longitude), whether some lie within and some do not."""
        corners = np.asarray(boxes, dtype=np.float64)
        inside = self.contains(corners).reshape(corners.shape[:2])
        return np.asarray(inside.any(axis=1) & ~inside.all(axis=1))


def count_cells(area: Area | Disc, centres: FloatArray, corners: FloatArray) -> str:
    """Say how many cells are in an area by their centres, and how many its border cuts."""
    inside, cut = area.contains(centres), area.cuts(corners)
    whole = f"{counted(int(inside.sum()), 'cell')} by centre"
    south, west, north, east = area.box
    (least, first), (most, last) = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
    is_beyond = south < least or west < first or north > most or east > last
    beyond = ", and runs beyond the cells, where nobody is counted" if is_beyond else ""
    if not cut.any():
        return f"{whole}; its border cuts none{beyond}"
    both = int((cut & inside).sum())
    count = f"{both:,} {'counts' if both == 1 else 'count'} whole and the others not at all"
    return f"{whole}; its border cuts {int(cut.sum()):,}, of which {count}{beyond}"


def why_no_cell(area: Area | Disc, corners: FloatArray) -> str:
    """Return why an area holds the centre of no cell, and what to do about it."""
    low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
    south, west, north, east = area.box
    if south <= high[0] and north >= low[0] and west <= high[1] and east >= low[1]:
        return " It lies between the centres of cells: ask for a larger area, or use smaller cells."
    if west <= high[0] and east >= low[0] and south <= high[1] and north >= low[1]:
        return " Latitude and longitude look swapped: GeoJSON has longitude first, a query latitude."
    return " It lies elsewhere on the Earth."
