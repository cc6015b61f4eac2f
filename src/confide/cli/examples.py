"""An example of every alphabet and of every mechanism, each a part of a survey to begin with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class AlphabetKind(StrEnum):
    """Alphabet of an example."""

    INTEGERS = "integers"
    CATEGORIES = "categories"
    GRID = "grid"
    LATTICE = "lattice"
    PLACES = "places"
    COORDINATES = "coordinates"
    SCALE = "scale"
    BINS = "bins"
    DATES = "dates"
    HOURS = "hours"
    WEEKDAYS = "weekdays"
    CIRCLE = "circle"
    ATTRIBUTES = "attributes"


@dataclass(frozen=True)
class AlphabetExample:
    """One alphabet of a survey.

    Attributes
    ----------
    name, title
        What a value is called, and a heading.
    text
        Its table, in TOML.
    unit
        What epsilon is counted by, where it is counted by distance.
    epsilon
        A sensible one, per unit of distance.
    is_single
        Whether a value has one part, and so stands in one column of a file.
    shape
        A shape that may be declared of it, in TOML; nothing where few know any.
    """

    name: str
    title: str
    text: str
    unit: str
    epsilon: float
    is_single: bool = False
    shape: str = ""


ALPHABETS = {
    AlphabetKind.INTEGERS: AlphabetExample(
        "age",
        "Ages in years",
        """\
[alphabet]
kind = "integers"      # whole numbers from low to high, both inside; all whole numbers if both are left out
low = 0
high = 99
unit = "year"          # what distances are counted in; may be left out
# spacing = 1.0        # how far neighbours lie apart, in that unit; 1 if left out
""",
        "year",
        0.05,
        is_single=True,
        shape='["nobody below 17", "falling from 50"]',
    ),
    AlphabetKind.CATEGORIES: AlphabetExample(
        "answer",
        "How often do you cycle to work?",
        """\
[alphabet]
kind = "categories"    # unordered values, all texts or all whole numbers; none is nearer than another
values = ["never", "sometimes", "often"]
# fold = true          # "NEVER " is never too: case and blanks do not matter, and what was folded is told
# aliases = { often = ["always", "daily"] }   # other names that people have for a value
# other = "sometimes"  # the value that takes whatever is not listed, typing errors too; refused if left out
""",
        "unit of distance: any two categories are 1 apart",
        2.0,
        is_single=True,
    ),
    AlphabetKind.GRID: AlphabetExample(
        "location",
        "Where people check in",
        """\
[alphabet]
kind = "grid"          # cells of a plane; files have the columns row (0 is south) and column (0 is west)
rows = 20
columns = 14
spacing = 0.5          # how far neighbouring cells lie apart
unit = "km"            # what distances are counted in; may be left out
# holes = [[0, 3], [1, 3]]   # cells that nobody can be in, such as water, as pairs of row and column
""",
        "km",
        1.0,
        shape='"smooth = 0.3"',
    ),
    AlphabetKind.LATTICE: AlphabetExample(
        "location",
        "Where people are",
        """\
[alphabet]
kind = "lattice"       # all cells of an unbounded plane; an estimate is looked for among those near the reports
spacing = 0.5          # how far neighbouring cells lie apart
unit = "km"            # what distances are counted in; may be left out
""",
        "km",
        1.0,
    ),
    AlphabetKind.PLACES: AlphabetExample(
        "home",
        "Where people live",
        """\
[alphabet]
kind = "places"        # cells on the Earth; files of values have the columns latitude and longitude, in decimal degrees
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
        "km on the ground",
        1.0,
    ),
    AlphabetKind.COORDINATES: AlphabetExample(
        "home",
        "Where people live",
        """\
[alphabet]
kind = "coordinates"   # latitude and longitude without cells; these are chosen at the estimate, with --cell "500 m"
south = 40.7044        # the box in which people are (WGS 84); reports may lie outside
west = -74.0205
north = 40.7942
east = -73.9374
# centre = [40.7493, -73.9790]   # in place of the box: a latitude and longitude
# radius = "5 km"
# step = "1 m"         # the lattice on which places are told apart, and noise is drawn exactly
# unit = "km"          # what distances are counted in, km or m
""",
        "km on the ground",
        1.0,
    ),
    AlphabetKind.SCALE: AlphabetExample(
        "answer",
        "How often do you cycle to work?",
        """\
[alphabet]
kind = "scale"         # words in an order; neighbours are nearer than others, and reports hold their numbers, from 0
values = ["never", "rarely", "sometimes", "often", "always"]
unit = "step"          # what distances are counted in; may be left out
# positions = [0, 1, 2, 4, 8]   # where each word lies, in that unit, if not in equal steps
# fold = true          # "NEVER " is never too: case and blanks do not matter, and what was folded is told
# aliases = { always = ["daily", "every day"] }   # other names that people have for a word
""",
        "step",
        1.0,
        is_single=True,
    ),
    AlphabetKind.BINS: AlphabetExample(
        "salary",
        "Salaries",
        """\
[alphabet]
kind = "bins"          # amounts in bins: from one edge up to, and not with, the next; files hold the amounts themselves
edges = [0, 10, 20, 30, 50, 100]   # or equal ones: low = 0, high = 100 and width = 10
above = true           # a bin for amounts from the last edge on; refused if left out
# below = true         # a bin for amounts below the first edge
unit = "thousand"      # what amounts and distances are counted in; may be left out
""",
        "thousand, between the middles of bins",
        0.05,
        is_single=True,
    ),
    AlphabetKind.DATES: AlphabetExample(
        "day",
        "When people fell ill",
        """\
[alphabet]
kind = "dates"         # from a first to a last date, both inside; files hold ISO dates, such as 2026-03-01
first = "2026-01-01"
last = "2026-03-31"
# every = "week"       # day, week (of ISO, from Monday on), month, quarter or year
""",
        "day",
        0.2,
        is_single=True,
    ),
    AlphabetKind.HOURS: AlphabetExample(
        "hour",
        "When people go to bed",
        """\
[alphabet]
kind = "hours"         # hours of the day in a circle: 23 lies beside 0; files hold ISO times, with a date or without
""",
        "hour, around the clock",
        0.5,
        is_single=True,
    ),
    AlphabetKind.WEEKDAYS: AlphabetExample(
        "weekday",
        "When people shop",
        """\
[alphabet]
kind = "weekdays"      # days of the week in a circle: Sunday lies beside Monday; files hold ISO dates, or Mon, Tue, ...
""",
        "day, around the week",
        1.0,
        is_single=True,
    ),
    AlphabetKind.CIRCLE: AlphabetExample(
        "month",
        "Months of birth",
        """\
[alphabet]
kind = "circle"        # whole numbers from 0 on in a circle, the last beside the first
steps = 12
unit = "month"         # what distances are counted in; may be left out
""",
        "month, around the year",
        0.5,
        is_single=True,
    ),
    AlphabetKind.ATTRIBUTES: AlphabetExample(
        "person",
        "Age, visits and region of each person",
        """\
[alphabet]
kind = "attributes"    # several values of each person; files have the columns age, visits and region

[alphabet.age]         # one table for each attribute, of any kind; its name is that of its column
kind = "integers"
low = 18
high = 67
unit = "year"

[alphabet.visits]
kind = "categories"
values = ["never", "sometimes", "often"]

[alphabet.region]
kind = "categories"
values = ["north", "south", "east", "west"]
""",
        "unit of distance",
        0.5,
    ),
}
"""An example of each alphabet."""

INTEGERS, CATEGORIES, GRID, LATTICE, PLACES, COORDINATES, SCALE, *OTHERS = AlphabetKind
BINS, DATES, HOURS, WEEKDAYS, CIRCLE, ATTRIBUTES = OTHERS
CIRCLES = HOURS, WEEKDAYS, CIRCLE
LINES = INTEGERS, SCALE, BINS, DATES
SINGLE = CATEGORIES, INTEGERS, SCALE, GRID, PLACES, BINS, DATES, *CIRCLES


@dataclass(frozen=True)
class MechanismExample:
    """One mechanism of a survey.

    Attributes
    ----------
    fits
        The alphabets that it takes, the one for an example first.
    is_per_person
        Whether epsilon is a promise about any two values, and not per unit of distance.
    settings
        By alphabet, what it takes in place of an epsilon, in TOML.
    """

    fits: tuple[AlphabetKind, ...]
    is_per_person: bool = False
    settings: dict[AlphabetKind, str] | None = None


MATRIX = """\
matrix = [                     # one row for each value, one column for each report; rows sum to 1
    [0.8, 0.1, 0.1],
    [0.1, 0.8, 0.1],
    [0.1, 0.1, 0.8],
]
# outputs = { kind = "categories", values = ["a", "b", "c"] }   # what the columns are; the alphabet if left out
"""

PRODUCT = """\

[mechanism.age]                # for each attribute any mechanism that takes its values; what they promise adds up
kind = "truncated-geometric"
epsilon = 0.05

[mechanism.visits]
kind = "randomized-response"
epsilon = 1.0

[mechanism.region]
kind = "randomized-response"
epsilon = 1.0
"""

REMAPPED_LINE = """\

[mechanism.mechanism]          # any mechanism of finitely many reports; what it promises stands
kind = "truncated-geometric"
epsilon = 0.05

[mechanism.outputs]            # a report beside these becomes the nearest of them
kind = "integers"
low = 18
high = 80
unit = "year"
"""

REMAPPED_PLANE = """\

[mechanism.mechanism]          # any mechanism of finitely many reports; what it promises stands
kind = "truncated-planar-geometric"
epsilon = 1.0

[mechanism.outputs]            # a report beside these becomes the nearest of them
kind = "grid"
rows = 18
columns = 12
spacing = 0.5
unit = "km"
"""

UNARY = """\
keep = 0.75                    # the bit of the true value is set with this probability
flip = 0.25                    # and any other with this one: any two values are told apart by a factor of at most 9
"""

ROUNDS_OF_BITS = """\

[mechanism.permanent]          # drawn once for a value, from a secret of the person: what it promises holds for any
kind = "unary"                 # number of reports of the same value
keep = 0.75
flip = 0.25

[mechanism.fresh]              # drawn anew in every report, from the bits above
kind = "unary"
keep = 0.75
flip = 0.5
"""

ROUNDS_ON_A_LINE = """\

[mechanism.permanent]          # drawn once for a value, from a secret of the person: what it promises holds for any
kind = "truncated-geometric"   # number of reports of the same value
epsilon = 0.05

[mechanism.fresh]              # drawn anew in every report, from what came out above
kind = "truncated-geometric"
epsilon = 0.02
"""

ON_A_PLANE = "truncated-geometric", "truncated-taxicab"

MECHANISMS: dict[str, MechanismExample] = {
    "randomized-response": MechanismExample(
        (*SINGLE, ATTRIBUTES),
        is_per_person=True,
    ),
    "rappor": MechanismExample(
        (*SINGLE, ATTRIBUTES),
        is_per_person=True,
    ),
    "unary": MechanismExample(
        (*SINGLE, ATTRIBUTES),
        settings=dict.fromkeys((*SINGLE, ATTRIBUTES), UNARY),
    ),
    "truncated-geometric": MechanismExample(LINES),
    "geometric": MechanismExample((INTEGERS, SCALE, DATES)),
    "truncated-laplace": MechanismExample(LINES),
    "laplace": MechanismExample((INTEGERS, SCALE, DATES)),
    "exponential": MechanismExample((*LINES, GRID, PLACES, CATEGORIES, *CIRCLES)),
    "wrapped-geometric": MechanismExample(CIRCLES),
    "truncated-taxicab": MechanismExample((GRID, PLACES)),
    "taxicab": MechanismExample((GRID, LATTICE, PLACES)),
    "truncated-planar-geometric": MechanismExample((GRID, PLACES)),
    "planar-geometric": MechanismExample((GRID, LATTICE, PLACES)),
    "truncated-planar-laplace": MechanismExample((GRID, PLACES)),
    "planar-laplace": MechanismExample(
        (GRID, LATTICE, PLACES, COORDINATES),
    ),
    "matrix": MechanismExample((CATEGORIES,), settings={CATEGORIES: MATRIX}),
    "product": MechanismExample((ATTRIBUTES,), settings={ATTRIBUTES: PRODUCT}),
    "remapped": MechanismExample(
        (INTEGERS, GRID),
        settings={INTEGERS: REMAPPED_LINE, GRID: REMAPPED_PLANE},
    ),
    "two-rounds": MechanismExample(
        (CATEGORIES, INTEGERS, GRID),
        settings={CATEGORIES: ROUNDS_OF_BITS, INTEGERS: ROUNDS_ON_A_LINE, GRID: ROUNDS_ON_A_LINE.replace(*ON_A_PLANE)},
    ),
}
"""An example of each mechanism, by its name in a survey."""

USUAL = {
    INTEGERS: "truncated-geometric",
    CATEGORIES: "randomized-response",
    GRID: "truncated-planar-laplace",
    LATTICE: "planar-geometric",
    PLACES: "truncated-planar-laplace",
    COORDINATES: "planar-laplace",
    SCALE: "truncated-geometric",
    BINS: "truncated-geometric",
    DATES: "truncated-geometric",
    **dict.fromkeys(CIRCLES, "wrapped-geometric"),
    ATTRIBUTES: "product",
}
"""The mechanism to begin with, for each alphabet."""
