"""The index of a reproduction: every figure and table of the paper beside ours."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence

import confide
from confide.pages.markup import NONE, bullets, document, fact_list, fold, note, paragraph, section, table, text
from confide.pages.story import describe_seconds
from confide.wording import counted, listed
from reproduction.claims import Claim, Ruling, tally
from reproduction.experiments import NUMBERS, Comparison, Experiment, Picture
from reproduction.folder import Folder, Run, claims_of
from reproduction.table import RESULTS, Table

# Rows up to which a computed table is shown whole.
MOST_ROWS = 60
# CSS pixels for each dot of a figure, so that its letters are as large as the page's notes.
LETTERS = 0.72

PAPER = (
    "ElSalamouny and Palamidessi, On the Consistency and Performance of the Iterative Bayesian Update, IEEE TDSC 2026"
)


def reproduction_page(experiments: Sequence[Experiment], folder: Folder) -> str:
    """Return one self-contained HTML document that shows every experiment that was run into a folder.

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
    sections = [
        _contents(shown),
        _against(shown, claims),
        *(_show(experiment, runs[experiment.name], claims[experiment.name], folder) for experiment in shown),
        _differences(),
        _missing([experiment for experiment in experiments if experiment.name not in runs]),
    ]
    return document(
        title="The paper, reproduced",
        summary=text(_summary(shown, claims)),
        facts=_facts(shown, runs, claims),
        body="\n".join(sections),
        footer=_provenance(runs.values()),
    )


def _summary(shown: Sequence[Experiment], claims: dict[str, list[Claim]]) -> str:
    everything = _judged(claims)
    pictures = sum(len(experiment.pictures) for experiment in shown)
    return (
        f"Every figure and table below was computed by confide from the real data: {counted(pictures, 'figure')} of "
        f"{counted(len(shown), 'experiment')}. Of the numbers and statements of the paper, {tally(everything)}; "
        "reasons stand beside them, as far as they are known. Beside the paper's methods stand "
        "three of confide's own: its default (Stacked), the certified maximum of the likelihood (MLE), and IBU stopped "
        "by held-out reports."
    )


def _facts(shown: Sequence[Experiment], runs: dict[str, Run], claims: dict[str, list[Claim]]) -> str:
    repeats = sorted({runs[one.name].repeats for one in shown if isinstance(one, Comparison)})
    facts = {
        "Figures": str(sum(len(experiment.pictures) for experiment in shown)),
        "Estimates": f"{sum(run.cells for run in runs.values()):,}",
        "Repeats": " to ".join(map(str, dict.fromkeys((repeats[0], repeats[-1])))) if repeats else NONE,
        "Processor time": describe_work(sum(run.work for run in runs.values())),
        "Statements that hold": f"{_holding(claims)} of {len(_judged(claims))}",
    }
    return fact_list(facts)


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
        "What is here",
        '<ul class="columns"><li><a href="#paper-against-ours">Paper against ours</a></li>' + lines + "</ul>",
    )


def _labels(experiment: Experiment) -> str:
    """Return what a reader of the paper looks for; labels of its source stand among the technical details."""
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
    return section("Paper against ours", body).replace(
        "<section>", '<section id="paper-against-ours" class="against">', 1
    )


def _link(experiment: Experiment, what: str) -> str:
    return f'<a href="#{text(experiment.name)}">{text(what)}</a>'


def _mark(claim: Claim) -> str:
    return f'<span class="verdict {claim.verdict.name.lower()}">{text(claim.verdict)}</span>'


def _show(experiment: Experiment, run: Run, claims: Sequence[Claim], folder: Folder) -> str:
    numbers = _numbers(experiment, folder)
    is_folded = isinstance(experiment, Comparison)
    source = note(f"Labels in the paper's source: {', '.join(experiment.citations)}.") if experiment.paper else ""
    parts = [
        note(f"In the paper: {_labels(experiment)}."),
        *(_figure(picture, folder, claims) for picture in experiment.pictures),
        _statements(claims),
        bullets(experiment.notes) if experiment.notes else "",
        "" if is_folded else numbers,
        "<details><summary>How it was computed</summary>",
        numbers if is_folded else "",
        _facts_of(experiment, run, folder),
        source,
        _links(experiment, folder),
        "</details>",
    ]
    return section(experiment.title, *parts).replace("<section>", f'<section id="{text(experiment.name)}">', 1)


def _figure(picture: Picture, folder: Folder, claims: Sequence[Claim]) -> str:
    drawn = folder.figure(picture.name)
    if not drawn.exists():
        return note(f"{picture.name} is not drawn yet.")
    content, dark = drawn.read_bytes(), folder.figure(f"{picture.name}-dark")
    found = [f"{claim.what}: {claim.verdict}, ours {claim.ours}" for claim in claims]
    told = f"{picture.caption} What comes out: {'; '.join(found)}." if found else picture.caption
    image = f'<img src="{_data(content)}" alt="{text(told)}" style="max-width:{_width(content)}px" loading="lazy">'
    if dark.exists():  # the browser takes the one of its mode, without a script
        source = f'<source media="screen and (prefers-color-scheme: dark)" srcset="{_data(dark.read_bytes())}">'
        image = f"<picture>{source}{image}</picture>"
    files = " ".join(
        f'<a href="figures/{text(picture.name)}.{ending}">{ending.upper()}</a>' for ending in ("png", "pdf")
    )
    return f'<figure class="plate">{image}<figcaption>{text(picture.caption)} {files}</figcaption></figure>'


def _data(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"


def _width(png: bytes) -> int:
    """Return how wide a figure is shown, in CSS pixels."""
    return round(LETTERS * int.from_bytes(png[16:20], "big"))  # the width stands in the header of every PNG


def _numbers(experiment: Experiment, folder: Folder) -> str:
    results = folder.read_tables(experiment)[RESULTS]
    if isinstance(experiment, Comparison):
        return _medians(results)
    if len(results) <= MOST_ROWS:
        rows = [[text(_cell(cell)) for cell in row] for row in results.rows]
        words = [place for place, kind in enumerate(results.kinds.values()) if kind == "text"]
        return table([name.replace("_", " ") for name in results.kinds], rows, words=words)
    return ""


def _medians(results: Table) -> str:
    """Return one row a setting: how each method fared, the best in bold."""
    methods = list(
        dict.fromkeys(zip(results.column("method"), results.column("delta"), results.column("start"), strict=True))
    )
    settings = list(dict.fromkeys(zip(*(results.column(name) for name in SETTING), strict=True)))
    names = [_method(*method) for method in methods]
    rows = []
    for setting in settings:
        at = results.where(**dict(zip(SETTING, setting, strict=True)))
        found = [at.where(method=name, delta=delta, start=start) for name, delta, start in methods]
        medians = [
            (rows_of.median("emd"), rows_of.median("total_variation")) if rows_of.numbers("emd").size else None
            for rows_of in found
        ]
        best = min(median[0] for median in medians if median is not None) if any(medians) else None
        rows.append([*(text(_cell(cell)) for cell in setting), *(_median(median, best) for median in medians)])
    return table([*SETTING, *names], rows, words=(0, 2)) + note(
        "Median EMD over repeats, and in brackets median total variation."
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
    return f"<h3>What the paper says of it</h3><ul>{lines}</ul>"


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
    return section(
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
