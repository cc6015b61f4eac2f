"""The parts of example surveys: what a newcomer reads first about each alphabet and each mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class AlphabetKind(StrEnum):
    """Which alphabet an example has."""

    INTEGERS = "integers"
    CATEGORIES = "categories"
    GRID = "grid"
    LATTICE = "lattice"
    PAIRS = "pairs"


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
    """

    name: str
    title: str
    text: str
    unit: str
    epsilon: float
    is_single: bool = False


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
    ),
    AlphabetKind.CATEGORIES: AlphabetExample(
        "answer",
        "How often do you cycle to work?",
        """\
[alphabet]
kind = "categories"    # unordered values, all texts or all whole numbers; none is nearer than another
values = ["never", "sometimes", "often"]
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
    ),
    AlphabetKind.LATTICE: AlphabetExample(
        "location",
        "Where people are",
        """\
[alphabet]
kind = "lattice"       # cells of a plane without end; an estimate is looked for among those near the reports
spacing = 0.5          # how far neighbouring cells lie apart
unit = "km"            # what distances are counted in; may be left out
""",
        "km",
        1.0,
    ),
    AlphabetKind.PAIRS: AlphabetExample(
        "person",
        "Age and answer of each person",
        """\
[alphabet]
kind = "pairs"         # two values at once; files have the columns first and second

[alphabet.first]
kind = "integers"
low = 18
high = 67
unit = "year"

[alphabet.second]
kind = "categories"
values = ["never", "sometimes", "often"]
""",
        "unit of distance",
        0.5,
    ),
}
"""An example of each alphabet."""

INTEGERS, CATEGORIES, GRID, LATTICE, PAIRS = AlphabetKind


@dataclass(frozen=True)
class MechanismExample:
    """One mechanism of a survey.

    Attributes
    ----------
    about
        What it does, in a line.
    fits
        The alphabets that it takes, the one for an example first.
    is_per_person
        Whether epsilon is a promise about any two values, and not per unit of distance.
    settings
        By alphabet, what it takes in place of an epsilon, in TOML.
    """

    about: str
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

[mechanism.first]              # any mechanism that takes the first part
kind = "truncated-geometric"
epsilon = 0.05

[mechanism.second]             # any mechanism that takes the second part; what the two promise adds up
kind = "randomized-response"
epsilon = 2.0
"""

REMAPPED_LINE = """\

[mechanism.mechanism]          # any mechanism with an end of reports; what it promises stands
kind = "truncated-geometric"
epsilon = 0.05

[mechanism.outputs]            # a report beside these becomes the nearest of them
kind = "integers"
low = 18
high = 80
unit = "year"
"""

REMAPPED_PLANE = """\

[mechanism.mechanism]          # any mechanism with an end of reports; what it promises stands
kind = "truncated-planar-geometric"
epsilon = 1.0

[mechanism.outputs]            # a report beside these becomes the nearest of them
kind = "grid"
rows = 18
columns = 12
spacing = 0.5
unit = "km"
"""

MECHANISMS: dict[str, MechanismExample] = {
    "randomized-response": MechanismExample(
        "the truth, or with some probability any other value alike",
        (CATEGORIES, INTEGERS, GRID, PAIRS),
        is_per_person=True,
    ),
    "rappor": MechanismExample(
        "a bit for each value, set for the true one, then each flipped at random",
        (CATEGORIES, INTEGERS, GRID, PAIRS),
        is_per_person=True,
    ),
    "truncated-geometric": MechanismExample("noise is added, and the sum clamped to the alphabet", (INTEGERS,)),
    "geometric": MechanismExample("noise is added; any whole number may be reported", (INTEGERS,)),
    "truncated-laplace": MechanismExample("continuous noise is added, then rounded and clamped", (INTEGERS,)),
    "laplace": MechanismExample("continuous noise is added; reports are real numbers", (INTEGERS,)),
    "exponential": MechanismExample("any value, a near one more likely than a far one", (INTEGERS, GRID, CATEGORIES)),
    "truncated-taxicab": MechanismExample("noise on row and column, each clamped to the grid", (GRID,)),
    "taxicab": MechanismExample("noise on row and column; any cell of the plane may be reported", (GRID, LATTICE)),
    "truncated-planar-geometric": MechanismExample("noise alike in all directions, then the nearest cell", (GRID,)),
    "planar-geometric": MechanismExample(
        "noise alike in all directions; any cell of the plane may be reported", (GRID, LATTICE)
    ),
    "truncated-planar-laplace": MechanismExample(
        "continuous noise alike in all directions, then the nearest cell", (GRID,)
    ),
    "planar-laplace": MechanismExample(
        "continuous noise alike in all directions; reports are real rows and columns", (GRID, LATTICE)
    ),
    "matrix": MechanismExample(
        "your own probabilities; the guarantee is computed from them", (CATEGORIES,), settings={CATEGORIES: MATRIX}
    ),
    "product": MechanismExample(
        "each part of a pair is blurred by a mechanism of its own", (PAIRS,), settings={PAIRS: PRODUCT}
    ),
    "remapped": MechanismExample(
        "reports of another mechanism, moved to the nearest of other outputs",
        (INTEGERS, GRID),
        settings={INTEGERS: REMAPPED_LINE, GRID: REMAPPED_PLANE},
    ),
}
"""An example of each mechanism, by its name in a survey."""

USUAL = {
    INTEGERS: "truncated-geometric",
    CATEGORIES: "randomized-response",
    GRID: "truncated-planar-laplace",
    LATTICE: "planar-geometric",
    PAIRS: "product",
}
"""The mechanism to begin with, for each alphabet."""
