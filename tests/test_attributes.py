"""Several attributes of one person: their alphabet, their promise, and what is asked of some of them alone."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import confide as cf
from confide.check.uniformity import Uniformity, uniformity_test
from confide.errors import InvalidParameterError, TooLargeError, ValueOutsideAlphabetError
from confide.mechanisms.guarantees import ProductGuarantee
from confide.values import Alphabet
from confide.values.queries import as_weights

LAKE = cf.Grid(2, 3, 0.5, "km", holes=[(0, 1)])
AGE, SEX = cf.Integers(18, 20), cf.Categories(["f", "m"])
PEOPLE = cf.Attributes(age=AGE, home=LAKE, sex=SEX)
YES = cf.Categories(["yes", "no"])


class Tens(cf.Integers):
    """Numbers of which people have ten times as many: a stand-in for bins."""

    def take(self, raw: Any) -> Any:
        return np.asarray(raw) // 10

    def read(self, fields: Any) -> int | None:
        return int(fields[0]) // 10 if fields[0].isdigit() else None

    def remark(self, fields: Any) -> str:
        return "folded" if fields[0].endswith("5") else ""


def test_values_are_numbered_with_the_last_attribute_fastest() -> None:
    values = PEOPLE.decode(np.arange(PEOPLE.size))
    assert PEOPLE.size == 3 * 5 * 2
    assert values[:3].tolist() == [[18, 0, 0, "f"], [18, 0, 0, "m"], [18, 0, 2, "f"]]
    assert PEOPLE.encode(values).tolist() == list(range(30))
    assert [PEOPLE.join(PEOPLE.split(number)) for number in range(30)] == list(range(30))
    assert PEOPLE.field_names == ("age", "home_row", "home_column", "sex")
    assert PEOPLE.parse(["19", "1", "2", "m"]) == (19, 1, 2, "m")
    assert PEOPLE.parse(["19", "x", "2", "m"]) is None
    assert PEOPLE.labels([3]) == ["(18, (0, 2), m)"]
    assert PEOPLE.distance((18, 0, 0, "f"), (20, 0, 2, "m")) == 2 + 1.0 + 1
    assert PEOPLE.points([3]).tolist() == [[18, 0, 2, 1]]
    lengths = PEOPLE.distances()
    assert lengths[0, 7] == PEOPLE.distance((18, 0, 0, "f"), (18, 1, 1, "m")) == 1 + 0.5 * np.sqrt(2)
    assert not PEOPLE.contains(PEOPLE.as_array([(20, 0, 1, "f")])).any(), "a hole"


def test_columns_are_taken_by_name_and_each_by_its_own_alphabet() -> None:
    people = cf.Attributes(income=Tens(0, 9), sex=SEX)
    by_name: Any = {"sex": ["f", "m"], "other": [1, 2], "income": [35, 90]}
    assert people.take(by_name).tolist() == people.take([(35, "f"), (90, "m")]).tolist() == [[3, "f"], [9, "m"]]
    single: Any = {"income": 35, "sex": "f"}
    assert people.is_single(single)
    assert people.read(["35", "f"]) == (3, "f")
    assert people.remark(["35", "f"]) == "income folded"
    with pytest.raises(InvalidParameterError, match="needs columns called income, sex; got sex"):
        people.take({"sex": ["f"]})  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="one length; got 1, 2"):
        people.take({"sex": ["f", "m"], "income": [3]})  # type: ignore[arg-type]


def test_a_place_goes_by_its_own_columns_where_it_is_the_only_one() -> None:
    home = cf.Places(40.70, -74.02, 40.79, -73.94, cell="500 m")
    one, two = cf.Attributes(home=home, sex=SEX), cf.Attributes(home=home, work=home)
    assert one.raw_names[0] == ("home_latitude", "home_longitude", "sex")
    assert ("lat", "lon", "sex") in one.raw_names
    assert all(len(set(names)) == 4 for names in two.raw_names)
    raw: Any = {"lat": [40.75], "lon": [-73.98], "sex": ["f"]}
    values = one.take(raw)
    assert values[0, :2].tolist() == home.take([(40.75, -73.98)])[0].tolist()


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"age": AGE}, "Attributes is for two attributes or more.*got age"),
        ({"age": AGE, "home town": SEX}, "word such as age.*got 'home town'"),
        ({"age": AGE, "kind": SEX}, "none of and, or"),
        ({"age": AGE, "Age": SEX}, "Two columns would be called 'age'"),
        ({"home": LAKE, "home_row": AGE}, "Two columns would be called 'home_row'"),
        ({"age": AGE, "both": PEOPLE}, "'both' needs an alphabet such as .* and no further attributes"),
        ({"age": AGE, "sex": "f"}, "'sex' needs an alphabet"),
    ],
)
def test_attributes_that_cannot_be(attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        cf.Attributes(**attributes)


def test_too_many_combinations_have_no_numbers() -> None:
    with pytest.raises(TooLargeError, match=r"about 2\^\d+ combinations"):
        cf.Attributes(**{name: cf.Integers(0, 2**40) for name in ("a", "b")})


def test_a_refused_row_names_the_attribute_at_fault() -> None:
    people = cf.Attributes(age=AGE, sex=cf.Categories(["f", "m"]))
    assert people.hint(("99", "f")) == "in age"
    assert people.hint(("young", "F")) == 'in age, sex: it is "f" under fold = true'
    assert people.hint(("18", "f")) == ""


def test_rows_of_another_shape_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"rows of 4 parts, age, home_row, home_column, sex; got .*2, 3"):
        PEOPLE.encode([(18, 0, "f"), (19, 0, "m")])
    with pytest.raises(ValueOutsideAlphabetError, match="at position 1"):
        PEOPLE.encode([(18, 0, 0, "f"), (18, 0, 1, "f")])


@given(sizes=st.lists(st.integers(1, 4), min_size=2, max_size=4), data=st.data())
def test_margins_and_what_they_spread_are_those_of_a_table(sizes: list[int], data: st.DataObject) -> None:
    names = list("abcd")[: len(sizes)]
    whole = cf.Attributes(**{name: cf.Integers(0, size - 1) for name, size in zip(names, sizes, strict=True)})
    chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    vectors = np.random.default_rng(sum(sizes)).random((2, whole.size))
    own = "".join(chosen)
    table = np.einsum(f"z{''.join(names)}->z{own}", vectors.reshape(2, *sizes))
    np.testing.assert_allclose(whole.margin(vectors, *chosen), table.reshape(2, -1))
    weights = np.random.default_rng(1).random(table[0].size)
    # What a margin weighs is what the whole weighs with the weights spread out.
    np.testing.assert_allclose(whole.margin(vectors, *chosen) @ weights, vectors @ whole.spread(weights, *chosen))
    stacked = whole.spread(np.stack([weights, 2 * weights]), *chosen)
    np.testing.assert_array_equal(stacked[1], 2 * whole.spread(weights, *chosen))


def test_names_that_are_not_there() -> None:
    with pytest.raises(InvalidParameterError, match=r"no attribute 'agee' \(did you mean 'age'\?\); known: age, home"):
        PEOPLE.part("agee")
    with pytest.raises(InvalidParameterError, match="each once"):
        PEOPLE.part("age", "age")


@pytest.mark.parametrize(
    ("query", "is_meant"),
    [
        ("age >= 19 and sex == f", lambda one: one["age"] >= 19 and one["sex"] == "f"),
        ("18 < age <= 19 or home_row == 0", lambda one: 18 < one["age"] <= 19 or one["home_row"] == 0),
        ("not (home in (0, 0)..(1, 1)) and sex in {m}", lambda one: one["home_column"] == 2 and one["sex"] == "m"),
        ("home == (1, 2)", lambda one: (one["home_row"], one["home_column"]) == (1, 2)),
        ("'f' == sex and 0 < home_column", lambda one: one["sex"] == "f" and one["home_column"] > 0),
        ("age not in 18..19", lambda one: one["age"] == 20),
    ],
)
def test_queries_speak_of_attributes_by_name(query: str, is_meant: Callable[[dict[str, Any]], bool]) -> None:
    values = [dict(zip(PEOPLE.field_names, value, strict=True)) for value in PEOPLE.decode(np.arange(30)).tolist()]
    assert as_weights(query, PEOPLE).tolist() == [float(is_meant(value)) for value in values]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("row == 1", "'row' is not a name here; known: age, home, home_row, home_column, sex"),
        ("3 >= ", "expected the name of an attribute, found the end"),
        ("sex >= f", "'sex' has no order"),
        ("sex == g", "'g' is none of the values"),
        ("age == f", "'age' cannot be compared with 'f'"),
        ("age >= 19 sex == f", "expected the end, found 'sex'"),
    ],
)
def test_queries_that_cannot_be_read(query: str, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        as_weights(query, PEOPLE)


def three(epsilons: tuple[float, float, float] = (1.0, 0.5, 0.7)) -> cf.Product:
    names = zip(("vote", "car", "dog"), epsilons, strict=True)
    return cf.Product(**{name: cf.RandomizedResponse(YES, epsilon) for name, epsilon in names})


def test_the_promise_is_stated_for_each_and_for_all() -> None:
    guarantee = three().guarantee
    exact = Fraction(1.0) + Fraction(0.5) + Fraction(0.7)
    assert guarantee.together is not None
    assert exact <= Fraction(guarantee.together.epsilon) <= exact * (1 + 2**-52)
    assert guarantee.terms == "epsilon 1 for vote, epsilon 0.5 for car and epsilon 0.7 for dog, together epsilon 2.2"
    assert "; for all three together local differential privacy, epsilon 2.2: any report" in str(guarantee)
    yes, no = ("yes", "yes", "yes"), ("no", "yes", "no")
    assert guarantee.bound(yes, no) == pytest.approx(1.7)
    mixed = cf.Product(age=cf.TruncatedGeometric(AGE, 0.5), home=cf.TruncatedTaxicab(LAKE, 1.0))
    assert mixed.guarantee.together is None
    assert cf.Product(age=cf.TruncatedGeometric(AGE, 0.5), sex=three().mechanisms[0]).guarantee.together is None
    assert str(mixed.guarantee).endswith("for both together the factors multiply")
    assert mixed.guarantee.bound((18, 0, 0), (20, 0, 2)) == pytest.approx(0.5 * 2 + 1.0)
    known = cf.FromMatrix(YES, np.eye(2))
    both = cf.Product(vote=cf.RandomizedResponse(YES, 1.0), known=known).guarantee
    assert both.together == cf.mechanisms.LocalDP(np.inf)
    with pytest.raises(InvalidParameterError, match="A promise for attributes needs"):
        ProductGuarantee(("a", "b"), (cf.mechanisms.LocalDP(1.0),) * 2, (1, 1)).bounds(AGE)
    with pytest.raises(InvalidParameterError, match="A value of 3 parts is needed; got 'yes'"):
        guarantee.bound("yes", yes)


def test_bounds_of_three_are_sums() -> None:
    mechanism = cf.Product(
        age=cf.TruncatedGeometric(AGE, 0.5), home=cf.TruncatedTaxicab(LAKE, 1.0), sex=cf.RandomizedResponse(SEX, 2.0)
    )
    bounds, values = mechanism.guarantee.bounds(mechanism.alphabet), PEOPLE.decode(np.arange(30)).tolist()
    for left, right in [(0, 29), (3, 17), (8, 8), (21, 2)]:
        expected = mechanism.guarantee.bound(tuple(values[left]), tuple(values[right]))
        assert bounds[left, right] == pytest.approx(expected)
        low, high = mechanism.guarantee.bracket(mechanism.alphabet, left, right, 64)
        assert low <= Fraction(expected) * (1 + Fraction(1, 2**40))
        assert high >= Fraction(expected) * (1 - Fraction(1, 2**40))
    assert cf.audit(mechanism, reports=200).holds


def population(mechanism: cf.Mechanism, people: int, seed: int) -> tuple[cf.Counts, np.ndarray[Any, Any]]:
    """Return reports of people whose attributes depend on each other, and the truth."""
    truth = np.random.default_rng(seed).dirichlet(np.full(mechanism.alphabet.size, 0.5))
    histogram = np.random.default_rng(seed + 1).multinomial(people, truth)
    return mechanism.simulate_counts(histogram, rng=seed + 2), histogram / people


def mixed_three() -> cf.Product:
    return cf.Product(
        age=cf.TruncatedGeometric(cf.Integers(0, 9), 1.0),
        vote=cf.RandomizedResponse(cf.Categories(["a", "b", "c"]), 1.5),
        car=cf.RandomizedResponse(YES, 1.0),
    )


def test_a_marginal_is_the_estimate_of_the_reports_of_that_attribute() -> None:
    mechanism = mixed_three()
    counts, truth = population(mechanism, 20_000, 1)
    answer = cf.estimate(counts, mechanism, cf.MLE())
    ages = answer.marginal("age")
    assert ages.alphabet == cf.Integers(0, 9)
    reported = mechanism.lay_out(counts).reshape(10, 3, 2).sum(axis=(1, 2))
    alone = cf.estimate(cf.tally(np.arange(10), reported), mechanism.mechanisms[0], cf.MLE())
    np.testing.assert_array_equal(ages.distribution, alone.distribution)
    assert ages.groups[mechanism.mechanisms[0]].origin.simulated == 20_000
    true_share = mechanism.alphabet.margin(truth, "age")[5:].sum()
    assert ages.query("age >= 5").contains(true_share)
    assert ages.fit is not None
    assert ages.windows(name="age").answers[0].question.startswith("age")
    turned = answer.marginal("car", "age")
    assert isinstance(turned.alphabet, cf.Attributes)
    assert turned.alphabet.names == ("car", "age")
    assert turned.groups[next(iter(turned.groups))].total == 20_000


def test_a_mechanism_over_all_values_has_margins_that_are_sums() -> None:
    """Under randomized response of whole combinations there are no reports of one attribute alone."""
    alphabet = cf.Attributes(age=cf.Integers(0, 3), car=YES)
    mechanism = cf.RandomizedResponse(alphabet, 2.0)
    counts, truth = population(mechanism, 20_000, 3)
    answer = cf.estimate(counts, mechanism, cf.MLE())
    ages = answer.marginal("age")
    np.testing.assert_allclose(ages.distribution, answer.distribution.reshape(4, 2).sum(axis=1))
    asked, whole = ages.query("age >= 2"), answer.query("age >= 2")
    assert (asked.low, asked.high) == (whole.low, whole.high)
    assert ages.mean().contains(float(np.arange(4) @ truth.reshape(4, 2).sum(axis=1)))
    assert ages.interval().low.shape == (4,)
    assert ages.fit.verdict == answer.fit.verdict
    table = answer.cross("car", "age")
    assert table.shares.shape == (2, 4)
    np.testing.assert_allclose(table.shares, answer.distribution.reshape(4, 2).T)


def test_the_sum_of_another_mechanism_holds_the_same_intervals_by_likelihood() -> None:
    alphabet = cf.Attributes(age=cf.Integers(0, 3), car=YES)
    mechanism = cf.Exponential(alphabet, 2.0)
    counts, _ = population(mechanism, 5_000, 5)
    answer = cf.estimate(counts, mechanism, cf.MLE())
    asked, whole = answer.marginal("age").query("age >= 2"), answer.query("age >= 2")
    assert asked.low == pytest.approx(whole.low, abs=1e-6)
    assert asked.high == pytest.approx(whole.high, abs=1e-6)
    assert answer.marginal("age").quantile(0.5).low <= 3


def test_a_cross_table_has_an_interval_for_each_entry_and_totals() -> None:
    mechanism = mixed_three()
    counts, truth = population(mechanism, 50_000, 7)
    answer = cf.estimate(counts, mechanism, cf.MLE())
    table, known = answer.cross("vote", "car"), mechanism.alphabet.margin(truth, "vote", "car").reshape(3, 2)
    np.testing.assert_allclose(table.shares.sum(), 1)
    np.testing.assert_allclose(table.totals["vote"].estimate, table.shares.sum(axis=1))
    np.testing.assert_allclose(table.totals["car"].estimate, table.shares.sum(axis=0))
    entry = table.at("b", "no")
    assert (entry.low, entry.high) == (table.band.low[3], table.band.high[3])
    assert entry.low < known[1, 1] < entry.high
    # Narrow enough to say something: a wrong scale would show.
    assert 0.01 < entry.width < 0.05
    together = answer.cross("vote", "car", joint=True)
    assert (together.band.width > 1.05 * table.band.width).all()
    assert (together.totals["vote"].width > 1.05 * table.totals["vote"].width).all()
    assert together.shown_level == "95% for all 6 together"
    assert repr(table).startswith("<CrossTable of vote and car at 95%, at most 0.0")


@pytest.mark.slow
def test_entries_of_cross_tables_hold_the_truth() -> None:
    """Six entries of 12 surveys at 90 %: 65 of 72 are expected, and 57 leave room for three standard errors."""
    mechanism, held = mixed_three().part("vote", "car"), 0
    assert isinstance(mechanism, cf.Product)
    for seed in range(12):
        counts, truth = population(mechanism, 3000, 10 * seed)
        band = cf.estimate(counts, mechanism, cf.MLE()).cross("vote", "car", level=0.9).band
        held += int(((band.low <= truth) & (truth <= band.high)).sum())
    assert 57 <= held <= 72


def test_margins_that_are_not_there() -> None:
    mechanism = mixed_three()
    answer = cf.estimate(population(mechanism, 500, 9)[0], mechanism, cf.IBU())
    with pytest.raises(InvalidParameterError, match="no attribute 'town'"):
        answer.marginal("town")
    with pytest.raises(InvalidParameterError, match="two attributes or more"):
        answer.cross("age")
    ages = answer.marginal("age")
    with pytest.raises(InvalidParameterError, match="has no attributes"):
        ages.marginal("age")
    with pytest.raises(InvalidParameterError, match="have no attributes"):
        mechanism.mechanisms[0].reports_of(cf.tally([1]), "age")


def test_pools_of_two_promises_have_margins() -> None:
    bold, wary = (three((epsilon,) * 3) for epsilon in (2.0, 1.0))
    pool = [(population(one, 2000, 11)[0], one) for one in (bold, wary)]
    answer = cf.estimate_pool(pool, cf.MLE()).marginal("car")
    assert len(answer.groups) == 2
    assert sum(counts.total for counts in answer.groups.values()) == 4000


def alphabets() -> list[Alphabet]:
    return [PEOPLE, cf.Attributes(a=AGE, b=SEX, c=YES, d=cf.Integers(0, 1))]


@pytest.mark.parametrize("alphabet", alphabets(), ids=["three", "four"])
def test_surveys_keep_the_order_and_the_names(alphabet: cf.Attributes) -> None:
    survey = cf.Survey(cf.RandomizedResponse(alphabet, 1.0), "person")
    assert cf.parse_survey(survey.text()) == survey
    assert cf.Survey.from_json(survey.to_json()) == survey
    assert cf.parse_survey(survey.text()).alphabet == alphabet


def test_names_in_any_script_stand_in_a_survey() -> None:
    alphabet = cf.Attributes(größe=AGE, город=SEX)
    survey = cf.Survey(cf.RandomizedResponse(alphabet, 1.0), "person")
    assert '[alphabet."größe"]' in survey.text()
    assert cf.parse_survey(survey.text()) == survey
    assert as_weights("größe >= 19 and город == f", alphabet).sum() == 2


def test_a_circle_is_drawn_around_the_attribute_that_it_names() -> None:
    home = cf.Places(40.70, -74.02, 40.79, -73.94, cell="1 km")
    people = cf.Attributes(sex=SEX, home=home, work=home)
    alone = as_weights("within 2 km of 40.75, -73.98", home)
    assert 0 < alone.sum() < home.size
    asked = as_weights("sex == f and work within 2 km of 40.75, -73.98", people).reshape(2, home.size, home.size)
    np.testing.assert_array_equal(asked[0], np.broadcast_to(alone, (home.size, home.size)))
    assert not asked[1].any()


def test_a_peak_of_one_attribute_is_seen_among_many_combinations() -> None:
    """Over 1,200 combinations reports of a peaked age could not be told from uniform ones."""
    cities = cf.RandomizedResponse(cf.Categories(list(range(60))), 0.5)
    mechanism = cf.Product(age=cf.TruncatedGeometric(cf.Integers(0, 9), 0.5), city=cities, sex=three().mechanisms[0])
    ages = np.repeat(np.exp(-0.5 * (np.arange(10) - 4) ** 2 / 16), 120)
    peaked = mechanism.simulate_counts(np.random.default_rng(1).multinomial(3000, ages / ages.sum()), rng=2)
    even = mechanism.simulate_counts(np.random.default_rng(3).multinomial(3000, np.full(1200, 1 / 1200)), rng=4)
    seen, unseen = (Uniformity.of((mechanism,), mechanism.observe(counts)) for counts in (peaked, even))
    assert seen is not None
    assert unseen is not None
    assert seen.is_rejected
    assert not unseen.is_rejected
    assert uniformity_test(mechanism.observe(peaked)).p_value > 0.01, "all combinations at once do not show it"
    assert unseen.people < uniformity_test(mechanism.observe(even)).people
