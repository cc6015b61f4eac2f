"""Photographs of the studio's screens, for `make screenshots`: each in three widths, light and dark."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tests.pages.browser import AXE
from tests.studio.looking import faults
from tests.studio.running import RunningStudio, running_studio

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
    page.get_by_role("link", name="Play").click()
    page.wait_for_selector("figure svg")
    page.wait_for_timeout(2 * SETTLED)


def _take(page: Page, studio: RunningStudio) -> None:
    survey = studio.ask("/v1/surveys").json["surveys"][0]["survey"]
    page.goto(f"{studio.url}/take/{survey}")
    page.wait_for_selector("button")
    page.wait_for_timeout(SETTLED)


def _token(page: Page, studio: RunningStudio) -> None:
    page.goto(f"{studio.url}/studio")
    page.wait_for_selector("#token")


SCREENS: dict[str, Callable[[Page, RunningStudio], None]] = {
    "studio-design": _design("Ages"),
    "studio-design-categories": _design("Categories"),
    "studio-design-places": _design("Places"),
    "studio-look": _look,
    "studio-play": _play,
    "studio-take": _take,
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
