"""Words as people write them: in another case, under another name, or none of those that are listed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from confide.errors import InvalidParameterError
from confide.values.numerals import BLANK
from confide.values.wording import counted, quote_value

FOLDED = "folded"
"""Remark on a text that is a word but for its case, its blanks, or how its accents are put together."""

OTHER_NAME = "known by another name"
"""Remark on an alias."""

COUNTED_AS = "counted as "
"""Beginning of the remark on a text that is not listed."""

_BLANKS = re.compile(f"[{BLANK}]+")

Aliases = tuple[tuple[str, tuple[str, ...]], ...]
"""Words, each with its other names."""


def fold_word(text: str) -> str:
    """Return a text without what people write in different ways: case, blanks, and how accents are put together.

    Four steps, each of which JavaScript has too (docs/values.md): runs of blanks become one space, and none is left at
    the ends; lower case, of no locale; a final sigma becomes a sigma, and a sharp s becomes ss; Unicode's NFC. It is
    not Unicode's case folding, which JavaScript lacks and which joins some rare letters more.

    >>> fold_word(" PARIS "), fold_word("Gro\u00df  Stra\u00dfe") == fold_word("GROSS STRASSE")
    ('paris', True)
    """
    if text.isascii():  # the same, four times as fast
        return " ".join(text.split()).lower()
    spaced = _BLANKS.sub(" ", text).strip(" ")
    # Lower case writes a sigma by what stands around it: one letter for both leaves no room for two opinions.
    lowered = spaced.lower().replace("\u03c2", "\u03c3").replace("\u00df", "ss")
    return unicodedata.normalize("NFC", lowered)


@dataclass(frozen=True)
class Spelling:
    """Texts that are taken for a word.

    >>> city = Spelling(("Paris", "Lyon", "elsewhere"), True, (("Paris", ("Lutetia",)),), "elsewhere")
    >>> city.read("PARIS "), city.read("lutetia"), city.read("Nice"), city.remark("Nice")
    ('Paris', 'Paris', 'elsewhere', 'counted as elsewhere')

    Attributes
    ----------
    words
        The words themselves.
    fold
        Whether a text that differs in case, blanks or the form of accents is the same, see :func:`fold_word`.
    aliases
        Other names of words.
    other
        The word that stands for every text that is not listed; None where such a text is refused.
    """

    words: tuple[str, ...]
    fold: bool = False
    aliases: Aliases = ()
    other: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.fold, bool):
            raise InvalidParameterError(f"fold must be true or false; got {self.fold!r}.")
        if self.other is not None and self.other not in self.words:
            raise InvalidParameterError(
                f"other must be one of the values; got {self.other!r}. Add it to the values: reports have it too."
            )
        _ = self._exact, self._folded  # an ambiguous one is refused now rather than when values are read

    @property
    def is_plain(self) -> bool:
        """Whether words alone are taken, letter by letter."""
        return not self.fold and not self.aliases and self.other is None

    def find(self, text: str) -> str | None:
        """Return the word that a text is by itself, by another name or folded; None where it is none."""
        found = self._exact.get(text)
        return self._folded.get(fold_word(text)) if found is None and self.fold else found

    def read(self, text: str) -> str | None:
        """Return the word that a text is counted as; None where it is refused, as a missing one always is."""
        found = self.find(text)
        return self.other if found is None and _BLANKS.sub("", text) else found

    def remark(self, text: str) -> str:
        """Return what was done to a text that was read; nothing where it is a word."""
        if text in self._own:
            return ""
        found = self.find(text)
        if found is None:
            return f"{COUNTED_AS}{self.other}"
        return FOLDED if self.fold and fold_word(text) == fold_word(found) else OTHER_NAME

    def hint(self, text: str) -> str:
        """Return what a refused text would be under ``fold = true``; nothing where it would be none."""
        if self.fold or self.other is not None:
            return ""
        near = self._near.get(fold_word(text), set())
        return f"it is {quote_value(next(iter(near)))} under fold = true" if len(near) == 1 else ""

    @property
    def declared(self) -> dict[str, Any]:
        """Settings as a survey states them; nothing where words alone are taken."""
        fold = {"fold": True} if self.fold else {}
        other = {} if self.other is None else {"other": self.other}
        return fold | other | ({"aliases": dict(self.aliases)} if self.aliases else {})

    @property
    def settings(self) -> tuple[str, str, str]:
        """Settings as the repr of an alphabet has them."""
        number = sum(len(names) for _, names in self.aliases)
        other = "" if self.other is None else f"other={self.other!r}"
        return "fold=True" if self.fold else "", counted(number, "alias") if number else "", other

    @property
    def description(self) -> str:
        """Settings in words; nothing where words alone are taken.

        >>> Spelling(("yes", "no"), True, (("yes", ("oui", "si")),), "no").description
        'case and blanks of a text do not matter, 2 other names are known, what is not listed counts as no'
        """
        number = sum(len(names) for _, names in self.aliases)
        parts = ["case and blanks of a text do not matter"] if self.fold else []
        parts += [f"{counted(number, 'other name')} {'is' if number == 1 else 'are'} known"] if number else []
        return ", ".join(parts + ([] if self.other is None else [f"what is not listed counts as {self.other}"]))

    @property
    def _names(self) -> list[tuple[str, str]]:
        """Every name, with the word it stands for."""
        return [(word, word) for word in self.words] + [
            (alias, word) for word, aliases in self.aliases for alias in aliases
        ]

    @cached_property
    def _near(self) -> dict[str, set[str]]:
        """Words whose names fold to a text, of which there may be several without ``fold``."""
        found: dict[str, set[str]] = {}
        for name, word in self._names:
            found.setdefault(fold_word(name), set()).add(word)
        return found

    @cached_property
    def _own(self) -> frozenset[str]:
        return frozenset(self.words)

    @cached_property
    def _exact(self) -> dict[str, str]:
        return _index(self._names, "")

    @cached_property
    def _folded(self) -> dict[str, str]:
        if not self.fold:
            return {}
        blank = next((name for name, _ in self._names if not fold_word(name)), None)
        if blank is not None:
            raise InvalidParameterError(f"The value {blank!r} has nothing left when it is folded. Give it letters.")
        return _index([(fold_word(name), word) for name, word in self._names], " when folded")


def _index(names: Iterable[tuple[str, str]], how: str) -> dict[str, str]:
    """Return the word of each name, refusing a name of two."""
    found: dict[str, str] = {}
    for name, word in names:
        if found.setdefault(name, word) != word:
            raise InvalidParameterError(
                f"{name!r}{how} stands for two values, {found[name]!r} and {word!r}. Let every name stand for one."
            )
    return found


def check_words(name: str, values: object) -> tuple[str, ...]:
    """Return the words of an alphabet, refusing what is no list of different texts."""
    if isinstance(values, str) or not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0:
        raise InvalidParameterError(f"{name} needs a list of words; got {values!r}.")
    words = tuple(str(word) if isinstance(word, str) else word for word in values)
    wrong = [word for word in words if not isinstance(word, str) or not _BLANKS.sub("", word)]
    if not words or wrong:
        got = "none" if not words else repr(wrong[0])
        raise InvalidParameterError(f"{name} needs a list of words; got {got}. Whole numbers are Integers(low, high).")
    cut = next((word for word in words if word.endswith("\0")), None)
    if cut is not None:
        raise InvalidParameterError(f"{name} must have no word that ends with a NUL character; got {cut!r}. Strip it.")
    if len(set(words)) < len(words):
        repeated = next(word for word in words if words.count(word) > 1)
        raise InvalidParameterError(f"The words of {name} must differ; {repeated!r} stands more than once.")
    return words


def as_aliases(given: Mapping[str, Iterable[str]] | None, words: tuple[str, ...]) -> Aliases:
    """Return other names by their word: words in their order, names sorted, so that equal ones have equal surveys.

    >>> as_aliases({"b": ["y", "x"], "a": ["z"]}, ("a", "b"))
    (('a', ('z',)), ('b', ('x', 'y')))
    """
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise InvalidParameterError(
            f'aliases must be a table of lists, such as {{ Paris = ["Lutetia"] }}; got {given!r}.'
        )
    unknown = next((word for word in given if word not in words), None)
    if unknown is not None:
        raise InvalidParameterError(
            f"aliases has other names of {unknown!r}, which is none of the values. Known: {', '.join(words[:8])}."
        )
    found = {word: _names_of(word, names) for word, names in given.items()}
    return tuple((word, found[word]) for word in words if found.get(word))


def _names_of(word: str, names: object) -> tuple[str, ...]:
    listed = list(names) if isinstance(names, Iterable) and not isinstance(names, str | Mapping) else [None]
    texts = [name for name in listed if isinstance(name, str) and _BLANKS.sub("", name)]
    if len(texts) < len(listed):
        raise InvalidParameterError(f"The aliases of {word!r} must be a list of texts; got {names!r}.")
    cut = next((name for name in texts if name.endswith("\0")), None)
    if cut is not None:
        raise InvalidParameterError(f"Aliases must not end with a NUL character; got {cut!r}. Strip it.")
    return tuple(sorted(set(texts) - {word}))
