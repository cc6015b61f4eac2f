"""What stands around the studio's screens: the token, a server that is gone, colours, the keyboard, the size."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

import pytest
from tests.pages.browser import AXE, INSTALL
from tests.studio.looking import faults, open_design, warm
from tests.studio.test_serving import eventually, with_token

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from tests.studio.running import RunningStudio


def test_all_files_together_are_small() -> None:
    """The static files and the client of the device: at most 1.5 MB in all."""
    places = [files("confide").joinpath("studio", "static"), files("confide").joinpath("studio", "client")]
    total = sum(len(one.read_bytes()) for place in places for one in place.iterdir() if one.is_file())
    assert 50_000 < total < 1_500_000


def test_pages_have_no_script_or_style_of_their_own() -> None:
    """The policy of contents refuses both, and a page would be blank."""
    for name in ("studio.html", "take.html"):
        text = files("confide").joinpath("studio", "static", name).read_text(encoding="utf-8")
        assert "<style" not in text
        assert "style=" not in text
        assert text.count("<script") == text.count('<script type="module" src=')


@pytest.mark.slow
def test_a_wrong_token_is_asked_for(page: Page, studio: RunningStudio) -> None:
    warm(studio)
    page.goto(f"{studio.url}/studio")
    page.get_by_role("heading", name="This studio needs a token").wait_for()
    assert "confide curate STORE --token read" in page.locator("#token-help").inner_text()
    if AXE.exists():
        assert faults(page) == []
    page.get_by_label("Token", exact=True).fill("confide-wrong")
    page.keyboard.press("Enter")
    page.locator(".trouble").wait_for()
    assert "token" in page.locator(".trouble").inner_text()
    page.get_by_label("Token", exact=True).fill(studio.token)
    page.keyboard.press("Enter")
    page.wait_for_selector(".one-report svg")
    assert studio.token not in page.url


@pytest.mark.slow
def test_a_server_that_is_gone_is_said_and_comes_back_by_itself(page: Page, studio: RunningStudio) -> None:
    open_design(page, studio)
    page.route("**/studio/v1/**", lambda route: route.abort())
    page.get_by_label("The question, as people read it").fill("Still here?")
    page.get_by_role("alert").filter(has_text="The server is gone").wait_for()
    page.unroute("**/studio/v1/**")
    page.wait_for_function("() => !document.querySelector('.banner')")
    page.wait_for_function("() => document.querySelector('.take-it pre').textContent.includes('Still here?')")


@pytest.mark.slow
def test_a_studio_that_was_started_anew_says_so_and_keeps_the_page(page: Page, studio: RunningStudio) -> None:
    open_design(page, studio)
    refusal = '{"error": {"code": "bad-token", "message": "This token is unknown."}}'
    page.route("**/studio/v1/**", lambda route: route.fulfill(status=403, body=refusal))
    page.get_by_label("The question, as people read it").fill("Still here?")
    page.get_by_role("alert").filter(has_text="started anew, open the address that it printed").wait_for()
    assert page.get_by_label("The question, as people read it").input_value() == "Still here?"
    page.unroute("**/studio/v1/**")
    page.goto(studio.address)  # in this tab: the draft is there
    page.wait_for_function("() => document.querySelector('.take-it pre')?.textContent.includes('Still here?')")
    assert page.locator(".banner").count() == 0


@pytest.mark.slow
def test_a_token_that_reads_lands_on_look_and_says_what_it_may(page: Page, studio: RunningStudio) -> None:
    reader = with_token(studio, "read")
    eventually(studio, "/studio/v1/start", reader)
    page.goto(f"{studio.url}/studio#token={reader}")
    page.wait_for_function("() => document.title.includes('Look')")
    assert page.locator("nav a:visible").all_inner_texts() == ["Look"]
    page.goto(f"{studio.url}/studio#/play")
    page.get_by_role("heading", name="Your token may look").wait_for()
    page.goto(f"{studio.url}/studio#/constructor")  # no screen of that name
    page.wait_for_function("() => document.title.includes('Look')")
    assert page.locator(".banner").count() == 0


@pytest.mark.slow
def test_colours_are_chosen_and_kept(page: Page, studio: RunningStudio) -> None:
    open_design(page, studio)
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_label("Colours of the page").select_option("Dark")
    dark = page.evaluate(ground)
    assert dark != light
    page.reload()
    page.wait_for_selector(".one-report svg")
    assert page.evaluate(ground) == dark
    page.emulate_media(color_scheme="dark")
    page.get_by_label("Colours of the page").select_option("Light")
    assert page.evaluate(ground) == light


@pytest.mark.slow
def test_everything_is_reached_by_keyboard(page: Page, studio: RunningStudio) -> None:
    open_design(page, studio)
    page.wait_for_selector(".expected svg")
    wanted = page.evaluate(
        """() => [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
          .filter(one => one.checkVisibility({ visibilityProperty: true }) && !one.disabled)
          .filter(one => one.type !== 'radio' || one.checked)
          .map((one, number) => { one.dataset.wanted = number; return number; })"""
    )
    reached = set()
    for _ in range(len(wanted) + 3):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.dataset.wanted ?? ''"))
    assert {str(number) for number in wanted} <= reached
    page.reload()
    page.wait_for_selector(".one-report svg")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "dropped-file"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.name") == "template"
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.activeElement.value === 'ranges'")  # fields were made anew; the focus stayed


@pytest.mark.slow
@pytest.mark.skipif(not AXE.exists(), reason=f"needs axe-core: {INSTALL}")
def test_a_new_screen_takes_the_focus_and_the_title(page: Page, studio: RunningStudio) -> None:
    open_design(page, studio)
    assert page.title() == "Design · confide"
    page.get_by_role("link", name="Play").click()
    page.wait_for_function("() => document.title.includes('Play')")
    page.wait_for_function("() => document.activeElement.tagName === 'H1' || document.activeElement.id === 'main'")
