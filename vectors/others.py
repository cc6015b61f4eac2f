"""Makers of the other vectors: permanent noise, texts that are taken, what is refused, canonical JSON."""

from __future__ import annotations

import hashlib
import hmac
import json
import random
import struct
from collections.abc import Iterator
from itertools import count
from typing import Any

import confide as cf
from confide.values.portable import canonical_json, fingerprint_of, read_json
from vectors import refusals, texts
from vectors.drawing import Tape
from vectors.making import some_values, written
from vectors.reading import report_of
from vectors.surveys import MECHANISMS

Json = dict[str, Any]

SECRETS = ("00112233445566778899aabbccddeeff", hashlib.sha256(b"a secret of the vectors").hexdigest())


def permanent_text() -> str:
    groups = []
    for kind, mechanisms in MECHANISMS.items():
        for number, mechanism in enumerate(mechanisms if kind == "two-rounds" else mechanisms[:2]):
            document = json.loads(cf.Survey(mechanism, "value", f"{kind} {number}").to_json())
            reports = [
                permanent(document, value, secret)
                for value in some_values(mechanism.alphabet)[:2]
                for secret in SECRETS
            ]
            groups.append(({"survey": document}, "reports", reports))
    return written("permanent", groups)


def permanent(document: Json, value: Any, secret: str) -> Json:
    """Return one report with permanent noise."""
    fingerprint = document["fingerprint"][:32]
    message = b"confide permanent 1\0" + fingerprint.encode() + b"\0" + canonical_json(value).encode() + b"\0"
    fresh = Tape(f"fresh {secret} {canonical_json(value)}")
    report = report_of(document, value, Tape("", source=blocks(secret, message), other=fresh))
    first = blocks(secret, message)
    shown = bytes(next(first) for _ in range(40)).hex()
    told = {"secret": secret, "value": value, "message": message.hex(), "bytes": shown}
    return told | ({"fresh": fresh.taken.hex()} if fresh.taken else {}) | {"report": report}


def blocks(secret: str, message: bytes) -> Iterator[int]:
    for number in count():
        yield from hmac.new(bytes.fromhex(secret), message + number.to_bytes(8, "little"), "sha256").digest()


def taking_text() -> str:
    return written("taking", [({"alphabet": texts.declared(one)}, "cases", cases) for one, cases in texts.groups()])


def refused_text() -> str:
    return written("refused", [(told, "cases", cases) for told, cases in refusals.groups()])


def canonical_text() -> str:
    return written("canonical", [({"what": "numbers"}, "cases", numbers()), ({"what": "texts"}, "cases", contents())])


SPECIAL = (
    0.0,
    -0.0,
    5e-324,
    1e-7,
    1e-6,
    123e-20,
    0.1,
    1 / 3,
    1.0,
    1e15,
    1e16,
    123456789012345680.0,
    1e20,
    1e21,
    1e22,
    1e23,
    1.7976931348623157e308,
)


def numbers() -> list[Json]:
    """Return doubles by their bits, the highest byte first, and how they are written."""
    draw = random.Random(8785)  # noqa: S311 (no noise)
    near = [draw.uniform(-10, 10) * 10.0 ** draw.randint(-9, 23) for _ in range(120)]
    anything = [struct.unpack(">d", draw.getrandbits(64).to_bytes(8, "big"))[0] for _ in range(120)]
    found = [*SPECIAL, *(-one for one in SPECIAL[2:]), *near, *(one for one in anything if abs(one) < float("inf"))]
    return [{"double": struct.pack(">d", one).hex(), "canonical": canonical_json(one)} for one in found]


JSON_TEXTS = (
    '{"b": 1, "a": 2.0}',
    '{"\\u20ac": 0, "\\r": 0, "\\ufb33": 0, "1": 0, "\\ud83d\\ude00": 0, "\\u0080": 0, "\\u00f6": 0}',
    '[1, 1.0, 10e-1, 1E2, -0.0, 0.5, 1e21, 1e-7, true, false, null, [], {}, ""]',
    '"\\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"\\/\\u007f\\u2028"',
    '{"numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001]}',
    '{ "alphabet" : { "kind" : "integers", "low": 0, "high": 9.0 },\n "mechanism": {"epsilon": 1.0} }',
    '{"values": ["Saint-\\u00c9tienne", "Saint-E\\u0301tienne"]}',
)


def contents() -> list[Json]:
    found = [read_json(text) for text in JSON_TEXTS]
    return [
        {"json": text, "canonical": canonical_json(one), "fingerprint": fingerprint_of(one)}
        for text, one in zip(JSON_TEXTS, found, strict=True)
    ]


OTHERS = {
    "permanent.json": permanent_text,
    "taking.json": taking_text,
    "refused.json": refused_text,
    "canonical.json": canonical_text,
}
"""Files beside those of draws."""
