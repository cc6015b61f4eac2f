"""Designs by hand: their published matrices, their words, and the unknowns that two groups or an anchor identify."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from tests.cases import each

import confide as cf
from confide.errors import InvalidParameterError
from confide.mechanisms.questionnaires import Questionnaire

ANSWERS = cf.Categories(["yes", "no"])
WITH_BREAKERS = cf.Categories(["yes", "no", "breaks the rules"])
BOTH = cf.Attributes(answer=ANSWERS, unrelated=ANSWERS)

PUBLISHED: dict[str, tuple[Questionnaire, list[list[float]], float]] = {
    # Blair, Imai and Zhou (2015): one die, 1 commands no, 6 commands yes; the Nigerian survey.
    "one die": (cf.Dice(ANSWERS, [[6], [1]]), [[5 / 6, 1 / 6], [1 / 6, 5 / 6]], 5),
    # Lensvelt-Mulders et al. (2005): two dice; 2, 3 and 4 command yes, 11 and 12 command no.
    "two dice": (cf.Dice(ANSWERS, [[2, 3, 4], [11, 12]], dice=2), [[11 / 12, 1 / 12], [1 / 6, 5 / 6]], 10),
    "forced": (cf.ForcedResponse(ANSWERS, 2 / 3, [1 / 6, 1 / 6]), [[5 / 6, 1 / 6], [1 / 6, 5 / 6]], 5),
    "forced to say yes": (cf.ForcedResponse(ANSWERS, 0.5, [0.5, 0]), [[1, 0], [0.5, 0.5]], math.inf),
    # Yu, Tian and Tang (2008).
    "crosswise": (cf.Crosswise(ANSWERS, 0.25), [[0.25, 0.75], [0.75, 0.25]], 3),
    # Greenberg et al. (1969).
    "unrelated": (cf.UnrelatedQuestion(ANSWERS, 0.5, 0.2), [[0.6, 0.4], [0.1, 0.9]], 6),
    # Kuk (1990): reds of two draws are binomial.
    "cards": (cf.KukCards(ANSWERS, [0.7, 0.2], 2), [[0.09, 0.42, 0.49], [0.64, 0.32, 0.04]], 12.25),
}


@each("name", list(PUBLISHED))
def test_published_designs(name: str) -> None:
    design, matrix, ratio = PUBLISHED[name]
    np.testing.assert_allclose(design.channel.dense(), matrix, rtol=1e-15)
    assert design.guarantee.epsilon == pytest.approx(math.log(ratio), rel=1e-15)


def test_the_promise_is_exact() -> None:
    # The odds are 5 to 1 exactly, and log 5 is no float64: the promise is the next one up.
    promise = cf.Dice(ANSWERS, [[6], [1]]).guarantee.epsilon
    assert math.nextafter(promise, 0) <= math.log(5) <= promise
    assert cf.audit(cf.Dice(ANSWERS, [[6], [1]])).holds


def test_k_rr_is_a_forced_response() -> None:
    three = cf.Categories(["a", "b", "c"])
    forced, plain = cf.ForcedResponse(three, 0.4, [0.2, 0.2, 0.2]), cf.RandomizedResponse(three, math.log(3))
    np.testing.assert_allclose(forced.channel.dense(), plain.channel.dense(), rtol=1e-15)


def test_what_respondents_read() -> None:
    dice = cf.Dice(ANSWERS, [[2, 3, 4], [11, 12]], dice=2).instructions
    assert dice[1:] == (
        '2, 3 or 4: say "yes", whatever is true.',
        '11 or 12: say "no", whatever is true.',
        "Any other sum: answer truthfully.",
    )
    statement = cf.Crosswise(ANSWERS, 0.25, "My mother was born in March.").instructions
    assert statement[:2] == ("A: My mother was born in March.", 'B: the answer to the question is "yes".')
    assert "1 in 3: Is it Monday?" in cf.UnrelatedQuestion(ANSWERS, "2/3", 0.5, "Is it Monday?").instructions
    assert "second question" in cf.KukCards(ANSWERS, [0.8, 0.2], anchor="no").instructions[-1]
    # Nobody is told of a command that never comes.
    assert not any('"no"' in one for one in cf.ForcedResponse(ANSWERS, 0.5, [0.5, 0]).instructions)
    assert cf.RandomizedResponse(ANSWERS, 1.0).instructions == ()


def test_fine_print_says_what_the_promise_rests_on() -> None:
    assert "unrelated statement" in cf.Crosswise(ANSWERS, 0.25).fine_print[0]
    broken = cf.Crosswise(WITH_BREAKERS, 0.25, breakers="same")
    assert math.isinf(broken.guarantee.epsilon)
    assert broken.fine_print[0] == "Who follows the rules has epsilon 1.099 between any two answers."


# Two groups with different designs, or an anchor, and the true shares of the values.
UNKNOWN: dict[str, tuple[list[Questionnaire], list[float], str]] = {
    "the unrelated share": (
        [cf.UnrelatedQuestion(BOTH, 0.75), cf.UnrelatedQuestion(BOTH, 0.25)],
        [0.1, 0.15, 0.3, 0.45],  # the two answers depend on each other
        "unrelated == yes",
    ),
    "the sensitive share": (
        [cf.UnrelatedQuestion(BOTH, 0.75), cf.UnrelatedQuestion(BOTH, 0.25)],
        [0.1, 0.15, 0.3, 0.45],
        "answer == yes",
    ),
    "people who always say no": (
        [
            cf.ForcedResponse(WITH_BREAKERS, 0.5, [0.05, 0.45], breakers="no"),
            cf.ForcedResponse(WITH_BREAKERS, 0.5, [0.45, 0.05], breakers="no"),
        ],
        [0.25, 0.45, 0.3],
        "value == 'breaks the rules'",
    ),
    "people who always say same": (
        [cf.Crosswise(WITH_BREAKERS, share, breakers="same") for share in (0.25, 0.75)],
        [0.3, 0.5, 0.2],
        "value == 'breaks the rules'",
    ),
    "people who answer at random": (
        [cf.Crosswise(WITH_BREAKERS, 0.2, breakers="random", anchor="no")],
        [0.25, 0.5, 0.25],
        "value == 'breaks the rules'",
    ),
    "the answer among people some of whom answer at random": (
        [cf.Crosswise(WITH_BREAKERS, 0.2, breakers="random", anchor="no")],
        [0.25, 0.5, 0.25],
        "value == yes",
    ),
}

PEOPLE = 4_000


def standard_error(designs: list[Questionnaire], truth: list[float], asked: np.ndarray) -> float:
    """Return Fisher's standard error of a share."""
    theta = np.array(truth)
    information = np.zeros((theta.size, theta.size))
    for design in designs:
        matrix = design.channel.dense()
        information += PEOPLE * (matrix / (theta @ matrix)) @ matrix.T
    # Shares add up to one, so they move along the directions whose sum is zero.
    moves = np.linalg.svd(np.ones((1, theta.size)))[2][1:]
    return float(np.sqrt(asked @ moves.T @ np.linalg.pinv(moves @ information @ moves.T) @ moves @ asked))


def test_intervals_of_unknowns_cover_and_have_the_right_width() -> None:
    generator, held, repeats = np.random.default_rng(2), [], 40
    questions = {"answer == yes": [1, 1, 0, 0], "unrelated == yes": [1, 0, 1, 0], "value == yes": [1, 0, 0]}
    for name, (designs, truth, query) in UNKNOWN.items():
        asked, widths = np.array(questions.get(query, [0, 0, 1]), dtype=float), []
        for _ in range(repeats):
            pairs = [
                (cf.tally(design.report_alphabet.decode(np.arange(drawn.size)), drawn), design)
                for design in designs
                for drawn in [generator.multinomial(PEOPLE, np.array(truth) @ design.channel.dense())]
            ]
            with warnings.catch_warnings(action="ignore", category=cf.errors.NotIdentifiedWarning):
                found = cf.estimate_pool(pairs, cf.MLE()).query(query)
            held.append(found.contains(float(asked @ truth)))
            widths.append(found.width)
        # Ends that are 15 % too near or too far do not pass.
        expected = 2 * 1.96 * standard_error(designs, truth, asked)
        assert np.mean(widths) == pytest.approx(expected, rel=0.08), name
    assert 0.915 <= np.mean(held) <= 0.985


def test_random_answers_stay_hidden_without_an_anchor() -> None:
    hidden = cf.Crosswise(WITH_BREAKERS, 0.25, breakers="random")
    assert cf.diagnose(None, hidden).identification.is_no
    anchored = cf.Crosswise(WITH_BREAKERS, 0.25, breakers="random", anchor="no")
    assert cf.diagnose(None, anchored).identification.is_yes
    # The anchor says nothing of the answer, so it costs no epsilon.
    plain = cf.Crosswise(ANSWERS, 0.25, anchor="no")
    assert plain.guarantee == cf.Crosswise(ANSWERS, 0.25).guarantee


def test_breakers_say_one_thing_or_anything() -> None:
    one = cf.ForcedResponse(WITH_BREAKERS, 0.6, [0.3, 0.1], breakers="no").channel.dense()
    np.testing.assert_allclose(one, np.array([[0.9, 0.1], [0.3, 0.7], [0.0, 1.0]]))
    anything = cf.Crosswise(WITH_BREAKERS, 0.25, breakers="random", anchor="no").channel.dense()
    np.testing.assert_allclose(anything[2], [0.25] * 4)


def test_an_anchor_is_answered_with_chance_of_its_own() -> None:
    matrix = cf.Crosswise(ANSWERS, 0.25, anchor="no").channel.dense()
    own = cf.Crosswise(ANSWERS, 0.25).channel.dense()
    # Reports are pairs, the answer first.
    np.testing.assert_allclose(matrix.reshape(2, 2, 2), own[:, :, None] * own[1][None, None, :])


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: cf.ForcedResponse(ANSWERS, 0.5, [0.2, 0.2]), "must add up to 1"),
        (lambda: cf.ForcedResponse(ANSWERS, 0.5, [0.5]), "a chance for each of yes, no"),
        (lambda: cf.ForcedResponse(ANSWERS, "a half", [0.25, 0.25]), "must be a probability"),
        (lambda: cf.ForcedResponse(ANSWERS, 0, [0.5, 0.5]), "Everyone says the same"),
        (lambda: cf.ForcedResponse(ANSWERS, 1.5, [0, 0]), "must be a probability"),
        (lambda: cf.Dice(ANSWERS, [[1], [1]]), "that differ"),
        (lambda: cf.Dice(ANSWERS, [[1, 2, 3], [4, 5, 6]]), "some left for the truth"),
        (lambda: cf.Dice(ANSWERS, [[1], [7]]), "sums from 1 to 6"),
        (lambda: cf.Dice(ANSWERS, [[1], [7]], dice=9, sides=100), "too many"),
        (lambda: cf.Crosswise(ANSWERS, 0.5), "Everyone says the same"),
        (lambda: cf.Crosswise(WITH_BREAKERS, 0.25), "needs two answers"),
        (lambda: cf.Crosswise(ANSWERS, 0.25, breakers="same"), "one more value for people who break the rules"),
        (lambda: cf.Crosswise(WITH_BREAKERS, 0.25, breakers="yes"), "same, different, random"),
        (lambda: cf.Crosswise(ANSWERS, 0.25, anchor="maybe"), "anchor must be one of yes, no"),
        (lambda: cf.UnrelatedQuestion(ANSWERS, 0.5), "ask two groups"),
        (lambda: cf.UnrelatedQuestion(BOTH, 0.5, 0.25), "needs two attributes with the same answers"),
        (lambda: cf.KukCards(ANSWERS, [0.5, 0.5]), "Everyone says the same"),
        (lambda: cf.KukCards(ANSWERS, [0.5]), "for each of yes, no"),
        (lambda: cf.KukCards(cf.Integers(0, 1), [0.5, 0.1]), "answers to choose from"),
    ],
)
def test_bad_settings(build: object, words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        build()  # type: ignore[operator]


def test_a_chance_is_the_same_in_every_notation() -> None:
    texts, floats = cf.ForcedResponse(ANSWERS, "2/3", ["1/6", "1/6"]), cf.ForcedResponse(ANSWERS, 2 / 3, [1 / 6] * 2)
    exact = cf.ForcedResponse(ANSWERS, Fraction(2, 3), [Fraction(1, 6)] * 2)
    assert texts == floats == exact
    assert len({cf.Survey(one).fingerprint for one in (texts, floats, exact)}) == 1
