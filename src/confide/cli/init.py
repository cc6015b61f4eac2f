"""confide init: write an example survey to start from."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from confide import mechanisms, surveys
from confide.cli.terminal import say, say_exactly
from confide.errors import InvalidParameterError
from confide.tables import write_text

EXAMPLES = ("confide init", "confide init checkins.toml --alphabet grid")

HEADER = """\
# A confide survey: which values a person may have, and how each is blurred before it leaves the person's device.
# The device and the curator read the same file: it is the contract between them. Check it with: confide show {path}

# What a value is called. Files of values have a column of this name.
name = "{name}"

# A heading, for people.
title = "{title}"
"""

ALPHABETS = {
    "integers": """\
[alphabet]
kind = "integers"      # whole numbers from low to high, both inside
low = 0
high = 99
unit = "year"          # what distances are counted in; may be left out
# spacing = 1.0        # how far neighbours lie apart, in that unit; 1 if left out
""",
    "categories": """\
[alphabet]
kind = "categories"    # unordered values, all texts or all whole numbers; none is nearer than another
values = ["never", "sometimes", "often"]
""",
    "grid": """\
[alphabet]
kind = "grid"          # cells of a plane; files have the columns row (0 is south) and column (0 is west)
rows = 20
columns = 14
spacing = 0.5          # how far neighbouring cells lie apart
unit = "km"            # what distances are counted in; may be left out
""",
}

MECHANISMS = {
    "truncated-geometric": """\
[mechanism]
kind = "truncated-geometric"   # integers only: noise is added, and the sum clamped to the alphabet
epsilon = 0.05                 # the promise per unit of distance, here per year; smaller is more private:
                               # values d apart are told apart by a factor of at most e^(epsilon d)
""",
    "randomized-response": """\
[mechanism]
kind = "randomized-response"   # any alphabet: the truth, or with some probability any other value alike
epsilon = 2.0                  # the promise per person; smaller is more private:
                               # any two values are told apart by a factor of at most e^epsilon
""",
    "matrix": """\
[mechanism]
kind = "matrix"                # any alphabet: your own probabilities; the guarantee is computed from them
matrix = [                     # one row for each value, one column for each report; rows sum to 1
    [0.8, 0.1, 0.1],
    [0.1, 0.8, 0.1],
    [0.1, 0.1, 0.8],
]
# outputs = { kind = "categories", values = ["a", "b", "c"] }   # what the columns are; the alphabet if left out
""",
}


class AlphabetKind(StrEnum):
    """Which alphabet the example has."""

    INTEGERS = "integers"
    CATEGORIES = "categories"
    GRID = "grid"


CHOICES = {
    AlphabetKind.INTEGERS: ("age", "Ages in years", "truncated-geometric"),
    AlphabetKind.CATEGORIES: ("answer", "How often do you cycle to work?", "randomized-response"),
    AlphabetKind.GRID: ("location", "Where people check in", "randomized-response"),
}
"""Name, title and mechanism of each example."""


def init(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="Where to write it; - for standard output.")] = Path(
        "survey.toml"
    ),
    *,
    alphabet: Annotated[AlphabetKind, typer.Option(help="What kind of values people have.")] = AlphabetKind.INTEGERS,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")] = False,
) -> None:
    """Write a commented example survey, to be edited.

    A survey names the values that a person may have and the mechanism that blurs them. Its comments explain every key
    and the alternatives.
    """
    if path.exists() and not force and str(path) != "-":
        raise InvalidParameterError(f"{path} exists already. Name another file, or overwrite it with --force.")
    write_text(path, example_survey(alphabet, path))
    if str(path) != "-":
        say(f"Wrote {path}. Edit it, then see what it promises:")
        say_exactly(f"  confide show {path}")


def example_survey(kind: AlphabetKind, path: Path) -> str:
    """Return a survey with one alphabet and one mechanism, and the others beside them as comments.

    >>> from confide import parse_survey
    >>> parse_survey(example_survey(AlphabetKind.INTEGERS, Path("survey.toml"))).alphabet
    Integers(0, 99, unit='year')
    """
    name, title, chosen = CHOICES[kind]
    shown = "survey.toml" if str(path) == "-" else str(path)
    parts = (
        HEADER.format(path=shown, name=name, title=title),
        _one_of(ALPHABETS, kind, "Which values a person may have.", surveys.ALPHABETS),
        _one_of(MECHANISMS, chosen, "How a value is blurred.", mechanisms.MECHANISMS),
    )
    return "\n".join(parts)


def _one_of(blocks: dict[str, str], chosen: str, heading: str, kinds: Iterable[str]) -> str:
    others = [textwrap.indent(block, "#   ") for kind, block in blocks.items() if kind != chosen]
    known = textwrap.fill(f"All kinds: {', '.join(kinds)}. Two others, ready to use:", 110, break_on_hyphens=False)
    return f"# {heading}\n{blocks[chosen]}\n{textwrap.indent(known, '# ')}\n#\n" + "#\n".join(others)
