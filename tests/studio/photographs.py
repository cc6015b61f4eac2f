"""Photographs of the studio's screens, for `make screenshots`: each in three widths, light and dark."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.pages.browser import AMISS, AXE
from tests.studio.looking import faults
from tests.studio.running import RunningStudio, running_studio
from tests.studio.test_journey import post

import confide as cf

if TYPE_CHECKING:
    from playwright.sync_api import Page

# A page that has not changed for so many milliseconds, and waits for nothing, is one that a person sees.
QUIET = """() => new Promise(done => {
  const end = performance.now() + 15000;
  let last = performance.now();
  const watch = new MutationObserver(() => { last = performance.now(); });
  watch.observe(document.documentElement, { subtree: true, childList: true, attributes: true, characterData: true });
  const ask = () => {
    const waits = [...document.querySelectorAll('progress, [aria-busy=true]')].some(one => one.checkVisibility());
    if (performance.now() > end || (!waits && performance.now() - last > 700)) { watch.disconnect(); done(0); }
    else setTimeout(ask, 100);
  };
  ask();
})"""
OSLO = cf.TruncatedPlanarLaplace(cf.Places(south=59.88, west=10.65, north=59.96, east=10.85, cell="1 km"), 2.0)
Show = Callable[["Page", RunningStudio], None]


def _design(kind: str) -> Show:
    def show(page: Page, studio: RunningStudio) -> None:
        page.goto(studio.address)
        page.get_by_label(kind, exact=True).check()
        page.wait_for_selector(".expected svg")
        if kind != "Several questions":  # which has no one epsilon to choose
            page.wait_for_selector(".expected .levels td", timeout=120_000)

    return show


def _demo(studio: RunningStudio) -> str:
    """Return the survey that a studio begins with: the eldest of them."""
    surveys = studio.ask("/v1/surveys").json["surveys"]
    return str(next(one["survey"] for one in surveys if one["is_simulated"]))


def _own(studio: RunningStudio, mechanism: cf.Mechanism, title: str, **settings: Any) -> cf.Survey:
    survey = cf.Survey(mechanism, title=title, **settings)
    studio.ask("/v1/surveys", survey.to_json().encode())
    return survey


def _look(page: Page, studio: RunningStudio, survey: str = "") -> None:
    page.goto(studio.address)
    page.wait_for_selector("nav")
    page.goto(f"{studio.url}/studio#/look/{survey or _demo(studio)}")
    page.wait_for_function(
        "() => [...document.querySelectorAll('figure svg, .empty')].some(one => one.checkVisibility())"
    )


def _look_open(page: Page, studio: RunningStudio) -> None:
    _look(page, studio)
    page.get_by_label("Ask how many").fill("age >= 65")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.wait_for_selector(".questions dd")
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")


def _look_places(page: Page, studio: RunningStudio) -> None:
    survey = _own(studio, OSLO, "Where in Oslo people live", name="home")
    size = survey.mechanism.alphabet.size
    people = np.random.default_rng(1).choice(size, 6000, p=np.random.default_rng(2).dirichlet(np.full(size, 0.3)))
    post(studio, survey, 6000, values=survey.mechanism.alphabet.decode(people))
    _look(page, studio, survey.fingerprint)


def _look_groups(page: Page, studio: RunningStudio) -> None:
    ages = cf.TruncatedGeometric(cf.Integers(0, 99, unit="year"), 0.12)
    survey = _own(studio, ages, "Ages of two towns", name="age", groups={"town": ("Oslo", "Bern")})
    for place, town in enumerate(("Oslo", "Bern")):
        known = np.clip(np.random.default_rng(place).normal(38 + 12 * place, 12, 3000).round(), 0, 99).astype(int)
        post(studio, survey, 3000, values=known, groups={"town": town})
    _look(page, studio, survey.fingerprint)


def _look_empty(page: Page, studio: RunningStudio) -> None:
    survey = _own(studio, cf.TruncatedGeometric(cf.Integers(0, 99, unit="year"), 0.2), "Nobody yet", name="age")
    _look(page, studio, survey.fingerprint)


def _surveys(page: Page, studio: RunningStudio) -> None:
    page.goto(studio.address)
    page.get_by_role("link", name="Look", exact=True).click()
    page.wait_for_selector(".surveys a")


def _play(data: str = "") -> Show:
    def show(page: Page, studio: RunningStudio) -> None:
        page.goto(studio.address)
        page.get_by_role("link", name="Play", exact=True).click()
        page.wait_for_selector("figure svg")
        if data:
            page.get_by_label("Data", exact=True).select_option(label=data)

    return show


def _take(page: Page, studio: RunningStudio) -> None:
    page.goto(f"{studio.url}/take/{_demo(studio)}")
    page.wait_for_selector("form")


def _take_report(page: Page, studio: RunningStudio) -> None:
    _take(page, studio)
    page.get_by_label("typed").fill("37")
    page.get_by_role("button", name="Blur my answer").click()
    page.wait_for_selector(".leaves")


def _take_sent(page: Page, studio: RunningStudio) -> None:
    _take_report(page, studio)
    page.get_by_role("button", name="Send", exact=True).click()
    page.locator(".stage h2", has_text="Sent").wait_for()


def _take_own(mechanism: cf.Mechanism, title: str, **settings: Any) -> Show:
    def show(page: Page, studio: RunningStudio) -> None:
        page.goto(f"{studio.url}/take/{_own(studio, mechanism, title, **settings).fingerprint}")
        page.wait_for_selector("form")

    return show


def _take_unknown(page: Page, studio: RunningStudio) -> None:
    page.goto(f"{studio.url}/take/{'0' * 32}")
    page.wait_for_selector("h1")


def _collector(page: Page, studio: RunningStudio) -> None:
    page.goto(studio.url)


def _collector_page(page: Page, studio: RunningStudio) -> None:
    """Show the page of the answer that a collector gives to whoever has a token."""
    place = studio.store.with_name("page.html")
    place.write_bytes(studio.ask(f"/v1/surveys/{_demo(studio)}/page").body)
    page.goto(place.as_uri())


def _token(page: Page, studio: RunningStudio) -> None:
    page.goto(f"{studio.url}/studio")
    page.wait_for_selector("#token")


def _gone(page: Page, studio: RunningStudio) -> None:
    _look(page, studio)
    page.route("**/studio/v1/**", lambda route: route.abort())
    page.get_by_role("alert").filter(has_text="The server is gone").wait_for()


SCREENS: dict[str, Show] = {
    "studio-design-ages": _design("Ages"),
    "studio-design-scale": _design("Scale"),
    "studio-design-categories": _design("Categories"),
    "studio-design-places": _design("Places"),
    "studio-design-homes": _design("Homes"),
    "studio-design-lab": _design("Lab procedures"),
    "studio-take": _take,
    "studio-take-report": _take_report,
    "studio-take-sent": _take_sent,
    "studio-take-map": _take_own(OSLO, "Where in Oslo do you live?", name="home", most_reports=1),
    "studio-take-choices": _take_own(
        cf.RandomizedResponse(cf.Categories(["on foot", "by bicycle", "by bus", "by car"]), 1.0),
        "How do you get to work?",
        name="way",
        groups={"town": ("Oslo", "Bern")},
        most_reports=1,
    ),
    "studio-take-unknown": _take_unknown,
    "studio-look": _look,
    "studio-look-open": _look_open,
    "studio-look-places": _look_places,
    "studio-look-groups": _look_groups,
    "studio-look-empty": _look_empty,
    "studio-surveys": _surveys,
    "studio-play": _play(),
    "studio-play-places": _play("Check-ins in Manhattan, Gowalla"),
    "collector": _collector,
    "collector-page": _collector_page,
    "studio-token": _token,
    "studio-gone": _gone,
}


def photograph(folder: Path, names: Iterable[str], widths: Iterable[int]) -> list[str]:
    """Photograph screens of a studio that runs for it alone; return what is amiss: shown by axe-core, cut, or small."""
    from playwright.sync_api import Error, sync_playwright

    found: list[str] = []
    with (
        TemporaryDirectory() as place,
        running_studio(Path(place) / "studio.db") as studio,
        sync_playwright() as player,
    ):
        browser = player.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name in names:
            page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            try:
                SCREENS[name](page, studio)
            except Error as error:  # the others are still worth a look
                found.append(f"{name}: cannot be shown: {str(error).splitlines()[0]}")
            page.evaluate(QUIET)
            found += _photograph(page, folder / name, widths)
            page.context.close()
        browser.close()
    return found


def _photograph(page: Page, stem: Path, widths: Iterable[int]) -> list[str]:
    """Photograph one screen in every width and in both themes, and return what is amiss."""
    found: list[str] = []
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
            page.wait_for_timeout(150)
            path = stem.with_name(f"{stem.name}-{width}{'-dark' * (theme == 'dark')}.png")
            page.screenshot(path=path, full_page=True)
        found += [f"{stem.name} at {width}: {what}: {one}" for what, ask in AMISS.items() for one in page.evaluate(ask)]
    for theme in ("light", "dark") if AXE.exists() else ():
        page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
        found += [f"{stem.name}, {theme}: {fault}" for fault in faults(page)]
    return found
