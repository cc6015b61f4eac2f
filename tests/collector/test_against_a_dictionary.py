"""Both kinds of store against a dictionary: surveys, days, groups, repeats and rejects, in many small commits."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.collector.asking import TODAY, ages, serving

import confide as cf
from confide.collector.client import Client, Outbox, Receipt, receipts_of, require_unsent, to_counts_file
from confide.collector.stores import Store, open_store
from confide.errors import DataFileError

TOWNS = ("Oslo", "Rome")
SURVEYS = [
    ages(groups='[groups]\ntown = ["Oslo", "Rome"]\n'),
    # Whole numbers that do not begin at 0, and texts: each goes its own way through the collector.
    cf.Survey(cf.TruncatedGeometric(cf.Integers(-4, 5), epsilon=1.0), "balance", "Balances"),
    cf.Survey(cf.TruncatedGeometric(cf.Integers(1000, 1300), epsilon=1.0), "metres", "Heights"),
    cf.Survey(cf.RandomizedResponse(cf.Categories(["a", "b", "c"]), epsilon=1.0), "letter", "Letters"),
]
GOOD: list[list[Any]] = [list(range(10)), list(range(-4, 6)), list(range(1000, 1301, 7)), ["a", "b", "c"]]
BAD: list[Any] = [None, "x", 99999, True, 0.5, [1, 2], {}]


@pytest.mark.parametrize("number", range(len(SURVEYS)), ids=[one.name for one in SURVEYS])
def test_what_is_sent_is_what_is_kept_by_day_and_by_group(number: int, store: Store) -> None:
    survey, draw = SURVEYS[number], random.Random(number)  # noqa: S311
    expected: dict[tuple[str, ...], Counter[str]] = {}
    rejected = 0
    with serving(store, survey) as served, serving(store, SURVEYS[number - 1]):
        for size in (1, 2, 40, 1, 40, 129, 3):  # by one, by the dictionary and by the array
            day = (TODAY - timedelta(days=draw.randint(0, 2))).isoformat()
            reports = [draw.choice(GOOD[number]) for _ in range(size)]
            places = sorted(draw.sample(range(size), size // 20))
            for place in places:
                reports[place] = draw.choice(BAD)
            more = {"groups": {"town": draw.choice(TOWNS)}} if survey.groups else {}
            message = served.message(reports, day=day, **more)
            for _ in range(2):  # the second time it counts nothing
                reply = served.post(message)
                assert reply.status == 200, reply.body
                assert reply.json["accepted"] == size - len(places)
                assert [one["position"] for one in reply.json["rejected"]] == places
            rejected += len(places)
            own = expected.setdefault((*more.get("groups", {}).values(), day), Counter())
            own.update(json.dumps(one) for place, one in enumerate(reports) if place not in places)
        record, found = served.read("counts").json, served.counts()
    assert found == sum(expected.values(), Counter())
    kept = to_counts_file(survey, record, [*survey.groups, "day"])
    assert (record["accepted"], sum(record["rejected"].values())) == (sum(found.values()), rejected)
    groups = {
        key: {
            json.dumps(report): count
            for report, count in zip(one[0].reports.tolist(), one[0].counts.tolist(), strict=True)
        }
        for key, one in kept.groups.items()
    }
    assert groups == {key: dict(one) for key, one in expected.items() if one}


def test_groups_of_several_names_are_kept_by_their_names_in_any_order(tmp_path: Path) -> None:
    """Declared in an order of their own, with values that two of them share, and sent in every order."""
    values = {"town": ("north", "south"), "age": ("north", "old"), "sex": ("south", "old")}
    survey, draw = cf.Survey(SURVEYS[1].mechanism, "balance", "Balances", groups=values), random.Random(9)  # noqa: S311
    expected: Counter[tuple[str, ...]] = Counter()
    store = open_store(str(tmp_path / "store.db"))
    with serving(store, survey) as served:
        for names in itertools.permutations(values):
            for _ in range(3):
                groups = {name: draw.choice(values[name]) for name in names}
                size = draw.randint(1, 4)
                assert served.post(served.message([0] * size, groups=groups)).status == 200
                expected[tuple(groups[name] for name in values)] += size
        record = served.read("counts").json
    store.close()
    assert sorted(record["by"]) == sorted(values)
    for by in ((), ("town",), ("sex",), ("sex", "town"), ("town", "age", "sex"), ("day", "age")):
        found = {key: parts[0].total for key, parts in to_counts_file(survey, record, by).groups.items()}
        sums: Counter[tuple[str, ...]] = Counter()
        for key, number in expected.items():
            known = dict(zip(values, key, strict=True)) | {"day": TODAY.isoformat()}
            sums[tuple(known[name] for name in by)] += number
        assert found == sums, by


def test_postgresql_answers_when_reports_are_durable_whatever_its_own_setting_is(database: str) -> None:
    import psycopg

    with psycopg.connect(database, autocommit=True) as connection:
        name = connection.execute("SELECT current_database()").fetchone()
        assert name is not None
        connection.execute(f"ALTER DATABASE {name[0]} SET synchronous_commit = off".encode())
    store = open_store(database)
    for way in (store.counting, store.reading, store.writing):
        with way() as connection:
            assert store.run(connection, "SHOW synchronous_commit") == [("on",)]
            assert store.run(connection, "SHOW statement_timeout") != [("0",)]
    store.close()


class Deaf(Client):
    """A collector that has counted everything, and was never asked."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:1")
        self.asked: list[dict[str, Any]] = []

    def post(self, message: bytes, invitation: str | None = None) -> Receipt:
        del invitation
        self.asked.append(json.loads(message))
        return Receipt(len(self.asked[-1]["reports"]), ((len(self.asked[-1]["reports"]) - 1, "outside"),))


def test_values_that_go_to_two_surveys_are_remembered_for_both(tmp_path: Path) -> None:
    values = tmp_path / "values.csv"
    values.write_text("balance\n" + "".join(f"{number % 10 - 4}\n" for number in range(25)))
    another = cf.Survey(cf.TruncatedGeometric(cf.Integers(-4, 5), epsilon=2.0), "balance", "Balances, again")
    for survey in (SURVEYS[1], another):
        require_unsent(values, survey)
        box, _ = Outbox.fill(tmp_path / "box", survey, values, batch_size=10)
        collector = Deaf()
        told: list[int] = []
        assert box.send(collector, told.append, receipts_of(values)).accepted == 25
        assert told == [1, 2, 3]
        assert [len(one["reports"]) for one in collector.asked] == [10, 10, 5]
        assert {one["survey"] for one in collector.asked} == {survey.fingerprint}
        assert len({one["batch"] for one in collector.asked}) == 3
    for survey in (SURVEYS[1], another):
        with pytest.raises(DataFileError, match="was sent to"):
            require_unsent(values, survey)


def test_positions_of_rejected_reports_are_those_of_the_whole() -> None:
    found = Deaf().send(SURVEYS[1], SURVEYS[1].mechanism.privatize([0] * 25, rng=1), batch_size=10)
    assert (found.accepted, found.rejected) == (25, ((9, "outside"), (19, "outside"), (24, "outside")))
