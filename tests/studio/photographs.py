"""Photographs of the studio's screens, for `make screenshots`: each in three widths, light and dark."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tests.pages.browser import AXE
from tests.studio.looking import faults
from tests.studio.running import RunningStudio, running_studio

import confide as cf

if TYPE_CHECKING:
    from playwright.sync_api import Page

SETTLED = 1500
"""Milliseconds after which pictures have come, simulations among them."""


def _design(kind: str) -> Callable[[Page, RunningStudio], None]:
    def show(page: Page, studio: RunningStudio) -> None:
        page.goto(studio.address)
        page.get_by_label(kind, exact=True).check()
        page.wait_for_selector(".expected svg")
        # What follows from the target has come, or says that it takes longer.
        page.wait_for_timeout(4 * SETTLED)

    return show


def _look(page: Page, studio: RunningStudio) -> None:
    survey = studio.ask("/v1/surveys").json["surveys"][0]["survey"]
    page.goto(studio.address)
    page.wait_for_selector("nav")
    page.goto(f"{studio.url}/studio#/look/{survey}")
    page.wait_for_selector("figure svg")
    page.wait_for_timeout(2 * SETTLED)


def _play(page: Page, studio: RunningStudio) -> None:
    page.goto(studio.address)
    page.get_by_role("link", name="Play", exact=True).click()
    page.wait_for_selector("figure svg")
    page.wait_for_timeout(2 * SETTLED)


def _take(page: Page, studio: RunningStudio) -> None:
    survey = studio.ask("/v1/surveys").json["surveys"][0]["survey"]
    page.goto(f"{studio.url}/take/{survey}")
    page.wait_for_selector("button")
    page.wait_for_timeout(SETTLED)


def _drawn(page: Page, studio: RunningStudio) -> None:
    _take(page, studio)
    page.get_by_label("typed").fill("37")
    page.get_by_role("button", name="Blur my answer").click()
    page.wait_for_selector(".leaves")


def _take_own(mechanism: cf.Mechanism, title: str, **settings: Any) -> Callable[[Page, RunningStudio], None]:
    def show(page: Page, studio: RunningStudio) -> None:
        survey = cf.Survey(mechanism, title=title, **settings)
        studio.ask("/v1/surveys", survey.to_json().encode())
        page.goto(f"{studio.url}/take/{survey.fingerprint}")
        page.wait_for_selector("form")

    return show


def _surveys(page: Page, studio: RunningStudio) -> None:
    page.goto(studio.address)
    page.get_by_role("link", name="Look", exact=True).click()
    page.wait_for_selector(".surveys a")


def _asked(page: Page, studio: RunningStudio) -> None:
    _look(page, studio)
    page.get_by_label("Ask how many").fill("age >= 65")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.wait_for_selector(".questions dd")
    for fold in ("Methods, side by side", "Diagnosis", "Technical details"):
        page.get_by_text(fold).click()
    page.wait_for_timeout(4 * SETTLED)


def _token(page: Page, studio: RunningStudio) -> None:
    page.goto(f"{studio.url}/studio")
    page.wait_for_selector("#token")


SCREENS: dict[str, Callable[[Page, RunningStudio], None]] = {
    "studio-design": _design("Ages"),
    "studio-design-categories": _design("Categories"),
    "studio-design-places": _design("Places"),
    "studio-surveys": _surveys,
    "studio-look": _look,
    "studio-look-open": _asked,
    "studio-play": _play,
    "studio-take": _take,
    "studio-take-drawn": _drawn,
    "studio-take-map": _take_own(
        cf.TruncatedPlanarLaplace(cf.Places(south=59.88, west=10.65, north=59.96, east=10.85, cell="1 km"), 0.5),
        "Where in Oslo do you live?",
        name="home",
    ),
    "studio-take-choices": _take_own(
        cf.RandomizedResponse(cf.Categories(["on foot", "by bicycle", "by bus", "by car"]), 1.0),
        "How do you get to work?",
        name="way",
        groups={"town": ("Oslo", "Bern")},
        most_reports=1,
    ),
    "studio-token": _token,
}


def photograph(folder: Path, names: Iterable[str], widths: Iterable[int]) -> list[str]:
    """Photograph screens of a studio that runs for it alone, and return what axe-core finds amiss."""
    from playwright.sync_api import sync_playwright

    found: list[str] = []
    folder.mkdir(parents=True, exist_ok=True)
    with (
        TemporaryDirectory() as place,
        running_studio(Path(place) / "studio.db") as studio,
        sync_playwright() as player,
    ):
        browser = player.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name in names:
            for is_dark in (False, True):
                context = browser.new_context(color_scheme="dark" if is_dark else "light")
                page = context.new_page()
                SCREENS[name](page, studio)
                for width in widths:
                    page.set_viewport_size({"width": width, "height": 900})
                    page.wait_for_timeout(200)
                    path = folder / f"{name}-{width}{'-dark' if is_dark else ''}.png"
                    page.screenshot(path=path, full_page=True)
                    sys.stdout.write(f"{path}\n")
                found += [f"{name}: {fault}" for fault in faults(page)] if AXE.exists() else []
                context.close()
        browser.close()
    return found
