"""confide plan --mechanisms: which mechanism does best at the survey's promise."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Call, assert_refused

NAMES = ", ".join(f'"city {number}"' for number in range(100))
CITIES = f'[alphabet]\nkind = "categories"\nvalues = [{NAMES}]\n'


def test_on_the_command_line(call: Call, folder: Path) -> None:
    (folder / "cities.toml").write_text(f'{CITIES}[mechanism]\nkind = "randomized-response"\nepsilon = 1.0\n')
    ending = call("plan", "cities.toml", "--people", "20k", "--mechanisms", "all")
    assert ending.code == 0, ending.err
    said = " ".join(ending.out.split())
    assert "projective-geometry is as accurate as subset-selection; a report takes 7 bits, not 100." in said
    assert "epsilon 1 · 20,000 people" in said
    record = call("plan", "cities.toml", "--people", "20k", "--mechanisms", "all", "--json").record
    assert record["headline"].startswith("projective-geometry is as accurate")
    assert record["mechanisms"][0]["kind"] == "projective-geometry"
    assert record["mechanisms"][0]["error"] == pytest.approx(0.02669, abs=1e-4)
    some = call(
        "plan", "cities.toml", "--people", "20k", "--epsilon", "3", "--json",
        "--mechanisms", "rappor, randomized-response",
    ).record  # fmt: skip
    assert [one["kind"] for one in some["mechanisms"]] == ["randomized-response", "rappor"]
    assert some["promise"] == "epsilon 3"
    assert_refused(call("plan", "cities.toml", "--mechanisms", "all"), 2, "--mechanisms needs --people")
    assert_refused(call("plan", "cities.toml", "--people", "9", "--mechanisms", "rapor"), 2, "rapor cannot be ranked")
