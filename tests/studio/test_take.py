"""The page of a person who takes part: what leaves the phone, and what it says when something is in the way."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from tests.studio.running import RunningStudio

import confide as cf
from confide.collector.stores import make_invitations, open_store

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Request

AGES = cf.TruncatedGeometric(cf.Integers(0, 99, unit="year"), 0.05)
PHONE = {"width": 360, "height": 740}


@pytest.fixture
def phone(browser: Browser) -> Iterator[BrowserContext]:
    """A phone of its own: narrow, with a finger, and with nothing kept yet."""
    found = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)  # type: ignore[arg-type]
    yield found
    found.close()


def added(studio: RunningStudio, mechanism: cf.Mechanism, admission: str = "open", **settings: Any) -> str:
    """Return where people take part in a survey of their own."""
    survey = cf.Survey(mechanism, **({"name": "age", "title": "How old are you?"} | settings))
    said = studio.ask("/v1/surveys", survey.to_json().encode(), Confide_Admission=admission)
    assert said.status == 201, said.body
    return f"{studio.url}/take/{said.json['survey']}"


def accepted(studio: RunningStudio, address: str) -> int:
    found: int = studio.ask(f"/studio/v1/watch/{address.rpartition('/')[2]}").json["accepted"]
    return found


def answer(page: Page, age: int = 37) -> str:
    """Type an answer, blur it, and return what would leave."""
    page.get_by_label("typed").fill(str(age))
    page.get_by_role("button", name="Blur my answer").tap()
    return page.locator(".leaves dd").first.inner_text()


def send(page: Page) -> None:
    page.get_by_role("button", name="Send", exact=True).tap()


def title(page: Page, words: str) -> None:
    page.locator(".stage h2", has_text=words).wait_for()


@pytest.mark.slow
def test_only_the_report_leaves_the_phone(studio: RunningStudio, phone: BrowserContext) -> None:
    hostile = "<img src=x onerror=alert(1)> & How old?"
    address = added(studio, cf.TruncatedGeometric(cf.Integers(0, 99, unit="year"), 0.31), title=hostile)
    page = phone.new_page()
    asked: list[Request] = []
    page.on("request", lambda one: asked.append(one))  # noqa: PLW0108 - playwright writes on it
    page.goto(address)
    assert page.get_by_role("heading", level=1).inner_text() == hostile
    assert page.title() == hostile
    # Nothing but the keyboard: the slider begins in the middle.
    page.get_by_role("slider").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert page.get_by_role("slider").get_attribute("aria-valuetext") == "52 years"
    page.get_by_role("button", name="Blur my answer").press("Enter")
    leaves = page.locator(".leaves dd").first.inner_text()
    assert page.locator(".stays dd").inner_text() == "52 years"
    assert "This is all that leaves" in page.get_by_role("status").last.inner_text()
    assert [one for one in asked if one.method != "GET"] == []
    before = accepted(studio, address)
    send(page)
    title(page, "Sent. Thank you.")
    assert accepted(studio, address) == before + 1
    posted = [one for one in asked if one.method != "GET"]
    assert [one.url for one in posted] == [f"{studio.url}/v1/reports"]
    message = json.loads(posted[0].post_data or "")
    assert message.keys() == {"survey", "batch", "day", "reports"}
    assert leaves.split()[0] == str(message["reports"][0])
    assert {"cookie", "authorization", "referer"}.isdisjoint(posted[0].all_headers())
    assert all(one.url.startswith((studio.url, "data:")) for one in asked)
    assert page.url == address
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


TOTALS = "The totals still come out right: we know how often chance changes a report, and correct for it over everyone."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        # Of k words, k - 1 in e^epsilon + k - 1 reports.
        (cf.RandomizedResponse(cf.Categories(["yes", "no", "unsure"]), 2.0), "About 21% of reports differ"),
        (cf.RandomizedResponse(cf.Categories(["yes", "no"]), 3.0), "About 5% of reports differ"),
        # Neither mark is changed with probability (1 - 1 / (e + 1))^2.
        (cf.Rappor(cf.Categories(["yes", "no"]), 2.0), r"About 4[3-9]% of reports differ"),
        (cf.TruncatedGeometric(cf.Integers(20, 119, unit="year"), 0.06), "half of these by 1[0-3] years or more"),
        (cf.TruncatedGeometric(cf.Integers(20, 119, unit="year"), 0.6), r"About (6|7)\d% .* half of these by 2 years"),
        (cf.TruncatedTaxicab(cf.Grid(8, 9, spacing=0.25, unit="km"), 2.0), "half of these by [5-9]\\d0 m or more"),
    ],
    ids=["three words", "two words", "marks", "far", "near", "cells"],
)
def test_a_person_reads_that_reports_are_changed_on_purpose(
    studio: RunningStudio, phone: BrowserContext, mechanism: cf.Mechanism, words: str
) -> None:
    page = phone.new_page()
    page.goto(added(studio, mechanism, name="answer", title="Do you smoke?"))
    title(page, "Your answer")
    if isinstance(mechanism.alphabet, cf.Categories):
        page.get_by_text("yes", exact=True).tap()
    elif isinstance(mechanism.alphabet, cf.Integers):
        page.get_by_label("typed").fill("64")
    else:
        page.locator(".stage svg").first.tap()
    page.get_by_role("button", name="Blur my answer").tap()
    why = page.locator(".why").inner_text()
    own, report = page.locator(".stays dd").inner_text(), page.locator(".leaves dd").first.inner_text()
    assert why.startswith("By chance, your report is the same" if own == report else "Your report differs from your")
    assert re.search(words, why), why
    assert why.endswith(TOTALS)


KEPT = """async () => {
  const open = (name) => new Promise((done) => {
    const asked = indexedDB.open(name);
    asked.onsuccess = () => {
      const reading = asked.result.transaction(name).objectStore(name).get(0);
      reading.onsuccess = () => done(reading.result);
    };
  });
  const cached = [];
  for (const name of await caches.keys()) {
    for (const one of await (await caches.open(name)).keys()) cached.push(one.url);
  }
  const known = await Promise.all((await indexedDB.databases()).map((one) => open(one.name)));
  const stored = [{...localStorage}, {...sessionStorage}, document.cookie];
  return JSON.stringify([location.href, history.state, stored, known, cached]);
}"""


@pytest.mark.slow
def test_the_answer_is_kept_nowhere_and_the_report_is_not_drawn_twice(
    studio: RunningStudio, phone: BrowserContext
) -> None:
    address = added(studio, cf.RandomizedResponse(cf.Categories(["lilac", *(f"c{i}" for i in range(60))]), 0.1))
    page = phone.new_page()
    page.goto(address)
    page.get_by_role("combobox").select_option(label="lilac")
    page.get_by_role("button", name="Blur my answer").tap()
    leaves = page.locator(".leaves dd").first.inner_text()
    if leaves != "lilac":  # one time in sixty the noise is none
        kept = page.evaluate(KEPT).replace(address.rpartition("/")[2], "")
        assert leaves in kept
        assert "lilac" not in kept
    other = phone.new_page()
    other.goto(address)
    assert other.locator(".leaves dd").first.inner_text() == leaves
    page.bring_to_front()  # a page behind another one is drawn but now and then
    page.reload()
    assert page.locator(".leaves dd").first.inner_text() == leaves
    assert page.get_by_role("button", name="Blur my answer").count() == 0
    assert accepted(studio, address) == 0
    send(page)
    title(page, "Sent")
    title(other, "You have taken part")
    assert accepted(studio, address) == 1


@pytest.mark.slow
def test_two_tabs_draw_one_report(studio: RunningStudio, phone: BrowserContext) -> None:
    address = added(studio, cf.TruncatedGeometric(cf.Integers(0, 99, unit="year"), 0.32), most_reports=1)
    first, second = phone.new_page(), phone.new_page()
    for page in (first, second):
        page.goto(address)
        page.get_by_label("typed").fill("20")
    first.bring_to_front()
    leaves = answer(first)
    second.bring_to_front()
    second.locator(".leaves dd").first.wait_for()
    assert second.locator(".leaves dd").first.inner_text() == leaves
    send(second)
    title(second, "Sent")
    title(first, "You have taken part")
    assert "takes 1 report of each person, and has yours" in first.locator(".again").inner_text()
    assert accepted(studio, address) == 1


@pytest.mark.slow
def test_without_a_network_it_is_sent_later_by_itself(studio: RunningStudio, phone: BrowserContext) -> None:
    address = added(studio, cf.TruncatedGeometric(cf.Integers(0, 99, unit="year"), 0.33))
    page = phone.new_page()
    page.goto(address)
    page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    page.wait_for_function("async () => (await (await caches.open('confide take')).keys()).length >= 5")
    phone.set_offline(True)
    page.reload()
    leaves = answer(page)
    send(page)
    title(page, "Your report waits")
    assert page.locator(".sent-value").inner_text() == leaves
    page.reload()
    title(page, "Your report waits")
    assert accepted(studio, address) == 0
    phone.set_offline(False)
    title(page, "Sent")
    assert accepted(studio, address) == 1


@pytest.mark.slow
def test_two_surveys_on_one_phone_are_apart(studio: RunningStudio, phone: BrowserContext) -> None:
    addresses = [added(studio, cf.TruncatedGeometric(cf.Integers(0, 99, unit="year"), 0.41 + n / 100)) for n in (0, 1)]
    page = phone.new_page()
    page.goto(addresses[0])
    leaves = answer(page)
    page.goto(addresses[1])
    title(page, "Your age")  # nothing was drawn for this one
    answer(page, 55)
    send(page)
    title(page, "Sent")
    assert [accepted(studio, one) for one in addresses] == [0, 1]
    page.goto(addresses[0])
    title(page, "This is all that leaves")
    assert page.locator(".leaves dd").first.inner_text() == leaves
    send(page)
    title(page, "Sent")
    assert [accepted(studio, one) for one in addresses] == [1, 1]


@pytest.mark.slow
def test_the_survey_of_another_address_is_refused(studio: RunningStudio, phone: BrowserContext) -> None:
    asked, given = (added(studio, cf.TruncatedGeometric(cf.Integers(0, 99), 0.43 + n / 100)) for n in (0, 1))
    other = studio.ask(f"/v1/surveys/{given.rpartition('/')[2]}").body
    page = phone.new_page()
    page.route("**/v1/surveys/*", lambda route: route.fulfill(body=other, content_type="application/json"))
    page.goto(asked)
    page.get_by_role("heading", name="This survey cannot be trusted").wait_for()
    assert "The address names" in page.get_by_role("alert").inner_text()


@pytest.mark.slow
def test_half_an_upload_counts_once(studio: RunningStudio, phone: BrowserContext) -> None:
    address = added(studio, cf.TruncatedGeometric(cf.Integers(0, 99, unit="year"), 0.34))
    page, times = phone.new_page(), []

    def cut(route: Any) -> None:
        times.append(route.request.post_data)
        if len(times) == 1:
            route.fetch()  # the collector has it, and the answer is lost
            route.abort()
        else:
            route.continue_()

    page.route("**/v1/reports", cut)
    page.goto(address)
    answer(page)
    send(page)
    title(page, "Your report waits")
    page.get_by_role("button", name="Try now").tap()
    title(page, "Sent")
    assert times[0] == times[1]
    assert accepted(studio, address) == 1


@pytest.mark.slow
def test_what_goes_beside_the_report_is_said_and_half_a_record_is_none(
    studio: RunningStudio, phone: BrowserContext
) -> None:
    address = added(studio, cf.TruncatedGeometric(cf.Integers(0, 99), 0.37), groups={"region": ("north", "south")})
    page = phone.new_page()
    page.add_init_script(f"localStorage.setItem('confide drawn {address.rpartition('/')[2]}', '{{broken')")
    page.goto(address)
    page.get_by_role("combobox").select_option("north")
    page.evaluate("localStorage.clear()")
    answer(page)
    other = phone.new_page()
    other.goto(address)
    assert "only the page where you gave it" in other.locator(".stays dd").inner_text()
    other.close()
    page.bring_to_front()
    send(page)
    title(page, "Sent")
    assert "not blurred: region: north" in page.locator(".stage").inner_text()


@pytest.mark.slow
def test_closed_and_unknown_surveys_say_so(studio: RunningStudio, phone: BrowserContext) -> None:
    address = added(studio, cf.TruncatedGeometric(cf.Integers(0, 99, unit="year"), 0.35))
    page = phone.new_page()
    page.goto(address)
    answer(page)
    studio.ask(f"/v1/surveys/{address.rpartition('/')[2]}/close", {})
    send(page)
    title(page, "This survey is closed")
    assert "not counted" in page.locator(".stage").inner_text()
    page.reload()  # it was drawn, and is in the ledger; and still nobody has it
    title(page, "This survey is closed")
    assert "not counted" in page.locator(".stage").inner_text()
    for cut in (32 * "0", "b682", ""):
        page.goto(f"{studio.url}/take/{cut}")
        page.get_by_role("heading", name="There is no such survey here").wait_for()
        assert "cut" in page.get_by_role("alert").inner_text()
    other = phone.browser.new_context().new_page()  # type: ignore[union-attr]
    other.goto(address)
    title(other, "This survey is closed")
    assert other.get_by_role("button").count() == 0
    other.context.close()


@pytest.mark.slow
def test_an_invitation_is_asked_for(studio: RunningStudio, phone: BrowserContext) -> None:
    address = added(studio, cf.TruncatedGeometric(cf.Integers(0, 99, unit="year"), 0.36), "invited")
    store = open_store(str(studio.store))
    number = next(one.number for one in store.surveys() if one.fingerprint == address.rpartition("/")[2])
    code = make_invitations(store, number, 1)[0]
    store.close()
    page = phone.new_page()
    page.goto(address)
    page.get_by_label("typed").fill("37")
    page.get_by_role("button", name="Blur my answer").tap()
    page.get_by_text("Type the code that you were given.").wait_for()
    page.get_by_label("Your invitation").fill("wrong")
    page.get_by_role("button", name="Blur my answer").tap()
    send(page)
    title(page, "does not let it in")
    assert "unknown, or spent" in page.get_by_role("alert").inner_text()
    page.get_by_label("Your invitation").fill(code)
    page.get_by_role("button", name="Send again").tap()
    title(page, "Sent")
    assert accepted(studio, address) == 1


def press_choice(page: Page) -> None:
    page.locator(".choice").nth(1).tap()


def press_map(page: Page) -> None:
    page.locator(".map").focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")


def move(page: Page) -> None:
    page.get_by_role("slider").first.press("ArrowRight")


def type_in(text: str) -> Any:
    return lambda page: page.locator("input.typed").fill(text)


def choose_several(page: Page) -> None:
    move(page)
    page.locator(".choice").first.tap()


def pick_date(page: Page) -> None:
    page.locator("input[type=date]").fill("2026-03-05")


HOME = cf.Places(south=59.9, west=10.7, north=59.95, east=10.8, cell="1 km")
BOTH = cf.Product(age=AGES, answer=cf.RandomizedResponse(cf.Categories(["yes", "no"]), 1.0))
KINDS: list[tuple[str, cf.Mechanism, Any, str, dict[str, Any]]] = [
    ("choices", cf.RandomizedResponse(cf.Categories(["yes", "no"]), 1.0), press_choice, "no", {}),
    ("bits", cf.Rappor(cf.Categories(["red", "green", "blue"]), 1.0), press_choice, "green", {}),
    ("scale", cf.TruncatedGeometric(cf.Scale(["poor", "fair", "good"]), 0.5), press_choice, "fair", {}),
    (
        "bins",
        cf.TruncatedGeometric(cf.Bins(0, 2, 0.1, unit="m"), 0.5),
        type_in("0.3"),
        "0.3 to 0.4 m",
        {},
    ),
    ("dates", cf.TruncatedGeometric(cf.Dates("2026-01", "2027-12", every="month"), 0.5), pick_date, "2026-03-05", {}),
    ("years", cf.TruncatedGeometric(cf.Dates("1920", "2010", every="year"), 0.5), type_in("1985"), "1985", {}),
    ("hours", cf.WrappedGeometric(cf.Hours(), 0.5), move, "12:00", {}),
    ("weekdays", cf.WrappedGeometric(cf.Weekdays(), 0.5), press_choice, "Tuesday", {}),
    (
        "grid",
        cf.TruncatedTaxicab(cf.Grid(6, 8, unit="km"), 0.5),
        press_map,
        "3.5 km up, 3.5 km across",
        {},
    ),
    ("places", cf.TruncatedPlanarLaplace(HOME, 0.5), press_map, "around 59.929° N, 10.741° E", {}),
    ("lattice", cf.Geometric(cf.Integers(), 0.5), lambda page: page.locator(".field input").fill("12"), "12", {}),
    ("attributes", BOTH, choose_several, "age: 50 years; answer: yes", {}),
    ("permanent", cf.TruncatedGeometric(cf.Integers(0, 30), 0.5), move, "16", {"is_permanent": True}),
]


@pytest.mark.slow
def test_every_kind_of_values_has_its_input(studio: RunningStudio, phone: BrowserContext) -> None:
    page = phone.new_page()
    for kind, mechanism, give, words, settings in KINDS:
        address = added(studio, mechanism, title=kind, name="value", **settings)
        page.goto(address)
        page.get_by_role("button", name="Blur my answer").wait_for()
        give(page)
        page.get_by_role("button", name="Blur my answer").tap()
        assert page.locator(".stays dd").inner_text() == words, kind
        send(page)
        title(page, "Sent")
        assert accepted(studio, address) == 1, kind


@pytest.mark.slow
def test_nothing_looks_chosen_before_it_is(studio: RunningStudio, phone: BrowserContext) -> None:
    page = phone.new_page()
    page.goto(added(studio, cf.TruncatedGeometric(cf.Integers(0, 99, unit="year"), 0.0431)))
    slider = page.locator("input[type=range]")
    slider.wait_for()
    look = "one => getComputedStyle(one).appearance"
    assert slider.evaluate(look) == "none"  # a line without a thumb
    assert slider.get_attribute("aria-valuetext") == "Not chosen yet"
    assert page.get_by_label("typed").get_attribute("placeholder") == "0 to 99"
    assert "Not chosen yet" in page.locator(".chosen").inner_text()
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert slider.evaluate(look) != "none"
    assert page.locator(".chosen").inner_text() == "50 years"
