"""Look and Play in a browser, and the whole way of a survey: asked, answered on a phone, looked at, taken along."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.pages.browser import AXE, CUT, INSTALL
from tests.studio.running import RunningStudio, running_studio

import confide as cf
from confide.collector.wire import Wire

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route


def added(studio: RunningStudio, epsilon: float, people: int = 0, **settings: Any) -> str:
    """Return the fingerprint of a survey of ages of its own, answered by so many people."""
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 99, unit="year"), epsilon)
    survey = cf.Survey(mechanism, **({"name": "age", "title": f"Ages at {epsilon}"} | settings))
    said = studio.ask("/v1/surveys", survey.to_json().encode())
    assert said.status == 201, said.body
    if people:
        post(studio, survey, people)
    return survey.fingerprint


def post(studio: RunningStudio, survey: cf.Survey, people: int, values: Any = None, **beside: Any) -> None:
    from datetime import UTC, datetime

    known = cf.datasets.load("adult_ages").values() if values is None else values
    people_values = np.random.default_rng(0).choice(known, people)
    reports = Wire.of(survey).to_lists(survey.privatize(people_values, taken=True))
    for start in range(0, people, 10_000):
        batch = {"survey": survey.fingerprint, "batch": os.urandom(16).hex(), "day": f"{datetime.now(UTC):%Y-%m-%d}"}
        part = reports[start : start + 10_000]
        said = studio.ask("/v1/reports", batch | {"reports": part} | beside, who=None)
        assert said.json["accepted"] == len(part), said.body


def look_at(page: Page, studio: RunningStudio, fingerprint: str) -> None:
    """Open the studio as a person does, and go to a survey."""
    page.goto(studio.address)
    page.get_by_role("link", name="Look", exact=True).click()
    page.locator(f'[data-survey="{fingerprint}"]').click()


def saved(page: Page, name: str, folder: Path) -> Path:
    """Press a button of Take along, and return the file."""
    with page.expect_download() as coming:
        page.locator(".along").get_by_role("button", name=name, exact=True).click()
    file = folder / coming.value.suggested_filename
    coming.value.save_as(file)
    return file


@pytest.mark.slow
def test_the_whole_way_of_a_survey(studio: RunningStudio, page: Page, browser: Browser, tmp_path: Path) -> None:
    fingerprint = added(studio, 0.11, title="How <b>old</b> & wise?")
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url))
    look_at(page, studio, fingerprint)
    page.get_by_role("heading", level=1, name="How <b>old</b> & wise?", exact=True).wait_for()
    page.get_by_role("heading", name="No report has come yet").wait_for()
    address = page.locator(".empty .invitation a.address").inner_text()

    phone = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True).new_page()
    phone.goto(address)
    phone.get_by_label("typed").fill("37")
    phone.get_by_role("button", name="Blur my answer").tap()
    phone.get_by_role("button", name="Send", exact=True).tap()
    phone.get_by_role("heading", name="Sent. Thank you.").wait_for()
    phone.context.close()

    page.bring_to_front()
    page.locator(".live-count", has_text=re.compile("^1$")).wait_for()
    page.locator(".verdict-place .verdict").wait_for()
    first = page.locator(".picture svg").first.inner_html()
    survey = cf.Survey.from_json(studio.ask(f"/v1/surveys/{fingerprint}").body.decode())
    post(studio, survey, 20_000)
    page.locator(".live-count", has_text="20,001").wait_for()
    page.get_by_text("Of 20,001 reports").wait_for()
    assert page.locator(".picture svg").first.inner_html() != first
    median = page.locator(".look .answers div", has_text="median").locator("dd").first.inner_text()
    assert 35 <= float(median) <= 41

    page.get_by_label("Ask how many").fill("agge >= 65")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_text("'agge' is not a name here").wait_for()
    page.get_by_label("Ask how many").fill("age >= 65")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator(".questions dd.ends").wait_for()
    assert page.locator(".question .trouble").inner_text() == ""

    look = json.loads(saved(page, "JSON", tmp_path).read_text())
    saved(page, "Counts", tmp_path)
    run_again(page.locator(".along pre").nth(1).text_content() or "", look, tmp_path)
    assert saved(page, "CSV", tmp_path).read_text().count("\n") == 101
    assert saved(page, "SVG", tmp_path).read_text().startswith("<svg")
    assert saved(page, "PNG", tmp_path).read_bytes()[:4] == b"\x89PNG"
    assert "<h1>" in saved(page, "Page", tmp_path).read_text()
    assert '<body class="slides">' in saved(page, "Slides", tmp_path).read_text()
    evidence = saved(page, "Evidence", tmp_path).read_text()
    assert "Who could read what" in evidence
    assert fingerprint in evidence
    cells = json.loads(saved(page, "Notebook", tmp_path).read_text())["cells"]
    (code,) = ("".join(one["source"]) for one in cells if one["cell_type"] == "code")
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path, check=True, capture_output=True)
    assert json.loads(saved(page, "Survey", tmp_path).read_text())["fingerprint"] == fingerprint
    assert all(one.startswith((studio.url, "data:", "blob:")) for one in asked)


def run_again(code: str, look: dict[str, Any], folder: Path) -> None:
    """Run the exported Python beside the exported counts, and compare its numbers with the page's."""
    ran = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    lines = ran.stdout.splitlines()
    assert [float(line.rpartition(": ")[2]) for line in lines[:100]] == pytest.approx(look["distribution"], abs=1e-4)
    (one,) = look["queries"]
    assert one["query"] == "age >= 65"
    told = [float(number) for number in re.findall(r"\d\.\d+", lines[-1])[:3]]
    assert told == pytest.approx([one["estimate"], one["low"], one["high"]], rel=0.02, abs=1e-4)


@pytest.mark.slow
def test_brushed_grouped_compared_and_closed(studio: RunningStudio, page: Page, tmp_path: Path) -> None:
    fingerprint = added(studio, 0.12, groups={"town": ("Oslo", "Bern")})
    survey = cf.Survey.from_json(studio.ask(f"/v1/surveys/{fingerprint}").body.decode())
    for town in ("Oslo", "Bern"):
        post(studio, survey, 3_000, groups={"town": town})
    look_at(page, studio, fingerprint)
    page.get_by_role("heading", name="Groups, side by side").wait_for()
    assert page.get_by_role("cell", name="town Bern").count() == 1
    # By keyboard: the first value of the range is brought to 20, and the question is asked when the keys are let go.
    handle = page.get_by_role("slider", name="first age of the chosen range").first
    handle.press("PageUp")
    page.locator(".questions dt", has_text="age >= 10").wait_for()
    assert page.get_by_label("Ask how many").input_value() == "age >= 10"
    # However often it moves, the brush is one question, and none that is refused stays in the way.
    for _ in range(25):
        handle.press("ArrowRight")
    page.locator(".questions dt", has_text="age >= 35").wait_for()
    assert page.locator(".questions dt").count() == 1
    for wrong, words in (("age ~ 3", "age ~ 3"), ("age >= 1" + 5000 * "1", "1,000 characters")):
        page.get_by_label("Ask how many").fill(wrong)
        page.get_by_role("button", name="Ask", exact=True).click()
        page.locator(".question .trouble", has_text=words).wait_for()
    page.get_by_label("Ask how many").fill("age >= 65")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator(".questions dt", has_text="age >= 65").wait_for()
    look = json.loads(saved(page, "JSON", tmp_path).read_text())
    assert [one["query"] for one in look["queries"]] == ["age >= 35", "age >= 65"]
    page.get_by_text("Methods, side by side").click()
    page.locator(".legend", has_text="INV-N").wait_for()
    page.get_by_label("MLE").check()
    page.locator(".legend", has_text="MLE").wait_for()
    page.get_by_text("Diagnosis").click()
    page.get_by_text("Matrix inversion, before any repair").wait_for()
    page.get_by_role("button", name="Close this survey…").click()
    assert page.evaluate("document.activeElement.textContent") == "Keep it open"
    page.get_by_role("button", name="Keep it open").click()
    assert studio.ask(f"/studio/v1/watch/{fingerprint}").json["is_closed"] is False
    page.get_by_role("button", name="Close this survey…").click()
    page.get_by_role("button", name="Close it for good").click()
    page.locator(".marks", has_text="closed").wait_for()
    assert studio.ask(f"/studio/v1/watch/{fingerprint}").json["is_closed"] is True


@pytest.mark.slow
def test_a_map_says_where_it_lies_and_how_much_is_in_each_district(studio: RunningStudio, page: Page) -> None:
    area = cf.Places(south=40.7044, west=-74.0205, north=40.7942, east=-73.9374, cell="1 km")
    survey = cf.Survey(cf.TruncatedPlanarLaplace(area, 1.5), name="home", title="Where do you live?")
    assert studio.ask("/v1/surveys", survey.to_json().encode()).status == 201
    post(studio, survey, 2_000, values=np.array([(5, 4), (5, 5), (1, 1), (8, 2)]))
    page.set_viewport_size({"width": 390, "height": 844})
    held: list[Route] = []
    long = '"more":true'
    page.route("**/studio/v1/jobs", lambda one: held.append(one) if long in one.request.post_data else one.continue_())
    look_at(page, studio, survey.fingerprint)
    # Districts take seconds: picture and answers do not wait for them, and the example is one that can be asked.
    finding = page.locator("figure .finding").first
    finding.filter(has_text="The most populated is the cell at 40.7").wait_for()
    example = re.search("(?<=such as )[^;]*", page.locator("#question-help").inner_text())
    assert example is not None
    page.get_by_label("Ask how many").fill(example[0])
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator(".questions dt", has_text=example[0]).wait_for()
    assert page.locator(".verdict").inner_text() == "Goodness of fit: being tested…"
    assert page.evaluate(CUT) == []
    held[0].continue_()
    page.unroute("**/studio/v1/jobs")
    page.locator(".picture .district").first.wait_for()
    words = page.locator(".picture .tick").all_text_contents()
    assert {"40.750° N", "74.000° W"} <= set(words)
    assert "within 2 km of 40.749, -73.979" in page.locator("#question-help").inner_text()
    assert "The most populated is district 1 (" in page.locator("figure .finding").first.inner_text()
    # So few people on so many cells would not show bots, nor any other fault whose power is known.
    assert page.locator(".verdict").inner_text() == "Goodness of fit: cannot be tested here."
    page.locator(".picture .brush-ground").last.hover()
    assert re.match(r"40\.7\d+ N, 7[34]\.\d+ W: ", page.locator(".picture .readout").first.inner_text())
    north = page.get_by_role("slider", name="northern edge")
    north.press("ArrowDown")
    assert re.fullmatch(r"40\.7\d+° N", north.get_attribute("aria-valuetext") or "")
    card = page.locator(".questions dt", has_text="cell in")
    card.wait_for()
    assert re.match(r"the box from 40\.70\d° N, 74\.02\d° W to 40\.7\d\d° N, 73\.9\d\d° W", card.inner_text())


@pytest.mark.slow
def test_playing_follows_the_sliders(studio: RunningStudio, page: Page) -> None:
    page.goto(studio.address)
    page.get_by_role("link", name="Play", exact=True).click()
    words = page.locator("main .lead").nth(1)
    words.filter(has_text="Stacked comes closest, ").wait_for()
    assert page.locator("tbody tr").first.inner_text().startswith("Stacked")
    assert page.locator("svg .axis-name", has_text="age (years)").count() == 1
    # What is quick follows at once; what takes longer is faded, of the setting before, until it comes.
    held: list[Route] = []
    page.route(
        "**/studio/v1/jobs", lambda one: one.continue_() if "within" in one.request.post_data else held.append(one)
    )
    page.get_by_role("slider", name="Epsilon").focus()
    page.keyboard.press("ArrowRight")
    words.filter(has_text="so far").wait_for()
    assert page.locator("svg .of-stacked.old").count() == 1
    assert page.locator("svg .of-normalized.old").count() == 0
    assert page.locator("tbody tr.old", has_text="Stacked").count() == 1
    held[0].continue_()
    page.unroute("**/studio/v1/jobs")
    words.filter(has_not_text="so far").wait_for()
    assert page.locator(".old").count() == 0
    # Rough methods are thin and behind, the default last; a method is one line, and what it does is told below.
    curves = page.locator("svg .curve").evaluate_all("all => all.map((one) => one.getAttribute('class'))")
    assert curves[-1] == "curve main of-stacked"
    assert {one.split()[-1] for one in curves if "rough" in one} == {"of-mle", "of-normalized"}
    assert all("rough" in one for one in curves[:2])
    assert max(page.locator("tbody tr").evaluate_all("all => all.map((one) => one.offsetHeight)")) < 45
    assert "mixes several methods" in (page.locator(".explained").text_content() or "")
    assert page.get_by_role("columnheader", name="distance from the truth").count() == 1
    page.get_by_role("slider", name="People").focus()
    page.keyboard.press("End")
    words.filter(has_text="1,000,000 people").wait_for()
    page.keyboard.press("Home")
    words.filter(has_text="100 people").wait_for()
    # Of other data nothing is told any more before the first picture of it comes.
    page.route("**/studio/v1/jobs", lambda one: held.append(one))  # noqa: PLW0108 (a method of a list has no room for a mark)
    page.get_by_label("Data", exact=True).select_option(label="Check-ins in San Francisco, Gowalla")
    assert words.inner_text() == "Asking these people…"
    assert page.locator(".stale figure").count() == 1
    page.unroute("**/studio/v1/jobs")
    page.get_by_role("button", name="Ask other people").click()
    words.filter(has_text="km").wait_for()
    page.locator(".stale").wait_for(state="detached")  # the mechanism that suits these data may come after the press
    words.filter(has_text="km").wait_for()
    page.locator("svg .heat-of-16").first.wait_for()
    page.get_by_text("Numbers", exact=True).click()
    with page.expect_download() as coming:
        page.get_by_role("button", name="SVG", exact=True).click()
    drawn = coming.value.path().read_text()
    assert "rgb(20, 23, 77)" in drawn  # the most of the scale that figures have
    assert "color(" not in drawn
    page.get_by_label("Mechanism", exact=True).select_option("rappor")
    page.get_by_label("RAP-N").check()
    page.locator("tbody tr", has_text="RAP-N").wait_for()


@pytest.mark.slow
def test_a_wrong_token_and_a_server_that_went(own_store: Path, page: Page) -> None:
    with running_studio(own_store) as first:
        page.goto(f"{first.url}/studio#token=confide-wrong")
        page.get_by_role("heading", name="This studio needs a token").wait_for()
        assert "token=" not in page.url
        page.get_by_label("Token").fill(first.token)
        page.get_by_role("button", name="Open").click()
        page.get_by_role("link", name="Look", exact=True).click()
        page.locator(".surveys a").first.click()
        page.locator(".live-count", has_text="10,000").wait_for()
        port = first.url.rpartition(":")[2]
    page.get_by_text("The server is gone").wait_for()
    assert page.locator(".live-count").inner_text() == "10,000"  # what is shown stays
    with running_studio(own_store, "--bind", port) as second:
        # A studio that is started anew has another token, and says so; what is shown stays.
        page.get_by_role("alert").filter(has_text="started anew").wait_for()
        assert page.locator(".live-count").inner_text() == "10,000"
        page.get_by_role("button", name="Type a token in").click()
        page.get_by_role("heading", name="This studio needs a token").wait_for()
        page.get_by_label("Token").fill(second.token)
        page.get_by_role("button", name="Open").click()
        page.locator(".live-count", has_text="10,000").wait_for()


@pytest.mark.slow
@pytest.mark.skipif(not AXE.exists() and not os.environ.get("CI"), reason=f"axe-core is not installed: {INSTALL}")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_in_the_way_of_anybody(studio: RunningStudio, browser: Browser, scheme: Any) -> None:
    # A survey of its own: what other tests sent to the bundled one may not fit, which takes a place above the answers.
    epsilon = 0.081 if scheme == "light" else 0.082
    survey = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 99, unit="year"), epsilon), "age", "How old are you?")
    assert studio.ask("/v1/surveys", survey.to_json().encode()).status == 201
    post(studio, survey, 2_000)
    fingerprint = survey.fingerprint
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    look_at(page, studio, fingerprint)
    page.locator(".verdict-place .verdict").wait_for()
    page.locator(".answers dd.ends").first.wait_for()
    assert ", 95% confidence; sampling " in page.locator(".answers dd.ends").first.inner_text()
    assert page.locator(".answers div").first.evaluate("one => one.getBoundingClientRect().top") < 300
    smallest = "all => Math.min(...all.map((one) => parseFloat(getComputedStyle(one).fontSize)))"
    assert page.locator(".picture svg text").evaluate_all(smallest) >= 12
    page.get_by_text("Technical details").click()
    faults = judged(page, "look")
    page.goto(f"{studio.url}/studio#/look")
    page.locator(".surveys a").first.wait_for()
    faults += judged(page, "surveys")
    page.goto(f"{studio.url}/studio#/play")
    page.locator("tbody tr").first.wait_for()
    faults += judged(page, "play")
    page.goto(f"{studio.url}/take/{fingerprint}")
    page.get_by_role("button", name="Blur my answer").wait_for()
    faults += judged(page, "take")
    page.get_by_label("typed").fill("37")
    page.get_by_role("button", name="Blur my answer").click()
    page.locator(".leaves").wait_for()
    faults += judged(page, "drawn")
    context.close()
    assert faults == []


def judged(page: Page, name: str) -> list[str]:
    """Return what axe-core finds, and whether the page is wider than the screen."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("async () => (await axe.run()).violations.map((one) => `${one.id}: ${one.nodes[0].html}`)")
    if page.evaluate("document.documentElement.scrollWidth") > 390:
        found.append("wider than the screen")
    return [f"{name}: {one}" for one in found]
