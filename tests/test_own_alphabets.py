"""An alphabet of one's own needs a geometry and what people call its values; everything else follows from these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.channels import Layout
from confide.data.files import load_counts, save_counts
from confide.errors import ValueOutsideAlphabetError
from confide.evidence.counts import Noise
from confide.present.pages import estimate_page
from confide.values import LineGeometry, RingGeometry, Values
from confide.values.metrics import Value

STOPS = ("Airport", "Harbour", "Market", "Park", "Station", "Museum", "Stadium", "Zoo")
EVERY_STOP = np.array([300, 500, 900, 1500, 2400, 1300, 700, 400])


@dataclass(frozen=True, repr=False)
class Stops(cf.Alphabet):
    """Stops of a tram line: a value is the number of a stop, and people know them by their names."""

    kind = "tram-stops"
    kilometres: tuple[int, ...] = ()
    unit = "km"
    has_labels = True

    @property
    def geometry(self) -> LineGeometry:
        if not self.kilometres:
            return LineGeometry(0, len(STOPS) - 1, spacing=0.5)
        return LineGeometry(0, len(STOPS) - 1, positions=tuple(map(Fraction, self.kilometres)))

    def read(self, fields: Sequence[str]) -> Value | None:
        return STOPS.index(fields[0]) if fields[0] in STOPS else None

    def take(self, raw: Any) -> Values:
        return np.array([STOPS.index(stop) for stop in raw])

    def _name(self, values: Values) -> list[str]:
        return [STOPS[value] if 0 <= value < len(STOPS) else str(value) for value in values.tolist()]

    def __repr__(self) -> str:
        return "Stops()"


class Tides(cf.Alphabet):
    """Hours since high water, in a ring."""

    geometry = RingGeometry(12)


@pytest.fixture(scope="module", params=[(), (0, 1, 2, 4, 5, 6, 8, 12)], ids=["even", "uneven"])
def stops(request: pytest.FixtureRequest) -> Stops:
    return Stops(request.param)


@pytest.fixture(scope="module")
def estimate(stops: Stops) -> cf.estimates.Estimate:
    mechanism = cf.TruncatedGeometric(stops, epsilon=1.0)
    return cf.estimate(mechanism.simulate_counts(EVERY_STOP, rng=1), mechanism)


def test_values_have_numbers_places_and_names(stops: Stops) -> None:
    assert stops.size == 8
    assert stops.encode([0, 7]).tolist() == [0, 7]
    assert stops.labels([2]) == ["Market"]
    assert stops.span == (0, 7)
    assert stops.distance(0, 3) == (4.0 if stops.positions else 1.5)
    layout = Layout.of(stops)
    assert layout is not None
    assert layout.shape == (8,)
    with pytest.raises(ValueOutsideAlphabetError):
        stops.encode([8])


def test_noise_keeps_its_promise_and_takes_people_by_their_own_words(stops: Stops) -> None:
    mechanism = cf.TruncatedGeometric(stops, epsilon=1.0)
    assert cf.audit(mechanism).holds
    reports = mechanism.privatize(["Park", "Zoo"] * 20, rng=3)
    assert stops.contains(reports).all()
    assert mechanism.guarantee.bound(0, 3) == stops.distance(0, 3)


def test_unbounded_and_continuous_noise() -> None:
    stops = Stops()
    assert cf.Geometric(stops, epsilon=1.0).report_alphabet == cf.Integers(spacing=0.5, unit="km")
    answer = cf.estimate(cf.Geometric(stops, 2.0).simulate_counts(EVERY_STOP, rng=2), cf.Geometric(stops, 2.0))
    assert answer.alphabet == stops
    assert cf.Laplace(stops, 1.0).privatize("Park", rng=1) == pytest.approx(3, abs=40)


def test_estimates_windows_and_questions(estimate: cf.estimates.Estimate) -> None:
    truth = EVERY_STOP / EVERY_STOP.sum()
    assert estimate.distribution.sum() == pytest.approx(1)
    assert cf.emd(estimate.distribution, truth, estimate.alphabet) < 1
    windows = estimate.windows()
    assert sum(map(len, windows.members)) == 8
    answer = estimate.query("stop >= 4")
    assert answer.low <= truth[4:].sum() <= answer.high


def test_a_smooth_prior_knows_that_stops_are_neighbours(stops: Stops) -> None:
    mechanism = cf.TruncatedGeometric(stops, epsilon=0.5)
    counts = mechanism.simulate_counts(EVERY_STOP, rng=1)
    rough, smooth = (cf.estimate(counts, mechanism, method).distribution for method in (cf.MLE(), cf.Smooth()))
    assert np.abs(np.diff(smooth, 2)).sum() < np.abs(np.diff(rough, 2)).sum()


def test_a_page_shows_every_window(estimate: cf.estimates.Estimate) -> None:
    (mechanism, counts), method = next(iter(estimate.groups.items())), cf.Stacked()
    survey = cf.Survey(mechanism, "stop", "Where do you get off?")
    outcome = cf.assess(counts, mechanism, method)
    page = estimate_page(survey, counts, [outcome], windows=outcome.estimate.windows())
    assert "Where do you get off?" in page
    assert "Market" in page
    assert "<svg" in page


def test_reports_and_counts_go_to_disk_and_back(stops: Stops, tmp_path: Path) -> None:
    survey = cf.Survey(cf.TruncatedGeometric(stops, epsilon=1.0), "stop")
    reports = survey.privatize(["Park", "Zoo", "Airport"] * 50, rng=5)
    cf.write_reports(tmp_path / "reports.csv", reports, survey, noise=Noise.SEEDED)
    counts = cf.count(tmp_path / "reports.csv", survey.mechanism)
    assert counts.total == 150
    assert (stops.encode(counts.reports) >= 0).all()
    save_counts(tmp_path / "counts.parquet", counts, survey)
    again: Any = load_counts(tmp_path / "counts.parquet", survey)
    assert (again.reports.tolist(), again.counts.tolist()) == (counts.reports.tolist(), counts.counts.tolist())


@pytest.mark.usefixtures("own_kinds")
def test_a_registered_kind_stands_in_a_survey_file(stops: Stops, tmp_path: Path) -> None:
    cf.register(Stops)
    survey = cf.Survey(cf.TruncatedGeometric(stops, epsilon=1.0), "stop")
    (tmp_path / "survey.toml").write_text(survey.text(), encoding="utf-8")
    again = cf.load_survey(tmp_path / "survey.toml")
    assert 'kind = "tram-stops"' in survey.text()
    assert np.array_equal(again.alphabet.distances(), stops.distances())
    assert again.fingerprint == survey.fingerprint


def test_a_ring_of_ones_own() -> None:
    tides = Tides()
    mechanism = cf.WrappedGeometric(tides, epsilon=0.5)
    assert cf.audit(mechanism).holds
    assert cf.emd(np.eye(12)[0], np.eye(12)[11], tides) == 1.0
