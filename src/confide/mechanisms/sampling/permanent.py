"""Permanent noise: random bytes that a person's secret, the survey and the value determine, so that they never change.

Whoever reports the same value again sends the same report again, and the average of a year of reports tells no more
than one. Nothing is stored for it but the secret. What goes into the bytes is specified (docs/device.md).
"""

from __future__ import annotations

import hmac
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.errors import InvalidParameterError
from confide.mechanisms.sampling.bits import Bits, Octets, SecureBits
from confide.values.canonical import canonical_json
from confide.values.wording import counted

LEAST_SECRET = 16
"""Bytes of a secret at least: 128 bits, which nobody can try out."""

NEW_SECRET = "python -c 'import secrets; print(secrets.token_hex(32))'"  # noqa: S105 (a command that makes one)


@dataclass(frozen=True, repr=False, init=False)
class Permanent:
    """Noise from a secret of one person, in place of ``rng=``: the same report for the same value, every time.

    Each person needs a secret of their own: 16 random bytes or more, or a text of them, that never leaves the device.
    With ``survey.privatize`` it is bound to the survey, so that two surveys have independent noise.

    >>> from confide import Categories, RandomizedResponse, Survey
    >>> survey = Survey(RandomizedResponse(Categories(["yes", "no"]), 1.0))
    >>> noise = Permanent("0123456789abcdef" * 2)
    >>> {survey.privatize("yes", rng=noise) for day in range(365)}
    {'yes'}

    Attributes
    ----------
    secret
        Bytes, or a text: hexadecimal digits stand for their bytes, any other text for its UTF-8. One line end behind a
        text, as files have it, does not belong to it. It is never shown.
    fingerprint
        The survey's, once the noise is bound to one.
    """

    secret: bytes
    fingerprint: str

    def __init__(self, secret: bytes | str, fingerprint: str = "") -> None:
        content = _from_text(secret) if isinstance(secret, str) else secret
        if not isinstance(content, bytes):
            raise InvalidParameterError(f"A secret must be bytes or a text; got {type(secret).__name__}.")
        if len(content) < LEAST_SECRET:
            raise InvalidParameterError(
                f"A secret needs at least {LEAST_SECRET} bytes, or 32 hexadecimal digits; got "
                f"{counted(len(content), 'byte')}. Make one with: {NEW_SECRET}"
            )
        if not any(content):
            raise InvalidParameterError(
                f"A secret of zeros is one that was never filled, and everybody knows it. Make one with: {NEW_SECRET}"
            )
        object.__setattr__(self, "secret", content)
        object.__setattr__(self, "fingerprint", fingerprint)

    def bound_to(self, fingerprint: str) -> Permanent:
        """Return the same noise, bound to the survey with this fingerprint."""
        if self.fingerprint not in ("", fingerprint):
            raise InvalidParameterError(
                f"This noise is bound to the survey {self.fingerprint}, and this one is {fingerprint}. Give "
                f"Permanent(secret), which is bound to none yet."
            )
        return Permanent(self.secret, fingerprint)

    def bits(self, value: Any) -> PermanentBits:
        """Return the random bytes of a value, as a list or a plain number or text has it, from their beginning.

        >>> Permanent(b"sixteen bytes!!!", "survey").bits(30).octets(4).tolist()
        [80, 43, 98, 73]
        """
        if not self.fingerprint:
            raise InvalidParameterError(
                "Permanent noise must be bound to a survey, so that two surveys never share it. Call "
                "survey.privatize(values, rng=Permanent(secret)) in place of mechanism.privatize."
            )
        # b"confide permanent 1": first part of what is digested: no other use of the same secret can give the same
        # bytes.
        parts = (b"confide permanent 1", self.fingerprint.encode(), canonical_json(value).encode(), b"")
        return PermanentBits(self.secret, b"\0".join(parts))

    def __repr__(self) -> str:
        bound = f", bound to {self.fingerprint}" if self.fingerprint else ""
        return f"Permanent(a secret of {counted(len(self.secret), 'byte')}, not shown{bound})"


class PermanentBits(Bits):
    """Blocks of HMAC-SHA-256 over a message and a counter, eight bytes with the lowest first, one after another."""

    def __init__(self, secret: bytes, message: bytes) -> None:
        self._secret, self._message = secret, message
        self._counter, self._rest = 0, b""

    def octets(self, count: int) -> Octets:
        """See :meth:`Bits.octets`."""
        blocks = [self._rest]
        held = len(self._rest)
        while held < count:
            blocks.append(self._next())
            held += len(blocks[-1])
        tape = b"".join(blocks)
        self._rest = tape[count:]
        return np.frombuffer(tape[:count], dtype=np.uint8)

    @property
    def fresh(self) -> Bits:
        """See :attr:`Bits.fresh`: the operating system's secure generator."""
        return SecureBits()

    def _next(self) -> bytes:
        block = hmac.digest(self._secret, self._message + self._counter.to_bytes(8, "little"), "sha256")
        self._counter += 1
        return block


def as_permanents(rng: Any) -> tuple[Permanent, ...]:
    """Return the people's permanent noise that an ``rng=`` argument is: of one person, or of one a value; else none."""
    if isinstance(rng, Permanent):
        return (rng,)
    is_list = isinstance(rng, Sequence) and len(rng) > 0 and all(isinstance(one, Permanent) for one in rng)
    return tuple(rng) if is_list else ()


def _from_text(text: str) -> bytes:
    """Return the bytes that a text stands for. Sixteen hexadecimal digits would be only eight: not a text by itself."""
    text = text.removesuffix("\n").removesuffix("\r")
    if text and set(text) <= set(string.hexdigits):
        if len(text) % 2:
            raise InvalidParameterError(f"Hexadecimal digits come in pairs; a secret has {len(text)} of them.")
        return bytes.fromhex(text)
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidParameterError("A secret must be valid text; this one has half of a surrogate pair.") from None
