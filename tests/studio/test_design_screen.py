"""The studio's Design screen as a person uses it, in Chromium."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.pages.browser import AXE, CUT, INSTALL
from tests.studio.looking import faults, open_design, watch

import confide as cf

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page
    from tests.studio.running import RunningStudio

pytestmark = pytest.mark.slow

HOSTILE = "<img src=x onerror=\"document.title='owned'\"> & 'so' \"on\" \u202egnitirw"

NAMES = {"Ages": "age", "Scale": "mark", "Categories": "way", "Homes": "home", "Places": "place"}
"""What one answer is called in the survey of each kind."""


def choose(page: Page, kind: str) -> None:
    """Choose a kind of question, and wait until the fields are those of it."""
    page.get_by_label(kind, exact=True).check()
    wait_for_words(page, ".take-it pre", f'name = "{NAMES[kind]}"')


def wait_for_words(page: Page, selector: str, words: str) -> None:
    page.wait_for_function(
        "([selector, words]) => document.querySelector(selector)?.textContent.includes(words)",
        arg=[selector, words],
        polling=40,  # a tab in the background paints once a second, which is what is waited for by itself
    )


def test_a_survey_is_designed_and_collects(page: Page, studio: RunningStudio) -> None:
    seen = open_design(page, studio)
    choose(page, "Categories")
    page.get_by_label("The question, as people read it").fill("Which drink do you like best?")
    page.get_by_label("Answers, one a line").fill("tea\ncoffee\nwater")
    page.get_by_label("People who answer, as a number").fill("20,000")
    page.get_by_label("People who answer, as a number").press("Tab")
    page.get_by_text("Choose epsilon yourself").click()
    page.get_by_label("Epsilon, as a number").fill("1.5")
    page.get_by_label("Epsilon, as a number").press("Enter")
    wait_for_words(page, ".promised dd", "82 to 18")  # e^1.5 to 1
    wait_for_words(page, ".take-it pre", "epsilon = 1.5")
    page.wait_for_selector(".expected svg")
    page.get_by_role("button", name="Start collecting").click()
    address = page.locator("a.address").get_attribute("href")
    fingerprint = re.fullmatch(re.escape(studio.url) + "/take/([0-9a-f]{32})", address or "")
    assert fingerprint
    survey = cf.Survey.from_json(studio.ask(f"/v1/surveys/{fingerprint[1]}").body.decode())
    assert survey.alphabet == cf.Categories(["tea", "coffee", "water"])
    assert (survey.title, survey.mechanism.guarantee) == ("Which drink do you like best?", cf.mechanisms.LocalDP(1.5))
    page.get_by_role("link", name="Look at what comes in").click()
    page.wait_for_function("() => document.querySelector('nav [aria-current]').textContent === 'Look'")
    assert seen.foreign(studio.url) == []
    assert seen.complaints == []  # of the policy of contents among others


def test_the_word_of_a_template_goes_with_its_question(page: Page, studio: RunningStudio) -> None:
    open_design(page, studio)
    choose(page, "Categories")
    question = page.get_by_label("The question, as people read it")
    page.get_by_text("Choose epsilon yourself").click()
    question.fill("Do you smoke?")
    page.get_by_label("Answers, one a line").fill("yes\nno\nunsure")
    page.get_by_label("Answers, one a line").press("Tab")
    wait_for_words(page, ".take-it pre", 'name = "answer"')
    wait_for_words(page, ".take-it pre", '"unsure"]')
    page.get_by_label("One share").check()
    assert page.get_by_label("The question that matters").input_value() == "answer == 'yes'"
    page.get_by_text("More about it").click()
    name = page.get_by_label("What one answer is called")
    assert name.input_value() == "answer"
    question.fill("How do you get to work?")  # which it began with
    wait_for_words(page, ".take-it pre", 'name = "way"')
    assert name.input_value() == "way"
    name.fill("habit")
    name.press("Tab")
    question.fill("Do you smoke at all?")
    wait_for_words(page, ".take-it pre", 'title = "Do you smoke at all?"')
    wait_for_words(page, ".take-it pre", 'name = "habit"')
    name.fill("way")  # a word that was chosen stays, whatever it is
    name.press("Tab")
    question.fill("Do you smoke?")
    wait_for_words(page, ".take-it pre", 'title = "Do you smoke?"')
    assert 'name = "way"' in (page.locator(".take-it pre").first.text_content() or "")


def test_epsilon_follows_from_the_target(page: Page, studio: RunningStudio) -> None:
    open_design(page, studio)
    choose(page, "Categories")
    page.get_by_label("Answers, one a line").fill("yes\nno")
    found = {}
    for percent in ("4", "1"):
        page.get_by_label(re.compile("may be off, all together, by, as a number")).fill(percent)
        page.keyboard.press("Tab")
        # What is expected tells which target the plan is of; its progress may come and go between two looks.
        of_this = (
            "target => { const words = document.querySelector('.follows')?.textContent ?? '';"
            " const off = Number(/to be off by ([\\d.]+)%/.exec(words)?.[1]);"
            " return words.includes('From this follows') && off > target / 2 && off < 1.2 * target; }"
        )
        page.wait_for_function(of_this, arg=float(percent), polling=40)
        words = page.locator(".follows strong").inner_text()
        found[percent] = float(words.split()[1])
    assert found["4"] < found["1"]  # the more precise, the larger epsilon
    wait_for_words(page, ".take-it pre", f"epsilon = {found['1']}")


def test_a_plan_can_be_stopped(page: Page, studio: RunningStudio) -> None:
    open_design(page, studio)
    page.get_by_label("It may be off by, as a number").fill("0.11")
    page.keyboard.press("Tab")
    page.locator(".follows").get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Find epsilon").wait_for()
    assert page.locator(".follows .trouble").count() == 0


def test_a_plan_tells_a_first_answer_which_can_be_taken(page: Page, studio: RunningStudio) -> None:
    open_design(page, studio)
    page.get_by_label("It may be off by, as a number").fill("0.31")
    page.keyboard.press("Tab")
    first = page.locator(".follows .first")
    first.get_by_role("button", name="Take it as it is").wait_for()
    found = re.search(r"First answer: about epsilon ([\d.]+) per year; looking closer", first.inner_text())
    assert found
    assert page.locator(".follows").get_by_role("button", name="Stop").is_visible()
    first.get_by_role("button", name="Take it as it is").click()
    wait_for_words(page, ".follows", "on average of 3 made-up surveys")
    shown = float(page.locator(".follows strong").inner_text().split()[1])
    assert shown == pytest.approx(float(found[1]), rel=0.06)  # the first has two digits
    page.get_by_role("button", name="Start this survey").click()  # beside epsilon, not below everything
    page.locator("a.address").wait_for()
    assert page.evaluate("document.activeElement.className") == "address"


def test_the_same_wishes_have_the_same_epsilon_however_one_came_there(page: Page, studio: RunningStudio) -> None:
    open_design(page, studio)
    epsilon, error = page.locator(".follows strong"), page.get_by_label("It may be off by, as a number")
    wait_for_words(page, ".follows", "From this follows")
    first = epsilon.inner_text()
    error.fill("2")
    error.press("Tab")
    planned = "([own, first]) => { const words = document.querySelector('.follows')?.textContent ?? '';"
    planned += " return words.includes('From this follows') && words.includes(first) === own; }"
    page.wait_for_function(planned, arg=[False, first], polling=40)
    error.fill("0.5")
    error.press("Tab")
    page.wait_for_function(planned, arg=[True, first], polling=40)
    # Back before the plan of something else is done: its answer is not taken for this one's.
    error.fill("0.23")
    error.press("Tab")
    page.wait_for_function("() => !document.querySelector('.follows').textContent.includes('From this')", polling=40)
    error.fill("0.5")
    error.press("Tab")
    page.wait_for_function(planned, arg=[True, first], polling=40)
    page.wait_for_timeout(1000)  # for a late answer to be taken, where one is
    assert epsilon.inner_text() == first


def test_people_follow_from_an_epsilon_that_was_chosen(page: Page, studio: RunningStudio) -> None:
    open_design(page, studio)
    choose(page, "Categories")
    page.get_by_label("Answers, one a line").fill("yes\nno")
    page.get_by_label("One share").check()
    page.get_by_label("The question that matters").fill("way == 'yes'")
    page.get_by_text("Choose epsilon yourself").click()
    page.get_by_label("Epsilon, as a number").fill("3")
    page.get_by_label("Epsilon, as a number").press("Enter")
    page.get_by_role("button", name="How many people").click()
    people = page.get_by_label("People who answer, as a number")
    page.wait_for_function("() => document.querySelector('.slider .number').value !== '10,000'", polling=40)
    # At epsilon 3 noise hardly counts: half a width of 2 % takes (1.96 / 0.02)^2 p (1 - p) people, 2,400 at most.
    assert 1000 < int(people.input_value().replace(",", "")) < 6000


def test_another_mechanism_is_chosen(page: Page, studio: RunningStudio) -> None:
    open_design(page, studio)
    choose(page, "Categories")
    page.get_by_label("Answers, one a line").fill("yes\nno")
    page.get_by_label("Answers, one a line").press("Tab")
    wait_for_words(page, ".take-it pre", '"no"]')
    page.get_by_text("Choose epsilon yourself").click()
    page.get_by_label("Mechanism").select_option("rappor")
    wait_for_words(page, ".take-it pre", 'kind = "rappor"')


def test_a_survey_of_made_up_people_is_not_collected_anew(page: Page, studio: RunningStudio) -> None:
    open_design(page, studio)
    # The first template, as it is, on a store that is new: it can be started.
    page.get_by_role("button", name="Start collecting").and_(page.locator(":not([aria-disabled])")).wait_for()
    page.get_by_text("Choose epsilon yourself").click()
    page.get_by_label("Epsilon, as a number").fill("0.06")  # that of the ages that the studio itself begins with
    page.get_by_label("Epsilon, as a number").press("Enter")
    page.get_by_text("More about it").click()
    page.get_by_label("Reports of one person at most").fill("")  # these have no limit, and drafts have one
    page.get_by_label("Reports of one person at most").press("Tab")
    wait_for_words(page, ".take-it", "made-up people answer it")
    assert page.get_by_role("button", name="Start collecting").count() == 0


def test_extremes_are_warned_of(page: Page, studio: RunningStudio) -> None:
    open_design(page, studio)
    page.get_by_text("Choose epsilon yourself").click()
    for epsilon, words in (("20", "Nearly the truth"), ("0.0005", "Nearly nothing")):
        page.get_by_label("Epsilon, as a number").fill(epsilon)
        page.get_by_label("Epsilon, as a number").press("Enter")
        wait_for_words(page, ".callout", words)
    page.get_by_label("Epsilon, as a number").fill("none")
    page.get_by_label("Epsilon, as a number").press("Enter")
    assert page.get_by_label("Epsilon, as a number").get_attribute("aria-invalid") == "true"


def test_one_report_moves_with_the_true_value(page: Page, studio: RunningStudio) -> None:
    open_design(page, studio)
    page.locator("#true-value").fill("60")
    wait_for_words(page, ".one-report .mark-words", "true age: 60")
    box = page.locator(".one-report svg").bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] * 0.25, box["y"] + box["height"] / 2)
    page.wait_for_function("() => Number(document.querySelector('#true-value').value) < 35")
    assert 10 < int(page.locator("#true-value").input_value()) < 35


WHERE = """value => {
  const svg = document.querySelector('.one-report svg');
  const middle = one => { const box = one.getBoundingClientRect(); return box.x + box.width / 2; };
  const mark = svg.querySelector('line.mark'), box = mark.getBoundingClientRect();
  const tick = [...svg.querySelectorAll('text.tick')].find(one => one.textContent === value);
  const place = { clientX: middle(tick), clientY: box.y + box.height / 2, bubbles: true };
  svg.dispatchEvent(new PointerEvent('pointermove', place));
  return [middle(mark), middle(tick), document.querySelector('.one-report .readout').textContent];
}"""


def test_ticks_marks_and_the_pointer_name_the_same_value(page: Page, studio: RunningStudio) -> None:
    """Of values that begin with another number than 0: what counts from the first and what counts from 0 differ."""
    open_design(page, studio)
    page.get_by_label("From", exact=True).fill("18")
    page.get_by_label("From", exact=True).press("Tab")
    page.get_by_label("To", exact=True).fill("77")
    page.get_by_label("To", exact=True).press("Tab")
    wait_for_words(page, ".take-it pre", "low = 18")
    wait_for_words(page, ".take-it pre", "high = 77")
    page.locator("#true-value").fill("22")  # of the values, counted from 0
    wait_for_words(page, ".one-report .mark-words", "40")
    mark, tick, read = page.evaluate(WHERE, "40")  # at once: the picture may be drawn anew at any time
    assert abs(mark - tick) < 2
    assert "age 40:" in read
    page.locator(".one-report summary", has_text="Numbers").click()
    page.wait_for_function("() => document.querySelectorAll('.one-report tbody tr').length === 60", polling=40)
    shares = page.evaluate(
        "[...document.querySelectorAll('.one-report tbody tr')].map(row => row.innerText.split(/\\s+/))"
    )
    assert [row[0] for row in shares] == [str(age) for age in range(18, 78)]
    # The likeliest report is the true value itself; an end collects what lies beyond it.
    assert max(shares[1:-1], key=lambda row: float(row[-1].rstrip("%")))[0] == "40"


def test_a_true_place_is_picked_on_the_map(page: Page, studio: RunningStudio) -> None:
    open_design(page, studio)
    choose(page, "Places")
    page.locator("#true-place").wait_for()
    assert page.locator("#true-value").count() == 0  # a line of 280 cells is no map
    map_ = page.locator(".one-report .canvas")
    map_.focus()
    seen = [page.locator("#true-place").inner_text()]
    for key in ("ArrowUp", "ArrowRight", "ArrowDown", "ArrowLeft"):
        page.keyboard.press(key)
        page.wait_for_function("words => document.querySelector('#true-place').textContent !== words", arg=seen[-1])
        seen.append(page.locator("#true-place").inner_text())
    # Cells are 500 m wide; the place is told from the corner, not by the number of its cell.
    cells = [
        tuple(float(far) / (1 if unit == "km" else 1000) for far, unit in re.findall(r"([\d.]+) (k?m)", one))
        for one in seen
    ]
    up, across = cells[0]
    assert cells[1:] == [(up + 0.5, across), (up + 0.5, across + 0.5), (up, across + 0.5), (up, across)]
    assert map_.evaluate("one => one === document.activeElement")
    ground = page.locator(".one-report svg .ground").first.bounding_box()
    assert ground
    page.mouse.click(ground["x"] + 2, ground["y"] + 2)  # the upper left: the last row, the first column
    wait_for_words(page, "#true-place", "9.75 km up, 250 m across")
    page.keyboard.press("ArrowUp")  # there is nothing beyond
    page.keyboard.press("ArrowRight")
    wait_for_words(page, "#true-place", "9.75 km up, 750 m across")
    wait_for_words(page, ".expected svg", "estimate")
    told = page.locator("main").inner_text()
    assert "Two places about 500 m apart" in told
    assert re.search(r"half of their reports lie within [\d.]+ k?m of it", told)
    assert not re.search(r"\(\d+, \d+\)", page.locator(".promised").inner_text())
    assert re.search(r"^\d+ k?m$", page.locator(".one-report svg .scale-bar + text").text_content() or "")
    choose(page, "Homes")
    wait_for_words(page, "#true-place", "° N")
    assert re.fullmatch(r"[\d.]+° N, [\d.]+° W", page.locator("#true-place").inner_text())
    choose(page, "Ages")
    page.locator("#true-value").wait_for()
    assert map_.get_attribute("tabindex") is None


def test_reload_and_back_lose_nothing_and_tabs_are_apart(context: BrowserContext, studio: RunningStudio) -> None:
    page, other = context.new_page(), context.new_page()
    open_design(page, studio)
    open_design(other, studio)
    page.bring_to_front()
    page.get_by_label("The question, as people read it").fill("How old is your cat?")
    page.get_by_label("To", exact=True).fill("25")
    page.get_by_label("To", exact=True).press("Tab")
    wait_for_words(page, ".take-it pre", "high = 25")
    page.reload()
    wait_for_words(page, ".take-it pre", "high = 25")
    assert page.get_by_label("The question, as people read it").input_value() == "How old is your cat?"
    page.get_by_role("link", name="Play").click()
    page.go_back()
    wait_for_words(page, ".take-it pre", "How old is your cat?")
    choose(page, "Scale")
    page.get_by_label("Ages", exact=True).check()
    wait_for_words(page, ".take-it pre", "high = 25")
    assert page.get_by_label("To", exact=True).input_value() == "25"
    other.reload()
    wait_for_words(other, ".take-it pre", "high = 99")


def test_hostile_words_are_words(page: Page, studio: RunningStudio) -> None:
    seen = open_design(page, studio)
    choose(page, "Categories")
    page.get_by_label("The question, as people read it").fill(HOSTILE)
    page.get_by_label("Answers, one a line").fill(f"tea\n{HOSTILE}")
    page.get_by_label("Answers, one a line").press("Tab")
    wait_for_words(page, ".one-report svg", "<img src=x")
    wait_for_words(page, ".take-it", "<img src=x")
    page.wait_for_selector(".expected svg")
    assert page.locator("img").count() == 0
    assert page.title() == "Design · confide"
    assert seen.complaints == []


def test_a_draft_that_is_none_says_what_is_wrong(page: Page, studio: RunningStudio) -> None:
    open_design(page, studio)
    page.get_by_label("To", exact=True).fill("-5")
    page.get_by_label("To", exact=True).press("Tab")
    wait_for_words(page, ".callout", "This draft is no survey yet")
    page.get_by_label("To", exact=True).fill("50")
    page.get_by_label("To", exact=True).press("Tab")
    wait_for_words(page, ".take-it pre", "high = 50")
    assert "no survey" not in page.locator(".outlook").inner_text()


def test_a_slider_answers_every_movement_and_drops_what_is_stale(page: Page, studio: RunningStudio) -> None:
    open_design(page, studio)
    page.get_by_text("Choose epsilon yourself").click()
    page.wait_for_selector(".expected svg")  # the simulation is over, and takes no processor
    asked = watch(page)
    page.locator("#epsilon").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        shown = page.get_by_label("Epsilon, as a number").input_value()
        wait_for_words(page, ".take-it pre", f"epsilon = {shown}")
    before = len([one for one in asked.requests if one.endswith("/preview")])
    page.evaluate(
        """() => { const one = document.querySelector('#epsilon');
          for (let i = 0; i < 60; i++) { one.value = 400 + i; one.dispatchEvent(new Event('input')); } }"""
    )
    last = page.get_by_label("Epsilon, as a number").input_value()
    wait_for_words(page, ".take-it pre", f"epsilon = {last}")
    assert len([one for one in asked.requests if one.endswith("/preview")]) - before <= 3


@pytest.mark.parametrize("kind", ["Ages", "Categories", "Homes"])
def test_nothing_is_cut_from_360_to_1600_pixels(page: Page, studio: RunningStudio, kind: str) -> None:
    open_design(page, studio)
    choose(page, kind)
    if kind == "Categories":
        page.get_by_label("Answers, one a line").fill(f"tea\n{'a very long answer indeed, ' * 9}\nnone")
        page.get_by_label("Answers, one a line").press("Tab")
        wait_for_words(page, ".expected svg", "tea")
    if kind == "Ages":
        page.locator("#true-value").fill("99")
        wait_for_words(page, ".one-report .mark-words", "99")
    page.wait_for_selector(".expected svg")
    for width in (360, 768, 1600):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("width => innerWidth === width", arg=width)
        page.wait_for_function(f"() => ({CUT})().length === 0", polling=40)  # drawings follow the window


@pytest.mark.skipif(not AXE.exists(), reason=f"needs axe-core: {INSTALL}")
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_axe_finds_nothing(page: Page, studio: RunningStudio, scheme: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    open_design(page, studio)
    page.wait_for_selector(".expected svg")
    assert faults(page) == []
    choose(page, "Categories")  # a list of values, where others have a slider
    assert faults(page) == []
    low = "() => [...document.querySelectorAll('main button, main .chip label, main select')]"
    low += ".filter(one => one.offsetParent && one.getBoundingClientRect().height < 43.9).map(one => one.textContent)"
    assert width > 620 or page.evaluate(low) == []  # for thumbs


def test_pictures_are_taken_along(page: Page, studio: RunningStudio, tmp_path: Path) -> None:
    page.emulate_media(color_scheme="dark")
    open_design(page, studio)
    page.wait_for_selector(".expected svg")
    wait_for_words(page, ".expected", "will be known to within")  # windows follow the picture
    page.locator(".expected summary", has_text="Numbers").click()
    page.locator(".expected td").first.wait_for()
    # The table is drawn anew when windows come closer.
    page.locator(".expected td", has_text=re.compile(r"^2\.\d%$")).first.wait_for()
    saved = {}
    for kind in ("CSV", "SVG", "PNG"):
        with page.expect_download() as coming:
            page.locator(".expected").get_by_role("button", name=kind).click()
        saved[kind] = tmp_path / coming.value.suggested_filename
        coming.value.save_as(saved[kind])
    rows = saved["CSV"].read_text(encoding="utf-8").splitlines()
    assert rows[0] == "age,the guessed truth,reports,estimate"
    assert len(rows) == 101
    assert sum(float(row.split(",")[3]) for row in rows[1:]) == pytest.approx(1)
    truth = cf.datasets.load("adult_ages").distribution
    assert [float(row.split(",")[1]) for row in rows[1:]] == pytest.approx(truth.tolist())
    drawing = saved["SVG"].read_text(encoding="utf-8")
    assert "rgb(255, 255, 255)" in drawing  # paper is light, whatever the page is
    assert "class=" not in drawing
    assert "var(" not in drawing
    assert "will be known to within" in drawing
    assert saved["PNG"].read_bytes().startswith(b"\x89PNG")
