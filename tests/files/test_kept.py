"""Files that version 0.2 wrote are read as what they are: names inside files stay, wherever modules move."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.cases import each
from tests.collector.asking import serving

import confide as cf
from confide.collector.stores import open_store
from confide.data.files.counts_files import METADATA, SUMS
from confide.surveys.survey import parse_survey

pytest.importorskip("pyarrow", reason="counting needs the extra confide[counting]")

KEPT = Path(__file__).parent / "kept"
VECTORS = Path(__file__).parents[2] / "vectors"
SURVEY = cf.load_survey(KEPT / "survey.toml")
SURVEYS = {
    "age": "8579ece2275d4443d60484b5eb73db9f",
    "answer": "7d366a2be170e042c5fd93082cfc0007",
    "both": "edaa4a420ad14a9efc60f6f926565826",
    "rounds": "967d5b011a3496a1ac90c5a7e8b33230",
}
"""Surveys without a table of weights, and what an application pins."""


def test_counts_of_0_2_are_counts() -> None:
    counts: Any = cf.load_counts(KEPT / "counts.parquet", SURVEY)
    assert counts.counts.tolist() == [5, 3, 6, 14, 4, 6, 1, 6, 5, 10]
    assert counts.origin.is_simulated


def test_groups_of_0_2_are_groups() -> None:
    groups: Any = cf.load_counts(KEPT / "groups.parquet", SURVEY)
    assert {key: one.total for key, one in groups.groups.items()} == {("Oslo",): 3, ("Rome",): 9}


def test_names_inside_files_are_fixed() -> None:
    assert (METADATA, SUMS) == (b"confide.counts", b"confide.sums")


@each("name", list(SURVEYS))
def test_surveys_and_documents_of_0_2_have_their_fingerprints(name: str) -> None:
    survey = cf.load_survey(KEPT / f"{name}.toml")
    document = (KEPT / f"{name}.json").read_text(encoding="utf-8")
    assert survey.fingerprint == SURVEYS[name]
    assert cf.Survey.from_json(document) == survey
    assert survey.to_json() == document.rstrip("\n")


def test_a_document_with_a_table_of_0_2_says_how_to_write_it_again() -> None:
    assert cf.load_survey(KEPT / "place.toml").alphabet.size == 11
    with pytest.raises(cf.errors.ConfideError, match="Write the survey again with: confide export"):
        cf.Survey.from_json((KEPT / "place.json").read_text(encoding="utf-8"))


def test_vectors_of_0_2_are_still_vectors() -> None:
    """Those without a table: digests of groups of draws, and of permanent reports, as 0.2 published them."""
    kept = json.loads((KEPT / "vectors.json").read_text(encoding="utf-8"))
    for kind, digests in kept.items():
        path = VECTORS / "permanent.json" if kind == "permanent" else VECTORS / "draws" / f"{kind}.json"
        groups = json.loads(path.read_text(encoding="utf-8"))["groups"]
        now = {hashlib.sha256(json.dumps(group, sort_keys=True).encode()).hexdigest()[:16] for group in groups}
        assert set(digests) <= now, kind


@each(
    ("name", "file", "noise"),
    [
        ("age", "age-reports.csv", "permanent"),
        ("answer", "answer-reports.jsonl", "secure generator"),
        ("both", "both-reports.parquet", "secure generator"),
        ("place", "place-reports.csv", "secure generator"),
    ],
)
def test_reports_of_0_2_are_read_with_their_metadata(name: str, file: str, noise: str) -> None:
    survey = cf.load_survey(KEPT / f"{name}.toml")
    metadata = cf.read_metadata(KEPT / file)
    assert metadata is not None
    assert (metadata.noise, metadata.reports) == (noise, 40)
    counts = cf.read_reports(KEPT / file, survey).counts
    assert counts.total == 40
    assert counts.origin.permanent == 40 * (noise == "permanent")


def test_counts_of_0_2_and_the_reports_behind_them_agree() -> None:
    for name, file in (("answer", "answer-reports.jsonl"), ("place", "place-reports.csv")):
        survey = cf.load_survey(KEPT / f"{name}.toml")
        counts: Any = cf.load_counts(KEPT / f"{name}-counts.parquet", survey)
        read: Any = cf.read_reports(KEPT / file, survey).counts
        assert (counts.reports.tolist(), counts.counts.tolist()) == (read.reports.tolist(), read.counts.tolist())
    groups: Any = cf.load_counts(KEPT / "age-counts.parquet", cf.load_survey(KEPT / "age.toml"))
    assert {key: one.total for key, one in groups.groups.items()} == {("Lima",): 20, ("Oslo",): 20}


def test_a_ledger_of_0_2_goes_on(tmp_path: Path) -> None:
    shutil.copy(KEPT / "ledger.json", tmp_path)
    survey, secret = cf.load_survey(KEPT / "age.toml"), cf.Permanent(bytes.fromhex("00112233445566778899aabbccddeeff"))
    ledger = cf.Ledger(tmp_path / "ledger.json")
    assert ledger.privatize(survey, 4, rng=secret) == 3  # what 0.2 reported for the same person and value
    ledger.privatize(survey, 5, rng=secret)
    (page,) = json.loads(Path(ledger.path).read_text(encoding="utf-8"))["pages"].values()
    assert list(page["values"].values()) == [2, 1]


READ_TOKEN = "confide-xHyY2C8-p0gj7XT3ogo8RKfjA3f4947KIv1MhSSBFrQ"  # noqa: S105  of the kept store, which serves nobody


def test_a_store_of_0_2_goes_on(tmp_path: Path) -> None:
    """Counts, tokens, invitations and the marks that tell a batch that comes twice stay what they were."""
    path = tmp_path / "confide.db"
    with sqlite3.connect(path) as made:
        made.executescript((KEPT / "store.sql").read_text(encoding="utf-8"))
    made.close()
    survey = parse_survey((KEPT / "answer.toml").read_text(encoding="utf-8"))
    message = (KEPT / "message.json").read_bytes()  # which the store has counted
    expected = {'"001"': 1, '"010"': 1, '"100"': 1, '"110"': 1}
    with serving(open_store(str(path)), survey, day=date(2026, 11, 19)) as served:
        assert served.counts() == expected
        assert served.post(message).json["accepted"] == 4
        assert served.counts() == expected, "a batch that 0.2 counted counts again"
        fresh = json.loads(message) | {"batch": hashlib.sha256(b"another").hexdigest()[:32]}
        assert served.post(fresh).json["accepted"] == 4
        assert served.counts() == {report: 2 * number for report, number in expected.items()}
        read = f"/v1/surveys/{survey.fingerprint}/counts"
        assert served.ask("GET", read, authorization=f"Bearer {READ_TOKEN}").status == 200
        assert served.ask("GET", read).status == 401
        assert served.store.invitations(1) == 1
        assert {one.fingerprint for one in served.store.surveys()} == {SURVEYS["age"], SURVEYS["answer"]}
        served.store.close()
