"""A first survey, proposed from the profile of a file.

Everything that is proposed is a round number or a word that ten people share: a survey is public, and a range that ends
at the highest salary tells the highest salary.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from confide.data.files.profiles import FEWEST, Column, Profile
from confide.errors import ConfideError, DataFileError, InvalidParameterError
from confide.mechanisms import Mechanism
from confide.plans.levels import EpsilonLevel, levels, usual_epsilon
from confide.plans.ranking import gentle_epsilon, rank, usual_mechanism
from confide.surveys.survey import Survey, build_survey
from confide.values import Alphabet, UnorderedGeometry
from confide.values.categories import fold_word
from confide.values.wording import listed

WHY_ROUND = "round numbers, not the lowest and highest of the file: a survey is public, and they would be too"
"""Why a range ends where it ends."""

KINDS = ("amounts", "numbers", "scale", "words", "dates", "hours", "places")
"""What a column may hold."""

SCALES = ((1, 5), (0, 5), (1, 7), (0, 10), (1, 10))
"""Usual marks, the narrowest first."""

ORDERED = (
    ("very bad", "bad", "neutral", "good", "very good"),
    ("very poor", "poor", "fair", "good", "very good", "excellent"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"),
    ("never", "rarely", "sometimes", "often", "always"),
    ("low", "medium", "high"),
)
"""Words that have an order."""

AFFIXES = {
    "$": "dollar",
    "\u20ac": "euro",
    "\u00a3": "pound",
    "\u00a5": "yen",
    "%": "percent",
    "usd": "dollar",
    "eur": "euro",
    "gbp": "pound",
    "chf": "franc",
    "kg": "kg",
    "g": "g",
    "km": "km",
    "m": "m",
    "cm": "cm",
    "h": "hour",
    "hours": "hour",
    "min": "minute",
    "years": "year",
    "y": "year",
}
"""Units by what stands around a number."""

PERSON = "id person user secret key member respondent employee customer patient uuid email phone who own pseudonym"

NAMES = {
    "age": {"age", "alter", "edad", "eta"},
    "person": set(PERSON.split()),
    "wave": {"week", "wave", "month", "quarter", "round", "date", "day", "year"},
    "latitude": {"lat", "latitude"},
    "longitude": {"lon", "lng", "long", "longitude"},
}
"""Words in headings, and what they say of a column."""

MOST_WORDS = 50
"""Most answers of a question that is proposed."""


@dataclass(frozen=True)
class Setting:
    """What a person may change of a proposal.

    Attributes
    ----------
    kind
        What the values are, one of `KINDS`.
    unit
        Unit of numbers; empty if unknown.
    low, high, width
        First and last edge of numbers, and the width of a bin.
    words
        The answers, in order.
    """

    kind: str
    unit: str = ""
    low: float = 0.0
    high: float = 0.0
    width: float = 0.0
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Asked:
    """A column or a pair that a survey may ask for.

    Attributes
    ----------
    columns
        The column, or latitude and longitude.
    setting
        What is proposed of it.
    others
        The kinds that it may also be, besides the one that is proposed.
    score
        How likely it is the column that is meant.
    unit_words
        What the unit was guessed from, such as "62% carry a $ sign".
    """

    columns: tuple[Column, ...]
    setting: Setting
    others: tuple[str, ...] = ()
    score: float = 0.0
    unit_words: str = ""

    @property
    def title(self) -> str:
        """How the columns are called in a sentence."""
        return listed([one.name for one in self.columns])

    def with_kind(self, kind: str) -> Setting:
        """Return what is proposed if the column is of another kind."""
        column = self.columns[0]
        if kind == self.setting.kind:
            return self.setting
        if kind == "words":
            return Setting(kind, words=_words(column))
        low, _, middle, upper, high = column.numbers_at
        return Setting(kind, self.setting.unit, *_edges(low, upper, middle, high))


@dataclass(frozen=True)
class Look:
    """Columns to ask for, and why others are left out.

    Attributes
    ----------
    profile
        The profile.
    candidates
        The columns that a survey may ask for, the likeliest first.
    left_out
        The other columns, and why.
    wave, person
        The columns that name the wave and the person of a row, where the same people answer again; empty otherwise.
    """

    profile: Profile
    candidates: tuple[Asked, ...]
    left_out: Mapping[str, str]
    wave: str = ""
    person: str = ""

    def candidate(self, names: Sequence[str]) -> Asked:
        """Return the candidate with these columns, or say why there is none."""
        known = [one.name for one in self.profile.columns]
        for one in self.candidates:
            if {column.name for column in one.columns} == set(names):
                return one
        for name in names:
            if name not in known:
                raise DataFileError(f"There is no column {name!r}. The columns are {', '.join(map(repr, known[:20]))}.")
        why = next((self.left_out[name] for name in names if name in self.left_out), "it is one of a pair")
        raise DataFileError(f"{listed(list(names))} cannot be asked for: {why}")


@dataclass(frozen=True)
class Proposal:
    """A survey that is proposed for a file.

    Attributes
    ----------
    candidate
        The columns.
    setting
        What was settled.
    survey
        The survey, with the balanced epsilon or the chosen one.
    reason
        Why this mechanism.
    people
        Number of people that the levels are for.
    """

    candidate: Asked
    setting: Setting
    survey: Survey
    reason: str
    people: int

    @property
    def question(self) -> str:
        """A query to begin with, or an empty text."""
        name, setting, alphabet = self.survey.name, self.setting, self.survey.alphabet
        if edges := getattr(alphabet, "edges", ()):
            middle = edges[len(edges) // 2]
            return f"{name} >= {float(middle):.12g}"
        if setting.kind in ("numbers", "scale") and not setting.words:
            return f"{name} >= {math.ceil((setting.low + setting.high) / 2) + 1}"
        if setting.words and setting.kind in ("words", "scale") and "'" not in setting.words[0]:
            word = setting.words[0]
            return f"{name} == {word}" if re.fullmatch("\\w+", word) else f"{name} == '{word}'"
        return ""

    @property
    def table(self) -> dict[str, Any]:
        """The values as a survey's file has them."""
        return _table(self.candidate, self.setting)

    @cached_property
    def levels(self) -> list[EpsilonLevel]:
        """The three choices of epsilon, and what each would show."""
        return levels(self.survey.mechanism, self.people)

    def at(self, level: str) -> Proposal:
        """Return the proposal at one of its levels."""
        found = {one.name: one.mechanism for one in self.levels if one.name}
        if level not in found:
            raise InvalidParameterError(f"The levels are {', '.join(found)}; got {level!r}.")
        return replace(self, survey=replace(self.survey, mechanism=found[level]))


def look_at(profile: Profile) -> Look:
    """Return what a profile offers.

    >>> from confide.data.files.profiles import profile_texts
    >>> column = profile_texts("pay", {f"${58 + number},000": 20 for number in range(20)})
    >>> found = look_at(Profile(400, False, 1, (column,))).candidates[0]
    >>> found.setting.unit, found.setting.high, found.unit_words
    ('dollar', 78000.0, '100% carry a $ sign')
    """
    names = Counter(column.name for column in profile.columns)
    left_out, found = dict[str, str](), list[Asked]()
    pair = _find_places(profile)
    for column in profile.columns:
        if pair is not None and column in pair.columns:
            continue
        if (
            why := "it has no name. Give it one."
            if not column.name
            else ("several columns have this name. Rename all but one." if names[column.name] > 1 else _fault(column))
        ):
            left_out[column.name] = why
            continue
        one = _candidate(column)
        if isinstance(one, Asked):
            found.append(one)
        else:
            left_out[column.name] = one
    found += [] if pair is None else [pair]
    wave, person = _find_waves(profile)
    ranked = sorted(found, key=lambda one: -one.score + 10 * (one.columns[0].name in (wave, person)))
    return Look(profile, tuple(ranked), left_out, wave, person)


def propose(
    look: Look, candidate: Asked, setting: Setting | None = None, name: str = "", *, is_ranked: bool = True
) -> Proposal:
    """Return a survey for a candidate, with the balanced epsilon.

    Ranking takes seconds; otherwise the mechanism is the usual one.
    """
    settled = setting or candidate.setting
    alphabet = _alphabet(candidate, settled)
    people = max(100, look.profile.rows)
    mechanism, reason = _mechanism(alphabet, people, is_ranked=is_ranked)
    title = "Place" if settled.kind == "places" else candidate.title.replace("_", " ").strip()
    survey = Survey(mechanism, name or name_of(candidate), title[:1].upper() + title[1:])
    if look.wave and look.wave not in [one.name for one in candidate.columns]:
        survey = replace(survey, every=_step(look), is_permanent=True)
    return Proposal(candidate, settled, survey, reason, people)


def name_of(candidate: Asked) -> str:
    """Return what one value is called in a survey and in queries."""
    if candidate.setting.kind == "places":
        return "place"
    name = candidate.columns[0].name
    return name if re.fullmatch("[^\\W\\d]\\w*", name) else (re.sub("\\W+", "_", name).strip("_0123456789") or "value")


def _fault(column: Column) -> str:  # noqa: PLR0911 (a rule a line)
    """Return why a column cannot be asked for; empty if it can."""
    filled, words = column.filled, set(re.split("[^a-z]+", column.name.lower()))
    if not filled:
        return "it is empty."
    if column.missing > filled:
        return f"it is blank in {_percent(column.missing, filled + column.missing)} of the rows."
    if column.distinct == 1:
        return "everybody has the same there, so there is nothing to learn."
    is_numeric = column.numbers + column.days + _written_days(column) > 0.6 * filled
    is_named = bool(words & NAMES["person"])
    is_apart = column.alone > 0.9 * filled and filled >= 2 * FEWEST
    if is_named and (is_apart or column.distinct > MOST_WORDS):
        return "it names people, and nothing of it could be published."
    if column.long > 0.2 * filled:
        return "it is free text, which cannot be blurred. Code the answers into a few words first."
    if is_apart and not is_numeric:
        return "it is different in nearly every row: names or free text. Code it into a few words first."
    if is_apart and not column.has_fractions and _is_running(column):
        return "it numbers the rows: it would name people."
    return ""


def _written_days(column: Column) -> int:
    """Return how many texts are dates such as 31.12.2026."""
    written = re.compile(r"9{1,4}([./-])9{1,2}\1 ?9{2,4}")
    return sum(number for shape, number in column.shapes.items() if written.fullmatch(shape) and shape != "9999-99-99")


def _is_running(column: Column) -> bool:
    """Whether distinct whole numbers look like row numbers or codes."""
    low, high = column.numbers_at[0], column.numbers_at[-1]
    is_dense = low is not None and high is not None and 0.7 < (high - low) / (0.9 * column.filled) < 1.4
    return is_dense or (set(column.shapes) == {"99999"} and (column.numbers_at[2] or 0) > 10**7)


def _candidate(column: Column) -> Asked | str:  # noqa: PLR0911 (a kind a line)
    """Return what a column may be asked for as, or why not."""
    filled = column.filled
    words = _words(column)
    shared = sum(number for text, number in column.words.items())
    fits_words = 2 <= len(words) <= MOST_WORDS and shared >= 0.6 * filled
    others = ("words",) if fits_words else ()
    if column.days > 0.6 * filled:
        return _dated(column, others)
    hours = sum(number for shape, number in column.shapes.items() if re.fullmatch("9{1,2}:99(:99)?", shape))
    if hours > 0.6 * filled:
        return Asked((column,), Setting("hours"), others, 1.0)
    if _written_days(column) > 0.6 * filled:
        return "it holds dates that are not of ISO 8601. Write them as 2026-03-01."
    if column.numbers > 0.6 * filled:
        return _numbered(column, others)
    if fits_words:
        lowered = {fold_word(one): one for one in words}
        order = next((one for one in ORDERED if set(lowered) <= set(one) and len(lowered) > 2), None)
        in_order = tuple(lowered[one] for one in order or () if one in lowered)
        kind = "scale" if in_order and shared == filled else "words"
        chosen = in_order if kind == "scale" else words
        return Asked((column,), Setting(kind, words=chosen), ("words",) if kind == "scale" else (), 2.0)
    if column.numbers + column.days > 0.2 * filled:
        return "it mixes numbers, dates and words. Split it, or correct it."
    return (
        f"it has {column.distinct:,} different texts, and those that {FEWEST} people share cover "
        f"{_percent(shared, filled)}. Group them first."
    )


def _words(column: Column) -> tuple[str, ...]:
    """Return the answers of a column of words, whatever their case."""
    found = dict[str, str]()
    for text in column.words:
        found.setdefault(fold_word(text), text)
    # By the alphabet: the order of how common they are is what the survey is to find out.
    return tuple(
        found[folded] for folded in sorted(found, key=lambda one: (one == "other", one != "yes", one)) if folded
    )


def _numbered(column: Column, others: tuple[str, ...]) -> Asked:
    affix, unit, unit_words = _unit(column)
    low, _, middle, _, high = column.numbers_at
    parts = set(re.split("[^a-z]+", column.name.lower()))
    if parts & NAMES["age"] and not affix and (high is None or high < 100):
        return Asked((column,), Setting("numbers", "year", 0, 99, 1), ("amounts", *others), 3.0)
    values = [float(text) for text in column.words if re.fullmatch("-?[0-9]{1,3}([.]0+)?", text)]
    shared = sum(column.words.values())
    scale = next((one for one in SCALES if values and one[0] <= min(values) and max(values) <= one[1]), None)
    is_whole = not column.has_fractions and not affix and len(values) == len(column.words)
    if scale is not None and is_whole and shared >= 0.9 * column.filled and len(values) > 2:
        return Asked((column,), Setting("scale", "point", *scale, 1), ("words", "amounts"), 2.5)
    if set(values) in ({0.0, 1.0}, {1.0, 2.0}) and is_whole and shared >= 0.9 * column.filled:
        return Asked((column,), Setting("words", words=tuple(sorted(column.words))), (), 2.0)
    low_edge, high_edge, width = _edges(low, column.numbers_at[3], middle, high)
    score = 4.0 if affix else 3.0 if column.distinct > 20 else 1.5
    return Asked((column,), Setting("amounts", unit, low_edge, high_edge, width), others, score, unit_words)


def _unit(column: Column) -> tuple[str, str, str]:
    """Return the marks around numbers, their unit, and how often."""
    found = Counter[str]()
    for shape, number in column.shapes.items():
        affix = re.sub("[-+0-9.,'\u2019\\s]+", "", shape)
        found[affix] += number
    (affix, number), *_ = found.most_common(1) or [("", 0)]
    if not affix and len(found) > 1:
        affix, number = next(((one, many) for one, many in found.most_common() if one), ("", 0))
        affix, number = (affix, number) if number > 0.1 * column.filled else ("", 0)
    unit = AFFIXES.get(affix.lower(), affix)
    if not affix:
        words = re.split("[^a-z]+", column.name.lower())
        unit = next((AFFIXES[one] for one in words if one in AFFIXES and len(one) > 1), "")
        return "", unit, f"the column is called {column.name}" if unit else ""
    sign = "sign" if not affix.isalpha() else ""
    return affix, unit, f"{_percent(number, column.filled)} carry {'a ' + affix + ' ' + sign if sign else affix}"


def _edges(
    low: float | None, upper: float | None, middle: float | None, high: float | None
) -> tuple[float, float, float]:
    """Return round edges and a width that betray nobody's value."""
    top = (
        high if high is not None else 1.5 * upper if upper is not None else 2 * middle if middle is not None else 100.0
    )
    bottom = low if low is not None else 0.0
    start = 0.0 if 0 <= bottom <= 0.5 * top else bottom
    span = max(abs(top - start), abs(top) / 100, 1e-9)
    width = _round_up(span / 10)
    first, last = math.floor(start / width + 1e-9), math.ceil(top * (1 + 1e-9) / width)
    digits = max(0, 1 - math.floor(math.log10(width)))
    last = max(last, first + 2)
    return round(first * width, digits), round(last * width, digits), width


def _round_up(amount: float) -> float:
    """Return the next of 1, 2, 5, 10, ...

    >>> _round_up(13_000), _round_up(0.3), _round_up(5)
    (20000.0, 0.5, 5.0)
    """
    power = math.floor(math.log10(amount))
    return next(one for step in (1, 2, 5, 10) if (one := float(f"{step}e{power}")) >= amount * (1 - 1e-9))


def _dated(column: Column, others: tuple[str, ...]) -> Asked:
    known = [one for one in column.days_at if one is not None]
    years = [int(one[:4]) for one in known] or [2000, 2029]
    first, last = years[0], years[-1]
    if last - first > 15:  # such as days of birth: whole decades
        first, last = 10 * ((first - 5) // 10), 10 * ((last + 5) // 10) + 9
    span = last - first
    every = "month" if span <= 3 else "quarter" if span <= 8 else "year"
    words = f"{max(1, first):04d}", f"{min(9999, last):04d}", every
    return Asked((column,), Setting("dates", words=words), others, 1.0)


def _find_places(profile: Profile) -> Asked | None:
    """Return latitude and longitude, where a file has both once."""
    found = []
    for what, most in (("latitude", 90), ("longitude", 180)):
        named = [
            one
            for one in profile.columns
            if set(re.split("[^a-z]+", one.name.lower())) & NAMES[what]
            and one.numbers > 0.6 * one.filled
            and all(abs(number) <= most for number in one.numbers_at if number is not None)
        ]
        found += named if len(named) == 1 else []
    if len(found) != 2 or any(one.numbers_at[0] is None for one in found):
        return None
    return Asked(tuple(found), Setting("places"), (), 3.5)


def _find_waves(profile: Profile) -> tuple[str, str]:
    """Return the columns of waves and people, if people repeat."""

    def named(what: str) -> Iterable[Column]:
        for one in profile.columns:
            if set(re.split("[^a-z]+", one.name.lower())) & NAMES[what]:
                yield one

    waves = [one for one in named("wave") if 2 <= one.distinct <= 0.2 * max(one.filled, 1)]
    people = [
        one for one in named("person") if FEWEST <= one.distinct <= 0.7 * one.filled and one.alone < 0.5 * one.filled
    ]
    return (waves[0].name, people[0].name) if waves and people else ("", "")


def _step(look: Look) -> str:
    """Return how often people are asked, by how waves are called."""
    column = next(one for one in look.profile.columns if one.name == look.wave)
    parts = re.split("[^a-z]+", column.name.lower())
    named = next((one for one in ("week", "month", "quarter", "year", "day") if one in parts), "")
    written = {"9999-W99": "week", "9999-99": "month", "9999-Q9": "quarter"}
    return next((every for shape, every in written.items() if shape in column.shapes), named or "week")


def _alphabet(candidate: Asked, setting: Setting) -> Alphabet:
    """Return the values that a setting means."""
    return build_survey(
        {"alphabet": _table(candidate, setting), "mechanism": {"kind": "randomized-response", "epsilon": 1.0}}
    ).alphabet


def _table(candidate: Asked, setting: Setting) -> dict[str, Any]:  # noqa: PLR0911 (a kind a case)
    """Return the table of the alphabet, as a survey has it."""
    column = candidate.columns[0]
    unit = {"unit": setting.unit} if setting.unit else {}
    match setting.kind:
        case "amounts":
            table: dict[str, Any] = {"kind": "bins", "low": _plain(setting.low), "high": _plain(setting.high)}
            table |= {"width": _plain(setting.width), "above": True}
            table |= {"below": True} if setting.low or (column.numbers_at[0] or 0) < 0 else {}
            written = _format(column)
            return table | unit | ({"format": written} if written else {})
        case "numbers" | "scale" if not setting.words:
            return {"kind": "integers", "low": int(setting.low), "high": int(setting.high)} | unit
        case "scale":
            return {"kind": "scale", "values": list(setting.words), "fold": True}
        case "words":
            words = list(setting.words)
            rest = column.filled - sum(column.words.values())
            if all(re.fullmatch("-?[0-9]+", one) for one in words):
                return {"kind": "categories", "values": [int(one) for one in words]}
            other = next((one for one in words if fold_word(one) == "other"), "other")
            chosen = {"other": other} if rest or len(words) < len(_words(column)) else {}
            return {
                "kind": "categories",
                "values": [*words, *([other] if chosen and other not in words else [])],
                "fold": True,
            } | chosen
        case "dates":
            first, last, every = setting.words
            ends = {"year": (first, last), "month": (f"{first}-01", f"{last}-12")}
            start, end = ends.get(every, (f"{first}-Q1", f"{last}-Q4"))
            return {"kind": "dates", "first": start, "last": end, "every": every}
        case "hours":
            return {"kind": "hours"}
    return _box(candidate)


def _plain(number: float) -> int | float:
    return int(number) if float(number).is_integer() else number


def _format(column: Column) -> str:
    """Return how amounts are written, for 1234; empty for plain decimals."""
    affix = _unit(column)[0]
    gaps = Counter[str]()
    before = after = 0
    for shape, number in column.shapes.items():
        for gap in re.findall(f"(?<=9)([{'.' if column.mark == ',' else ','}'\u2019 \u00a0\u202f])(?=999)", shape):
            gaps[gap] += number
        if affix and affix in shape:
            before += number * (shape.lstrip("+- ").startswith(affix))
            after += number * (not shape.lstrip("+- ").startswith(affix))
    gap = gaps.most_common(1)[0][0] if gaps else ""
    blank = (
        " "
        if affix and any(re.search(f"{re.escape(affix)}\\s|\\s{re.escape(affix)}", one) for one in column.shapes)
        else ""
    )
    if not affix and not gap and column.mark == ".":
        return ""
    number_part = f"1{gap}234{column.mark}56"
    return f"{affix}{blank}{number_part}" if before >= after and affix else f"{number_part}{blank}{affix}"


def _box(candidate: Asked) -> dict[str, Any]:
    """Return a round box, wider than most people's places."""
    ends = []
    for column in candidate.columns:
        low, high = column.numbers_at[0] or 0.0, column.numbers_at[-1] or 0.0
        # A number is cut to two digits: the people lie within one more of the last.
        span = max(high - low, 0.02)
        step = _round_up(span / 5)
        ends.append((step * math.floor((low - step) / step), step * math.ceil((high + step) / step)))
    (south, north), (west, east) = ends
    tall = 111.2 * (north - south)
    cell = _round_up(tall / 25)
    size = f"{cell:g} km" if cell >= 1 else f"{1000 * cell:g} m"
    table = {"south": south, "west": west, "north": north, "east": east}
    return {"kind": "places", **{side: round(end, 6) for side, end in table.items()}, "cell": size}


def _mechanism(alphabet: Alphabet, people: int, *, is_ranked: bool) -> tuple[Mechanism, str]:
    """Return the mechanism with its balanced epsilon, and why this one."""
    if isinstance(alphabet.geometry, UnorderedGeometry):
        ranking = rank(alphabet, 1.0, people=people)
        return ranking.best, ranking.reason
    first = usual_mechanism(alphabet, gentle_epsilon(alphabet))
    mechanism = first.at(usual_epsilon(first))
    # More values take a minute: `confide plan --mechanisms all` ranks those.
    if is_ranked and alphabet.size <= 12 and alphabet.geometry.dimensions == 1:
        with contextlib.suppress(ConfideError):
            ranking = rank(alphabet, usual_epsilon(mechanism), people=people, promise="metric")
            return ranking.best, ranking.reason
    return mechanism, f"{mechanism.kind}: neighbours are hard to distinguish, values far apart less so."


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.0f}%"
