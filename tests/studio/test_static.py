"""The studio's static files: built from web/, the same bytes again, small, and in the package."""

from __future__ import annotations

import filecmp
import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
SHIPPED = ROOT / "src" / "confide" / "studio" / "static"

MOST_BYTES = 1_500_000
"""Bytes of all static files, and the client that they load, together."""

NODE = shutil.which("node")


@pytest.mark.skipif(
    not (NODE and (WEB / "node_modules").is_dir()) and not os.environ.get("CI"),
    reason="Node with web/node_modules (npm ci) is not installed; CI requires it",
)
@pytest.mark.slow
def test_the_build_is_the_one_that_is_shipped(tmp_path: Path) -> None:
    done = subprocess.run(
        [NODE or "node", "build.mjs", str(tmp_path)], cwd=WEB, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == sorted(path.name for path in SHIPPED.iterdir())
    assert filecmp.cmpfiles(tmp_path, SHIPPED, names, shallow=False)[0] == names, "make web writes it anew"


def test_it_is_small() -> None:
    client = SHIPPED.parent / "client" / "confide.js"
    assert sum(path.stat().st_size for path in (client, *SHIPPED.iterdir())) <= MOST_BYTES


def test_pages_hold_no_script_no_style_and_no_foreign_address() -> None:
    for page in SHIPPED.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"<script(?![^>]*\bsrc=)", text), page
        assert not re.search(r"<style|\sstyle=|\son\w+=", text), page
        assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", text), page


def test_the_lockfile_names_no_host() -> None:
    lock = (WEB / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock


@pytest.mark.slow
def test_a_wheel_holds_them(tmp_path: Path) -> None:
    build = pytest.importorskip("hatchling.builders.wheel", reason="hatchling is not installed")
    made = next(iter(build.WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])))
    with zipfile.ZipFile(made) as wheel:
        held = {Path(name).name for name in wheel.namelist() if name.startswith("confide/studio/static/")}
    assert held == {path.name for path in SHIPPED.iterdir()}
