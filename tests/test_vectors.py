"""The vectors for clients: confide gives every one of them, the maker makes them, and the schema describes them."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cases import each

import confide as cf
from confide.errors import ConfideError, InvalidParameterError
from confide.mechanisms import MECHANISMS as KNOWN
from confide.mechanisms.questionnaires import Questionnaire
from confide.mechanisms.sampling import Bits, Octets
from confide.surveys.survey import tables_of
from confide.values import ALPHABETS, BitVectors
from confide.values.portable import canonical_json, fingerprint_of, read_json
from vectors import texts
from vectors.making import FOLDER, draws_text
from vectors.others import OTHERS
from vectors.surveys import MECHANISMS

FILES = sorted(path for path in FOLDER.rglob("*.json") if path.name not in ("schema.json", "places.json"))
DRAWS = sorted((FOLDER / "draws").glob("*.json"))
SCHEMA = json.loads((FOLDER / "schema.json").read_text(encoding="utf-8"))


class Tape(Bits):
    """Bytes of a vector."""

    def __init__(self, content: bytes) -> None:
        self.rest = content

    def octets(self, count: int) -> Octets:
        assert count <= len(self.rest), "more bytes were drawn than foreseen"
        drawn, self.rest = self.rest[:count], self.rest[count:]
        return np.frombuffer(drawn, dtype=np.uint8)


class Rounds(Bits):
    """Bytes of permanent noise, and those of a vector for the fresh round."""

    def __init__(self, permanent: Bits, fresh: Tape) -> None:
        self.permanent, self.other = permanent, fresh

    @property
    def fresh(self) -> Bits:
        return self.other

    def octets(self, count: int) -> Octets:
        return self.permanent.octets(count)


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def loaded(document: dict[str, Any]) -> cf.Survey:
    """Return a survey; tables that are not this machine's to the last bit are refused."""
    return cf.Survey.from_json(canonical_json(document))


def reported(survey: cf.Survey, value: Any, bits: Bits) -> Any:
    """Return one report as a device sends it."""
    alphabet, mechanism = survey.alphabet, survey.mechanism
    several = np.array([value], dtype=object) if isinstance(alphabet, cf.Attributes) else [value]
    report = mechanism._report(alphabet.encode(several), bits)
    if isinstance(mechanism.report_alphabet, BitVectors):
        return "".join(str(int(bit)) for bit in mechanism.report_alphabet.unpack(report)[0])
    return report[0].tolist()


SLOW = ("truncated-geometric", "laplace", "planar-laplace")


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (path.stem in SLOW)) for path in DRAWS]
)
def test_confide_draws_every_vector(path: Path) -> None:
    for group in read(path)["groups"]:
        survey = loaded(group["survey"])
        for draw in group["draws"]:
            tape = Tape(bytes.fromhex(draw["tape"]))
            assert reported(survey, draw["value"], tape) == draw["report"]
            assert not tape.rest, "all bytes are used"


def test_there_are_enough_of_every_mechanism() -> None:
    counts = {path.stem: sum(len(group["draws"]) for group in read(path)["groups"]) for path in DRAWS}
    by_hand = {kind for kind, one in KNOWN.items() if issubclass(one, Questionnaire)}  # on paper, not on a device
    assert set(counts) == set(KNOWN) - by_hand == set(MECHANISMS)
    assert min(counts.values()) >= 30
    assert sum(counts.values()) >= 2000
    kinds = {group["survey"]["alphabet"]["kind"] for path in DRAWS for group in read(path)["groups"]}
    assert kinds == set(ALPHABETS)
    assert sum(path.stat().st_size for path in FILES) < 4_000_000


def test_ties_were_made_to_happen() -> None:
    steps = [
        step for path in DRAWS for group in read(path)["groups"] for draw in group["draws"] for step in draw["steps"]
    ]
    long = {
        name: sum(len(step.get("words", ())) > 2 for step in steps if step["step"] == name)
        for name in ("outcome", "proposal")
    }
    assert min(long.values()) > 20
    assert sum(len(step["drawn"]) > 2 for step in steps if step["step"] == "whole number") > 20
    assert sum(sum(len(one[1]) == 16 for one in step["more"]) > 2 for step in steps if step["step"] == "coins") > 100
    assert sum(step["passes"] > 1 for step in steps if step["step"] == "geometric") > 20
    assert sum(not step["kept"] for step in steps if step["step"] == "proposal") > 50
    assert sum(step["step"] == "outside" for step in steps) > 20


QUICK = ("matrix", "product", "remapped", "wrapped-geometric", "taxicab")


@pytest.mark.parametrize("kind", QUICK)  # the others are compared by CI: make vectors
def test_the_maker_makes_what_is_written(kind: str) -> None:
    assert draws_text(kind) == (FOLDER / "draws" / f"{kind}.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in OTHERS if name != "permanent.json"])
def test_the_maker_makes_the_other_files(name: str) -> None:
    assert OTHERS[name]() == (FOLDER / name).read_text(encoding="utf-8")


def test_confide_gives_every_report_of_permanent_noise() -> None:
    for group in read(FOLDER / "permanent.json")["groups"]:
        survey = loaded(group["survey"])
        for one in group["reports"]:
            noise = cf.Permanent(bytes.fromhex(one["secret"]), survey.fingerprint)
            assert noise.bits(one["value"]).octets(40).tobytes().hex() == one["bytes"]
            bits = Rounds(noise.bits(one["value"]), Tape(bytes.fromhex(one.get("fresh", ""))))
            assert reported(survey, one["value"], bits) == one["report"]
            assert not bits.other.rest, "all bytes are used"


def test_confide_takes_every_text() -> None:
    groups = list(texts.groups())
    written = read(FOLDER / "taking.json")["groups"]
    assert {group["alphabet"]["kind"] for group in written} == set(ALPHABETS)
    for (alphabet, _), group in zip(groups, written, strict=True):
        assert group["alphabet"] == texts.declared(alphabet)
        for case in group["cases"]:
            if "refused" not in case:
                raw = case["texts"][0] if len(case["texts"]) == 1 else tuple(case["texts"])
                assert _taken(alphabet, raw) == case["value"]
            else:
                with pytest.raises(ConfideError):
                    alphabet.encode(_taken_all(alphabet, case["texts"]))


def _taken(alphabet: cf.Alphabet, raw: Any) -> Any:
    """Return the value that files of values have for texts."""
    value = alphabet.read((raw,) if isinstance(raw, str) else raw)
    return list(value) if isinstance(value, tuple) else value


def _taken_all(alphabet: cf.Alphabet, fields: list[str]) -> Any:
    value = alphabet.read(tuple(fields)) if all(text.strip() for text in fields) else None
    if value is None:
        raise InvalidParameterError("None of the values.")
    return np.array([value], dtype=object) if isinstance(alphabet, cf.Attributes) else [value]


WHATS = ("document", "value", "report", "pin", "secret")
ALL_REFUSED = read(FOLDER / "refused.json")["groups"]
REFUSED = {what: [group for group in ALL_REFUSED if group["what"] == what] for what in WHATS}


@each("case", REFUSED["document"][0]["cases"], ids=lambda case: case["why"])
def test_documents_are_refused(case: dict[str, Any]) -> None:
    if case["refused"] is None:
        assert cf.Survey.from_json(case["document"]).to_json() == case["document"]
        return
    with pytest.raises(ConfideError):
        cf.Survey.from_json(case["document"])


def test_every_reason_is_there() -> None:
    codes = {case["refused"] for groups in REFUSED.values() for group in groups for case in group["cases"]}
    assert codes == {"survey", "fingerprint", "value", "report", "pin", "secret", None}
    assert len(REFUSED["document"][0]["cases"]) > 80


def test_values_are_refused_before_anything_is_drawn() -> None:
    for group in REFUSED["value"]:
        survey = loaded(group["survey"])
        for case in group["cases"]:
            with pytest.raises(ConfideError):
                reported(survey, case["value"], Tape(b""))


def test_reports_are_refused() -> None:
    for group in REFUSED["report"]:
        alphabet = loaded(group["survey"]).mechanism.report_alphabet
        for case in group["cases"]:
            assert not _is_report(alphabet, case["report"]), case
    for path in DRAWS:
        for group in read(path)["groups"][:2]:
            alphabet = loaded(group["survey"]).mechanism.report_alphabet
            assert all(_is_report(alphabet, draw["report"]) for draw in group["draws"])


def _is_report(alphabet: cf.Alphabet, report: Any) -> bool:
    """Whether this is the wire form of a report."""
    if isinstance(alphabet, BitVectors):
        return isinstance(report, str) and len(report) == alphabet.length and set(report) <= {"0", "1"}
    if (len(report) if isinstance(report, list) else 1) != alphabet.parts or isinstance(report, list) != (
        alphabet.parts > 1
    ):
        return False
    array = np.array([report], dtype=object if isinstance(alphabet, cf.Attributes) else None)
    return array.dtype.kind in "iufUO" and bool(alphabet.contains(array)[0])


def test_pins_are_what_the_promises_say() -> None:
    for group in REFUSED["pin"]:
        survey = loaded(group["survey"])
        assert group["survey"]["fingerprint"] == survey.pin
        for case in group["cases"]:
            pin = case["pin"]
            largest = getattr(survey.mechanism.guarantee, "epsilon", None) if not tables_of(survey.mechanism) else None
            if isinstance(survey.mechanism, cf.Product):
                largest = sum(one.guarantee.epsilon for one in survey.mechanism.mechanisms)  # type: ignore[attr-defined]
            is_local = largest is not None and not isinstance(survey.mechanism.guarantee, cf.mechanisms.MetricPrivacy)
            holds = pin["fingerprint"] == survey.pin if "fingerprint" in pin else is_local and largest <= pin["epsilon"]
            if "per" in pin:
                holds = _holds_per(survey.mechanism, pin)
            assert (case["refused"] is None) == holds, case


def _holds_per(mechanism: cf.Mechanism, pin: dict[str, Any]) -> bool:
    """Whether a promise by distance is one that a device can prove to be no more than is pinned."""
    alphabet: Any = mechanism.alphabet
    if isinstance(alphabet, cf.Places | cf.Coordinates | cf.Bins) or tables_of(mechanism):
        return False
    is_stated = not isinstance(alphabet, cf.Dates | cf.Hours | cf.Weekdays)
    is_near = not is_stated or alphabet.spacing <= pin.get("spacing", 1)
    promise: Any = mechanism.guarantee
    return bool(promise.unit == pin["per"] and promise.epsilon <= pin["epsilon"] and is_near)


def test_secrets_are_refused() -> None:
    for case in REFUSED["secret"][0]["cases"]:
        secret = bytes.fromhex(case.get("secret", ""))
        if case["refused"] is None:
            assert cf.Permanent(case.get("text", secret)).secret == secret
        else:
            with pytest.raises(ConfideError):
                cf.Permanent(case.get("text", secret))


def test_canonical_json_is_that_of_the_vectors() -> None:
    numbers, contents = (group["cases"] for group in read(FOLDER / "canonical.json")["groups"])
    assert all(
        canonical_json(struct.unpack(">d", bytes.fromhex(one["double"]))[0]) == one["canonical"] for one in numbers
    )
    for one in contents:
        assert canonical_json(read_json(one["json"])) == one["canonical"]
        assert fingerprint_of(read_json(one["json"])) == one["fingerprint"]


# The schema: as much of JSON Schema as it uses.


def faults(schema: dict[str, Any], thing: Any, place: str = "") -> list[str]:
    """Return where a thing is not as a schema has it."""
    if "$ref" in schema:
        return faults(SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], thing, place)
    found = [f"{place}: {rule}" for rule, check in RULES.items() if rule in schema and not check(schema[rule], thing)]
    if "oneOf" in schema and sum(not faults(one, thing) for one in schema["oneOf"]) != 1:
        found.append(f"{place}: oneOf")
    if isinstance(thing, dict):
        known = schema.get("properties", {})
        found += [
            fault for key, one in known.items() if key in thing for fault in faults(one, thing[key], f"{place}.{key}")
        ]
        if schema.get("additionalProperties") is False:
            found += [f"{place}.{key}" for key in thing if key not in known]
    if isinstance(thing, list):
        first = schema.get("prefixItems", [])
        each = [*first, *[schema.get("items", {})] * (len(thing) - len(first))]
        found += [fault for one, entry in zip(each, thing, strict=False) for fault in faults(one, entry, f"{place}[]")]
    return found


TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def _is_type(name: str, thing: Any) -> bool:
    if name in ("number", "integer"):
        return isinstance(thing, int if name == "integer" else (int, float)) and not isinstance(thing, bool)
    return isinstance(thing, TYPES[name])


RULES: dict[str, Any] = {
    "type": lambda names, thing: any(_is_type(name, thing) for name in ([names] if isinstance(names, str) else names)),
    "const": lambda one, thing: thing == one,
    "enum": lambda known, thing: thing in known,
    "pattern": lambda pattern, thing: not isinstance(thing, str) or re.search(pattern, thing) is not None,
    "required": lambda names, thing: not isinstance(thing, dict) or set(names) <= set(thing),
    "minItems": lambda least, thing: not isinstance(thing, list) or len(thing) >= least,
    "maxItems": lambda most, thing: not isinstance(thing, list) or len(thing) <= most,
}
USED = {*RULES, "$ref", "oneOf", "properties", "additionalProperties", "prefixItems", "items", "description", "title"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_schema_describes_every_file(path: Path) -> None:
    document = read(path)
    chosen = SCHEMA["$defs"][f"{document['vectors']}File"]
    assert faults(chosen, document) == []


def test_the_schema_says_only_what_is_checked_here() -> None:
    def words(schema: Any) -> set[str]:
        if not isinstance(schema, dict):
            return set()
        inner = [*schema.get("properties", {}).values(), *schema.get("oneOf", []), *schema.get("prefixItems", [])]
        return set(schema).union(*map(words, [*inner, schema.get("items")]))

    assert set().union(*(words(one) for one in SCHEMA["$defs"].values())) <= USED


def test_the_schema_refuses_what_is_wrong() -> None:
    draws = read(DRAWS[0])
    chosen = SCHEMA["$defs"]["drawsFile"]
    draws["groups"][0]["draws"][0]["tape"] = "xy"
    draws["groups"][0]["draws"][1]["steps"] = [{"step": "guess"}]
    del draws["groups"][0]["survey"]["mechanism"]
    assert len(faults(chosen, draws)) == 3
