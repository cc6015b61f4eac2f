"""Texts as people type them, for every alphabet, and what they are taken for or why they are refused."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

import confide as cf
from confide.data.files.reading import find_fault
from confide.data.files.sheets import Request
from confide.surveys.survey import declaration_of, json_of
from vectors import surveys

Json = dict[str, Any]

MISSING = ["", " ", "\u00a0\t"]

WORDS = [
    *("Paris", "paris", " PARIS ", "Lyon", "lutetia", "Paname", "PANAME\u00a0", "Nice", "elsewhere", "\u200bParis"),
    *("don't know", "yes", "Yes", "no ", "NO", "\N{SNOWMAN}", "Saint-\u00c9tienne", "Saint-E\u0301tienne"),
    *("Stra\u00dfe", "STRASSE", "Stra\u1e9ee", "\u039f\u0394\u039f\u03a3", "\u03bf\u03b4\u03bf\u03c2", "\u0130zmir"),
    *(
        "izmir",
        "\ufb01n",
        "fin",
        "a  b",
        "a\u3000b",
        "A B",
        "yearly",
        "Never",
        "often",
        "7",
        "07",
        "+7",
        "12.0",
        "12.5",
    ),
    *("-7", "8", "1_2", "1e1", "seven", "NaN", "9" * 30, "0" + "9" * 30),
]

WHOLE = [
    *("0", "-0", "+5", "007", "18", "67", "68", "17", " 30 ", "30.", "30.0", "30.5", "3e1", "1_000", "1,000", "1 000"),
    *("thirty", "--3", "0x10", "nan", "inf", "\uff13", "-3", "3", "4", "9007199254740991", "9007199254740993"),
    *("1" + "0" * 40, "300", "299", "-100", "-101", "23", "24", "-1", "6", "11", "12"),
]

AMOUNTS = [
    *("0", "-0.0", "0.1", "0.3", "0.30000000000000004", "0.29999999999999999", "0.7", "1", "0.9999999999999999999"),
    *(
        "9.99",
        "10",
        "19.999999999999999999999",
        "20",
        "50",
        "99.99",
        "100",
        "250",
        "-1",
        "-0.0000001",
        "1e1",
        "1E+2",
        ".5",
    ),
    *(
        "5.",
        "+12.5",
        " 7 ",
        "1,200",
        "12,5",
        "1 200",
        "1'000",
        "1_000",
        "$5",
        "5 EUR",
        "5%",
        "nan",
        "inf",
        "-Infinity",
        "ten",
    ),
    *("1e999", "1e-999", "-1e999", "--1", "1.2.3", "1000", "999.999", "0.5", "0.49999999999999999999"),
]

WRITTEN = [
    *(
        "$58,000",
        "58,000",
        "$58000",
        "-$1,234.50",
        "$-1",
        "$ 20,000",
        "20000$",
        "19,999.99",
        "20,000.00",
        "0.7",
        "1,23,456",
    ),
    *(
        "58.000",
        "58.000,00 \u20ac",
        "58000,5\u20ac",
        "1.234",
        "12,5",
        "\u20ac 5",
        "1.23,5",
        "58\u00a0000",
        "58 000",
        "5 8000",
    ),
    *("58\u202f000", "58000", "58,00", "1 234 567", "1 234,5", "+$7", "$", "$,5", "$58k", "US$5", "$1,234.", "\ufeff5"),
    *(
        "0.8333333333333333",
        "0.8333333333333334",
        "0.83333333333333333333",
        "0.83333333333333333334",
        "4.1666666666666667",
    ),
]

MONEY = (
    cf.Bins(edges=[0, 20, 50, 100], above=True, unit="thousand", format="$1,234.56", scale=0.001),
    cf.Bins(edges=[0, 1000, 50000], format="1.234,56 \u20ac"),
    cf.Bins(0, 60000, 20000, format="1 234", below=True),
    cf.Bins(edges=[0, 10, 20, 50], scale=12),
)

DATES = [
    *("2026-03-01", "2026-12-31", "2027-01-01", "2025-12-31", "2026-02-29", "2026-02-30", "2024-02-29", "2026-3-1"),
    *("2026-03-01T22:15", "2026-03-01 22:15:59.5+01:00", "2026-03-01T22:15Z", "2026-03-01T24:00", "2026-03-01T22:60"),
    *(
        "2026-03",
        "2026-13",
        "2026-00",
        "2026-W09",
        "2026-W53",
        "2026-W54",
        "2026-W01",
        "2025-W53",
        "2026-Q1",
        "2026-Q5",
    ),
    *(
        "2026",
        "1990",
        "1989",
        "0000",
        "01/03/2026",
        "1 March 2026",
        "20260301",
        " 2026-03-01 ",
        "2026-03-01T",
        "2026-03-01x",
    ),
    *("2026-13-01", "2026-Q0", "2026-W00", "0000-Q1", "0001-W01", "9999", "9999-12", "9999-Q4", "9999-W52"),
    *("22:15", "T06:30", "06:30:00", "24:00", "23:59:60", "7:30", "22", "0", "23", "-1", "22.0", "22.5", "noon"),
    *(
        "Mon",
        "Monday",
        "mon",
        "MONDAY",
        " Sun ",
        "Sunday",
        "Funday",
        "2026-03-01T22:15+14:00",
        "2026-03-01T22:15+15:00",
    ),
]

CELLS = [
    ("0", "0"),
    ("0", "1"),
    ("3", "4"),
    ("4", "0"),
    (" 2 ", "2.0"),
    ("1", "3"),
    ("-1", "2"),
    ("1.5", "2"),
    ("a", "2"),
    ("", "2"),
]

DAMAGED = [
    "nan",
    "inf",
    "",
    "40.75N",
    "40\u00b045'",
    "40,75",
    "1e999",
    "--1",
    "0x10",
    "95",
    "200",
    "-73.98",
    "1_000",
    "\uff14\uff10",
]
"""Texts in place of a latitude."""

PEOPLE = [
    *(("3", "f", "0", "0"), ("3", "m", "1", "1"), ("5", "f", "0", "0"), ("3", "x", "0", "0"), ("3", "f", "0", "1")),
    *((" 3 ", "f", "1", "0"), ("", "f", "0", "0"), ("3", "f", "0", "a"), ("3.5", "x", "9", "9")),
]

FOLDED = cf.Categories(["Stra\u00dfe", "\u03bf\u03b4\u03bf\u03c2", "izmir", "fin", "a b", "yes"], fold=True)
ALIASED = cf.Scale(["never", "yearly", "often"], aliases={"never": ["not at all", "NO"]}, other="often")
WHOLE_WORDS = cf.Categories([7, 3, 12], aliases={"7": ["seven", "NaN"], "12": ["9" * 30]}, other=3)

PLACES: tuple[cf.Places | cf.Coordinates, ...] = (
    cf.Places(40.7044, -74.0205, 40.7942, -73.9374, rows=20, columns=14, holes=[(2, 1), (7, 3), (19, 2)]),
    cf.Places(40.7044, -74.0205, 40.7942, -73.9374, cell="500 m"),
    cf.Places(-33.95, 151.1, -33.8, 151.3, cell="1 km"),
    cf.Places(-0.05, -0.05, 0.05, 0.05, rows=3, columns=3, unit="m"),
    cf.Coordinates(40.7044, -74.0205, 40.7942, -73.9374),
    cf.Coordinates(centre=(-33.87, 151.21), radius="5 km", step="10 m"),
)


def groups() -> Iterator[tuple[cf.Alphabet, list[Json]]]:
    """Yield every alphabet with its texts."""
    for words in (
        surveys.WORDS,
        surveys.ANSWERS,
        surveys.NUMBERS,
        FOLDED,
        WHOLE_WORDS,
        surveys.SCALE,
        surveys.TIMES,
        ALIASED,
    ):
        yield words, cases(words, single(WORDS))
    for numbers in (surveys.AGES, surveys.BELOW_ZERO, surveys.ALL, surveys.LONG, surveys.CIRCLE):
        yield numbers, cases(numbers, single(WHOLE))
    for amounts in (surveys.EQUAL, surveys.UNEVEN, surveys.FAR, cf.Bins(edges=[0.1, 0.2, 0.3])):
        yield amounts, cases(amounts, single(AMOUNTS))
    for money in MONEY:
        yield money, cases(money, single([*AMOUNTS, *WRITTEN]))
    for dates in (
        surveys.DAYS,
        surveys.WEEKS,
        surveys.MONTHS,
        surveys.QUARTERS,
        surveys.YEARS,
        surveys.HOURS,
        surveys.WEEKDAYS,
    ):
        yield dates, cases(dates, single(DATES))
    for cells in (surveys.HOLED, surveys.SHIFTED, surveys.LATTICE):
        yield cells, cases(cells, CELLS)
    for places in PLACES:
        yield places, cases(places, points(places))
    yield surveys.PEOPLE, cases(surveys.PEOPLE, PEOPLE)


def single(texts: Iterable[str]) -> list[tuple[str, ...]]:
    return [(text,) for text in [*texts, *MISSING]]


def cases(alphabet: cf.Alphabet, texts: Iterable[tuple[str, ...]]) -> list[Json]:
    return [case(alphabet, fields) for fields in texts]


def case(alphabet: cf.Alphabet, fields: tuple[str, ...]) -> Json:
    """Return what is made of texts."""
    value = alphabet.read(fields) if all(text.strip() for text in fields) else None
    if value is None or not alphabet.contains(_as_array(alphabet, value))[0]:
        return {"texts": list(fields), "refused": str(find_fault(Request(alphabet, is_raw=True), fields))}
    taken = list(value) if isinstance(value, tuple) else value
    remark = alphabet.remark(fields)
    return {"texts": list(fields), "value": taken} | ({"remark": remark} if remark else {})


def _as_array(alphabet: cf.Alphabet, value: Any) -> Any:
    is_huge = isinstance(value, int) and abs(value) >= 2**63
    return np.array([value], dtype=object if isinstance(alphabet, cf.Attributes) or is_huge else None)


def points(alphabet: cf.Places | cf.Coordinates) -> list[tuple[str, ...]]:
    """Return texts of places: rims and a hair beside them, edges within, blanks and signs, what is none."""
    box = alphabet.bounds
    latitudes, longitudes = [box.south, box.north, box.middle[0]], [box.west, box.east, box.middle[1]]
    for share in (1 / 3, 0.1, 0.35, 0.999999):
        latitudes.append(box.south + share * box.tall)
        longitudes.append(box.west + share * box.wide)
    beside = [math.nextafter(value, end) for value in latitudes[:3] for end in (-90, 90)]
    across = [math.nextafter(value, end) for value in longitudes[:3] for end in (-180, 180)]
    found = [(repr(one), repr(other)) for one, other in zip(latitudes + beside, longitudes + across, strict=True)]
    found += [(repr(one), repr(longitudes[2])) for one in beside]
    latitude, longitude = found[5]
    found += [(f" {latitude} ", f"\t{longitude}"), (f"{float(latitude):+.17e}", longitude), (longitude, latitude)]
    return [*found, *((text, longitude) for text in DAMAGED)]


def declared(alphabet: cf.Alphabet) -> Json:
    """Return an alphabet as a document has it."""
    found: Json = json_of(declaration_of(alphabet))
    return found
