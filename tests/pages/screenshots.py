"""Photographs of every page and of the studio in three widths, light and dark: `make screenshots`, then look at them.

Where axe-core is installed (see tests/pages/browser.py) it looks at every page too, and what it finds is printed.
"""

from __future__ import annotations

import argparse
import sys
import time
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
    chosen = tuple(given.names) or (*PAGES, *SCREENS)
    names = tuple(name for name in chosen if name not in SCREENS)
    widths = given.width or WIDTHS
    begin = time.perf_counter()
    kept = {name: given.folder / f"{name}.html" for name in names}
    pages = kept if given.kept else write_pages(given.folder, names)
    sys.stdout.write(f"made {len(pages)} pages in {time.perf_counter() - begin:.1f} s\n")
    faults: list[str] = []
    with Chromium() as browser:
        for name, page in pages.items():
            for width in widths:
                for is_dark in (False, True):
                    browser.open(page, width=width, is_dark=is_dark)
                    place = given.folder / f"{name}-{width}{'-dark' if is_dark else ''}.png"
                    place.write_bytes(browser.photograph(width))
                    sys.stdout.write(f"{place}\n")
                    if AXE.exists() and width in (WIDTHS[0], WIDTHS[-1]):
                        faults += [f"{place.name}: {fault}" for fault in browser.faults()]
    faults += (
        photograph(given.folder, screens, widths) if (screens := [one for one in chosen if one in SCREENS]) else []
    )
    sys.stdout.write("".join(f"{fault}\n" for fault in faults))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
