"""What phones say in other languages: no text missing, the same places to fill, and no English left on the page."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.studio.looking import watch
from tests.studio.running import RunningStudio
from tests.studio.test_take import accepted, added, phone  # noqa: F401 - a fixture

import confide as cf

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

WEB = Path(__file__).parents[2] / "web" / "src"
STATIC = Path(cf.__file__).parent / "studio" / "static"
TEXTS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((WEB / "take/languages").iterdir())}
PLACES = re.compile(r"\{(\w+)\}")


def test_english_german_french_and_spanish_are_there() -> None:
    assert set(TEXTS) >= {"en", "de", "fr", "es"}


@pytest.mark.parametrize("language", sorted(TEXTS))
def test_no_text_is_missing_and_places_are_those_of_english(language: str) -> None:
    english, own = TEXTS["en"], TEXTS[language]
    assert own.keys() == english.keys()
    for key, text in own.items():
        assert text.strip() == text != "", key
        forms, others = english[key].split("¦"), text.split("¦")
        assert len(forms) == len(others), key
        for form, other in zip(forms, others, strict=True):
            assert sorted(PLACES.findall(form)) == sorted(PLACES.findall(other)), key
        if language != "en":  # a text that was left in English, but for words that are the same
            assert text != english[key] or len(text) < 10, key
    assert json.loads((STATIC / f"{language}.json").read_text(encoding="utf-8")) == own


def test_every_text_is_used_and_no_other_is_asked_for() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in WEB.rglob("*.ts"))
    asked = {key for call in re.findall(r"\bt\(([^()]*)", sources) for key in re.findall(r'"([a-z.]+)"', call)}
    assert set(TEXTS["en"]) - {key for key in TEXTS["en"] if f'"{key}"' in sources} == set()
    assert asked - set(TEXTS["en"]) - {"value", "public", "token", "invited", "en"} == set()


LABELS = {"de": ["ja", "nein", "weiß nicht"], "fr": ["oui", "non", "sans avis"], "es": ["sí", "no", "no sabe"]}
TITLES = {"de": "Rauchen Sie?", "fr": "Fumez-vous ?", "es": "¿Fuma usted?"}
# Of the client, in English by design; shown with lang="en".
SHOWN = """() => [...document.querySelectorAll('main *')]
  .filter((one) => !one.closest('[lang=en]'))
  .flatMap((one) => [...one.childNodes].filter((node) => node.nodeType === 3).map((node) => node.textContent.trim()))
  .filter(Boolean)"""


def english_in(page: Page) -> list[str]:
    """Return texts on the page that are English, in its own words."""
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    parts = {part for text in TEXTS["en"].values() for part in PLACES.sub("\n", text.replace("¦", "\n")).split("\n")}
    known = [part.strip() for part in parts if len(part.strip()) > 8]
    return [part for text in page.evaluate(SHOWN) for part in known if part in text]


@pytest.mark.slow
@pytest.mark.parametrize("language", ["de", "fr", "es"])
def test_a_person_reads_one_language_all_the_way(
    studio: RunningStudio,
    phone: BrowserContext,  # noqa: F811
    language: str,
) -> None:
    epsilon = {"de": 2.01, "fr": 2.02, "es": 2.03}[language]
    mechanism = cf.RandomizedResponse(cf.Categories(LABELS[language]), epsilon)
    settings = {"title": TITLES[language], "name": "value", "language": language, "results": "public"}
    address = added(studio, mechanism, most_reports=1, **settings)
    page, said = phone.new_page(), TEXTS[language]
    watched = watch(page)
    page.goto(address)
    page.locator(".stage h2", has_text=said["your.answer"]).wait_for()
    assert page.evaluate("document.documentElement.lang") == language
    # Of three words 21 in 100 are changed at this epsilon: about one in five.
    first = PLACES.sub(lambda found: {"k": "1", "n": "5"}[found[1]], said["explain.share"].split("¦")[0])
    assert page.locator(".explained strong").inner_text() == first
    assert said["explain.nobody"] in page.locator(".explained").inner_text()
    assert said["explain.public"] in page.locator(".explained").inner_text()
    assert page.locator(".explained .person").count() == 10
    assert page.locator(".explained .person.changed").count() == 2
    assert english_in(page) == []
    assert first in page.locator(".consent").inner_text()
    page.get_by_text(LABELS[language][0], exact=True).tap()
    page.get_by_role("button", name=said["blur"]).tap()
    page.locator(".leaves").wait_for()
    assert english_in(page) == []
    page.get_by_role("button", name=said["send"], exact=True).tap()
    page.locator(".stage h2", has_text=said["sent"]).wait_for()
    page.locator(".crowd h3", has_text=said["result"]).wait_for()
    assert said["crowd.count"].split("¦")[0].replace("{n}", "1") in page.locator(".crowd").inner_text()
    assert page.locator(".shares li").count() == 3
    assert english_in(page) == []
    assert accepted(studio, address) == 1
    assert watched.foreign(studio.url) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.slow
def test_results_are_shown_to_people_only_where_the_survey_says_so(studio: RunningStudio) -> None:
    mechanism = cf.RandomizedResponse(cf.Categories(["a", "b"]), 2.5)
    for results, is_shown in (("", False), ("public", True)):
        fingerprint = added(studio, mechanism, results=results).rpartition("/")[2]
        path = f"/take/{fingerprint}/crowd"
        assert studio.ask(path, who=None).json == {"accepted": 0, "result": None}
        batch = {
            "survey": fingerprint,
            "batch": f"{1 + is_shown:032x}",
            "day": "2026-01-01",
            "reports": ["a", "a", "b"],
        }
        studio.ask("/v1/reports", batch | {"day": f"{datetime.now(UTC):%Y-%m-%d}"}, who=None)
        found = studio.ask(path, who=None).json
        assert found["accepted"] == 3
        assert (found["result"] is not None) is is_shown
        if is_shown:
            assert found["result"].keys() == {"labels", "distribution", "reports"}
            assert found["result"]["labels"] == ["a", "b"]
            assert abs(sum(found["result"]["distribution"]) - 1) < 1e-9
    assert studio.ask(f"/take/{32 * '0'}/crowd", who=None).status == 404
