"""What must be refused: documents, values, reports, pins and secrets, each with a code and in words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import confide as cf
from confide.values.portable import canonical_json, fingerprint_of
from vectors import surveys

Json = dict[str, Any]

LINE = cf.Survey(cf.TruncatedGeometric(surveys.AGES, 0.2), "age", "Ages", most_reports=30)
WORDS = cf.Survey(cf.RandomizedResponse(surveys.ANSWERS, 1.0), "city", "Cities")
BINS = cf.Survey(cf.TruncatedGeometric(surveys.UNEVEN, 0.05), "salary", "Salaries")
CELLS = cf.Survey(cf.TruncatedPlanarLaplace(surveys.HOLED, 0.7), "home", "Homes")
PAIR = cf.Survey(
    cf.Product(sex=cf.RandomizedResponse(surveys.TWO, 1.0), hour=cf.RandomizedResponse(surveys.HOURS, 0.5)), "person"
)
BITS = cf.Survey(cf.Rappor(surveys.WORDS, 1.0), "answer")
ENDLESS = cf.Survey(cf.Laplace(surveys.ALL, 0.3), "steps")
PLANE = cf.Survey(cf.PlanarLaplace(surveys.LATTICE, 0.7), "place")
MATRIX = cf.Survey(cf.FromMatrix(cf.Integers(1, 2), [[0.75, 0.25], [0.25, 0.75]]), "coin")
HOURS = cf.Survey(cf.WrappedGeometric(surveys.HOURS, 0.5), "hour")
WHOLE = cf.Survey(cf.Geometric(surveys.ALL, 0.3), "steps")
REMAPPED = cf.Survey(cf.Remapped(cf.RandomizedResponse(surveys.NUMBERS, 1.0), cf.Integers(10, 12), (2, 0, 1)), "answer")

HADAMARD = cf.Survey(cf.HadamardResponse(surveys.MANY, 2.0), "word")
GEOMETRY = cf.Survey(cf.ProjectiveGeometryResponse(surveys.MANY, 2.0, order=5), "word")
DISC = cf.Survey(cf.PlanarSquareWave(surveys.HOLED, 1.0), "home")
PREFERRED = cf.Survey(cf.BlahutArimoto(surveys.AGES, 0.2), "age")
HOMES = cf.Survey(cf.TruncatedTaxicab(surveys.PLACES, 0.5), "home")
POINTS = cf.Survey(cf.PlanarLaplace(surveys.COORDINATES, 0.5), "home")
SALARIES = cf.Survey(cf.TruncatedGeometric(surveys.UNEVEN, 0.05), "salary")
SPACED = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9, spacing=2.0, unit="year"), 0.2), "age")
TOTAL = cf.Survey(LINE.mechanism, "age", most_epsilon=1.5, is_permanent=True)
TOWNS = cf.Survey(LINE.mechanism, "age", groups={"town": ("Oslo", "Bern")})

ABSENT = object()


def groups() -> Iterator[tuple[Json, list[Json]]]:
    """Yield what is common to some cases, and them."""
    yield {"what": "document"}, list(documents())
    for survey, values in VALUES:
        told = {"what": "value", "survey": json.loads(survey.to_json())}
        yield told, [{"value": value, "refused": "value", "why": why} for value, why in values]
    for survey, reports in REPORTS:
        told = {"what": "report", "survey": json.loads(survey.to_json())}
        yield told, [{"report": report, "refused": "report", "why": why} for report, why in reports]
    for survey, pins in PINS:
        told = {"what": "pin", "survey": json.loads(survey.to_json())}
        yield told, [{"pin": pin, "refused": None if is_kept else "pin", "why": why} for pin, is_kept, why in pins]
    short = [
        {"secret": "5a" * size, "refused": "secret", "why": f"{size} bytes, of 16 at least"} for size in (0, 8, 15)
    ]
    zeros = [{"secret": "00" * size, "refused": "secret", "why": "zeros: it was never filled"} for size in (16, 32)]
    enough = {"secret": "00" * 15 + "01", "refused": None, "why": "16 bytes are enough"}
    yield {"what": "secret"}, [*short, *zeros, enough, *TEXTS]


def _text(text: str, secret: str | None, why: str) -> Json:
    """Return a secret that is a text: the bytes that it stands for, or none."""
    stands_for = {} if secret is None else {"secret": secret}
    return {"text": text, **stands_for, "refused": "secret" if secret is None else None, "why": why}


HEX = "00112233445566778899aabbccddeeff"
TEXTS = [
    _text(HEX, HEX, "hexadecimal digits stand for their bytes"),
    _text(HEX.upper(), HEX, "in capitals too"),
    _text(f"{HEX}\n", HEX, "a line end behind it is left out"),
    _text(f"{HEX}\r\n", HEX, "also of two characters"),
    _text(f"{HEX}\r", HEX, "or the other one"),
    _text(f"{HEX}\n\n", f"{HEX}\n".encode().hex(), "one line end alone: the other one makes it no digits"),
    _text(f"\n{HEX}", f"\n{HEX}".encode().hex(), "a line end before it belongs to it"),
    _text(f"{HEX} ", f"{HEX} ".encode().hex(), "so does a blank"),
    _text(f"0x{HEX}", f"0x{HEX}".encode().hex(), "an x is no digit"),
    _text("\u00e9" * 8, "c3a9" * 8, "any other text stands for its UTF-8: 16 bytes"),
    _text("\u0661" * 32, "d9a1" * 32, "digits of another script are no hexadecimal digits"),
    _text(f"{HEX}a", None, "an odd number of hexadecimal digits"),
    _text(HEX[:30], None, "30 hexadecimal digits, which are 15 bytes, and not a text of 30"),
    _text("0" * 32, None, "16 zeros"),
    _text("fifteen letters", None, "15 bytes"),
    _text("\n", None, "a line end alone"),
    _text("\ud800" * 16, None, "half a character has no UTF-8"),
]


def case(document: str, code: str, why: str) -> Json:
    return {"document": document, "refused": code, "why": why}


def documents() -> Iterator[Json]:
    """Yield texts in place of a document."""
    text = LINE.to_json()
    yield case(text[:-1], "survey", "the text ends too early")
    yield case("", "survey", "nothing")
    yield case(f"[{text}]", "survey", "a list")
    yield case('"survey"', "survey", "a text")
    yield case("null", "survey", "nothing as JSON")
    yield case(text.replace('"high":67', '"high":67,"high":67'), "survey", "a key stands twice")
    yield case(text.replace('"epsilon":0.2', '"epsilon":NaN'), "survey", "NaN is no JSON")
    yield case(text.replace('"epsilon":0.2', '"epsilon":1e999'), "survey", "a number past all doubles")
    yield case(text.replace('"title":"Ages"', '"title":"\\ud800"'), "survey", "half a character")
    yield case("[" * 5000 + "]" * 5000, "survey", "nested deeper than any survey")
    yield case(
        text.replace('"title"', '"tables":{},"title"'), "fingerprint", "empty tables under a fingerprint without"
    )
    for survey in (LINE, WORDS, BINS, CELLS, PAIR, MATRIX):
        yield from changed(survey)
    for survey, change, why in MEANINGLESS:
        yield case(restated(survey, change), "survey", why)
    for survey, why in SOUND:
        yield {"document": survey.to_json(), "refused": None, "why": why}


def changed(survey: cf.Survey) -> Iterator[Json]:
    """Yield a document with each of its parts changed, under the fingerprint that it had."""
    document: Json = json.loads(survey.to_json())
    for part in ("alphabet", "mechanism", "limits", "shape", "tables"):
        if part in document:
            yield case(canonical_json(document | {part: _nudged(document[part])}), "fingerprint", f"{part} was changed")
    wrong = (
        "0" + document["fingerprint"][1:] if document["fingerprint"][0] != "0" else "1" + document["fingerprint"][1:]
    )
    yield case(canonical_json(document | {"fingerprint": wrong}), "fingerprint", "the fingerprint was changed")
    yield case(canonical_json(document | {"fingerprint": document["fingerprint"][:31]}), "fingerprint", "it was cut")
    without = {key: one for key, one in document.items() if key != "fingerprint"}
    yield case(canonical_json(without), "survey", "there is no fingerprint")
    for other in (None, 7, [document["fingerprint"]]):
        yield case(canonical_json(document | {"fingerprint": other}), "survey", "the fingerprint is no text")
    if "tables" in document:
        cut = {key: one for key, one in document.items() if key != "tables"}
        yield case(canonical_json(cut), "fingerprint", "the tables were taken out")
        yield case(
            canonical_json(cut | {"fingerprint": document["fingerprint"][:32]}),
            "survey",
            "it needs tables and has none",
        )


def _nudged(thing: Any) -> Any:
    """Return a thing of which the first number or text is another one."""
    if isinstance(thing, dict):
        key = next(key for key in thing if key != "kind")
        return thing | {key: _nudged(thing[key])}
    if isinstance(thing, list):
        return [_nudged(thing[0]), *thing[1:]]
    return thing + 1 if isinstance(thing, int | float) and not isinstance(thing, bool) else f"{thing}x"


def restated(survey: cf.Survey, change: Callable[[Json], None]) -> str:
    """Return a document that was changed by somebody who took its fingerprint anew."""
    document: Json = json.loads(survey.to_json())
    change(document)
    content = {
        key: one for key, one in document.items() if key not in ("name", "title", "language", "tables", "fingerprint")
    }
    document["fingerprint"] = fingerprint_of(content)
    if "tables" in document:
        document["fingerprint"] += f"-{fingerprint_of(document['tables'])}"
    return canonical_json(document)


def put(*path: Any, to: Any = ABSENT) -> Callable[[Json], None]:
    """Return a change of one entry, or its removal."""

    def change(document: Json) -> None:
        place: Any = document
        for key in path[:-1]:
            place = place[key]
        if to is ABSENT:
            del place[path[-1]]
        else:
            place[path[-1]] = to

    return change


A, M = "alphabet", "mechanism"

MEANINGLESS: list[tuple[cf.Survey, Callable[[Json], None], str]] = [
    (LINE, put("version", to=2), "an unknown key"),
    (LINE, put(A), "no alphabet"),
    (LINE, put(M), "no mechanism"),
    (LINE, put(A, to="integers"), "an alphabet that is no object"),
    (LINE, put(A, "kind"), "an alphabet without a kind"),
    (LINE, put(A, "kind", to="reals"), "an unknown kind of alphabet"),
    (LINE, put(A, "width", to=2), "an unknown key of the alphabet"),
    (LINE, put(A, "low"), "one end alone"),
    (LINE, put(A, "low", to=68), "an alphabet that ends before it begins"),
    (LINE, put(A, "low", to=17.5), "an end that is not whole"),
    (LINE, put(A, "high", to=9007199254740994), "an end past 2^53"),
    (LINE, put(A, to={"kind": "integers", "low": 0, "high": 2**53 - 1}), "2^53 values, one too many"),
    (LINE, put(A, "spacing", to=0), "no distance between neighbours"),
    (LINE, put(A, "spacing", to=-1), "a negative distance"),
    (LINE, put(A, "unit", to=3), "a unit that is no text"),
    (LINE, put(M, "kind", to="laplac"), "an unknown mechanism"),
    (LINE, put(M, "kind", to=["laplace"]), "a kind that is no text"),
    (LINE, put(M, "epsilon"), "no epsilon"),
    (LINE, put(M, "epsilon", to=0), "an epsilon of 0"),
    (LINE, put(M, "epsilon", to=-1), "a negative epsilon"),
    (LINE, put(M, "epsilon", to=101), "an epsilon that protects nobody"),
    (LINE, put(M, "epsilon", to=1e-12), "an epsilon too small to be exact"),
    (LINE, put(M, "epsilon", to="0.2"), "an epsilon that is a text"),
    (LINE, put(M, "epsilon", to=True), "an epsilon that is true"),
    (LINE, put(M, "epsilon", to=[0.2]), "an epsilon that is a list"),
    (LINE, put(M, "delta", to=0.1), "an unknown setting of the mechanism"),
    (LINE, put(M, "outputs", to={"kind": "integers", "low": 100, "high": 110}), "outputs that miss the alphabet"),
    (DISC, put(M, "radius", to=-1), "a negative radius"),
    (DISC, put(M, "radius", to=5), "a radius as long as the grid"),
    (DISC, put(M, "radius", to="1"), "a radius that is a text"),
    (PREFERRED, put(M, "reported", to=[1] * 49), "a value without a preference"),
    (PREFERRED, put(M, "reported", to=[0] * 50), "no report is preferred"),
    (PREFERRED, put(M, "reported", to=[0.5] * 50), "a preference that is not whole"),
    (PREFERRED, put(M, "reported", to=[-1] * 50), "a negative preference"),
    (PREFERRED, put(M, "prior", to=[1] * 49), "a prior that leaves a value out"),
    (WORDS, put(M, "kind", to="one-bit-mean"), "words have no mean"),
    (LINE, put("limits", "reports", to=0), "a limit of no report at all"),
    (LINE, put("limits", "reports", to=1.5), "a limit that is not whole"),
    (LINE, put("limits", "days", to=3), "an unknown limit"),
    (LINE, put("limits", to={}), "limits that limit nothing"),
    (LINE, put("limits", to=None), "limits that are null"),
    (LINE, put("limits", "noise", to="fresh"), "fresh noise is not said: it is what is without"),
    (LINE, put("limits", "noise", to="loud"), "an unknown noise"),
    (LINE, put("limits", "noise", to=""), "a noise without a name"),
    (LINE, put("limits", "epsilon", to=0), "a total of nothing"),
    (LINE, put("limits", "epsilon", to=0.19), "a total that does not allow one report"),
    (LINE, put("limits", "epsilon", to="1.5"), "a total that is a text"),
    (PAIR, put("limits", to={"epsilon": 9}), "a total of two promises, which have no one epsilon"),
    (LINE, put("groups", to={}), "groups without a name"),
    (LINE, put("groups", to=["town"]), "groups that are a list"),
    (LINE, put("groups", to={"town": ["Oslo"]}), "a group of one value"),
    (LINE, put("groups", to={"town": ["Oslo", "Oslo"]}), "a group's value that stands twice"),
    (LINE, put("groups", to={"town": ["Oslo", ""]}), "a group's value that is empty"),
    (LINE, put("groups", to={"town": ["Oslo", 3]}), "a group's value that is a number"),
    (LINE, put("groups", to={"day": ["Mon", "Tue"]}), "a group called day"),
    (LINE, put("groups", to={" ": ["a", "b"]}), "a group without a name"),
    (WORDS, put(A, "values", to=[]), "no values"),
    (WORDS, put(A, "values", to=["Paris", "Paris", "elsewhere"]), "a value that stands twice"),
    (WORDS, put(A, "values", to=["Paris", "", "elsewhere"]), "a value that is empty"),
    (WORDS, put(A, "values", to=["Paris", 3, "elsewhere"]), "texts and numbers"),
    (WORDS, put(A, "other", to="Nice"), "other is none of the values"),
    (WORDS, put(A, "fold", to=1), "fold is neither true nor false"),
    (WORDS, put(A, "aliases", "Lyon", to=["lutetia"]), "a name of two values"),
    (WORDS, put(A, "aliases", "Nice", to=["Nizza"]), "other names of no value"),
    (WORDS, put(M, "kind", to="geometric"), "noise on words"),
    (BINS, put(A, "edges", to=[0, 10, 10, 50]), "edges that do not rise"),
    (BINS, put(A, "edges", to=[0]), "one edge"),
    (BINS, put(A, "edges", to=3), "edges that are no list"),
    (BINS, put(A, "edges", to=["0", "10"]), "edges that are texts"),
    (BITS, put(A, to={"kind": "integers", "low": 0, "high": 2**20}), "reports of more than 2^20 bits"),
    (HADAMARD, put(M, "blocks", to=3), "blocks that are no power of two"),
    (HADAMARD, put(M, "blocks", to=256), "more blocks than there can be"),
    (HADAMARD, put(A, to={"kind": "integers", "low": 0, "high": 2**28}), "more than 2^28 values"),
    (GEOMETRY, put(M, "order", to=4), "an order that is no prime"),
    (GEOMETRY, put(M, "order", to=2**53 - 111), "an order past all geometries"),
    (GEOMETRY, put(M, "recurrence", to=[]), "no recurrence"),
    (GEOMETRY, put(M, "recurrence", to=[2, 1]), "a geometry of fewer points than values"),
    (GEOMETRY, put(M, "recurrence", to=[2] * 10), "a geometry of more than 2^20 points"),
    (GEOMETRY, put(M, "recurrence", 0, to=5), "a number of the recurrence that is not below the order"),
    (GEOMETRY, put(M, "recurrence", 0, to=-1), "a negative number of the recurrence"),
    (GEOMETRY, put(M, "recurrence", 0, to=0), "a recurrence that begins with nothing"),
    (GEOMETRY, put(M, "recurrence", to=[1, 0, 0, 0]), "a recurrence that misses points"),
    (CELLS, put(A, "rows", to=0), "no rows"),
    (CELLS, put(A, "holes", to=[[9, 9]]), "a hole outside"),
    (CELLS, put("tables", "mechanism", "quadrant"), "a table is missing"),
    (CELLS, put("tables", "mechanism", "quadrant", 0), "a table of another size"),
    (CELLS, put("tables", "mechanism", "rows", to=[[1]]), "a table too many"),
    (CELLS, put("tables", "mechanism.home", to={"nearest": [0]}), "a table of no mechanism"),
    (CELLS, put("tables", "mechanism", "nearest", 0, to=99), "a nearest output that is none"),
    (CELLS, put("tables", "mechanism", "quadrant", 0, 0, to=-1), "a negative weight"),
    (PAIR, put(A, "names", to=["sex"]), "fewer names than alphabets"),
    (PAIR, put(A, "names", to=["sex", "sex"]), "a name that stands twice"),
    (PAIR, put(M, "hour"), "an attribute without a mechanism"),
    (PAIR, put(M, "age", to={"kind": "rappor", "epsilon": 1}), "a mechanism of no attribute"),
    (MATRIX, put(M, "matrix", to=[[0.5, 0.5]]), "fewer rows than values"),
    (MATRIX, put(M, "matrix", to=[[0.5, 0.6], [0.5, 0.5]]), "a row that does not sum to one"),
    (MATRIX, put(M, "matrix", to=[[1.5, -0.5], [0.5, 0.5]]), "a negative probability"),
    (MATRIX, put(M, "matrix", to=[[1], [0.5, 0.5]]), "rows of two lengths"),
    (REMAPPED, put(M, "mapping", to=[2, 0]), "a mapping of fewer reports than there are"),
    (REMAPPED, put(M, "mapping", to=[10, 11, 12]), "a mapping to values in place of their numbers"),
    (REMAPPED, put(M, "mapping", to=[2, 0, -1]), "a mapping to no number of an output"),
    (REMAPPED, put(M, "mapping", to=[2, 0, 0.5]), "a mapping to half a number"),
    (REMAPPED, put(M, "mapping"), "no mapping, and no output is nearest to a category"),
    (HOURS, put(M, "kind", to="truncated-geometric"), "noise of a line on a circle"),
    (LINE, put(M, "kind", to="wrapped-geometric"), "noise of a circle on a line"),
]
"""Documents that keep their own fingerprint and mean nothing."""

SOUND: list[tuple[cf.Survey, str]] = [
    (TOTAL, "a total epsilon, and permanent noise"),
    (cf.Survey(LINE.mechanism, most_reports=7, most_epsilon=0.2), "a total of just one report"),
    (cf.Survey(PAIR.mechanism, "person", most_reports=2), "reports of several attributes are limited by their number"),
    (cf.Survey(PAIR.mechanism, "person", is_permanent=True), "permanent noise of several attributes"),
    (TOWNS, "groups"),
    (HOMES, "places without a pin"),
]
"""Documents with what a survey may say besides, which are taken."""

VALUES: list[tuple[cf.Survey, list[tuple[Any, str]]]] = [
    (LINE, [(17, "below"), (68, "above"), (30.5, "not whole"), ("30", "a text"), ([30], "a list"), (None, "nothing")]),
    (
        WORDS,
        [("paris", "another case: a value is what was taken"), ("Nice", "not listed"), (0, "a number"), ("", "empty")],
    ),
    (BINS, [(-1, "below"), (6, "above: there are six bins"), (0.5, "not whole"), ("0", "a text")]),
    (
        CELLS,
        [
            ([0, 0], "a hole"),
            ([4, 0], "outside"),
            ([1], "one part"),
            ([1, 2, 3], "three parts"),
            ([1.5, 2], "half a row"),
        ],
    ),
    (
        PAIR,
        [(["f"], "one part"), (["x", 3], "no such sex"), (["f", 24], "no such hour"), ([3, "f"], "in another order")],
    ),
    (ENDLESS, [(0.5, "not whole"), (2**36, "too far for a report"), ("x", "a text")]),
    (WHOLE, [(2**53, "past 2^53 - 1"), (-(2**53), "past it the other way")]),
    (HOURS, [(24, "past the last"), (-1, "before the first"), ("22:15", "a text: a value is what was taken")]),
]

REPORTS: list[tuple[cf.Survey, list[tuple[Any, str]]]] = [
    (LINE, [(17, "below"), (68, "above"), (30.5, "not whole"), ("x", "a text"), ([30], "a list"), (None, "nothing")]),
    (WORDS, [("paris", "letter by letter"), ("Lutetia", "another name"), (0, "a number")]),
    (
        BITS,
        [
            ("0101", "too short"),
            ("010101", "too long"),
            ("01012", "no bit"),
            (5, "a number"),
            ([0, 1, 0, 1, 0], "a list"),
        ],
    ),
    (ENDLESS, [(0.1, "no multiple of 2^-16"), ("x", "a text"), (None, "nothing")]),
    (PLANE, [([0.1, 0], "no multiple of 2^-12"), ([1], "one part"), (3, "a number")]),
    (CELLS, [([0, 0], "a hole"), ([9, 0], "outside"), ([1, 2, 3], "three parts")]),
    (PAIR, [(["f"], "one part"), (["f", 24], "no such hour"), (["x", 3], "no such sex")]),
]


def _pins(survey: cf.Survey) -> list[tuple[Json, bool, str]]:
    other = "0" * 32
    return [
        ({"fingerprint": survey.pin}, True, "the whole fingerprint"),
        ({"fingerprint": other}, False, "another fingerprint"),
        ({"fingerprint": survey.pin[:31]}, False, "a part of it"),
        ({"fingerprint": survey.pin.upper()}, False, "in capitals")
        if survey.pin.upper() != survey.pin
        else ({"fingerprint": ""}, False, "an empty one"),
    ]


PINS: list[tuple[cf.Survey, list[tuple[Json, bool, str]]]] = [
    (
        WORDS,
        [
            *_pins(WORDS),
            ({"epsilon": 1}, True, "just as much"),
            ({"epsilon": 2}, True, "more than it asks for"),
            ({"epsilon": 0.99}, False, "it asks for more"),
        ],
    ),
    (BITS, [*_pins(BITS), ({"epsilon": 1}, True, "just as much"), ({"epsilon": 0.5}, False, "it asks for more")]),
    (
        PAIR,
        [
            *_pins(PAIR),
            ({"epsilon": 1.5}, True, "the sum of both"),
            ({"epsilon": 1}, False, "both together ask for more"),
        ],
    ),
    (MATRIX, [*_pins(MATRIX), ({"epsilon": 1.2}, True, "log 3 is 1.0986"), ({"epsilon": 1}, False, "log 3 is more")]),
    (
        LINE,
        [
            *_pins(LINE),
            ({"epsilon": 0.2}, False, "it promises by distance: 49 years are 9.8"),
            ({"epsilon": 0.2, "per": "year"}, True, "just as much per year"),
            ({"epsilon": 0.19, "per": "year"}, False, "it asks for more per year"),
            ({"epsilon": 0.2, "per": "month"}, False, "in another unit"),
        ],
    ),
    (
        SPACED,
        [
            ({"epsilon": 0.2, "per": "year"}, False, "neighbours count as two years apart, by its own word"),
            ({"epsilon": 0.2, "per": "year", "spacing": 1.5}, False, "and no more than 1.5 is pinned"),
            ({"epsilon": 0.2, "per": "year", "spacing": 2}, True, "as far apart as is pinned"),
        ],
    ),
    (
        SALARIES,
        [({"epsilon": 0.05, "per": SALARIES.alphabet.unit}, False, "two people beside an edge count as a bin apart")],
    ),
    (
        HOMES,
        [
            *_pins(HOMES),
            ({"epsilon": 0.5, "per": "km"}, False, "how far apart places lie is not proven by a device"),
            ({"epsilon": 100, "per": "km", "spacing": 100}, False, "nor with a spacing"),
        ],
    ),
    (
        POINTS,
        [
            *_pins(POINTS),
            ({"epsilon": 0.5, "per": "km"}, False, "how long a degree is is not proven by a device"),
            ({"epsilon": 100, "per": "km", "spacing": 100}, False, "nor with a spacing"),
        ],
    ),
    (
        CELLS,
        [
            *_pins(CELLS),
            ({"fingerprint": CELLS.fingerprint}, False, "the tables are not pinned, and they are the promise"),
            ({"epsilon": 100}, False, "no promise can be read off a table"),
        ],
    ),
]
