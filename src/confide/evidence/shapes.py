"""Shapes: constraints on the distribution that a survey declares in advance.

>>> import confide as cf
>>> shape = Shape.of(["nobody below 17", "falling from 50"])
>>> print(shape.condition)
nobody is below 17 and the shares fall from 50 on
>>> [mixture.count for mixture in shape.mixtures(cf.Integers(0, 99))]
[83]

Every shape is a set of mixtures of given distributions (:mod:`confide.channels.composed`), or a few such sets, of which
one holds the truth: ``one peak`` without a place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from confide.channels.base import Layout
from confide.channels.composed import Block, Mixture, Points, Runs, Table
from confide.errors import InvalidParameterError
from confide.values import Alphabet, Indices, LineGeometry, PlaneGeometry
from confide.values.checks import as_items, check_positive
from confide.values.queries import as_weights
from confide.values.wording import counted, listed

KNOWN = (
    '"falling from 50", "rising to 50", "one peak", "one peak at 40", "convex", "nobody below 17", "nobody above 90", '
    '"nobody where QUERY" and "smooth = 3"'
)

LINKS = {"falling": "from", "rising": "to", "one peak": "at", "convex": "from"}
"""Terms that say how shares go along the line, with the word before the value that they may name."""


@dataclass(frozen=True)
class Term:
    """One sentence of a shape.

    Attributes
    ----------
    kind
        What it says, such as "falling" or "nobody below".
    where
        The value that it names; None if none.
    width
        Of a smooth shape, in the unit of distances.
    query
        Of "nobody where".
    """

    kind: str
    where: int | None = None
    width: float = 0.0
    query: str = ""

    @classmethod
    def of(cls, text: object) -> Term:
        """Read a term.

        >>> Term.of("Falling from 50")
        Term(kind='falling', where=50, width=0.0, query='')
        """
        plain = " ".join(text.split()) if isinstance(text, str) else ""
        number = r"(-?\d[\d_,]*)"
        patterns = {kind: rf"{kind}(?: {link} {number})?" for kind, link in LINKS.items()}
        patterns |= {kind: rf"{kind} {number}" for kind in ("nobody below", "nobody above")}
        patterns |= {"nobody where": r"nobody where (\S.*)", "smooth": r"smooth ?= ?(\d*\.?\d+(?:e[+-]?\d+)?)"}
        for kind, pattern in patterns.items():
            found = re.fullmatch(pattern, plain, re.IGNORECASE)
            if found is None:
                continue
            if kind == "smooth":
                check_positive("The width of smooth", float(found[1]))
                return cls(kind, width=float(found[1]))
            if kind == "nobody where":
                return cls(kind, query=found[1])
            return cls(kind, None if found[1] is None else int(found[1].replace(",", "").replace("_", "")))
        import difflib  # only where something is refused

        meant = "; of several terms, give each as a text of its own" if "," in plain or " and " in plain else ""
        place = next(iter(re.findall(r"\d[\d.]*", plain)), "50")
        named = [*map(" ".join, LINKS.items()), "nobody below", "nobody above", "smooth ="]
        near = difflib.get_close_matches(plain.lower(), [*(f"{one} {place}" for one in named), *LINKS], 1)
        if not meant and near and near[0] != plain.lower():
            meant = f" (did you mean {near[0]!r}?)"
        raise InvalidParameterError(f"{text!r} is no shape that is known here{meant}. Known: {KNOWN}.")

    @property
    def text(self) -> str:
        """The term as a survey has it."""
        if self.kind == "smooth":
            return f"smooth = {_number(self.width)}"
        if self.kind == "nobody where":
            return f"nobody where {self.query}"
        parts = [self.kind] if self.where is None else [self.kind, LINKS.get(self.kind), str(self.where)]
        return " ".join(part for part in parts if part)

    @property
    def condition(self) -> str:
        """What it says of the distribution, as a clause."""
        at, width = self.where, _number(self.width)
        return {
            "falling": "the shares fall" + ("" if at is None else f" from {at} on"),
            "rising": "the shares rise" + ("" if at is None else f" up to {at}"),
            "one peak": "the shares have one peak" + ("" if at is None else f", at {at} or the next value"),
            "convex": "the shares are convex" + ("" if at is None else f" from {at} on"),
            "nobody below": f"nobody is below {at}",
            "nobody above": f"nobody is above {at}",
            "nobody where": f"nobody has {self.query}",
            "smooth": f"the shares are a mixture of bumps of width {width}",
        }[self.kind]


def _number(width: float) -> str:
    """Return the shortest text that reads back as the same width."""
    return f"{width:g}" if float(f"{width:g}") == width else repr(width)


@dataclass(frozen=True)
class Shape:
    """Shape of a distribution, declared in plain words.

    Attributes
    ----------
    terms
        What it says; all terms apply together.
    is_declared
        Whether a survey declared it before any report was seen. Intervals say which.

    Examples
    --------
    >>> Shape.of("smooth = 3").words
    ('smooth = 3',)
    """

    terms: tuple[Term, ...]
    is_declared: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", as_items("terms", self.terms))
        if not all(isinstance(term, Term) for term in self.terms):
            raise InvalidParameterError(f"A shape has terms; got {self.terms!r}. Read one with Shape.of('falling').")
        # Terms that come twice, and combinations that are no mixtures.
        kinds = [term.kind for term in self.terms]
        for kind in set(kinds) - {"nobody where"}:
            if kinds.count(kind) > 1:
                raise InvalidParameterError(f"A shape says {kind!r} once; got {kinds.count(kind)} times.")
        ordered = [term for term in self.terms if term.kind in LINKS]
        if "smooth" in kinds and ordered:
            raise InvalidParameterError(
                f"{ordered[0].text!r} and smooth do not go together: not every falling mixture of bumps is a mixture "
                f"of falling bumps. Declare the one that you know."
            )
        if "nobody where" in kinds and ordered:
            raise InvalidParameterError(
                f"{ordered[0].text!r} goes along all values; cut them with nobody below and nobody above, not where."
            )
        if "one peak" in kinds and len(ordered) > 1:
            raise InvalidParameterError(
                "'one peak' says already that shares rise and then fall. Leave out the other part."
            )
        places = {term.kind: term.where for term in ordered}
        is_convex_fall = "falling" in places and "rising" not in places and places["falling"] == places.get("convex")
        if "convex" in places and len(ordered) > 1 and not is_convex_fall:
            raise InvalidParameterError(
                '"convex" goes with "falling" from the same value on, and with no other: "falling from 50" with '
                '"convex from 50".'
            )
        up, down = (next((one.where for one in ordered if one.kind == kind), None) for kind in ("rising", "falling"))
        if len(ordered) > 1 and "rising" in kinds and (up is None or down is None or up > down):
            raise InvalidParameterError(
                "Shares that rise to one value and fall from another need both, the first not above the second: "
                '"rising to 30" with "falling from 50".'
            )

    @classmethod
    def of(cls, words: str | Sequence[str] | Shape) -> Shape:
        """Read a shape from one text, or several that all apply."""
        if isinstance(words, Shape):
            return words
        texts: object = [words] if isinstance(words, str) else words
        if not isinstance(texts, list | tuple) or not texts:
            raise InvalidParameterError(f"A shape is a text, or a list of some; got {words!r}. Known: {KNOWN}.")
        return cls(tuple(Term.of(text) for text in texts))

    def declared(self) -> Shape:
        """Return the same as declared by a survey."""
        return replace(self, is_declared=True)

    @property
    def words(self) -> tuple[str, ...]:
        """The terms as a survey has them."""
        return tuple(term.text for term in self.terms)

    @property
    def condition(self) -> str:
        """What it says about the distribution, in one clause."""
        return listed([term.condition for term in self.terms])

    @property
    def premise(self) -> str:
        """What an interval rests on: the condition, and who said so."""
        said = "as the survey declared" if self.is_declared else "which no survey declared"
        return f"if {self.condition}, {said}"

    def __str__(self) -> str:
        return ", ".join(self.words)

    def term(self, kind: str) -> Term | None:
        """Return the term of a kind, if there is one."""
        return next((term for term in self.terms if term.kind == kind), None)

    @property
    def is_order(self) -> bool:
        """Whether it says how shares go along the line."""
        return any(term.kind in LINKS for term in self.terms)

    def check(self, alphabet: Alphabet, name: str | None = None) -> None:
        """Reject an alphabet or query name that the shape does not fit."""
        self.mixtures(alphabet)
        for term in self.terms:
            if term.kind == "nobody where":
                as_weights(term.query, alphabet, name)

    def mixtures(self, alphabet: Alphabet) -> list[Mixture]:
        """Return sets of mixtures whose union is the shape.

        It is one set, except for ``one peak`` without a place, which has a set for each place.
        """
        self._check_alphabet(alphabet)
        values = self._values(alphabet)
        smooth, peak = self.term("smooth"), self.term("one peak")
        if smooth is not None:
            # The mixtures of normal bumps around every value, cut where values end and normalised.
            places = alphabet.coordinates[values] * getattr(alphabet, "spacing", 1.0)
            squares = ((places[:, None, :] - places[None, :, :]) ** 2).sum(axis=2)
            rows = np.exp(-squares / (2 * smooth.width**2))
            return [Mixture(alphabet.size, (Table(values, rows),), _layout(alphabet, values))]
        if not self.is_order:
            return [self.support(alphabet)]
        if peak is not None:
            # Shares rise to a peak and fall from the next value, a simplex of as many distributions as values. That the
            # peak is at the value and not at the next one would take thousands.
            peaks = range(-1, values.size) if peak.where is None else [self._place(peak, alphabet, values, -1)]
            return [self._along(alphabet, values, place, place + 1) for place in peaks]
        convex = self.term("convex")
        if convex is not None:
            # Convex from a place on are the mixtures of a constant and of hinges, to either side.
            start = self._place(convex, alphabet, values, 0)
            length = values.size - start
            steps = np.arange(float(length))
            down = np.maximum(steps[1:, None] - steps, 0.0)
            up = np.zeros((0, length)) if self.term("falling") else np.maximum(steps - steps[:-1, None], 0.0)
            hinges = Table(values[start:], np.vstack([np.ones((1, length)), down, up]))
            return [Mixture(alphabet.size, (Points(values[:start]), hinges) if start else (hinges,))]
        rising, falling = self.term("rising"), self.term("falling")
        rise = -1 if rising is None else self._place(rising, alphabet, values, values.size - 1)
        fall = values.size if falling is None else self._place(falling, alphabet, values, 0)
        # Where rising ends and falling begins at one value, that value belongs to the rise.
        return [self._along(alphabet, values, rise, fall + (rise == fall))]

    def support(self, alphabet: Alphabet) -> Mixture:
        """Return the allowed values as point masses, ignoring the shape's form."""
        values = self._values(alphabet)
        return Mixture(alphabet.size, (Points(values),), _layout(alphabet, values))

    def _place(self, term: Term, alphabet: Alphabet, values: Indices, unnamed: int) -> int:
        """Return the index of a term's value among the remaining values."""
        if term.where is None:
            return unnamed
        number = int(alphabet.encode([term.where])[0])
        if number not in values:
            raise InvalidParameterError(f"{term.text!r} names a value that nobody has by another part of the shape.")
        return int(np.searchsorted(values, number))

    def _along(self, alphabet: Alphabet, values: Indices, up: int, down: int) -> Mixture:
        """Return mixtures that rise to `up` and fall from `down`.

        -1 and the number of values where they do not.
        """
        first = int(values[0])
        blocks: list[Block] = []
        if up >= 0:
            blocks.append(Runs(first, up + 1, is_rising=True))
        if down > up + 1:
            blocks.append(Points(values[up + 1 : down]))
        if down < values.size:
            blocks.append(Runs(first + down, values.size - down))
        return Mixture(alphabet.size, tuple(blocks))

    def _values(self, alphabet: Alphabet) -> Indices:
        """Return the values that somebody may have."""
        kept = np.ones(alphabet.size, dtype=bool)
        for term in self.terms:
            if term.kind == "nobody where":
                kept &= as_weights(term.query, alphabet) == 0
            elif term.kind.startswith("nobody") and term.where is not None:
                numbers = alphabet.decode(np.arange(alphabet.size))
                kept &= numbers >= term.where if term.kind == "nobody below" else numbers <= term.where
        values = np.flatnonzero(kept)
        if values.size < 2:
            raise InvalidParameterError(
                f"The shape {self} leaves {counted(values.size, 'value')} of {alphabet!r}, and nothing to estimate. "
                f"Declare fewer values that nobody has."
            )
        return values

    def _check_alphabet(self, alphabet: Alphabet) -> None:
        """Refuse an alphabet that the words mean nothing on."""
        if not alphabet.is_finite:
            raise InvalidParameterError(
                f"The shape {self} is over values that can be listed, and {alphabet!r} is unbounded. Give it a low and "
                f"a high end, or declare no shape."
            )
        alphabet.require_listable()
        needs_order = [term.text for term in self.terms if term.kind not in ("smooth", "nobody where")]
        if needs_order and not isinstance(alphabet.geometry, LineGeometry):
            raise InvalidParameterError(
                f"The shape {needs_order[0]!r} speaks of values in their order, and {alphabet!r} has none; it needs "
                f'Integers(low, high). Known on other values: "nobody where QUERY", and "smooth = 3" on a Grid.'
            )
        if self.term("smooth") and not isinstance(alphabet.geometry, LineGeometry | PlaneGeometry):
            raise InvalidParameterError(f"Neighbours mean nothing on {alphabet!r}, so that no shape is smooth on it.")
        most = 2000  # G has the square of entries, 32 MB
        if (self.is_order or self.term("smooth")) and alphabet.size > most:
            raise InvalidParameterError(
                f"The shape {self} takes at most {most:,} values; {alphabet!r} has {alphabet.size:,}. "
                f"Use coarser values."
            )
        for term in self.terms:
            if term.where is not None and not alphabet.contains(np.array([term.where]))[0]:
                raise InvalidParameterError(f"{term.text!r} names {term.where}, which is not in {alphabet!r}.")


def _layout(alphabet: Alphabet, values: Indices) -> Layout | None:
    """Return the layout of some values; a run is a line."""
    layout = Layout.of(alphabet)
    if layout is None or values.size == alphabet.size:
        return layout
    is_run = isinstance(alphabet.geometry, LineGeometry) and values.size == values[-1] - values[0] + 1
    return Layout((values.size,)) if is_run else layout.part(values)
