"""Sorts of questions that Design makes and Take part answers, and made-up people who answer any of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.studio.looking import open_design
from tests.studio.test_design_screen import wait_for_words

import confide as cf

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page
    from tests.studio.running import RunningStudio

pytestmark = pytest.mark.slow


def start(page: Page, studio: RunningStudio) -> tuple[str, cf.Survey]:
    """Start what is shown, and return where people answer it, and the survey that the collector has."""
    page.get_by_role("button", name="Start collecting").and_(page.locator(":not([aria-disabled])")).click()
    address = page.locator("a.address").get_attribute("href") or ""
    return address, cf.Survey.from_json(studio.ask(f"/v1/surveys/{address.rpartition('/')[2]}").body.decode())


def send(page: Page) -> dict[str, object]:
    """Blur and send the answer on the page, and return what was sent."""
    page.get_by_role("button", name="Blur my answer").click()
    with page.expect_request("**/v1/reports") as coming:
        page.get_by_role("button", name="Send", exact=True).click()
    page.get_by_role("heading", name="Sent. Thank you.").wait_for()
    found: dict[str, object] = json.loads(coming.value.post_data or "")
    return found


def test_uneven_ranges_are_designed_and_answered(context: BrowserContext, studio: RunningStudio) -> None:
    page = context.new_page()
    open_design(page, studio)
    page.get_by_label("Ranges", exact=True).check()
    page.get_by_text("Choose epsilon yourself").click()
    edges = page.get_by_label("Where ranges begin, and the end")
    assert edges.input_value() == "0, 18, 30, 45, 65, 90"
    for wrong, words in (("0, 18, 7", "rising order"), ("0, x", "rising order"), ("0, 18", "At least two ranges")):
        edges.fill(wrong)
        edges.press("Tab")
        wait_for_words(page, ".callout", words)
    edges.fill("0, 16, 30.5, 70+")
    edges.press("Tab")
    wait_for_words(page, ".take-it pre", "above = true")
    wait_for_words(page, ".expected", "20,000 people")
    address, survey = start(page, studio)
    assert survey.alphabet == cf.Bins(edges=[0, 16, 30.5, 70], above=True, unit="year")
    page.reload()
    assert edges.input_value() == "0, 16, 30.5, 70+"
    edges.fill("0, 16, 30.5, 70")
    edges.press("Tab")
    page.wait_for_function("() => !document.querySelector('.take-it pre')?.textContent.includes('above')", polling=40)
    person = context.new_page()
    person.goto(address)
    person.get_by_label("30.5 to 70 years", exact=True).check()
    assert send(person)["reports"]


def test_several_questions_are_designed_and_answered(context: BrowserContext, studio: RunningStudio) -> None:
    page = context.new_page()
    open_design(page, studio)
    page.get_by_label("Several questions", exact=True).check()
    page.get_by_text("Choose epsilon yourself").click()
    wait_for_words(page, ".take-it pre", "[alphabet.region]")
    called = page.get_by_label("Called")
    called.nth(1).fill("age")
    called.nth(1).press("Tab")
    wait_for_words(page, ".callout", "Another question is called so")
    called.nth(1).fill("town")
    called.nth(1).press("Tab")
    page.get_by_label("Answers, one a line").fill("Oslo\nBern")
    page.get_by_label("Answers, one a line").press("Tab")
    page.get_by_role("button", name="Add a question").click()
    assert page.evaluate("document.activeElement.id") == "question-2-name"
    page.keyboard.type("owns")  # over the name that it has, which is marked
    called.nth(2).fill("cats")
    page.get_by_label("Kind of answer").nth(2).select_option("A whole number")
    page.get_by_label("To", exact=True).fill("2")
    page.get_by_label("To", exact=True).press("Tab")
    wait_for_words(page, ".take-it pre", "[alphabet.cats]")
    wait_for_words(page, ".take-it pre", "high = 2")
    wait_for_words(page, ".promised dt", "Is it ")
    assert "(" not in page.locator(".promised dt").first.inner_text()
    wait_for_words(page, ".expected", "the shares are off by")
    address, survey = start(page, studio)
    ages = cf.Bins(edges=[0, 18, 30, 45, 65, 90], unit="year")
    assert survey.alphabet == cf.Attributes(age=ages, town=cf.Categories(["Oslo", "Bern"]), cats=cf.Integers(0, 2))
    person = context.new_page()
    person.goto(address)
    person.get_by_label("18 to 30 years", exact=True).check()
    person.get_by_label("Bern").check()
    person.get_by_role("button", name="Blur my answer").click()
    wait_for_words(person, ".trouble", "Choose your answer first")  # one of three is missing
    person.get_by_label("2", exact=True).check()
    report = send(person)["reports"][0]  # type: ignore[index]  # a list
    # One report of all three together: fewer bits, and less noise, than one of each.
    assert survey.mechanism.report_alphabet.contains(np.array([report], dtype=object)).all(), survey.mechanism
    page.get_by_role("button", name="Remove question 3").click()
    page.wait_for_function("() => !document.querySelector('.take-it pre')?.textContent.includes('cats')", polling=40)


def test_made_up_people_answer_a_draft_apart_from_real_ones(context: BrowserContext, studio: RunningStudio) -> None:
    page = context.new_page()
    open_design(page, studio)
    page.get_by_label("Scale", exact=True).check()
    page.get_by_text("Choose epsilon yourself").click()
    page.get_by_label("The truth may look like").select_option("falling")
    page.get_by_label("People who answer, as a number").fill("2,000")
    page.get_by_label("People who answer, as a number").press("Tab")
    wait_for_words(page, ".trial", "2,000 people drawn from “Falling”")
    page.get_by_role("button", name="Try it with made-up people").click()
    wait_for_words(page, ".trial", "2,000 people, made up, have answered")
    trial = (page.get_by_role("link", name="Look at what they said").get_attribute("href") or "").rpartition("/")[2]
    known = {one["survey"]: one for one in studio.ask("/studio/v1/start").json["surveys"]}
    assert (known[trial]["is_simulated"], known[trial]["accepted"]) == (True, 2000)
    said = studio.ask(f"/v1/surveys/{trial}")
    simulated = cf.Survey.from_json(said.body.decode())
    assert said.headers["confide-simulated"] == "true"
    assert simulated.simulated == "falling"
    page.reload()  # the same again is no survey of its own, and that is said
    page.get_by_role("button", name="Try it with made-up people").click()
    wait_for_words(page, ".trial", "2,000 people, made up, had answered this design before")
    wait_for_words(page, ".trial", "2,000 people, made up, have answered")
    look = studio.work(
        {"kind": "look", "survey": trial, "queries": [], "methods": [], "band": False, "groups": False}
        | {"diagnosis": False}
    )
    shares = look["distribution"]
    assert look["survey"]["is_simulated"]
    assert sum(shares[:4]) > 0.5 > 2 * sum(shares[-4:])  # it falls, as the guess does
    # The same draft is started for real people all the same, and is another survey.
    address, real = start(page, studio)
    assert real.fingerprint != trial
    assert not real.simulated
    assert "confide-simulated" not in studio.ask(f"/v1/surveys/{real.fingerprint}").headers
    asked = studio.ask("/studio/v1/jobs", {"kind": "simulate", "survey": real.fingerprint, "people": 10})
    assert (asked.status, asked.code) == (409, "real")
    assert studio.ask(f"/studio/v1/watch/{real.fingerprint}").json["accepted"] == 0
    person = context.new_page()
    person.goto(f"{studio.url}/take/{trial}")
    person.get_by_text("Simulated survey").wait_for()  # whoever opens it sees what it is
    person.goto(address)
    person.get_by_role("button", name="Blur my answer").wait_for()
    assert person.get_by_text("Simulated survey").count() == 0


def test_a_bad_draft_says_why(studio: RunningStudio) -> None:
    said = studio.ask("/studio/v1/trials", {"draft": {}})
    assert (said.status, said.code) == (422, "no-answer")
