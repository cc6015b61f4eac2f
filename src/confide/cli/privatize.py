"""confide privatize: blur a file of values."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

from confide.cli.terminal import say, show_json, show_pairs, warn
from confide.cli.usage import AsJson, Columns, Force, SurveyPath, argument, as_count, check_outputs, option, split_names
from confide.data.files import Privatized, privatize_file
from confide.data.files.sheets import LIMITS
from confide.data.files.writing import has_no_name, where_metadata_stand
from confide.errors import DataFileError, InvalidParameterError, SimulatedReportsWarning
from confide.evidence.counts import Noise
from confide.mechanisms.sampling import NEW_SECRET, Permanent
from confide.surveys.ledgers import Ledger
from confide.surveys.survey import Survey, load_survey
from confide.values.categories import COUNTED_AS
from confide.values.wording import counted, listed

EXAMPLES = (
    "confide privatize survey.toml values.csv -o reports.csv",
    "confide privatize survey.toml people.csv.gz --column age | gzip > reports.gz",
    "confide privatize survey.toml people.csv --keep city,week -o reports.parquet",
    "confide privatize survey.toml today.csv --secret key.txt -o report.csv",
    "confide privatize survey.toml weeks.csv --by week --secret id -o out.csv",
)


def privatize(  # noqa: PLR0913 - one argument an option
    survey: SurveyPath,
    values: Annotated[
        Path, argument("File of values, of any size: CSV (.gz or not) or Parquet; - for standard input.", "VALUES")
    ],
    *,
    output: Annotated[
        Path,
        option(
            "Where to write reports: .csv, .jsonl (.gz or not) or .parquet; - for standard output.",
            "FILE",
            "--output",
            "-o",
            show_default=True,
        ),
    ] = Path("-"),
    column: Columns = None,
    keep: Annotated[
        list[str] | None,
        option(
            "Columns to copy, such as city,week, for estimates by group. They are NOT blurred and may identify people.",
            "COLUMNS",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        option("Reproducible noise and order. For simulation only: it protects nobody.", "N", parser=as_count),
    ] = None,
    secret: Annotated[
        str,
        option(
            "Permanent noise, the same for the same value: the file with one person's secret, or for many people the "
            "column with each one's. Secrets are not copied.",
            "FILE|COLUMN",
        ),
    ] = "",
    by: Annotated[
        str,
        option(
            "For a file of all waves, such as weeks: the column that names them. It is kept, and one secret may stand "
            "in each wave.",
            "COLUMN",
        ),
    ] = "",
    ledger: Annotated[
        Path | None, option("Count this person's reports here, and refuse one beyond the survey's [limits].", "FILE")
    ] = None,
    rejects: Annotated[
        Path | None,
        option("Set unusable rows aside in this file and go on. Without it, one such row is an error.", "FILE"),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Blur a column of values, each person's on its own.

    Noise and order come from the operating system's secure generator. Rows are shuffled: their order would reveal much
    about the values. Other columns are not copied unless --keep names them. A column called 'count' says how many
    people have a row's value. Metadata say how the reports were made: inside a .parquet file, or in
    reports.csv-metadata.json beside reports.csv. Keep the two together.

    With a secret the noise is permanent: reporting the same value every day reveals no more than on the first. A secret
    has 32 hexadecimal digits or more, or 16 bytes of text or more. With --by the column may also hold names or numbers
    of people: a key that is drawn for this run, and kept nowhere, turns them into secrets.
    """
    if as_json and str(output) == "-":
        raise InvalidParameterError("--json and the reports cannot share standard output. Name a file with -o.")
    # A column has neither a folder nor the ending of a text.
    is_file = bool(secret) and (Path(secret).exists() or Path(secret).name != secret or secret.endswith(".txt"))
    key = Path(secret) if is_file else None
    check_outputs([output, rejects], [survey, values, *([] if key is None else [key])])
    contract = load_survey(survey)
    if contract.needs_secret and not secret and seed is None and not contract.simulated:
        raise InvalidParameterError(
            f"{survey} has permanent noise, which takes a secret of each person. Name the column that has it, or "
            f"that names people in a file of all waves: --secret person --by {contract.every or 'week'}"
        )
    with warnings.catch_warnings(action="ignore", category=SimulatedReportsWarning):  # told in our own words
        done = privatize_file(
            values,
            output,
            contract,
            column or (),
            keep=split_names("--keep", keep),
            seed=seed,
            by=by,
            secret=None if key is None else _read_secret(key),
            secret_column="" if key is not None else secret,
            ledger=None if ledger is None else Ledger(ledger),
            rejects=rejects,
            force=force,
            cure="Nothing was written. Correct these rows, or set them aside with --rejects rejects.csv.",
        )
    for text in _warnings(done, seed):
        warn(text)
    if ledger is None and seed is None and (contract.most_reports or contract.most_epsilon):
        say(
            "The survey limits how much one person may report, and nothing counted it here: on a person's device, "
            "--ledger FILE does.",
            stderr=True,
        )
    # A pipe has no place beside it for a companion file.
    if has_no_name(output):
        where = "Standard output" if str(output) == "-" else output
        say(f"{where} carries no metadata: its readers cannot know how these reports were made.", stderr=True)
    if done.noise is Noise.PERMANENT:
        source = f"a key of this run, {secret}" if done.is_keyed else "the secret"
        noise = f"permanent, from {source}, the survey and the value: the same value gives the same report again"
    else:
        noise = "the operating system's secure generator" if seed is None else f"seed {seed}, for simulation only"
    if contract.simulated:
        noise = f"simulated: made-up people answer this survey, drawn from {contract.simulated}"
    _summarize(contract, done, output, noise, seed=seed, as_json=as_json)


def _read_secret(path: Path) -> Permanent:
    """Return permanent noise from a file; no message shows the secret."""
    try:
        # No secret may get into a message, not even a part of it: errors name the path alone.
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DataFileError(f"{path} is no text. Write a secret in hexadecimal digits: {NEW_SECRET} > {path}") from None
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise DataFileError(f"{path}: {reason}. Make a secret with: {NEW_SECRET} > {path}") from None
    return Permanent(text)


def _warnings(done: Privatized, seed: int | None) -> list[str]:
    coarser = "Keep fewer or coarser columns."
    gives_back = (
        "A column that follows the order of the rows, such as a number or a time, also gives back the order that was "
        "shuffled away."
    )
    found = []
    if done.is_keyed:
        found.append(
            "the column has no secrets, so they were made from it and from a key that is forgotten now. Keep these "
            "reports: another run would give everybody other noise, and two reports of one value give away more than "
            "one. For a panel that goes on, give each person a secret of 32 hexadecimal digits."
        )
    if seed is not None:
        found.append(
            "these reports were made with a seed. Anyone who knows it can undo the noise: they are for simulation and "
            "protect nobody."
        )
    # A tenth: below that, even if all of them had one value, shares are off by a tenth at most.
    if 10 * done.account.total_rejected > done.account.read:
        share = done.account.total_rejected / done.account.read
        found.append(
            f"{share:.0%} of the rows were rejected. If these people differ from the others, answers are biased."
        )
    found += [
        f"{counted(number, 'row')} of {done.account.accepted:,} have an unlisted value and are {remark}, as the survey "
        f"declares. Misspelt values are among them: they are no longer errors."
        for remark, number in done.account.remarks.items()
        if COUNTED_AS in remark
    ]
    if done.alone:
        stand = "stands" if done.alone == 1 else "stand"
        found.append(
            f"{done.alone:,} of {counted(done.account.people, 'person')} {stand} alone by {listed(done.kept)}: nobody "
            f"else has the same there. Anyone who knows that about a person knows which report is theirs. {coarser}"
        )
    if done.in_small_groups and done.in_small_groups > (done.alone or 0):
        are = "is" if done.in_small_groups == 1 else "are"
        found.append(
            f"{done.in_small_groups:,} of {counted(done.account.people, 'person')} {are} in groups of fewer than "
            f"{LIMITS.small_group} by {listed(done.kept)}: anyone who knows that about a person nearly knows which "
            f"report is theirs. {gives_back} {coarser}"
        )
    if done.kept and done.groups is None:
        found.append(
            f"{listed(done.kept)} split people into more than {LIMITS.most_groups:,} groups: many stand alone, or "
            f"nearly so. {gives_back} {coarser}"
        )
    return found


def _summarize(survey: Survey, done: Privatized, output: Path, noise: str, *, seed: int | None, as_json: bool) -> None:
    guarantee, rows, is_protected = str(survey.mechanism.guarantee), done.account, done.noise is not Noise.SEEDED
    if as_json:
        record = {
            "reports": rows.people,
            "output": str(output),
            "seed": seed,
            "noise": str(done.noise),
            "guarantee": guarantee if is_protected else None,
        }
        kept = {"columns": list(done.kept), "is_blurred": False, "groups": done.groups}
        kept |= {"people_alone": done.alone, "people_in_small_groups": done.in_small_groups}
        record |= {"order": done.order, "kept": kept if done.kept else None, "metadata": where_metadata_stand(output)}
        show_json(record | {"is_protected": is_protected, "rows": rows.record})
        return
    is_piped = str(output) == "-"
    is_plain = not rows.total_rejected and not rows.remarks and not done.kept
    if is_piped and is_protected and is_plain:
        return  # a filter says nothing when all is well
    say(f"Wrote {counted(rows.people, 'report')} to {'standard output' if is_piped else output}.", stderr=is_piped)
    pairs = [("Read", rows.description), ("Noise", noise), ("Order", _describe_order(done, seed))]
    pairs += [("Kept", _describe_kept(done))] if done.kept else []
    pairs += [("Promise", guarantee if is_protected else "none")]
    pairs += [] if is_piped else [("Metadata", where_metadata_stand(output) or "none")]
    show_pairs(pairs, stderr=is_piped)


def _describe_order(done: Privatized, seed: int | None) -> str:
    if done.kept and (done.groups is None or 2 * (done.in_small_groups or 0) > done.account.people):
        return f"shuffled, but {listed(done.kept)} may give it back: see the warning"
    return "shuffled, every order equally likely" + ("" if seed is None else f", from seed {seed}")


def _describe_kept(done: Privatized) -> str:
    groups = f"more than {LIMITS.most_groups:,} groups" if done.groups is None else counted(done.groups, "group")
    are, about = "is" if len(done.kept) == 1 else "are", listed(done.account.columns)
    return f"{listed(done.kept)}, which {are} NOT blurred ({groups}); the promise is about {about} alone"
