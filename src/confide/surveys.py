"""Survey: the TOML file that a person's device and the curator both read, with alphabet and mechanism.

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
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from confide.alphabets import (
    Alphabet,
    Attributes,
    Bins,
    Categories,
    Circle,
    Coordinates,
    Dates,
    Grid,
    Hours,
    Integers,
    Lattice,
    Places,
    Scale,
    Weekdays,
)
from confide.checks import check_count
from confide.errors import ConfideError, SurveyError
from confide.mechanisms import MECHANISMS, Mechanism, Product, Remapped
from confide.sampling import Permanent, as_permanents
from confide.shapes import Shape
from confide.wording import counted, digest

ALPHABETS: dict[str, Callable[..., Alphabet]] = {
    "categories": Categories,
    "integers": Integers,
    "grid": Grid,
    "lattice": Lattice,
    "scale": Scale,
    "places": Places,
    "coordinates": Coordinates,
    "bins": Bins,
    "dates": Dates,
    "hours": Hours,
    "weekdays": Weekdays,
    "circle": Circle,
    "attributes": Attributes,
}
"""Every alphabet by its name in a survey file."""

Builder = TypeVar("Builder")

SURVEY_KEYS = ("name", "title", "shape", "alphabet", "mechanism", "limits")


@dataclass(frozen=True)
class Survey:
    """Contract between a person's device and the curator: the values, and the mechanism that blurs them.

    Attributes
    ----------
    mechanism
        The mechanism, which holds the alphabet.
    name
        What a value is called, such as ``age``; also the default column of a file of values.
    title
        A heading.
    most_reports
        How many reports one person may make, the survey's ``[limits]``; None where it does not say.
    shape
        What is declared of the distribution before any report is seen; None where nothing is. It is part of the
        fingerprint, which reports carry, so that nobody can add it to reports that are there already.
    """

    mechanism: Mechanism
    name: str = "value"
    title: str = "Untitled survey"
    most_reports: int | None = None
    shape: Shape | None = None

    def __post_init__(self) -> None:
        if self.shape is not None:
            object.__setattr__(self, "shape", self.shape.declared())
            self.shape.check(self.alphabet, self.name)  # refused now rather than when the reports are there
        if self.most_reports is not None:
            check_count("most_reports", self.most_reports, 1)

    @property
    def alphabet(self) -> Alphabet:
        """The values a person may have."""
        return self.mechanism.alphabet

    @property
    def fingerprint(self) -> str:
        """Digest of shape, alphabet, mechanism and limits: meaning and promise of reports, whatever it is called.

        It is the start of SHA-256 over what :meth:`text` has below the title.

        >>> from confide import RandomizedResponse, Categories
        >>> mechanism = RandomizedResponse(Categories(["yes", "no"]), 1.0)
        >>> Survey(mechanism, "answer").fingerprint == Survey(mechanism, "reply").fingerprint
        True
        """
        return digest("\n".join(self._below_title()))

    @property
    def contract(self) -> str:
        """Mechanism, limit and shape, as two surveys are told apart in a message.

        >>> from confide import RandomizedResponse, Categories
        >>> Survey(RandomizedResponse(Categories(["yes", "no"]), 1.0), most_reports=1).contract
        "RandomizedResponse(alphabet=Categories(['yes', 'no']), epsilon=1.0), at most 1 report of one person"
        """
        most = "" if self.most_reports is None else f", at most {counted(self.most_reports, 'report')} of one person"
        shape = "" if self.shape is None else f", declared {self.shape}"
        return f"{self.mechanism!r}{most}{shape}"

    def privatize(self, values: ArrayLike, *, rng: Any = None, taken: bool = False) -> Any:
        """Blur values as :meth:`Mechanism.privatize` does; permanent noise is bound to this survey by its fingerprint.

        >>> from confide import Categories, Permanent, RandomizedResponse
        >>> survey = Survey(RandomizedResponse(Categories(["yes", "no"]), 1.0))
        >>> len(set(survey.privatize(["yes"] * 365, rng=Permanent(b"sixteen bytes!!!")).tolist()))
        1
        """
        if people := as_permanents(rng):
            fingerprint = self.fingerprint
            bound = [one.bound_to(fingerprint) for one in people]
            rng = bound[0] if isinstance(rng, Permanent) else bound
        return self.mechanism.privatize(values, rng=rng, taken=taken)

    def text(self, most_entries: int | None = None) -> str:
        """Return the survey as TOML; lists longer than `most_entries` are shortened, with a remark.

        >>> from confide import RandomizedResponse, Categories
        >>> print(Survey(RandomizedResponse(Categories(["yes", "no"]), 1.0), "answer", "A question").text())
        name = "answer"
        title = "A question"
        <BLANKLINE>
        [alphabet]
        kind = "categories"
        values = ["yes", "no"]
        <BLANKLINE>
        [mechanism]
        kind = "randomized-response"
        epsilon = 1.0
        """
        lines = [f"name = {_toml(self.name)}", f"title = {_toml(self.title)}"]
        return "\n".join(lines + self._below_title(most_entries))

    def to_json(self) -> str:
        """Return the survey as one line of JSON with its fingerprint; two of equal content are equal texts.

        Keys are those of the TOML file in its order, and settings that have their default are left out.

        >>> from confide import RandomizedResponse, Categories
        >>> print(Survey(RandomizedResponse(Categories(["yes", "no"]), 1.0), "answer", "A question").to_json())
        ... # doctest: +NORMALIZE_WHITESPACE
        {"name": "answer", "title": "A question", "alphabet": {"kind": "categories", "values": ["yes", "no"]},
         "mechanism": {"kind": "randomized-response", "epsilon": 1.0}, "fingerprint": "7f0b66c0e6353b5e"}
        """
        return json.dumps(self.record(), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Survey:
        """Read what :meth:`to_json` wrote, and check that its fingerprint fits.

        >>> from confide import RandomizedResponse, Categories
        >>> survey = Survey(RandomizedResponse(Categories(["yes", "no"]), 1.0), "answer")
        >>> Survey.from_json(survey.to_json()) == survey
        True
        """
        try:
            document = json.loads(text)
        except ValueError as error:
            raise SurveyError(f"This is not valid JSON: {error}.") from None
        if not isinstance(document, dict):
            raise SurveyError(f"A survey is a JSON object; got {type(document).__name__}.")
        stated = document.pop("fingerprint", None)
        survey = _build_survey(document)
        if stated != survey.fingerprint:
            raise SurveyError(
                f"The survey states the fingerprint {stated!r}, and its content has {survey.fingerprint!r}: one of the "
                f"two was changed. Write it again with: confide show survey.toml --json"
            )
        return survey

    def record(self) -> dict[str, Any]:
        """Return what :meth:`to_json` writes, as lists and dictionaries."""
        tables = {place: _plain(declaration) for place, declaration in self._declarations().items()}
        shape = {} if self.shape is None else {"shape": list(self.shape.words)}
        return {"name": self.name, "title": self.title} | shape | tables | {"fingerprint": self.fingerprint}

    def _below_title(self, most: int | None = None) -> list[str]:
        """Return the shape, where there is one, and the tables."""
        shape = [] if self.shape is None else [f"shape = {_toml(self.shape.words)}"]
        return shape + [line for place, one in self._declarations().items() for line in _toml_table(place, one, most)]

    def _declarations(self) -> dict[str, dict[str, Any]]:
        """Return the tables. Without limits there is none of them, so that older surveys keep their fingerprints."""
        tables = {"alphabet": _declaration(self.alphabet), "mechanism": _declaration(self.mechanism)}
        return tables if self.most_reports is None else tables | {"limits": {"reports": self.most_reports}}


def load_survey(path: str | Path) -> Survey:
    """Read a survey file, as ``confide init`` writes it, or :meth:`Survey.text`."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SurveyError(f"There is no survey file {str(path)!r}. Write one with: confide init {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SurveyError(f"The survey file {str(path)!r} cannot be read: {error}") from None
    try:
        return parse_survey(text, Path(path).parent)
    except ConfideError as error:
        raise SurveyError(f"{path}: {error}") from None


def parse_survey(text: str, folder: str | Path = "") -> Survey:
    r"""Read a survey from TOML text; files that it names, such as holes in GeoJSON, lie in `folder`.

    >>> text = '[alphabet]\nkind = "integers"\nlow = 0\nhigh = 9\n[mechanism]\nkind = "geometric"\nepsilon = 1.0'
    >>> parse_survey(text).mechanism
    Geometric(alphabet=Integers(0, 9), epsilon=1.0)
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SurveyError(f"This is not valid TOML: {error}.") from None
    _look_beside(document, Path(folder))
    return _build_survey(document)


def _look_beside(table: dict[str, Any], folder: Path) -> None:
    """Let files of holes that are named in alphabets lie beside the survey."""
    if isinstance(table.get("holes"), str):
        table["holes"] = str(folder / table["holes"])
    for one in table.values():
        if isinstance(one, dict):
            _look_beside(one, folder)


def _build_survey(document: dict[str, Any]) -> Survey:
    _refuse_unknown("the survey", document, SURVEY_KEYS)
    alphabet = _build_alphabet(_table(document, "alphabet", "the survey"), "alphabet")
    mechanism = _build_mechanism(_table(document, "mechanism", "the survey"), alphabet, "mechanism")
    texts = {key: _text(key, document[key]) for key in ("name", "title") if key in document}
    return Survey(mechanism, **texts, most_reports=_build_limits(document), shape=_build_shape(document))


def _build_shape(document: dict[str, Any]) -> Shape | None:
    if "shape" not in document:
        return None
    words = document["shape"]
    if isinstance(words, dict):
        raise SurveyError(
            f'A shape is a line above all tables, such as shape = ["falling from 50"]; got the table {words!r}.'
        )
    return Shape.of(words)


def _build_limits(document: dict[str, Any]) -> int | None:
    if "limits" not in document:
        return None
    limits = _table(document, "limits", "the survey")
    _refuse_unknown("[limits]", limits, ("reports",))
    most = limits.get("reports")
    if type(most) is not int or most < 1:
        raise SurveyError(
            f"[limits] needs reports, a whole number of at least 1: how many one person may make; got {most!r}. "
            f"Write reports = 1, or leave [limits] out."
        )
    return most


def _build_alphabet(table: dict[str, Any], place: str) -> Alphabet:
    if table.get("kind") == "pairs":
        raise SurveyError(
            f'[{place}] has the kind "pairs", which is now "attributes", for two or more: write kind = "attributes". '
            f"Its tables [{place}.first] and [{place}.second] may then be called by what they hold, such as "
            f"[{place}.age], and so must the columns of files, the names in queries and the tables of a product."
        )
    build = _choose(ALPHABETS, table, place)
    if build is Attributes:
        inner = {name: _table(table, name, f"[{place}]") for name in table if name != "kind"}
        return Attributes(**{name: _build_alphabet(one, f"{place}.{name}") for name, one in inner.items()})
    return build(**_arguments(build, table, place))


def _build_mechanism(table: dict[str, Any], alphabet: Alphabet, place: str) -> Mechanism:
    build: Callable[..., Mechanism] = _choose(MECHANISMS, table, place)
    if build is Product:
        return _build_product(table, alphabet, place)
    arguments = _arguments(build, table, place, given=("alphabet", "promise"))
    if "outputs" in arguments:
        arguments["outputs"] = _build_alphabet(_table(table, "outputs", place), f"{place}.outputs")
    if build is Remapped:
        arguments["mechanism"] = _build_mechanism(_table(table, "mechanism", place), alphabet, f"{place}.mechanism")
        return build(**arguments)
    return build(alphabet=alphabet, **arguments)


def _build_product(table: dict[str, Any], alphabet: Alphabet, place: str) -> Product:
    if not isinstance(alphabet, Attributes):
        raise SurveyError(f'[{place}] of kind "product" needs an alphabet of kind "attributes".')
    _refuse_unknown(f"[{place}]", table, ("kind", *alphabet.names))
    named = zip(alphabet.names, alphabet.alphabets, strict=True)
    parts = {name: (_table(table, name, f"[{place}]"), one) for name, one in named}
    return Product(**{name: _build_mechanism(inner, one, f"{place}.{name}") for name, (inner, one) in parts.items()})


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


def _declaration(thing: Alphabet | Mechanism) -> dict[str, Any]:
    """Return the kind and the settings of an alphabet or a mechanism, those at their defaults left out.

    A mechanism's own alphabet is left out too, for it stands in a table of its own, and so is a promise, which no
    survey holds: it was checked when the mechanism was made.
    """
    settings: dict[str, Any] = {"kind": _kind(thing)}
    if isinstance(thing, Alphabet) and thing.declared is not None:
        return settings | dict(thing.declared)
    if isinstance(thing, Attributes | Product):
        inner: Sequence[Alphabet | Mechanism] = thing.alphabets if isinstance(thing, Attributes) else thing.mechanisms
        return settings | {name: _declaration(part) for name, part in zip(thing.names, inner, strict=True)}
    if isinstance(thing, Alphabet) and thing.declared is not None:
        return settings | dict(thing.declared)
    for field in fields(thing):  # type: ignore[arg-type]  # all are dataclasses
        value = getattr(thing, field.name)
        if field.name in ("alphabet", "promise"):
            continue
        if isinstance(value, Alphabet | Mechanism):
            settings[field.name] = _declaration(value)
        elif isinstance(value, np.ndarray) or value != field.default:
            settings[field.name] = value
    return settings


def _kind(thing: Alphabet | Mechanism) -> str:
    if isinstance(thing, Mechanism):
        return thing.kind
    return next((name for name, build in ALPHABETS.items() if build is type(thing)), type(thing).__name__)


def _plain(value: Any) -> Any:
    """Return a declaration as JSON has it."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def _toml_table(place: str, declaration: dict[str, Any], most: int | None) -> list[str]:
    """Return a declaration as a table, and below it those that it is made of."""
    inner = {name: value for name, value in declaration.items() if isinstance(value, dict)}
    plain = [f"{_key(name)} = {_toml(value, most)}" for name, value in declaration.items() if name not in inner]
    below = [line for name, value in inner.items() for line in _toml_table(f"{place}.{_key(name)}", value, most)]
    return ["", f"[{place}]", *plain, *below]


def _key(name: str) -> str:
    """Return a name as TOML has it: in quotation marks where it has blanks or other letters than English ones."""
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else _toml(name)


def _toml(value: object, most: int | None = None) -> str:
    if isinstance(value, np.ndarray):
        if most is None or value.size <= most:
            return json.dumps(value.tolist())
        return f"[]  # {counted(value.shape[0], 'row')} of {value.shape[1]}, not shown"
    if isinstance(value, tuple):
        shown = ", ".join(_toml(one) for one in value[:most])
        more = 0 if most is None else len(value) - most
        return f"[{shown}]" + (f"  # and {more:,} more" if more > 0 else "")
    # JSON's texts are TOML's too, but for the one control character that JSON leaves as it is.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
