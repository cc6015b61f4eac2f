"""The index: every figure and table of the paper beside ours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import confide
from confide.present.estimates import describe_seconds
from confide.present.pages import document, paragraph, table, text
from confide.present.summary import NONE
from confide.values.wording import counted, listed
from reproduction.claims import Claim, Ruling, tally
from reproduction.experiments import NUMBERS, Comparison, Experiment, Picture
from reproduction.folder import Folder, Run, claims_of
from reproduction.table import RESULTS, Table

# Rows up to which a computed table is shown whole.
MOST_ROWS = 60
# Windows narrower than this get the drawing that was made for a telephone.
NARROW = "(max-width: 960px)"
# Figures in total variation repeat those in earth mover's distance, and are folded away.
REPEATED = "-tv"

PAPER = (
    "ElSalamouny and Palamidessi, On the Consistency and Performance of the Iterative Bayesian Update, IEEE TDSC 2026"
)


def note(words: object) -> str:
    """Return a paragraph that stands back a little."""
    return f'<p class="note">{text(words)}</p>'


def bullets(sentences: Iterable[str]) -> str:
    """Return a list, one sentence a point."""
    return "<ul>" + "".join(f"<li>{text(sentence)}</li>" for sentence in sentences) + "</ul>"


def section(heading: str, *parts: str) -> str:
    """Return a section of HTML parts; nothing if all are empty."""
    body = "\n".join(part for part in parts if part)
    return f"<section>\n<h2>{text(heading)}</h2>\n{body}\n</section>" if body else ""


def fold(heading: str, *parts: str) -> str:
    """Return a folded section for specialists; nothing if it is empty."""
    body = "\n".join(part for part in parts if part)
    return f"<details><summary><h2>{text(heading)}</h2></summary>\n{body}\n</details>" if body else ""


def answer_list(answers: Sequence[tuple[str, str, str]]) -> str:
    """Return questions with large answers, and their ranges below."""
    inner = "".join(
        f'<div><dt>{text(asked)}</dt><dd>{text(answer)}</dd><dd class="ends">{text(ends)}</dd></div>'
        for asked, answer, ends in answers
    )
    return f'<dl class="answers">{inner}</dl>' if answers else ""


def reproduction_page(experiments: Sequence[Experiment], folder: Folder) -> str:
    """Return one HTML document of all experiments in a folder.

    It opens at once: figures are files beside it, which a browser loads when they are scrolled to.

    Parameters
    ----------
    experiments
        All experiments, in the order of the page; those that were not run are named at its end.
    folder
        Where they were run.
    """
    runs = {
        one.name: run for one in experiments if (run := folder.read_run(one)) is not None and folder.has_tables(one)
    }
    shown = [experiment for experiment in experiments if experiment.name in runs]
    claims = {experiment.name: claims_of(experiment, folder) for experiment in shown}
    first, *others = [_show(one, runs[one.name], claims[one.name], folder) for one in shown] or [""]
    sections = [
        _answers(shown, runs, claims),
        first,
        _disagreements(shown, claims),
        _contents(shown),
        *others,
        _against(shown, claims),
        _differences(),
        _missing([experiment for experiment in experiments if experiment.name not in runs]),
    ]
    return document(
        title="The paper, reproduced",
        lead=text(SUMMARY),
        facts="",
        body="\n".join(sections),
        footer=_provenance(runs.values()),
    )


SUMMARY = (
    "Every figure and table below was computed by confide from the real data, and every number and statement of the "
    "paper stands beside one of ours. With the paper's methods stand three of confide's own: its default (Stacked), "
    "the certified maximum of the likelihood (MLE), and IBU stopped by held-out reports."
)


def _answers(shown: Sequence[Experiment], runs: dict[str, Run], claims: dict[str, list[Claim]]) -> str:
    judged, cells = _judged(claims), sum(run.cells for run in runs.values())
    repeats = sorted({runs[one.name].repeats for one in shown if isinstance(one, Comparison)})
    often = " to ".join(map(str, dict.fromkeys((repeats[0], repeats[-1])))) if repeats else NONE
    return answer_list(
        [
            ("Statements of the paper that hold", f"{_holding(claims)} of {len(judged)}", tally(judged)),
            (
                "Figures",
                f"{sum(len(experiment.pictures) for experiment in shown)}",
                f"of {counted(len(shown), 'experiment')}",
            ),
            ("Estimates", f"{cells:,}", f"each drawn {often} times" if cells else ""),
            ("Processor time", describe_work(sum(run.work for run in runs.values())), ""),
        ]
    )


def _judged(claims: dict[str, list[Claim]]) -> list[Claim]:
    return [claim for found in claims.values() for claim in found if claim.verdict.is_judged]


def _holding(claims: dict[str, list[Claim]]) -> int:
    return sum(claim.verdict is Ruling.HOLDS for claim in _judged(claims))


def describe_work(seconds: float) -> str:
    """Return a length of time that may be long.

    >>> describe_work(0.5), describe_work(95), describe_work(4000)
    ('500 ms', '1 min 35 s', '66 min 40 s')
    """
    if seconds < 60:
        return describe_seconds(seconds)
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def _contents(shown: Sequence[Experiment]) -> str:
    lines = "".join(
        f'<li><a href="#{text(one.name)}">{text(one.title)}</a> <span class="note">{text(_labels(one))}</span></li>'
        for one in shown
    )
    return section(
        "All figures and tables",
        f'<ul class="columns">{lines}<li><a href="#paper-against-ours">Every statement of the paper</a></li></ul>',
    )


def _disagreements(shown: Sequence[Experiment], claims: dict[str, list[Claim]]) -> str:
    """Return where our numbers differ from the paper's, and why."""
    lines = "".join(
        f"<li>{_mark(claim)} {_link(experiment, claim.what)}. Paper: {text(claim.paper)}. Ours: {text(claim.ours)}. "
        f'<span class="note">{text(claim.note)}</span></li>'
        for experiment in shown
        for claim in claims[experiment.name]
        if claim.verdict in (Ruling.DIFFERS, Ruling.MISPRINT)
    )
    return section("Where ours is another number", f'<ul class="plain">{lines}</ul>' if lines else "")


def _labels(experiment: Experiment) -> str:
    """Return the paper's numbers; source labels are technical details."""
    return ", ".join(dict.fromkeys(NUMBERS[label] for label in experiment.paper)) or "an addition"


def _against(shown: Sequence[Experiment], claims: dict[str, list[Claim]]) -> str:
    rows = [
        [_link(experiment, claim.what), text(claim.paper), text(claim.ours), _mark(claim), text(claim.note)]
        for experiment in shown
        for claim in claims[experiment.name]
    ]
    if not rows:
        return ""
    headings = ("Statement", "Paper", "Ours: median (range)", "Verdict", "How it is judged, or why it differs")
    body = table(headings, rows, words=(0, 1, 2, 3, 4), kind="stacked")
    shown_all = fold(f"Every statement of the paper against ours ({len(rows):,})", body)
    return shown_all.replace("<details>", '<details id="paper-against-ours" class="against">', 1)


def _link(experiment: Experiment, what: str) -> str:
    return f'<a href="#{text(experiment.name)}">{text(what)}</a>'


def _mark(claim: Claim) -> str:
    return f'<span class="verdict {claim.verdict.name.lower()}">{text(claim.verdict)}</span>'


def _show(experiment: Experiment, run: Run, claims: Sequence[Claim], folder: Folder) -> str:
    numbers, has_pictures = _numbers(experiment, folder), bool(experiment.pictures)
    source = note(f"Labels in the paper's source: {', '.join(experiment.citations)}.") if experiment.paper else ""
    found = _finding(experiment, claims, folder)
    parts = [
        note(f"In the paper: {_labels(experiment)}." if experiment.paper else "An addition of ours."),
        *(_figure(picture, folder, found) for picture in experiment.pictures),
        _statements(claims),
        bullets(experiment.notes) if experiment.notes else "",
        "" if has_pictures else numbers,
        "<details><summary>How it was computed</summary>",
        numbers if has_pictures else "",
        _facts_of(experiment, run, folder),
        source,
        _links(experiment, folder),
        "</details>",
    ]
    return section(experiment.title, *parts).replace("<section>", f'<section id="{text(experiment.name)}">', 1)


def _finding(experiment: Experiment, claims: Sequence[Claim], folder: Folder) -> str:
    """Return what the figures show: the best method, or the result."""
    if isinstance(experiment, Comparison) and len(experiment.contenders) > 1:
        least = _least(folder.read_tables(experiment)[RESULTS])
        if least:
            many = sum(least.values())
            order = sorted(least, key=lambda name: -least[name])
            if many == 1:
                return f"{order[0]} has the smallest median error."
            others = [f"{name} in {least[name]:,}" for name in order[1:]]
            where = f"in {least[order[0]]:,} of {many:,} settings" if others else f"in all {many:,} settings"
            return f"{order[0]} has the smallest median error {listed([where, *others])}."
    return " ".join(f"{claim.what}: {claim.ours}." for claim in claims)


def _least(results: Table) -> dict[str, int]:
    """Return how often each method has the smallest median error.

    The reports themselves are left out.
    """
    often: dict[str, int] = {}
    for at, methods in _settings(results):
        errors = {name: rows.median("emd") for name, rows in methods.items() if rows.numbers("emd").size}
        if len(errors) > 1 and at:
            best = min(errors, key=lambda name: errors[name])
            often[best] = often.get(best, 0) + 1
    return often


def _settings(results: Table) -> Iterable[tuple[tuple[object, ...], dict[str, Table]]]:
    """Yield every setting, and the rows of each method there."""
    methods = list(
        dict.fromkeys(zip(results.column("method"), results.column("delta"), results.column("start"), strict=True))
    )
    for setting in dict.fromkeys(zip(*(results.column(name) for name in SETTING), strict=True)):
        at = results.where(**dict(zip(SETTING, setting, strict=True)))
        yield (
            setting,
            {
                _method(name, delta, start): at.where(method=name, delta=delta, start=start)
                for name, delta, start in methods
            },
        )


def _figure(picture: Picture, folder: Folder, found: str) -> str:
    drawn, narrow = folder.figure(picture.name, "svg"), folder.figure(f"{picture.name}-narrow", "svg")
    if not drawn.exists() or not narrow.exists():
        return note(f"{picture.name} is not drawn yet.")
    # Its own size is said before it is loaded, so that nothing moves.
    (width, height), small = _size(drawn), _size(narrow)
    source = f'<source media="{NARROW}" srcset="figures/{text(narrow.name)}" width="{small[0]}" height="{small[1]}">'
    told = f"{found} {picture.caption}".strip()
    image = (
        f'<img src="figures/{text(drawn.name)}" alt="{text(told)}" width="{width}" height="{height}" '
        f'style="--wide:{width}px;--narrow:{small[0]}px" loading="lazy" decoding="async">'
    )
    files = " ".join(
        f'<a href="figures/{text(picture.name)}.{ending}">{ending.upper()}</a>' for ending in ("png", "pdf", "svg")
    )
    headline = f"<strong>{text(found)}</strong> " if found and not picture.name.endswith(REPEATED) else ""
    caption = f"<figcaption>{headline}{text(picture.caption)} {files}</figcaption>"
    shown = f'<figure class="plate"><picture>{source}{image}</picture>{caption}</figure>'
    if not picture.name.endswith(REPEATED):
        return shown
    return f"<details><summary>The same in total variation</summary>\n{shown}\n</details>"


def _size(drawing: Path) -> tuple[int, int]:
    """Return a drawing's width and height in CSS pixels.

    Its opening tag has them in points.
    """
    with drawing.open(encoding="utf-8") as stream:
        opening = stream.read(4000)
    found = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"|height="([\d.]+)pt"[^>]*?width="([\d.]+)pt"', opening)
    if found is None:
        return 0, 0
    width, height = (found[1], found[2]) if found[1] else (found[4], found[3])
    return round(float(width) * 96 / 72), round(float(height) * 96 / 72)


def _numbers(experiment: Experiment, folder: Folder) -> str:
    results = folder.read_tables(experiment)[RESULTS]
    if isinstance(experiment, Comparison):
        return _medians(results)
    if len(results) <= MOST_ROWS:
        rows = [[text(_cell(cell)) for cell in row] for row in results.rows]
        words = [place for place, kind in enumerate(results.kinds.values()) if kind == "text"]
        return table([name.replace("_", " ") for name in results.kinds], rows, words=words, kind="stacked")
    return ""


def _medians(results: Table) -> str:
    """Return one row a setting, the best method in bold.

    What all settings share stands below.
    """
    found = list(_settings(results))
    shown = [place for place in range(len(SETTING)) if len({setting[place] for setting, _ in found}) > 1] or [0]
    rows = []
    for setting, methods in found:
        medians = [
            (rows_of.median("emd"), rows_of.median("total_variation")) if rows_of.numbers("emd").size else None
            for rows_of in methods.values()
        ]
        best = min(median[0] for median in medians if median is not None) if any(medians) else None
        named = [text(_cell(setting[place])) for place in shown]
        rows.append([*named, *(_median(median, best) for median in medians)])
    headings = [*(SETTING[place] for place in shown), *found[0][1]]
    words = [place for place, column in enumerate(shown) if column in (0, 2)]
    same = [f"{SETTING[place]} {_cell(found[0][0][place])}" for place in range(len(SETTING)) if place not in shown]
    everywhere = f" In all of them: {', '.join(same)}." if same else ""
    return table(headings, rows, words=words, kind="stacked") + note(
        f"Median EMD over repeats, and in brackets median total variation; the smallest EMD is bold.{everywhere}"
    )


SETTING = ("data", "people", "mechanism", "epsilon")


def _method(name: str, delta: float | None, start: float | None) -> str:
    return name + (f", δ = {delta:g}" if delta is not None else "") + (f", p = {start:g}" if start is not None else "")


def _median(median: tuple[float, float] | None, best: float | None) -> str:
    if median is None:
        return text("does not apply")
    words = f"{median[0]:.3g} ({median[1]:.2g})"
    return f"<strong>{words}</strong>" if median[0] == best else words


def _cell(cell: object) -> str:
    if cell is None:
        return NONE
    return f"{cell:,.6g}" if isinstance(cell, float) else f"{cell:,}" if isinstance(cell, int) else str(cell)


def _statements(claims: Sequence[Claim]) -> str:
    if not claims:
        return ""
    lines = "".join(
        f"<li>{_mark(claim)} {text(claim.what)}. Paper: {text(claim.paper)}. Ours: {text(claim.ours)}. "
        f'<span class="note">{text(claim.note)}</span></li>'
        for claim in claims
    )
    return f'<h3>What the paper says of it</h3><ul class="plain">{lines}</ul>'


def _facts_of(experiment: Experiment, run: Run, folder: Folder) -> str:
    command = f"python -m reproduction {experiment.name}"
    if isinstance(experiment, Comparison) and run.repeats != experiment.repeats:
        command += f" --repeats {run.repeats}"
    seeds = _seeds(experiment) if isinstance(experiment, Comparison) else _seeds_of(experiment, folder)
    cells = f"{run.cells:,} cells ({run.repeats} repeats)" if run.cells else "One computation"
    return f'<pre tabindex="0">{text(command)}</pre>' + note(
        f"{cells}; {describe_work(run.work)} of processor time. {seeds}"
    )


def _seeds_of(experiment: Experiment, folder: Folder) -> str:
    if "seed" not in experiment.columns[RESULTS]:
        return "Nothing is drawn at random."
    seeds = [seed for seed in folder.read_tables(experiment)[RESULTS].distinct("seed") if seed is not None]
    return f"Seeds stand in the table's column seed: {listed([str(seed) for seed in seeds])}."


def _seeds(experiment: Comparison) -> str:
    draws = experiment.draws(1)
    return (
        "Seeds: each drawing of reports has its own, made of its declaration (data, mechanism, epsilon, repeat) and "
        f"written in the table's column seed; the first is {draws[0].seed}. All methods see the same reports."
    )


def _links(experiment: Experiment, folder: Folder) -> str:
    names = [folder.table(experiment, name).name for name in experiment.columns]
    files = ", ".join(f"{_file(name)} ({_file(name.replace('.csv', '.parquet'), 'Parquet')})" for name in names)
    return f'<p class="note">Tables: {files}.</p>'


def _file(name: str, words: str = "") -> str:
    return f'<a href="tables/{text(name)}">{text(words or name)}</a>'


def _differences() -> str:
    return fold(
        "Where ours may differ from the paper's, and why",
        bullets(
            (
                (
                    "Delta. The paper states IBU's delta for two figures alone. The box plots here use 0.003, which "
                    "agrees with all that it says of them: IBU far better at every strong level of metric privacy, "
                    "comparable under k-RR. With 0.01 it is not yet far better at the strongest levels; with 0.001 it "
                    "begins to fit the noise at weaker ones. RAPPOR needs 0.001. The heat maps of Manhattan agree best "
                    "with 1. 'What delta changes' shows all of them."
                ),
                "Levels and sizes. The paper gives ranges. The levels within them are ours.",
                "Ages. The paper does not say which part of UCI Adult it used; ours are both parts.",
                "San Francisco. The paper gives no bounds; ours are those of the bundled data.",
                "Manhattan. 98,061 check-ins where the paper has 98,060: one lies on the rim of its rounded bounds.",
                (
                    "Randomness. The paper's pictures are single draws. Ours are the first of all repeats, and "
                    "numbers are given as medians with their range."
                ),
                (
                    "Time. The paper measured C++ on an M2; ours is numpy on this machine. Compare shapes, not "
                    "milliseconds."
                ),
            )
        ),
    )


def _missing(experiments: Sequence[Experiment]) -> str:
    if not experiments:
        return ""
    return section(
        "Not run yet",
        f'<pre tabindex="0">python -m reproduction {text(" ".join(one.name for one in experiments))}</pre>',
    )


def _provenance(runs: Iterable[Run]) -> str:
    versions = listed(sorted({run.version for run in runs}) or [confide.__version__])
    return fold(
        "Where this comes from",
        *(
            paragraph(f"Made by confide {versions}. The paper: {PAPER}."),
            paragraph(
                "Finished cells are kept in the folder cells; the same command goes on from them. Tables do not "
                "depend on the number of jobs nor on interruptions."
            ),
        ),
    )
