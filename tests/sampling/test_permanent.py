"""Permanent noise: known answers, the same report every day, and the mechanism's distribution over people."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from tests.cases import each
from tests.laws.examples import ALL_EXAMPLES, label

import confide as cf
from confide.errors import InvalidParameterError
from confide.mechanisms.audits import chi_square
from confide.mechanisms.sampling import PermanentBits, as_permanents

SECRET = bytes(range(16))
AGES = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), 0.5), "age")

# RFC 4231, test cases 1, 2, 6 and 7: key, data, HMAC-SHA-256.
LONG_KEY = b"\xaa" * 131
RFC_4231 = [
    (b"\x0b" * 20, b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
    (b"Jefe", b"what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
    (
        LONG_KEY,
        b"Test Using Larger Than Block-Size Key - Hash Key First",
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
    ),
    (
        LONG_KEY,
        (
            b"This is a test using a larger than block-size key and a larger than block-size data. The key needs to be "
            b"hashed before being used by the HMAC algorithm."
        ),
        "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
    ),
]


def person(number: int) -> cf.Permanent:
    return cf.Permanent(hashlib.sha256(str(number).encode()).digest())


@pytest.mark.parametrize(("key", "data", "expected"), RFC_4231, ids=["1", "2", "6", "7"])
def test_blocks_are_those_of_rfc_4231(key: bytes, data: bytes, expected: str) -> None:
    bits = PermanentBits(key, data[:-8])
    bits._counter = int.from_bytes(data[-8:], "little")  # the last eight bytes of the data stand where the counter does
    assert bits.octets(32).tobytes().hex() == expected


def hmac_by_hand(key: bytes, data: bytes) -> bytes:
    padded = key.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in padded) + data).digest()
    return hashlib.sha256(bytes(byte ^ 0x5C for byte in padded) + inner).digest()


@pytest.mark.parametrize(
    ("value", "text"), [(30, "30"), ("a\nb", '"a\\nb"'), ([3, "é"], '[3,"é"]'), (0.5, "0.5"), (1.0, "1")]
)
def test_the_tape_is_what_is_specified(value: Any, text: str) -> None:
    bits = cf.Permanent(SECRET, "0123").bits(value)
    whole = b"".join(
        hmac_by_hand(
            SECRET, b"confide permanent 1\x000123\x00" + text.encode() + b"\x00" + number.to_bytes(8, "little")
        )
        for number in range(3)
    )
    taken = [bits.octets(count).tobytes() for count in (1, 0, 40, 31, 2)]
    assert b"".join(taken) == whole[:74]  # no byte is skipped, across blocks


@each("mechanism", [one for one in ALL_EXAMPLES if one.lasting is None][::5], ids=label)
def test_the_same_value_gives_the_same_report_every_day(mechanism: cf.Mechanism) -> None:
    survey = cf.Survey(mechanism)
    numbers = np.random.default_rng(0).integers(0, mechanism.alphabet.size, 6)
    values = mechanism.alphabet.decode(np.tile(numbers, 3))
    reports = survey.privatize(values, rng=cf.Permanent(SECRET), taken=True)
    np.testing.assert_array_equal(reports[:6], reports[6:12])
    np.testing.assert_array_equal(reports[:6], reports[12:])
    one = values[:1]  # alone as among others, in any order
    np.testing.assert_array_equal(survey.privatize(one, rng=cf.Permanent(SECRET), taken=True), reports[:1])
    assert len(survey.privatize([], rng=cf.Permanent(SECRET), taken=True)) == 0
    assert mechanism.report_alphabet.contains(mechanism.report_alphabet.as_array(reports)).all()


def test_people_values_and_surveys_have_noise_of_their_own() -> None:
    other = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 9), 0.5), "age", most_reports=3)
    tapes = {
        noise.bits(value).octets(8).tobytes()
        for noise in (person(1).bound_to(AGES.fingerprint), person(2).bound_to(AGES.fingerprint))
        for value in (3, 4)
    }
    tapes.add(person(1).bound_to(other.fingerprint).bits(3).octets(8).tobytes())
    assert len(tapes) == 5


@pytest.mark.slow
def test_over_people_the_distribution_is_that_of_the_mechanism() -> None:
    people = [person(number) for number in range(6000)]
    counts = np.bincount(AGES.privatize([3] * len(people), rng=people), minlength=10)
    right, wrong = (cf.TruncatedGeometric(cf.Integers(0, 9), one).channel.dense()[3] for one in (0.5, 0.6))
    assert chi_square(counts, right) > 1e-3
    assert chi_square(counts, wrong) < 1e-9


def test_a_year_of_reports_tells_no_more_than_one() -> None:
    ages = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 99), 0.05))
    fresh, permanent = [], []
    for number in range(60):
        fresh.append(np.median(ages.privatize([40] * 365, rng=number)))
        year = ages.privatize([40] * 365, rng=person(number))
        assert len(set(year.tolist())) == 1
        permanent.append(np.median(year))
    assert np.abs(np.array(fresh) - 40).mean() < 2
    assert np.abs(np.array(permanent) - 40).mean() > 10


def test_reports_say_that_their_noise_is_permanent() -> None:
    reports = AGES.privatize([3, 4, 4], rng=cf.Permanent(SECRET))
    counts = cf.tally(reports)
    assert counts.origin == cf.evidence.Origin(permanent=3)
    assert counts.origin.noise is cf.evidence.Noise.PERMANENT
    assert counts.origin.in_short == "permanent"
    assert counts.origin.is_secure
    assert not counts.origin.is_simulated
    assert "the same value always gives the same report" in str(counts.origin)
    mixed = counts.origin + cf.evidence.Origin(secure=2)
    assert mixed.noise is None
    assert mixed.in_short == "partly permanent"
    assert "3 are stated to have permanent noise" in str(mixed)
    assert (mixed + cf.evidence.Origin(unknown=1)).in_short == "partly not known"


@pytest.mark.parametrize("secret", [b"", b"fifteen bytes!!", "short", "0123456789abcdef", "é" * 7, "0" * 31])
def test_short_secrets_are_refused(secret: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"at least 16 bytes|come in pairs"):
        cf.Permanent(secret)


@pytest.mark.parametrize("secret", [7, None, bytearray(16), "\ud800" * 20])
def test_what_is_no_secret_is_refused(secret: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"must be (bytes|valid text)"):
        cf.Permanent(secret)


@pytest.mark.parametrize("secret", [bytes(16), bytes(64), "0" * 32, "\0" * 20])
def test_zeros_are_no_secret(secret: Any) -> None:
    with pytest.raises(InvalidParameterError, match="never filled"):
        cf.Permanent(secret)


@pytest.mark.parametrize("text", ["00112233445566778899aabbccddeeff", "sixteen letters and more"])
def test_one_line_end_does_not_belong_to_a_text(text: str) -> None:
    """A secret is the same from its file as from its text, in every language (docs/device.md)."""
    plain = cf.Permanent(text)
    assert cf.Permanent(f"{text}\n") == cf.Permanent(f"{text}\r\n") == plain
    assert cf.Permanent("sixteen letters.\n\n").secret == b"sixteen letters.\n"
    assert cf.Permanent(b"sixteen letters.\n").secret == b"sixteen letters.\n"  # bytes are taken as they are


def test_hexadecimal_digits_stand_for_their_bytes() -> None:
    assert cf.Permanent(SECRET.hex()) == cf.Permanent(SECRET.hex().upper()) == cf.Permanent(SECRET)
    assert cf.Permanent("sixteen letters.").secret == b"sixteen letters."


def test_no_text_of_it_shows_the_secret() -> None:
    noise = cf.Permanent("a secret of someone").bound_to("abc")
    assert "someone" not in f"{noise} {noise!r} {as_permanents(noise)}"
    with pytest.raises(InvalidParameterError) as refused:
        AGES.mechanism.simulate_counts([1] * 10, rng=noise)
    assert "someone" not in str(refused.value)


def test_unbound_noise_is_refused_with_the_cure() -> None:
    with pytest.raises(InvalidParameterError, match=r"survey\.privatize\(values, rng=Permanent\(secret\)\)"):
        AGES.mechanism.privatize([3], rng=cf.Permanent(SECRET))
    with pytest.raises(InvalidParameterError, match="bound to the survey another"):
        AGES.privatize([3], rng=cf.Permanent(SECRET, "another"))


def test_many_people_need_a_secret_each() -> None:
    with pytest.raises(InvalidParameterError, match="3 are needed; got 2"):
        AGES.privatize([3, 4, 5], rng=[person(1), person(2)])
    with pytest.raises(InvalidParameterError, match="rng must be"):
        AGES.privatize([3, 4], rng=[person(1), "another"])
