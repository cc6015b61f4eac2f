"""How long a city at 50 metres takes, 1000 x 1000 cells: from coordinates to a map.

    python -m benchmarks.places                  # a million cells, 100,000 people
    python -m benchmarks.places --cell "200 m"   # fewer cells
    python -m benchmarks.places --plan           # the plan, too, which simulates the whole survey several times

Times are seconds of one core, on one thread; the goal is minutes for all of it. People live around a few centres of a
made-up city of 50 x 50 km; the errors are shares of squares of a kilometre, against those of the reports as they are.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import confide as cf
from benchmarks.timing import machine, once, print_table, verdict
from confide.data.files import estimate_geojson
from confide.present.pages import estimate_page
from confide.values.queries import as_weights

GOAL = 300.0
"""Seconds of a core for all but the plan: five minutes."""

CENTRES = ((0.3, 0.4, 0.08), (0.7, 0.6, 0.03), (0.55, 0.2, 0.01))
"""Where people live: how far north and east, and how widely around it, as parts of the box."""


def people_of(places: cf.Places, number: int) -> NDArray[np.float64]:
    """Return latitudes and longitudes of people around the centres."""
    rng, each = np.random.default_rng(1), number // len(CENTRES)
    parts = np.concatenate([rng.normal((north, east), width, (each, 2)) for north, east, width in CENTRES])
    low, high = np.array([places.south, places.west]), np.array([places.north, places.east])
    return np.asarray(low + parts.clip(0.0, 1.0) * (high - low))


def squares(places: cf.Places, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shares of squares of about a kilometre."""
    side = max(1, round(1 / places.spacing))
    table = places.picture(shares)
    for axis in (0, 1):
        table = np.add.reduceat(table, np.arange(0, table.shape[axis], side), axis=axis)
    return table


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--cell", default="50 m")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--plan", action="store_true")
    chosen = parser.parse_args()
    rows: list[tuple[str, str]] = []
    total = 0.0

    def measure(name: str, work: Any) -> Any:
        nonlocal total
        seconds, outcome = once(work)
        total += seconds
        rows.append((name, f"{seconds:.1f} s"))
        print(f"{name}: {seconds:.1f} s", flush=True)
        return outcome

    places = measure("places", lambda: cf.Places.around(40.75, -73.98, "25 km", chosen.cell))
    mechanism = cf.TruncatedPlanarLaplace(places, chosen.epsilon)
    survey = cf.Survey(mechanism, "home", "A city")
    people = people_of(places, chosen.people)
    reports = measure("privatize", lambda: mechanism.privatize(people, rng=1))
    counts = measure("count", lambda: cf.tally(reports))
    outcome = measure("estimate, with the test of the fit", lambda: cf.assess(counts, mechanism, cf.Stacked()))
    answer = outcome.estimate
    asked = ["within 2 km of 40.75, -73.98", "within 5 km of 40.85, -73.86"]
    answers = measure("two questions, with intervals", lambda: answer.queries(asked))
    content = measure("GeoJSON", lambda: estimate_geojson(survey, outcome, None, answers))
    page = measure("page with its maps", lambda: estimate_page(survey, counts, [outcome], answers=answers))
    rows.append((f"all; {verdict(f'{GOAL:.0f} s', met=total <= GOAL)}", f"{total:.1f} s"))
    if chosen.plan:
        measure("plan, 2 repeats", lambda: cf.plan(mechanism, people=chosen.people, repeats=2))
    size = f"{places.rows:,} x {places.columns:,} cells of {chosen.cell}, {chosen.people:,} people"
    print_table(f"{size}, epsilon {chosen.epsilon:g} per km", ("", "one core"), rows)
    truth = np.bincount(places.encode(places.take(people)), minlength=places.size) / len(people)
    sent = np.asarray(mechanism.lay_out(counts)) / counts.total
    errors = [
        float(np.abs(squares(places, one) - squares(places, truth)).sum()) / 2 for one in (answer.distribution, sent)
    ]
    print(f"Total variation by square km: {errors[0]:.3f}; of the reports as they are: {errors[1]:.3f}.")
    for query, one in zip(asked, answers, strict=True):
        known = float(as_weights(query, places) @ truth)
        print(f"{query}: {one} (truth {known:.4g}); {one.remark}")
    print(answer.ending)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("map.geojson", content), ("page.html", page)):
            Path(folder, name).write_text(text, encoding="utf-8")
            print(f"{name}: {Path(folder, name).stat().st_size / 1e6:.1f} MB")
    print(f"{len(json.loads(content)['features']):,} features; {machine()}")


if __name__ == "__main__":
    main()
