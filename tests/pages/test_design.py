"""One design: figures and style sheet agree, colours stand out and can be told apart, and a method keeps its own."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.pages.test_estimate_page import assess, case

import confide as cf
from confide.present.figures import Panel, draw_distributions, draw_path, draw_windows, style, to_svg
from confide.present.figures.style import COLORS, METHODS, SCALES, colors_of, light, on_dark, ordered
from confide.present.pages import diagnosis_page, estimate_page
from reproduction.simplex import draw_simplex

MODES = {"light": 0, "dark": 1}
WORDS = ("ink", "faint", "stacked", "good", "warning")
MARKS = ("truth", "reports", *dict.fromkeys(METHODS.values()))
# Machado, Oliveira and Fernandes (2009): what people without one kind of cone see, in linear light.
SEEN = {
    "all cones": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_CONES = np.array(
    [[0.41222147, 0.53633254, 0.05144599], [0.2119035, 0.68069955, 0.10739696], [0.0883, 0.28172, 0.62998]]
)
TO_LAB = np.array(
    [[0.21045426, 0.79361779, -0.00407205], [1.9779985, -2.42859221, 0.45059371], [0.02590404, 0.78277177, -0.80867577]]
)


def linear(color: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    shares = np.array([int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG 2 defines it."""
    dim, bright = sorted(float(linear(color) @ [0.2126, 0.7152, 0.0722]) for color in (one, other))
    return (bright + 0.05) / (dim + 0.05)


def apart(one: str, other: str) -> float:
    """Return how far apart two colours are in OKLab, in hundredths, to the people who see the least of it."""
    lab = [
        [TO_LAB @ np.cbrt((TO_CONES @ (np.array(seen) @ linear(color)).clip(0, 1)).clip(0)) for color in (one, other)]
        for seen in SEEN.values()
    ]
    return min(100 * float(np.linalg.norm(first - second)) for first, second in lab)


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)


def test_the_style_sheet_has_the_colours_of_the_figures() -> None:
    sheet = (files("confide.present.pages") / "design.css").read_text(encoding="utf-8")
    bright, dark = sheet.split("@media screen and (prefers-color-scheme: dark)")
    for place, part in enumerate((bright, dark)):
        declared = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", part))
        assert declared == {name: colors[place].lower() for name, colors in COLORS.items()}


def test_the_style_sheet_has_the_scale_of_shares_on_maps() -> None:
    """The studio shades its maps as figures do, in both modes, by shades between the stops of the same scale."""
    sheet = (files("confide.present.pages") / "design.css").read_text(encoding="utf-8")
    for place, part in enumerate(sheet.split("@media screen and (prefers-color-scheme: dark)")):
        assert re.findall(r"--heat-\d: (#[0-9a-f]{6});", part) == [one.lower() for one in SCALES["heat"][place]]
        assert SCALES["heat"][place][0] == COLORS["card"][place]  # nobody
    studio = (Path(__file__).parents[2] / "web" / "src" / "studio.css").read_text(encoding="utf-8")
    shades = re.findall(r"\.heat-of-(\d+) \{\s+fill: color-mix\(in srgb, var\(--heat-(\d)\) ([\d.]+)%, var", studio)
    assert [int(shade) for shade, _, _ in shades] == list(range(1, 17))
    for shade, stop, part in shades:  # part of the lower stop, the rest of the next one
        assert int(stop) + 1 - float(part) / 100 == pytest.approx(int(shade) / 16 * 5)


def test_the_page_uses_no_colour_of_its_own() -> None:
    sheet = (files("confide.present.pages") / "page.css").read_text(encoding="utf-8").partition("@media print")
    assert not re.search(r"#[0-9a-fA-F]{3,6}\b(?!;?\s*\{)", re.sub(r'"stroke: #"', "", sheet[0]))
    given = {"of", "dark", "columns", "panel", "widest", "share", "natural", "wide", "narrow"}  # by single elements
    names = set(re.findall(r"var\(--([a-z0-9-]+)", sheet[0])) - given
    design = (files("confide.present.pages") / "design.css").read_text(encoding="utf-8")
    assert names <= set(re.findall(r"--([a-z0-9-]+):", design))


@pytest.mark.parametrize("mode", MODES)
def test_words_and_marks_stand_out(mode: str) -> None:
    place = MODES[mode]
    for surface in ("page", "card"):
        for name in WORDS:
            assert contrast(COLORS[name][place], COLORS[surface][place]) >= 4.5, (mode, name, surface)
    for name in MARKS:
        assert contrast(COLORS[name][place], COLORS["card"][place]) >= 3, (mode, name)
    for fill in style.CLASSES[place]:
        assert contrast(COLORS["ink"][place], fill) >= 4.5, (mode, fill)
    for stop in SCALES["doubt"][place]:
        assert contrast(COLORS["ink"][place], stop) >= 4.5, (mode, stop)


@pytest.mark.parametrize("mode", MODES)
def test_methods_can_be_told_apart_whatever_one_sees(mode: str) -> None:
    """Eight hundredths of OKLab are four times what is just noticeable."""
    shown = {name: COLORS[name][MODES[mode]] for name in dict.fromkeys(METHODS.values())}
    for one, other in combinations(shown, 2):
        assert apart(shown[one], shown[other]) >= 8, (mode, one, other)


def tokens(place: int) -> dict[str, str]:
    """Return the colours that the style sheet itself declares, on a light or on a dark page."""
    sheet = (files("confide.present.pages") / "design.css").read_text(encoding="utf-8")
    part = sheet.split("@media screen and (prefers-color-scheme: dark)")[place]
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", part))


@pytest.mark.parametrize("mode", MODES)
def test_words_and_marks_of_the_style_sheet_stand_out(mode: str) -> None:
    """From the tokens themselves: words 4.5:1 on page and card, marks and edges of controls 3:1."""
    shown = tokens(MODES[mode])
    for name in WORDS:
        for surface in ("page", "card"):
            assert contrast(shown[name], shown[surface]) >= 4.5, (mode, name, surface)
    for name in MARKS:
        assert contrast(shown[name], shown["card"]) >= 3, (mode, name)


@pytest.mark.parametrize("mode", MODES)
def test_settings_in_order_stand_out_and_pass_for_no_method(mode: str) -> None:
    shades = ordered(4)
    if mode == "dark":
        numbers = np.array([[int(one[at : at + 2], 16) for at in (1, 3, 5)] for one in shades], dtype=np.uint8)
        shades = ["#" + "".join(f"{part:02X}" for part in row) for row in on_dark(numbers).tolist()]
    assert all(contrast(one, COLORS["card"][MODES[mode]]) >= 3 for one in shades)
    assert not {one.lower() for one in ordered(4)} & {light(name).lower() for name in METHODS.values()}


def test_the_studio_has_the_colours_of_the_figures() -> None:
    """One table of methods: what figures draw, pages and the studio show alike."""
    source = (Path(__file__).parents[2] / "web" / "src" / "shared" / "methods.ts").read_text(encoding="utf-8")
    chosen = dict(re.findall(r'name: "([^"]+)",\s+colour: "([^"]+)"', source))
    assert {"Stacked", "IBU", "held-out IBU", "MLE", "INV-N", "INV-P", "Smooth", "RAP-N", "RAP-P"} <= set(chosen)
    assert chosen == {name: METHODS[name] for name in chosen}
    sheets = [one.read_text(encoding="utf-8") for one in (Path(__file__).parents[2] / "web" / "src").rglob("*.css")]
    assert not re.findall(r":[^;{}]*#[0-9a-fA-F]{3,8}\b", " ".join(sheets))  # no colour but those of design.css


def test_a_smaller_map_has_fewer_letters_and_none_says_nothing() -> None:
    grid = cf.Grid(7, 7)
    mechanism = cf.RandomizedResponse(grid, 6.0)
    histogram = np.full(49, 400)
    histogram[:5] = 30
    answer = cf.estimate(mechanism.simulate_counts(histogram, rng=1), mechanism, cf.IBU())
    windows = answer.windows()
    wide, narrow = (
        [one.get_text() for one in draw_windows(windows, answer.distribution, width=width).axes[1].texts]
        for width in (style.WIDE, style.NARROW)
    )
    assert len(narrow) < len(wide)
    assert not [words for words in wide if words.endswith("±0")]
    with style.within(style.NARROW):
        figure = draw_distributions(cf.Integers(0, 9), [Panel(name, np.full(10, 0.1)) for name in ("IBU", "MLE")])
    assert figure.get_figwidth() <= style.NARROW
    assert style.ROOM.get() == float("inf")


def test_every_light_colour_has_one_meaning() -> None:
    found = [bright.lower() for bright, _ in COLORS.values()]
    assert len(found) == len(set(found))


def test_a_method_has_one_colour_in_every_picture_and_in_any_company() -> None:
    assert colors_of(["IBU", "Stacked", "INV-N"]) == [
        *colors_of(["IBU"]),
        *colors_of(["Stacked"]),
        *colors_of(["INV-N"]),
    ]
    assert colors_of(["mine", "Stacked"])[1] == light("stacked")
    assert len(set(colors_of(["IBU(delta=1)", "IBU(delta=0.1)", "mine", "Stacked"]))) == 4
    shares = np.full(3, 1 / 3)
    drawn = to_svg(draw_distributions(cf.Integers(0, 2), [Panel("Stacked", shares), Panel("IBU", shares)]))
    climbed = to_svg(draw_path({"IBU": [-3.0, -2.0, -1.9]}))
    assert "var(--stacked, #0069aa)" in drawn
    assert f"var(--ibu, {light('ibu').lower()})" in drawn
    assert f"var(--ibu, {light('ibu').lower()})" in climbed
    assert "--stacked" not in climbed


@pytest.mark.parametrize("kind", ["line", "map", "categories", "triangle"])
def test_every_colour_of_a_drawing_has_a_dark_counterpart(kind: str) -> None:
    shares = np.full(6, 1 / 6)
    if kind == "triangle":
        figure = draw_simplex(["a", "b", "c"], lambda points: np.log(points @ [0.2, 0.5, 0.3]), np.array([[0, 1.0, 0]]))
    else:
        alphabets = {"line": cf.Integers(0, 5), "map": cf.Grid(2, 3), "categories": cf.Categories(list("abcdef"))}
        figure = draw_distributions(alphabets[kind], [Panel("IBU", shares, reference=shares)])
    drawing = to_svg(figure)
    for tag in re.findall(r"<[^<>]*: #[0-9a-f]{6}[^<>]*>", drawing):
        assert 'class="shade"' in tag, tag
        assert re.search(r"--dark: #[0-9a-f]{6}", tag), tag
    assert drawing.count("<image ") == 2 * drawing.count('class="on-dark"')
    assert ("on-dark" in drawing) is (kind == "map")


def test_shades_turn_with_their_scale() -> None:
    for bright, dark in SCALES.values():
        stops = np.array(
            [[int(color[place : place + 2], 16) for place in (1, 3, 5)] for color in bright], dtype=np.uint8
        )
        assert ["#" + "".join(f"{part:02X}" for part in row) for row in on_dark(stops).tolist()] == list(dark)


def outside_of_folds(page: str) -> str:
    """Return the words of a page that stand outside of what is folded."""
    while "<details" in page:
        page = re.sub(r"<details(?:(?!<details).)*?</details>", "", page, flags=re.DOTALL)
    return re.sub(r"<[^<>]*>", " ", re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL))


LABEL = re.compile(
    r"\b(fig|tab|thm|lem|prop|cor|eq|sec|alg):\w|\b(?:lemma|theorem|corollary|proposition) [a-z]\w*[A-Z]\w*|\\[a-z]+\{"
)


def test_labels_of_the_paper_stand_in_folds_alone() -> None:
    mechanism = cf.FromMatrix(cf.Integers(0, 2), [[0.6, 0.4], [0.5, 0.5], [0.2, 0.8]])
    counts = cf.tally(mechanism.report_alphabet.decode([0, 1]), counts=[520, 480])
    page = diagnosis_page(cf.Survey(mechanism, "answer", "Three"), cf.diagnose(counts, mechanism))
    words = outside_of_folds(page)
    assert "Could more reports answer this?" in words
    assert not LABEL.search(words)
    assert LABEL.search("lemma krrLinIndependence")
    assert "What it rests on" not in words
    assert "What it rests on" in page


def test_headings_go_down_one_step_at_a_time() -> None:
    survey, counts, _ = case("line")
    page = estimate_page(survey, counts, assess(survey, counts, cf.IBU()))
    levels = [int(level) for level in re.findall(r"<h([1-6])", page)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_pictures_say_what_there_is_to_see() -> None:
    survey, counts, _ = case("line")
    (outcome,) = assess(survey, counts, cf.IBU())
    windows = outcome.estimate.windows(name=survey.name)
    page = estimate_page(survey, counts, [outcome], windows=windows)
    told = re.findall(r'<svg role="img" aria-label="([^"]*)"', page)
    assert all(told)
    fullest = max(range(len(windows)), key=lambda place: windows.answers[place].estimate)
    one = windows.answers[fullest]
    assert (
        f"with 95% intervals: {windows.labels[fullest]} {100 * one.estimate:.2g}% ({100 * one.low:.2g}% to" in told[0]
    )
    top = int(np.argmax(outcome.estimate.distribution))
    assert any(f"at answer {top}" in words and words.startswith("What was recovered") for words in told)
    assert any("below the maximum after" in words for words in told)
    assert told[0] == told[1]
