"""The TOML file that a person's device and the curator both read: alphabet and mechanism.

>>> survey = parse_survey('''
... name = "age"
... [alphabet]
... kind = "integers"
... low = 0
... high = 99
... [mechanism]
... kind = "truncated-geometric"
... epsilon = 0.05
... ''')
>>> survey.mechanism
TruncatedGeometric(alphabet=Integers(0, 99), epsilon=0.05)
"""

from __future__ import annotations

import difflib
import inspect
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from confide.alphabets import Alphabet, Categories, Grid, Integers, Lattice, Pairs
from confide.errors import ConfideError, SurveyError
from confide.mechanisms import MECHANISMS, Mechanism, Product, Remapped

ALPHABETS: dict[str, Callable[..., Alphabet]] = {
    "categories": Categories,
    "integers": Integers,
    "grid": Grid,
    "lattice": Lattice,
    "pairs": Pairs,
}
"""Every alphabet by its name in a survey file."""

Builder = TypeVar("Builder")

SURVEY_KEYS = ("name", "title", "alphabet", "mechanism")


@dataclass(frozen=True)
class Survey:
    """What is asked, and how answers are blurred.

    Attributes
    ----------
    mechanism
        The mechanism, which holds the alphabet.
    name
        What a value is called, such as ``age``; also the default column of a file of values.
    title
        A heading.
    """

    mechanism: Mechanism
    name: str = "value"
    title: str = "Untitled survey"

    @property
    def alphabet(self) -> Alphabet:
        """The values a person may have."""
        return self.mechanism.alphabet


def load_survey(path: str | Path) -> Survey:
    """Read a survey file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SurveyError(f"There is no survey file {str(path)!r}. Write one with: confide init {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SurveyError(f"The survey file {str(path)!r} cannot be read: {error}") from None
    try:
        return parse_survey(text)
    except ConfideError as error:
        raise SurveyError(f"{path}: {error}") from None


def parse_survey(text: str) -> Survey:
    """Read a survey from TOML text."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SurveyError(f"This is not valid TOML: {error}.") from None
    _refuse_unknown("the survey", document, SURVEY_KEYS)
    alphabet = _build_alphabet(_table(document, "alphabet", "the survey"), "alphabet")
    mechanism = _build_mechanism(_table(document, "mechanism", "the survey"), alphabet, "mechanism")
    texts = {key: _text(key, document[key]) for key in ("name", "title") if key in document}
    return Survey(mechanism, **texts)


def _build_alphabet(table: dict[str, Any], place: str) -> Alphabet:
    build = _choose(ALPHABETS, table, place)
    arguments = _arguments(build, table, place)
    if build is Pairs:
        arguments = {name: _build_alphabet(_table(table, name, place), f"{place}.{name}") for name in arguments}
    return build(**arguments)


def _build_mechanism(table: dict[str, Any], alphabet: Alphabet, place: str) -> Mechanism:
    build: Callable[..., Mechanism] = _choose(MECHANISMS, table, place)
    arguments = _arguments(build, table, place, given=("alphabet", "promise"))
    if "outputs" in arguments:
        arguments["outputs"] = _build_alphabet(_table(table, "outputs", place), f"{place}.outputs")
    if build is Product:
        return _build_product(table, alphabet, place)
    if build is Remapped:
        arguments["mechanism"] = _build_mechanism(_table(table, "mechanism", place), alphabet, f"{place}.mechanism")
        return build(**arguments)
    return build(alphabet=alphabet, **arguments)


def _build_product(table: dict[str, Any], alphabet: Alphabet, place: str) -> Product:
    if not isinstance(alphabet, Pairs):
        raise SurveyError(f'[{place}] of kind "product" needs an alphabet of kind "pairs".')
    first = _build_mechanism(_table(table, "first", place), alphabet.first, f"{place}.first")
    second = _build_mechanism(_table(table, "second", place), alphabet.second, f"{place}.second")
    return Product(first, second)


def _choose(known: dict[str, Builder], table: dict[str, Any], place: str) -> Builder:
    if "kind" not in table:
        raise SurveyError(f"[{place}] needs a kind: one of {', '.join(known)}.")
    kind = table["kind"]
    if not isinstance(kind, str) or kind not in known:
        raise SurveyError(
            f"[{place}] has the unknown kind {kind!r}{_suggestion(kind, known)}. Known: {', '.join(known)}."
        )
    return known[kind]


def _arguments(
    build: Callable[..., object], table: dict[str, Any], place: str, given: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the table's entries as arguments, refusing those that are unknown and asking for those that lack."""
    parameters = {
        name: parameter for name, parameter in inspect.signature(build).parameters.items() if name not in given
    }
    _refuse_unknown(f"[{place}]", table, ("kind", *parameters))
    lacking = [name for name, one in parameters.items() if one.default is one.empty and name not in table]
    if lacking:
        raise SurveyError(f"[{place}] lacks {', '.join(lacking)}. Add a line such as: {lacking[0]} = ...")
    return {key: value for key, value in table.items() if key != "kind"}


def _table(document: dict[str, Any], key: str, place: str) -> dict[str, Any]:
    table = document.get(key)
    if not isinstance(table, dict):
        raise SurveyError(f"{place} needs a table [{key}]; got {table!r}.")
    return table


def _text(key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise SurveyError(f"{key} must be a text; got {value!r}.")
    return value


def _refuse_unknown(place: str, table: dict[str, Any], known: Iterable[str]) -> None:
    names = list(known)
    for key in table:
        if key not in names:
            raise SurveyError(
                f"{place} has the unknown key {key!r}{_suggestion(key, names)}. Known: {', '.join(names)}."
            )


def _suggestion(word: object, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(str(word), list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
