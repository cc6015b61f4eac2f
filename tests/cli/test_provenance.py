"""Sentences about where reports come from: each says what metadata prove, on every page, in every terminal and JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import Call, Ending

import confide as cf
from confide.data.files import read_counts
from confide.data.files.writing import report_sink

pytest.importorskip("duckdb", reason="counting needs the extra confide[counting]")
pytest.importorskip("pyarrow")

CLAIM = "operating system's secure generator"
SIMULATED = "simulated"
NOT_KNOWN = "not known how"

KINDS = ("secure", "seeded", "unknown", "mixed")

SAYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "secure": ((CLAIM,), (SIMULATED, NOT_KNOWN)),
    "seeded": ((SIMULATED,), (CLAIM, NOT_KNOWN, "person was promised", "before it was sent")),
    "unknown": ((NOT_KNOWN,), (CLAIM, SIMULATED, "person was promised", "before it was sent")),
    "mixed": (
        (SIMULATED, NOT_KNOWN, "200 are stated to have secure noise"),
        (CLAIM, "person was promised", "before it was sent"),
    ),
}
"""For each kind of reports, the words that must stand there, and those that must not."""

NUMBERS = {"secure": (200, 0, 0), "seeded": (0, 200, 0), "unknown": (0, 0, 200), "mixed": (200, 200, 200)}

NOISES = {"secure": "secure generator", "seeded": "seeded", "unknown": "not known", "mixed": "mixed"}


@pytest.fixture
def counts(call: Call, folder: Path) -> Call:
    """Make files of reports of each kind, with towns that are kept."""
    rows = "".join(f"{i % 10},{'Oslo' if i % 2 else 'Rome'}\n" for i in range(200))
    survey, ages = cf.load_survey("survey.toml"), np.arange(200) % 10
    for name, seed in (("secure.csv", None), ("seeded.jsonl", 1)):
        noise = cf.evidence.Noise.SECURE if seed is None else cf.evidence.Noise.SEEDED
        with report_sink(name, survey, noise=noise, kept=["town"]) as sink:
            sink.write(survey.mechanism.privatize(ages, rng=seed), [["Rome", "Oslo"] * 100])
    (folder / "unknown.csv").write_text("report,town\n" + rows)
    return call


FILES = {"secure": ["secure.csv"], "seeded": ["seeded.jsonl"], "unknown": ["unknown.csv"]}
FILES["mixed"] = [name for names in FILES.values() for name in names]


def count_up(call: Call, kind: str, *options: str) -> str:
    """Count the reports of one kind, and return where the counts are."""
    output = f"{kind}-{'groups' if options else 'counts'}.parquet"
    succeeded(call("count", "survey.toml", *FILES[kind], *options, "-o", output))
    return output


def check_words(kind: str, text: str) -> None:
    present, absent = SAYS[kind]
    for words in present:
        assert words in text
    for words in absent:
        assert words not in text.lower() if words == SIMULATED else words not in text


def check_page(kind: str, path: Path) -> None:
    page = path.read_text().replace("&#x27;", "'")
    check_words(kind, page)
    headings = {"seeded": "<h2>Simulated reports</h2>", "mixed": "<h2>Partly simulated reports</h2>"}
    # Among the remarks, which come before any answer.
    remarks = re.match(r'(\s*<section class="callout".*?</section>)*', page.partition("</header>")[2], re.DOTALL)
    assert remarks is not None
    assert headings.get(kind, "") in remarks.group()


def check_estimate(kind: str, record: dict[str, Any]) -> None:
    check_record(kind, record["origin"])
    assert (record["guarantee"] is None) is (kind in ("seeded", "mixed"))  # a simulated report has no promise


def check_record(kind: str, origin: dict[str, Any]) -> None:
    assert (origin["secure"], origin["simulated"], origin["unknown"]) == NUMBERS[kind]
    assert origin["noise"] == NOISES[kind]
    assert origin["is_simulated"] is (kind in ("seeded", "mixed"))
    check_words(kind, origin["words"])


def origin_of(path: str) -> dict[str, Any]:
    """Return what a file of counts knows of how its reports were made."""
    return read_counts(path).origin.record


def succeeded(ending: Ending) -> Ending:
    assert ending.code == 0, ending.err
    return ending


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_output_says_what_is_stated_and_no_more(counts: Call, folder: Path, kind: str) -> None:
    one, groups = count_up(counts, kind), count_up(counts, kind, "--by", "town")
    quick = ("--method", "ibu")
    pages = ("-o", "page.html", "-o", "page.json")
    shown = succeeded(counts("estimate", "survey.toml", one, *quick, *pages, "-v"))
    check_words(kind, shown.out)
    check_page(kind, folder / "page.html")
    check_estimate(kind, json.loads((folder / "page.json").read_text()))
    is_mixed = kind == "mixed"  # what goes to standard output is what goes into the file: one kind will do
    if is_mixed:
        check_estimate(kind, succeeded(counts("estimate", "survey.toml", one, *quick, "--json")).record)

    shown = succeeded(counts("estimate", "survey.toml", groups, *quick, *pages, "-v"))
    check_words(kind, shown.out)
    check_page(kind, folder / "page.html")
    check_estimate(kind, json.loads((folder / "page.json").read_text()))
    if is_mixed:
        check_estimate(kind, succeeded(counts("estimate", "survey.toml", groups, *quick, "--json")).record)

    shown = succeeded(counts("diagnose", "survey.toml", one, "-o", "page.html", "-v"))
    check_words(kind, shown.out)
    check_page(kind, folder / "page.html")
    check_record(kind, succeeded(counts("diagnose", "survey.toml", one, "--json")).record["origin"])
    check_words(kind, succeeded(counts("diagnose", "survey.toml", groups, "-o", "page.html", "-v")).out)
    check_page(kind, folder / "page.html")


@pytest.mark.slow
def test_counting_and_merging_carry_it_on(counts: Call) -> None:
    names = {"secure": "secure.csv", "seeded": "seeded.jsonl", "unknown": "unknown.csv"}
    for kind, name in names.items():
        command = ("count", "survey.toml", name, "-o", f"{kind}.parquet")
        check_words(kind, succeeded(counts(*command)).out)
        check_record(kind, succeeded(counts(*command, "--json")).record["origin"])
    mixed = succeeded(counts("count", "survey.toml", *names.values(), "-o", "m.parquet", "--json"))
    check_record("mixed", mixed.record["origin"])
    assert "1 of 3 files carries no metadata (unknown.csv)" in mixed.record["origin"]["notes"][0]
    assert "simulated reports are counted together with others" in mixed.err
    files = [f"{kind}.parquet" for kind in names]
    merged = succeeded(counts("merge", *files, "-o", "all.parquet"))
    check_record("mixed", origin_of("all.parquet"))
    assert "simulated reports are counted together with others" in merged.err
    check_words("mixed", merged.out)
    again = ("all.parquet", "secure.parquet", "--allow-copies")
    succeeded(counts("merge", *again, "-o", "more.parquet"))
    twice = origin_of("more.parquet")
    assert (twice["secure"], twice["simulated"], twice["unknown"]) == (400, 200, 200)
    alone = counts("merge", "secure.parquet", "-o", "one.parquet")
    assert alone.err == ""
    check_record("secure", origin_of("one.parquet"))


@pytest.mark.slow
def test_counts_of_several_surveys_keep_apart_what_is_known_of_each(counts: Call, folder: Path) -> None:
    survey = (folder / "survey.toml").read_text()
    (folder / "other.toml").write_text(survey.replace("epsilon = 1.0", "epsilon = 0.5"))
    counts("privatize", "other.toml", "values.csv", "-o", "other.csv")
    counts("count", "other.toml", "other.csv", "-o", "other.parquet")
    files = (count_up(counts, "seeded"), "other.parquet")
    succeeded(counts("merge", *files, "--pool", "-o", "pool.parquet"))
    merged = origin_of("pool.parquet")
    assert (merged["secure"], merged["simulated"], merged["unknown"]) == (200, 200, 0)
    first, second = (part.origin for part, _ in read_counts(folder / "pool.parquet").pools[()])
    assert (first.simulated, second.secure) == (200, 200)
    shown = succeeded(counts("estimate", "survey.toml", "pool.parquet", "--method", "ibu", "--json")).record["origin"]
    assert (shown["secure"], shown["simulated"]) == (200, 200)


@pytest.mark.parametrize("command", ["estimate", "diagnose"])
@pytest.mark.slow
def test_missing_metadata_are_said_once(call: Call, folder: Path, command: str) -> None:
    said = "reports.csv carries no metadata: which survey it was made under, and with which noise, is not known"
    options = ("--method", "ibu") if command == "estimate" else ()
    page = ("-o", "page.html")
    shown = succeeded(call(command, "survey.toml", "reports.csv", *options, *page, "-v"))
    assert shown.out.count(said) == 1
    assert (folder / "page.html").read_text().count(said) == 1
    assert said not in shown.err
    assert call(command, "survey.toml", "reports.csv", *options, "--json").record["origin"]["notes"] == [said]
    counted = succeeded(call("count", "survey.toml", "reports.csv", "-o", "c.parquet"))
    assert counted.out.count(said) == 1


def test_nothing_else_is_written_where_metadata_stand(call: Call, folder: Path) -> None:
    (folder / "values.csv").write_text("age\n3\nx\n")
    command = ("privatize", "survey.toml", "values.csv", "-o", "known.csv", "--rejects", "known.csv-metadata.json")
    ending = call(*command)
    assert ending.code == 2
    assert "known.csv-metadata.json is where the metadata of known.csv stand" in ending.err
    assert not (folder / "known.csv").exists()
    (folder / "values.csv").rename(folder / "known.csv-metadata.json")
    ending = call("privatize", "survey.toml", "known.csv-metadata.json", "-o", "known.csv", "--rejects", "r.csv")
    assert "known.csv-metadata.json is where the metadata of known.csv stand" in ending.err
    (folder / "known.csv-metadata.json").rename(folder / "values.csv")
    assert call(*command[:-2], "--rejects", "r.csv").code == 0
    ending = call("count", "survey.toml", "known.csv", "-o", "c.parquet", "--rejects", "known.csv-metadata.json")
    assert ending.code == 2
    assert "known.csv-metadata.json is where the metadata of known.csv stand" in ending.err
    assert call("count", "survey.toml", "known.csv", "-o", "c.parquet").code == 0, "the metadata are as they were"


def test_standard_input_carries_no_metadata(call: Call, folder: Path) -> None:
    call("privatize", "survey.toml", "values.csv", "-o", "known.csv")
    typed = (folder / "known.csv").read_text()
    ending = call("estimate", "survey.toml", "-", "--method", "ibu", "--json", stdin=typed)
    assert ending.record["origin"]["unknown"] == 200
    assert ending.record["origin"]["notes"][0].startswith("standard input carries no metadata")


@pytest.mark.parametrize("command", ["estimate", "diagnose", "count"])
@pytest.mark.parametrize("name", ["known.csv", "known.jsonl.gz", "known.parquet"])
def test_another_survey_is_refused(call: Call, folder: Path, command: str, name: str) -> None:
    call("privatize", "survey.toml", "values.csv", "-o", name)
    (folder / "other.toml").write_text((folder / "survey.toml").read_text().replace("epsilon = 1.0", "epsilon = 0.2"))
    options = ("-o", "c.parquet") if command == "count" else ()
    ending = call(command, "other.toml", name, *options)
    assert ending.code == 4
    assert f"{name} was made under another survey" in ending.err
    assert not (folder / "c.parquet").exists()
