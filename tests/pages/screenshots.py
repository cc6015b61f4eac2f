"""Photographs of every page and of every screen of the studio in three widths, light and dark: `make screenshots`.

`index.html` beside them lays them side by side. What is amiss by measure is printed, and the command then fails:
letters under twelve pixels, words that are cut off, and where axe-core is installed (see tests/pages/browser.py) what
it finds. The rest is for eyes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.pages.browser import AXE, Chromium
from tests.pages.gallery import PAGES, write_pages
from tests.studio.photographs import SCREENS, photograph

WIDTHS = (1280, 768, 390)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join((*PAGES, *SCREENS))}; all if left out")
    parser.add_argument("--folder", type=Path, default=Path("build/screenshots"))
    parser.add_argument("--width", type=int, action="append", help="widths; 1280, 768 and 390 if left out")
    parser.add_argument("--kept", action="store_true", help="photograph the pages that are there, make none")
    given = parser.parse_args()
    chosen, widths = tuple(given.names) or (*PAGES, *SCREENS), given.width or WIDTHS
    if unknown := [name for name in chosen if name not in PAGES and name not in SCREENS]:
        parser.error(f"there is no {', '.join(unknown)}")
    begin = time.perf_counter()
    given.folder.mkdir(parents=True, exist_ok=True)
    names = tuple(name for name in chosen if name in PAGES)
    # A studio mostly waits: its screens are photographed while the pages are made.
    with ThreadPoolExecutor(1) as beside:
        screens = [name for name in chosen if name in SCREENS]
        coming = beside.submit(photograph, given.folder, screens, widths) if screens else None
        faults = _photograph_pages(given.folder, names, widths, is_kept=given.kept) if names else []
        faults += coming.result() if coming else []
    index = given.folder / "index.html"
    index.write_text(_index(chosen, widths), encoding="utf-8")
    sys.stdout.write("".join(f"{fault}\n" for fault in faults))
    many = 2 * len(chosen) * len(widths)
    sys.stdout.write(f"{many} photographs in {time.perf_counter() - begin:.0f} s: {index}\n")
    sys.exit(1 if faults else 0)


def _photograph_pages(folder: Path, names: tuple[str, ...], widths: Iterable[int], *, is_kept: bool) -> list[str]:
    """Photograph pages that are files, and return what is amiss."""
    pages = {name: folder / f"{name}.html" for name in names} if is_kept else write_pages(folder, names)
    faults: list[str] = []
    with Chromium() as browser:
        for name, page in pages.items():
            for width in widths:
                for is_dark in (False, True):
                    browser.open(page, width=width, is_dark=is_dark)
                    place = folder / f"{name}-{width}{'-dark' * is_dark}.png"
                    place.write_bytes(browser.photograph(width))
                    # Before folds are opened: as it is seen.
                    faults += [] if is_dark else [f"{name} at {width}: {one}" for one in browser.blemishes()]
                    if AXE.exists() and width in (WIDTHS[0], WIDTHS[-1]):
                        faults += [f"{place.name}: {fault}" for fault in browser.faults()]
    return faults


def _index(names: Sequence[str], widths: Iterable[int]) -> str:
    """Return a page of all photographs: a row a page, light beside dark in every width."""
    rows = "".join(
        f'<h2 id="{name}">{name}</h2><div>'
        + "".join(
            f'<a href="{name}-{width}{ending}.png"><img src="{name}-{width}{ending}.png" loading="lazy" '
            f'alt="{name}, {width} pixels wide{", dark" * bool(ending)}" width="{round(0.4 * width)}"></a>'
            for width in widths
            for ending in ("", "-dark")
        )
        + "</div>"
        for name in names
    )
    links = " ".join(f'<a href="#{name}">{name}</a>' for name in names)
    return (
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Photographs of every page</title>'
        "<style>body{font:1rem/1.5 system-ui;margin:24px;background:#777;color:#fff}a{color:inherit}"
        "div{display:flex;gap:12px;align-items:flex-start;overflow-x:auto}img{display:block;height:auto}</style>"
        f"<h1>Photographs of every page</h1><p>{links}</p>{rows}</html>\n"
    )


if __name__ == "__main__":
    main()
