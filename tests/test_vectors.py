"""The vectors for clients: confide gives every one of them, the maker makes them, and the schema describes them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.canonical import canonical_json
from confide.declarations import inner_mechanisms
from confide.mechanisms import MECHANISMS as KNOWN
from confide.sampling import Bits
from confide.sampling.bits import Octets
from vectors.making import FOLDER, draws_text
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


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def loaded(document: dict[str, Any]) -> cf.Survey:
    """Return a survey with the document's own tables: those of this processor may differ in their last place."""
    survey = cf.Survey.from_json(canonical_json(document))
    _use_tables(survey.mechanism, "mechanism", document.get("tables", {}))
    return survey


def _use_tables(mechanism: cf.Mechanism, place: str, tables: dict[str, Any]) -> None:
    for name, attribute in (("quadrant", "_quadrant"), ("nearest", "_remap")):
        if name in tables.get(place, {}):
            vars(mechanism)[attribute] = np.array(tables[place][name])
    for name, inner in inner_mechanisms(mechanism).items():
        _use_tables(inner, f"{place}.{name}", tables)


def reported(survey: cf.Survey, value: Any, bits: Bits) -> Any:
    """Return one report as a device sends it."""
    alphabet, mechanism = survey.alphabet, survey.mechanism
    several = np.array([value], dtype=object) if isinstance(alphabet, cf.Attributes) else [value]
    report = mechanism._report(alphabet.encode(several), bits)
    if mechanism.facts.bits is not None:
        return "".join(str(int(bit)) for bit in mechanism.report_alphabet.unpack(report)[0])  # type: ignore[attr-defined]
    return report[0].tolist()


@pytest.mark.parametrize("path", DRAWS, ids=lambda path: path.stem)
def test_confide_draws_every_vector(path: Path) -> None:
    for group in read(path)["groups"]:
        survey = loaded(group["survey"])
        for draw in group["draws"]:
            tape = Tape(bytes.fromhex(draw["tape"]))
            assert reported(survey, draw["value"], tape) == draw["report"]
            assert not tape.rest, "all bytes are used"


def test_there_are_enough_of_every_mechanism() -> None:
    counts = {path.stem: sum(len(group["draws"]) for group in read(path)["groups"]) for path in DRAWS}
    assert set(counts) == set(KNOWN) == set(MECHANISMS)
    assert min(counts.values()) >= 30
    assert sum(counts.values()) >= 2000
    kinds = {group["survey"]["alphabet"]["kind"] for path in DRAWS for group in read(path)["groups"]}
    assert kinds == {*cf.surveys.ALPHABETS}  # type: ignore[attr-defined]
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


QUICK = ("matrix", "product", "remapped", "randomized-response", "wrapped-geometric", "taxicab")


@pytest.mark.parametrize(
    "kind", [kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.slow) for kind in MECHANISMS]
)
def test_the_maker_makes_what_is_written(kind: str) -> None:
    assert draws_text(kind) == (FOLDER / "draws" / f"{kind}.json").read_text(encoding="utf-8")


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
