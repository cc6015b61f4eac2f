"""The survey as the TOML text that both ends read."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import numpy as np

from confide.alphabets import Alphabet
from confide.mechanisms import Mechanism
from confide.surveys import ALPHABETS, Survey

MOST_ENTRIES = 40
"""Longer lists are shown in part; the survey file itself has the rest."""


def survey_text(survey: Survey) -> str:
    """Return a survey as TOML; lists that are too long to read are shortened, with a remark.

    >>> from confide import RandomizedResponse, Categories
    >>> print(survey_text(Survey(RandomizedResponse(Categories(["yes", "no"]), 1.0), "answer", "A question")))
    name = "answer"
    title = "A question"
    <BLANKLINE>
    [alphabet]
    kind = "categories"
    values = ["yes", "no"]
    <BLANKLINE>
    [mechanism]
    kind = "randomized-response"
    epsilon = 1.0
    """
    lines = [f"name = {_toml(survey.name)}", f"title = {_toml(survey.title)}"]
    lines += _table("alphabet", survey.alphabet) + _table("mechanism", survey.mechanism)
    return "\n".join(lines)


def _table(place: str, thing: Alphabet | Mechanism) -> list[str]:
    """Return an alphabet or a mechanism as a table, and below it those that it is made of."""
    settings = _settings(thing)
    inner = {name: value for name, value in settings.items() if isinstance(value, Alphabet | Mechanism)}
    plain = [f"{name} = {_toml(value)}" for name, value in settings.items() if name not in inner]
    lines = ["", f"[{place}]", f"kind = {_toml(_kind(thing))}", *plain]
    return lines + [line for name, value in inner.items() for line in _table(f"{place}.{name}", value)]


def _kind(thing: Alphabet | Mechanism) -> str:
    if isinstance(thing, Mechanism):
        return thing.kind
    return next((name for name, build in ALPHABETS.items() if build is type(thing)), type(thing).__name__)


def _settings(thing: Alphabet | Mechanism) -> dict[str, Any]:
    """Return the fields of a frozen value that differ from what they are when left out.

    A mechanism's own alphabet is left out too, for it stands in a table of its own, and so is a promise, which no
    survey holds: it was checked when the mechanism was made.
    """
    settings = {field.name: (getattr(thing, field.name), field.default) for field in fields(thing)}  # type: ignore[arg-type]
    return {
        name: value
        for name, (value, default) in settings.items()
        if name not in ("alphabet", "promise") and (isinstance(value, np.ndarray) or value != default)
    }


def _toml(value: object) -> str:
    if isinstance(value, np.ndarray):
        rows = value.tolist() if value.size <= MOST_ENTRIES else None
        return json.dumps(rows) if rows is not None else f"[]  # {value.shape[0]} rows of {value.shape[1]}, not shown"
    if isinstance(value, tuple):
        shown = ", ".join(map(_toml, value[:MOST_ENTRIES]))
        more = len(value) - MOST_ENTRIES
        return f"[{shown}]" + (f"  # and {more:,} more" if more > 0 else "")
    return json.dumps(value, ensure_ascii=False)
