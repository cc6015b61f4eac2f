"""confide init: write a commented example survey."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Annotated

from confide.cli.terminal import say, say_exactly
from confide.cli.usage import argument, option
from confide.data.files import write_text
from confide.errors import ConfideError, InvalidParameterError
from confide.mechanisms import MECHANISMS
from confide.mechanisms.guarantees import Guarantee, LocalDP
from confide.present.summary import Summary
from confide.present.surveys import describe_levels
from confide.present.terminal import show_summary
from confide.surveys.survey import Survey, parse_survey
from confide.values import ALPHABETS
from confide.values.base import Example
from confide.values.checks import check_choice

EXAMPLES = ("confide init", "confide init checkins.toml --alphabet places", "confide init --mechanism rappor")

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


LIMITS = """\
# How many reports one person may make. The promise is for one report: those of several add up, and confide show says
# to what. Optional: without it, confide merge cannot check for repeated reports. Beside reports, epsilon = 1.5 limits
# what all of them promise together, and noise = "permanent" asks for a secret of each person.
# [limits]
# reports = 1
"""


def init(
    path: Annotated[Path, argument("Where to write it; - for standard output.", "PATH")] = Path("survey.toml"),
    *,
    alphabet: Annotated[
        str | None, option(f"The kind of values: {', '.join(ALPHABETS)}. [default: integers]", "KIND")
    ] = None,
    mechanism: Annotated[
        str | None, option(f"How values are blurred [default: what suits them]: {', '.join(MECHANISMS)}.", "KIND")
    ] = None,
) -> None:
    """Write a commented example survey, to be edited.

    A survey names the values that a person may have and the mechanism that blurs them. Its comments explain every key
    and list the other mechanisms that fit.
    """
    if path.exists() and str(path) != "-":
        raise InvalidParameterError(f"{path} exists already. Name another file, or remove it first.")
    write_text(path, example_survey(*_choose(alphabet, mechanism), path))
    if str(path) != "-":
        say(f"Wrote {path}. Edit it, then see what it promises:")
        say_exactly(f"  confide show {path}")


def example_survey(alphabet: str, mechanism: str, path: Path) -> str:
    """Return an example survey, with the alternatives as comments.

    >>> parse_survey(example_survey("integers", "geometric", Path("survey.toml"))).mechanism
    Geometric(alphabet=Integers(0, 99, unit='year'), epsilon=0.05)
    """
    shown = "survey.toml" if str(path) == "-" else str(path)
    example = MECHANISMS[mechanism].asks or ALPHABETS[alphabet].example or Example(alphabet, alphabet)
    tables, kinds = _alphabet_table(alphabet, example), exemplary()
    mechanism_table = mechanism_tables(mechanism, alphabet)[alphabet]
    survey = parse_survey(tables + mechanism_table)
    column = ", and the column of a file of values" if survey.alphabet.parts == 1 else ""
    parts = (
        HEADER.format(path=shown, name=example.name, title=example.title, column=column)
        + (SHAPE.format(shape=example.shape) if example.shape else ""),
        f"# Which values a person may have.\n{tables}",
        f"# For other values: confide init --alphabet {'|'.join(one for one in kinds if one != alphabet)}\n",
        f"# How a value is blurred: {MECHANISMS[mechanism].about}.\n{mechanism_table}{_levels(survey)}",
        LIMITS,
        _others(alphabet, mechanism),
    )
    return "\n".join(parts)


def exemplary() -> dict[str, Example]:
    """Return the alphabets that have examples of their own.

    A class may inherit the example of another.
    """
    return {kind: vars(one)["example"] for kind, one in ALPHABETS.items() if "example" in vars(one)}


def mechanism_tables(kind: str, *alphabets: str) -> dict[str, str]:
    """Return a mechanism's tables in TOML by alphabet, the example first.

    >>> list(mechanism_tables("taxicab"))
    ['grid', 'lattice', 'places']
    """
    mechanism, head = MECHANISMS[kind], f'[mechanism]\nkind = "{kind}"\n'
    if isinstance(mechanism.example, Mapping):
        return {alphabet: head + text for alphabet, text in mechanism.example.items()}
    found = {}
    for alphabet, values in sorted(exemplary().items(), key=lambda one: one[0] != mechanism.suits):
        if alphabets and alphabet not in alphabets:
            continue
        text = _alphabet_table(alphabet, values) + head + (mechanism.example or f"epsilon = {values.epsilon}")
        try:
            made = parse_survey(text).mechanism
            _ = made.report_alphabet  # which somebody's own may not have for values of another kind
        except (ConfideError, AttributeError, TypeError):
            continue
        if alphabet == "attributes" and not isinstance(made.guarantee, LocalDP):
            continue  # each attribute has a unit of its own: a distance across them means little
        found[alphabet] = head + (mechanism.example or _epsilon(values, made.guarantee))
    return found


def _choose(alphabet: str | None, mechanism: str | None) -> tuple[str, str]:
    """Return alphabet and mechanism, each chosen to fit the other."""
    if alphabet is not None:
        check_choice("--alphabet", alphabet, tuple(exemplary()))
    if mechanism is None:
        values = alphabet or "integers"
        return values, ALPHABETS[values].usual
    check_choice("--mechanism", mechanism, tuple(MECHANISMS))
    fits = list(mechanism_tables(mechanism))
    if alphabet is not None and alphabet not in fits:
        raise InvalidParameterError(
            f"There is no example of {mechanism} on {alphabet}. Give --alphabet {' or '.join(fits)}, or leave it out."
        )
    if not fits:
        raise InvalidParameterError(f"There is no example of {mechanism}.")
    return alphabet or fits[0], mechanism


def _alphabet_table(kind: str, example: Example) -> str:
    head = f'kind = "{kind}"'
    return f"[alphabet]\n{head:<22} # {ALPHABETS[kind].about}\n{example.text}"


def _epsilon(values: Example, promise: Guarantee) -> str:
    is_local = isinstance(promise, LocalDP)
    epsilon, per = (2.0, "person") if is_local else (values.epsilon, values.unit)
    return f"epsilon = {epsilon:<20} # the promise per {per}; smaller is more private\n"


def _levels(survey: Survey) -> str:
    """Return the choices of epsilon as comments, as `confide show` prints them."""
    from rich.console import Console

    out = StringIO()
    show_summary(Summary("", sections=[describe_levels(survey)]), Console(file=out, width=120))
    lines = [line.rstrip() for line in out.getvalue().splitlines() if line.strip()]
    return "".join(f"# {line}\n" for line in lines if len(lines) > 4)


def _others(alphabet: str, chosen: str) -> str:
    """Return the other mechanisms that fit, a line each."""
    fitting = [kind for kind in MECHANISMS if kind != chosen and alphabet in mechanism_tables(kind, alphabet)]
    if not fitting:
        return "# No other mechanism fits these values.\n"
    width = max(len(kind) for kind in fitting) + 2
    heading = f"# Others that fit these values; for an example: confide init --alphabet {alphabet} --mechanism KIND\n"
    return heading + "".join(f"#   {kind:{width}}{MECHANISMS[kind].about}\n" for kind in fitting)
