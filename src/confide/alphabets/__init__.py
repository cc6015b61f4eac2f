"""Alphabets: the values that a person may have, their numbers and their places.

>>> ages = Integers(0, 99)
>>> ages.encode([30, 35])
array([30, 35])
>>> ages.distance(30, 35)
5.0
"""

from confide.alphabets.amounts import Bins
from confide.alphabets.attributes import Attributes
from confide.alphabets.base import Alphabet, as_value, as_values, unbounded
from confide.alphabets.bits import BitVectors
from confide.alphabets.categories import Categories
from confide.alphabets.circles import Circle, Hours, Weekdays
from confide.alphabets.coordinates import Coordinates, Degrees
from confide.alphabets.dates import Dates
from confide.alphabets.derived import Selection
from confide.alphabets.earth import Places
from confide.alphabets.geometry import (
    Geometry,
    Indices,
    LatticeGeometry,
    LineGeometry,
    PlaneGeometry,
    ProductGeometry,
    RingGeometry,
    SubsetGeometry,
    UnorderedGeometry,
    Values,
)
from confide.alphabets.lines import Integers, Line
from confide.alphabets.planes import Grid, Lattice, Plane
from confide.alphabets.scales import Scale
from confide.kinds import Kinds

ALPHABETS: Kinds[type[Alphabet]] = Kinds(
    Alphabet,
    {
        one.kind: one
        for one in (
            *(Integers, Categories, Grid, Lattice, Places, Coordinates, Scale),
            *(Bins, Dates, Hours, Weekdays, Circle, Attributes),
        )
    },
)
"""Every alphabet by its name in a survey file."""

__all__ = [
    "ALPHABETS",
    "Alphabet",
    "Attributes",
    "Bins",
    "BitVectors",
    "Categories",
    "Circle",
    "Coordinates",
    "Dates",
    "Degrees",
    "Geometry",
    "Grid",
    "Hours",
    "Indices",
    "Integers",
    "Lattice",
    "LatticeGeometry",
    "Line",
    "LineGeometry",
    "Places",
    "Plane",
    "PlaneGeometry",
    "ProductGeometry",
    "RingGeometry",
    "Scale",
    "Selection",
    "SubsetGeometry",
    "UnorderedGeometry",
    "Values",
    "Weekdays",
    "as_value",
    "as_values",
    "unbounded",
]
