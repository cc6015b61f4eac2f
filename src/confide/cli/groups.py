"""An estimate for each group of a file of counts: solved together, shown as a table."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from confide.cli.terminal import (
    TITLE,
    fit_line,
    identified_line,
    noise_lines,
    note_not_identified,
    note_poor_fit,
    progress,
    progress_bar,
    say,
    say_exactly,
    show,
    show_json,
    show_pairs,
    warn,
)
from confide.explanations import WHEN_GROUPS_ARE_NOT_IDENTIFIED
from confide.files import (
    CountsFile,
    GroupEstimates,
    estimate_file,
    groups_csv,
    groups_record,
    label_group,
    to_json,
    write_text,
)
from confide.methods import Method, Stacked, Status
from confide.surveys import Survey
from confide.theory.fit import GroupFits
from confide.wording import label_value

FEW = 20
"""Groups that are shown, the largest ones, unless all are asked for."""

MANY = 200
"""Groups from which on a warning says how long the default takes: most of a minute."""


def estimate_each_group(
    counts: CountsFile, survey: Survey, method: Method, outputs: list[Path], *, everything: bool, as_json: bool
) -> GroupFits:
    """Estimate every group, write what is asked for, show the largest groups, and return how they fit."""
    if isinstance(method, Stacked) and len(counts.groups) >= MANY:
        warn(
            f"{len(counts.groups):,} groups are weighed and solved one by one, about a quarter of a second each for a "
            f"hundred values; --method ibu takes all of them together, in seconds."
        )
    with progress_bar(method.name, len(counts.groups)) as advance:
        found = estimate_file(counts, survey, method, progress=advance)
    with progress("Testing the fit"):
        fits = found.fits
    contents = [_render(path, found) for path in outputs]
    for path, content in zip(outputs, contents, strict=True):
        write_text(path, content)
    if as_json:
        show_json(groups_record(found))
        note_poor_fit(fits, as_json=True)
    else:
        _show(found, counts, everything=everything)
        for path in outputs:
            say_exactly(f"Wrote {path}")
    _warn_of_endings(found, len(counts.groups))
    return fits


def _render(path: Path, found: GroupEstimates) -> str:
    if path.suffix.lower() == ".csv":
        return groups_csv(found)
    if path.suffix.lower() == ".json":
        return to_json(groups_record(found)) + "\n"
    from confide.pages import groups_page

    return groups_page(found)


def _show(found: GroupEstimates, counts: CountsFile, *, everything: bool) -> None:
    first = next(iter(found.estimates.values()))
    endings = Counter(str(one.status) for one in found.estimates.values())
    told = ", ".join(f"{number:,} by {status}" for status, number in endings.most_common())
    show_pairs(
        [
            ("Survey", found.survey.title),
            ("Reports", f"{found.total:,.10g}: {counts.heading.rows}"),
            *noise_lines(found.origin),
            ("Groups", f"{len(found.estimates):,}, by {', '.join(found.by)}"),
            ("Method", f"{first.method!r}, each group on its own"),
            ("Ended", told),
            *([] if found.fits.is_bad else fit_line(found.fits.together)),
            *identified_line(found.identification),
        ]
    )
    note_poor_fit(found.fits)
    note_not_identified(found.identification, _title(found), WHEN_GROUPS_ARE_NOT_IDENTIFIED)
    shown = found.largest if everything else found.largest[:FEW]
    _show_table(found, shown)
    if len(shown) < len(found.estimates):
        say(f"The {FEW} largest groups; --all shows all {len(found.estimates):,}.", style="dim")


def _title(found: GroupEstimates) -> str:
    """Return what a note on answers that are some of many is headed, with the groups if not all are."""
    groups = len(found.estimates)
    return TITLE if found.least_identified == groups else f"{TITLE} in {found.least_identified:,} of {groups:,} groups"


def _show_table(found: GroupEstimates, keys: list[tuple[str, ...]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(Text(", ".join(found.by)), max_width=40)
    for heading in ("reports", f"most likely {found.survey.name}", "its share", "certificate"):
        table.add_column(Text(heading), justify="right")
    for key in keys:
        one = found.estimates[key]
        place = int(one.distribution.argmax())
        value = label_value(found.survey.alphabet.decode([place]).tolist()[0])
        numbers = (f"{found.reports[key]:,.10g}", value, f"{one.distribution[place]:.2%}", f"{one.certificate:.3g}")
        table.add_row(*map(Text, (label_group(key), *numbers)))
    show(table)


def _warn_of_endings(found: GroupEstimates, groups: int) -> None:
    early = sum(one.status in (Status.ITERATION_LIMIT, Status.TIME_LIMIT) for one in found.estimates.values())
    if early:
        warn(f"{early:,} of {len(found.estimates):,} groups ended before their goal. Raise --iteration-limit.")
    if groups > len(found.estimates):
        warn(f"{groups - len(found.estimates):,} groups have no reports, and no estimate.")
