"""A file dropped on Design: read in the tab, proposed from what many people share, and never uploaded."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cases import each
from tests.cli.test_new import FILES, HOSTILE, seeded
from tests.clients.test_javascript import NODE
from tests.studio.looking import open_design
from tests.studio.schema import faults
from tests.studio.test_design_screen import wait_for_words

from confide.data.files.profiles import profile_file
from confide.errors import ConfideError, InvalidParameterError
from confide.studio.drafts import preview, proposal

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from tests.studio.running import RunningStudio

WEB = Path(__file__).parent.parent.parent / "web"
"""The sources of the pages."""

SCRIPT = """
import { openAsBlob } from "node:fs";
import { profileOf } from "./profiles.mjs";
const found = [];
for (const path of process.argv.slice(2))
  found.push(await profileOf(await openAsBlob(path)).catch((error) => ({ error: error.message })));
console.log(JSON.stringify(found));
"""


def in_the_browser(folder: Path, *files: Path) -> list[dict[str, Any]]:
    """Return the profiles that the page makes, in Node."""
    if NODE is None or not (WEB / "node_modules" / "esbuild").is_dir():
        pytest.skip("needs Node and: make web")
    bundle = ["node_modules/.bin/esbuild", "src/design/profiles.ts", "--bundle", "--format=esm"]
    subprocess.run([*bundle, f"--outfile={folder / 'profiles.mjs'}"], cwd=WEB, check=True, capture_output=True)
    (folder / "run.mjs").write_text(SCRIPT)
    done = subprocess.run([NODE, str(folder / "run.mjs"), *map(str, files)], check=True, capture_output=True, text=True)
    return list(json.loads(done.stdout))


def noise(draw: random.Random) -> list[str]:
    """Return a file of everything that a text may look like."""
    kinds = ["", " ", "yes", "No ", "-7", "+3.5", "1,234.5", "1.234,5", "$9", "9 \u20ac", "1e5", "\u0663"]
    kinds += ["\U0001f600", '"a;b"', '"say ""so"""', "\u00a03\u00a0", "0.1", "1234567890123456", "x" * 70]
    kinds += ["2026-02-30", "12:30", "A-17", "5-", "--5"]
    rows = [";".join(draw.choice(kinds) for _ in range(4)) for _ in range(900)]
    return ["a;b; c ;b", *rows, "1;2", "", "", ""]


def test_the_page_and_python_make_the_same_profile(tmp_path: Path) -> None:
    made = {name: make for name, (make, _, _) in FILES.items()} | {"noise": noise}
    paths = []
    for name, make in made.items():
        for end in ("\n", "\r\n"):
            paths.append(tmp_path / f"{name}{len(end)}.csv")
            paths[-1].write_text("\ufeff" + end.join(make(seeded(5))) + end, newline="")
    for path, found in zip(paths, in_the_browser(tmp_path, *paths), strict=True):
        assert found == json.loads(json.dumps(profile_file(path).record())), path.name


def test_what_python_refuses_the_page_refuses(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.csv" for number in range(len(HOSTILE))]
    for path, (content, _) in zip(paths, HOSTILE.values(), strict=True):
        path.write_bytes(content)
    for path, what, found in zip(paths, HOSTILE, in_the_browser(tmp_path, *paths), strict=True):
        try:
            known = profile_file(path)
        except ConfideError:
            assert "error" in found, what
            continue
        assert found == json.loads(json.dumps(known.record())), what
        with pytest.raises(InvalidParameterError, match="No column of this file"):
            proposal({"profile": found}, lambda *_: None)


@each("what", FILES)
def test_a_proposal_is_a_draft_that_can_be_drawn(tmp_path: Path, what: str) -> None:
    (tmp_path / "v.csv").write_text("\n".join(FILES[what][0](seeded(3))) + "\n")
    found = proposal({"profile": profile_file(tmp_path / "v.csv").record()}, lambda *_: None)
    assert faults("Proposed", found) == []
    assert found["draft"]["survey"]["name"] == FILES[what][2]
    assert preview({"draft": found["draft"], "value": None}, lambda *_: None)["survey"]["fingerprint"]
    for columns in found["others"]:
        other = proposal({"profile": profile_file(tmp_path / "v.csv").record(), "columns": columns}, lambda *_: None)
        assert other["columns"] == columns


@pytest.mark.slow
def test_a_file_is_dropped_and_never_uploaded(page: Page, studio: RunningStudio, tmp_path: Path) -> None:
    path = tmp_path / "pay.csv"
    path.write_text("\n".join(FILES["salaries"][0](seeded(4))) + "\n")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.post_data or ""))
    seen = open_design(page, studio)
    assert page.get_by_text("never uploaded").is_visible()
    page.get_by_label("Begin from a file").set_input_files(path)
    page.locator(".dropped option").first.wait_for(state="attached")
    wait_for_words(page, ".take-it pre", 'name = "salary"')
    text = page.locator(".take-it pre").first.text_content() or ""
    assert 'unit = "dollar"' in text
    assert 'format = "$1,234.56"' in text
    assert page.get_by_text("carry a $ sign").is_visible()
    # Of the file itself nothing was sent: neither the highest salary nor any row.
    rows = path.read_text().splitlines()[1:]
    assert not [one for one in sent if "98,765,432" in one or "98765432" in one or any(row in one for row in rows)]
    page.get_by_label("Column", exact=True).select_option("town")
    wait_for_words(page, ".take-it pre", '"Oslo"')
    assert seen.foreign(studio.url) == []
    assert seen.complaints == []
    # What is wrong with a file is said, and the draft stays.
    path.write_bytes("age\n3\n".encode("utf-16"))
    page.get_by_label("Begin from a file").set_input_files(path)
    page.get_by_text("Save it as CSV in UTF-8").wait_for()
    path.write_text("<img src=x onerror=\"document.title='owned'\">\n" + "3\n" * 40)
    page.get_by_label("Begin from a file").set_input_files(path)
    page.get_by_text("everybody has the same").wait_for()
    assert page.title() != "owned"
    assert "Oslo" in (page.locator(".take-it pre").first.text_content() or "")
