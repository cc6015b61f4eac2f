"""The survey as the TOML text that both ends read."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from confide.alphabets import Alphabet
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
    mechanism = survey.mechanism
    outputs = getattr(mechanism, "outputs", None)
    lines = [f"name = {_toml(survey.name)}", f"title = {_toml(survey.title)}"]
    lines += ["", "[alphabet]", *_alphabet_lines(survey.alphabet)]
    lines += ["", "[mechanism]", f"kind = {_toml(mechanism.kind)}", *_setting_lines(mechanism)]
    if isinstance(outputs, Alphabet):
        lines += ["", "[mechanism.outputs]", *_alphabet_lines(outputs)]
    return "\n".join(lines)


def _alphabet_lines(alphabet: Alphabet) -> list[str]:
    kind = next((name for name, build in ALPHABETS.items() if build is type(alphabet)), type(alphabet).__name__)
    return [f"kind = {_toml(kind)}", *_setting_lines(alphabet)]


def _setting_lines(thing: Any) -> list[str]:
    """Return the fields of a frozen value that are settings of its own, not alphabets."""
    settings = {field.name: getattr(thing, field.name) for field in fields(thing)} if is_dataclass(thing) else {}
    return [
        f"{name} = {_toml(value)}"
        for name, value in settings.items()
        if not (isinstance(value, Alphabet) or value is None or (isinstance(value, str) and not value))
    ]


def _toml(value: object) -> str:
    if isinstance(value, np.ndarray):
        rows = value.tolist() if value.size <= MOST_ENTRIES else None
        return json.dumps(rows) if rows is not None else f"[]  # {value.shape[0]} rows of {value.shape[1]}, not shown"
    if isinstance(value, tuple):
        shown = ", ".join(map(_toml, value[:MOST_ENTRIES]))
        more = len(value) - MOST_ENTRIES
        return f"[{shown}]" + (f"  # and {more:,} more" if more > 0 else "")
    return json.dumps(value, ensure_ascii=False)
