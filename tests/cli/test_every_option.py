"""Every option of every command: given and left out, and what it is for is said or written in one case alone.

Rows of a table, and a test that no option is without one. Whatever a command drops on its way to the library, or hands
over under another name, is missing here.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from tests.cli.surveys import HALVES
from tests.plans.test_records import given
from typer.testing import CliRunner

import confide as cf
import confide.studio.sharing  # before what it uses has stand-ins: the door for phones is a real one
from confide.cli.main import COMMANDS, app
from confide.collector.client import Client, Outbox, Receipt, to_counts_file
from confide.collector.stores import Store, make_token, open_store
from confide.data.counting.duck import DuckLedger
from confide.data.files import Account, CountsFile
from confide.data.files.counts_files import GroupedCounts
from confide.present.estimates import summarise_estimate

parquet = pytest.importorskip("pyarrow.parquet", reason="counting needs the extra confide[counting]")
pytest.importorskip("uvicorn", reason="the collector needs the extra confide[collector]")

AGES = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 2, unit="year"), 2.0), "age", "Ages")
LIMITED = replace(AGES, most_reports=1)
PERMANENT = replace(AGES, is_permanent=True)
AMOUNTS = cf.Survey(cf.RandomizedResponse(cf.Bins(edges=(10.0, 20.0), below=True, above=True), 1.0), "pay", "Pay")
PAIR = cf.Survey(
    cf.Product(
        age=cf.TruncatedGeometric(cf.Integers(0, 2), 2.0), sex=cf.RandomizedResponse(cf.Categories(["f", "m"]), 2.0)
    ),
    "both",
    "Both",
)
PLACES = cf.Places(40.70, -74.02, 40.79, -73.93, rows=4, columns=3)
CITY = cf.Survey(cf.TruncatedPlanarLaplace(PLACES, 1.0), "home", "Homes")
FREE = cf.Survey(cf.PlanarLaplace(cf.Coordinates(40.70, -74.02, 40.79, -73.93), 5.0), "home", "Homes")
OTHER = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 2, unit="year"), 3.0), "age", "Others")
ENDLESS = cf.Survey(cf.Geometric(cf.Integers(unit="year"), 1.0), "age", "Ages")
SURVEYS = {
    "ages": AGES, "limited": LIMITED, "permanent": PERMANENT, "pay": AMOUNTS, "pair": PAIR, "other": OTHER,
    "city": CITY, "free": FREE, "endless": ENDLESS,
}  # fmt: skip
TOWNS = replace(AGES, groups={"town": ("Oslo", "Rome")})
SECRET = "0123456789abcdef" * 2
CODE = "abcde-fghij-klmno-pqrst"


@dataclass(frozen=True)
class Row:
    """A command with an option and without it, and what is seen in one case alone."""

    command: str
    option: str
    base: str
    more: str
    seen: str

    def __str__(self) -> str:
        return f"{self.command} {self.base} {self.option}"


def table(command: str, rows: str) -> Iterator[Row]:
    """Read rows of four columns; a base that begins with a plus sign goes on behind the one of the first row."""
    usual = ""
    for line in rows.strip().splitlines():
        option, base, more, seen = (part.strip() for part in line.split(" | "))
        usual = usual or base
        yield Row(command, option, f"{usual} {base[1:]}" if base.startswith("+") else base or usual, more, seen)


# What is seen is a pattern: found in the outcome with the option, and not in the one without it; with an exclamation
# mark in front the other way round. An outcome is the exit code, both streams, and every file that is new or changed.
ROWS = [
    *table("new", r"""
        --yes  | odd.csv n.toml | --yes  | !Which|What is|In which|How private
        --json | odd.csv n.toml | --json | {.file
    """),
    *table("show", """
        --json    | ages.toml | --json    | {.name
        --verbose | +         | --verbose | ^Repetition
    """),
    *table("export", "--output | ages.toml | -o s.json | file s.json"),
    *table("audit", """
        --output  | ages.toml | -o e.html | file e.html
        --json    | ages.toml | --json    | ^{.headline
        --verbose | +         | --verbose | ^Compared
    """),
    *table("plan", r"""
        --people       | ages.toml | --people 77                          | people=77
        --epsilon      | +         | --epsilon 0.75                       | epsilon=0.75
        --target       | +         | --target 0.25                        | target_emd=0.25 target_width=None
        --target       | ages.toml --query age>=2 | --target 0.125        | target_emd=None target_width=0.125
        --query        | +         | --query age>=2                       | query='age>=2'
        --guess        | +         | --guess peaked                       | guess='peaked'
        --guess        | endless.toml | --guess 1..3                      | guess=None.*span=\(1, 3\)
        --guess        | endless.toml | --guess 'peaked 1..3'             | guess='peaked'.*span=\(1, 3\)
        --output       | +         | -o p.csv                             | file p.csv
        --json         | +         | --json                               | ^{.headline
        --verbose      | +         | --verbose                            | trade-off in numbers
        --mechanisms   | ages.toml --people 77 | --mechanisms exponential | ^exponential is the only
    """),
    *table("privatize", r"""
        --output        | ages.toml v.csv                | -o r.csv                 | file r.csv
        --column        | ages.toml named.csv --seed 1   | --column years           | code 0
        --keep          | ages.toml v.csv --seed 1       | --keep town              | report,town
        --seed          | ages.toml v.csv --seed 1 --json -o r.csv | --seed 2       | "seed": 2
        --secret        | permanent.toml one.csv         | --secret secret.txt      | code 0
        --secret        | permanent.toml v.csv           | --secret secret          | code 0
        --by            | ages.toml v.csv --seed 1       | --by town                | report,town
        --ledger        | limited.toml one.csv           | --ledger ledger.json     | file ledger.json
        --rejects       | ages.toml odd.csv --seed 1     | --rejects x.csv          | file x.csv
        --force         | pay.toml high.csv --seed 1     | --force                  | code 0
        --json          | ages.toml v.csv -o r.csv --seed 1 | --json                | {.*"seed": 1
    """),
    *table("count", r"""
        --output       | ages.toml r.csv                  | -o c.parquet             | file c.parquet
        --column       | ages.toml two.csv -o c.parquet   | --column years           | code 0
        --by           | ages.toml r.csv -o c.parquet     | --by town                | by town
        --weights      | ages.toml w.csv -o c.parquet     | --weights weight         | design effect 1\.1
        --strata       | ages.toml r.csv -o c.parquet     | --strata town            | 2 strata \(town\)
        --clusters     | ages.toml r.csv -o c.parquet     | --clusters town          | 2 clusters \(town\)
        --totals       | ages.toml r.csv -o c.parquet     | --totals census.csv      | town \(2 classes\)
        --engine       | ages.toml r.csv -o c.parquet     | --engine spark           | counted elsewhere
        --engine       | ages.toml                        | --engine sql             | SELECT
        --rejects      | ages.toml bad.csv -o c.parquet   | --rejects x.csv          | file x.csv
        --strict       | ages.toml bad.csv -o c.parquet   | --strict                 | code 4
        --allow-copies | ages.toml long.csv copy.csv -o c.parquet | --allow-copies   | code 0
        --json         | ages.toml r.csv -o c.parquet     | --json                   | "reports": 20
    """),
    *table("merge", r"""
        --output       | one.parquet two.parquet                | -o all.parquet     | file all.parquet
        --pool         | one.parquet other.parquet -o all.parquet | --pool           | code 0
        --allow-copies | one.parquet again.parquet -o all.parquet | --allow-copies   | code 0
        --totals       | towns.parquet -o all.parquet           | --totals census.csv | town \(2 classes\)
    """),
    *table("estimate", r"""
        --method           | ages.toml r.csv -v                     | --method mle                | ^Method +MLE
        --interval         | ages.toml r.csv --method mle --json    | --interval 0.5              | "level": 0.5
        --shape            | ages.toml r.csv --method mle --json    | --shape falling             | "falling"
        --query            | ages.toml r.csv --method mle --json    | --query age>=2              | "age>=2"
        --query            | city.toml cells.csv --method mle --json | --query halves.geojson     | "within North"
        --query            | ages.toml r.csv --method mle           | --query 'quantile 90%'      | Quantile 0.9
        --query | ages.toml r.csv --json --interval '95% joint' --query age>=2 | --query mean | "together": 2
        --query | ages.toml r.csv --json --interval '95% joint' --query age>=2 | --query median | "together": 2
        --interval | ages.toml r.csv --json --query age>=2 --query mean | --interval '0.95 joint' | "together": 2
        --show             | pair.toml pairs.csv --method mle --json | --show age                 | "marginals": {"age"
        --show | pair.toml pairs.csv --method mle --json | --show age,sex | "names": \["age", "sex"\]
        --show             | ages.toml r.csv --method mle           | --show all                  | .
        --verbose          | ages.toml r.csv --method mle           | -v                          | ^Log-likelihood
        --cell             | free.toml at.csv --method inversion-raw   | --cell '5 km'               | code 0
        --query            | city.toml cells.csv --method mle        | --query coast.geojson       | lines drawn: 1
        --truth            | ages.toml r.csv --method mle --json    | --truth v.csv               | "truth_rows": {
        --output           | ages.toml r.csv --method mle           | -o e.csv                    | file e.csv
        --different-people | permanent.toml days.parquet --method mle --json --query age>=2 | --different-people | .
        --json             | ages.toml r.csv --method mle           | --json                      | ^{"
    """),
    *table("estimate", r"""
        --method           | ages.toml towns.parquet --json              | --method mle       | "settings": "MLE
        --interval         | ages.toml towns.parquet --method mle --json | --interval 0.5     | "level": 0.5
        --query            | ages.toml towns.parquet --method mle --json | --query age>=2     | "age>=2"
        --query            | ages.toml towns.parquet --method mle --json | --query 'quantile 90%' | "quantile 0.9"
        --output           | ages.toml towns.parquet --method mle        | -o e.csv           | file e.csv
        --output           | ages.toml towns.parquet --method mle        | -o e.json          | file e.json
        --json             | ages.toml towns.parquet --method mle        | --json             | ^{"
        --different-people | permanent.toml daytowns.parquet --method mle --json | --different-people | .
        --truth            | ages.toml towns.parquet --method mle        | --truth v.csv      | code 2
        --interval | pair.toml pairs.csv --method mle --json --show age,sex | --interval '95% joint' | "together": 6
        --interval         | pair.toml pairs.csv --method mle --json --show age,sex | --interval 0.5 | "level": 0.5
        --interval         | ages.toml r.csv --method mle --json --query age>=2 | --interval 0.5 | "level": 0.5
        --over             | ages.toml r.csv --method mle --json         | --over town        | "over": \[{"question"
        --over             | ages.toml towns.parquet --method mle --json | --over town        | "over": \[{"question"
        --person           | ages.toml panel.csv --method mle --json --over week | --person who | "is_linked": true
        --output           | ages.toml panel.csv --method mle --over week | -o e.csv          | file e.csv
        --output           | pair.toml pairs.csv --method mle --show age,sex -o e.json | -o e.csv | file e.age-sex.csv
        --output           | ages.toml r.csv --method mle                | -o e.json          | file e.json
    """),
    *table("diagnose", r"""
        --query            | ages.toml towns.parquet --json       | --query age>=2   | "age>=2"
        --output           | ages.toml towns.parquet              | -o d.json        | file d.json
        --strict           | ages.toml oddtowns.parquet           | --strict         | code 8
        --json             | ages.toml towns.parquet              | --json           | ^{.headline
        --different-people | permanent.toml daytowns.parquet --json | --different-people | .
    """),
    *table("diagnose", r"""
        --query            | ages.toml r.csv --json      | --query age>=2            | "age>=2"
        --query            | city.toml cells.csv --json  | --query halves.geojson    | "within North"
        --cell             | free.toml at.csv            | --cell '5 km'             | code 0
        --verbose          | ages.toml                   | -v                        | ^Identification
        --output           | ages.toml                   | -o d.json                 | file d.json
        --different-people | permanent.toml days.parquet --json | --different-people | .
        --strict           | ages.toml unfit.csv         | --strict                  | code 8
        --json             | ages.toml                   | --json                    | ^{.headline
    """),
    *table("unbias", r"""
        --query   | ages.toml r.csv --query mean         | --query age>=2    | age_mean,age_ge_2
        --output  | ages.toml r.csv --query mean         | -o u.csv          | file u.csv
        --column  | ages.toml two.csv --query mean       | --column years    | code 0
    """),
    *table("regress", r"""
        --model    | ages.toml cov.csv 'age ~ x' --json               | --model multinomial  | "model": "multinomial"
        --weights  | ages.toml cov.csv 'age ~ x' -v                   | --weights weight     | ^Design effect
        --clusters | ages.toml cov.csv 'age ~ x' -v                   | --clusters village   | ^Clusters +5
        --interval | ages.toml cov.csv 'age ~ x'                      | --interval 90%       | 0\.95\]
        --column   | ages.toml two.csv 'age ~ 1'                      | --column years       | code 0
        --output   | ages.toml cov.csv 'age ~ x'                      | -o e.csv             | file e.csv
        --verbose  | ages.toml cov.csv 'age ~ x'                      | -v                   | ^Formula
        --json     | ages.toml cov.csv 'age ~ x'                      | --json               | {.headline
    """),
    *table("studio", r"""
        --store   | ages.toml                       | --store s.db         | file s.db
        --bind    | ages.toml                       | --bind 127.0.0.2     | bound to 127.0.0.2:8000
        --bind    | ages.toml                       | --bind 127.0.0.2:8123 | bound to 127.0.0.2:8123
        --browser | ages.toml                       | --no-browser         | !browser opened
        --share   | ages.toml                       | --share              | Phones
    """),
    *table("serve", r"""
        --store         | ages.toml                 | --store s.db                       | file s.db
        --bind          | ages.toml                 | --bind 127.0.0.2                   | bound to 127.0.0.2:8000
        --bind          | ages.toml                 | --bind 8123                        | bound to 127.0.0.1:8123
        --bind          | ages.toml                 | --bind [::1]:8123                  | bound to ::1:8123
        --upload        | ages.toml                 | --upload token                     | admission='token'
        --allow-origin | ages.toml | --allow-origin https://example.org | origins=\('https://example.org',\)
        --simulate      | ages.toml                 | --simulate 5                       | is_simulated=True
    """),
    *table("send", r"""
        --column        | ages.toml named.csv http://localhost:1 | --column years              | posted
        --force         | pay.toml high.csv http://localhost:1 | --force                       | posted
        --invitation    | limited.toml one.csv http://localhost:1 | --invitation CODE | with CODE
        --secret        | permanent.toml v.csv http://localhost:1 | --secret secret            | posted
    """),
    *table("pull", r"""
        --output     | http://localhost:1              | -o c.parquet           | file c.parquet
        --by         | http://localhost:1 -o c.parquet | --by town,day          | by=\('town', 'day'\)
    """),
    *table("curate", r"""
        --token   | kept.db                                   | --token read              | read-
        --token   | kept.db                                   | --token read:alice        | alice
        --token   | kept.db                                   | ages.toml --token read:bob | for FINGERPRINT alone
        --revoke  | kept.db                                   | --revoke curator          | Revoked curator
        --invite  | kept.db ages.toml -o i.txt       | --invite 3                | file i.txt
        --output  | kept.db ages.toml --invite 3     | -o i.txt                  | file i.txt
        --upload  | kept.db ages.toml                | --upload invited          | uploads: invited
        --upload  | kept.db ages.toml                | --upload closed           | closed
        --window  | kept.db                                   | --window 21               | window of 21 days
        --window  | kept.db                                   | --window YESTERDAY        | from YESTERDAY on
    """),
]  # fmt: skip


def test_every_option_has_a_row() -> None:
    group: Any = typer.main.get_command(app)
    known = {
        (name, max(one.opts, key=len))
        for name in COMMANDS
        for one in group.get_command(None, name).params
        if one.param_type_name == "option"
    }
    assert {(row.command, row.option) for row in ROWS} == known


# The folder that the rows are about, and what stands in for servers, browsers and people.


def lines(header: str, rows: list[str]) -> str:
    return "\n".join([header, *rows]) + "\n"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with everything that the rows name; each call gets a copy."""
    place = tmp_path_factory.mktemp("options")
    for name, survey in SURVEYS.items():
        (place / f"{name}.toml").write_text(survey.text())
    ages, towns = [0, 1, 1, 2, 2, 2, 0, 0, 1, 1] * 2, ["Oslo", "Rome"] * 10
    (place / "v.csv").write_text(
        lines(
            "age,town,secret",
            [f"{age},{town},{SECRET}{place:04x}" for place, (age, town) in enumerate(zip(ages, towns, strict=True))],
        )
    )
    (place / "sent.csv").write_text((place / "v.csv").read_text())
    (place / "named.csv").write_text(lines("years,weight", [f"{age},{age}" for age in ages]))
    (place / "one.csv").write_text("age\n2\n")
    (place / "odd.csv").write_text(lines("age", [*map(str, ages), "x"]))
    (place / "high.csv").write_text(lines("pay", ["5000"] * 30))
    (place / "secret.txt").write_text(SECRET)
    (place / "r.csv").write_text(lines("report,town", [f"{age},{town}" for age, town in zip(ages, towns, strict=True)]))
    panel = [f"{age},{week},p{one}" for week in (1, 2) for one, age in enumerate(ages)]
    (place / "panel.csv").write_text(lines("report,week,who", panel))
    (place / "census.csv").write_text(lines("column,value,total", ["town,Oslo,3", "town,Rome,1"]))
    (place / "w.csv").write_text(lines("report,weight", [f"{age},{1 + age}" for age in ages]))
    (place / "two.csv").write_text(lines("years,other", [f"{age},{age}" for age in ages]))
    (place / "bad.csv").write_text(lines("report", [*map(str, ages), "x"]))
    (place / "unfit.csv").write_text(lines("report", ["0"] * 500 + ["2"] * 500))
    (place / "long.csv").write_text(lines("report", list(map(str, ages * 5))))
    (place / "copy.csv").write_text((place / "long.csv").read_text())
    covariates = [f"{age},{at % 4},{'OR'[at % 2]}slo,{1 + at % 3},{at % 5}" for at, age in enumerate(ages * 20)]
    (place / "cov.csv").write_text(lines("report,x,town,weight,village", covariates))
    (place / "pairs.csv").write_text(lines("age,sex", [f"{age % 3},{'fm'[age % 2]}" for age in ages]))
    (place / "cells.csv").write_text(lines("row,column", [f"{one % 4},{one % 3}" for one in range(24)]))
    (place / "at.csv").write_text(lines("latitude,longitude", ["40.745,-73.975", "40.75,-73.98"] * 10))
    (place / "halves.geojson").write_text(json.dumps(HALVES))
    (place / "coast.geojson").write_text('{"type": "LineString", "coordinates": [[-74.01, 40.71], [-73.95, 40.75]]}')
    for name, reports, survey in (
        ("one", [0, 1, 2], AGES),
        ("two", [2, 0], AGES),
        ("other", [1, 1], OTHER),
        ("first", [1, 2], LIMITED),
        ("second", [2, 2], LIMITED),
    ):
        cf.save_counts(place / f"{name}.parquet", cf.tally(reports), survey)
    shutil.copy(place / "one.parquet", place / "again.parquet")
    secrets = [cf.Permanent(bytes([number]) * 16) for number in range(1, 21)]
    days = cf.tally(PERMANENT.privatize(ages, rng=secrets)).with_repeats(2)
    cf.save_counts(place / "days.parquet", days, PERMANENT)
    for name, some, survey, repeats in (
        ("towns", [ages, ages[:7]], AGES, 1),
        ("oddtowns", [[0] * 500 + [2] * 500, [0] * 500 + [2] * 500], AGES, 1),
        ("daytowns", [ages, ages[:7]], PERMANENT, 2),
    ):
        parts: dict[tuple[str, ...], cf.Counts] = {}
        for town, values in zip(("Oslo", "Rome"), some, strict=True):
            origin = cf.evidence.Origin(permanent=len(values) if survey is PERMANENT else 0)
            parts[town,] = cf.tally(values).with_origin(origin).with_repeats(repeats)
        cf.save_counts(place / f"{name}.parquet", GroupedCounts(("town",), parts, Account(27), repeats=repeats), survey)
    (place / "pairs2.csv").write_text((place / "pairs.csv").read_text().replace("age,sex", "years,sexes"))
    with contextlib.closing(open_store(str(place / "kept.db"))) as store:
        store.add_survey(AGES)
        make_token(store, "administer", "curator")
    sent = place / "sent.csv"
    sent.with_name("sent.csv.sent").write_text(
        json.dumps(
            {
                "values": hashlib.sha256(sent.read_bytes()).hexdigest(),
                "survey": AGES.fingerprint,
                "to": "there",
                "day": "2026-11-16",
            }
        )
    )
    return place


class Cluster(DuckLedger):
    """Stands for Spark, which takes seconds to start."""

    def count(self, source: Any) -> None:
        super().count(source)
        self.notes.append("counted elsewhere")


class Nowhere(Client):
    """A collector that takes everything, and says what it was told."""

    def __init__(self, url: str, token: str | None = None, **_: Any) -> None:
        super().__init__("http://localhost:1")
        typer.echo(f"url {url}, token {token}", err=True)

    def post(self, message: bytes, invitation: str | None = None) -> Receipt:
        said = json.loads(message)
        typer.echo(f"posted {len(said['reports'])} with {invitation}", err=True)
        return Receipt(len(said["reports"]))

    def admission(self, fingerprint: str) -> str:
        return "invited" if fingerprint == LIMITED.fingerprint else "open"

    def surveys(self) -> list[dict[str, Any]]:
        return [{"survey": TOWNS.fingerprint, "title": "Ages"}]

    def counts(self, fingerprint: str, by: Sequence[str] = ()) -> CountsFile:
        typer.echo(f"asked for {'other' if fingerprint == OTHER.fingerprint else 'ages'} {by=}", err=True)
        days = [
            {"day": "2026-11-16", "groups": ["Oslo"], "counts": [[1, 2]]},
            {"day": "2026-11-17", "groups": ["Rome"], "counts": [[2, 1]]},
        ]
        record = {
            "survey": TOWNS.fingerprint,
            "by": ["town"],
            "accepted": 3,
            "rejected": {},
            "is_simulated": False,
            "days": days,
        }
        return to_counts_file(TOWNS, record, by)


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put something that says what it was told in place of what takes long, listens or opens a window."""

    def make_plan(mechanism: object, guess: object, **told: Any) -> Any:
        typer.echo(f"plan {guess=} {' '.join(f'{name}={one!r}' for name, one in told.items())}", err=True)
        return given()

    def run(opened: Store, listening: object, settings: object, ready: Any, guest: object, door: object = None) -> None:
        del guest, door
        ready()
        typer.echo(f"{listening} {settings} window {opened.window()} {opened.surveys()}", err=True)
        opened.close()

    def show(address: str) -> bool:
        typer.echo(f"browser opened: {bool(address)}")
        return True

    def bind(host: str, port: int) -> Any:
        return f"bound to {host}:{port}"

    monkeypatch.setattr("confide.cli.plan.make_plan", make_plan)
    monkeypatch.setattr("confide.data.counting.spark.SparkLedger", Cluster)
    monkeypatch.setattr("confide.collector.client.Client", Nowhere)
    monkeypatch.setattr("confide.collector.serving.run", run)
    monkeypatch.setattr("confide.collector.serving.bind", bind)
    monkeypatch.setattr("confide.collector.serving.address_of", lambda _: "http://here")
    monkeypatch.setattr("confide.collector.client.simulate", lambda *_: Receipt(0))
    monkeypatch.setattr("confide.studio.workers.prepare", lambda: None)
    monkeypatch.setattr("webbrowser.open", show)

    def summarise(found: Any, **how: Any) -> Any:
        typer.echo(f"lines drawn: {len(found.background)}", err=True)
        return summarise_estimate(found, **how)

    monkeypatch.setattr("confide.cli.estimate.summarise_estimate", summarise)
    held = Outbox.held

    @contextlib.contextmanager
    def holding(path: Path) -> Iterator[None]:
        typer.echo(f"lock {path.name}", err=True)
        with held(path):
            yield

    monkeypatch.setattr(Outbox, "held", staticmethod(holding))


YESTERDAY = (datetime.now(UTC).date() - timedelta(days=1)).isoformat()


def outcome(words: str, command: str, prepared: Path, place: Path) -> str:
    """Return all that came of a command: its exit code, what it said, and every file that is new or another one."""
    shutil.copytree(prepared, place)
    os.chdir(place)
    os.urandom = np.random.default_rng(1).bytes
    asked = shlex.split(words.replace("YESTERDAY", YESTERDAY).replace("CODE", CODE))
    ending = CliRunner().invoke(app, [command, *asked])
    if ending.exception is not None and not isinstance(ending.exception, SystemExit):
        raise ending.exception
    told = [f"code {ending.exit_code}", ending.stdout, ending.stderr]
    if command == "curate":
        told.append(CliRunner().invoke(app, ["curate", "kept.db"]).stdout)
    for path in sorted(place.rglob("*")):
        before = prepared / path.relative_to(place)
        if path.is_file() and not (before.is_file() and before.read_bytes() == path.read_bytes()):
            told.append(f"file {path.name}: {path.read_bytes().decode('utf-8', 'replace')}")
    return re.sub('"seconds": [^,}]+', "", "\n".join(told))


KNOWN: dict[tuple[str, str], str] = {}
"""Outcomes without an option, which several rows share."""


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_an_option_does_what_it_is_for(
    row: Row, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "urandom", os.urandom)
    monkeypatch.delenv("CONFIDE_TOKEN", raising=False)
    known = (row.command, row.base)
    if known not in KNOWN:
        KNOWN[known] = outcome(row.base, row.command, prepared, tmp_path / "without")
    without = KNOWN[known]
    given_it = outcome(f"{row.base} {row.more}", row.command, prepared, tmp_path / "with")
    seen = row.seen.replace("YESTERDAY", YESTERDAY).replace("FINGERPRINT", AGES.fingerprint).replace("CODE", CODE)
    first, second = (given_it, without) if not seen.startswith("!") else (without, given_it)
    pattern = re.compile(seen.removeprefix("!"), re.MULTILINE)
    if seen == ".":  # all numbers are other ones
        assert without == outcome(row.base, row.command, prepared, tmp_path / "again")
        assert given_it != without
        return
    assert pattern.search(first), f"{first}"
    assert not pattern.search(second), f"{second}"
