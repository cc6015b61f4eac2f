"""Check a built site: every link leads somewhere, and reading a page asks nobody but the site.

Run after a build: ``python docs/offline.py build/site``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""Attributes whose address a browser fetches by itself."""

FOREIGN = re.compile(r"(?:[a-z]+:)?//", re.IGNORECASE)
STYLE_FETCH = re.compile(r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^'\")]+)", re.IGNORECASE)


@dataclass
class Page(HTMLParser):
    """What a page links to, what it fetches, and the anchors that it has."""

    links: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the addresses and the anchor of one tag."""
        named = dict(attrs)
        self.anchors |= {named[one] or "" for one in ("id", "name") if one in named}
        if tag == "a" and named.get("href"):
            self.links.append(named["href"] or "")
        if named.get(FETCHED.get(tag, "")):
            self.fetched.append(named[FETCHED[tag]] or "")
        if named.get("srcdoc"):  # a page within the page, as results show themselves in notebooks
            inner = Page()
            inner.feed(named["srcdoc"] or "")
            self.fetched += inner.fetched


def read_page(path: Path) -> Page:
    """Read one page of the site."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def faults(site: Path) -> Iterator[str]:
    """Yield one sentence for each dead link and each foreign request of a site."""
    found = (path.resolve() for path in sorted(site.rglob("*.html")) if "_static" not in path.parts)
    pages = {path: read_page(path) for path in found}
    for path in pages:
        for fault in (*_bad_requests(path, pages), *_dead_links(path, pages)):
            yield f"{path.relative_to(site.resolve())} {fault}"
    for path in sorted(site.rglob("*.css")):
        for address in STYLE_FETCH.findall(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site)} fetches {address}"


def _bad_requests(path: Path, pages: dict[Path, Page]) -> Iterator[str]:
    for address in pages[path].fetched:
        if FOREIGN.match(address):
            yield f"fetches {address}"
        elif not address.startswith("data:") and not _target(path, address).exists():
            yield f"fetches {address}, which is not there"


def _dead_links(path: Path, pages: dict[Path, Page]) -> Iterator[str]:
    for link in pages[path].links:
        if FOREIGN.match(link) or link.startswith(("mailto:", "data:", "javascript:")):
            continue
        target, _, anchor = link.partition("#")
        place = _target(path, target)
        if not place.exists():
            yield f"links to {link}, which is not there"
        elif anchor and place in pages and unquote(anchor) not in pages[place].anchors:
            yield f"links to {link}, but there is no such anchor"


def _target(page: Path, address: str) -> Path:
    """Return the file that an address on a page leads to."""
    relative = unquote(re.split(r"[?#]", address)[0])
    place = (page.parent / relative).resolve() if relative else page
    return place / "index.html" if place.is_dir() else place


if __name__ == "__main__":
    found = list(faults(Path(sys.argv[1])))
    sys.exit("\n".join(found) if found else 0)
