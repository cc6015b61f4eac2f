"""Pages as a browser shows them: axe-core finds nothing, nothing is fetched, and a telephone cuts nothing off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.pages.browser import AXE, INSTALL, Chromium, find_chromium
from tests.pages.gallery import write_pages

import confide as cf

# The quick ones of the gallery; `make screenshots` runs axe-core on all of it.
NAMES = ("categories", "triangle", "misfit")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="needs chromium on the path"),
    pytest.mark.skipif(not AXE.exists(), reason=f"needs axe-core: {INSTALL}"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_pages(tmp_path_factory.mktemp("gallery"), NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_amiss_in_a_browser(browser: Chromium, pages: dict[str, Path], name: str) -> None:
    for width, is_dark in ((1280, False), (390, True)):
        browser.open(pages[name], width=width, is_dark=is_dark)
        assert browser.faults() == []
        assert browser.requests == [pages[name].resolve().as_uri()]
        assert browser.evaluate("document.documentElement.scrollWidth") == width


def test_a_dark_page_has_dark_pictures(browser: Chromium, pages: dict[str, Path]) -> None:
    script = """(() => { const seen = (mark, what) => getComputedStyle(document.querySelector(mark))[what];
        return JSON.stringify([seen('body', 'backgroundColor'), seen('figure svg text', 'fill'),
                               seen('figure svg .shade', 'fill')]); })()"""
    shown = {}
    for is_dark in (False, True):
        browser.open(pages["triangle"], is_dark=is_dark)
        shown[is_dark] = json.loads(browser.evaluate(script))
    assert all(light != dark for light, dark in zip(shown[False], shown[True], strict=True)), shown
    browser.open(pages["triangle"], is_dark=True, media="print")
    assert json.loads(browser.evaluate(script))[2] == shown[False][2]  # paper is light
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_a_frame_in_a_notebook_is_as_tall_as_its_page(browser: Chromium, tmp_path: Path) -> None:
    place, tall = tmp_path / "notebook.html", "[...document.querySelectorAll('iframe')].map(one => one.offsetHeight)"
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
    few = cf.tally([1, 2], counts=[3, 4])
    place.write_text(f"<!doctype html>{cf.audit(mechanism)._repr_html_()}{few._repr_html_()}", encoding="utf-8")
    browser.open(place, width=1280)
    browser.evaluate(
        "new Promise(done => setTimeout(done, 300)).then(() => 0)"
    )  # observers come after the first drawing
    inner = tall.replace("one.offsetHeight", "one.contentDocument.documentElement.scrollHeight")
    shown, needed = (json.loads(browser.evaluate(f"JSON.stringify({script})")) for script in (tall, inner))
    assert shown == needed
    assert not {320, 640} & set(shown)  # the heights where scripts are stripped


def test_folds_open_by_keyboard(browser: Chromium, pages: dict[str, Path]) -> None:
    browser.open(pages["misfit"])
    browser.evaluate("document.querySelector('summary').focus()")
    for kind in ("keyDown", "keyUp"):
        browser.send(
            "Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r"
        )
    assert browser.evaluate("document.querySelector('details').open") is True


def test_the_checker_finds_a_fault_that_is_there(browser: Chromium, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text("<html><body><p style='color:#ccc'>pale</p><img src='data:,'></body></html>", encoding="utf-8")
    browser.open(bad)
    assert {"color-contrast", "image-alt", "html-has-lang"} <= {fault.split(":")[0] for fault in browser.faults()}
