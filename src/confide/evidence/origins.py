"""Origins of reports: which noise they were made with, as far as that is known, and nothing beyond it."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.values.wording import listed


class Noise(StrEnum):
    """Source of the randomness of reports."""

    SECURE = "secure generator"
    SEEDED = "seeded"
    PERMANENT = "permanent"
    UNKNOWN = "not known"


MIXED = "mixed"
"""In place of a noise, where reports of several kinds were put together."""


@dataclass(frozen=True)
class Origin:
    """Number of reports of each noise: what is stated of them, and how much is not known. Origins add, as counts do.

    It is stated by the metadata of a file, or by this process where it drew the reports itself. Whoever can write a
    file can also write metadata: they are no proof.

    >>> print(Origin(secure=3) + Origin(simulated=2))
    Of 5 reports, 3 are stated to have secure noise and 2 are simulated with a seed. Simulated reports protect nobody.

    Attributes
    ----------
    secure
        Reports whose noise comes from the operating system's secure generator, as stated.
    simulated
        Reports whose noise comes from a seed: they protect nobody.
    unknown
        Reports of which nothing is known.
    permanent
        Reports whose noise comes from each person's own secret, as stated: the same for the same value at all times.
        Those of one person are no independent draws.
    """

    secure: float = 0
    simulated: float = 0
    unknown: float = 0
    permanent: float = 0

    @classmethod
    def of(cls, noise: Noise, reports: float) -> Origin:
        """Return the origin of reports that all have the same noise."""
        return cls(**{_FIELDS[noise]: reports})

    @property
    def total(self) -> float:
        """The number of reports."""
        return self.secure + self.simulated + self.unknown + self.permanent

    @property
    def noise(self) -> Noise | None:
        """The noise of all reports; None where they differ."""
        found = [noise for noise, name in _FIELDS.items() if getattr(self, name)] or [Noise.UNKNOWN]
        return found[0] if len(found) == 1 else None

    @property
    def is_simulated(self) -> bool:
        """Whether any report is simulated."""
        return self.simulated > 0

    @property
    def is_secure(self) -> bool:
        """Whether the noise of every report is stated to come from the secure generator, or from a person's secret."""
        return self.total > 0 and not self.simulated and not self.unknown

    @property
    def in_short(self) -> str:
        """The noise in a word or two."""
        if self.noise is Noise.SEEDED:
            return "simulated"
        if self.noise is None:
            unknown = "partly not known" if self.unknown else "partly permanent"
            return "partly simulated" if self.is_simulated else unknown
        return str(self.noise)

    @property
    def record(self) -> dict[str, Any]:
        """The numbers and the sentence, for JSON."""
        return {
            "noise": MIXED if self.noise is None else str(self.noise),
            "is_simulated": self.is_simulated,
            "secure": _whole(self.secure),
            "simulated": _whole(self.simulated),
            "unknown": _whole(self.unknown),
            "permanent": _whole(self.permanent),
            "words": str(self),
        }

    def __add__(self, other: Origin) -> Origin:
        return Origin(*(getattr(self, name) + getattr(other, name) for name in ORIGINS))

    def __str__(self) -> str:
        if self.noise is Noise.SECURE:
            return "As stated with them, the noise of these reports comes from the operating system's secure generator."
        if self.noise is Noise.SEEDED:
            return (
                "These reports are simulated: their noise comes from a seed, and whoever knows it can undo it. They "
                "protect nobody."
            )
        if self.noise is Noise.PERMANENT:
            return (
                "As stated with them, the noise of these reports is permanent: it comes from a secret of each person, "
                "and whoever reports the same value again sends the same report again."
            )
        if self.noise is Noise.UNKNOWN:
            return "It is not known how these reports were made."
        parts = [f"{self.secure:,.10g} {_are(self.secure)} stated to have secure noise"] if self.secure else []
        parts += (
            [f"{self.permanent:,.10g} {_are(self.permanent)} stated to have permanent noise"] if self.permanent else []
        )
        parts += [f"{self.simulated:,.10g} {_are(self.simulated)} simulated with a seed"] if self.simulated else []
        parts += [f"of {self.unknown:,.10g} it is not known how they were made"] if self.unknown else []
        protected = " Simulated reports protect nobody." if self.simulated else ""
        return f"Of {self.total:,.10g} reports, {listed(parts)}.{protected}"


ORIGINS = ("secure", "simulated", "unknown", "permanent")

_FIELDS = dict(zip((Noise.SECURE, Noise.SEEDED, Noise.UNKNOWN, Noise.PERMANENT), ORIGINS, strict=True))
"""Where reports of each noise are counted."""


def _whole(number: float) -> float:
    """Return a number of reports as a whole number; of expectations there may be fractions."""
    return int(number) if number == int(number) else number


def _are(number: float) -> str:
    return "is" if number == 1 else "are"


_DRAWN: dict[int, tuple[weakref.ref[Any], Noise, tuple[int, int]]] = {}
"""Arrays of reports that are alive, by their identity: numpy's arrays can hold no remark of their own."""


def mark(reports: Any, noise: Noise) -> None:
    """Remember how an array of reports was drawn, for as long as it lives.

    The mark is on this array and on views of it. A copy, a concatenation or a list made from it has none, and its
    origin is then not known. An array that is changed in place, other than in its order, no longer counts as secure;
    a simulated one stays simulated.

    >>> import numpy as np
    >>> reports = np.array([3, 5])
    >>> mark(reports, Noise.SEEDED)
    >>> noise_of(reports).value, noise_of(reports[:1]).value, noise_of(reports + 0).value
    ('seeded', 'seeded', 'not known')
    """
    key = id(reports)
    _DRAWN[key] = weakref.ref(reports, lambda _: _DRAWN.pop(key, None)), noise, _sums(reports)


def noise_of(reports: Any) -> Noise:
    """Return how an array was drawn, or a view of one; unknown for anything that :func:`mark` was not told of."""
    place = reports
    while place is not None:
        known = _DRAWN.get(id(place))
        if known is not None and known[0]() is place:
            _, noise, sums = known
            # One that is simulated stays so, whatever becomes of it.
            return noise if noise is Noise.SEEDED or sums == _sums(place) else Noise.UNKNOWN
        place = getattr(place, "base", None)
    return Noise.UNKNOWN


def _sums(reports: Any) -> tuple[int, int]:
    """Return the sums of an array's words and of their squares, as they wrap around: the same in any order."""
    array = np.asarray(reports)
    if array.dtype.hasobject:
        return 0, array.size
    kind = next(one for one in (np.uint64, np.uint32, np.uint8) if array.dtype.itemsize % np.dtype(one).itemsize == 0)
    words: NDArray[Any] = np.ascontiguousarray(array).reshape(-1).view(kind)
    return int(words.sum(dtype=np.uint64)), int(np.einsum("i,i", words, words))
