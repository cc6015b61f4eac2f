"""Survey: the TOML file that devices and the curator share.

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

Some mechanisms need tables, numbers that take numerical work to make. A device cannot make them from the survey, so the
document holds them, with a digest of their own behind the survey's fingerprint. They are the same on every machine
(:mod:`confide.values.portable`).
"""

from __future__ import annotations

import contextlib
import inspect
import json
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from confide.errors import ConfideError, InvalidParameterError, SurveyError, TooLargeError
from confide.evidence.shapes import Shape
from confide.mechanisms import MECHANISMS, Mechanism, Product, TwoRounds
from confide.mechanisms.base import WITHOUT_TABLES
from confide.mechanisms.randomized_response import UnaryEncoding
from confide.mechanisms.rounds import between_rounds
from confide.mechanisms.sampling import Permanent, as_permanents
from confide.values import ALPHABETS, Alphabet, Attributes
from confide.values.checks import check_choice, check_count, check_positive, require_kinds, settle
from confide.values.dates import STEPS
from confide.values.portable import canonical_json, fingerprint_of, read_json
from confide.values.wording import Shown, counted, suggestion

Builder = TypeVar("Builder")

PERMANENT = "permanent"
"""In ``[limits]``: noise that each person's secret determines."""

TEXTS = ("simulated", "shuffler", "results", "every")
"""What a survey may say in a text of its own: empty ones are omitted to keep older fingerprints."""

CALLED = ("name", "title", "language")
"""What a survey is called, and in which language: no part of its fingerprint."""

PUBLIC = "public"
"""As ``results``: whoever takes part may see the result."""

CONTENT_KEYS = ("shape", *TEXTS, "alphabet", "mechanism", "limits", "groups")
"""What a survey says but for how it is called: what its fingerprint is of."""


LARGEST_DOCUMENT = 5_000_000
"""Bytes of a survey that a device loads: what a page or an application can carry without anybody waiting for it."""


def declaration_of(thing: Alphabet | Mechanism) -> dict[str, Any]:
    """Return the kind and non-default settings of an alphabet or mechanism.

    A mechanism's own alphabet is left out too, for it stands in a table of its own, and so is a promise, which no
    survey holds: it was checked when the mechanism was made.
    """
    # A class under another alphabet is none of its kind unless it says so: it may be built in another way.
    kind = thing.kind if isinstance(thing, Mechanism) else vars(type(thing)).get("kind", type(thing).__name__)
    settings: dict[str, Any] = {"kind": kind}
    found = thing.declared
    if found is None:  # settings that have their default are left out, so that new ones keep old fingerprints
        own = [field for field in fields(thing) if field.name not in ("alphabet", "promise")]  # type: ignore[arg-type]
        stated = [(field.name, getattr(thing, field.name), field.default) for field in own]
        always = np.ndarray | Alphabet | Mechanism
        found = {name: value for name, value, usual in stated if isinstance(value, always) or value != usual}
    parts = {name: declaration_of(one) for name, one in found.items() if isinstance(one, Alphabet | Mechanism)}
    return settings | dict(found) | parts


def parts_of(mechanism: Mechanism, place: str = "mechanism") -> Iterator[tuple[str, Mechanism]]:
    """Yield a mechanism and its inner ones, with their sections."""
    yield place, mechanism
    named = {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}  # type: ignore[arg-type]
    if isinstance(mechanism, Product):
        named = dict(zip(mechanism.names, mechanism.mechanisms, strict=True))
    for name, one in named.items():
        if isinstance(one, Mechanism):
            yield from parts_of(one, f"{place}.{name}")


def json_of(value: Any) -> Any:
    """Return a declaration for JSON.

    Attributes become lists: their order matters, and canonical JSON sorts keys.

    >>> from confide import Attributes, Hours, Weekdays
    >>> json_of(declaration_of(Attributes(hour=Hours(), day=Weekdays())))
    {'kind': 'attributes', 'names': ['hour', 'day'], 'alphabets': [{'kind': 'hours'}, {'kind': 'weekdays'}]}
    """
    if isinstance(value, dict) and value.get("kind") == "attributes":
        parts = {name: json_of(one) for name, one in value.items() if name != "kind"}
        return {"kind": "attributes", "names": list(parts), "alphabets": list(parts.values())}
    if isinstance(value, dict):
        return {name: json_of(one) for name, one in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [json_of(one) for one in value] if isinstance(value, tuple) else value


def toml_table(place: str, declaration: dict[str, Any], most: int | None) -> list[str]:
    """Return a declaration as TOML lines, inner tables below."""
    inner = {name: value for name, value in declaration.items() if isinstance(value, dict)}
    plain = [f"{_key(name)} = {toml_value(value, most)}" for name, value in declaration.items() if name not in inner]
    below = [line for name, value in inner.items() for line in toml_table(f"{place}.{_key(name)}", value, most)]
    return ["", f"[{place}]", *plain, *below]


def _key(name: str) -> str:
    """Return a TOML key, quoted if it is not a bare key."""
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else toml_value(name)


def toml_value(value: object, most: int | None = None) -> str:
    """Return a value as TOML; shorten lists longer than `most`.

    >>> toml_value(("a", "b", "c"), 2)
    '["a", "b"]  # and 1 more'
    """
    if isinstance(value, np.ndarray):
        if most is None or value.size <= most:
            return json.dumps(value.tolist())
        return f"[]  # {counted(value.shape[0], 'row')} of {value.shape[1]}, not shown"
    if isinstance(value, tuple):
        shown = ", ".join(toml_value(one) for one in value[:most])
        more = 0 if most is None else len(value) - most
        return f"[{shown}]" + (f"  # and {more:,} more" if more > 0 else "")
    # JSON's texts are TOML's too, but for the one control character that JSON leaves as it is.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def tables_of(mechanism: Mechanism) -> dict[str, dict[str, Any]]:
    """Return the tables of a mechanism and its parts, by survey section.

    >>> from confide import Grid, Integers, TruncatedGeometric, TruncatedPlanarLaplace
    >>> tables_of(TruncatedGeometric(Integers(0, 9), 1.0))
    {}
    >>> list(tables_of(TruncatedPlanarLaplace(Grid(2, 2), 1.0))["mechanism"])
    ['quadrant']
    """
    return {place: dict(one.tables) for place, one in parts_of(mechanism) if one.tables}


def check_tables(given: dict[str, Any], mechanism: Mechanism) -> None:
    """Reject tables that differ from the mechanism's own by any bit."""
    own = tables_of(mechanism)
    _require_same_keys("tables", given, own)
    for place, tables in own.items():
        _require_same_keys(f"tables of {place}", given[place], tables)
        for name, table in tables.items():
            if given[place][name] != table:
                raise SurveyError(
                    f"The table {name} of {place} is not the one that this survey's mechanism has. Write the survey "
                    f"again with: confide export survey.toml -o survey.json"
                )


def check_bits(mechanism: Mechanism) -> None:
    """Reject reports with more bits than a device makes."""
    for place, one in parts_of(mechanism):
        if isinstance(one, UnaryEncoding) and one.alphabet.size > 2**20:  # 1 MB of text
            raise TooLargeError(
                f"A report of [{place}] has a bit for each of {one.alphabet.size:,} values, and a device makes at "
                f"most {2**20:,}. Use fewer or coarser values, or a mechanism that reports one of them."
            )


def _require_same_keys(what: str, given: object, own: dict[str, Any]) -> None:
    names = set(given) if isinstance(given, dict) else None
    if names != set(own):
        got = ", ".join(sorted(map(str, names))) if names is not None else repr(given)
        raise SurveyError(
            f"The {what} should be {', '.join(own) or 'left out'}; got {got or 'none'}. Write the survey again with: "
            f"confide export survey.toml -o survey.json"
        )


@contextlib.contextmanager
def _shallow() -> Iterator[None]:
    """Reject input nested deeper than Python can follow."""
    try:
        yield
    except RecursionError:
        raise SurveyError("It is nested too deep: a survey has a few tables within tables. Is it one?") from None


@dataclass(frozen=True)
class Survey(Shown):
    """Contract between devices and curator: values, mechanism and limits.

    Attributes
    ----------
    mechanism
        The mechanism, which holds the alphabet.
    name
        What a value is called, such as ``age``. It is also the default column of a file of values.
    title
        A heading.
    most_reports
        Most reports of one person, from the survey's ``[limits]``; None without a limit.
    most_epsilon
        Largest total epsilon of all reports of one person; None without a limit.
    is_permanent
        Whether noise must be permanent; a report then needs the person's secret (:class:`Permanent`).
    shape
        The declared shape of the distribution, or None. It is part of the fingerprint that reports carry, so nobody can
        add it after seeing reports.
    groups
        The survey's ``[groups]``: columns that a report may carry without noise, with their allowed values, such as
        ``{"town": ("Oslo", "Bern")}``.
    simulated
        What made-up people are drawn from, such as ``two humps``; empty for a real survey. It is part of the
        fingerprint, so simulated reports can never pass for real ones.
    shuffler
        Who mixes the reports before anybody else sees them, such as ``the hospital's IT``; empty if nobody does. It is
        part of the fingerprint, because the central promise takes trust in them.
    results
        ``"public"`` if whoever takes part may see the result; empty if only the curator may. It is part of the
        fingerprint, because people are told.
    language
        The language of title and answers, such as ``de``; the page to take part speaks it too. Empty for English.
    every
        How often the same people are asked: ``"day"``, ``"week"``, ``"month"``, ``"quarter"`` or ``"year"``; empty if
        once. It is part of the fingerprint, because people are told. A wave is called by its date, such as 2026-W09.

    Examples
    --------
    >>> from confide import Integers, TruncatedGeometric
    >>> survey = Survey(TruncatedGeometric(Integers(0, 99, unit="year"), epsilon=0.05), name="age", most_reports=1)
    >>> Survey.from_json(survey.to_json()).fingerprint == survey.fingerprint
    True
    """

    mechanism: Mechanism
    name: str = "value"
    title: str = "Untitled survey"
    most_reports: int | None = None
    shape: Shape | None = None
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    most_epsilon: float | None = None
    is_permanent: bool = False
    simulated: str = ""
    shuffler: str = ""
    results: str = ""
    language: str = ""
    every: str = ""

    def __post_init__(self) -> None:
        for name in (*TEXTS, "language"):
            if getattr(self, name) != "":
                _text(name, getattr(self, name))
        check_choice("results", self.results or PUBLIC, (PUBLIC,))
        check_choice("every", self.every or "week", STEPS)
        _check_language(self.language)
        require_kinds(Survey, vars(self))
        given: Mapping[str, Any] = self.groups  # as a file may have them
        for name, values in given.items():
            are_texts = isinstance(values, list | tuple) and all(isinstance(one, str) and one for one in values)
            if not name.strip() or name in ("day", "count") or not are_texts or len(set(values)) < max(2, len(values)):
                raise SurveyError(
                    f"[groups] has names, none of them day or count, each with a list of two different texts or more, "
                    f'such as town = ["Oslo", "Bern"]; got {name!r} = {values!r}.'
                )
        # Sorted by name, as canonical JSON sorts them.
        settle(self, groups={name: tuple(given[name]) for name in sorted(given)})
        if self.shape is not None:
            settle(self, shape=self.shape.declared())
            self.shape.check(self.alphabet, self.name)  # refused now rather than when the reports are there
        if self.most_reports is not None:
            check_count("most_reports", self.most_reports, 1)
        if self.most_epsilon is None:
            return
        check_positive("most_epsilon", self.most_epsilon)
        settle(self, most_epsilon=float(self.most_epsilon))
        if self.cost is None:
            raise InvalidParameterError(
                f"A total epsilon needs a promise with one epsilon; {self.mechanism.guarantee.terms} has none. Limit "
                f"the number of reports instead."
            )
        if Fraction(repr(self.most_epsilon)) < self.cost:
            raise InvalidParameterError(
                f"A total epsilon of {self.most_epsilon!r} does not allow one report, which takes {float(self.cost)!r}."
            )

    @property
    def alphabet(self) -> Alphabet:
        """The values a person may have."""
        return self.mechanism.alphabet

    @cached_property
    def fingerprint(self) -> str:
        """Digest of everything that defines the reports, without names.

        It is computed from canonical JSON (`portable.fingerprint_of`), so every language can compute it.

        >>> from confide import RandomizedResponse, Categories
        >>> mechanism = RandomizedResponse(Categories(["yes", "no"]), 1.0)
        >>> Survey(mechanism, "answer").fingerprint == Survey(mechanism, "reply").fingerprint
        True
        """
        return fingerprint_of(self._content)

    @property
    def contract(self) -> str:
        """Mechanism, limit and shape in words, to compare surveys in messages.

        >>> from confide import RandomizedResponse, Categories
        >>> Survey(RandomizedResponse(Categories(["yes", "no"]), 1.0), most_reports=1).contract
        "RandomizedResponse(alphabet=Categories(['yes', 'no']), epsilon=1.0), at most 1 report of one person"
        """
        most = "" if self.most_reports is None else f", at most {counted(self.most_reports, 'report')} of one person"
        most += "" if self.most_epsilon is None else f", at most epsilon {self.most_epsilon:g} in all"
        most += ", with permanent noise" if self.is_permanent else ""
        shape = "" if self.shape is None else f", declared {self.shape}"
        people = f", of people made up from {self.simulated}" if self.simulated else ""
        mixed = f", shuffled by {self.shuffler}" if self.shuffler else ""
        shown = ", with public results" if self.results else ""
        again = f", asked every {self.every}" if self.every else ""
        return f"{self.mechanism!r}{most}{shape}{people}{mixed}{shown}{again}"

    @property
    def needs_secret(self) -> bool:
        """Whether a report needs the person's secret for permanent noise."""
        return self.is_permanent or self.mechanism.lasting is not None

    @property
    def cost(self) -> Fraction | None:
        """Exact epsilon of a fresh report, or of a permanent value.

        Under two rounds it is the promise of any number of reports of one value. They share one output of the permanent
        round, so their promises do not add up. None if the promise has no single epsilon, as with several attributes.

        >>> from confide import Integers, TruncatedGeometric, TwoRounds
        >>> ages = Integers(0, 99)
        >>> Survey(TwoRounds(TruncatedGeometric(ages, 0.05), TruncatedGeometric(ages, 0.02))).cost
        Fraction(1, 20)
        """
        epsilon = getattr(self.mechanism.lasting or self.mechanism.guarantee, "epsilon", None)
        return None if epsilon is None or math.isinf(epsilon) else Fraction(repr(epsilon))

    def privatize(self, values: ArrayLike, *, rng: Any = None, taken: bool = False) -> Any:
        """Privatize values; the fingerprint binds permanent noise to this survey.

        >>> from confide import Categories, Permanent, RandomizedResponse
        >>> survey = Survey(RandomizedResponse(Categories(["yes", "no"]), 1.0))
        >>> len(set(survey.privatize(["yes"] * 365, rng=Permanent(b"sixteen bytes!!!")).tolist()))
        1
        """
        if people := as_permanents(rng):
            bound = [one.bound_to(self.fingerprint) for one in people]
            rng = bound[0] if isinstance(rng, Permanent) else bound
        elif rng is None and self.is_permanent:
            raise InvalidParameterError(
                "This survey asks for permanent noise, from a secret of the person: give rng=Permanent(secret), or a "
                "seed to simulate."
            )
        return self.mechanism.privatize(values, rng=rng, taken=taken)

    def text(self, most_entries: int | None = None) -> str:
        """Return the survey as TOML; shorten lists longer than `most_entries`.

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
        lines = [f"name = {toml_value(self.name)}", f"title = {toml_value(self.title)}"]
        lines += [] if self.shape is None else [f"shape = {toml_value(self.shape.words)}"]
        lines += [f"{name} = {toml_value(getattr(self, name))}" for name in ("language", *TEXTS) if getattr(self, name)]
        tables = self._declarations().items()
        return "\n".join(lines + [line for place, one in tables for line in toml_table(place, one, most_entries)])

    def to_json(self) -> str:
        """Return the survey and its fingerprint as canonical JSON for devices.

        Keys are those of the TOML file. Defaults are left out, so surveys of equal content are equal texts. Tables that
        need numerical work are included (:func:`tables_of`); their fingerprint follows the survey's.

        >>> from confide import RandomizedResponse, Categories
        >>> text = Survey(RandomizedResponse(Categories(["yes", "no"]), 1.0), "answer", "A question").to_json()
        >>> print(text.replace(',"', ', "'))  # doctest: +NORMALIZE_WHITESPACE
        {"alphabet":{"kind":"categories", "values":["yes", "no"]}, "fingerprint":"8fce5e0af4331921df5f4da142c0db7b",
         "mechanism":{"epsilon":1, "kind":"randomized-response"}, "name":"answer", "title":"A question"}
        """
        check_bits(self.mechanism)
        tables = tables_of(self.mechanism)
        text = canonical_json(self.record() | ({"tables": tables, "fingerprint": self.pin} if tables else {}))
        size = len(text.encode())
        if size > LARGEST_DOCUMENT:
            raise TooLargeError(
                f"The survey takes {size / 1e6:,.1f} MB as JSON, mostly for {'its tables' if tables else 'its lists'}, "
                f"and a device should not load more than {LARGEST_DOCUMENT / 1e6:g} MB. {WITHOUT_TABLES}"
            )
        return text

    @cached_property
    def pin(self) -> str:
        """Fingerprint that applications pin, followed by that of any tables.

        >>> from confide import Grid, TruncatedPlanarLaplace
        >>> fingerprint, tables = Survey(TruncatedPlanarLaplace(Grid(2, 2), 1.0)).pin.split("-")
        >>> len(fingerprint), len(tables)
        (32, 32)
        """
        return _pin(self.fingerprint, tables_of(self.mechanism))

    @classmethod
    @_shallow()
    def from_json(cls, text: str) -> Survey:
        """Read what :meth:`to_json` wrote, and check that its fingerprint fits.

        >>> from confide import RandomizedResponse, Categories
        >>> survey = Survey(RandomizedResponse(Categories(["yes", "no"]), 1.0), "answer")
        >>> Survey.from_json(survey.to_json()) == survey
        True
        """
        try:
            document = read_json(text)
        except ValueError as error:
            raise SurveyError(f"This is not valid JSON: {error}.") from None
        if not isinstance(document, dict):
            raise SurveyError(f"A survey is a JSON object; got {type(document).__name__}.")
        stated, has_tables, tables = document.pop("fingerprint", None), "tables" in document, document.pop("tables", {})
        content = {key: document[key] for key in CONTENT_KEYS if key in document}
        refuse_files(document)
        survey = build_survey(document)
        check_bits(survey.mechanism)
        check_tables(tables, survey.mechanism)
        if has_tables and not tables:
            raise SurveyError("The tables are empty. A survey without tables leaves them out.")
        # That of the content as it stands, which is what a device looks at, and that of what it means.
        for found in (_pin(fingerprint_of(content), tables), _pin(survey.fingerprint, tables)):
            if stated != found:
                raise SurveyError(
                    f"The survey states the fingerprint {stated!r}, and its content has {found!r}: one of the two was "
                    f"changed. Write it again with: confide export survey.toml -o survey.json"
                )
        return survey

    def record(self) -> dict[str, Any]:
        """Return what :meth:`to_json` writes, as lists and dictionaries."""
        called = {name: getattr(self, name) for name in CALLED if name != "language" or self.language}
        return called | self._content | {"fingerprint": self.fingerprint}

    @property
    def _content(self) -> dict[str, Any]:
        """What the fingerprint is of: all but what the survey is called."""
        declared: dict[str, Any] = {} if self.shape is None else {"shape": list(self.shape.words)}
        declared |= {name: getattr(self, name) for name in TEXTS if getattr(self, name)}
        return declared | {place: json_of(declaration) for place, declaration in self._declarations().items()}

    def _declarations(self) -> dict[str, dict[str, Any]]:
        """Return the tables; empty ones are omitted to keep older fingerprints."""
        tables = {"alphabet": declaration_of(self.alphabet), "mechanism": declaration_of(self.mechanism)}
        limits: dict[str, Any] = {"reports": self.most_reports, "epsilon": self.most_epsilon}
        limits["noise"] = PERMANENT if self.is_permanent else None
        stated = {name: value for name, value in limits.items() if value is not None}
        tables |= {"limits": stated} if stated else {}
        return tables | ({"groups": dict(self.groups)} if self.groups else {})


def _check_language(code: str) -> None:
    if code and not re.fullmatch("[a-z]{2,3}(-[A-Za-z0-9]{2,8})*", code):
        raise SurveyError(f"language is a code such as en, de or pt-BR; got {code!r}.")


def _pin(fingerprint: str, tables: dict[str, Any]) -> str:
    return f"{fingerprint}-{fingerprint_of(tables)}" if tables else fingerprint


def load_survey(path: str | Path) -> Survey:
    """Read a survey file: TOML, or JSON from ``confide export``.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from confide import Integers, TruncatedGeometric
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "survey.json"
    ...     _ = path.write_text(Survey(TruncatedGeometric(Integers(0, 9), epsilon=1.0)).to_json())
    ...     load_survey(path).mechanism
    TruncatedGeometric(alphabet=Integers(0, 9), epsilon=1.0)
    """
    require_kinds(load_survey, locals())
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        command = f"export survey.toml -o {path}" if Path(path).suffix == ".json" else f"new {path}"
        raise SurveyError(f"There is no survey file {str(path)!r}. Write one with: confide {command}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SurveyError(f"The survey file {str(path)!r} cannot be read: {error}") from None
    try:
        is_json = text.lstrip().startswith("{")  # as no TOML does
        return Survey.from_json(text) if is_json else parse_survey(text, Path(path).parent)
    except ConfideError as error:
        raise SurveyError(f"{path}: {error}") from None


@_shallow()
def parse_survey(text: str, folder: str | Path = "") -> Survey:
    r"""Read a survey from TOML; its file names are relative to `folder`.

    >>> text = '[alphabet]\nkind = "integers"\nlow = 0\nhigh = 9\n[mechanism]\nkind = "geometric"\nepsilon = 1.0'
    >>> parse_survey(text).mechanism
    Geometric(alphabet=Integers(0, 9), epsilon=1.0)
    """
    require_kinds(parse_survey, locals())
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SurveyError(f"This is not valid TOML: {error}.") from None
    _look_beside(document, Path(folder))
    return build_survey(document)


def _look_beside(table: dict[str, Any], folder: Path) -> None:
    """Resolve file names of holes relative to the survey's folder."""
    if isinstance(table.get("holes"), str):
        table["holes"] = str(folder / table["holes"])
    for one in table.values():
        if isinstance(one, dict):
            _look_beside(one, folder)


def refuse_files(content: object) -> None:
    """Reject file names in JSON: untrusted input must not open files."""
    holes = content.get("holes") if isinstance(content, dict) else None
    if isinstance(holes, str):
        raise SurveyError(
            f"In JSON holes are cells, as [row, column], and no file; got {holes[:60]!r}. "
            f"Name the file in a survey.toml, which confide export writes as JSON."
        )
    inner = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
    for one in inner:
        refuse_files(one)


def build_survey(document: dict[str, Any]) -> Survey:
    """Build a survey from what its file holds, as dictionaries and lists."""
    _refuse_unknown("the survey", document, (*CALLED, *CONTENT_KEYS))
    alphabet = _build_alphabet(_table(document, "alphabet", "the survey"), "alphabet")
    mechanism = _build_mechanism(_table(document, "mechanism", "the survey"), alphabet, "mechanism")
    settings: dict[str, Any] = {key: _text(key, document[key]) for key in (*CALLED, *TEXTS) if key in document}
    if "limits" in document:
        limits = _table(document, "limits", "the survey")
        _refuse_unknown("[limits]", limits, ("reports", "epsilon", "noise"))
        most, total, noise = (limits.get(name) for name in ("reports", "epsilon", "noise"))
        if not limits or ("reports" in limits and (type(most) is not int or most < 1)):
            raise SurveyError(
                f"[limits] needs reports, a whole number of at least 1: how many one person may make; got {most!r}. "
                f"Write reports = 1, or leave [limits] out."
            )
        if "noise" in limits and noise != PERMANENT:
            raise SurveyError(
                f'[limits] has noise = {noise!r}. Write noise = "{PERMANENT}", or leave it out for fresh noise.'
            )
        settings |= {"most_reports": most, "most_epsilon": total, "is_permanent": noise == PERMANENT}
    words: Any = document.get("shape")
    if isinstance(words, dict):
        raise SurveyError(
            f'A shape is a line above all tables, such as shape = ["falling from 50"]; got the table {words!r}.'
        )
    shape = Shape.of(words) if "shape" in document else None
    groups = _table(document, "groups", "the survey") if "groups" in document else {}
    return Survey(mechanism, **settings, shape=shape, groups=groups)


def _build_alphabet(table: dict[str, Any], place: str) -> Alphabet:
    if table.get("kind") == "pairs":
        raise SurveyError(
            f'[{place}] has the kind "pairs", which is now "attributes", for two or more: write kind = "attributes". '
            f"Its tables [{place}.first] and [{place}.second] may then be called by what they hold, such as "
            f"[{place}.age], and so must the columns of files, the names in queries and the tables of a product."
        )
    build = _choose(ALPHABETS, table, place)
    if build is Attributes:
        if isinstance(names := table.get("names"), list):  # as JSON has it; in TOML an attribute's table
            _refuse_unknown(f"[{place}]", table, ("kind", "names", "alphabets"))
            alphabets, differ = table.get("alphabets"), len(set(map(str, names))) == len(names)
            are_names = differ and "kind" not in names and all(isinstance(name, str) for name in names)
            if not isinstance(alphabets, list) or len(alphabets) != len(names) or not are_names:
                raise SurveyError(
                    f"[{place}] needs names, which differ, and as many alphabets, in two lists; got {table!r}."
                )
            table = dict(zip(names, alphabets, strict=True))
        inner = {name: _table(table, name, f"[{place}]") for name in table if name != "kind"}
        return Attributes(**{name: _build_alphabet(one, f"{place}.{name}") for name, one in inner.items()})
    return build(**_arguments(build, table, place))


def _build_mechanism(table: dict[str, Any], alphabet: Alphabet, place: str) -> Mechanism:
    build: Callable[..., Mechanism] = _choose(MECHANISMS, table, place)
    if build is Product:
        if alphabet.attributes is None:
            raise SurveyError(f'[{place}] of kind "product" needs an alphabet of kind "attributes".')
        _refuse_unknown(f"[{place}]", table, ("kind", *alphabet.attributes.names))
        named = zip(alphabet.attributes.names, alphabet.attributes.alphabets, strict=True)
        parts = {name: (_table(table, name, f"[{place}]"), one) for name, one in named}
        return Product(
            **{name: _build_mechanism(inner, one, f"{place}.{name}") for name, (inner, one) in parts.items()}
        )
    if build is TwoRounds:
        _arguments(TwoRounds, table, place)
        permanent = _build_mechanism(_table(table, "permanent", f"[{place}]"), alphabet, f"{place}.permanent")
        between = between_rounds(permanent)
        return TwoRounds(permanent, _build_mechanism(_table(table, "fresh", f"[{place}]"), between, f"{place}.fresh"))

    arguments = _arguments(build, table, place, given=("alphabet", "promise"))
    for name, value in arguments.items():
        inner = f"{place}.{name}"
        if name == "outputs" or (isinstance(value, dict) and value.get("kind") in ALPHABETS):
            arguments[name] = _build_alphabet(_table(table, name, place), inner)
        elif name == "mechanism" or (isinstance(value, dict) and value.get("kind") in MECHANISMS):
            arguments[name] = _build_mechanism(_table(table, name, place), alphabet, inner)
    if "alphabet" in inspect.signature(build).parameters:
        arguments["alphabet"] = alphabet
    return build(**arguments)


def _choose(known: Mapping[str, Builder], table: dict[str, Any], place: str) -> Builder:
    if "kind" not in table:
        raise SurveyError(f"[{place}] needs a kind: one of {', '.join(known)}.")
    kind = table["kind"]
    if not isinstance(kind, str) or kind not in known:
        raise SurveyError(
            f"[{place}] has the unknown kind {kind!r}{suggestion(kind, known)}. Known: {', '.join(known)}."
        )
    return known[kind]


def _arguments(
    build: Callable[..., object], table: dict[str, Any], place: str, given: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return a table's entries as arguments; reject unknown or missing ones."""
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
    unknown = next((key for key in table if key not in names), None)
    if unknown is not None:
        meant = suggestion(unknown, names)
        raise SurveyError(f"{place} has the unknown key {unknown!r}{meant}. Known: {', '.join(names)}.")
