"""Drafts of surveys: read strictly from what a page sends, and as surveys, values and code."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from confide.data import datasets
from confide.data.files.records import alphabet_record
from confide.errors import ConfideError, InvalidParameterError, TooLargeError
from confide.plans import Guess, as_guess
from confide.plans.guesses import family_of
from confide.plans.simulations import usual_mechanism
from confide.solve.methods import METHODS
from confide.surveys.declarations import declaration_of, json_of
from confide.surveys.survey import Survey, build_survey, refuse_files
from confide.values import Alphabet, Bins, RingGeometry
from confide.values.checks import check_choice
from confide.values.limits import MOST_PEOPLE
from confide.values.wording import with_unit

MOST_VALUES = 10_000
"""Values of a draft: more bars or cells than a screen has room for."""

KEYS = {"survey", "mechanism", "epsilon", "people", "guess"}
SURVEY_KEYS = ("name", "title", "alphabet", "groups", "limits", "shape")

KEPT = 32
"""Drafts that a process remembers: while a slider moves, all but epsilon stays."""


@dataclass(frozen=True)
class Draft:
    """A survey that is being designed, how many people will answer it, and what the truth may look like."""

    survey: Survey
    people: int
    guess: str

    @property
    def alphabet(self) -> Alphabet:
        """The values."""
        return self.survey.alphabet

    @cached_property
    def truth(self) -> Guess:
        """What the truth is taken to be."""
        return as_guess(self.guess, self.survey.mechanism, self.survey.name)


def read_draft(draft: Any) -> Draft:
    """Return a draft from JSON, or say what is wrong with it."""
    if not isinstance(draft, Mapping) or not draft.keys() <= KEYS or not isinstance(draft.get("survey"), Mapping):
        raise InvalidParameterError(f"A draft has the keys {', '.join(sorted(KEYS))}, and a survey among them.")
    return _build(json.dumps(draft, sort_keys=True))


@lru_cache(KEPT)
def _build(text: str) -> Draft:
    draft = json.loads(text)
    people, epsilon, guess = draft.get("people"), draft.get("epsilon"), draft.get("guess")
    if type(people) is not int or not 1 <= people <= MOST_PEOPLE:
        raise InvalidParameterError(f"people must be a whole number from 1 to {MOST_PEOPLE:,}; got {_shown(people)}.")
    if type(epsilon) not in (int, float) or not math.isfinite(epsilon) or epsilon <= 0:
        raise InvalidParameterError(f"epsilon must be a number above 0; got {_shown(epsilon)}.")
    document = {key: value for key, value in draft["survey"].items() if key in SURVEY_KEYS}
    if strange := next((key for key in draft["survey"] if key not in SURVEY_KEYS), None):
        raise InvalidParameterError(f"A draft's survey has the unknown key {_shown(strange)}.")
    refuse_files(document)
    kind = draft.get("mechanism") or _usual(json.dumps(document.get("alphabet"), sort_keys=True))
    survey = build_survey(document | {"mechanism": {"kind": kind, "epsilon": float(epsilon)}})
    _require_drawable(survey.alphabet)
    if guess is not None and not is_guess(guess):
        raise InvalidParameterError(f"There is no guess {_shown(guess)}. Choose one of those that are listed.")
    return Draft(survey, people, guess or family_of(survey.mechanism)[0].name)


@lru_cache(KEPT)
def _usual(alphabet: str) -> str:
    """Return the kind of mechanism that suits values best."""
    table = {"alphabet": json.loads(alphabet), "mechanism": {"kind": "randomized-response", "epsilon": 1.0}}
    values = build_survey(table).alphabet
    _require_drawable(values)
    return usual_mechanism(values, 1.0).kind


def _require_drawable(alphabet: Alphabet) -> None:
    if not alphabet.is_finite:
        raise InvalidParameterError("The studio draws values that have an end. Say between which they lie.")
    if alphabet.size > MOST_VALUES:
        raise TooLargeError(
            f"The studio draws at most {MOST_VALUES:,} values; these are {alphabet.size:,}. Make them coarser, or "
            f"write the survey with confide init and use the command line, which takes millions."
        )


def is_guess(guess: object) -> bool:
    """Whether this names a bundled dataset or a shape: a file's name, which would be one of this machine, does not."""
    from confide.plans import SHAPES

    return isinstance(guess, str) and guess in (*SHAPES, *datasets.names())


@lru_cache(KEPT)
def guesses_of(survey: Survey) -> list[dict[str, str]]:
    """Return what the truth of a survey may look like: bundled datasets of such values, then shapes."""
    found = []
    for name in datasets.names():
        try:
            as_guess(name, survey.mechanism, survey.name)
        except ConfideError:
            continue
        found.append({"name": name, "title": datasets.load(name).title})
    return found + [{"name": one.name, "title": one.name.capitalize()} for one in family_of(survey.mechanism)]


def values_record(alphabet: Alphabet) -> dict[str, Any]:
    """Return how values lie and are called, as a page draws them."""
    known = alphabet_record(alphabet)
    return {
        "kind": known["kind"],
        "size": alphabet.size,
        "unit": alphabet.unit or None,
        "labels": labels_of(alphabet),
        "positions": _positions(alphabet),
        "plane": _plane(alphabet),
    }


def labels_of(alphabet: Alphabet, places: Sequence[int] | None = None) -> list[str]:
    """Return what values are called; of several attributes without the brackets that mark them as one value.

    >>> from confide import Attributes, Categories
    >>> labels_of(Attributes(sex=Categories(["f", "m"]), old=Categories(["yes", "no"])), [1])
    ['f, no']
    """
    found = alphabet.labels(places)
    return [one[1:-1] for one in found] if alphabet.attributes is not None else list(found)


def _positions(alphabet: Alphabet) -> list[float] | None:
    if isinstance(alphabet, Bins):
        return [float(one) for one in alphabet.middles]
    if alphabet.geometry.dimensions == 1 or isinstance(alphabet.geometry, RingGeometry):
        if alphabet.positions is not None:
            return [float(one) for one in alphabet.positions]
        found: list[float] = alphabet.coordinates[:, 0].tolist()
        return found
    return None


def _plane(alphabet: Alphabet) -> dict[str, Any] | None:
    if alphabet.grid is None:
        return None
    cells = np.asarray(alphabet.coordinates) - (alphabet.grid.first_row, alphabet.grid.first_column)
    degrees = None
    if alphabet.bounds is not None:
        degrees = {side: float(getattr(alphabet.bounds, side)) for side in ("south", "north", "west", "east")}
    return {
        "rows": alphabet.grid.rows,
        "columns": alphabet.grid.columns,
        "cells": cells.astype(int).tolist(),
        "degrees": degrees,
        "spacing": float(alphabet.spacing),
    }


def python_text(text: str) -> str:
    r"""Return a text as Python source: over several lines where nothing in it needs an escape.

    >>> print(python_text("a\nb"))
    '''
    a
    b
    '''
    >>> python_text("it's\\")
    '"it\'s\\\\"'
    """
    is_plain = text.isprintable() or all(line.isprintable() for line in text.split("\n"))
    return f"'''\n{text.strip()}\n'''" if is_plain and "\\" not in text and "'''" not in text else repr(text)


def distance_words(amount: float, unit: str) -> str:
    """Return a distance as people say it: in metres below a kilometre.

    >>> distance_words(0.1012, "km"), distance_words(3.02, "km"), distance_words(0.364, "year")
    ('101 m', '3.02 km', '0.364 years')
    """
    return with_unit(1000 * amount, "m") if unit == "km" and amount < 0.9995 else with_unit(amount, unit)


def _shown(value: object) -> str:
    text = repr(value[:60] if isinstance(value, str | list) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."


MOST_QUERIES = 20
"""Questions at a time."""

LONGEST_QUERY = 1000
"""Characters of a question."""


def chosen_queries(queries: object) -> list[str]:
    """Return questions, each once."""
    if not isinstance(queries, list) or len(queries) > MOST_QUERIES or not all(isinstance(one, str) for one in queries):
        raise InvalidParameterError(f"queries must be a list of at most {MOST_QUERIES} questions, such as age >= 65.")
    longest = max(map(len, queries), default=0)
    if longest > LONGEST_QUERY:
        raise InvalidParameterError(f"A question has at most {LONGEST_QUERY:,} characters; this one has {longest:,}.")
    return list(dict.fromkeys(queries))


def chosen_methods(names: object) -> list[str]:
    """Return methods by their names on the command line, each once."""
    if not isinstance(names, list) or len(names) > len(METHODS):
        raise InvalidParameterError(f"methods must be a list of {', '.join(METHODS)}.")
    for name in names:
        check_choice("methods", name, tuple(METHODS))
    return list(dict.fromkeys(names))


@cache
def templates() -> list[dict[str, Any]]:
    """Return surveys to begin with."""
    found: list[dict[str, Any]] = tomllib.loads(
        files("confide").joinpath("studio", "templates.toml").read_text(encoding="utf-8")
    )["template"]
    return found


@cache
def dataset_records() -> list[dict[str, Any]]:
    """Return all bundled datasets, with their values and where they come from."""
    found = [datasets.load(name) for name in datasets.names()]
    return [
        {
            "name": one.name,
            "title": one.title,
            "people": one.total,
            "alphabet": json_of(declaration_of(one.alphabet)),
            "credit": one.citation,
        }
        for one in found
    ]
