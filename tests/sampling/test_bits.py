"""Words come from where they should, whole."""

import os

import numpy as np
import pytest

from confide.mechanisms.sampling import SecureBits, SeededBits, as_bits, as_generator


def test_secure_words_are_the_operating_systems_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", lambda count: bytes(range(count)))
    words = SecureBits().words(2)
    assert words.dtype == np.uint64
    assert words.tobytes() == bytes(range(16))


def test_seeded_words_use_all_64_bits() -> None:
    words = as_bits(1).words(10_000)
    assert words.dtype == np.uint64
    for bit in range(64):
        assert abs(float((words >> np.uint64(bit) & np.uint64(1)).mean()) - 0.5) < 0.03


def test_none_is_secure_and_all_else_is_seeded() -> None:
    assert as_bits(None) == SecureBits()
    assert isinstance(as_bits(7), SeededBits)


def test_a_generator_is_taken_as_it_is() -> None:
    generator = np.random.default_rng(3)
    assert as_generator(generator) is generator


def test_one_word_is_a_plain_integer() -> None:
    assert type(as_bits(7).word()) is int
    assert as_bits(7).word() == int(as_bits(7).words(1)[0])
