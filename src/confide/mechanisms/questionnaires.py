"""Designs done by hand.

Chance is a die, a card or an unrelated question, and reports are spoken or ticked.

Each design is a small matrix of exact fractions, so its reports are drawn, audited and estimated like those of any
mechanism. Two things that questionnaires do not know can be part of what a person may have, and so of the estimate:

- *breakers*: people who ignore the rules. They are the last value of the alphabet. Reports of two groups with different
  designs identify their share (Clark and Desharnais, Psychological Methods 1998).
- the unrelated question's share: under an alphabet of two attributes each person has an answer to both questions. Two
  groups with different chances identify both shares, with no assumption on how the two answers depend on each other
  (Greenberg et al., JASA 1969).

People who answer at random are hidden in a symmetric design. An *anchor*, a second question in the same design whose
true answer is known, shows them (Atsusaka and Stevenson, Political Analysis 2023).

Epsilon follows from the chances. It rests on nobody knowing the outcome of the die, or the answer to the unrelated
question.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from confide.errors import InvalidParameterError
from confide.mechanisms.base import Facts, Mechanism, require_finite
from confide.mechanisms.guarantees import LocalDP, epsilon_above
from confide.values import Alphabet, Attributes, Categories, Integers, UnorderedGeometry
from confide.values.base import Example
from confide.values.checks import check_count, check_text, is_number, settle
from confide.values.wording import quote_value

Chance = float | str | Fraction
"""A probability: a number, a fraction, or a text such as "1/6"."""

Row = list[Fraction]

RANDOM = "random"
"""Breakers who say anything, all reports alike."""

YES_NO = Example(
    "answer",
    "Have you ever paid less tax than you owed?",
    'values = ["yes", "no"]\n',
)


@dataclass(frozen=True, repr=False, kw_only=True)
class Questionnaire(Mechanism):
    """A design by hand, given by the chances of what people say.

    Attributes
    ----------
    breakers
        What people say who ignore the rules: one of the reports, or ``"random"``. The last value of the alphabet stands
        for these people. Optional. Default: everyone follows the rules.
    anchor
        The known answer to a second question that people answer in the same way. A report is then a pair. Optional.
    """

    suits = "categories"
    asks = YES_NO
    unseen: ClassVar[str] = "Where somebody else sees the outcome, nothing is promised."
    """What the promise rests on."""

    breakers: str | None = None
    anchor: str | None = None

    def __post_init__(self) -> None:
        require_finite(self.alphabet, type(self).__name__)
        is_list = isinstance(self.alphabet.geometry, UnorderedGeometry) or self.alphabet.attributes is not None
        if not is_list or not 2 + (self.breakers is not None) <= self.alphabet.size <= 256:
            raise InvalidParameterError(
                f"{type(self).__name__} needs answers to choose from, such as Categories(['yes', 'no'])"
                f"{', and one more value for people who break the rules' if self.breakers is not None else ''}; got "
                f"{self.alphabet!r}."
            )
        self._settle()
        for name, known in (("breakers", [*self._said.labels(), RANDOM]), ("anchor", self._answers)):
            given = getattr(self, name)
            if given is not None and given not in known:
                raise InvalidParameterError(f"{name} must be one of {', '.join(known)}; got {given!r}.")
        if all(row == self._matrix[0] for row in self._matrix):
            raise InvalidParameterError(f"Everyone says the same under {self!r}, whatever is true. Change its chances.")

    @abstractmethod
    def _settle(self) -> None:
        """Check the settings of the design."""

    @property
    @abstractmethod
    def _design(self) -> list[Row]:
        """Chances of what rule followers say, a row for each answer."""

    @property
    @abstractmethod
    def _rules(self) -> list[str]:
        """What a respondent reads, step by step."""

    @property
    def _answers(self) -> list[str]:
        """The answers of people who follow the rules."""
        labels = self.alphabet.labels()
        return labels if self.breakers is None else labels[:-1]

    @property
    def _said(self) -> Alphabet:
        """What people can say to one question."""
        if self.breakers is None:
            return self.alphabet
        values: list[Any] = self.alphabet.decode(range(self.alphabet.size - 1)).tolist()
        return Categories(values)

    @property
    def report_alphabet(self) -> Alphabet:
        return self._said if self.anchor is None else Attributes(answer=self._said, anchor=self._said)

    @cached_property
    def _matrix(self) -> list[Row]:
        """Chances of all reports, a row for each value of the alphabet."""
        rows, said = self._design, self._said.labels()
        second = [Fraction(1)] if self.anchor is None else rows[self._answers.index(self.anchor)]
        table = [[one * other for one in row for other in second] for row in rows]
        if self.breakers is not None:
            rest = [
                Fraction(1, len(said)) if self.breakers == RANDOM else Fraction(one == self.breakers) for one in said
            ]
            table.append([one * other for one in rest for other in (rest if self.anchor is not None else [1])])
        return table

    def weights(self, index: int) -> list[int]:
        row = self._matrix[index]
        common = math.lcm(*(one.denominator for one in row))
        return [int(one * common) for one in row]

    @property
    def guarantee(self) -> LocalDP:
        """The smallest epsilon that the chances keep.

        Infinite if a report rules some value out.
        """
        return LocalDP(epsilon_of(self._matrix))

    @property
    def facts(self) -> Facts:
        return Facts(is_positive=all(one > 0 for row in self._matrix for one in row))

    @property
    def fine_print(self) -> tuple[str, ...]:
        own = epsilon_of(self._design)
        if self.breakers is None:
            return (self.unseen, *super().fine_print)
        held = "no finite epsilon either" if math.isinf(own) else f"epsilon {own:.4g} between any two answers"
        return (f"Who follows the rules has {held}.", self.unseen)

    @property
    def instructions(self) -> tuple[str, ...]:
        again = [] if self.anchor is None else ["Answer the second question in the same way, with chance of its own."]
        return (*self._rules, *again)


def epsilon_of(rows: Sequence[Row]) -> float:
    """Return the largest log-ratio of two rows, rounded up.

    >>> epsilon_of([[Fraction(5, 6), Fraction(1, 6)], [Fraction(1, 6), Fraction(5, 6)]])
    1.6094379124341005
    """
    columns = [column for column in zip(*rows, strict=True) if max(column) > 0]
    if any(min(column) == 0 for column in columns):
        return math.inf
    ratio = max(max(column) / min(column) for column in columns)
    return epsilon_above(ratio) if ratio > 1 else 0.0


def as_chance(name: str, given: object) -> Fraction:
    """Return a probability as an exact fraction.

    >>> as_chance("honest", "2/3"), as_chance("honest", 0.1), as_chance("honest", 1 / 6)
    (Fraction(2, 3), Fraction(1, 10), Fraction(1, 6))
    """
    found = None
    with contextlib.suppress(ValueError, ZeroDivisionError):
        if isinstance(given, str | Fraction):
            found = Fraction(given)
        elif is_number(given) and math.isfinite(given):
            # A float that was divided is meant as the fraction that it was divided from.
            short = Fraction(given).limit_denominator(1_000)
            found = short if float(short) == given else Fraction(repr(float(given)))
    if found is None or not 0 <= found <= 1 or found.denominator > 10**18:
        raise InvalidParameterError(f'{name} must be a probability, such as 0.25 or "1/6"; got {given!r}.')
    return found


def settled(chance: Fraction) -> Chance:
    """Return a probability as a survey states it.

    A decimal number if it is one, else a fraction.

    >>> settled(Fraction(1, 4)), settled(Fraction(1, 6))
    (0.25, '1/6')
    """
    near = float(chance)
    return near if Fraction(repr(near)) == chance else str(chance)


def in_words(chance: Fraction) -> str:
    """Return a probability as people say it.

    >>> in_words(Fraction(1, 6)), in_words(Fraction(123, 1000))
    ('1 in 6', '12.3%')
    """
    one, of = chance.as_integer_ratio()
    return f"{one} in {of}" if of <= 20 else f"{100 * float(chance):.4g}%"


def _either(numbers: Sequence[int]) -> str:
    """Return numbers in words, such as "2, 3 or 4"."""
    *some, last = map(str, numbers)
    return f"{', '.join(some)} or {last}" if some else last


@dataclass(frozen=True, repr=False)
class ForcedResponse(Questionnaire):
    """Answer truthfully, or say what chance commands.

    Parameters
    ----------
    alphabet
        The answers.
    honest
        The chance of a truthful answer.
    forced
        The chance that each answer is commanded, in their order. With `honest` they add up to 1.

    Examples
    --------
    >>> from confide import Categories
    >>> design = ForcedResponse(Categories(["yes", "no"]), honest="2/3", forced=["1/6", "1/6"])
    >>> print(design.guarantee.terms, design.channel.dense().round(3).tolist())
    epsilon 1.609 [[0.833, 0.167], [0.167, 0.833]]
    >>> ForcedResponse(Categories(["yes", "no"]), honest=0.75, forced=[0.25, 0]).guarantee.terms
    'no local differential privacy'
    """

    kind = "forced-response"
    title = "forced response"
    about = "by hand, a truthful answer or the one that chance commands"
    example: ClassVar[Any] = {
        "categories": """\
honest = "2/3"                 # the chance of a truthful answer
forced = ["1/6", "1/6"]        # the chance that each answer is commanded; all chances add up to 1
                               # a 0 here leaves no finite epsilon: the other answer would then be true for sure
"""
    }
    alphabet: Alphabet
    honest: Chance
    forced: Sequence[Chance]

    def _settle(self) -> None:
        honest, forced = as_chance("honest", self.honest), [as_chance("forced", one) for one in _listed(self.forced)]
        if len(forced) != len(self._answers) or honest + sum(forced) != 1:
            raise InvalidParameterError(
                f"forced must have a chance for each of {', '.join(self._answers)}, and with honest they must add up "
                f'to 1; got {[*map(str, forced)]} and honest {honest}. Write fractions such as "1/6" if needed.'
            )
        settle(self, honest=settled(honest), forced=tuple(map(settled, forced)))

    @property
    def _chances(self) -> tuple[Fraction, Row]:
        """The chance of a truthful answer, and of each that is commanded."""
        return as_chance("honest", self.honest), [as_chance("forced", one) for one in self.forced]

    @property
    def _design(self) -> list[Row]:
        honest, forced = self._chances
        return [[honest * (place == x) + one for place, one in enumerate(forced)] for x in range(len(forced))]

    @property
    def _rules(self) -> list[str]:
        honest, forced = self._chances
        commands = zip(forced, self._answers, strict=True)
        return [
            "Draw a card, or spin the wheel, where nobody else sees it. It says what to do:",
            f"{in_words(honest)}: answer truthfully.",
            *(f"{in_words(one)}: say {quote_value(answer)}, whatever is true." for one, answer in commands if one),
        ]


def _listed(given: object) -> list[Any]:
    """Return a list's entries; nothing for anything else."""
    return list(given) if isinstance(given, list | tuple) else []


@dataclass(frozen=True, repr=False)
class Dice(ForcedResponse):
    """Forced response by dice.

    Some sums command an answer, all others a truthful one.

    Parameters
    ----------
    alphabet
        The answers.
    commands
        For each answer the sums that command it.
    dice, sides
        How many dice are rolled and added up, and the sides of each.

    Examples
    --------
    >>> from confide import Categories
    >>> design = Dice(Categories(["yes", "no"]), [[2, 3, 4], [11, 12]], dice=2)
    >>> design.honest, design.forced, design.guarantee.terms
    (0.75, ('1/6', '1/12'), 'epsilon 2.303')
    """

    kind = "dice"
    title = "forced response by dice"
    about = "by hand, a truthful answer or the one that the dice command"
    example: ClassVar[Any] = {
        "categories": """\
dice = 2                       # dice that are rolled and added up
commands = [[2, 3, 4], [11, 12]]   # for each answer the sums that command it; all other sums: the truth
"""
    }
    honest: Chance = field(init=False, repr=False)
    forced: Sequence[Chance] = field(init=False, repr=False)
    commands: Sequence[Sequence[int]] = ()
    dice: int = 1
    sides: int = 6

    def __init__(
        self,
        alphabet: Alphabet,
        commands: Sequence[Sequence[int]],
        dice: int = 1,
        sides: int = 6,
        *,
        breakers: str | None = None,
        anchor: str | None = None,
    ) -> None:
        settle(self, alphabet=alphabet, commands=commands, dice=dice, sides=sides, breakers=breakers, anchor=anchor)
        self.__post_init__()

    def _settle(self) -> None:
        check_count("dice", self.dice, 1)
        check_count("sides", self.sides, 2)
        if self.sides**self.dice > 10**6:
            raise InvalidParameterError(f"{self.dice} dice of {self.sides} sides are too many to add up. Use fewer.")
        rolls = itertools.product(range(1, self.sides + 1), repeat=self.dice)
        times = Counter(map(sum, rolls))
        commands = [tuple(_listed(one)) for one in _listed(self.commands)]
        every = [one for some in commands for one in some]
        if len(commands) != len(self._answers) or len(set(every)) < len(every) or not set(every) < set(times):
            raise InvalidParameterError(
                f"commands must be a list for each of {', '.join(self._answers)}, of sums from {self.dice} to "
                f"{self.dice * self.sides} that differ, with some left for the truth; got {self.commands!r}."
            )
        shares = [Fraction(sum(times[one] for one in some), self.sides**self.dice) for some in commands]
        honest = 1 - sum(shares, Fraction(0))
        settle(self, commands=tuple(commands), honest=settled(honest), forced=tuple(map(settled, shares)))

    @property
    def declared(self) -> dict[str, Any]:
        usual = {"dice": 1, "sides": 6, "breakers": None, "anchor": None}
        own = {name: getattr(self, name) for name in ("commands", *usual)}
        return {name: value for name, value in own.items() if name == "commands" or value != usual[name]}

    @property
    def _rules(self) -> list[str]:
        rolled, sums = ("a die", "number") if self.dice == 1 else (f"{self.dice} dice", "sum")
        commands = zip(self.commands, self._answers, strict=True)
        return [
            f"Roll {rolled} where nobody else looks.{' Add them up.' * (self.dice > 1)}",
            *(f"{_either(one)}: say {quote_value(answer)}, whatever is true." for one, answer in commands if one),
            f"Any other {sums}: answer truthfully.",
        ]


@dataclass(frozen=True, repr=False)
class Crosswise(Questionnaire):
    """Say whether two statements are alike, both true or both false.

    One is the sensitive statement. The other is unrelated, and true of a known share of people, such as a mother's
    birthday in January to March. The first value of the alphabet says that the sensitive one is true. Warner's mirrored
    question has the same matrix (Yu, Tian and Tang, Metrika 2008).

    Parameters
    ----------
    alphabet
        Two answers, the sensitive one first.
    share
        The share of people of whom the unrelated statement is true; not 1/2.
    statement
        The unrelated statement, for the questionnaire.

    Examples
    --------
    >>> from confide import Categories
    >>> design = Crosswise(Categories(["yes", "no"]), share=0.25)
    >>> print(design.guarantee.terms, design.report_alphabet.labels(), design.channel.dense().tolist())
    epsilon 1.099 ['same', 'different'] [[0.25, 0.75], [0.75, 0.25]]
    """

    kind = "crosswise"
    title = "the crosswise model"
    about = "by hand, whether the answer and an unrelated statement are both true or both false"
    unseen = "Who knows whether the unrelated statement is true of a person knows the answer: choose one nobody knows."
    example: ClassVar[Any] = {
        "categories": """\
share = 0.25                   # the share of people of whom the unrelated statement is true
statement = "My mother was born in January, February or March."
"""
    }
    alphabet: Alphabet
    share: Chance
    statement: str = "the unrelated statement"

    def _settle(self) -> None:
        _require_two(self)
        check_text("statement", self.statement)
        settle(self, share=settled(as_chance("share", self.share)))

    @property
    def _said(self) -> Alphabet:
        return Categories(["same", "different"])

    @property
    def _design(self) -> list[Row]:
        share = as_chance("share", self.share)
        return [[share, 1 - share], [1 - share, share]]

    @property
    def _rules(self) -> list[str]:
        return [
            f"A: {self.statement}",
            f"B: the answer to the question is {quote_value(self._answers[0])}.",
            'Both are true, or both are false: say "same".',
            'Only one of the two is true, whichever it is: say "different".',
        ]


def _require_two(design: Questionnaire) -> None:
    """Reject anything but two answers."""
    if len(design._answers) != 2:
        raise InvalidParameterError(
            f"{type(design).__name__} needs two answers, the sensitive one first; got {', '.join(design._answers)}."
        )


@dataclass(frozen=True, repr=False)
class UnrelatedQuestion(Questionnaire):
    """Answer the question, or by chance an unrelated one.

    Parameters
    ----------
    alphabet
        Two answers, the first one counted by `share`. If the share is not known: two attributes, the answers to both
        questions, the sensitive one first.
    honest
        The chance of the sensitive question.
    share
        The share of people whose answer to the unrelated question is the first one. Leave it out to estimate it from
        two groups with different chances.
    statement
        The unrelated question, for the questionnaire.

    Examples
    --------
    >>> from confide import Categories
    >>> design = UnrelatedQuestion(Categories(["yes", "no"]), honest=0.5, share=0.25)
    >>> print(design.guarantee.terms, design.channel.dense().tolist())
    epsilon 1.609 [[0.625, 0.375], [0.125, 0.875]]
    """

    kind = "unrelated-question"
    title = "the unrelated question"
    about = "by hand, the answer to the question or to an unrelated one, as chance decides"
    unseen = "Who knows a person's answer to the unrelated question may learn the other one: choose one nobody knows."
    example: ClassVar[Any] = {
        "categories": """\
honest = "2/3"                 # the chance of the sensitive question
share = 0.25                   # the share of people whose answer to the other one is the first; if it is not known,
                               # leave it out, and ask two groups (docs/guides/byhand.md)
statement = "Was your mother born in January, February or March?"
"""
    }
    alphabet: Alphabet
    honest: Chance
    share: Chance | None = None
    statement: str = "the unrelated question"

    def _settle(self) -> None:
        check_text("statement", self.statement)
        settle(self, honest=settled(as_chance("honest", self.honest)))
        attributes = self.alphabet.attributes
        if attributes is None:
            _require_two(self)
            if self.share is None:
                raise InvalidParameterError(
                    "UnrelatedQuestion needs share, of people whose answer to the unrelated question is the first. If "
                    "it is not known, use Attributes(answer=answers, unrelated=answers) and ask two groups."
                )
            settle(self, share=settled(as_chance("share", self.share)))
            return
        first, *others = attributes.alphabets
        if self.share is not None or others != [first] or self.breakers is not None or self.anchor is not None:
            raise InvalidParameterError(
                "UnrelatedQuestion without share needs two attributes with the same answers, and takes neither "
                f"breakers nor anchor; got {self.alphabet!r}."
            )

    @property
    def _said(self) -> Alphabet:
        attributes = self.alphabet.attributes
        return super()._said if attributes is None else attributes.alphabets[0]

    @property
    def _design(self) -> list[Row]:
        honest = as_chance("honest", self.honest)
        if self.share is None:
            size = self._said.size
            pairs = itertools.product(range(size), repeat=2)
            return [[honest * (z == x) + (1 - honest) * (z == other) for z in range(size)] for x, other in pairs]
        share = as_chance("share", self.share)
        other = [(1 - honest) * share, (1 - honest) * (1 - share)]
        return [[honest * (z == x) + other[z] for z in range(2)] for x in range(2)]

    @property
    def _rules(self) -> list[str]:
        honest = as_chance("honest", self.honest)
        return [
            "Draw a card where nobody else sees it. It says which question to answer, truthfully:",
            f"{in_words(honest)}: the question.",
            f"{in_words(1 - honest)}: {self.statement}",
        ]


@dataclass(frozen=True, repr=False)
class KukCards(Questionnaire):
    """Draw a card from your answer's deck, and say its colour.

    Each answer has a deck with its own share of red cards (Kuk, Biometrika 1990). The report is how often the card was
    red. Each draw costs the epsilon of one.

    Parameters
    ----------
    alphabet
        The answers.
    red
        The share of red cards in the deck of each answer.
    draws
        How often people draw, each time from the full deck.

    Examples
    --------
    >>> from confide import Categories
    >>> design = KukCards(Categories(["yes", "no"]), red=[0.8, 0.2], draws=2)
    >>> print(design.guarantee.terms, design.channel.dense().round(2).tolist())
    epsilon 2.773 [[0.04, 0.32, 0.64], [0.64, 0.32, 0.04]]
    """

    kind = "kuk-cards"
    title = "Kuk's cards"
    about = "by hand, the colour of a card from the deck that belongs to the answer"
    example: ClassVar[Any] = {
        "categories": """\
red = [0.8, 0.2]               # the share of red cards in the deck of each answer; a 0 or a 1 leaves no finite epsilon
draws = 1                      # how often people draw; each draw costs as much epsilon again
"""
    }
    alphabet: Alphabet
    red: Sequence[Chance]
    draws: int = 1

    def _settle(self) -> None:
        check_count("draws", self.draws, 1)
        red = [as_chance("red", one) for one in _listed(self.red)]
        if len(red) != len(self._answers) or self.draws > 100:
            raise InvalidParameterError(
                f"KukCards needs a share of red cards for each of {', '.join(self._answers)}, and at most 100 draws; "
                f"got {self.red!r} and {self.draws} draws."
            )
        settle(self, red=tuple(map(settled, red)))

    @property
    def _said(self) -> Alphabet:
        return Integers(0, self.draws)

    @property
    def _design(self) -> list[Row]:
        draws, shares = self.draws, [as_chance("red", one) for one in self.red]
        return [[math.comb(draws, z) * one**z * (1 - one) ** (draws - z) for z in range(draws + 1)] for one in shares]

    @property
    def _rules(self) -> list[str]:
        decks = zip(self._answers, self.red, strict=True)
        said = "Say 1 if it is red, and 0 if it is not. Do not say which deck it is from."
        times = f"Put it back, shuffle, and draw {self.draws} times in all. Say how many were red."
        return [
            "In front of you is a deck of cards for each answer. Draw a card from each, where nobody else sees them.",
            *(
                f"{quote_value(answer)}: {in_words(as_chance('red', red))} of the cards are red."
                for answer, red in decks
            ),
            "Look at the card from the deck of your true answer.",
            said if self.draws == 1 else times,
        ]
