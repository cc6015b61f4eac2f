"""Words that every layer needs: counts, units, labels, digests."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal


class Shown:
    """A result with a plot, a data frame and a notebook view."""

    def _repr_html_(self) -> str | None:
        shown: str | None = _results().show_in_notebook(self)
        return shown

    def plot(self, ax: Any = None) -> Any:
        """Draw the result into matplotlib axes, and return them.

        `ax`: optional axes to draw into. Default: a new figure.
        """
        return _results().plot(self, ax)

    def to_frame(self, backend: Literal["pandas", "polars"] = "pandas") -> Any:
        """Return the result as a data frame of pandas or polars."""
        return _results().to_frame(self, backend)

    def save(self, path: str | Path) -> None:
        """Write the result to a new .html, .json, .csv or .svg file.

        The ending names the format: the page, what ``--json`` prints, the data frame, or the plot.
        """
        _results().save(self, path)


def _results() -> Any:
    # Imported by name when asked for: what computes does not import what shows.
    return importlib.import_module("confide.present.results")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, plural unless it is 1.

    >>> counted(1, "value"), counted(1200, "report"), counted(2, "category"), counted(0, "person")
    ('1 value', '1,200 reports', '2 categories', '0 people')
    """
    return f"{number:,} {noun if number == 1 else _several(noun)}"


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence.

    >>> listed(["one"]), listed(["one", "two", "three"])
    ('one', 'one, two and three')
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def all_of(number: int) -> str:
    """Return a number of things as all that there are.

    >>> all_of(2), all_of(3), all_of(12)
    ('both', 'all three', 'all 12')
    """
    return "both" if number == 2 else f"all {dict(enumerate(('three', 'four', 'five', 'six'), 3)).get(number, number)}"


def name_some(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are.

    >>> name_some(["a.txt", "b.txt"])
    'a.txt, b.txt'
    """
    return ", ".join([*names[:5], *([f"and {len(names) - 5:,} more"] if len(names) > 5 else [])])


def suggestion(word: object, known: Iterable[str]) -> str:
    """Return a question whether a near word was meant, or nothing.

    >>> suggestion("lown", ["low", "high"]), suggestion("x", ["low", "high"])
    (" (did you mean 'low'?)", '')
    """
    import difflib  # only where something is refused

    close = difflib.get_close_matches(str(word), list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def plural(unit: str) -> str:
    """Return the plural of a unit; symbols such as km stay unchanged.

    >>> plural("year"), plural("km"), plural("inch"), plural("thousand")
    ('years', 'km', 'inches', 'thousand')
    """
    is_word = unit.isalpha() and unit.islower() and len(unit) > 2 and any(vowel in unit for vowel in "aeiou")
    is_same = unit.endswith("s") or unit in ("thousand", "million", "billion", "dozen", "hertz")
    return _several(unit) if is_word and not is_same else unit


def with_unit(amount: float, unit: str) -> str:
    """Return an amount with its unit, plural unless it is 1.

    >>> with_unit(0.5234, "year"), with_unit(1, "year"), with_unit(2.5, "km"), with_unit(3, "")
    ('0.523 years', '1 year', '2.5 km', '3')
    """
    number = f"{amount:,.3g}" if abs(amount) < 1000 else f"{amount:,.0f}"
    return f"{number} {unit if number == '1' else plural(unit)}".rstrip()


def rate_per_unit(rate: float, unit: str) -> str:
    """Return a rate in as many units as make it readable.

    >>> rate_per_unit(0.05, "year"), rate_per_unit(0.00003, "dollar"), rate_per_unit(0.002, "m")
    ('0.05 per year', '0.3 per 10,000 dollars', '0.2 per 100 m')
    >>> rate_per_unit(1.0, "")
    '1 per unit of distance'
    """
    # A rate of 0.01 or more reads well as it is; a smaller one becomes a number from 0.1 to 1.
    # The exponent is read from the digits: a logarithm may differ between machines.
    power = 0 if rate >= 0.01 or rate <= 0 else -int(f"{rate:e}".split("e")[1]) - 1
    name = unit or "unit of distance"
    # Of "unit of distance" the first word has the plural.
    first, *rest = name.split(" of ")
    many = " of ".join([plural(first), *rest])
    return f"{rate * 10**power:.4g} per {f'{10**power:,} {many}' if power else name}"


def told_at_edges(noun: str, cell: str, step: float, unit: str, farthest: float | None = None) -> str:
    """Explain what cells or bins do to a promise per distance.

    `step` is the distance between neighbours, `farthest` between those that touch at a corner.

    >>> told_at_edges("amount", "bin", 10, "thousand").split(". ")[1]
    'Two people in one bin cannot be distinguished at all'
    """
    most = with_unit(step if farthest is None else farthest, unit)
    corner = "" if farthest is None else f" (at a corner {most})"
    things = _several(noun)
    return (
        f"Two {things} on either side of an edge count as a whole {cell}, {with_unit(step, unit)}, apart{corner}, "
        f"even if they are close. Two people in one {cell} cannot be distinguished at all. At worst, two {things} d "
        f"apart count as d + {most} apart."
    )


def label_value(value: object) -> str:
    """Return one value as a label, without quotation marks.

    >>> label_value(13), label_value((30, "f"))
    ('13', '(30, f)')
    """
    return f"({', '.join(map(str, value))})" if isinstance(value, tuple | list) else str(value)


def quote_value(value: object) -> str:
    """Return a value for a sentence: texts in quotes, long ones shortened.

    >>> print(quote_value("yes"), quote_value((30, "f")), quote_value("a" * 99))
    "yes" (30, "f") "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…"
    """
    if isinstance(value, tuple):
        return f"({', '.join(map(quote_value, value))})"
    if not isinstance(value, str):
        return str(value)
    text = " ".join(value.split())
    # A line of eighty letters still holds two of forty.
    return f'"{text}"' if len(text) <= 40 else f'"{text[:39]}…"'


def digest(*parts: str | bytes) -> str:
    """Return the first 16 hexadecimal digits of the texts' SHA-256.

    >>> digest("confide"), digest("con", b"fide")
    ('f6b004418a328d4d', 'f6b004418a328d4d')
    """
    found = hashlib.sha256()
    for part in parts:
        found.update(part.encode() if isinstance(part, str) else part)
    return found.hexdigest()[:16]  # 64 bits: two of a million surveys coincide with a chance of 3e-8


def _several(word: str) -> str:
    irregular = {"person": "people", "index": "indices"}
    if word in irregular:
        return irregular[word]
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("ch", "sh", "x", "z", "s")) else "s")
