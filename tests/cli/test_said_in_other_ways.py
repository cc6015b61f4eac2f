"""The same said in another way is the same: endings in capitals, questions twice, shares in percent, column names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Call

COMMANDS = {
    "estimate": (["estimate", "survey.toml", "reports.csv"], [".csv", ".json", ".html"]),
    "count": (["count", "survey.toml", "reports.csv"], [".parquet"]),
    "diagnose": (["diagnose", "survey.toml", "reports.csv"], [".json", ".html"]),
    "privatize": (["privatize", "survey.toml", "values.csv", "--seed", "1"], [".csv", ".jsonl", ".parquet"]),
}


def without_times(path: Path) -> bytes:
    """Return what a file says, without how long it took and what it is called."""
    said = re.sub(rb'"seconds": [\d.e-]+', b"", path.read_bytes())
    return re.sub(rb">[\d.]+ (m?s|\xc2\xb5s)<", b"", said).replace(path.name.encode(), b"")


@pytest.mark.parametrize("command", COMMANDS)
def test_an_ending_in_capitals_is_the_same_ending(command: str, call: Call, folder: Path) -> None:
    words, endings = COMMANDS[command]
    for ending in endings:
        for name in (f"small{ending}", f"large{ending.upper()}"):
            assert call(*words, "-o", name).code == 0, name
        small, large = folder / f"small{ending}", folder / f"large{ending.upper()}"
        assert without_times(large) == without_times(small), ending
    refused = call(*words, "-o", "page.doc")
    assert refused.code != 0 or command == "privatize"


def test_what_is_asked_twice_is_answered_once(call: Call) -> None:
    shares = ["mean", "median", "quantile 0.5", "QUANTILE 50%", "quantile 0.9", " quantile  90% "]
    asked = [word for one in [*shares, "age >= 5", "age < 2", "age >= 5"] for word in ("--query", one)]
    record = call("estimate", "survey.toml", "reports.csv", *asked, "--json").record
    assert [one["query"] for one in record["statistics"]] == ["mean", "median", "quantile 0.9"]
    assert [one["query"] for one in record["queries"]][:2] == ["age >= 5", "age < 2"]


@pytest.mark.parametrize("share", ["0", "1", "0%", "100%", "-0.1", "1.5", "nan", "half", ""])
def test_what_is_no_share_is_refused(share: str, call: Call) -> None:
    refused = call("estimate", "survey.toml", "reports.csv", "--query", f"quantile {share}")
    assert refused.code == 2
    assert "quantile" in refused.err


@pytest.mark.parametrize("command", ["estimate", "diagnose", "count"])
def test_a_column_that_is_named_like_the_values_is_warned_of_wherever_it_is_read(
    command: str, call: Call, folder: Path
) -> None:
    text = (folder / "reports.csv").read_text()
    said = {}
    for name in ("report", "age", "value", "noisy"):
        (folder / "other.csv").write_text(text.replace("report", name, 1))
        output = ["-o", "counts.parquet"] if command == "count" else []
        ending = call(command, "survey.toml", "other.csv", *output, "--json")
        assert ending.code == 0
        json.loads(ending.out)
        said[name] = "never blurred" in ending.err
    assert said == {"report": False, "age": True, "value": True, "noisy": False}
