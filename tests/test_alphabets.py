"""Alphabets number their values, and refuse what is not among them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each

from confide import Alphabet, Attributes, Categories, Grid, Integers, Lattice
from confide.errors import InvalidParameterError, ValueOutsideAlphabetError
from confide.values import BitVectors, Line, Plane, Selection
from confide.values.metrics import Discrete, Euclidean

FINITE = [
    Categories(["yes"]),
    Categories(["yes", "no", "do not know"]),
    Categories([7, -5, 3]),
    Integers(5, 5),
    Integers(-3, 12),
    Integers(0, 9, spacing=2.5, unit="thousand"),
    Grid(1, 1),
    Grid(3, 4, spacing=0.5, unit="km"),
    Grid(3, 4, holes=((0, 1), (2, 3))),
    Grid(3, 4, holes=((-2, 8), (0, 7)), first_row=-2, first_column=7),
    Attributes(first=Integers(0, 4), second=Categories(["f", "m"])),
    Attributes(first=Integers(0, 2), second=Integers(5, 8, spacing=2.0)),
    Attributes(first=Categories(["a", "b"]), second=Categories(["x", "y", "z"])),
]
UNBOUNDED: list[Alphabet] = [Integers(), Lattice()]
REAL: list[Alphabet] = [Line(), Plane()]

every_finite = each("alphabet", FINITE, ids=repr)


@every_finite
def test_decoding_undoes_encoding(alphabet: Alphabet) -> None:
    numbers = np.arange(alphabet.size)
    values = alphabet.decode(numbers)
    assert len(alphabet) == alphabet.size == len(values)
    np.testing.assert_array_equal(alphabet.encode(values), numbers)
    np.testing.assert_array_equal(alphabet.encode(values.tolist()), numbers)
    np.testing.assert_array_equal(alphabet.encode(values[::-1]), numbers[::-1])


@pytest.mark.parametrize("alphabet", UNBOUNDED + REAL, ids=repr)
@given(numbers=st.lists(st.integers(0, 2**52), min_size=1))
def test_decoding_undoes_encoding_without_end(alphabet: Alphabet, numbers: list[int]) -> None:
    values = alphabet.decode(numbers)
    assert alphabet.encode(values).tolist() == numbers
    assert alphabet.contains(alphabet.as_array(values)).all()


@pytest.mark.parametrize("alphabet", UNBOUNDED, ids=repr)
def test_numbers_run_outwards_from_zero(alphabet: Alphabet) -> None:
    values = alphabet.decode(np.arange(200)).reshape(200, -1)
    assert np.unique(values, axis=0).shape[0] == 200
    assert np.abs(values[0]).max() == 0
    assert (np.diff(np.maximum.accumulate(np.abs(values).max(axis=1))) <= 1).all()


@pytest.mark.parametrize("kind", [Lattice, Line, Plane])
def test_an_unbounded_alphabet_checks_its_spacing_and_unit(kind: type[Lattice | Line | Plane]) -> None:
    with pytest.raises(InvalidParameterError, match="spacing"):
        kind(spacing=-1.0)
    with pytest.raises(InvalidParameterError, match="unit"):
        kind(unit=3)  # type: ignore[arg-type]
    assert repr(kind(0.5, "km")) == f"{kind.__name__}(spacing=0.5, unit='km')"


@pytest.mark.parametrize("alphabet", [*UNBOUNDED, *REAL], ids=repr)
def test_an_unbounded_alphabet_has_no_size(alphabet: Alphabet) -> None:
    with pytest.raises(InvalidParameterError, match=r"is unbounded.*Give one: "):
        _ = alphabet.size
    with pytest.raises(InvalidParameterError, match=r"is unbounded.*Give one: "):
        _ = alphabet.coordinates
    assert not alphabet.is_finite
    assert not alphabet.is_listable


@pytest.mark.parametrize("length", [1, 16, 17, 100])
def test_bit_vectors_are_finite_and_listed_up_to_sixteen_bits(length: int) -> None:
    vectors = BitVectors(length)
    assert vectors.is_finite
    assert vectors.size == 2**length
    assert vectors.is_listable == (length <= 16)
    if vectors.is_listable:
        assert vectors.coordinates[:, 0].tolist() == list(range(2**length))
        assert vectors.encode(vectors.decode(np.arange(vectors.size))).tolist() == list(range(2**length))
        return
    with pytest.raises(InvalidParameterError, match=rf"The 2\^{length} vectors of .* too many to list; at most 16"):
        vectors.require_listable()


@pytest.mark.parametrize("alphabet", [Integers(0, 10**12), Grid(100_000, 100_000)], ids=repr)
def test_finite_alphabets_too_large_to_be_listed(alphabet: Alphabet) -> None:
    assert alphabet.is_finite
    assert not alphabet.is_listable
    with pytest.raises(InvalidParameterError, match=r"0,000,00\d values, too many for an array .*Use fewer or coarser"):
        alphabet.require_listable()


@every_finite
def test_distances_are_a_metric(alphabet: Alphabet) -> None:
    distances = alphabet.distances()
    assert distances.shape == (alphabet.size, alphabet.size)
    assert (np.diag(distances) == 0).all()
    assert (distances + np.eye(alphabet.size) > 0).all()
    np.testing.assert_array_equal(distances, distances.T)
    detours = (distances[:, :, None] + distances[None, :, :]).min(axis=1)
    assert (distances <= detours + 1e-12).all()


@every_finite
def test_the_table_of_distances_holds_single_distances(alphabet: Alphabet) -> None:
    values = alphabet.decode(np.arange(alphabet.size)).tolist()
    plain = [tuple(value) if isinstance(value, list) else value for value in values]
    table = alphabet.distances()
    for x, left in enumerate(plain):
        for y, right in enumerate(plain):
            assert alphabet.distance(left, right) == pytest.approx(table[x, y])


@every_finite
def test_labels_and_fields_are_read_back(alphabet: Alphabet) -> None:
    values = alphabet.decode(np.arange(alphabet.size)).tolist()
    for value, label in zip(values, alphabet.labels(), strict=True):
        parts = value if isinstance(value, list) else [value]
        expected = tuple(parts) if isinstance(value, list) else value
        assert alphabet.parse([str(part) for part in parts]) == expected
        assert all(str(part) in label for part in parts)
    assert len(set(alphabet.labels())) == alphabet.size
    assert len(alphabet.field_names) == (2 if isinstance(values[0], list) else 1)


@every_finite
def test_no_values_have_no_numbers(alphabet: Alphabet) -> None:
    assert alphabet.encode([]).tolist() == []


@every_finite
def test_alphabets_are_values(alphabet: Alphabet) -> None:
    assert sum(alphabet == other for other in FINITE) == 1
    assert len(set(FINITE)) == len(FINITE)


def test_metrics() -> None:
    assert Categories(["a", "b"]).metric == Discrete()
    assert Integers(0, 9, spacing=2.5).metric == Euclidean(2.5)
    assert Integers(0, 9, spacing=2.5).distance(2, 5) == 7.5
    assert Grid(9, 9, spacing=0.5).distance((0, 0), (3, 4)) == 2.5
    assert Categories([1, 100]).distance(1, 100) == 1


def test_cells_are_numbered_row_by_row() -> None:
    assert Grid(2, 3).encode([(0, 0), (0, 2), (1, 0), (1, 2)]).tolist() == [0, 2, 3, 5]
    assert Grid(2, 3).decode([3]).tolist() == [[1, 0]]


def test_holes_have_no_number() -> None:
    grid = Grid(2, 3, holes=((0, 1), (1, 2)))
    assert grid.size == 4
    assert grid.decode(np.arange(4)).tolist() == [[0, 0], [0, 2], [1, 0], [1, 1]]
    assert np.isnan(grid.picture([0.25] * 4)).tolist() == [[False, True, False], [False, False, True]]
    with pytest.raises(ValueOutsideAlphabetError, match=r"\(0, 1\) at position 0"):
        grid.encode([(0, 1)])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64, np.float32, np.float64])
def test_any_whole_number_is_an_integer(dtype: type) -> None:
    assert Integers(0, 9).encode(np.array([3, 9], dtype=dtype)).tolist() == [3, 9]
    assert Grid(2, 9).encode(np.array([[1, 3]], dtype=dtype)).tolist() == [12]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
def test_any_whole_number_is_a_category(dtype: type) -> None:
    assert Categories([9, 3]).encode(np.array([3, 9], dtype=dtype)).tolist() == [1, 0]


def test_strings_of_any_kind_are_categories() -> None:
    alphabet = Categories(["yes", "no"])
    assert alphabet.encode(np.array(["no", "yes"])).tolist() == [1, 0]
    # What a data frame's column of text turns into.
    assert alphabet.encode(np.array(["no", "yes"], dtype=object)).tolist() == [1, 0]


def test_long_strings_are_not_cut_to_fit() -> None:
    with pytest.raises(ValueOutsideAlphabetError, match="'yesterday' at position 1"):
        Categories(["yes", "no"]).encode(["yes", "yesterday"])


@each(
    ("alphabet", "values", "message", "positions"),
    [
        (
            Integers(0, 99),
            [3, 140, -1],
            r"2 of 3 values lie outside Integers\(0, 99\); first: 140 at position 1. Clip them or widen the alphabet.",
            (1, 2),
        ),
        (Integers(0, 99), [float("nan"), 3], r"1 of 2 .* is missing; first: nan at position 0.*dropna", (0,)),
        (Integers(0, 99), [3, float("inf")], r"first: inf at position 1", (1,)),
        (Integers(0, 99), [3.5], r"first: 3.5 at position 0", (0,)),
        (Integers(0, 99), ["30"], r"first: '30' at position 0, which is a text. Convert", (0,)),
        (Integers(0, 99), [True], r"first: True at position 0", (0,)),
        (Integers(0, 99), np.array([2**64 - 1], dtype=np.uint64), r"first: 18446744073709551615", (0,)),
        (Integers(), [2.0**60], r"1 of 1 values lies outside", (0,)),
        (Grid(2, 3), [(0, 0), (2, 0), (0, 3)], r"2 of 3 values lie outside Grid\(2, 3\); first: \(2, 0\)", (1, 2)),
        (Grid(2, 3), [(-1, 0)], r"first: \(-1, 0\) at position 0", (0,)),
        (
            Categories(["yes", "no"]),
            ["yes", "maybe"],
            r"1 of 2 values lies outside Categories\(\['yes', 'no'\]\); first: 'maybe' at position 1. .*add them",
            (1,),
        ),
        (Categories([1, 2]), ["1"], r"first: '1'", (0,)),
    ],
)
def test_what_lies_outside_is_named(
    alphabet: Alphabet, values: object, message: str, positions: tuple[int, ...]
) -> None:
    with pytest.raises(ValueOutsideAlphabetError, match=message) as caught:
        alphabet.encode(values)  # type: ignore[arg-type]
    assert caught.value.positions == positions


@pytest.mark.parametrize(
    ("alphabet", "values", "message"),
    [
        (Integers(0, 9), 3, r"takes a sequence of single values; got an array of shape \(\)"),
        (Integers(0, 9), [[1, 2]], r"single values; got an array of shape \(1, 2\)"),
        (Grid(2, 3), (0, 1), r"pairs \(row, column\); got an array of shape \(2,\). Put a single value into a list"),
        (Grid(2, 3), [(0, 1, 2)], r"got an array of shape \(1, 3\)"),
        (Grid(2, 3), [(0, 1), (2,)], r"must be given as a rectangular array"),
    ],
)
def test_values_of_the_wrong_shape_are_refused(alphabet: Alphabet, values: object, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        alphabet.encode(values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((9, 0), r"low must not exceed high; got low=9 and high=0"),
        ((0, 9.5), r"high must be a whole number of at least .*; got 9.5"),
        (("0", 9), r"low must be a whole number .*; got '0'"),
        ((True, 9), r"low must be a whole number .*; got True"),
        ((1, 2**53), r"high must be at most 2\*\*53 - 1"),
        ((0, 2**53 - 1), r"at most 2\*\*53 - 1 values"),
        ((0, 9, 0), r"spacing must be a finite number above 0; got 0"),
        ((0, 9, -1.0), r"spacing must be a finite number above 0; got -1.0"),
        ((0, 9, float("nan")), r"spacing must be a finite number above 0; got nan"),
        ((0, 9, 1.0, 5), r"unit must be a text; got 5"),
        ((0,), r"Give both low and high, or neither"),
    ],
)
def test_bad_ranges_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        Integers(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 3), r"rows must be a whole number of at least 1; got 0"),
        ((3, -1), r"columns must be a whole number of at least 1; got -1"),
        ((2.5, 3), r"rows must be a whole number of at least 1; got 2.5"),
        ((2, 3, float("inf")), r"spacing must be a finite number above 0; got inf"),
        ((2, 2, 1.0, "", [(5, 5)]), r"hole \(5, 5\) lies outside the 2 x 2 grid"),
        ((1, 1, 1.0, "", [(0, 0)]), r"at least one cell that is no hole"),
        ((2, 2, 1.0, "", 7), r"holes must be pairs \(row, column\); got 7"),
    ],
)
def test_bad_grids_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        Grid(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], r"at least one value; got none"),
        ("yes", r"needs a list of values; got the one string 'yes'"),
        ([1, "a"], r"all strings or all integers; got int and str"),
        ([1.5, 2.5], r"all strings or all integers; got float"),
        ([True, False], r"all strings or all integers; got bool"),
        (["a", "b", "a"], r"must differ; 'a' stands more than once"),
        ([["a"], ["b"]], r"all strings or all integers; got list"),
        (5, r"needs a list of values; got"),
        (None, r"needs a list of values; got"),
    ],
)
def test_bad_categories_are_refused(values: object, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        Categories(values)  # type: ignore[arg-type]


def test_categories_from_numpy_are_plain() -> None:
    assert Categories(np.array([1, 2])) == Categories([1, 2])  # type: ignore[arg-type]
    assert Categories(np.array(["a", "b"])) == Categories(["a", "b"])  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "abc", "1.5", "1_000", "\uff11", "0x10", "--1", "1e3", "\u00b2", "nan"])
def test_texts_that_are_no_whole_numbers_are_not_read(text: str) -> None:
    assert Integers(0, 99).parse([text]) is None
    assert Grid(2, 2).parse([text, "0"]) is None
    assert Grid(2, 2).parse(["0", text]) is None


@pytest.mark.parametrize(("text", "number"), [("7", 7), (" 7 ", 7), ("+7", 7), ("-7", -7), ("007", 7)])
def test_texts_that_are_whole_numbers_are_read(text: str, number: int) -> None:
    assert Integers(0, 99).parse([text]) == number
    assert Categories([1, 7]).parse([text]) == number


def test_reprs_are_short_and_say_what_is_unusual() -> None:
    assert repr(Integers(0, 99)) == "Integers(0, 99)"
    assert repr(Integers(0, 9, spacing=2.5, unit="year")) == "Integers(0, 9, spacing=2.5, unit='year')"
    assert repr(Grid(20, 14, spacing=0.5, unit="km")) == "Grid(20, 14, spacing=0.5, unit='km')"
    assert repr(Categories(list("abcdef"))) == "Categories(['a', 'b', 'c', 'd', ...])"


# Grids with a first row and column, and from a mask.


def test_a_grid_may_begin_anywhere() -> None:
    grid = Grid(2, 3, holes=((6, -1),), first_row=5, first_column=-2)
    assert grid.decode(np.arange(5)).tolist() == [[5, -2], [5, -1], [5, 0], [6, -2], [6, 0]]
    assert grid.encode([(6, 0)]).tolist() == [4]
    assert grid.box == Grid(2, 3, first_row=5, first_column=-2)
    assert grid.places.tolist() == [0, 1, 2, 3, 5]
    for outside in ((0, 0), (6, -1), (5, 1), (7, 0), (4, 0)):
        with pytest.raises(ValueOutsideAlphabetError):
            grid.encode([outside])


def test_a_grid_from_a_mask() -> None:
    mask = np.array([[True, False], [True, True]])
    grid = Grid.from_mask(mask, spacing=0.5, unit="km")
    assert grid == Grid(2, 2, 0.5, "km", ((0, 1),))
    np.testing.assert_array_equal(~np.isnan(grid.picture([0.2, 0.3, 0.5])), mask)
    with pytest.raises(InvalidParameterError, match="A mask must have two dimensions; got 1"):
        Grid.from_mask([True, False])


def test_holes_are_a_set() -> None:
    assert Grid(2, 2, holes=((1, 1), (0, 0), (1, 1))) == Grid(2, 2, holes=((0, 0), (1, 1)))


# Several attributes.


def test_pairs_are_numbered_row_by_row() -> None:
    pairs = Attributes(first=Integers(3, 5), second=Categories(["f", "m"]))
    assert pairs.encode([(3, "f"), (3, "m"), (5, "m")]).tolist() == [0, 1, 5]
    assert pairs.decode([0, 5]).tolist() == [[3, "f"], [5, "m"]]
    left, right = map(tuple, pairs.decode([0, 5]).tolist())
    assert pairs.distance(left, right) == 3
    assert pairs.field_names == ("first", "second")
    assert str(pairs.parse(["4", "m"])) == "(4, 'm')"
    assert pairs.parse(["x", "m"]) is None
    assert repr(pairs) == "Attributes(first=Integers(3, 5), second=Categories(['f', 'm']))"


def test_pairs_of_numbers_stay_numbers() -> None:
    assert Attributes(first=Integers(0, 2), second=Integers(0, 2)).decode([4]).dtype.kind == "i"


# What continuous mechanisms report.


@pytest.mark.parametrize(("value", "inside"), [(0.5, True), (-1e6 + 2.0**-16, True), (3, True), (2.0**-17, False)])
def test_real_reports_are_multiples_of_a_tiny_step(value: float, inside: bool) -> None:
    assert Line().contains(np.array([value])).tolist() == [inside]


@pytest.mark.parametrize("value", [1 / 3, float("nan"), float("inf"), -float("inf")])
def test_other_real_numbers_are_no_reports(value: float) -> None:
    assert not Line().contains(np.array([value])).any()
    assert not Plane().contains(np.array([[value, 0.0]])).any()
    with pytest.raises(ValueOutsideAlphabetError, match=r"1 of 1 values (lies outside Line|for Line.* is missing)"):
        Line().encode([value])


def test_texts_are_no_real_numbers() -> None:
    assert not Line().contains(np.array(["3"])).any()
    assert not Plane().contains(np.array([["3", "4"]])).any()


@pytest.mark.parametrize(
    ("text", "number"), [("0.5", 0.5), (" -3 ", -3.0), ("1e3", 1000.0), ("x", None), ("nan", None), ("1_0", None)]
)
def test_texts_are_read_as_real_numbers(text: str, number: float | None) -> None:
    assert Line().parse([text]) == number
    assert Plane().parse([text, "1"]) == (None if number is None else (number, 1.0))
    assert Plane().parse(["1", text]) == (None if number is None else (1.0, number))


# Bit vectors.


@pytest.mark.parametrize("length", [1, 3, 62, 63, 64, 100, 126, 127, 300])
def test_packing_undoes_unpacking(length: int) -> None:
    vectors = BitVectors(length)
    bits = np.random.default_rng(length).random((50, length)) < 0.5
    bits[0], bits[1] = False, True
    words = vectors.pack(bits)
    assert words.dtype == np.int64
    assert words.shape == ((50,) if length <= 63 else (50, vectors.parts))
    assert (words >= 0).all()
    np.testing.assert_array_equal(vectors.unpack(words), bits)
    assert vectors.contains(words).all()
    assert len(vectors.field_names) == vectors.parts == -(-length // 63)
    fields = [str(word) for word in np.atleast_1d(words[7]).tolist()]
    parsed = vectors.parse(fields)
    assert parsed == (tuple(words[7].tolist()) if length > 63 else words[7])
    assert vectors.parse(["x", *fields[1:]]) is None


def test_bits_are_packed_lowest_first() -> None:
    assert BitVectors(4).pack(np.array([[True, False, False, False], [False, False, False, True]])).tolist() == [1, 8]
    long = np.zeros((1, 64), dtype=bool)
    long[0, 63] = True
    assert BitVectors(64).pack(long).tolist() == [[0, 1]]


def test_words_with_bits_past_the_end_are_no_vectors() -> None:
    assert BitVectors(3).contains(np.array([0, 7, 8, -1])).tolist() == [True, True, False, False]
    assert BitVectors(65).contains(np.array([[0, 3], [0, 4], [2**62, 0], [-1, 0]])).tolist() == [
        True,
        False,
        True,
        False,
    ]
    assert not BitVectors(3).contains(np.array([1.0])).any()
    assert BitVectors(3).locate(np.array([5, 9])).tolist() == [5, -1]


@pytest.mark.parametrize("length", [0, -1, 2.5, True, "8"])
def test_a_length_that_is_none_is_refused(length: int) -> None:
    with pytest.raises(InvalidParameterError, match="length must be a whole number of at least 1"):
        BitVectors(length)


@pytest.mark.parametrize("spacing", [0, -1.0, float("nan"), "1"])
def test_a_lattice_needs_a_spacing(spacing: float) -> None:
    with pytest.raises(InvalidParameterError, match="spacing must be a finite number above 0"):
        Lattice(spacing)


# Some of the values of another.

SELECTIONS = [
    Selection(Integers(), np.array([-5, 3, 10**9])),
    Selection(Lattice(0.5, "km"), np.array([(0, 0), (-3, 10**6), (2**40, 1)])),
    Selection(Grid(3, 3, holes=[(1, 1)]), np.array([(2, 2), (0, 1)])),
    Selection(Categories(["a", "b", "c"]), np.array(["c", "a"])),
    Selection(
        Attributes(first=Integers(0, 3), second=Categories(["f", "m"])), np.array([(3, "m"), (0, "f")], dtype=object)
    ),
]


@pytest.mark.parametrize("part", SELECTIONS, ids=repr)
def test_a_selection_numbers_its_values_anew(part: Selection) -> None:
    numbers = np.arange(part.size)
    assert part.encode(part.decode(numbers)).tolist() == numbers.tolist()
    assert (part.unit, part.metric, part.field_names) == (part.whole.unit, part.whole.metric, part.whole.field_names)
    assert part.coordinates.shape[0] == len(part.labels()) == part.size
    assert part == Selection(part.whole, part.values)
    assert hash(part) == hash(Selection(part.whole, part.values))
    assert part != Selection(part.whole, part.values[::-1])
    assert part != part.whole


def test_a_selection_lacks_what_was_not_picked() -> None:
    part = SELECTIONS[0]
    assert part.contains(np.array([3, 4])).tolist() == [True, False]
    assert part.coordinates.tolist() == [[-5.0], [3.0], [1e9]]
    with pytest.raises(ValueOutsideAlphabetError, match=r"1 of 1 values lies outside Selection\(3 of Integers\(\)\)"):
        part.encode([4])
    assert SELECTIONS[2].labels() == ["(2, 2)", "(0, 1)"]


@pytest.mark.parametrize(
    ("values", "message"), [([], "at least one value"), ([3, 12], "some are none"), ([3, 3], "some come twice")]
)
def test_a_selection_of_nothing_of_strangers_or_of_twins_is_refused(values: list[int], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        Selection(Integers(0, 9), np.array(values, dtype=np.int64))


# Edges: what is too large is said before numpy dies of it, and what collides is refused.

HUGE = [Integers(0, 10**12), Grid(100_000, 100_000, holes=[(0, 3), (99_999, 99_998)])]


@pytest.mark.parametrize("alphabet", HUGE, ids=repr)
def test_huge_alphabets_are_numbered_without_an_array(alphabet: Alphabet) -> None:
    numbers = np.array([0, 3, 12_345_678, alphabet.size - 1])
    assert alphabet.encode(alphabet.decode(numbers)).tolist() == numbers.tolist()
    for ask in (lambda: alphabet.coordinates, alphabet.labels, alphabet.distances):
        with pytest.raises(InvalidParameterError, match="too many for an array over all of them"):
            ask()


def test_distances_of_too_many_pairs_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"10,000,000,000 pairs of values, too many for a matrix"):
        Integers(1, 100_000).distances()


@each("seed", range(20))
def test_numbers_skip_holes_wherever_they_lie(seed: int) -> None:
    generator = np.random.default_rng(seed)
    present = generator.random((4, 5)) < 0.6
    present[2, 2] = True
    grid = Grid.from_mask(present)
    cells = np.argwhere(present)
    assert grid.decode(np.arange(grid.size)).tolist() == cells.tolist()
    assert grid.locate(cells).tolist() == list(range(grid.size))
    assert (grid.locate(np.argwhere(~present)) == -1).all()
    assert grid.places.tolist() == np.flatnonzero(present).tolist()
    with pytest.raises(IndexError, match="has cells number 0 to"):
        grid.decode([grid.size])


def test_categories_that_numpy_would_take_for_one_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"must not end with a NUL character; got 'a\\x00'"):
        Categories(["a", "a\0"])
    assert Categories(["a", "\0a"]).encode(["\0a"]).tolist() == [1]


def test_integers_held_as_objects_are_integers() -> None:
    assert Integers(0, 9).encode(np.array([1, 2], dtype=object)).tolist() == [1, 2]
    assert Integers(0, 9).encode(np.array([np.int32(1), 2], dtype=object)).tolist() == [1, 2]
    assert Grid(2, 2).encode(np.array([[0, 1], [1, 1]], dtype=object)).tolist() == [1, 3]
    assert Categories([5, 7]).encode(np.array([7, 5], dtype=object)).tolist() == [1, 0]
    for wrong in ([1, 10**30], [1, True], [1, 2.5], [1, None]):
        with pytest.raises(ValueOutsideAlphabetError):
            Integers(0, 9).encode(np.array(wrong, dtype=object))


def test_masked_values_are_no_values() -> None:
    masked = np.ma.masked_array([1, 2, 3], mask=[False, True, False])
    with pytest.raises(InvalidParameterError, match=r"1 of 3 entries for .* are masked\. Leave .* compressed\(\)"):
        Integers(0, 9).encode(masked)
    assert Integers(0, 9).encode(np.ma.masked_array([1, 2], mask=False)).tolist() == [1, 2]


def test_a_grid_beyond_what_float64_can_count_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"The last row must be below 2\*\*53; got"):
        Grid(2, 2, first_row=2**60)
    assert Grid(2, 2, first_row=2**40).encode([(2**40, 1)]).tolist() == [1]


def test_a_grid_without_holes_may_be_larger_than_any_array() -> None:
    grid = Grid(100_000, 100_000, first_row=5, first_column=-3)
    cells = np.array([[5, -3], [5, -2], [100_004, 99_996], [4, 0], [5, 99_997]])
    assert grid.locate(cells).tolist() == [0, 1, 10**10 - 1, -1, -1]
    assert grid.decode([0, 1, 10**10 - 1]).tolist() == cells[:3].tolist()
    small, holed = Grid(7, 9, first_row=2), Grid(7, 9, first_row=2, holes=[(3, 4)])
    assert small.decode(np.arange(63)).tolist() == [[row, column] for row in range(2, 9) for column in range(9)]
    assert (np.delete(small.decode(np.arange(63)), 13, axis=0) == holed.decode(np.arange(62))).all()
    assert Grid(100_000, 100_000, holes=[(0, 0)]).decode([0]).tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("alphabet", "values", "words", "positions"),
    [
        (
            Integers(0, 99),
            [1, None, 3],
            "1 of 3 values for Integers(0, 99) is missing; first: None at position 1",
            (1,),
        ),
        (Integers(0, 99), np.array([1, "x", 200], dtype=object), "first: 'x' at position 1", (1, 2)),
        (
            Integers(0, 99),
            [1, "x", 3],
            "99); first: 'x' at position 1, which is a text",
            (1,),
        ),
        (Integers(0, 99), ["1", "2"], "first: '1' at position 0, which is a text", (0, 1)),
        (Grid(3, 3), np.array([[0, 1], [None, 2]], dtype=object), "is missing; first: None at position 1", (1,)),
        (
            Categories(["a", "b"]),
            ["a", None],
            "1 of 2 values for Categories(['a', 'b']) is missing; first: None",
            (1,),
        ),
        (Categories(["a", "b"]), ["a", "c"], "first: 'c' at position 1", (1,)),
    ],
    ids=str,
)
def test_the_entry_at_fault_is_named(alphabet: Alphabet, values: Any, words: str, positions: tuple[int, ...]) -> None:
    """One entry of another kind makes objects, or texts, of all the others: these are not at fault."""
    with pytest.raises(ValueOutsideAlphabetError) as refusal:
        alphabet.encode(values)
    assert words in str(refusal.value)
    assert refusal.value.positions == positions


def test_a_whole_number_past_what_floats_hold_lies_outside() -> None:
    with pytest.raises(ValueOutsideAlphabetError, match="1 of 2 values"):
        Integers(0, 9).encode([3, -(10**400)])
