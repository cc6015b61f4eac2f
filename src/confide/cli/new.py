"""confide new: propose a survey for a file, or write an example."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Annotated, Any

from confide.cli.terminal import console, say, say_exactly, show_json, show_pairs
from confide.cli.usage import AsJson, argument, option
from confide.data.files import write_text
from confide.data.files.profiles import FEWEST, Profile, profile_file
from confide.data.files.reading import read_value_batches
from confide.errors import ConfideError, DataFileError, InvalidParameterError
from confide.estimates.explanations import describe_alphabet
from confide.mechanisms import MECHANISMS
from confide.mechanisms.comparison import PEOPLE
from confide.mechanisms.guarantees import Guarantee, LocalDP
from confide.plans.proposals import WHY_ROUND, Asked, Look, Proposal, look_at, propose
from confide.present.summary import Summary
from confide.present.surveys import describe_levels
from confide.present.terminal import show_summary
from confide.surveys.survey import Survey, parse_survey
from confide.values import ALPHABETS
from confide.values.base import Example
from confide.values.checks import check_choice, parse_real
from confide.values.wording import counted

EXAMPLES = (
    "confide new values.csv",
    "confide new people.csv salary --yes",
    "confide new trips.csv lat lon trips.toml --yes",
    "confide new places homes.toml",
    "confide new rappor",
)

MOST_SHOWN = 8
"""Columns that a list of them shows."""

OTHERS = "any other counts as other, so that nobody is named by a rare word"

HEADER = """\
# A confide survey: which values a person may have, and how each is blurred before it leaves the person's device.
# The device and the curator read the same file: it is the contract between them. Check it with: confide show {path}

# What a value is called{column}.
name = "{name}"

# A heading, for people.
title = "{title}"
"""


SHAPE = """\

# What you know of the distribution before any report is seen: narrower intervals, which rest on it (docs/shapes.md).
# shape = {shape}
"""


LIMITS = """\
# How many reports one person may make. The promise is for one report: those of several add up, and confide show says
# to what. Optional: without it, confide merge cannot check for repeated reports. Beside reports, epsilon = 1.5 limits
# what all of them promise together, and noise = "permanent" asks for a secret of each person.
# [limits]
# reports = 1
"""


def new(
    given: Annotated[
        list[str] | None,
        argument(
            "A file of values, CSV or Parquet, and the column if it has several; or the kind of an example: "
            f"{', '.join(ALPHABETS)}, or a mechanism. A name in .toml says where to write. [default: survey.toml]",
            "[VALUES|KIND]...",
        ),
    ] = None,
    *,
    yes: Annotated[bool, option("Ask nothing: take every default.", "", "--yes")] = False,
    as_json: AsJson = False,
) -> None:
    """Propose a survey for a file of values, or write an example.

    It asks at most five questions, each with a default. The survey that it writes is commented, and the command that
    comes next is printed. Ranges are round numbers, not the file's extremes, and rare words are not listed: a survey is
    public. Run it where the true values are: it sends nothing, and keeps nothing else.

    Without a file it writes an example of a kind of values or of a mechanism, to be edited.
    """
    words = list(given or ())
    named = [one for one in words if one == "-" or one.endswith(".toml")]
    words = [one for one in words if one not in named]
    if len(named) > 1:
        raise InvalidParameterError(f"One survey is written; got {' and '.join(named)}. Name one.")
    path = Path(named[0] if named else "survey.toml")
    if path.exists() and str(path) != "-":
        raise InvalidParameterError(f"{path} exists already. Name another file, such as my.toml, or remove it first.")
    if as_json and str(path) == "-":
        raise InvalidParameterError("--json and the survey cannot share standard output. Name a file in .toml.")
    is_kinds = all(one in ALPHABETS or one in MECHANISMS for one in words)
    if is_kinds and not (words and Path(words[0]).is_file()):
        _write_example(words, path, is_asked=not yes and not as_json, as_json=as_json)
        return
    if not Path(words[0]).exists() and not Path(words[0]).suffix:
        raise InvalidParameterError(
            f"There is no file {words[0]!r}, and no such kind. Kinds: {', '.join((*ALPHABETS, *MECHANISMS))}."
        )
    _propose(Path(words[0]), words[1:], path, is_asked=not yes and not as_json, as_json=as_json)


def _write_example(words: Sequence[str], path: Path, *, is_asked: bool, as_json: bool) -> None:
    alphabet, mechanism = ([one for one in words if one in kinds] for kinds in (ALPHABETS, MECHANISMS))
    if len(alphabet) > 1 or len(mechanism) > 1:
        raise InvalidParameterError(f"Give one kind of values and one mechanism; got {' and '.join(words)}.")
    if not words and is_asked and sys.stdin.isatty():
        say(f"What do people have? {', '.join(exemplary())}.")
        alphabet = [_ask("Kind", "integers")]
    text = example_survey(*_choose(*(one[0] if one else None for one in (alphabet, mechanism))), path)
    write_text(path, text)
    if as_json:
        show_json({"output": str(path), "survey": text, "next": [f"confide show {path}"]})
    elif str(path) != "-":
        say(f"Wrote {path}. Edit it, then see what it promises:")
        say_exactly(f"  confide show {path}")


def _ask(question: str, default: str) -> str:
    """Ask a person. Enter takes the default."""
    say_exactly(f"{question} [{default}]: ")
    return (sys.stdin.readline() or "").strip() or default


def _propose(values: Path, columns: Sequence[str], path: Path, *, is_asked: bool, as_json: bool) -> None:
    profile = profile_file(values)
    look = look_at(profile)
    if not look.candidates and not columns:
        shown = list(look.left_out.items())[:MOST_SHOWN]
        reasons = "\n".join(f"  {name or '(no name)'}: {why}" for name, why in shown)
        raise DataFileError(f"No column of {values} can be asked for:\n{reasons}")
    found = look.candidate(columns) if columns else look.candidates[0]
    if not as_json:
        _say_look(values, look)
    if is_asked and not columns and len(look.candidates) > 1:
        found = _ask_column(look, found)
    proposal = _settle(look, found, is_asked=is_asked)
    misfits = _count_misfits(values, proposal, profile)
    commands = _next_commands(values, path, look, proposal, has_misfits=misfits != 0)
    if not as_json:
        show_pairs(_describe(proposal, misfits, profile))
    section = describe_levels(proposal.survey, proposal.people)
    if not as_json:
        show_summary(Summary("", sections=[section]), console())
    if is_asked and len(proposal.levels) > 1:
        named = [one.name for one in proposal.levels if one.name]
        proposal = proposal.at(_ask(f"How private? {', '.join(named)}", "balanced"))
    text = _commented(values, path, proposal, look)
    write_text(path, text)
    if as_json:
        show_json(_record(values, path, look, proposal, misfits, commands) | {"survey": text})
        return
    if str(path) != "-":
        say(f"Wrote {path}. Next:")
        for command in commands:
            say_exactly(f"  {command}")


def _say_look(values: Path, look: Look) -> None:
    """Say what was read, and which columns are left out."""
    profile = look.profile
    rows = f"{profile.rows:,} rows of it, spread evenly," if profile.is_sample else counted(profile.rows, "row")
    first = f", the first {len(profile.columns)} of them" if profile.width > len(profile.columns) else ""
    say(f"Looked at {values}: {rows} and {counted(profile.width, 'column')}{first}. Nothing leaves this machine.")
    for name, why in list(look.left_out.items())[:MOST_SHOWN]:
        say(f"  {name or '(no name)'} is left out: {why}")
    if len(look.left_out) > MOST_SHOWN:
        say(f"  {len(look.left_out) - MOST_SHOWN:,} more columns are left out; --json has the reasons.")


def _ask_column(look: Look, found: Asked) -> Asked:
    say(f"Columns: {', '.join(one.title for one in look.candidates[:MOST_SHOWN])}.")
    answer = _ask("Which column?", found.title)
    known = {one.title: one for one in look.candidates}
    return known[answer] if answer in known else look.candidate([answer])


def _settle(look: Look, found: Asked, *, is_asked: bool) -> Proposal:
    """Return the proposal after a person's answers."""
    setting = found.setting
    if is_asked and found.others:
        kind = _ask(f"What is {found.title}? {', '.join((setting.kind, *found.others))}", setting.kind)
        check_choice("The kind", kind, (setting.kind, *found.others))
        setting = found.with_kind(kind)
    if is_asked and setting.kind == "amounts":
        middle = found.columns[0].numbers_at[2]
        hints = [found.unit_words] * bool(found.unit_words)
        hints += [f"median {middle:,.12g}"] if middle is not None else []
        unit = _ask(f"In which unit?{' ' + ', '.join(hints) + '.' if hints else ''}", setting.unit or "none")
        setting = replace(setting, unit="" if unit == "none" else unit)
        edges = f"{setting.low:g} {setting.high:g} {setting.width:g}"
        typed = _ask("First edge, last edge and width of the bins, round numbers", edges)
        parts = [parse_real(one) for one in typed.split()]
        low, high, width = parts if len(parts) == 3 else (None, None, None)
        if low is None or high is None or width is None:
            raise InvalidParameterError(f"Three numbers are needed, such as {edges}; got {typed!r}.")
        setting = replace(setting, low=low, high=high, width=width)
    if is_asked and setting.kind == "words":
        typed = _ask("Answers, with commas between", ", ".join(setting.words))
        setting = replace(setting, words=tuple(one.strip() for one in typed.split(",") if one.strip()))
    return propose(look, found, setting)


def _count_misfits(values: Path, proposal: Proposal, profile: Profile) -> int | None:
    """Return how many rows the survey refuses; None if unknown."""
    if profile.is_sample:
        return None
    columns = [one.name for one in proposal.candidate.columns]
    try:
        return sum(rows.account.total_rejected for rows in read_value_batches(values, proposal.survey, columns))
    except DataFileError:
        return None


def _next_commands(values: Path, path: Path, look: Look, proposal: Proposal, *, has_misfits: bool) -> list[str]:
    survey, columns = proposal.survey, [one.name for one in proposal.candidate.columns]
    written = "survey.toml" if str(path) == "-" else str(path)
    command = ["confide", "privatize", written, str(values)]
    if columns not in ([survey.name], ["latitude", "longitude"]):
        command += [part for name in columns for part in ("--column", name)]
    command += ["--by", look.wave, "--secret", look.person] if survey.every else []
    command += ["--rejects", "rejects.csv"] if has_misfits else []
    follow = ["confide", "estimate", written, "reports.csv"]
    follow += ["--over", look.wave] if survey.every else []
    question = proposal.question
    follow += ["--query", question] if question else []
    return [shlex.join([*command, "-o", "reports.csv"]), shlex.join(follow)]


def _describe(proposal: Proposal, misfits: int | None, profile: Profile) -> list[tuple[str, str]]:
    """Return what is proposed, in pairs of words."""
    survey, found = proposal.survey, proposal.candidate
    hints = f"; {found.unit_words}" if found.unit_words else ""
    pairs = [(found.title, f"{describe_alphabet(survey.alphabet)}{hints}")]
    pairs += [("Range", WHY_ROUND)] if found.setting.kind in ("amounts", "dates", "places") else []
    rest = f"; {OTHERS}" if getattr(survey.alphabet, "other", None) else ""
    pairs += [("Words", f"those that {FEWEST} people or more share{rest}")] if found.setting.kind == "words" else []
    if misfits is None:
        pairs += [("Left aside", "rows that do not fit, into rejects.csv: the file was not read whole")]
    else:
        share = "none" if not misfits else f"{misfits:,} of {counted(profile.rows, 'row')}, into rejects.csv"
        pairs += [("Left aside", f"{share}; blank, unreadable or out of range" if misfits else share)]
    pairs += [("Mechanism", proposal.reason)]
    if survey.every:
        pairs += [
            ("Asked again", f"every {survey.every}: noise is permanent, so a repeated answer reveals nothing new")
        ]
    return pairs


def _commented(values: Path, path: Path, proposal: Proposal, look: Look) -> str:
    """Return the survey with comments that say why."""
    survey, found = proposal.survey, proposal.candidate
    shown = "survey.toml" if str(path) == "-" else str(path)
    head = [
        f"# A survey that confide new proposed for {values.name}. Check what it promises: confide show {shown}",
        "# The device and the curator read the same file: it is the contract between them.",
        f"# It holds round numbers, and words that {FEWEST} people or more share, for a survey is public.",
        "",
        "# What a value is called, in files and in queries.",
    ]
    rest = f"; {OTHERS}" if getattr(survey.alphabet, "other", None) else ""
    why = {
        "words": [f"# Words that {FEWEST} people or more share{rest}."],
        "scale": ["# The whole scale, whether or not somebody chose every mark."],
        "numbers": ["# Every value that people may have, not only those in the file."],
    }.get(found.setting.kind, [f"# {WHY_ROUND[:1].upper()}{WHY_ROUND[1:]}."])
    why += [f"# {found.unit_words}."] if found.unit_words else []
    comments = {
        "[alphabet]": why,
        "[mechanism]": [f"# {proposal.reason}"],
        "[limits]": ["# The same people answer again: the same value then gives the same report."],
    }
    lines = list(head)
    for line in survey.text().splitlines():
        if line.startswith("every"):
            lines += ["", f"# How often the same people answer; waves stand in the column {look.wave}."]
        lines += [*comments.get(line, []), line]
    tail = _levels(survey, proposal.people).splitlines()
    place = lines.index("[limits]") - 2 if "[limits]" in lines else len(lines)
    return "\n".join([*lines[:place], *tail, *lines[place:]]) + "\n"


def _record(
    values: Path, path: Path, look: Look, proposal: Proposal, misfits: int | None, commands: list[str]
) -> dict[str, Any]:
    return {
        "file": str(values),
        "output": str(path),
        "rows": look.profile.rows,
        "is_sample": look.profile.is_sample,
        "columns": [one.name for one in proposal.candidate.columns],
        "kind": proposal.setting.kind,
        "unit": proposal.setting.unit or None,
        "unit_words": proposal.candidate.unit_words or None,
        "could_be": {one.title: [one.setting.kind, *one.others] for one in look.candidates},
        "left_out": dict(look.left_out),
        "misfits": misfits,
        "mechanism": proposal.survey.mechanism.kind,
        "reason": proposal.reason,
        "levels": [
            {"name": one.name, "epsilon": getattr(one.mechanism.guarantee, "epsilon", None), "is_chosen": one.is_chosen}
            | {"ranges": one.ranges, "error": one.error}
            for one in proposal.levels
        ],
        "next": commands,
    }


def example_survey(alphabet: str, mechanism: str, path: Path) -> str:
    """Return an example survey, with the alternatives as comments.

    >>> parse_survey(example_survey("integers", "geometric", Path("survey.toml"))).mechanism
    Geometric(alphabet=Integers(0, 99, unit='year'), epsilon=0.05)
    """
    shown = "survey.toml" if str(path) == "-" else str(path)
    example = MECHANISMS[mechanism].asks or ALPHABETS[alphabet].example or Example(alphabet, alphabet)
    tables, kinds = _alphabet_table(alphabet, example), exemplary()
    mechanism_table = mechanism_tables(mechanism, alphabet)[alphabet]
    survey = parse_survey(tables + mechanism_table)
    column = ", and the column of a file of values" if survey.alphabet.parts == 1 else ""
    parts = (
        HEADER.format(path=shown, name=example.name, title=example.title, column=column)
        + (SHAPE.format(shape=example.shape) if example.shape else ""),
        f"# Which values a person may have.\n{tables}",
        f"# For other values: confide new {'|'.join(one for one in kinds if one != alphabet)}\n",
        f"# How a value is blurred: {MECHANISMS[mechanism].about}.\n{mechanism_table}{_levels(survey)}",
        LIMITS,
        _others(alphabet, mechanism),
    )
    return "\n".join(parts)


def exemplary() -> dict[str, Example]:
    """Return the alphabets that have examples of their own.

    A class may inherit the example of another.
    """
    return {kind: vars(one)["example"] for kind, one in ALPHABETS.items() if "example" in vars(one)}


def mechanism_tables(kind: str, *alphabets: str) -> dict[str, str]:
    """Return a mechanism's tables in TOML by alphabet, the example first.

    >>> list(mechanism_tables("taxicab"))
    ['grid', 'lattice', 'places']
    """
    mechanism, head = MECHANISMS[kind], f'[mechanism]\nkind = "{kind}"\n'
    if isinstance(mechanism.example, Mapping):
        return {alphabet: head + text for alphabet, text in mechanism.example.items()}
    found = {}
    for alphabet, values in sorted(exemplary().items(), key=lambda one: one[0] != mechanism.suits):
        if alphabets and alphabet not in alphabets:
            continue
        text = _alphabet_table(alphabet, values) + head + (mechanism.example or f"epsilon = {values.epsilon}")
        try:
            made = parse_survey(text).mechanism
            _ = made.report_alphabet  # which somebody's own may not have for values of another kind
        except (ConfideError, AttributeError, TypeError):
            continue
        if alphabet == "attributes" and not isinstance(made.guarantee, LocalDP):
            continue  # each attribute has a unit of its own: a distance across them means little
        found[alphabet] = head + (mechanism.example or _epsilon(values, made.guarantee))
    return found


def _choose(alphabet: str | None = None, mechanism: str | None = None) -> tuple[str, str]:
    """Return alphabet and mechanism, each chosen to fit the other."""
    if alphabet is not None:
        check_choice("The kind", alphabet, tuple(exemplary()))
    if mechanism is None:
        values = alphabet or "integers"
        return values, ALPHABETS[values].usual
    fits = list(mechanism_tables(mechanism))
    if alphabet is not None and alphabet not in fits:
        raise InvalidParameterError(
            f"There is no example of {mechanism} on {alphabet}. Give {' or '.join(fits)}, or leave it out."
        )
    if not fits:
        raise InvalidParameterError(f"There is no example of {mechanism}.")
    return alphabet or fits[0], mechanism


def _alphabet_table(kind: str, example: Example) -> str:
    head = f'kind = "{kind}"'
    return f"[alphabet]\n{head:<22} # {ALPHABETS[kind].about}\n{example.text}"


def _epsilon(values: Example, promise: Guarantee) -> str:
    is_local = isinstance(promise, LocalDP)
    epsilon, per = (2.0, "person") if is_local else (values.epsilon, values.unit)
    return f"epsilon = {epsilon:<20} # the promise per {per}; smaller is more private\n"


def _levels(survey: Survey, people: int = PEOPLE) -> str:
    """Return the choices of epsilon as comments, as `confide show` prints them."""
    from rich.console import Console

    out = StringIO()
    show_summary(Summary("", sections=[describe_levels(survey, people)]), Console(file=out, width=120))
    lines = [line.rstrip() for line in out.getvalue().splitlines() if line.strip()]
    return "".join(f"# {line}\n" for line in lines if len(lines) > 4)


def _others(alphabet: str, chosen: str) -> str:
    """Return the other mechanisms that fit, a line each."""
    fitting = [kind for kind in MECHANISMS if kind != chosen and alphabet in mechanism_tables(kind, alphabet)]
    if not fitting:
        return "# No other mechanism fits these values.\n"
    width = max(len(kind) for kind in fitting) + 2
    heading = f"# Others that fit these values; for an example: confide new {alphabet} KIND\n"
    return heading + "".join(f"#   {kind:{width}}{MECHANISMS[kind].about}\n" for kind in fitting)
