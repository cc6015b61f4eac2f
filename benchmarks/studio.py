"""How soon the studio shows something: its first picture, and what follows when a slider moves.

    python -m benchmarks.studio

Milliseconds as a person waits them, in Chromium on this machine, with the server and all else that runs here: from the
address to the first picture, and from a slider's movement to what it shows (the promise, one report, the survey file).
Of Play's slider it is to the first picture, in which methods that take long are faded, and to the last of them. The
bars are issue 19's: two seconds, and 150 ms. Needs playwright and Chromium.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from tests.studio.running import RunningStudio, running_studio

from benchmarks.timing import machine, print_table, verdict

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FIRST, MOVED, SIZE = 2000.0, 150.0, 1_500_000
"""Milliseconds to the first picture and after a movement, and bytes of all files."""

KINDS = ("Ages", "Scale", "Categories", "Places")
PLAYED = ("Ages, UCI Adult", "Check-ins in Manhattan, Gowalla", "Check-ins in Paris, Gowalla")
MOVES = 20


def first_picture(browser: Browser, studio: RunningStudio) -> float:
    """Return how long the first picture takes, in milliseconds."""
    page = browser.new_page()
    begin = time.perf_counter()
    page.goto(studio.address)
    page.wait_for_selector(".one-report svg")
    found = 1000 * (time.perf_counter() - begin)
    page.close()
    return found


def movements(browser: Browser, studio: RunningStudio, kind: str) -> list[float]:
    """Return how long what follows takes after each movement of the slider of epsilon, in milliseconds."""
    page = browser.new_page()
    page.goto(studio.address)
    page.get_by_label(kind, exact=True).check()
    page.get_by_text("Choose epsilon yourself").click()
    page.wait_for_selector(".expected svg")
    page.locator("#epsilon").focus()
    page.evaluate("performance.clearMeasures('slider')")
    for _ in range(MOVES):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(250)  # as a person moves it, a simulation in between
    found: list[float] = page.evaluate("performance.getEntriesByName('slider').map(one => one.duration)")
    page.close()
    return found


def plays(browser: Browser, studio: RunningStudio, dataset: str) -> tuple[list[float], list[float]]:
    """Return how long Play takes after each movement of its slider, to the first picture and to the last method's."""
    page = browser.new_page()
    page.goto(studio.address)
    page.get_by_role("link", name="Play", exact=True).click()
    page.wait_for_selector("#play-dataset")
    page.locator("#play-dataset").select_option(label=dataset)
    page.wait_for_selector(".picture svg")
    page.wait_for_timeout(4000)  # what a city's distance needs is loaded by then
    page.locator("#play-epsilon").focus()
    page.evaluate("performance.clearMeasures()")
    for _ in range(MOVES):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(250)
    read = "name => performance.getEntriesByName(name).map(one => one.duration)"
    while not page.evaluate(read, "play last"):  # its policy lets a page evaluate nothing by itself
        page.wait_for_timeout(100)
    first, last = page.evaluate(read, "play first"), page.evaluate(read, "play last")
    page.close()
    return first, last


def size() -> int:
    """Return the bytes of all files that a browser may fetch."""
    places = [files("confide").joinpath("studio", "static"), files("confide").joinpath("studio", "client")]
    return sum(len(one.read_bytes()) for place in places for one in place.iterdir() if one.is_file())


def main() -> None:
    """Measure, and print a table."""
    from playwright.sync_api import sync_playwright

    rows: list[tuple[str, str, str, str]] = []

    def note(what: str, times: list[float], bar: float) -> None:
        met = verdict(f"{bar:.0f} ms", met=median(times) <= bar)
        rows.append((what, f"{median(times):.0f} ms", f"{max(times):.0f} ms", met))

    folder = tempfile.TemporaryDirectory()
    with folder as place, running_studio(Path(place) / "studio.db") as one, sync_playwright() as two:
        browser = two.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        first_picture(browser, one)  # processes are started with it
        note("first picture", [first_picture(browser, one) for _ in range(5)], FIRST)
        for kind in KINDS:
            note(f"a slider moves, {kind.lower()}", movements(browser, one, kind), MOVED)
        for dataset in PLAYED:
            first, last = plays(browser, one, dataset)
            note(f"Play's slider, first picture, {dataset}", first, MOVED)
            rows.append(
                (f"and all methods, {len(last)} of {MOVES}", f"{median(last):.0f} ms", f"{max(last):.0f} ms", "")
            )
        browser.close()
    total = size()
    rows.append(("all files", f"{total:,} bytes", "", verdict(f"{SIZE:,} bytes", met=total <= SIZE)))
    print_table("The studio, as a person waits", ("what", "median", "longest", "bar"), rows)
    print(machine())
    sys.exit(any("MISSED" in row[-1] for row in rows))


if __name__ == "__main__":
    main()
