"""The same survey in another unit is the same survey: metres for kilometres, steps of 2.5 for steps of 1.

Whatever a survey draws, promises, tells or finds is compared. A unit that is forgotten in one place shows there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import confide as cf
from confide.cli.main import app

NEW_YORK = (40.7044, -74.0205, 40.7942, -73.9374)
QUITO = (-0.3, -78.6, 0.1, -78.3)
SYDNEY = (-33.95, 151.1, -33.8, 151.3)
BOXES = {"north-west": NEW_YORK, "across the equator": QUITO, "south-east": SYDNEY}
POINTS = np.array([(0.5, 0.5), (0.25, 0.75), (0.9, 0.1)])

KINDS: dict[str, Callable[[tuple[float, ...], str], Any]] = {
    "places": lambda box, unit: cf.Places(*box, cell="2 km", unit=unit),
    "places of another size": lambda box, unit: cf.Places(*box, cell="1500 m", unit=unit),
    "coordinates": lambda box, unit: cf.Coordinates(*box, unit=unit),
    "coordinates of ten metres": lambda box, unit: cf.Coordinates(*box, step="10 m", unit=unit),
}


def in_metres(words: str) -> str:
    """Return a sentence with its lengths in whole metres, and its epsilon per kilometre."""
    # 0.1 per 100 m is 0.001 per m, which is 1 per km.
    rates = re.sub(
        r"([\d.]+) per (?:([\d,]+) )?(km|m)\b",
        lambda found: (
            f"{float(found[1]) / float((found[2] or '1').replace(',', '')) * (1000 if found[3] == 'm' else 1):.4g}"
        ),
        words,
    )
    return re.sub(
        r"([\d.,]*\d) (km|m)\b",
        lambda found: f"{float(found[1].replace(',', '')) * (1000 if found[2] == 'km' else 1):.3g} metres",
        rates,
    )


def told(survey: cf.Survey, folder: Path) -> dict[str, Any]:
    (folder / "survey.toml").write_text(survey.text())
    ending = CliRunner().invoke(app, ["show", str(folder / "survey.toml"), "--json"])
    record: dict[str, Any] = json.loads(ending.output)
    return {name: in_metres(json.dumps(record[name])) for name in ("examples", "fine_print", "repetition")}


@pytest.mark.parametrize("place", BOXES)
@pytest.mark.parametrize("kind", KINDS)
def test_metres_say_what_kilometres_say(kind: str, place: str, tmp_path: Path) -> None:
    south, west, north, east = BOXES[place]
    values = (south, west) + POINTS * (north - south, east - west)
    found = []
    for unit, epsilon in (("km", 1.0), ("m", 0.001)):
        alphabet: Any = KINDS[kind](BOXES[place], unit)
        mechanism = cf.PlanarLaplace(alphabet, epsilon)
        taken = alphabet.take(values)
        bounds = [mechanism.guarantee.bound(tuple(taken[0]), tuple(other)) for other in taken[1:].tolist()]
        found.append(
            {
                "values": taken.tolist(),
                "from a file": [list(alphabet.read([repr(float(one)) for one in point])) for point in values],
                "reports": mechanism.privatize(values, rng=7).tolist(),
                "bounds": [f"{bound:.9g}" for bound in bounds],
                "given away": f"{alphabet.given_away:.9g}",
            }
            | told(cf.Survey(mechanism, "home", "Homes"), tmp_path)
        )
    assert found[0] == found[1]
    assert found[0]["values"] == found[0]["from a file"]


STEPS = 2.5
LINES: dict[str, Callable[[float], Any]] = {
    "numbers": lambda spacing: cf.Integers(3, 22, spacing=spacing),
    "words": lambda spacing: cf.Scale(["never", "rarely", "often", "daily"], spacing=spacing),
    "words at equal places": lambda spacing: cf.Scale(["low", "mid", "high"], positions=[0, spacing, 2 * spacing]),
    "words at places": lambda spacing: cf.Scale(
        ["never", "rarely", "often"], positions=[0.0, 1.0 * spacing, 4.0 * spacing]
    ),
}
NOISE = [cf.TruncatedGeometric, cf.TruncatedLaplace, cf.Exponential]
# Noise that counts steps needs equal ones.
CASES = [(kind, make) for kind in LINES for make in NOISE if kind != "words at places" or make is cf.Exponential]


@pytest.mark.parametrize(("kind", "make"), CASES, ids=lambda one: getattr(one, "kind", one))
def test_steps_of_another_width_scale_distances_and_nothing_else(kind: str, make: Any) -> None:
    narrow, wide = LINES[kind](1.0), LINES[kind](STEPS)
    people = np.arange(400) % narrow.size % 7
    values, shares = narrow.decode(people), np.bincount(people, minlength=narrow.size) / people.size
    found = []
    for alphabet, epsilon in ((narrow, 1.0), (wide, 1.0 / STEPS)):
        mechanism = make(alphabet, epsilon)
        counts = cf.tally(mechanism.privatize(values, rng=3, taken=True))
        found.append((counts, cf.assess(counts, mechanism, cf.Stacked(), truth=shares)))
    (one, near), (other, far) = found
    assert one == other
    np.testing.assert_allclose(far.estimate.distribution, near.estimate.distribution, rtol=1e-6, atol=1e-9)
    assert near.emd is not None
    assert far.emd == pytest.approx(STEPS * near.emd, rel=1e-6)
    means = [one.estimate.mean() for one in (near, far)]
    if kind != "numbers":  # which are what they are; words count as their distance from the first
        ends = [[one.estimate, one.low, one.high] for one in means]
        assert ends[1] == pytest.approx([STEPS * one for one in ends[0]], rel=1e-6)
    for place in range(1, narrow.size):
        ends = [[one.decode([0])[0], one.decode([place])[0]] for one in (narrow, wide)]
        assert wide.distance(*ends[1]) == pytest.approx(STEPS * narrow.distance(*ends[0]))
