"""Origins: what is known of how reports were made, carried through arrays, counts and files, and never guessed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.counting.conftest import AGES, CELLS, COLOURS

import confide as cf
from confide.evidence import counts as origins
from confide.evidence.counts import Noise, mark, noise_of

PEOPLE = [0, 3, 3, 4, 9] * 20


def drawn(rng: object = None) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return AGES.mechanism.privatize(PEOPLE, rng=rng)  # type: ignore[no-any-return]


@pytest.mark.parametrize("survey", [AGES, COLOURS, CELLS], ids=["ages", "colours", "cells"])
@pytest.mark.parametrize("rng", [None, 1, np.random.default_rng(1)], ids=["secure", "seed", "generator"])
def test_arrays_are_remembered_as_they_were_drawn(survey: cf.Survey, rng: object) -> None:
    people = survey.alphabet.decode(np.arange(survey.alphabet.size))
    reports = survey.mechanism.privatize(people, rng=rng)
    noise = Noise.SECURE if rng is None else Noise.SEEDED
    assert noise_of(reports) is noise_of(reports[1:]) is noise_of(reports[::-1]) is noise
    counts = cf.tally(reports)
    assert counts.origin == cf.evidence.Origin.of(noise, len(people))
    assert noise_of(cf.shuffle(reports)) is noise


def test_what_was_made_from_an_array_is_not_known() -> None:
    reports = drawn(1)
    for other in (reports.copy(), reports.tolist(), np.concatenate([reports, reports]), reports + 0, "text", None, 7):
        assert noise_of(other) is Noise.UNKNOWN
    assert cf.tally(reports.tolist()).origin == cf.evidence.Origin(unknown=100)
    assert cf.tally(reports, np.ones(100)).origin == cf.evidence.Origin(unknown=100)  # weights that nobody vouches for
    assert cf.tally([]).origin == cf.evidence.Origin()


@pytest.mark.parametrize("survey", [AGES, COLOURS, CELLS], ids=["ages", "colours", "cells"])
def test_an_array_that_is_changed_in_place_is_no_longer_proven(survey: cf.Survey) -> None:
    people = survey.alphabet.decode(np.arange(survey.alphabet.size).repeat(9))
    reports = survey.mechanism.privatize(people)
    np.random.default_rng(1).shuffle(reports)  # the same reports
    assert noise_of(reports) is Noise.SECURE
    reports[:] = people
    assert noise_of(reports) is noise_of(reports[:3]) is Noise.UNKNOWN
    simulated = survey.mechanism.privatize(people, rng=1)
    simulated[0] = people[-1]
    assert noise_of(simulated) is Noise.SEEDED


def test_two_changes_that_cancel_in_a_sum_are_noticed() -> None:
    reports = np.array([3, 5, 7])
    mark(reports, Noise.SECURE)
    reports[:] = [4, 4, 7]
    assert noise_of(reports) is Noise.UNKNOWN
    mixed = np.array([(3, "a"), (4, "b")], dtype=object)  # which numpy cannot add up
    mark(mixed, Noise.SECURE)
    assert noise_of(mixed) is Noise.SECURE


def test_a_mark_ends_with_its_array() -> None:
    reports = drawn(1)
    place = id(reports)
    assert place in origins._DRAWN
    del reports
    assert place not in origins._DRAWN


def test_a_new_array_at_an_old_place_has_no_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = np.arange(3), np.arange(3)
    mark(old, Noise.SECURE)
    monkeypatch.setitem(origins._DRAWN, id(new), origins._DRAWN[id(old)])
    assert noise_of(new) is Noise.UNKNOWN


def test_origins_add_as_counts_do() -> None:
    secure, simulated, typed = cf.tally(drawn()), cf.tally(drawn(1)), cf.tally([3, 4])
    assert (secure + simulated + typed).origin == cf.evidence.Origin(100, 100, 2)
    assert cf.merge([secure, cf.tally([])]).origin == cf.evidence.Origin(secure=100)
    running = cf.evidence.Accumulator()
    for batch in (drawn(), drawn(1), [5]):
        running.add(batch)
    running.add(typed)
    assert running.counts.origin == cf.evidence.Origin(100, 100, 3)
    assert AGES.mechanism.simulate_counts([5] * 10, rng=1).origin == cf.evidence.Origin(simulated=50)


@pytest.mark.parametrize(
    ("origin", "noise", "short"),
    [
        (cf.evidence.Origin(secure=7), Noise.SECURE, "secure generator"),
        (cf.evidence.Origin(simulated=7), Noise.SEEDED, "simulated"),
        (cf.evidence.Origin(unknown=7), Noise.UNKNOWN, "not known"),
        (cf.evidence.Origin(), Noise.UNKNOWN, "not known"),
        (cf.evidence.Origin(1, 1, 0), None, "partly simulated"),
        (cf.evidence.Origin(0, 1, 1), None, "partly simulated"),
        (cf.evidence.Origin(1, 1, 1), None, "partly simulated"),
        (cf.evidence.Origin(1, 0, 1), None, "partly not known"),
    ],
)
def test_words_claim_what_is_proven_of_all(origin: cf.evidence.Origin, noise: Noise | None, short: str) -> None:
    assert origin.noise is noise
    assert origin.in_short == short
    assert ("operating system's secure generator" in str(origin)) is origin.is_secure is (noise is Noise.SECURE)
    assert ("simulated" in str(origin)) is origin.is_simulated is (origin.simulated > 0)
    assert ("not known" in str(origin)) is (origin.unknown > 0 or not origin.total)
    assert json.loads(json.dumps(origin.record))["words"] == str(origin)
    assert '"unknown": 2,' in json.dumps(cf.evidence.Origin(unknown=2.0).record)
    assert cf.evidence.Origin(unknown=2.5).record["unknown"] == 2.5


def test_counts_in_words_say_that_they_are_simulated() -> None:
    assert repr(cf.tally(drawn(1))).startswith("Counts(100 simulated reports")
    assert repr(cf.tally(drawn(1)) + cf.tally([3])).startswith("Counts(101 partly simulated reports")
    assert repr(cf.tally(drawn())).startswith("Counts(100 reports")


def test_files_of_counts_carry_origins_on(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    for counts in (cf.tally(drawn()), cf.tally(drawn(1)), cf.tally(PEOPLE), cf.tally(drawn()) + cf.tally([3])):
        cf.save_counts(tmp_path / "c.parquet", counts, AGES)
        found = cf.load_counts(tmp_path / "c.parquet", AGES)
        assert found.origin == counts.origin
        assert found == counts


def test_groups_know_what_the_file_proves_of_each(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from confide.data.files import Account, GroupedCounts, load_counts

    parts: dict[tuple[str, ...], cf.Counts] = {("Oslo",): cf.tally(drawn()), ("Rome",): cf.tally(drawn())}
    towns = GroupedCounts(("town",), parts, Account(200))
    assert towns.origin == towns.merged.origin == cf.evidence.Origin(secure=200)
    cf.save_counts(tmp_path / "c.parquet", towns, AGES)
    found = load_counts(tmp_path / "c.parquet", AGES)
    assert isinstance(found, GroupedCounts)
    assert found["Oslo",].origin == cf.evidence.Origin(secure=100)
    mixed = GroupedCounts(("town",), parts | {("Rome",): cf.tally(drawn(1))}, Account(200))
    cf.save_counts(tmp_path / "c.parquet", mixed, AGES)
    found = load_counts(tmp_path / "c.parquet", AGES)
    assert isinstance(found, GroupedCounts)
    assert found.origin == found.merged.origin == cf.evidence.Origin(100, 100)
    # Which reports of the file are the simulated ones, it does not say.
    assert found["Oslo",].origin == cf.evidence.Origin(unknown=100)


def test_counts_that_claim_too_much_are_refused() -> None:
    pytest.importorskip("pyarrow")
    from confide.data.files import Account, CountsFile, Heading
    from confide.errors import DataFileError

    heading = Heading((AGES,), (), Account(2), origins=(cf.evidence.Origin(secure=3),))
    with pytest.raises(DataFileError, match="have 2 reports, and say of 3 how"):
        CountsFile(heading, {(): {0: cf.tally([3, 4])}})
