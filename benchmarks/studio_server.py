"""How long the studio lets a person wait: previews, the expected picture, a look, a plan, over HTTP.

    python -m benchmarks.studio_server

Milliseconds of the clock, from the request to the answer, the median of several; a busy machine shows.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.studio.running import RunningStudio, running_studio

from benchmarks.timing import machine, print_table, verdict

GRID = {"kind": "grid", "rows": 20, "columns": 14, "spacing": 0.5, "unit": "km"}
PLACES = {"kind": "places", "south": 40.7044, "west": -74.0205, "north": 40.7942, "east": -73.9374, "cell": "1 km"}
AGES = {"kind": "integers", "low": 0, "high": 99, "unit": "year"}
THOUSAND = {"kind": "integers", "low": 0, "high": 999}

PREVIEWS: dict[str, tuple[dict[str, Any], float, str]] = {
    "ages": (AGES, 0.05, "adult_ages"),
    "1,000 integers": (THOUSAND, 0.005, "peaked"),
    "a grid of 20 x 14": (GRID, 1.0, "manhattan"),
    "places, cells of 1 km": (PLACES, 1.0, "two humps"),
}


def draft_of(name: str, part: float = 1.0) -> dict[str, Any]:
    alphabet, epsilon, guess = PREVIEWS[name]
    survey = {"name": "value", "title": "A survey", "alphabet": alphabet}
    return {"survey": survey, "epsilon": part * epsilon, "people": 50_000, "guess": guess}


def median(task: Callable[[float], object], times: int = 9) -> float:
    """Median of milliseconds, at another epsilon each time, so that nothing is remembered."""
    found = []
    for number in range(times):
        begun = time.perf_counter()
        task(1 + 0.01 * (number + 1))
        found.append(1000 * (time.perf_counter() - begun))
    return statistics.median(found)


def first_picture(studio: RunningStudio, draft: dict[str, Any]) -> None:
    """Wait for the expected picture, which comes before its windows."""
    job = studio.ask("/studio/v1/jobs", {"kind": "expect", "draft": draft, "seed": 0}).json["job"]
    while True:
        found = studio.ask(f"/studio/v1/jobs/{job}").json
        if "partial" in found or "answer" in found:
            break
        time.sleep(0.005)
    studio.ask(f"/studio/v1/jobs/{job}/stop", {})


def main() -> None:
    print(machine())
    rows: list[list[str]] = []

    def row(what: str, took: float, goal: float | None) -> None:
        said = "" if goal is None else verdict(f"{goal:,.0f} ms", met=took <= goal)
        rows.append([what, f"{took:,.0f} ms", said])

    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        with running_studio(Path(folder) / "studio.db") as studio:
            row("from the command to the address", 1000 * (time.perf_counter() - begun), None)
            begun = time.perf_counter()
            studio.ask("/studio/v1/preview", {"draft": draft_of("ages"), "value": None})
            row("from the address to the first preview", 1000 * (time.perf_counter() - begun), 2000)
            survey = studio.ask("/studio/v1/start").json["surveys"][0]["survey"]
            while studio.ask(f"/studio/v1/watch/{survey}").json["accepted"] < 10_000:
                time.sleep(0.1)
            for name in PREVIEWS:
                asked = lambda part, name=name: studio.ask(  # noqa: E731
                    "/studio/v1/preview", {"draft": draft_of(name, part), "value": None}
                )
                row(f"preview, {name}", median(asked), 100)
            for name in ("ages", "a grid of 20 x 14"):
                goal = 700 if name == "ages" else None
                row(f"expected picture, {name}", median(lambda part: first_picture(studio, draft_of(name, part))), goal)  # noqa: B023
            expect = lambda part: studio.work({"kind": "expect", "draft": draft_of("ages", part), "seed": 0})  # noqa: E731
            row("expected picture and windows, ages", median(expect, 5), None)
            look: dict[str, Any] = {"kind": "look", "survey": survey, "queries": [], "methods": []}
            row("first look, ages, 10,000 reports", median(lambda _: studio.work(look), 1), 2000)
            row("the same again", median(lambda _: studio.work(look)), 100)
            asked_more = lambda part: studio.work(look | {"queries": [f"age >= {round(1000 * part) % 90}"]})  # noqa: E731
            row("one more question", median(asked_more), None)
            target = {"kind": "plan", "draft": draft_of("ages"), "solve": "epsilon", "target": {"emd": 0.5}}
            row("plan: which epsilon for an EMD of 0.5 years", median(lambda _: studio.work(target), 1), None)
    print_table("The studio, as a person waits for it", ["what", "took", "bar"], rows)


if __name__ == "__main__":
    main()
