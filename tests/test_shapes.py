"""Declared shapes: what words mean as mixtures, and what an estimate under a shape gives."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.cases import each

import confide as cf
from confide.channels import Dense, Mixed, Mixture
from confide.channels.base import FloatArray
from confide.check.shapes import bring
from confide.errors import ConfideError, InvalidParameterError, SurveyError
from confide.estimates.estimate import recover
from confide.evidence.evidence import Evidence
from confide.evidence.shapes import Shape
from confide.plans.guesses import family_of
from confide.plans.records import plan_record
from confide.solve.methods import Projected
from confide.surveys.survey import parse_survey

AGES = cf.Integers(0, 99)
SMALL = cf.Integers(0, 9)

EVERY = (
    "falling",
    "falling from 4",
    "rising",
    "rising to 6",
    "one peak",
    "one peak at 4",
    ("rising to 3", "falling from 6"),
    ("rising to 5", "falling from 5"),
    "convex",
    "convex from 3",
    ("falling from 3", "convex from 3"),
    "nobody below 2",
    ("nobody below 2", "nobody above 7", "falling from 4"),
    ("nobody below 2", "smooth = 1.5"),
    "smooth = 2",
)


def has_shape(theta: FloatArray, words: object) -> bool:
    """Whether a distribution over 0..9 is as the words say, by its differences alone."""
    steps, terms = np.diff(theta), {words} if isinstance(words, str) else set(words)  # type: ignore[call-overload]
    little = 1e-12

    def falls(start: int, end: int = 9) -> bool:
        return bool((steps[start:end] <= little).all())

    def rises(end: int, start: int = 0) -> bool:
        return bool((steps[start:end] >= -little).all())

    found: dict[frozenset[object], bool] = {
        frozenset({"falling"}): falls(0),
        frozenset({"falling from 4"}): falls(4),
        frozenset({"rising"}): rises(9),
        frozenset({"rising to 6"}): rises(6),
        frozenset({"one peak"}): any(rises(peak) and falls(peak) for peak in range(10)),
        frozenset({"one peak at 4"}): rises(4) and falls(5),
        frozenset({"rising to 3", "falling from 6"}): rises(3) and falls(6),
        frozenset({"rising to 5", "falling from 5"}): rises(5) and falls(6),
        frozenset({"convex"}): bool((np.diff(steps) >= -little).all()),
        frozenset({"convex from 3"}): bool((np.diff(steps[3:]) >= -little).all()),
        frozenset({"falling from 3", "convex from 3"}): falls(3) and bool((np.diff(steps[3:]) >= -little).all()),
        frozenset({"nobody below 2"}): bool(theta[:2].sum() == 0),
        frozenset({"nobody below 2", "nobody above 7", "falling from 4"}): bool(theta[[0, 1, 8, 9]].sum() == 0)
        and falls(4, 7),
        frozenset({"nobody below 2", "smooth = 1.5"}): bool(theta[:2].sum() == 0),
    }
    return found.get(frozenset(terms), True)


@each("words", EVERY, ids=str)
def test_components_and_their_mixtures_have_the_shape(words: str | tuple[str, ...]) -> None:
    generator = np.random.default_rng(1)
    for mixture in Shape.of(words).mixtures(SMALL):
        rows = mixture.dense()
        np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=1e-12)
        assert rows.min() >= 0
        mixed = generator.dirichlet(np.full(mixture.count, 0.3), size=20) @ rows
        assert all(has_shape(theta, words) for theta in (*rows, *mixed))


def random_of(words: object, generator: np.random.Generator) -> FloatArray:
    """Return a random distribution over 0..9 of a shape, made by sorting and summing, not by mixing."""
    free = generator.exponential(size=10) * generator.integers(0, 2, 10)
    if words == "falling from 4":
        free[4:] = np.sort(free[4:])[::-1]
    elif words == "rising to 6":
        free[:7] = np.sort(free[:7])
    elif words == "one peak at 4":
        free[:5], free[5:] = np.sort(free[:5]), np.sort(free[5:])[::-1]
    elif words == "one peak":
        peak = int(generator.integers(0, 10))
        free[:peak], free[peak:] = np.sort(free[:peak]), np.sort(free[peak:])[::-1]
    elif words == "convex":
        slopes = np.sort(generator.normal(size=9))
        free = np.concatenate([[0.0], np.cumsum(slopes)])
        free -= free.min()
    elif words == ("falling from 3", "convex from 3"):
        free[3:] = np.cumsum(np.cumsum(free[3:])[:])[::-1]
    elif words == "nobody below 2":
        free[:2] = 0.0
    free += 1e-9 if words != "nobody below 2" else np.arange(10) >= 2
    return np.asarray(free / free.sum())


@pytest.mark.parametrize(
    "words",
    [
        "falling from 4",
        "rising to 6",
        "one peak at 4",
        "one peak",
        "convex",
        ("falling from 3", "convex from 3"),
        "nobody below 2",
    ],
    ids=str,
)
def test_every_distribution_of_a_shape_is_a_mixture(words: str | tuple[str, ...]) -> None:
    from scipy.optimize import nnls

    generator, mixtures = np.random.default_rng(2), Shape.of(words).mixtures(SMALL)
    for _ in range(20):
        theta = random_of(words, generator)
        left = min(nnls(mixture.dense().T, theta)[1] for mixture in mixtures)
        assert left < 1e-9


def test_flat_distributions_have_one_peak() -> None:
    """A run to either side of the peak alone would put twice as much on it."""
    flat = np.full(10, 0.1)
    mixture = Shape.of("one peak at 4").mixtures(SMALL)[0]
    shares = cf.MLE().solve(Evidence(Dense(np.eye(10)), flat * 1000).mixed(mixture)).distribution
    np.testing.assert_allclose(mixture.spread(shares), flat, atol=1e-6)


@each("words", EVERY, ids=str)
def test_products_are_those_of_the_matrix(words: str | tuple[str, ...]) -> None:
    """A channel that is neither square nor symmetric; stacks as well as vectors; within its own error bounds."""
    generator = np.random.default_rng(3)
    base = Dense(generator.dirichlet(np.ones(13), size=10))
    for mixture in Shape.of(words).mixtures(SMALL)[:2]:
        channel, matrix = Mixed(base, mixture), mixture.dense() @ base.matrix
        shares, weights = generator.dirichlet(np.ones(mixture.count), size=3), generator.uniform(0, 5, (3, 13))
        np.testing.assert_allclose(channel.push(shares), shares @ matrix, rtol=1e-13)
        np.testing.assert_allclose(channel.pull(weights), weights @ matrix.T, rtol=1e-13)
        np.testing.assert_allclose(mixture.gather(weights[:, :10]), weights[:, :10] @ mixture.dense().T, rtol=1e-13)
        some = np.array([mixture.count - 1, 0])
        np.testing.assert_allclose(channel.select(some), matrix[some], rtol=1e-13)


def test_products_of_long_lines_are_those_of_short_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Past the size at which the matrix is stored, products go through G and M one after the other."""
    base, mixture = Dense(np.random.default_rng(4).dirichlet(np.ones(13), size=10)), _mixture("rising to 6")
    stored = Mixed(base, mixture).dense()
    monkeypatch.setattr("confide.channels.composed.SMALL", 1)
    channel, shares = Mixed(base, mixture), np.random.default_rng(5).dirichlet(np.ones(10))
    weights = np.arange(13.0)
    np.testing.assert_allclose(channel.dense(), stored, rtol=1e-13)
    exact = stored.astype(np.longdouble)
    for found, expected, bound in (
        (channel.push(shares), shares @ exact, channel.error(0, shares, channel.push(shares))),
        (channel.pull(weights), exact @ weights, channel.error(1, weights, channel.pull(weights))),
    ):
        assert (np.abs(found - expected) <= bound + channel.entry_error * expected).all()
        assert bound.max() < 1e-13


def _mixture(words: str) -> Mixture:
    return Shape.of(words).mixtures(SMALL)[0]


@each(
    ("words", "message"),
    [
        ("falls from 50", "no shape that is known here"),
        ("faling from 65", r"did you mean 'falling from 65'\?"),
        ("smooth = 3 years", r"did you mean 'smooth = 3'\?"),
        ("falling from 50, nobody below 17", "each as a text of its own"),
        (3, "a text, or a list"),
        ([], "a text, or a list"),
        ("smooth = 0", "width of smooth"),
        (["falling from 50", "falling from 60"], "once"),
        (["falling from 50", "smooth = 3"], "do not go together"),
        (["one peak", "falling from 50"], "says already"),
        (["rising to 50", "falling from 40"], "the first not above the second"),
        (["rising", "falling"], "need both"),
        (["convex", "rising"], "from the same value"),
        (["convex from 10", "falling from 20"], "from the same value"),
        (["falling", "nobody where age in 3..5"], "not where"),
    ],
)
def test_words_that_are_no_shape_are_refused(words: object, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        Shape.of(words)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "alphabet", "message"),
    [
        ("falling from 50", cf.Categories(["a", "b"]), "has none"),
        ("smooth = 3", cf.Categories(["a", "b"]), "no shape is smooth"),
        ("falling from 50", cf.Grid(3, 3), "has none"),
        ("falling from 150", AGES, "names 150"),
        ("nobody below 99", AGES, "leaves 1 value"),
        (["nobody below 60", "falling from 50"], AGES, "nobody has"),
        ("falling", cf.Integers(0, 5000), "at most 2,000 values"),
        ("falling", cf.Integers(), "unbounded"),
    ],
)
def test_words_that_mean_nothing_on_an_alphabet_are_refused(words: str, alphabet: cf.Alphabet, message: str) -> None:
    with pytest.raises(ConfideError, match=message):
        Shape.of(words).mixtures(alphabet)


def test_a_plane_takes_smooth_and_nobody_where() -> None:
    grid = cf.Grid(4, 5, spacing=2.0)
    bumps = Shape.of(["smooth = 3", "nobody where row == 0"]).mixtures(grid)[0].dense()
    assert bumps.shape == (15, 20)
    assert bumps[:, :5].sum() == 0
    # Two steps of 2.0 are 4 apart: exp(-16 / 18) of the middle.
    assert bumps[7, 14] / bumps[7, 12] == pytest.approx(np.exp(-(4.0**2) / (2 * 3.0**2)))


def test_numbers_are_read_as_people_write_them() -> None:
    assert Shape.of(" Falling  from 1,000 ").words == ("falling from 1000",)
    assert Shape.of("smooth=.5").words == ("smooth = 0.5",)


@pytest.mark.parametrize("width", [3.0, 0.35, 1 / 3, 1234567.8, 1e9, 1e-5])
def test_a_width_survives_being_written(width: float) -> None:
    """A survey is read again from its canonical text; digits that were dropped would make it another one."""
    (again,) = Shape.of(Shape.of(f"smooth = {width!r}").words).terms
    assert again.width == width


MECHANISM = cf.TruncatedGeometric(cf.Integers(0, 29), epsilon=0.3)
FALLING = np.concatenate([np.linspace(0.2, 1.0, 10), np.linspace(1.0, 0.05, 20) ** 2])


def counts_of(shares: FloatArray, people: int = 5000, rng: int = 1) -> cf.Counts:
    histogram = np.random.default_rng(rng).multinomial(people, shares / shares.sum())
    return MECHANISM.simulate_counts(histogram, rng=rng)


@pytest.mark.parametrize("words", ["falling from 10", "smooth = 2", "one peak", "nobody below 1"])
def test_the_maximum_of_a_shape_is_certified_and_not_above_that_of_all(words: str) -> None:
    counts = counts_of(FALLING)
    free, shaped = (recover([(counts, MECHANISM)], cf.MLE(), shape=one) for one in (None, words))
    assert shaped.status is cf.Status.CERTIFIED
    assert shaped.certificate <= 1e-6
    assert shaped.log_likelihood <= free.log_likelihood + 1e-6
    assert shaped.distribution.sum() == pytest.approx(1.0)
    assert f"among those of the shape {words}" in shaped.ending
    # No random member of the shape is better: the certificate is about the shape.
    generator, evidence = np.random.default_rng(1), MECHANISM.observe(counts)
    for mixture in Shape.of(words).mixtures(MECHANISM.alphabet):
        for shares in generator.dirichlet(np.full(mixture.count, 0.1), size=5):
            assert evidence.log_likelihood(mixture.spread(shares)) <= shaped.log_likelihood + shaped.certificate


def test_ibu_and_the_default_stay_in_the_shape() -> None:
    counts = counts_of(FALLING)
    for method in (cf.IBU(), None, cf.Smooth()):
        found = recover([(counts, MECHANISM)], method, shape="falling from 10").distribution
        assert (np.diff(found[10:]) <= 1e-12).all()
        assert found.sum() == pytest.approx(1.0)
    free = recover([(counts, MECHANISM)], cf.Smooth()).distribution
    np.testing.assert_allclose(found, bring(free, Shape.of("falling from 10"), MECHANISM.alphabet), atol=1e-3)
    nobody = recover([(counts, MECHANISM)], None, shape=["nobody below 3", "falling from 10"]).distribution
    assert nobody[:3].sum() == 0
    with pytest.raises(InvalidParameterError, match="knows no shape"):
        recover([(counts, MECHANISM)], cf.Inversion(), shape="falling from 10")


@pytest.mark.slow
@pytest.mark.parametrize("words", ["falling from 10", "smooth = 2"])
def test_intervals_under_a_shape_lie_within_those_without(words: str) -> None:
    counts = counts_of(FALLING)
    free, shaped = (recover([(counts, MECHANISM)], cf.MLE(), shape=one) for one in (None, words))
    for question in ("x >= 20", "x in 5..12"):
        wide, narrow = free.query(question), shaped.query(question)
        assert narrow.low >= wide.low - 0.01
        assert narrow.high <= wide.high + 0.01
        assert narrow.width < wide.width
        assert shaped.shape is not None
        assert f"if {shaped.shape.condition}, which no survey declared" in narrow.rests_on
    assert shaped.mean().width <= free.mean().width * 1.05
    assert shaped.quantile(0.5).low >= free.quantile(0.5).low - 1


def test_answers_under_a_shape_are_those_of_its_distribution() -> None:
    shaped = recover([(counts_of(FALLING), MECHANISM)], cf.MLE(), shape="falling from 10")
    assert shaped.query("x >= 20").estimate == pytest.approx(shaped.distribution[20:].sum())
    assert shaped.query("x >= 20").is_share
    assert shaped.mean().estimate == pytest.approx(float(np.arange(30) @ shaped.distribution))
    assert shaped.quantile(0.5).estimate == int(np.searchsorted(np.cumsum(shaped.distribution), 0.5))


@pytest.mark.parametrize("words", [("nobody below 5", "falling from 10"), "smooth = 4"])
def test_quantiles_under_a_shape_are_found_where_components_are_not_values(words: object) -> None:
    shaped = recover([(counts_of(FALLING, 20_000), MECHANISM)], cf.MLE(), shape=words)  # type: ignore[arg-type]
    found = shaped.quantile(0.5)
    places = (found.low - 1, found.low, found.high - 1, found.high)
    ends = [shaped.query((np.arange(30) <= place).astype(np.float64)) for place in places]
    assert ends[0].high < 0.5 <= ends[1].high
    assert ends[2].low < 0.5 <= ends[3].low


@pytest.mark.slow
def test_one_peak_anywhere_holds_the_intervals_of_every_near_place() -> None:
    counts = counts_of(FALLING, people=2000)
    anywhere = recover([(counts, MECHANISM)], cf.MLE(), shape="one peak").query("x >= 20")
    at = recover([(counts, MECHANISM)], cf.MLE(), shape="one peak at 9").query("x >= 20")
    assert anywhere.low <= at.low + 1e-6
    assert anywhere.high >= at.high - 1e-6
    assert "places of the peak" in anywhere.rests_on


@pytest.mark.slow
def test_windows_under_a_shape_are_of_values() -> None:
    windows = recover([(counts_of(FALLING), MECHANISM)], cf.MLE(), shape="falling from 10").windows()
    assert sum(one.estimate for one in windows.answers) == pytest.approx(1.0)
    assert "if the shares fall from 10 on" in windows.answers[-1].rests_on


def test_many_shapes_in_one_have_no_windows() -> None:
    mechanism = cf.TruncatedGeometric(cf.Integers(0, 4), epsilon=1.0)
    counts = mechanism.simulate_counts([900, 700, 500, 300, 200], rng=1)
    with pytest.raises(InvalidParameterError, match="Say where"):
        recover([(counts, mechanism)], cf.MLE(), shape="one peak").windows()
    diagnosis = cf.diagnose(counts, mechanism, shape="one peak")
    assert diagnosis.windows is None
    assert "many shapes in one" in diagnosis.why_no_windows


def test_bands_under_a_shape_are_of_values() -> None:
    mechanism = cf.TruncatedGeometric(SMALL, epsilon=1.0)
    counts = mechanism.simulate_counts([900, 700, 500, 300, 200, 100, 100, 100, 50, 50], rng=1)
    for basis in (cf.estimates.Likelihood(40), cf.estimates.Bootstrap(40)):
        band = recover([(counts, mechanism)], cf.IBU(), shape="falling").interval(basis=basis)
        assert band.low.shape == (10,)
        assert (band.low <= band.estimate).all()
        assert (band.high >= band.estimate).all()
        assert "if the shares fall" in band.rests_on


BARE = """
[alphabet]
kind = "integers"
low = 0
high = 99
[mechanism]
kind = "truncated-geometric"
epsilon = 0.05
"""


SURVEY = f'shape = ["nobody below 17", "falling from 50"]{BARE}'


def test_a_survey_declares_a_shape_in_its_text_and_its_fingerprint() -> None:
    survey, without = parse_survey(SURVEY), parse_survey(BARE)
    assert survey.shape is not None
    assert survey.shape.words == ("nobody below 17", "falling from 50")
    assert survey.shape.is_declared
    assert "as the survey declared" in survey.shape.premise
    assert survey.fingerprint != without.fingerprint
    assert parse_survey(survey.text()) == survey
    assert cf.Survey.from_json(survey.to_json()) == survey
    assert "declared nobody below 17, falling from 50" in survey.contract


def test_a_survey_without_a_shape_keeps_its_fingerprint() -> None:
    bare = parse_survey(BARE)
    assert bare.shape is None
    assert "shape" not in bare.text() + bare.to_json()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('shape = "falling from 500"', "names 500"),
        ("shape = 3", "a text, or a list"),
        ("[shape]\nsmooth = 3", "a line"),
        ('name = "age"\nshape = "nobody where agee < 17"', "agee"),
    ],
)
def test_a_survey_with_a_shape_that_means_nothing_is_refused(line: str, message: str) -> None:
    text = BARE + line if line.startswith("[") else f"{line}\n{BARE}"
    with pytest.raises((SurveyError, InvalidParameterError), match=message):
        parse_survey(text)


def test_a_wrong_shape_is_a_warning_and_a_right_one_is_none() -> None:
    wrong, right = counts_of(FALLING[::-1], 20_000), counts_of(FALLING, 20_000)
    with pytest.warns(cf.errors.PoorFitWarning, match="falling from 10: it is wrong"):
        answer = cf.estimate(wrong, MECHANISM, cf.MLE(), shape="falling from 10")
    assert answer.shape_fit is not None
    assert answer.shape_fit.is_bad
    assert answer.shape_fit.p_value < 1e-3
    with warnings.catch_warnings(action="error"):
        fits = cf.estimate(right, MECHANISM, cf.MLE(), shape="falling from 10").shape_fit
    assert fits is not None
    assert not fits.is_bad
    assert "of all people on 20 alone" in str(fits)
    assert [one.power for one in fits.sights] == sorted(one.power for one in fits.sights)


@pytest.mark.slow
def test_the_test_of_a_shape_has_its_size_and_sees_what_it_says() -> None:
    """Of surveys that have the shape few are called bad; of those with a quarter of all people on one value, most."""
    from confide.check.shapes import examine_shape

    shape = Shape.of("falling from 10")
    mixtures, heaped = shape.mixtures(MECHANISM.alphabet), 0.75 * FALLING / FALLING.sum()
    heaped[20] += 0.25
    good, bad = (
        [
            examine_shape([(counts_of(shares, 2000, seed), MECHANISM)], shape, mixtures).test().is_bad
            for seed in range(10)
        ]
        for shares in (FALLING, heaped)
    )
    assert sum(good) <= 3
    assert sum(bad) >= 8


def test_reports_that_cannot_be_listed_are_not_tested() -> None:
    rappor = cf.Rappor(SMALL, epsilon=2.0)
    counts = rappor.simulate_counts([100] * 10, rng=1)
    fits = recover([(counts, rappor)], cf.MLE(), shape="falling").shape_fit
    assert fits is not None
    assert "cannot be tested here" in str(fits)
    assert not fits.is_bad


def test_smoothness_of_past_data_is_the_width_that_they_were_made_with() -> None:
    ages = np.arange(100)
    for width in (3.0, 8.0):
        shares = np.exp(-((ages - 30) ** 2) / (2 * width**2)) + 0.5 * np.exp(-((ages - 70) ** 2) / (2 * width**2))
        found = cf.check.smoothness_of(np.random.default_rng(1).multinomial(20_000, shares / shares.sum()), AGES)
        assert width <= found <= 1.4 * width
    spike = np.zeros(100)
    spike[40] = 1000
    assert cf.check.smoothness_of(spike, AGES, error=1e-3) <= 0.5
    with pytest.raises(InvalidParameterError, match="one count of people for each of the 100"):
        cf.check.smoothness_of([1, 2, 3], AGES)


def test_a_pool_takes_a_shape() -> None:
    wary = cf.TruncatedGeometric(MECHANISM.alphabet, epsilon=0.1)
    histogram = np.random.default_rng(1).multinomial(3000, FALLING / FALLING.sum())
    pairs = [(one.simulate_counts(histogram, rng=1), one) for one in (MECHANISM, wary)]
    answer = cf.estimate_pool(pairs, cf.MLE(), shape="falling from 10")
    assert (np.diff(answer.distribution[10:]) <= 1e-12).all()
    assert answer.certificate <= 1e-6
    assert answer.query("x >= 20").width < 0.3


PAST = FALLING / FALLING.sum()


@pytest.mark.slow
def test_a_plan_is_made_in_the_shape_and_tells_what_it_is_worth() -> None:
    settings = {"people": 2000, "query": "x >= 20", "repeats": 4, "cache": False}
    plain, shaped = (
        cf.plan(MECHANISM, PAST, method=cf.IBU(), shape=words, **settings)  # type: ignore[arg-type]
        for words in (None, "falling from 10")
    )
    assert plain.shape is None
    assert plain.interval_widths is None
    assert shaped.interval_widths is not None
    assert shaped.interval_widths[0] < shaped.interval_widths[1]
    assert shaped.prediction != plain.prediction
    record = plan_record(shaped)
    assert record["shape"] == ["falling from 10"]
    assert any("where the shares fall from 10 on, as the guess is" in one for one in record["remarks"])
    with pytest.raises(InvalidParameterError, match="Say where"):
        cf.plan(MECHANISM, PAST, shape="one peak", **settings)  # type: ignore[arg-type]


def test_without_a_guess_a_plan_takes_truths_of_the_shape() -> None:
    for guess in family_of(MECHANISM, Shape.of("falling from 10")):
        assert (np.diff(guess.vector[10:]) <= 1e-9).all()
    assert len(family_of(MECHANISM, Shape.of("falling from 10"))) > 2


def test_the_nearest_distribution_of_a_shape_is_itself_where_it_has_the_shape() -> None:
    shape = Shape.of("falling from 10")
    np.testing.assert_allclose(bring(PAST, shape, MECHANISM.alphabet), PAST, atol=2e-3)
    with pytest.raises(InvalidParameterError, match="nobody has any"):
        bring(np.eye(30)[0], Shape.of("nobody below 10"), MECHANISM.alphabet)


@pytest.mark.parametrize(
    "words", ["falling from 4", "rising to 6", "one peak at 4", ("nobody below 2", "falling from 5")]
)
def test_the_nearest_mixture_in_closed_form_is_the_one_that_is_searched_for(words: str) -> None:
    mixture, shares = Shape.of(words).mixtures(SMALL)[0], np.random.default_rng(6).dirichlet(np.ones(10), size=5)
    if "nobody below 2" in words:
        shares[:, :2] = 0.0
    closed = mixture.nearest(shares)
    assert closed is not None
    searched = cf.MLE(1e-6).solve_many(Evidence(Dense(np.eye(10)), shares[0] * 1e4).mixed(mixture), shares * 1e4)
    np.testing.assert_allclose(closed.sum(axis=1), shares.sum(axis=1), rtol=1e-12)
    for row, solution in zip(closed / closed.sum(axis=1, keepdims=True), searched, strict=True):
        np.testing.assert_allclose(mixture.spread(row), mixture.spread(solution.distribution), atol=1e-5)


def test_replicates_are_brought_to_the_shape_nearly_as_near_as_one_answer_is() -> None:
    mixture, support = Shape.of("smooth = 2").mixtures(SMALL)[0], Shape.of("smooth = 2").support(SMALL)
    evidence = Evidence(Dense(np.eye(10)), np.arange(10.0) + 1)
    rows = np.random.default_rng(7).multinomial(4000, np.full(10, 0.1), size=12).astype(np.float64)
    method = Projected(cf.IBU(), [evidence], support, mixture)
    many = method.solve_many(evidence.mixed(mixture), rows)
    for row, found in zip(rows[:3], many, strict=False):
        alone = method.solve(Evidence(evidence.channel, row).mixed(mixture)).distribution
        assert np.abs(mixture.spread(alone - found.distribution)).sum() / 2 < 0.03
