"""Alphabets: the values that a person may have.

>>> ages = Integers(0, 99)
>>> ages.encode([30, 35])
array([30, 35])
>>> ages.distance(30, 35)
5.0
"""

from confide.values.amounts import Bins
from confide.values.attributes import Attributes, Selection
from confide.values.base import Alphabet, Kinds, as_value, as_values, unbounded
from confide.values.categories import BitVectors, Categories, Scale
from confide.values.dates import Circle, Dates, Hours, Weekdays
from confide.values.earth import Coordinates, Degrees, Places
from confide.values.geometry import (
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
from confide.values.planes import Grid, Integers, Lattice, Line, Plane

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
