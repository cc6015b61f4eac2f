"""A batch is counted once, however often it comes; what was answered is there after any kill."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.collector.asking import ages, serving
from tests.collector.killing import kill_and_count

from confide.collector.service import KEYS
from confide.collector.stores import Store


def test_a_batch_that_comes_again_gets_the_same_answer_and_is_counted_once(store: Store) -> None:
    with serving(store) as served:
        message = served.message([3, 3, 70, None, 5])
        first, again = served.post(message), served.post(message)
        assert (first.status, first.body) == (200, again.body)
        assert first.json["accepted"] == 3
        assert first.json["rejected"] == [
            {"position": 2, "reason": "outside the alphabet"},
            {"position": 3, "reason": "missing"},
        ]
        assert served.counts() == {"3": 2, "5": 1}
        assert store.account(1) == {"": 3, "outside the alphabet": 1, "missing": 1}


def test_batches_of_one_id_in_one_transaction_are_counted_once(store: Store) -> None:
    import asyncio
    import json

    with serving(store) as served:
        message = served.message([3])
        bodies = [message, message, message | {"reports": [4]}, message]

        async def together() -> list[int]:
            asked = [
                served.asking("POST", "/v1/reports", json.dumps(one).encode(), content_type="application/json")
                for one in bodies
            ]
            return [one.status for one in await asyncio.gather(*asked)]

        assert served.run(together()) == [200, 200, 409, 200]
        assert served.counts() == {"3": 1}


@pytest.mark.parametrize("other", [{"reports": [4]}, {"reports": [3, 3]}, {"day": "2026-11-15"}])
def test_an_id_with_other_content_is_a_conflict(store: Store, other: dict[str, object]) -> None:
    with serving(store) as served:
        message = served.message([3])
        assert served.post(message).status == 200
        assert served.post(message | other).code == "conflict"
        assert served.counts() == {"3": 1}


def test_an_id_with_any_other_part_is_a_conflict(store: Store) -> None:
    survey = replace(ages(), groups={"sex": ("f", "m"), "town": ("Bern", "Oslo")})
    known: dict[str, object] = {"day": "2026-11-15", "reports": [4]}
    known["groups"] = {"town": "Bern", "sex": "m"}
    assert {*known, "survey", "batch"} == KEYS
    with serving(store, survey) as served:
        message = served.message([3], groups={"sex": "f", "town": "Bern"})
        assert served.post(message).status == 200
        assert (
            served.post(message | {"groups": {"town": "Bern", "sex": "f"}}).status == 200
        )  # the same in another order
        for name, other in known.items():
            assert served.post(message | {name: other}).code == "conflict", name
        assert served.counts() == {"3": 1}


def test_the_same_id_in_another_survey_is_another_batch(store: Store) -> None:
    other = replace(ages(), most_reports=1)
    store.add_survey(other)
    with serving(store) as served:
        message = served.message([3])
        assert served.post(message).status == served.post(message | {"survey": other.fingerprint}).status == 200
        assert served.counts() == {"3": 1}


def test_a_closed_survey_says_so_but_knows_what_it_counted(store: Store) -> None:
    with serving(store) as served:
        message = served.message([3])
        served.post(message)
        store.close_survey(served.survey.fingerprint)
        assert served.post(served.message([4])).status == 410
        assert served.post(message).status == 200
        assert served.counts() == {"3": 1}


@pytest.mark.slow
def test_ten_kills_lose_and_double_nothing_on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> None:
    found = kill_and_count(str(tmp_path_factory.mktemp("kills") / "store.db"), 10)
    assert (found["lost"], found["doubled"], found["off"]) == (0, 0, 0)
    assert found["batches"] > 20
    assert found["repeated"] > 2


@pytest.mark.slow
def test_ten_kills_of_two_processes_lose_and_double_nothing_on_postgresql(database: str) -> None:
    found = kill_and_count(database, 10, servers=2)
    assert (found["lost"], found["doubled"], found["off"]) == (0, 0, 0)
    assert found["batches"] > 20
    assert found["repeated"] > 2
