"""A running studio, and a page of a browser in it.

`studio` runs in a process of its own on a store of its own, for all tests of a worker: leave what you find, add surveys
of your own. `page` is a fresh page in system Chromium; `page.goto(studio.address)` opens the studio as a person does.
Without playwright or Chromium browser tests are skipped, and with CI=1 they fail.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.studio.running import PATIENCE, RunningStudio, running_studio

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudio]:
    """A studio as `confide studio` opens it: the simulated survey of ages is in it."""
    with running_studio(tmp_path_factory.mktemp("studio") / "studio.db") as found:
        yield found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all pages."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path, missing = None, "playwright is not installed: pip install playwright"
    else:
        missing = "Chromium is not installed"
    if path is None:
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_playwright() as playwright:
        # The sandbox needs what a container does not have; nothing but our own pages is opened.
        found = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"], timeout=1000 * PATIENCE)
        plain = found.new_context

        def patient(**settings: Any) -> BrowserContext:
            context = plain(**settings)
            context.set_default_timeout(1000 * PATIENCE)
            return context

        found.new_context = patient  # type: ignore[method-assign]  # every page waits as long, whoever opens it
        yield found
        found.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A window of its own, with storage of its own."""
    found = browser.new_context(viewport={"width": 1280, "height": 900})
    yield found
    found.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """A fresh page."""
    return context.new_page()


@pytest.fixture
def own_store(tmp_path: Path) -> Path:
    """Where a studio of one test alone has its store."""
    return tmp_path / "own.db"
