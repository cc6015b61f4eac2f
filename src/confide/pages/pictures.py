"""Figures of a page, each on its card."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from confide.alphabets import Alphabet, Attributes, LineGeometry, PlaneGeometry
from confide.estimates import Estimate
from confide.figures import Panel, PanelSheet, Role, draw_path, draw_sheet, draw_windows, style, to_svg
from confide.figures.panels import FloatArray, choose_colors
from confide.figures.shares import MOST_BARS
from confide.intervals import Band, CrossTable, Windows, percent
from confide.pages.findings import tell_panel, tell_paths, tell_windows
from confide.pages.markup import cards, paragraph, section, swatch, table, text, wide_figure
from confide.pages.story import Story, describe_accuracy

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def show_distributions(story: Story) -> str:
    """Return the original, the noisy and the estimated distributions side by side."""
    beside = story.noisy_panel if story.is_comparable else []
    panels = [*story.truth_panel, *beside, *_estimate_panels(story)]
    return section(
        "The distributions",
        _legend(story),
        _show(story.alphabet, panels, story),
        *_show_ends(story),
        *_show_reports(story),
    )


def show_windows(story: Story) -> str:
    """Return the windows that the reports tell apart, with their intervals and the estimate over them."""
    if story.windows is None:
        return ""
    noisy = story.noisy.shares if story.is_comparable and story.noisy is not None else None
    curve = story.outcomes[0].estimate.distribution
    behind = story.background
    color = choose_colors(_estimate_panels(story))[0]
    shown = picture_windows(
        story.windows, curve, story.survey.name, truth=story.truth, noisy=noisy, background=behind, color=color
    )
    return section("What these reports tell apart", paragraph(story.windows.headline), shown, kind="hero")


def show_marginal(name: str, estimate: Estimate, windows: Windows | None) -> str:
    """Return one of several attributes by itself: the windows that its reports tell, with their intervals."""
    if windows is None:
        return ""
    shown = picture_windows(windows, estimate.distribution, name)
    return section(
        f"{name[:1].upper()}{name[1:]}, whatever the other attributes are", paragraph(windows.headline), shown
    )


def show_cross(crossed: CrossTable) -> str:
    """Return a cross table: rows by columns with totals where it is of two attributes, else a list of its entries."""
    rows, *others = crossed.totals.values()
    heading = f"{' by '.join(crossed.names)}".capitalize()
    words = f"Shares in percent, and below each between what ends it lies at {crossed.shown_level}."
    if len(others) > 1:
        entries = zip(crossed.band.alphabet.labels(), _shares(crossed.band), strict=True)
        return section(heading, paragraph(words), table([", ".join(crossed.names), "Share"], entries))
    width, entries_of = others[0].alphabet.size, _shares(crossed.band)
    lines = [
        [text(label), *entries_of[place * width : (place + 1) * width], total]
        for place, (label, total) in enumerate(zip(rows.alphabet.labels(), _shares(rows), strict=True))
    ]
    lines.append([text("all"), *_shares(others[0]), text("100")])
    headings = [f"{crossed.names[0]} \\ {crossed.names[1]}", *others[0].alphabet.labels(), "all"]
    return section(heading, paragraph(words), table(headings, lines))


def _shares(band: Band) -> list[str]:
    ends = zip(band.estimate.tolist(), band.low.tolist(), band.high.tolist(), strict=True)
    return [
        f"{text(f'{100 * now:.1f}')}<br><small>{text(f'{100 * low:.1f} to {100 * high:.1f}')}</small>"
        for now, low, high in ends
    ]


def picture_windows(  # noqa: PLR0913 - all that a picture may show
    windows: Windows,
    curve: FloatArray,
    name: str,
    *,
    truth: FloatArray | None = None,
    noisy: FloatArray | None = None,
    background: tuple[FloatArray, ...] = (),
    color: str = style.STACKED,
) -> str:
    """Return windows in a picture, for a screen and for a telephone, and in numbers, folded away."""
    described = tell_windows(windows, name)

    def draw(width: float) -> Figure:
        return draw_windows(
            windows, curve, name=name, truth=truth, noisy=noisy, background=background, width=width, color=color
        )

    rows = [
        [text(label), *(text(f"{share:.2%}") for share in (one.estimate, one.low, one.high))]
        for label, one in zip(windows.labels, windows.answers, strict=True)
    ]
    numbers = table([name, "Share", "From", "To"], rows)
    caption = _window_words(windows, has_truth=truth is not None, has_reports=noisy is not None)
    drawn = wide_figure(*at_widths(draw, described), caption=caption)
    return f"{drawn}\n<details><summary>The same in numbers</summary>\n{numbers}\n</details>"


def at_widths(draw: Callable[[float], Figure], described: str) -> list[str]:
    """Return a drawing for a screen, for a tablet and for a telephone: shrunk, its letters could not be read."""
    return [to_svg(draw(width), described) for width in (style.WIDE, style.MIDDLE, style.NARROW)]


def _window_words(windows: Windows, *, has_truth: bool, has_reports: bool) -> str:
    level = percent(windows.level)
    if isinstance(windows.alphabet.geometry, PlaneGeometry):
        return (
            f"Cells are joined to districts until their shares are known. First map: the estimate, with the borders of "
            f"the districts. Second map: how far the share of each district may be off at {level}, as a part of it."
        )
    if not isinstance(windows.alphabet.geometry, LineGeometry):
        beside = " The pale bars are the shares of the reports, which noise has spread out." if has_reports else ""
        return f"Each share, and between what ends it lies at {level}.{beside}"
    truth = " Grey: the truth." if has_truth else ""
    return (
        f"Each box is a window of values. At {level} its share lies between the bottom and the top of the box, spread "
        f"evenly over its values. The line is the estimate: within a window it rests on the method.{truth}"
    )


def _show(alphabet: Alphabet, panels: list[Panel], story: Story) -> str:
    """Return panels side by side; of many combinations, each attribute on its own."""
    if alphabet.attributes is None or alphabet.size <= MOST_BARS:
        return arrange(alphabet, panels, story.survey.name if alphabet == story.alphabet else "report")
    return "\n".join(
        paragraph(f"{name}, on its own:")
        + arrange(part, [_margin(one, alphabet.attributes, name) for one in panels], name)
        for part, name in zip(alphabet.attributes.alphabets, alphabet.attributes.names, strict=True)
    )


def _margin(panel: Panel, attributes: Attributes, name: str) -> Panel:
    """Return the same panel with all other attributes summed away."""
    reference = None if panel.reference is None else attributes.margin(panel.reference, name)
    shares = attributes.margin(panel.distribution, name)
    return replace(panel, distribution=shares, reference=reference, band=None)  # ends do not add up


def _show_reports(story: Story) -> list[str]:
    """Return the reports in a picture of their own, where they cannot stand beside the estimates."""
    if story.noisy is None:
        return [paragraph("Reports are unlike values here, so that there is no picture of them.")]
    if story.is_comparable:
        return []
    return [paragraph(story.noisy.remark), _show(story.noisy.alphabet, story.noisy_panel, story)]


def show_path(story: Story) -> str:
    """Return how the iterative methods climbed; nothing where there are none."""
    paths = {
        name: outcome.path
        for name, outcome in zip(story.names, story.outcomes, strict=True)
        if len(outcome.path) > 1 and outcome.estimate.method.seeks_maximum
    }
    if not paths:
        return ""
    colors = dict(zip(story.names, choose_colors(_estimate_panels(story)), strict=True))
    told = tell_paths(paths, _ceiling(story))
    drawn = [
        to_svg(draw_path(paths, ceiling=_ceiling(story), colors=colors, width=width), told)
        for width in (style.MIDDLE, style.NARROW)
    ]
    caption = (
        "How far the log-likelihood was below its maximum after each iteration. The maximum itself is not known "
        "exactly, so the distance lies in the shaded band: at least that to the best answer reached, at most that "
        "to the ceiling that the certificate proves. Both axes are logarithmic."
    )
    return wide_figure(*drawn, caption=caption)


def _estimate_panels(story: Story) -> list[Panel]:
    ends = None if story.band is None else (story.band.low, story.band.high)
    return [
        Panel(
            name,
            outcome.estimate.distribution,
            describe_accuracy(story, outcome),
            story.truth,
            band=None if place else ends,
            background=story.background,
        )
        for place, (name, outcome) in enumerate(zip(story.names, story.outcomes, strict=True))
    ]


def _show_ends(story: Story) -> list[str]:
    """Return the ends of a band as maps of their own, in colours of their own, for a map cannot show a band."""
    if story.band is None or not isinstance(story.alphabet.geometry, PlaneGeometry):
        return []
    level, name = percent(story.band.level), story.names[0]
    panels = [
        Panel(f"{name}, low", story.band.low, f"Lower ends at {level}", background=story.background),
        Panel(f"{name}, high", story.band.high, f"Upper ends at {level}", background=story.background),
    ]
    words_of_it = f"The intervals of {name} at {level}, each cell by itself, in a colour scale of their own:"
    return [paragraph(words_of_it), _show(story.alphabet, panels, story)]


def _ceiling(story: Story) -> float | None:
    """Return what no log-likelihood can exceed: the lowest that any of the estimates proves."""
    proven = [outcome.estimate.log_likelihood + outcome.estimate.certificate for outcome in story.outcomes]
    finite = [bound for bound in proven if abs(bound) < float("inf")]
    return min(finite) if finite else None


def _legend(story: Story) -> str:
    if isinstance(story.alphabet.geometry, PlaneGeometry):
        return ""
    truth = f"{swatch(style.TRUTH)}The grey behind each distribution is the truth. " if story.truth is not None else ""
    return f"<p>{truth}{text(_band_words(story))}</p>" if truth or story.band is not None else ""


def _band_words(story: Story) -> str:
    if story.band is None or (story.alphabet.attributes is not None and story.alphabet.size > MOST_BARS):
        return ""
    level, name = percent(story.band.level), story.names[0]
    if not isinstance(story.alphabet.geometry, LineGeometry):
        return f"The whiskers of {name} are its intervals at {level}, one for each value."
    return (
        f"The light band around {name} is its interval at {level} for each value by itself, where that is no wider "
        f"than twice the share; elsewhere it would say nothing of a single value."
    )


def arrange(alphabet: Alphabet, panels: list[Panel], name: str) -> str:
    """Return panels over one alphabet, each on its card."""
    sheet = draw_sheet(alphabet, panels, name)
    # Maps have a colour scale of their own, which a square in another colour would only confuse.
    colors = [None] * len(panels) if isinstance(alphabet.geometry, PlaneGeometry) else sheet.colors
    told = [tell_panel(panel, alphabet, name) for panel in panels]
    drawn = [_card(*parts) for parts in zip(panels, sheet.figures, colors, told, strict=True)]
    return cards(drawn, _measures(sheet)) + show_key(sheet)


def _card(panel: Panel, figure: Figure, color: str | None, told: str) -> str:
    square = "" if color is None else swatch(style.TRUTH if panel.role is Role.TRUTH else color)
    below = f"<p>{text(panel.subtitle)}</p>" if panel.subtitle else ""
    return f"<figure><h3>{square}{text(panel.title)}</h3>{below}\n{to_svg(figure, told)}\n</figure>"


def _measures(sheet: PanelSheet) -> str:
    """Return how narrow and how wide a drawing may become, and into how many even columns the cards go at most."""
    most = 4 if sheet.width < 320 else 3
    count = len(sheet.figures)
    columns = -(-count // -(-count // most))
    # No narrower than nine tenths of what it was drawn for, and its card has edges.
    return f"--panel:{round(0.9 * sheet.width) + 34}px;--widest:{round(1.35 * sheet.width)}px;--columns:{columns}"


def show_key(sheet: PanelSheet) -> str:
    """Return the colour scale of maps; nothing where there are none."""
    if sheet.key is None:
        return ""
    told = "Colours of the maps: the stronger, the more people"
    return f'\n<figure class="key">{to_svg(sheet.key, told)}</figure>'
