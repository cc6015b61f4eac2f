"""confide init: write an example survey to start from, with what a newcomer reads first about its parts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.checks import check_choice, check_count
from confide.cli.examples import ALPHABETS, MECHANISMS, USUAL, AlphabetKind, MechanismExample
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
