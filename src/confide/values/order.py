"""The order of names: weeks and waves by value, others by letter."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import cast

from confide.values.checks import parse_real

Key = tuple[str, ...]
"""Name of a group: one text per column, empty if missing."""

NUMBERED = {
    word: str(number)
    for names in (
        "january february march april may june july august september october november december",
        "monday tuesday wednesday thursday friday saturday sunday",
    )
    for number, name in enumerate(names.split(), 1)
    for word in (name, name[:3])
}
"""Months and weekdays as numbers."""

Rank = tuple[float | str, ...]
"""Sort key of a text in a column: numbers by value, others by letter."""


def natural_order(keys: Iterable[Key]) -> list[Key]:
    """Sort groups naturally: numbers, dates and weeks by value, texts by letter.

    >>> natural_order([("Oslo", "week 10"), ("Oslo", "week 9")])
    [('Oslo', 'week 9'), ('Oslo', 'week 10')]
    """
    found = list(keys)
    ranks = [sequence(column) or {text: (text,) for text in column} for column in zip(*found, strict=True)]
    return sorted(found, key=lambda key: tuple(rank[text] for rank, text in zip(ranks, key, strict=True)))


def has_order(keys: Iterable[Key]) -> bool:
    """Whether three groups or more follow each other, such as weeks.

    >>> has_order([("2026-W10",), ("2026-W02",), ("2026-W07",)]), has_order([("Rome",), ("Oslo",), ("Bern",)])
    (True, False)
    """
    columns = list(zip(*keys, strict=True))
    return len(columns) == 1 and len(columns[0]) > 2 and sequence(columns[0]) is not None


def sequence(column: Sequence[str]) -> dict[str, Rank] | None:
    """Return sort keys of numbers, dates, weeks and numbered names.

    Return None for other texts.

    A group without a name comes first.

    >>> sequence(["wave 2", "wave 10"]), sequence(["Q2 2025", "Q1 2026"])
    ({'wave 2': (2.0,), 'wave 10': (10.0,)}, {'Q2 2025': (2025.0, 2.0), 'Q1 2026': (2026.0, 1.0)})
    >>> sequence(["Monday", "Friday"]), sequence(["Oslo", "Rome"])
    ({'Monday': (1.0,), 'Friday': (5.0,)}, None)
    """
    texts = [text for text in dict.fromkeys(column) if text]
    if texts and all(parse_real(text) is not None for text in texts):
        return {text: (cast("float", parse_real(text)) if text else -math.inf,) for text in column}
    # Replace names of months and weekdays by numbers.
    words = {text: re.split("([a-z]+)", text.lower()) for text in texts}
    numbered = {text: "".join(NUMBERED.get(word, word) for word in parts) for text, parts in words.items()}
    numbers = {text: [float(run) for run in re.findall("[0-9]+", shown)] for text, shown in numbered.items()}
    heads = {re.split("[0-9]", shown, maxsplit=1)[0] for shown in numbered.values()}
    if not texts or len(heads) > 1 or not all(numbers.values()):
        return None
    # Years come first: a quarter or a day may precede its year. Days precede months, except in America.
    is_american = any(len(runs) == 3 and 1900 <= runs[2] < 2200 and runs[1] > 12 for runs in numbers.values())
    ranks: dict[str, Rank] = {"": (-math.inf,)} if "" in column else {}
    for text, runs in numbers.items():
        has_year_last = len(runs) > 1 and 1900 <= runs[-1] < 2200 and not 1900 <= runs[0] < 2200
        before = runs[:-1] if is_american else runs[-2::-1]
        ranks[text] = (runs[-1], *before) if has_year_last else tuple(runs)
    return ranks
