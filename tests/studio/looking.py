"""What tests of the studio's pages look for: faults that axe-core finds, foreign requests, words that are cut."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tests.pages.browser import AXE

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Page
    from tests.studio.running import RunningStudio

FOLDS = "document.querySelectorAll('details').forEach(one => { one.open = true; })"


@dataclass
class Watched:
    """What a page did while it was watched: addresses it asked for, and what its console complained of."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def foreign(self, url: str) -> list[str]:
        """Return requests that went elsewhere than to the studio."""
        own = urlsplit(url).netloc
        return [
            one for one in self.requests if urlsplit(one).scheme in ("http", "https") and urlsplit(one).netloc != own
        ]


def told(said: ConsoleMessage) -> str:
    """Return a complaint, with the address that it is about."""
    return f"{said.text} {said.location.get('url', '')}"


def watch(page: Page) -> Watched:
    """Note every request and complaint of a page from now on."""
    found = Watched()
    page.on("request", lambda request: found.requests.append(request.url))
    page.on("pageerror", lambda error: found.complaints.append(str(error)))
    page.on("console", lambda said: found.complaints.append(told(said)) if said.type in ("error", "warning") else None)
    return found


def warm(studio: RunningStudio) -> None:
    """Wait until a studio that has just begun has loaded everything; on a busy machine that takes long."""
    draft = studio.ask("/studio/v1/start").json["templates"][0]["draft"]
    while studio.ask("/studio/v1/preview", {"draft": draft, "value": None}).status == 422:
        pass


def open_design(page: Page, studio: RunningStudio) -> Watched:
    """Open the studio on its first screen, and wait for its first picture."""
    warm(studio)
    found = watch(page)
    page.goto(studio.address)
    page.wait_for_selector(".one-report svg")
    return found


def faults(page: Page) -> list[str]:
    """Open every fold and return what axe-core finds serious, critical or moderate."""
    page.evaluate(FOLDS)
    page.evaluate(AXE.read_text(encoding="utf-8") + "; undefined")
    result: list[dict[str, Any]] = json.loads(
        page.evaluate("axe.run(document).then(result => JSON.stringify(result.violations))")
    )
    return [
        f"{rule['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:200]}"
        for rule in result
        if rule["impact"] != "minor"
        for node in rule["nodes"]
    ]
