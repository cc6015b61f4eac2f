"""confide show: say what a survey asks and promises."""

from __future__ import annotations

from typing import Any

from confide.alphabets import (
    Alphabet,
    BitVectors,
    Categories,
    Grid,
    Integers,
    Line,
    LineAlphabet,
    Pairs,
    Plane,
    PlaneAlphabet,
)
from confide.cli.options import AsJson, SurveyPath
from confide.cli.terminal import say, show_json, show_pairs
from confide.files import alphabet_record
from confide.surveys import Survey, load_survey
from confide.wording import counted

EXAMPLES = ("confide show survey.toml",)

LONGEST_LIST = 8
"""Categories that are written out."""


def show(survey: SurveyPath, *, as_json: AsJson = False) -> None:
    """Explain a survey: its values, its mechanism, its promise.

    The promise comes with examples: by what factor any report may tell two values apart.
    """
    contract = load_survey(survey)
    if as_json:
        show_json(survey_record(contract))
    else:
        _show_in_words(contract)


def survey_record(survey: Survey) -> dict[str, Any]:
    """Return everything that is said about a survey, ready for JSON."""
    from confide.explanations import explain_guarantee

    mechanism = survey.mechanism
    return {
        "name": survey.name,
        "title": survey.title,
        "alphabet": alphabet_record(survey.alphabet),
        "mechanism": {
            "kind": mechanism.kind,
            "epsilon": getattr(mechanism.guarantee, "epsilon", None),
            "description": repr(mechanism),
        },
        "reports": alphabet_record(mechanism.report_alphabet),
        "guarantee": str(mechanism.guarantee),
        "examples": explain_guarantee(survey),
        "survey": survey.record(),
    }


def describe_alphabet(alphabet: Alphabet) -> str:
    """Return the values of an alphabet in words.

    >>> from confide import Integers
    >>> describe_alphabet(Integers(0, 99, unit="year"))
    '100 whole numbers, 0 to 99, neighbours 1 year apart'
    """
    if isinstance(alphabet, Categories):
        listed = ", ".join(map(str, alphabet.values[:LONGEST_LIST]))
        return f"{alphabet.size:,} categories: {listed}{', ...' if alphabet.size > LONGEST_LIST else ''}"
    if isinstance(alphabet, BitVectors):
        words = "one whole number" if alphabet.parts == 1 else f"{alphabet.parts} whole numbers"
        return f"{alphabet.length:,} bits, one for each value, packed into {words}"
    if isinstance(alphabet, Pairs):
        return f"pairs; first {describe_alphabet(alphabet.first)}; second {describe_alphabet(alphabet.second)}"
    if isinstance(alphabet, LineAlphabet | PlaneAlphabet):
        return _describe_places(alphabet)
    return repr(alphabet)


def _describe_places(alphabet: LineAlphabet | PlaneAlphabet) -> str:
    from confide.wording import with_unit

    step = with_unit(alphabet.spacing, alphabet.unit)
    if isinstance(alphabet, Line | Plane):
        what = "any real number" if isinstance(alphabet, Line) else "any point, as real row and column"
        return f"{what}, counted in steps of {step}"
    return f"{_count_places(alphabet)}, neighbours {step} apart"


def _count_places(alphabet: LineAlphabet | PlaneAlphabet) -> str:
    if isinstance(alphabet, Grid):
        holes = f" with {counted(len(alphabet.holes), 'hole')}" if alphabet.holes else ""
        shape = f"{counted(alphabet.rows, 'row')} by {counted(alphabet.columns, 'column')}"
        return f"{counted(alphabet.size, 'cell')}, {shape}{holes}"
    if isinstance(alphabet, Integers) and alphabet.is_finite:
        first, last = alphabet.span
        return f"{counted(alphabet.size, 'whole number')}, {first} to {last}"
    return "any whole number" if isinstance(alphabet, Integers) else "any cell of an endless plane"


def _show_in_words(survey: Survey) -> None:
    from confide.explanations import describe_mechanism, explain_guarantee

    say(survey.title, style="bold")
    say()
    show_pairs(
        [
            ("Each person has", f"{survey.name}: {describe_alphabet(survey.alphabet)}"),
            ("Blurred by", describe_mechanism(survey)),
            ("Into a report", _describe_reports(survey)),
            ("Promise", str(survey.mechanism.guarantee)),
            *zip(("For example", "", ""), explain_guarantee(survey), strict=False),
        ]
    )


def _describe_reports(survey: Survey) -> str:
    reports = survey.mechanism.report_alphabet
    return "again one of these" if reports == survey.alphabet else describe_alphabet(reports)
