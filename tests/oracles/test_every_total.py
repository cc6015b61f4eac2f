"""Whatever adds up adds every field, and whatever is told of a collector or written for a program is all that is there.

Every number is unlike every other one, so that one in another's place shows; records are compared as wholes.
"""

from __future__ import annotations

import csv
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from tests.collector.asking import serving
from tests.plans.test_records import given

import confide as cf
from confide.collector.client import Receipt
from confide.collector.serving import address_of, bind
from confide.collector.stores import Store, StoreError, open_store
from confide.data.counting.sources import FoundFiles
from confide.data.files import (
    SurveyGroups,
    as_meant,
    diagnosis_record,
    estimate_record,
    groups_record,
    privatize_file,
    unbias_file,
)
from confide.data.files.sheets import Account, Reason, Reject
from confide.estimates.estimate import Outcome
from confide.evidence.counts import Origin
from confide.evidence.shapes import Shape
from confide.present.results import content_of, record_of
from confide.present.surveys import audit_record, describe_groups, describe_levels, summarise_audit, summarise_plan
from confide.studio.serving import MOST_SIMULATED, Studio

pytest.importorskip("orjson", reason="the collector needs the extra confide[collector]")


def an_account(number: int) -> Account:
    """Return an account with no field at its default, and nothing as in another one."""
    rejects = tuple(Reject(f"f{number}", line, "x", Reason.MISSING) for line in range(number, number + 3))
    reasons = {Reason.MISSING: 10 * number, list(Reason)[2 + number]: 20 * number}
    remarks = {"folded": number, f"remark {number}": 7 * number}
    columns = (f"column {number}",)
    return Account(100 * number, reasons, rejects, f"source {number}", columns, 300 * number, number == 2, remarks)


def added(name: str, one: Any, other: Any, *, is_first_empty: bool) -> Any:
    """Return what a field of a sum is."""
    if name == "source":
        return other if is_first_empty else one
    if name == "columns":
        return other or one
    if name == "is_counted":
        return one or other
    if name == "first":
        return (*one, *other)[:10]
    return dict(Counter(one) + Counter(other)) if isinstance(one, dict) else one + other


@pytest.mark.parametrize(("first", "second"), [(1, 2), (2, 1), (3, 4), (0, 2), (0, 1)])
def test_accounts_add_up_field_by_field(first: int, second: int) -> None:
    one, other = (an_account(number) if number else Account(source="nothing yet") for number in (first, second))
    total = one + other
    for field in fields(Account):
        parts = (getattr(each, field.name) for each in (one, other))
        assert getattr(total, field.name) == added(field.name, *parts, is_first_empty=not first), field.name
    assert total.read == one.read + other.read


@pytest.mark.parametrize("kind", [Receipt, Origin])
def test_what_adds_up_adds_every_field(kind: Any) -> None:
    names = [one.name for one in fields(kind)]
    made = []
    for number in (1, 2):
        numbers: dict[str, Any] = {name: 10**place * number for place, name in enumerate(names)}
        if kind is Receipt:
            numbers["rejected"] = ((number, "missing"),)
        made.append(kind(**numbers))
    for name in names:
        assert getattr(made[0] + made[1], name) == getattr(made[0], name) + getattr(made[1], name), name


# A collector and its studio.


@pytest.fixture
def file_store(tmp_path: Path) -> Iterator[Store]:
    found = open_store(str(tmp_path / "store.db"))
    yield found
    found.close()


def test_every_measure_of_a_collector_is_its_own(file_store: Store) -> None:
    with serving(file_store) as served:
        sent = served.message([3, 4, 5, 70, 71])
        replies = [
            served.post(one) for one in (sent, sent, sent, served.message([6]), served.message([7, 8, 9, 72, 73]))
        ]
        replies += [served.post({**sent, "reports": [9]}), served.post({**sent, "survey": "0" * 32})]
        told = served.ask("GET", "/metrics").body.decode()
        waiting = len(served.app.collector.commits.waiting)
    statuses = Counter(one.status for one in replies)
    assert statuses == {200: 5, 409: 1, 404: 1}
    found = dict(line.rsplit(" ", 1) for line in told.splitlines() if not line.startswith("#"))
    helped = re.findall("^# HELP (\\S+) (.+)$", told, re.MULTILINE)
    assert {name for name, _ in helped} == {re.sub("{.*", "", name) for name in found} | {"confide_surveys_unreadable"}
    assert len({words for _, words in helped}) == len(helped)
    expected: dict[str, float] = {
        'confide_batches_total{outcome="conflict"}': 1,
        'confide_batches_total{outcome="counted"}': 3,
        'confide_batches_total{outcome="repeated"}': 2,
        'confide_reports_total{outcome="accepted"}': 7,
        'confide_reports_total{outcome="rejected"}': 4,
        "confide_commit_failures_total": 0,
        "confide_batches_waiting": waiting,
        "confide_surveys": 1,
        "confide_store_up": 1,
    }
    assert {name: float(found[name]) for name in expected} == expected
    assert float(found["confide_commits_total"]) >= 4
    seconds = {"confide_commits_total", "confide_commit_seconds_total", "confide_up_seconds"}
    assert set(found) == set(expected) | seconds
    assert 0 < float(found["confide_commit_seconds_total"]) < float(found["confide_up_seconds"]) + 60


@pytest.mark.parametrize("most", [7, MOST_SIMULATED, 10**9])
def test_a_trial_lets_no_more_people_answer_than_its_mechanism_draws(most: int, file_store: Store) -> None:
    import orjson

    survey = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 5), 1.0), "mark", simulated="peaked")
    with serving(file_store) as served:
        studio = Studio(served.app.collector)

        async def drafted(*_: object) -> bytes:
            return orjson.dumps({"document": survey.to_json(), "most": most})

        studio._draft = drafted  # type: ignore[method-assign, assignment]
        status, body, _ = served.run(studio._try({}))
        studio.close()
    found = orjson.loads(body)
    assert (status, found["most"]) == (201, min(most, MOST_SIMULATED))
    assert (found["survey"], found["is_simulated"], found["accepted"]) == (survey.fingerprint, True, 0)


# Files for other programs.


@pytest.mark.parametrize("ending", [".sav", ".dta"])
def test_a_statistics_file_is_read_back_with_all_its_labels(ending: str, tmp_path: Path) -> None:
    program = pytest.importorskip("pyreadstat")
    survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["red", "green", "blue"]), 1.0), "colour", "What colour?")
    reports = survey.mechanism.privatize(["red", "green", "green", "blue"] * 9, rng=1).tolist()
    rows = [f"{one},{place % 4},t{place % 3}" for place, one in enumerate(reports)]
    (tmp_path / "r.csv").write_text("report,house no,town\n" + "\n".join(rows) + "\n")
    asked = ["colour == red", "colour == blue"]
    done = unbias_file(tmp_path / "r.csv", tmp_path / f"out{ending}", survey, asked)
    frame, known = (program.read_sav if ending == ".sav" else program.read_dta)(str(tmp_path / f"out{ending}"))
    assert known.file_label == "What colour?"
    assert known.column_names == ["report", "house_no", "town", "colour_red", "colour_blue"]
    labels = ["report", "house no", "town", *(f"unbiased: {one}" for one in asked)]
    assert known.column_labels == labels
    assert [known.variable_value_labels["report"][one] for one in frame["report"]] == reports
    assert set(known.variable_value_labels) == {"report"}
    assert frame["house_no"].tolist() == [place % 4 for place in range(36)]
    assert frame["town"].tolist() == [f"t{place % 3}" for place in range(36)]
    for column, query in zip(done.columns, asked, strict=True):
        values = cf.unbias(reports, survey.mechanism, query)
        assert frame[column.name].tolist() == pytest.approx(values.tolist())
        assert column.question == query
        assert column.mean == pytest.approx(values.mean())
        assert column.error == pytest.approx(np.std(values, ddof=1) / 6)


def test_an_audit_of_two_rounds_tells_each_round_by_its_own_promise() -> None:
    rounds = [cf.TruncatedGeometric(cf.Integers(0, 3), epsilon) for epsilon in (1.5, 0.5)]
    survey = cf.Survey(cf.TwoRounds(*rounds), "mark", "Marks")
    result = cf.audit(survey.mechanism, reports=2000)
    record = audit_record(survey, result)
    lasting = record["any_number_of_reports"]
    assert survey.mechanism.guarantee != survey.mechanism.lasting
    for part, promise, found in (
        (record, survey.mechanism.guarantee, result),
        (lasting, survey.mechanism.lasting, result.lasting),
    ):
        assert found is not None
        assert part["guarantee"] == str(promise)
        assert (part["holds"], part["extent"], part["faults"]) == (found.holds, found.extent.value, list(found.faults))
        assert (part["log_ratio"], part["bound"]) == (found.worst.log_ratio, found.worst.bound)
    assert record["fingerprint"] == survey.fingerprint
    assert record["draws"]["reports"] == result.draws.reports
    told = dict(summarise_audit(survey, result).facts)
    assert told["Promise"] == str(survey.mechanism.guarantee)
    assert f"{lasting['log_ratio']:.6g} of {lasting['bound']:.6g}" in told["Any number of reports"]


@pytest.mark.parametrize("sizes", [(2,), (2, 3), (3, 2, 4)])
def test_groups_of_a_survey_are_as_many_as_there_are_combinations(sizes: tuple[int, ...]) -> None:
    groups = {f"group {place}": tuple(f"v{one}" for one in range(size)) for place, size in enumerate(sizes)}
    survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), 1.0), "vote", groups=groups)
    cells = list(itertools.product(*groups.values()))
    assert f": {len(cells)} combinations" in describe_groups(survey)
    assert all(name in describe_groups(survey) for name in groups)


def test_a_table_of_levels_is_of_its_own_survey_people_and_shape() -> None:
    pair = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 4), 1.0), "mark", shape=Shape.of("falling"))
    falling = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    usual = repr(describe_levels(pair, 3000, falling).parts)
    assert repr(describe_levels(pair, 3000, falling).parts) == usual
    for survey, people, truth in (
        (replace(pair, shape=None), 3000, falling),
        (replace(pair, mechanism=cf.TruncatedGeometric(cf.Integers(0, 4), 2.0)), 3000, falling),
        (pair, 9000, falling),
        (pair, 3000, np.array([0.96, 0.01, 0.01, 0.01, 0.01])),
    ):
        assert repr(describe_levels(survey, people, truth).parts) != usual, (survey, people)


def test_a_plan_speaks_of_the_mechanism_that_is_planned() -> None:
    made = given()
    survey = cf.Survey(made.mechanism.at(9.0), "age", "Ages")
    words = repr(summarise_plan(survey, made))
    assert made.mechanism.guarantee.terms in words
    assert survey.mechanism.guarantee.terms not in words


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_an_address_leads_to_where_a_server_listens(host: str) -> None:
    try:
        listening = bind(host, 0)
    except StoreError:
        pytest.skip(f"nothing listens at {host} here")
    with listening:
        found = urlsplit(address_of(listening))
        assert (found.scheme, found.hostname, found.port) == ("http", host, listening.getsockname()[1])


def test_numbers_beside_reports_are_json_whatever_they_are(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    kept = [1.5, float("nan"), float("inf"), float("-inf"), None, 2.0, -0.25]
    survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), 1.0), "answer")
    table = arrow.table({"answer": ["yes", "no"] * 3 + ["yes"], "size": kept})
    parquet.write_table(table, tmp_path / "v.parquet")
    privatize_file(tmp_path / "v.parquet", tmp_path / "r.jsonl", survey, keep=("size",), keep_order=True)

    def refuse(word: str) -> Any:
        raise AssertionError(f"{word} is no JSON")

    lines = (tmp_path / "r.jsonl").read_text().splitlines()
    found = [json.loads(line, parse_constant=refuse)["size"] for line in lines]
    assert found == [1.5, None, None, None, None, 2.0, -0.25]


EMPTY: dict[str, Any] = {"tables": {}, "limits": {}, "groups": {}, "shape": [], "simulated": "", "shuffler": ""}


@pytest.mark.parametrize("key", EMPTY)
def test_a_survey_in_json_states_nothing_that_is_empty(key: str) -> None:
    survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), 1.0), "answer")
    document = json.loads(survey.to_json())
    assert cf.Survey.from_json(json.dumps(document)) == survey
    with pytest.raises(cf.errors.ConfideError):
        cf.Survey.from_json(json.dumps(document | {key: EMPTY[key]}))


@pytest.mark.parametrize("name", [one.name for one in fields(Account) if one.name not in ("first", "people")])
def test_every_part_of_an_account_is_in_its_words_and_in_its_record(name: str) -> None:
    account, other = an_account(1), replace(an_account(2), is_counted=True)
    changed = replace(account, **{name: getattr(other, name)})
    assert changed.description != account.description
    if name != "rejected":  # of which the record has the number
        assert changed.record != account.record
    assert changed.record["rejected"] == changed.total_rejected


@pytest.mark.parametrize("name", [one.name for one in fields(FoundFiles)][1:])
@pytest.mark.parametrize("others", [False, True])
def test_every_file_that_is_not_counted_is_told(name: str, others: bool) -> None:
    found = FoundFiles(("a.csv",), *((f"{one.name}.csv",) if others else () for one in fields(FoundFiles)[1:]))
    notes = replace(found, **{name: ("this.csv", "that.csv")}).notes
    (told,) = [note for note in notes if "this.csv" in note]
    assert "that.csv" in told
    assert len(notes) == (3 if others else 1)


def test_every_record_of_weighted_reports_says_what_the_weights_cost() -> None:
    survey = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 4), 1.5), "mark")
    reports = survey.mechanism.privatize(np.arange(400) % 5, rng=1)
    counts = cf.tally(reports, weights=1 + np.arange(400) % 7)
    estimate = cf.estimate(counts, survey.mechanism, cf.MLE())
    diagnosis = cf.diagnose(counts, survey.mechanism, name="mark")
    groups = SurveyGroups({("A",): estimate, ("B",): estimate}, survey, ("town",))
    made = {
        "estimate": estimate_record(survey, counts, Outcome(estimate, (), None, None)),
        "diagnosis": diagnosis_record(survey, diagnosis),
        "group": groups_record(groups)["groups"][1],
        "counts": record_of(counts),
    }
    for kind, record in made.items():
        assert record["weights"]["sum"] == counts.weight, kind
        assert record["weights"]["design_effect"] == pytest.approx(counts.design_effect), kind
        assert record["reports"] == 400, kind
    assert groups_record(groups)["weights"]["sum"] == 2 * counts.weight


HOSTILE = ["=1+1", "@cmd", "+x", "plain"]


def test_no_file_of_a_result_runs_a_formula() -> None:
    mechanism = cf.RandomizedResponse(cf.Categories(HOSTILE), 3.0)
    counts = cf.tally(mechanism.privatize(HOSTILE * 200, rng=1))
    estimate = cf.estimate(counts, mechanism, cf.MLE())
    groups = cf.estimate_groups(dict.fromkeys(HOSTILE, counts), mechanism, cf.MLE())
    answer = replace(estimate.query("x == plain", name="x"), question="=SUM(A1)")
    for result in (counts, estimate, groups, answer, groups.series("x == plain", name="x")):
        cells = [cell for row in csv.reader(content_of(result, ".csv").splitlines()) for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "@", "+"))], result
        if result is not answer:
            assert set(HOSTILE) <= {as_meant(cell) for cell in cells}
