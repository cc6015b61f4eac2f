"""Vectors of places: what every client must make of the same texts. Other languages read vectors/places.json.

After a change that is meant, write them anew:

    python tests/test_place_vectors.py > vectors/places.json
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import confide as cf
from confide.data.files.reading import find_fault
from confide.data.files.sheets import Request

FILE = Path(__file__).parent.parent / "vectors" / "places.json"

ALPHABETS: tuple[cf.Places | cf.Coordinates, ...] = (
    cf.Places(40.7044, -74.0205, 40.7942, -73.9374, rows=20, columns=14, holes=[(2, 1), (7, 3), (19, 2)]),
    cf.Places(40.7044, -74.0205, 40.7942, -73.9374, cell="500 m"),
    cf.Places(-33.95, 151.1, -33.8, 151.3, cell="1 km"),
    cf.Places(-0.05, -0.05, 0.05, 0.05, rows=3, columns=3, unit="m"),
    cf.Coordinates(40.7044, -74.0205, 40.7942, -73.9374),
    cf.Coordinates(centre=(-33.87, 151.21), radius="5 km", step="10 m"),
)

DAMAGED = [
    "nan",
    "inf",
    "",
    "40.75N",
    "40°45'",
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


def texts(alphabet: cf.Places | cf.Coordinates) -> list[tuple[str, str]]:
    """Return texts of places: rims and a hair beside them, edges within, blanks and signs, what is none."""
    box = alphabet.bounds
    latitudes, longitudes = [box.south, box.north, box.middle[0]], [box.west, box.east, box.middle[1]]
    for share in (1 / 3, 0.1, 0.35, 0.999999):
        latitudes.append(box.south + share * box.tall)
        longitudes.append(box.west + share * box.wide)
    beside = [math.nextafter(value, end) for value in latitudes[:3] for end in (-90, 90)]
    across = [math.nextafter(value, end) for value in longitudes[:3] for end in (-180, 180)]
    points = [(repr(one), repr(other)) for one, other in zip(latitudes + beside, longitudes + across, strict=True)]
    points += [(repr(one), repr(longitudes[2])) for one in beside]
    latitude, longitude = points[5]
    points += [(f" {latitude} ", f"\t{longitude}"), (f"{float(latitude):+.17e}", longitude), (longitude, latitude)]
    return points + [(text, longitude) for text in DAMAGED]


def vectors() -> dict[str, Any]:
    """Return all vectors."""
    return {"places": [_vector(one) for one in ALPHABETS]}


def _vector(alphabet: cf.Places | cf.Coordinates) -> dict[str, Any]:
    mechanism = cf.PlanarLaplace(alphabet, 1.0) if isinstance(alphabet, cf.Coordinates) else cf.Taxicab(alphabet, 0.001)
    survey = cf.Survey(mechanism, "home").record()
    return {"alphabet": survey["alphabet"], "cases": [_case(alphabet, text) for text in texts(alphabet)]}


def _case(alphabet: cf.Places | cf.Coordinates, fields: tuple[str, str]) -> dict[str, Any]:
    request = Request(alphabet, is_raw=True)
    value = alphabet.read(fields)
    if value is None or not alphabet.contains(alphabet.as_array([value]))[0]:
        return {"texts": list(fields), "value": None, "reason": str(find_fault(request, fields))}
    case: dict[str, Any] = {"texts": list(fields), "value": list(value)}  # type: ignore[arg-type]
    if isinstance(alphabet, cf.Coordinates):  # what is reported where the noise is (3, -2)
        moved = alphabet.fine.moved(alphabet.as_array([value]), alphabet.as_array([(3, -2)]))
        case["report_after_3_and_minus_2"] = moved[0].tolist()
    return case


def test_vectors_are_what_python_gives() -> None:
    assert json.loads(FILE.read_text(encoding="utf-8")) == json.loads(json.dumps(vectors()))


def test_vectors_hold_every_reason_and_both_sides_of_every_rim() -> None:
    cases = [case for one in vectors()["places"] for case in one["cases"]]
    reasons = {case.get("reason") for case in cases}
    wanted = {"missing", "not decimal degrees", "no latitude and longitude", "latitude and longitude swapped"}
    assert wanted | {"outside the alphabet", None} == reasons
    assert sum(case["value"] is not None for case in cases) > 60


if __name__ == "__main__":
    print(json.dumps(vectors(), indent=1, ensure_ascii=False))
