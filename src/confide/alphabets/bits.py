"""Bit vectors, packed into words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.alphabets.base import LARGEST_LISTED, Alphabet
from confide.alphabets.geometry import Indices, UnorderedGeometry, Values
from confide.checks import check_count
from confide.errors import InvalidParameterError, TooLargeError


@dataclass(frozen=True)
class BitVectors(Alphabet):
    """All vectors of `length` bits, each packed into signed 64-bit words of 63 bits, lowest bit first.

    63 rather than 64, because every database and every spreadsheet has signed 64-bit integers, and not all have others.

    >>> vectors = BitVectors(3)
    >>> vectors.pack(np.array([[True, False, True]]))
    array([5])
    """

    WORD_BITS: ClassVar[int] = 63
    LISTED_BITS: ClassVar[int] = 16  # 65,536 vectors times 16 values are a matrix of 8 MB; each further bit doubles it

    length: int

    def __post_init__(self) -> None:
        check_count("length", self.length, 1)
        if self.length > LARGEST_LISTED:
            raise TooLargeError(
                f"Reports of {self.length:,} bits are too long (at most {LARGEST_LISTED:,}). Use fewer or coarser "
                f"values."
            )

    @property
    def parts(self) -> int:
        """Number of words that a vector takes."""
        return -(-self.length // self.WORD_BITS)

    @property
    def field_names(self) -> tuple[str, ...]:
        """Names of the words in files."""
        return tuple(f"word{number}" for number in range(self.parts))

    @property
    def geometry(self) -> UnorderedGeometry:
        """See :attr:`Alphabet.geometry`."""
        return UnorderedGeometry(1 << self.length)

    @property
    def bits(self) -> BitVectors:  # type: ignore[override]  # it is one
        """See :attr:`Alphabet.bits`."""
        return self

    @property
    def is_listable(self) -> bool:
        """See :attr:`Alphabet.is_listable`; up to 16 bits."""
        return self.length <= self.LISTED_BITS

    def require_listable(self) -> None:
        """See :meth:`Alphabet.require_listable`."""
        if not self.is_listable:
            raise TooLargeError(
                f"The 2^{self.length} vectors of {self!r} are too many to list; at most {self.LISTED_BITS} bits."
            )

    def contains(self, values: Values) -> NDArray[np.bool_]:
        """See :meth:`Alphabet.contains`."""
        if values.dtype.kind not in "iu":
            return np.zeros(values.shape[0], dtype=bool)
        words = values.reshape(-1, self.parts)
        within: NDArray[np.bool_] = np.all((words >= 0) & (words <= self._largest_words), axis=1)
        return within

    def locate(self, values: Values) -> Indices:
        """See :meth:`Alphabet.locate`; vectors of one word are numbered by it, longer ones have no 64-bit number."""
        if self.parts > 1:
            raise InvalidParameterError(
                f"Vectors of more than {self.WORD_BITS} bits have no 64-bit number; {self!r} has {self.length} bits."
            )
        return np.where(self.contains(values), values, -1)

    def decode(self, indices: ArrayLike) -> Values:
        """See :meth:`Alphabet.decode`; numbers fit into the first word, and the others stay empty."""
        numbers = np.asarray(indices, dtype=np.int64)
        if self.parts == 1:
            return numbers
        words = np.zeros((*numbers.shape, self.parts), dtype=np.int64)
        words[..., 0] = numbers
        return words

    def pack(self, vectors: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return bits, one row a vector, as words; one row a vector where it takes several."""
        bits = np.zeros((vectors.shape[0], self.parts, 64), dtype=bool)
        for word, start in enumerate(self._starts):
            chunk = vectors[:, start : start + self.WORD_BITS]
            bits[:, word, : chunk.shape[1]] = chunk
        packed = np.packbits(bits.reshape(vectors.shape[0], 64 * self.parts), axis=1, bitorder="little")
        words = packed.view("<i8").astype(np.int64, copy=False)
        return words[:, 0] if self.parts == 1 else words

    def unpack(self, words: ArrayLike) -> NDArray[np.bool_]:
        """Return words as bits, one row a vector.

        >>> BitVectors(3).unpack([5])
        array([[ True, False,  True]])
        """
        # By bytes: a shift of words would take eight bytes a bit on the way.
        array = np.ascontiguousarray(words, dtype="<i8").reshape(-1, self.parts)
        bits = np.unpackbits(array.view(np.uint8), axis=1, bitorder="little").reshape(-1, self.parts, 64)
        return bits[:, :, : self.WORD_BITS].reshape(array.shape[0], -1)[:, : self.length].astype(bool)

    @property
    def _largest_words(self) -> NDArray[np.int64]:
        return np.array([2 ** min(self.WORD_BITS, self.length - start) - 1 for start in self._starts])

    @property
    def _starts(self) -> range:
        return range(0, self.length, self.WORD_BITS)
