"""Plain-language descriptions of alphabets, mechanisms, guarantees and answers.

>>> import confide as cf
>>> ages = cf.Integers(0, 99, unit="year")
>>> survey = cf.Survey(cf.TruncatedGeometric(ages, epsilon=0.05), name="age")
>>> print(explain_guarantee(survey)[1])
An observer who thought age 30 and age 35 (5 years apart) equally likely would shift to at most 56:44.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from confide.check.fit import has_bits
from confide.errors import ConfideError
from confide.estimates.estimate import Estimate
from confide.estimates.inference.division import MOST_CELLS
from confide.mechanisms import Mechanism
from confide.mechanisms.guarantees import LocalDP
from confide.solve.methods import Choice, Status
from confide.solve.methods.stacked import LIMITS
from confide.surveys.survey import Survey
from confide.theory.identification import largest_bound
from confide.values import Alphabet, LineGeometry, PlaneGeometry, ProductGeometry, UnorderedGeometry
from confide.values.distances import pairs_of
from confide.values.metrics import Value
from confide.values.wording import all_of, counted, listed, quote_value, with_unit

CERTIFICATE_MEANING = (
    "The log-likelihood says how well a distribution explains the reports. The certificate proves that no distribution "
    "does better than this one by more than the stated amount; it needs no knowledge of the truth. Close to 0, the "
    "answer is the best explanation of the reports. It is not a distance from the truth: the best explanation also "
    "explains the noise, and under strong noise a method that stops earlier is often closer to the truth. So methods "
    "that smooth, mix or cross-validate have no certificate. For these, see the fit and the intervals."
)
"""Meaning of an estimate's certificate."""

WHEN_ENDED_EARLY = {
    Status.ITERATION_LIMIT: "In Python, IBU(iteration_limit=...) goes on for longer.",
    Status.TIME_LIMIT: "In Python, MLE(time_limit=...) gives it longer.",
    Status.PRECISION_LIMIT: "Nothing better can be proven in double precision; the answer stands.",
    Status.STALLED: "In Python, MLE(solver='interior-point') may get further; the certificate says how far this is.",
}
"""What to do about a method that stopped early."""


BEYOND_DOUBT = 1e-3
"""P-value of the fit below which there are no windows: the reports come from another mechanism."""


MOST_UNBIDDEN = 2_000
"""Largest alphabet with windows, mean and median by default: longer lines take tens of seconds."""


MOST_CELLS_UNBIDDEN = 200
"""Largest plane with windows by default: 280 cells took 14 s of processor, 480 took 55 s."""


def explain_guarantee(survey: Survey) -> list[str]:
    """Return one to three examples of what a guarantee means.

    Each is a sentence. Local differential privacy has no distances and gets one example. Metric privacy gets a near, a
    middling and a far pair. With several attributes there is one example for each, one for all of them, and the most
    that a full report reveals.

    >>> import confide as cf
    >>> explain_guarantee(cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0), name="answer"))
    ['An observer who thought answer "yes" and answer "no" equally likely would shift to at most 73:27.']
    """
    guarantee = survey.mechanism.guarantee
    if survey.alphabet.is_finite and survey.alphabet.size < 2:
        return ["There is only one value, so a report says nothing about anyone."]
    if not isinstance(guarantee, LocalDP):
        examples = [_example(survey, *pair) for pair in pairs_of(survey.alphabet)]
        if (parts := survey.mechanism.facts.parts) is not None:  # the most that a report of several attributes reveals
            most = largest_bound(guarantee, survey.alphabet)
            every = all_of(len(parts))
            examples.append(f"{every[:1].upper()}{every[1:]} together: {_shift(most, 'any two people')}.")
        return examples
    if math.isinf(guarantee.epsilon):
        return [_ruled_out(survey)]
    example = _example(survey, *pairs_of(survey.alphabet)[-1])
    if guarantee.epsilon == 0 or (survey.alphabet.is_finite and survey.alphabet.size == 2):
        return [example]
    distance = (
        "" if isinstance(survey.alphabet.geometry, UnorderedGeometry | ProductGeometry) else ", however near or far"
    )
    return [f"{example} The same holds for any other two values{distance}."]


def telling_pairs(survey: Survey) -> list[tuple[int, int]]:
    """Return the pairs of values that :func:`explain_guarantee` compares.

    Values are given by their index.

    >>> import confide as cf
    >>> telling_pairs(cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 99), epsilon=0.05)))
    [(30, 31), (30, 35), (30, 80)]
    """
    if survey.alphabet.is_finite and survey.alphabet.size < 2:
        return []
    pairs = pairs_of(survey.alphabet)
    return pairs[-1:] if isinstance(survey.mechanism.guarantee, LocalDP) else pairs


def describe_files(survey: Survey, files: int) -> str:
    """Describe the guarantee for a person who reported in several files.

    >>> import confide as cf
    >>> describe_files(cf.Survey(cf.RandomizedResponse(cf.Categories(["yes", "no"]), 1.0)), 2).split("; ")[0]
    'epsilon 1 to a person who reported once'
    """
    guarantee, lasting = survey.mechanism.guarantee, survey.mechanism.lasting
    several = (lasting or guarantee).times(files).terms
    if lasting is not None:  # reports of one value share the permanent round, so their epsilons do not add up
        several = f"{lasting.terms} for the same value in all of them, up to {several} for another in each"
    return (
        f"{guarantee.terms} to a person who reported once; if one person reported in each of the {files:,} files, "
        f"the promise to that person is {several}, and such reports are not independent"
    )


def describe_repetition(survey: Survey, files: int = 1) -> str:
    """Describe the guarantee for a person who reports more than once.

    It uses the survey's limit, if there is one. With several files, the person is assumed to be in each of them.

    >>> import confide as cf
    >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 99, unit="year"), epsilon=0.05)
    >>> describe_repetition(cf.Survey(mechanism, most_reports=30))
    'one report: 0.05 per year; 30 reports of one person, the most that the survey allows: 1.5 per year'
    """
    guarantee, most = survey.mechanism.guarantee, survey.most_reports
    if files == 1 and survey.needs_secret:
        return _describe_permanent(survey)
    if files > 1:
        told = describe_files(survey, files)
        if most is None or files <= most:
            return told
        return f"{told}. The survey allows {most:,}: the limit is broken unless the files are of different people"
    once, twice = guarantee.terms, guarantee.times(2).terms
    if survey.most_epsilon is not None and survey.cost is not None:
        allowed = int(Fraction(repr(survey.most_epsilon)) // survey.cost)
        most = allowed if most is None else min(most, allowed)
    if most is None:
        return (
            f"one report: {once}. Each further report of the same person adds as much: {twice} after 2, "
            f"{guarantee.times(30).terms} after 30. [limits] in the survey can state how many one person may make."
        )
    if most == 1:
        return f"one report: {once}; the survey allows no second one of the same person, which would make it {twice}"
    several = guarantee.times(most).terms
    return f"one report: {once}; {most:,} reports of one person, the most that the survey allows: {several}"


def describe_shuffled(survey: Survey, people: int) -> str:
    """Describe the central promise of shuffled reports, and whom to trust.

    >>> import confide as cf
    >>> mechanism = cf.RandomizedResponse(cf.Categories(["yes", "no", "unsure"]), epsilon=1.0)
    >>> print(describe_shuffled(cf.Survey(mechanism, shuffler="the clinic"), 10_000).partition(". ")[0])
    of 10,000 reports, one each, only the clinic can say whose is whose: central epsilon at most 0.038 (delta 1e-06)
    """
    delta = min(1e-6, 0.1 / people)
    try:
        known = survey.mechanism.shuffled(people, delta)
    except ConfideError as error:
        return f"no bound is known. {error}"
    return (
        f"of {people:,} reports, one each, only {survey.shuffler} can say whose is whose: central epsilon at most "
        f"{known.upper:.3g} (delta {delta:g}). A known attack reaches {known.lower:.3g}. You and the people must trust "
        f"{survey.shuffler}, who could see who sent which report."
    )


def _describe_permanent(survey: Survey) -> str:
    """Describe the guarantee under permanent noise, full or first round only."""
    guarantee, lasting = survey.mechanism.guarantee, survey.mechanism.lasting
    every = lasting or guarantee
    told = f"one report: {guarantee.terms}; any number of reports of the same value: {every.terms}"
    told += "" if lasting else ", for with permanent noise they are one report"
    told += f". Each other value that a person reports adds as much: {every.times(2).terms} for 2 values"
    if survey.most_epsilon is not None and survey.cost is not None:
        values = int(Fraction(repr(survey.most_epsilon)) // survey.cost)
        told += f". The survey allows a total epsilon of {survey.most_epsilon:g}, hence {counted(values, 'value')}"
    if survey.most_reports is not None:
        told += f". It allows {counted(survey.most_reports, 'report')} of one person"
        told += "" if lasting else ", the same one again not counted"
    return f"{told}."


def explain_choices(choices: Sequence[Choice]) -> list[str]:
    """Return one sentence for each candidate that the method weighed.

    The list is empty if there were no candidates.

    >>> from confide.solve.methods import Choice
    >>> for sentence in explain_choices([Choice("smooth", 0.9, 0.0), Choice("MLE", 0.1, -3.2)]):
    ...     print(sentence)
    90% smooth
    10% MLE: 3.2 nats worse than smooth in cross-validation
    >>> explain_choices([Choice("pooled", 0.3, None), Choice("INV-P", 0.7, None)])[1]
    '70% INV-P: weighed by an unbiased estimate of the squared error'
    """
    are_weighed = len(choices) > 1 and all(choice.score is None and not choice.remark for choice in choices)
    sentences = []
    for choice in choices:
        first, words = choices[0], f"{choice.share:.0%} {choice.name}"
        if are_weighed:
            words += ": weighed by an unbiased estimate of the squared error"
        elif choice.remark:
            words = f"no {choice.name}: {choice.remark}"
        elif choice.score is None:
            words += ": no reports could be held out for cross-validation"
        elif choice is not first:
            direction = "better" if choice.score > 0 else "worse"
            is_doubtful = 0 < choice.score < LIMITS.head_start and choice.share < first.share
            doubt = ", too little to replace it" if is_doubtful else ""
            score = f"{abs(choice.score):,.1f} nats {direction} than {first.name}"
            words += f": {score} in cross-validation{doubt}"
        sentences.append(words)
    return sentences


def describe_mechanism(survey: Survey) -> str:
    """Return the name of the survey's mechanism, for a sentence.

    >>> import confide as cf
    >>> describe_mechanism(cf.Survey(cf.TruncatedPlanarLaplace(cf.Grid(3, 3), epsilon=1.0)))
    'the truncated planar Laplace mechanism'
    """
    return _name(survey.mechanism)


def _name(mechanism: Mechanism) -> str:
    facts = mechanism.facts
    if facts.parts is not None and facts.rounds is None:
        return listed([f"{_name(part)} for {name}" for name, part in facts.parts.items()])
    if facts.origin is not None:
        return f"{_name(facts.origin[0])} with its reports remapped"
    if facts.rounds is not None:
        return f"{_name(facts.rounds[0])}, once and for all, and {_name(facts.rounds[1])} in every report"
    words = mechanism.kind.replace("-", " ").replace("laplace", "Laplace")
    return mechanism.title or f"the {words} mechanism"


def describe_alphabet(alphabet: Alphabet) -> str:
    """Return the values of an alphabet in words.

    >>> from confide import Integers
    >>> describe_alphabet(Integers(0, 99, unit="year"))
    '100 whole numbers, 0 to 99, spacing 1 year'
    """
    read = f"; {alphabet.reading}" if alphabet.reading else ""
    if isinstance(alphabet.geometry, UnorderedGeometry) and alphabet.bits is None:
        return f"{counted(alphabet.size, 'category')}: {_list_labels(alphabet)}{read}"
    if alphabet.bits is not None:
        packed = counted(alphabet.parts, "whole number")
        return f"{counted(alphabet.bits.length, 'bit')}, one for each value, packed into {packed}"
    if alphabet.attributes is not None:
        named = zip(alphabet.attributes.names, alphabet.attributes.alphabets, strict=True)
        each = "; ".join(f"{name}: {describe_alphabet(one)}" for name, one in named)
        whole = f" ({alphabet.size:,} combinations)" if alphabet.is_finite else ""
        return f"{counted(len(alphabet.attributes.names), 'attribute')}{whole}; {each}"
    if alphabet.summary:
        return f"{alphabet.summary}{read}"
    if alphabet.geometry.dimensions:
        return f"{_describe_places(alphabet)}{read}"
    return repr(alphabet)


def _list_labels(alphabet: Alphabet) -> str:
    """Return the labels of all values, or of the first eight.

    If values are ordered, the last label follows.
    """
    if alphabet.size <= 8:
        return ", ".join(alphabet.labels())
    last = "" if isinstance(alphabet.geometry, UnorderedGeometry) else f", {alphabet.labels([alphabet.size - 1])[0]}"
    return f"{', '.join(alphabet.labels(range(8)))}, ...{last}"


def _describe_places(alphabet: Alphabet) -> str:
    step = with_unit(alphabet.spacing, alphabet.unit)
    if not alphabet.is_finite and alphabet.raw_names[0] == ("latitude", "longitude"):
        where = f" in the box {alphabet.extent}" if alphabet.extent else ""
        return f"a latitude and a longitude{where}, on a lattice of {step}"
    if not alphabet.geometry.is_whole:
        what = "any real number" if alphabet.parts == 1 else "any point, as real row and column"
        return f"{what}, counted in steps of {step}"
    if isinstance(alphabet.geometry, LineGeometry) and alphabet.positions is not None:
        gaps = alphabet.geometry.gaps
        step = f"{gaps.min():g} to {with_unit(float(gaps.max()), alphabet.unit)}"
    where, geometry = f", {alphabet.extent}" if alphabet.extent else "", alphabet.geometry
    places = "any whole number" if alphabet.parts == 1 else "any cell of an unbounded plane"
    if isinstance(geometry, PlaneGeometry):
        holes = f" with {counted(len(geometry.holes), 'hole')}" if geometry.holes else ""
        shape = f"{counted(geometry.rows, 'row')} by {counted(geometry.columns, 'column')}"
        places = f"{counted(alphabet.size, 'cell')}, {shape}{holes}"
    elif alphabet.is_finite and alphabet.has_labels:
        places = f"{counted(alphabet.size, 'value')} in order: {_list_labels(alphabet)}"
    elif alphabet.is_finite:
        first, last = alphabet.span
        places = f"{counted(alphabet.size, 'whole number')}, {first} to {last}"
    return f"{places}, spacing {step}{where}"


def describe_value(alphabet: Alphabet, index: int, name: str = "value") -> str:
    """Return the name of one value, for a sentence.

    >>> import confide as cf
    >>> describe_value(cf.Grid(2, 3), 5), describe_value(cf.Integers(10, 20), 3, "age")
    ('cell (row 1, column 2)', 'age 13')
    """
    if alphabet.attributes is not None:
        one_of, numbers = alphabet.attributes, alphabet.attributes.split(index)
        each = zip(one_of.names, one_of.alphabets, numbers, strict=True)
        told = [(attribute, describe_value(one, own, attribute)) for attribute, one, own in each]
        return f"{name} ({', '.join(words if words.startswith(own) else f'{own} {words}' for own, words in told)})"
    if alphabet.field_names == ("row", "column"):
        if alphabet.has_labels:
            return f"{'the cell at' if alphabet.is_finite else name} {alphabet.labels([index])[0]}"
        row, column = alphabet.decode(index).tolist()
        return f"cell (row {row}, column {column})"
    return f"{name} {_quoted(alphabet, index)}"


def _quoted(alphabet: Alphabet, index: int) -> str:
    """Return a value for a sentence, quoted if it is a word."""
    if not alphabet.has_labels:
        return quote_value(_value(alphabet, index))
    label = alphabet.labels([index])[0]
    return label if alphabet.summary else quote_value(label)


def describe_report(mechanism: Mechanism, output: int) -> str:
    """Return the name of one report, for a sentence.

    >>> import confide as cf
    >>> describe_report(cf.Rappor(cf.Categories(["red", "green", "blue"]), epsilon=1.0), 5)
    'the bits of "red" and "blue"'
    """
    reports = mechanism.report_alphabet
    if reports.bits is None:
        return f"{'the report ' if reports.geometry.dimensions == 2 else ''}{describe_value(reports, output, 'report')}"
    places = np.flatnonzero(reports.bits.unpack(reports.decode([output]))[0]).tolist()
    values = [_quoted(mechanism.alphabet, place) for place in places]
    return f"the bits of {' and '.join(values)}" if values else "no bit at all"


def describe_certificate(certificate: float) -> str:
    """Return the certificate in words.

    >>> describe_certificate(3.21)
    'no distribution has a log-likelihood more than 3.21 above this one'
    """
    if math.isnan(certificate):
        return "none: the answer has negative entries and is no distribution"
    if math.isinf(certificate):
        return "none: the answer gives a report that was seen probability 0"
    return f"no distribution has a log-likelihood more than {certificate:.3g} above this one"


def _example(survey: Survey, left: int, right: int) -> str:
    alphabet, name = survey.alphabet, survey.name
    bound = survey.mechanism.guarantee.bound(_value(alphabet, left), _value(alphabet, right))
    who = f"{describe_value(alphabet, left, name)} and {describe_value(alphabet, right, name)}"
    if not isinstance(alphabet.geometry, UnorderedGeometry | ProductGeometry):  # attributes may have different units
        distance = alphabet.distance(_value(alphabet, left), _value(alphabet, right))
        who = f"{who} ({with_unit(distance, alphabet.unit)} apart)"
    sentence = _shift(bound, who)
    return f"{sentence[:1].upper()}{sentence[1:]}."


def _shift(bound: float, who: str) -> str:
    """Return what an observer can learn between two values.

    `bound` is the largest log-ratio of their probabilities for any report.
    """
    if math.isinf(bound):
        return f"some reports rule out one of {who}"
    if bound == 0:
        return f"no report distinguishes {who}"
    observer = f"an observer who thought {who} equally likely"
    likelier = 100 / (1 + math.exp(-bound))
    if likelier > 99.95:
        return f"{observer} could become almost certain: one may make a report up to {_factor(bound)} times as likely"
    if likelier < 50.05:
        return f"{observer} would still think so: neither makes a report more than {_factor(bound)} times as likely"
    return f"{observer} would shift to at most {odds_in_words(bound)}"


def odds_in_words(bound: float) -> str:
    """Return what even odds become at most under a log-ratio.

    >>> odds_in_words(0.25), odds_in_words(5.0), odds_in_words(0.0001), odds_in_words(math.inf)
    ('56:44', '99.3:0.7', '50:50', 'certain')
    """
    # P = 1 / (1 + e^-bound): Bayes' rule for even prior odds and a likelihood ratio of e^bound.
    likelier = 100 / (1 + math.exp(-bound))
    if not 50.05 <= likelier <= 99.95:
        return "certain" if likelier > 99.95 else "50:50"
    decimals = 0 if 50.5 <= likelier < 99 else 1
    return f"{likelier:.{decimals}f}:{100 - likelier:.{decimals}f}"


def _factor(bound: float) -> str:
    """Return e^bound as a short number."""
    if bound > math.log(1e6):
        return f"10^{math.ceil(bound / math.log(10))}"
    if bound < 0.01:
        return f"{1 + float(f'{math.expm1(bound):.2g}'):.12g}"
    factor = math.exp(bound)
    return f"{factor:.3g}" if factor < 1000 else f"{factor:,.0f}"


def _ruled_out(survey: Survey) -> str:
    """Return an example report that rules out a value.

    This is for matrices with zeros.
    """
    matrix = survey.mechanism.channel.dense()
    possible = matrix > 0
    telling = np.flatnonzero(possible.any(axis=0) & ~possible.all(axis=0))
    if not telling.size:  # the guarantee is that of the mechanism before its reports were remapped
        return "No factor is promised between any two values."
    output = int(telling[0])
    can, cannot = int(np.argmax(matrix[:, output])), int(np.argmin(possible[:, output]))
    report = _quoted(survey.mechanism.report_alphabet, output)
    return (
        f"The report {report} can come from {describe_value(survey.alphabet, can, survey.name)}, but never from "
        f"{describe_value(survey.alphabet, cannot, survey.name)}: anyone who sees it knows that."
    )


def _value(alphabet: Alphabet, index: int) -> Value:
    value = alphabet.decode([index]).tolist()[0]
    return tuple(value) if isinstance(value, list) else value


def why_undivided(answer: Estimate, *, is_bidden: bool = False) -> str:
    """Return why an estimate gets no windows, mean and median.

    The text is empty if it gets them. Set `is_bidden` if a user asked for windows and will wait for those of a map.
    """
    alphabet, why = answer.alphabet, ""
    is_endless = answer.considered is not None and not answer.considered.whole.is_finite
    bits = sum(counts.reports.shape[0] for one, counts in answer.groups.items() if has_bits(one))
    is_map = isinstance(alphabet.geometry, PlaneGeometry) and alphabet.size > MOST_CELLS_UNBIDDEN
    if not answer.is_distribution:
        why = "the answer has negative shares, or does not add up to 1, so it is no distribution"
    elif answer.fit.p_value < BEYOND_DOUBT:
        why = "the reports do not come from this mechanism, so they would be wrong"
    elif answer.shape_fit is not None and answer.shape_fit.p_value < BEYOND_DOUBT:
        why = f"the reports contradict the shape {answer.shape}, so they would be wrong"
    elif answer.is_many_shapes:
        why = f"the shape {answer.shape} is many shapes in one"
    elif is_endless and not isinstance(alphabet.geometry, LineGeometry):
        why = "each question on a plane without end takes a while; ask with --query, or in Python"
    elif alphabet.size > MOST_UNBIDDEN:
        why = f"{alphabet.size:,} values take long; ask with --query, or in Python"
    # 10,000 distinct vectors of 20 bits took 8 s, 48,842 of 100 bits over a minute.
    elif bits * alphabet.size > 200_000:
        why = f"{bits:,} unlike bit vectors take long; ask with --query, or in Python"
    elif is_map and not is_bidden:
        seconds = max(
            10, round(14 * (min(alphabet.size, MOST_CELLS) / 280) ** 2.5, -1)
        )  # larger planes use blocks of cells
        why = f"{alphabet.size:,} cells take about {seconds:.0f} s; in Python, estimate.windows() looks for them"
    return why
