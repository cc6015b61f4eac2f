"""The survey as the TOML text that both ends read, and its fingerprint."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from typing import Any

import numpy as np

from confide.alphabets import Alphabet
from confide.mechanisms import Mechanism
from confide.surveys import ALPHABETS, Survey


def survey_text(survey: Survey, most_entries: int | None = None) -> str:
    """Return a survey as TOML; lists longer than `most_entries` are shortened, with a remark.

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
    return "\n".join(lines + _tables(survey, most_entries))


def fingerprint(survey: Survey) -> str:
    """Return a digest of the alphabet and the mechanism: what reports mean, whatever the survey is called.

    >>> from confide import RandomizedResponse, Categories
    >>> mechanism = RandomizedResponse(Categories(["yes", "no"]), 1.0)
    >>> fingerprint(Survey(mechanism, "answer")) == fingerprint(Survey(mechanism, "reply"))
    True
    """
    return hashlib.sha256("\n".join(_tables(survey, None)).encode()).hexdigest()[:16]


def _tables(survey: Survey, most: int | None) -> list[str]:
    return _table("alphabet", survey.alphabet, most) + _table("mechanism", survey.mechanism, most)


def _table(place: str, thing: Alphabet | Mechanism, most: int | None) -> list[str]:
    """Return an alphabet or a mechanism as a table, and below it those that it is made of."""
    settings = _settings(thing)
    inner = {name: value for name, value in settings.items() if isinstance(value, Alphabet | Mechanism)}
    plain = [f"{name} = {_toml(value, most)}" for name, value in settings.items() if name not in inner]
    lines = ["", f"[{place}]", f"kind = {_toml(_kind(thing))}", *plain]
    return lines + [line for name, value in inner.items() for line in _table(f"{place}.{name}", value, most)]


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


def _toml(value: object, most: int | None = None) -> str:
    if isinstance(value, np.ndarray):
        if most is None or value.size <= most:
            return json.dumps(value.tolist())
        return f"[]  # {value.shape[0]} rows of {value.shape[1]}, not shown"
    if isinstance(value, tuple):
        shown = ", ".join(_toml(one) for one in value[:most])
        more = 0 if most is None else len(value) - most
        return f"[{shown}]" + (f"  # and {more:,} more" if more > 0 else "")
    return json.dumps(value, ensure_ascii=False)
