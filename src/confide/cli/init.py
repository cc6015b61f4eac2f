"""confide init: write an example survey to start from, with what a newcomer reads first about its parts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from confide.checks import check_choice, check_count
from confide.cli.numbers import as_count
from confide.cli.terminal import say, say_exactly
from confide.errors import InvalidParameterError
from confide.explanations import ABOUT
from confide.files import write_text

EXAMPLES = (
    "confide init",
    "confide init checkins.toml --alphabet places",
    "confide init --mechanism rappor --reports 1",
)

HEADER = """\
# A confide survey: which values a person may have, and how each is blurred before it leaves the person's device.
# The device and the curator read the same file: it is the contract between them. Check it with: confide show {path}

# What a value is called{column}.
name = "{name}"

# A heading, for people.
title = "{title}"
"""


SHAPE = """\

# What you know of the distribution before any report is seen: narrower intervals, which rest on it (docs/shapes.md).
# shape = {shape}
"""

COLUMN = ", and the column of a file of values"

LIMITS = """\
# How many reports one person may make. The promise is for one report: those of several add up, and confide show says
# to what. Without limits the survey does not say; confide merge then cannot tell too many from enough. Beside reports,
# epsilon = 1.5 limits what all of them promise together, and noise = "permanent" asks for a secret of each person.
"""


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


def init(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="Where to write it; - for standard output.")] = Path(
        "survey.toml"
    ),
    *,
    alphabet: Annotated[
        AlphabetKind | None,
        typer.Option(help="What kind of values people have. [default: integers, or what fits]", show_default=False),
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help=f"How they are blurred: {', '.join(MECHANISMS)}. [default: what suits the values]",
            show_default=False,
        ),
    ] = None,
    reports: Annotated[
        int | None,
        typer.Option(
            parser=as_count,
            metavar="N",
            help="Limit how many reports one person may make; what is promised for each adds up.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")] = False,
) -> None:
    """Write a commented example survey, to be edited.

    A survey names the values that a person may have and the mechanism that blurs them. Its comments explain every key
    and list the other mechanisms that fit.
    """
    if reports is not None:
        check_count("--reports", reports, 1)
    if path.exists() and not force and str(path) != "-":
        raise InvalidParameterError(f"{path} exists already. Name another file, or overwrite it with --force.")
    write_text(path, example_survey(*_choose(alphabet, mechanism), path, reports))
    if str(path) != "-":
        say(f"Wrote {path}. Edit it, then see what it promises:")
        say_exactly(f"  confide show {path}")


def example_survey(alphabet: AlphabetKind, mechanism: str, path: Path, reports: int | None = None) -> str:
    """Return a survey with one alphabet and one mechanism, and as comments the others that fit, and limits not set.

    >>> from confide import parse_survey
    >>> parse_survey(example_survey(AlphabetKind.INTEGERS, "geometric", Path("survey.toml"))).mechanism
    Geometric(alphabet=Integers(0, 99, unit='year'), epsilon=0.05)
    """
    shown = "survey.toml" if str(path) == "-" else str(path)
    values = ALPHABETS[alphabet]
    parts = (
        HEADER.format(path=shown, name=values.name, title=values.title, column=COLUMN if values.is_single else "")
        + (SHAPE.format(shape=values.shape) if values.shape else ""),
        f"# Which values a person may have.\n{values.text}",
        f"# For other values: confide init --alphabet {'|'.join(one for one in AlphabetKind if one != alphabet)}\n",
        f"# How a value is blurred: {ABOUT[mechanism]}.\n{_mechanism_table(alphabet, mechanism)}",
        LIMITS + ("# [limits]\n# reports = 1\n" if reports is None else f"[limits]\nreports = {reports}\n"),
        _others(alphabet, mechanism),
    )
    return "\n".join(parts)


def _choose(alphabet: AlphabetKind | None, mechanism: str | None) -> tuple[AlphabetKind, str]:
    """Return alphabet and mechanism, each chosen to fit the other where it was not asked for."""
    if mechanism is None:
        values = alphabet or AlphabetKind.INTEGERS
        return values, USUAL[values]
    check_choice("--mechanism", mechanism, tuple(MECHANISMS))
    fits = MECHANISMS[mechanism].fits
    if alphabet is not None and alphabet not in fits:
        raise InvalidParameterError(
            f"There is no example of {mechanism} on {alphabet}. Give --alphabet {' or '.join(fits)}, or leave it out."
        )
    return alphabet or fits[0], mechanism


def _mechanism_table(alphabet: AlphabetKind, mechanism: str) -> str:
    settings = MECHANISMS[mechanism].settings
    head = f'[mechanism]\nkind = "{mechanism}"\n'
    return head + (settings[alphabet] if settings else _epsilon(alphabet, MECHANISMS[mechanism]))


def _epsilon(alphabet: AlphabetKind, example: MechanismExample) -> str:
    if example.is_per_person:
        return """\
epsilon = 2.0                  # the promise per person; smaller is more private:
                               # any two values are told apart by a factor of at most e^epsilon
"""
    values = ALPHABETS[alphabet]
    return f"""\
epsilon = {values.epsilon:<20} # the promise per {values.unit}; smaller is more private:
                               # values d apart are told apart by a factor of at most e^(epsilon d)
"""


def _others(alphabet: AlphabetKind, chosen: str) -> str:
    """Return the other mechanisms that fit, a line each."""
    fitting = [kind for kind, one in MECHANISMS.items() if alphabet in one.fits and kind != chosen]
    if not fitting:
        return "# No other mechanism fits these values.\n"
    width = max(len(kind) for kind in fitting) + 2
    heading = f"# Others that fit these values; for an example: confide init --alphabet {alphabet} --mechanism KIND\n"
    return heading + "".join(f"#   {kind:{width}}{ABOUT[kind]}\n" for kind in fitting)
