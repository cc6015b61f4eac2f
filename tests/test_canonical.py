"""Canonical JSON is that of RFC 8785, and equal content has equal fingerprints in every way of writing it."""

from __future__ import annotations

import json
import random
import shutil
import struct
import subprocess
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import each
from tests.test_surveys import ALL_SURVEYS, EXAMPLES

import confide as cf
from confide.errors import InvalidParameterError, SurveyError
from confide.values.portable import canonical_json, fingerprint_of, read_json

PUBLISHED = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}
"""The number samples of RFC 8785, appendix B: bits of a double, and its text."""


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


def double(bits: str) -> float:
    found: float = struct.unpack(">d", bytes.fromhex(bits))[0]
    return found


@each("bits", PUBLISHED)
def test_numbers_are_written_as_the_standard_has_them(bits: str) -> None:
    assert canonical_json(double(bits)) == PUBLISHED[bits]


@pytest.mark.parametrize("bits", ["7fffffffffffffff", "7ff0000000000000", "fff0000000000000"])
def test_what_is_no_finite_number_is_refused(bits: str) -> None:
    with pytest.raises(InvalidParameterError, match="finite numbers alone"):
        canonical_json(double(bits))


def test_texts_and_the_order_of_keys() -> None:
    # The example of RFC 8785, section 3.2.3: the smiling face sorts by its surrogates, before the Hebrew letter.
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    written = canonical_json(dict.fromkeys(keys, 0))
    assert written == '{"\\r":0,"1":0,"\u0080":0,"\u00f6":0,"\u20ac":0,"\U0001f600":0,"\ufb33":0}'
    odd = '\u20ac$\u000f\nA\'B"\\\\"/\x7f\u2028'
    assert canonical_json(odd) == '"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/\x7f\u2028"'
    assert canonical_json([True, False, None, (), {}]) == "[true,false,null,[],{}]"


@pytest.mark.parametrize(
    ("content", "words"),
    [("\ud800", "lone surrogate"), ({"\udc00": 1}, "lone surrogate"), ({1: 2}, "key"), ({1}, "JSON has no set")],
)
def test_what_json_cannot_hold_is_refused(content: Any, words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        canonical_json(content)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node, which CI has")
def test_random_doubles_and_texts_are_written_as_node_writes_them() -> None:
    draw = random.Random(17)  # noqa: S311 (no noise)
    bits = [f"{draw.getrandbits(64):016x}" for _ in range(5_000)]
    near = [draw.uniform(-10, 10) * 10.0 ** draw.randint(-9, 23) for _ in range(5_000)]
    bits += [struct.pack(">d", one).hex() for one in near] + list(PUBLISHED)
    bits = [one for one in bits if abs(double(one)) < float("inf")]
    texts = ["".join(chr(draw.randrange(0x250)) for _ in range(9)) for _ in range(500)]
    script = """
        const [bits, texts] = JSON.parse(require("fs").readFileSync(0, "utf8"))
        const view = new DataView(new ArrayBuffer(8))
        const read = (one) => (view.setBigUint64(0, BigInt("0x" + one)), JSON.stringify(view.getFloat64(0)))
        console.log(JSON.stringify([bits.map(read), texts.map((one) => JSON.stringify(one))]))"""
    found = subprocess.run(
        ["node", "-e", script], input=json.dumps([bits, texts]), capture_output=True, text=True, check=True, timeout=60
    )
    assert json.loads(found.stdout) == [[canonical_json(double(one)) for one in bits], list(map(canonical_json, texts))]


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
CONTENTS = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=12)


@given(CONTENTS)
@settings(max_examples=60, deadline=None)
def test_one_text_stands_for_one_content(content: Any) -> None:
    text = canonical_json(content)
    again = read_json(text)
    assert canonical_json(again) == text  # which is canonical already
    assert fingerprint_of(content) == fingerprint_of(read_json(json.dumps(content, indent=2)))


def test_json_is_read_as_javascript_reads_it() -> None:
    assert canonical_json(read_json("[1, 1.0, 10e-1, 1e2, -0.0, 0.5, 9007199254740993]")) == (
        "[1,1,1,100,0,0.5,9007199254740993]"
    )
    assert type(read_json("1e2")) is int


KINDS = {f"{number} {mechanism.kind}": text for number, (text, mechanism) in enumerate(EXAMPLES)} | ALL_SURVEYS


@each("name", KINDS)
def test_toml_and_json_have_one_fingerprint(name: str) -> None:
    survey = cf.parse_survey(KINDS[name])
    again = cf.Survey.from_json(survey.to_json())
    assert again == survey
    assert again.fingerprint == survey.fingerprint == cf.parse_survey(survey.text()).fingerprint
    # A device takes it from the document, whose keys it need not know.
    document = json.loads(survey.to_json())
    content = {
        key: one for key, one in document.items() if key not in ("name", "title", "language", "fingerprint", "tables")
    }
    assert fingerprint_of(content) == survey.fingerprint


def test_equal_contents_alone_have_equal_fingerprints() -> None:
    surveys = [cf.parse_survey(text) for text, _ in EXAMPLES]
    for one, other in combinations(surveys, 2):
        assert (one.fingerprint == other.fingerprint) == (one.mechanism == other.mechanism)


def test_one_and_one_point_nought_are_alike() -> None:
    text = '[alphabet]\nkind = "integers"\nlow = 0\nhigh = 9\nspacing = 2\n[mechanism]\nkind = "laplace"\nepsilon = 1'
    other = text.replace("spacing = 2", "spacing = 2.0").replace("epsilon = 1", "epsilon = 1.0")
    assert cf.parse_survey(text).fingerprint == cf.parse_survey(other).fingerprint
    assert cf.parse_survey(text).fingerprint != cf.parse_survey(text.replace("= 1", "= 1.0000000000000002")).fingerprint


def test_the_order_of_attributes_is_part_of_the_fingerprint() -> None:
    age, sex = cf.TruncatedGeometric(cf.Integers(0, 9), 1.0), cf.RandomizedResponse(cf.Categories(["f", "m"]), 1.0)
    one, other = cf.Survey(cf.Product(age=age, sex=sex)), cf.Survey(cf.Product(sex=sex, age=age))
    assert one.fingerprint != other.fingerprint
    assert cf.Survey.from_json(other.to_json()).alphabet.field_names == ("sex", "age")
    named = cf.Survey(cf.Product(names=age, alphabets=sex))  # as the two lists in JSON are called
    assert cf.Survey.from_json(named.to_json()) == cf.parse_survey(named.text()) == named


@pytest.mark.parametrize(
    "lists", ['"names":["a"]', '"names":["a","a"],"alphabets":[{},{}]', '"names":[1],"alphabets":[{}]']
)
def test_lists_of_attributes_must_fit(lists: str) -> None:
    text = f'{{"alphabet":{{"kind":"attributes",{lists}}},"mechanism":{{"kind":"rappor","epsilon":1}}}}'
    with pytest.raises(SurveyError, match="as many alphabets"):
        cf.Survey.from_json(text)
