"""Everything that commands say and write, line by line, beside told.txt: words, headings, orders, names and levels.

Whoever changes a sentence on purpose writes told.txt anew, and reads what changed there:
CONFIDE_TELL=1 pytest tests/cli/test_what_is_told.py
"""

from __future__ import annotations

import html
import os
import re
import shlex
import shutil
from difflib import unified_diff
from pathlib import Path

import numpy as np
import pytest
from tests.cli.test_every_option import prepared, stand_ins
from typer.testing import CliRunner

from confide.cli.main import app

__all__ = ["prepared", "stand_ins"]

TOLD = Path(__file__).with_name("told.txt")

COMMANDS = [
    line.strip()
    for line in """
    show ages.toml; show permanent.toml; show pair.toml; show city.toml; show limited.toml; show pay.toml
    show endless.toml --json; show pair.toml --json; audit ages.toml; audit pair.toml --json; export ages.toml -o a.json
    new a.toml; new b.toml categories rappor; new c.toml places; init a.toml
    new odd.csv d.toml --yes; new odd.csv e.toml --json
    privatize ages.toml odd.csv --rejects x.csv --keep town -o r.csv; privatize pay.toml high.csv -o r.csv
    privatize permanent.toml v.csv --secret secret --keep town -o r.jsonl.gz --json
    privatize ages.toml v.csv --keep town -o r.parquet; privatize limited.toml one.csv --ledger l.json -o r.csv
    count ages.toml r.csv bad.csv --by town -o c.parquet --rejects x.csv; count ages.toml r.csv --by town -o c.csv
    count ages.toml r.csv bad.csv -o c.parquet --json; count ages.toml r.csv --by town --engine sql
    count ages.toml bad.csv --strict -o c.parquet; count limited.toml r.csv long.csv -o c.parquet
    merge one.parquet other.parquet --pool -o p.parquet; estimate ages.toml p.parquet --method mle -v -o p.json
    merge first.parquet second.parquet -o m.parquet; estimate limited.toml m.parquet --method mle -v -o m.html
    estimate ages.toml towns.parquet --method mle -v --query age>=2 --query 'quantile 90%' -o g.html -o g.csv -o g.json
    estimate ages.toml oddtowns.parquet --method mle -v -o g.html; estimate permanent.toml daytowns.parquet --method mle
    privatize ages.toml v.csv --seed 1 -o s.csv; estimate ages.toml s.csv --method mle --interval 0.9 -v -o s.html
    count ages.toml s.csv r.csv -o c.parquet; estimate ages.toml c.parquet --method mle -v -o c.html
    estimate pair.toml pairs.csv --method mle --show age --show age,sex --interval 0.9 -v -o e.csv -o e.html -o e.json
    estimate city.toml cells.csv --method mle --query halves.geojson --interval 0.9 -v -o m.html -o m.geojson
    estimate ages.toml r.csv --method mle --truth v.csv --interval '90% joint' --query age>=2 --query mean -v -o e.html
    estimate ages.toml unfit.csv --method mle --query age>=1 -v -o u.html; estimate ages.toml unfit.csv --json
    estimate permanent.toml days.parquet --method mle --query age>=1 -v -o d.html -o d.csv
    estimate ages.toml r.csv --shape falling --method mle -v -o e.html -o e.csv
    diagnose ages.toml r.csv --query age>=2 -v -o d.html -o d.json; diagnose ages.toml -v -o d.html
    diagnose ages.toml towns.parquet -v -o d.html -o d.json; diagnose city.toml cells.csv -o d.html
    diagnose permanent.toml daytowns.parquet --json; diagnose ages.toml unfit.csv -o d.html
    unbias ages.toml r.csv --query mean --query age>=2 -o u.csv
    unbias ages.toml bad.csv --query mean -o u.csv
    unbias ages.toml r.csv --query median; unbias pair.toml pairs.csv --query age>=2 -o u.csv
    regress ages.toml cov.csv 'age ~ x + C(town)' -v -o e.html -o e.csv -o e.json; regress ages.toml r.csv 'age ~ x'
    regress ages.toml cov.csv 'age ~ x' --model multinomial --weights weight --clusters village -v
    regress ages.toml cov.csv 'age >= 2 ~ town' --json; regress ages.toml cov.csv 'vote ~ x'
    plan ages.toml --people 77 -o p.html -o p.csv -o p.json; plan ages.toml --people 77 --epsilon 1 --json
    curate kept.db; curate kept.db ages.toml --token read:a --upload invited --invite 2 -o i.txt
    curate kept.db ages.toml --window 21 --revoke curator --upload closed; curate kept.db
    serve ages.toml --store s.db --upload token; studio ages.toml; serve --simulate 5
    send ages.toml v.csv http://localhost:1; send limited.toml one.csv http://localhost:1 --invitation CODE
    send ages.toml sent.csv http://localhost:1; send ages.toml v.csv http://localhost:1
    pull http://localhost:1 --by town,day -o c.parquet; pull http://localhost:1 other.toml -o c.csv
    datasets; datasets manhattan d.csv
    show none.toml; show v.csv; export ages.toml -o a.toml; estimate ages.toml none.csv; estimate ages.toml v.csv
    estimate ages.toml r.csv --query agee>=2; estimate ages.toml r.csv --interval 2; estimate ages.toml r.csv --show x
    estimate pair.toml pairs.csv --query mean; estimate other.toml one.parquet; estimate ages.toml r.csv -o e.txt
    estimate ages.toml r.csv --cell '5 km'; estimate ages.toml towns.parquet --truth v.csv; estimate ages.toml --mean
    count ages.toml r.csv --by none -o c.parquet; count ages.toml long.csv copy.csv -o c.parquet; count ages.toml r.csv
    count ages.toml r.csv r.csv -o c.parquet; count ages.toml one.parquet -o c.parquet; count ages.toml 'x*' -o c.csv
    merge one.parquet other.parquet -o m.parquet; merge one.parquet again.parquet -o m.parquet; merge r.csv -o m
    privatize ages.toml odd.csv -o r.csv; privatize ages.toml v.csv --keep age; privatize ages.toml v.csv -o v.csv
    privatize ages.toml v.csv --keep town,town -o r.csv; privatize permanent.toml v.csv -o r.csv
    curate none.db; curate kept.db --revoke x; curate kept.db --token read:x; curate kept.db ages.toml --invite 0
    pull http://localhost:1 -o c.txt; send permanent.toml v.csv http://localhost:1; serve --upload x ages.toml
    plan ages.toml --people x; plan endless.toml --guess 1..3; diagnose ages.toml r.csv --query mean
    diagnose free.toml at.csv
""".strip().splitlines()
]


def words_of(page: str) -> str:
    """Return the words of a page, an element a line; of a drawing what it tells those who cannot see it."""
    plain = re.sub("<style.*?</style>", "", page, flags=re.DOTALL)
    plain = re.sub(r'<svg[^>]*aria-label="([^"]*)".*?</svg>', r"\n[\1]\n", plain, flags=re.DOTALL)
    plain = re.sub(r'<a download="([^"]*)"[^>]*>', r"\n(\1) ", plain)
    plain = re.sub(r"<svg.*?</svg>", "", plain, flags=re.DOTALL)
    return html.unescape(
        re.sub(r"\s*\n\s*", "\n", re.sub(r"</?(?:strong|small|span|bdi)\b[^>]*>|<[^>]*>", "\n", plain))
    )


def told_by(path: Path) -> str:
    """Return what a file says, or its name where that is not for people."""
    content = path.read_bytes()
    if path.suffix in (".parquet", ".db", ".gz") or b"\0" in content:
        return ""
    lines = (words_of(content.decode()) if path.suffix == ".html" else content.decode()).splitlines()
    is_long = path.suffix == ".csv" and len(lines) > 50
    return "\n".join([*lines[:9], f"({len(lines)} lines)"] if is_long else lines)


def steady(text: str, place: Path) -> str:
    """Return a text without what is another one on another day or machine: fractions, times, secrets and paths."""
    for pattern, mark in (
        (re.escape(str(place)), "."),
        (
            r"0x[0-9a-f]+|(?<!\.)\b[0-9a-f]{12,}(?:-[0-9a-f]{32})?\b|\bconfide-[\w-]{20,}|\b(?:[0-9a-z]{5}-){3}[0-9a-z]{5}\b",
            "~",
        ),
        (r"\b(?:read|upload|administer)-[0-9a-f]{6}\b", "~"),
        (r"\d{4}-\d\d-\d\d", "DAY"),
        (r"[-−]?\d[\d,]*(?:\.\d+)+(?:e[-+]?\d+)?%?|\d+(?:e[-+]?\d+|%)", "#"),  # noqa: RUF001
        (r'(?<="iterations": )\d+|\b\d+(?= iterations?)|(?:under )?(?:#|\b\d+) m?s\b|(?<=G2 = )0', "#"),
        # An interval of no width has parts on one machine and none on another.
        (r'(?:, ")?Uncertainty: # sampling, # privacy noise\.(?:"(?=\]))?', ""),
    ):
        text = re.sub(pattern, mark, text)
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize("commands", COMMANDS)
def test_what_is_said_and_written_is_what_stands_here(
    commands: str,
    prepared: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = tmp_path / "here"
    shutil.copytree(prepared, place)
    monkeypatch.chdir(place)
    monkeypatch.delenv("CONFIDE_TOKEN", raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(os, "urandom", np.random.default_rng(1).bytes)
    told: list[str] = []
    known = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    for command in commands.split("; "):
        ending = CliRunner().invoke(app, shlex.split(command.replace("CODE", "abcde-fghij-klmno-pqrst")))
        if ending.exception is not None and not isinstance(ending.exception, SystemExit):
            raise ending.exception
        told += [f"$ {command}", ending.stdout, ending.stderr, f"code {ending.exit_code}"]
        for path in sorted(path for path in place.rglob("*") if path.is_file()):
            if known.get(path) != path.read_bytes():
                told += [f"> {path.name}", told_by(path)]
                known[path] = path.read_bytes()
    said = f"== {commands}\n{steady(chr(10).join(told), place)}\n"
    text = TOLD.read_text(encoding="utf-8") if TOLD.exists() else ""
    parts = {part.partition("\n")[0]: f"== {part}" for part in re.split("^== ", text, flags=re.MULTILINE)[1:]}
    if os.environ.get("CONFIDE_TELL"):
        parts[commands] = said
        TOLD.write_text("".join(parts[one] for one in COMMANDS if one in parts), encoding="utf-8")
    lines = unified_diff(
        parts.get(commands, "").splitlines(), said.splitlines(), "told.txt", "told now", n=1, lineterm=""
    )
    assert not list(lines)
