"""What goes wrong on the studio's Design screen: a server without time, drafts that are half typed or refused."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from tests.studio.looking import open_design
from tests.studio.test_design_screen import choose, wait_for_words

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route
    from tests.studio.running import RunningStudio

pytestmark = pytest.mark.slow

PREVIEW = "**/studio/v1/preview"
DRAG = """async () => {
  const one = document.querySelector('#epsilon');
  for (let i = 0; i < 100; i++) {
    one.value = 200 + 4 * i;
    one.dispatchEvent(new Event('input', { bubbles: true }));
    await new Promise(done => setTimeout(done, 8));
  }
}"""
ENABLED = ":not([aria-disabled])"
BUSY = '{"error": {"code": "busy", "message": "Too many previews wait."}}'


def set_epsilon(page: Page, epsilon: str) -> None:
    page.get_by_label("Epsilon, as a number").fill(epsilon)
    page.get_by_label("Epsilon, as a number").press("Enter")


def test_a_slider_that_is_dragged_shows_where_it_ends(page: Page, studio: RunningStudio) -> None:
    open_design(page, studio)
    page.get_by_text("Choose epsilon yourself").click()
    statuses: list[int] = []
    page.on("response", lambda one: statuses.append(one.status) if one.url.endswith("/preview") else None)
    page.evaluate(DRAG)
    last = page.get_by_label("Epsilon, as a number").input_value()
    wait_for_words(page, ".take-it pre", f"epsilon = {last}\n")
    assert set(statuses) == {200}
    assert page.locator(".banner").count() == 0
    refused: list[Route] = []

    def refuse(route: Route) -> None:
        refused.append(route)
        if len(refused) <= 2:
            route.fulfill(status=429, body=BUSY, content_type="application/json")
        else:
            route.continue_()

    page.route(PREVIEW, refuse)
    set_epsilon(page, "0.037")
    wait_for_words(page, ".take-it pre", "epsilon = 0.037\n")  # asked again, by itself
    assert page.locator(".banner").count() == 0


def test_what_is_started_is_what_is_shown(page: Page, studio: RunningStudio) -> None:
    open_design(page, studio)
    choose(page, "Categories")
    start = page.get_by_role("button", name="Start collecting")
    start.and_(page.locator(ENABLED)).wait_for()
    held: list[Route] = []
    sent: list[str] = []
    page.on("request", lambda one: sent.append(one.post_data or "") if one.url.endswith("/v1/surveys") else None)
    page.route(PREVIEW, lambda route: held.append(route))  # noqa: PLW0108 - playwright takes no method of a list
    page.get_by_label("Answers, one a line").fill("red\ngreen\nblue")
    page.get_by_label("Answers, one a line").press("Tab")
    assert start.is_disabled()
    wait_for_words(page, "#not-yet", "is not ready yet")
    page.unroute(PREVIEW)  # and what was held goes on
    wait_for_words(page, "#not-yet", "plan")  # epsilon is looked for, and would be another
    assert start.is_disabled()
    # In one step: a plan that ends meanwhile takes its button away.
    page.evaluate("[...document.querySelectorAll('.follows button')].find((one) => one.textContent == 'Stop')?.click()")
    start.and_(page.locator(ENABLED)).wait_for()
    page.get_by_label("The question, as people read it").fill(" ")
    assert start.is_disabled()
    wait_for_words(page, ".callout", "A question is needed")
    page.get_by_label("The question, as people read it").fill("Which colour?")
    start.and_(page.locator(ENABLED)).click()
    page.locator("a.address").wait_for()
    survey = json.loads(sent[-1])
    assert len(sent) == 1
    assert (survey["alphabet"]["values"], survey["title"]) == (["red", "green", "blue"], "Which colour?")


def test_a_press_right_from_a_field_that_was_typed_in_starts_that(page: Page, studio: RunningStudio) -> None:
    """Leaving the field changes the draft while the button is down: the press starts what was typed."""
    open_design(page, studio)
    choose(page, "Categories")
    page.get_by_text("Choose epsilon yourself").click()
    start = page.get_by_role("button", name="Start collecting")
    start.and_(page.locator(ENABLED)).wait_for()
    sent: list[str] = []
    page.on("request", lambda one: sent.append(one.post_data or "") if one.url.endswith("/v1/surveys") else None)
    page.get_by_label("Answers, one a line").fill("left\nright\nstraight on")
    start.scroll_into_view_if_needed()
    box = start.bounding_box()
    assert box
    page.mouse.move(box["x"] + 20, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.wait_for_timeout(120)  # as a finger does
    page.mouse.up()
    page.locator("a.address").wait_for()
    assert [json.loads(one)["alphabet"]["values"] for one in sent] == [["left", "right", "straight on"]]
    wait_for_words(page, ".take-it pre", '"straight on"')  # and that is what is shown


def test_a_press_while_epsilon_is_looked_for_starts_nothing(page: Page, studio: RunningStudio) -> None:
    """The plan gives another epsilon, which nobody has seen yet: what is started stays as it is."""
    open_design(page, studio)
    choose(page, "Categories")
    sent: list[str] = []
    page.on("request", lambda one: sent.append(one.url) if one.url.endswith("/v1/surveys") else None)
    page.get_by_label("Answers, one a line").fill("up\ndown")
    start = page.get_by_role("button", name="Start collecting")
    start.click(force=True)  # the press that leaves the field
    wait_for_words(page, "#not-yet", "plan")
    wait_for_words(page, ".follows", "From this follows")
    start.and_(page.locator(ENABLED)).wait_for()
    assert sent == []
    page.get_by_label("The question, as people read it").fill(" ")
    start.click(force=True)
    assert page.evaluate("document.activeElement.id") == "title"  # where it is to be mended


def test_people_of_another_epsilon_are_not_taken(page: Page, studio: RunningStudio) -> None:
    open_design(page, studio)
    page.get_by_text("Choose epsilon yourself").click()
    page.get_by_role("button", name="How many people").click()
    page.wait_for_selector(".follows .progress")
    set_epsilon(page, "1")
    wait_for_words(page, ".follows", "You chose")
    # The draft itself: the field follows with the next preview.
    assert page.evaluate("JSON.parse(sessionStorage.getItem('confide design')).draft.people") == 100_000


def test_fields_say_what_is_wrong_with_them(page: Page, studio: RunningStudio) -> None:
    open_design(page, studio)
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url) if one.url.endswith("/preview") else None)
    page.get_by_text("More about it").click()
    for label, typed, words in (
        ("To", "9.5", "a whole number is needed"),
        ("To", "abc", "a number is needed"),
        ("To", "0", "at least two values"),
        ("People who answer, as a number", "-5", "a whole number above 0"),
        ("Groups to compare, one a line", "region north", "a colon"),
        ("Reports of one person at most", "many", "A whole number above 0, or nothing"),
    ):
        field = page.get_by_label(label, exact=True)
        before = field.input_value()
        field.fill(typed)
        field.press("Tab")
        wait_for_words(page, ".callout", words)
        assert field.get_attribute("aria-invalid") == "true"
        assert page.get_by_role("button", name="Start collecting").is_disabled()
        assert asked == []
        if label != "To" or typed == "0":
            field.fill("99" if label == "To" else before)
            field.press("Tab")
            page.wait_for_function("() => !document.querySelector('.steps [aria-invalid]')", polling=40)
            asked.clear()
            wait_for_words(page, ".take-it pre", "high = 99")
            page.wait_for_function("() => !document.querySelector('.take-it').classList.contains('stale')", polling=40)
            asked.clear()
    page.get_by_label("What one answer is called").fill("years")
    page.get_by_label("What one answer is called").press("Tab")
    page.get_by_label("One share").check()
    assert re.fullmatch(r"years >= \d+", page.get_by_label("The question that matters").input_value())
