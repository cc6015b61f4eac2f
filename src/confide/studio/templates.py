"""Templates of surveys to begin with, and bundled datasets as the studio lists them."""

from __future__ import annotations

from functools import cache
from typing import Any

from confide import datasets
from confide.declarations import declaration_of, json_of


def _template(  # noqa: PLR0913, PLR0917 - a template is all of it
    name: str, words: str, survey: dict[str, Any], epsilon: float, people: int, guess: str, target: float
) -> dict[str, Any]:
    draft = {"survey": survey, "epsilon": epsilon, "people": people, "guess": guess}
    return {"name": name, "words": words, "draft": draft, "target": target}


TEMPLATES = [
    _template(
        "ages",
        "How old people are, in years",
        {
            "name": "age",
            "title": "How old are you?",
            "alphabet": {"kind": "integers", "low": 0, "high": 99, "unit": "year"},
        },
        0.05,
        100_000,
        "adult_ages",
        0.5,
    ),
    _template(
        "ranges",
        "A number in ranges that need not be even, as forms have them",
        {
            "name": "age",
            "title": "How old are you?",
            "alphabet": {"kind": "bins", "edges": [0, 18, 30, 45, 65, 90], "unit": "year"},
        },
        0.05,
        20_000,
        "peaked",
        0.5,
    ),
    _template(
        "scale",
        "A mark from 0 to 10",
        {
            "name": "mark",
            "title": "How content are you with your life, from 0 to 10?",
            "alphabet": {"kind": "integers", "low": 0, "high": 10, "unit": "point"},
        },
        0.5,
        20_000,
        "peaked",
        0.05,
    ),
    _template(
        "categories",
        "One of a few answers",
        {
            "name": "way",
            "title": "How do you get to work?",
            "alphabet": {"kind": "categories", "values": ["on foot", "bicycle", "bus", "train", "car", "not at all"]},
        },
        2.0,
        10_000,
        "falling",
        0.02,
    ),
    _template(
        "several questions",
        "Two questions or more, each with answers of its own",
        {
            "name": "answer",
            "title": "How old are you, and where do you live?",
            "alphabet": {
                "kind": "attributes",
                "names": ["age", "region"],
                "alphabets": [
                    {"kind": "bins", "edges": [0, 18, 30, 45, 65, 90], "unit": "year"},
                    {"kind": "categories", "values": ["north", "east", "south", "west"]},
                ],
            },
        },
        3.0,
        20_000,
        "peaked",
        0.02,
    ),
    _template(
        "places",
        "Where people are, on a map of cells",
        {
            "name": "place",
            "title": "Where in Manhattan are you?",
            "alphabet": {"kind": "grid", "rows": 20, "columns": 14, "spacing": 0.5, "unit": "km"},
        },
        1.0,
        50_000,
        "manhattan",
        0.2,
    ),
    _template(
        "homes",
        "Where people live, by latitude and longitude",
        {
            "name": "home",
            "title": "Where do you live?",
            "alphabet": {
                "kind": "places",
                "south": 40.7044,
                "west": -74.0205,
                "north": 40.7942,
                "east": -73.9374,
                "cell": "1 km",
            },
        },
        1.0,
        50_000,
        "two humps",
        0.1,
    ),
    _template(
        "lab procedures",
        "How many lab procedures patients had",
        {
            "name": "procedures",
            "title": "How many lab procedures did you have?",
            "alphabet": json_of(declaration_of(datasets.lab_procedures().alphabet)),
        },
        0.05,
        50_000,
        "lab_procedures",
        0.5,
    ),
]
"""Surveys to begin with: who is asked, how many, what the truth may look like, and how far off the answer may be.

The target is a distance from the truth in the values' unit, or a share where they have none; epsilon and people of a
template meet it on the average of the made-up surveys of a plan (tests/studio/test_answers.py holds them to it).
"""


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
